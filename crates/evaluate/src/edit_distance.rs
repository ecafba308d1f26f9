//! The word edit distance of TER, computed in a band around the diagonal as in Tercom.

/// Larger than any distance.
const UNREACHED: u32 = 1 << 30;

/// Half the width of the band, in words of the reference.
const BAND: usize = 25;

/// The last step on the cheapest path to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Match,
    Substitute,
    /// A word of the hypothesis has no counterpart.
    SkipHypothesis,
    /// A word of the reference has no counterpart.
    SkipReference,
}

/// Distances between the prefixes of a hypothesis and of a reference.
///
/// Shifts never change the length of the hypothesis, so the band is the same for all of its
/// rearrangements, and so are the rows before the first word that moved.
pub(crate) struct EditDistance<'a> {
    reference: &'a [u32],
    length: usize,
    ratio: f64,
    band: usize,
    costs: Vec<u32>,
    steps: Vec<Step>,
    scratch: [Vec<u32>; 2],
}

/// The alignment of the words of a hypothesis and its reference.
pub(crate) struct Alignment {
    /// For each word of the reference, the index of its counterpart, or for a word without one, the
    /// index before it, which is −1 at the beginning.
    pub(crate) places: Vec<isize>,
    /// For each word of the reference, whether it was not found.
    pub(crate) reference_errors: Vec<bool>,
    /// For each word of the hypothesis, whether it is wrong.
    pub(crate) hypothesis_errors: Vec<bool>,
}

impl<'a> EditDistance<'a> {
    /// For hypotheses of `length` words.
    pub(crate) fn new(reference: &'a [u32], length: usize) -> Self {
        let ratio = if length == 0 { 1.0 } else { reference.len() as f64 / length as f64 };
        // If the reference is so much longer that rows would not overlap, the band is widened.
        let band = if ratio / 2.0 > BAND as f64 {
            (ratio / 2.0 + BAND as f64).ceil() as usize
        } else {
            BAND
        };
        let columns = reference.len() + 1;
        let cells = (length + 1) * columns;
        let mut costs = vec![UNREACHED; cells];
        for (column, cost) in costs[..columns].iter_mut().enumerate() {
            *cost = column as u32;
        }
        Self {
            reference,
            length,
            ratio,
            band,
            costs,
            steps: vec![Step::SkipReference; cells],
            scratch: [vec![UNREACHED; columns], vec![UNREACHED; columns]],
        }
    }

    fn columns(&self) -> usize {
        self.reference.len() + 1
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.costs[row * self.columns()..(row + 1) * self.columns()]
    }

    /// The columns of a row that are searched.
    fn band(&self, row: usize) -> std::ops::Range<usize> {
        let diagonal = (row as f64 * self.ratio).floor() as usize;
        let end = if row == self.length {
            self.columns()
        } else {
            self.columns().min(diagonal + self.band)
        };
        diagonal.saturating_sub(self.band)..end
    }

    /// Computes all distances of a hypothesis, for its alignment and for comparison with variants.
    pub(crate) fn set(&mut self, hypothesis: &[u32]) -> u32 {
        let columns = self.columns();
        for (index, &word) in hypothesis.iter().enumerate() {
            let row = index + 1;
            let band = self.band(row);
            let (before, after) = self.costs.split_at_mut(row * columns);
            fill_row(
                Row {
                    word,
                    reference: self.reference,
                    above: &before[index * columns..],
                    current: &mut after[..columns],
                    band,
                },
                |column, step| self.steps[row * columns + column] = step,
            );
        }
        self.distance()
    }

    /// The distance of the hypothesis that was set.
    pub(crate) fn distance(&self) -> u32 {
        self.row(self.length)[self.reference.len()]
    }

    /// The distance of a variant that differs from the hypothesis set only in the words `changed`.
    pub(crate) fn of_variant(&mut self, variant: &[u32], changed: std::ops::Range<usize>) -> u32 {
        let columns = self.columns();
        let [mut above, mut current] = std::mem::take(&mut self.scratch);
        above.copy_from_slice(self.row(changed.start));
        let mut distance = None;
        for (index, &word) in variant.iter().enumerate().skip(changed.start) {
            let row = index + 1;
            let band = self.band(row);
            fill_row(
                Row {
                    word,
                    reference: self.reference,
                    above: &above,
                    current: &mut current[..columns],
                    band,
                },
                |_, _| {},
            );
            // After the change, rows that are equal once stay equal to the end.
            if row >= changed.end && current == self.row(row) {
                distance = Some(self.distance());
                break;
            }
            std::mem::swap(&mut above, &mut current);
        }
        let distance = distance.unwrap_or(above[columns - 1]);
        self.scratch = [above, current];
        distance
    }

