//! The cells of a simpler simple recurrent unit, word after word of each segment.
//!
//! With `f_t = sigmoid(s_t)`: `c_t = f_t c_{t-1} + (1 - f_t) x_t`, from `c = 0`, and the output is
//! `max(0, c_t)`.

use super::activation::sigmoid;
use super::vectorised;
use crate::packed::Segments;

/// The inputs, `[rows, width]` each.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence<'a> {
    /// What a cell would become if it forgot everything.
    pub candidates: &'a [f32],
    /// How much of the previous cell is kept, as scores.
    pub forget: &'a [f32],
    /// Which rows follow each other.
    pub segments: &'a Segments,
    /// Values per row.
    pub width: usize,
}

/// The next cell from the previous one.
#[inline(always)]
pub fn next_cell(before: f32, candidate: f32, forget: f32) -> f32 {
    let keep = sigmoid(forget);
    keep * before + (1.0 - keep) * candidate
}

impl Recurrence<'_> {
    /// All cells, `[rows, width]`; the outputs are their positive parts.
    pub fn cells(&self) -> Vec<f32> {
        let width = self.width;
        let mut cells = vec![0.0; self.candidates.len()];
        vectorised(
            #[inline(always)]
            || {
                for rows in self.segments.ranges() {
                    for row in rows.clone() {
                        let (past, now) = cells.split_at_mut(row * width);
                        let before = (row > rows.start).then(|| &past[(row - 1) * width..]);
                        let place = row * width..(row + 1) * width;
                        let inputs = self.candidates[place.clone()].iter().zip(&self.forget[place]);
                        let now = now[..width].iter_mut().zip(inputs);
                        match before {
                            None => now.for_each(|(c, (x, f))| *c = next_cell(0.0, *x, *f)),
                            Some(before) => now
                                .zip(before)
                                .for_each(|((c, (x, f)), before)| *c = next_cell(*before, *x, *f)),
                        }
                    }
                }
            },
        );
        cells
    }

    /// The gradients of candidates and scores, from that of the outputs.
    pub fn backward(&self, gradient: &[f32], cells: &[f32]) -> [Vec<f32>; 2] {
        let width = self.width;
        let mut of_candidates = vec![0.0; cells.len()];
        let mut of_forget = vec![0.0; cells.len()];
        // The gradient that reaches a cell from the next one.
        let mut later = vec![0.0; width];
        vectorised(
            #[inline(always)]
            || {
                for rows in self.segments.ranges() {
                    later.fill(0.0);
                    for row in rows.clone().rev() {
                        for (channel, later) in later.iter_mut().enumerate() {
                            let place = row * width + channel;
                            let own = if cells[place] > 0.0 { gradient[place] } else { 0.0 };
                            let slope = own + *later;
                            let keep = sigmoid(self.forget[place]);
                            let before = if row > rows.start { cells[place - width] } else { 0.0 };
                            of_candidates[place] = slope * (1.0 - keep);
                            of_forget[place] =
                                slope * (before - self.candidates[place]) * keep * (1.0 - keep);
                            *later = slope * keep;
                        }
                    }
                }
            },
        );
        [of_candidates, of_forget]
    }
}