    /// The alignment of the hypothesis that was set.
    pub(crate) fn alignment(&self) -> Alignment {
        let mut alignment = Alignment {
            places: vec![-1; self.reference.len()],
            reference_errors: vec![false; self.reference.len()],
            hypothesis_errors: vec![false; self.length],
        };
        let (mut row, mut column) = (self.length, self.reference.len());
        while row > 0 || column > 0 {
            let step = self.steps[row * self.columns() + column];
            if step == Step::SkipHypothesis || column == 0 {
                row -= 1;
                alignment.hypothesis_errors[row] = true;
                continue;
            }
            column -= 1;
            alignment.places[column] = row as isize - 1;
            alignment.reference_errors[column] = step != Step::Match;
            if step != Step::SkipReference {
                row -= 1;
                alignment.hypothesis_errors[row] = step == Step::Substitute;
            }
        }
        alignment
    }
}

struct Row<'r> {
    word: u32,
    reference: &'r [u32],
    above: &'r [u32],
    current: &'r mut [u32],
    band: std::ops::Range<usize>,
}

/// Fills one row. Among equally cheap steps, the diagonal wins, then skipping a word of the
/// hypothesis, then one of the reference; the alignment depends on this order.
fn fill_row(row: Row<'_>, mut note: impl FnMut(usize, Step)) {
    let Row { word, reference, above, current, band } = row;
    current[..band.start].fill(UNREACHED);
    current[band.end..].fill(UNREACHED);
    let mut left = UNREACHED;
    for column in band {
        let (mut cost, mut step) = (UNREACHED, Step::SkipHypothesis);
        if column > 0 {
            let equal = reference[column - 1] == word;
            cost = above[column - 1] + u32::from(!equal);
            step = if equal { Step::Match } else { Step::Substitute };
        }
        if above[column] + 1 < cost {
            (cost, step) = (above[column] + 1, Step::SkipHypothesis);
        }
        if left + 1 < cost {
            (cost, step) = (left + 1, Step::SkipReference);
        }
        left = cost.min(UNREACHED);
        current[column] = left;
        note(column, step);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(a: &[u32], b: &[u32]) -> u32 {
        let mut row: Vec<u32> = (0..=b.len() as u32).collect();
        for (i, x) in a.iter().enumerate() {
            let mut corner = row[0];
            row[0] = i as u32 + 1;
            for (j, y) in b.iter().enumerate() {
                let best = (corner + u32::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
                corner = std::mem::replace(&mut row[j + 1], best);
            }
        }
        row[b.len()]
    }

    proptest! {
        #[test]
        fn equals_the_plain_distance_if_the_band_is_wide_enough(
            hypothesis in prop::collection::vec(0u32..5, 0..20),
            reference in prop::collection::vec(0u32..5, 1..20),
        ) {
            let mut distance = EditDistance::new(&reference, hypothesis.len());
            prop_assert_eq!(distance.set(&hypothesis), plain(&hypothesis, &reference));
            let alignment = distance.alignment();
            let errors = alignment.hypothesis_errors.iter().filter(|&&e| e).count();
            prop_assert!(errors <= distance.distance() as usize);
        }

        #[test]
        fn a_variant_has_the_same_distance_as_alone(
            hypothesis in prop::collection::vec(0u32..5, 2..80),
            reference in prop::collection::vec(0u32..5, 1..80),
            places in (0usize..80, 0usize..80),
        ) {
            let (a, b) = (places.0 % hypothesis.len(), places.1 % hypothesis.len());
            let mut variant = hypothesis.clone();
            variant.swap(a, b);
            let mut distance = EditDistance::new(&reference, hypothesis.len());
            distance.set(&hypothesis);
            let found = distance.of_variant(&variant, a.min(b)..a.max(b) + 1);
            let mut alone = EditDistance::new(&reference, variant.len());
            prop_assert_eq!(found, alone.set(&variant));
        }
    }
}
