//! Which segments are padded together, so that little of the rectangles is padding.

use std::cmp::Reverse;

/// A bucket takes a smaller segment only if that has at least this share of the rows of its largest, in
/// queries and in keys.
const MIN_FILL: f64 = 0.9;
/// Buckets smaller than this cost more in calls than they save in padding.
const MIN_BUCKET: usize = 8;

/// What an attention of a segment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its rows.
    pub queries: usize,
    /// The rows that it sees.
    pub keys: usize,
}

/// The numbers of the segments in each bucket; those without queries or keys are in none.
pub fn in_buckets(sizes: &[Size]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> =
        (0..sizes.len()).filter(|&i| sizes[i].keys > 0 && sizes[i].queries > 0).collect();
    order.sort_by_key(|&i| Reverse((sizes[i].keys, sizes[i].queries)));
    let mut buckets = Vec::new();
    for mut alike in split(&order, |i| sizes[i].keys) {
        // Few differ in their queries alone: where texts are encoded they are the keys.
        alike.sort_by_key(|&i| Reverse((sizes[i].queries, sizes[i].keys)));
        buckets.extend(split(&alike, |i| sizes[i].queries));
    }
    buckets
}

/// Divides what is sorted by falling size.
fn split(order: &[usize], size: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut parts = Vec::new();
    let mut rest = order;
    while let Some(&largest) = rest.first() {
        let enough = (size(largest) as f64 * MIN_FILL) as usize;
        let fitting = rest.partition_point(|&i| size(i) >= enough);
        let (part, later) = rest.split_at(fitting.max(MIN_BUCKET).min(rest.len()));
        parts.push(part.to_vec());
        rest = later;
    }
    parts
}

/// What each segment of a bucket is padded to.
pub fn rectangle(members: &[usize], sizes: &[Size]) -> Size {
    let most = |of: fn(&Size) -> usize| members.iter().map(|&i| of(&sizes[i])).max().unwrap_or(0);
    Size { queries: most(|size| size.queries), keys: most(|size| size.keys) }
}

/// The share of padding in the rows of queries and keys.
pub fn waste(sizes: &[Size]) -> f64 {
    let (mut used, mut all) = (0, 0);
    for members in in_buckets(sizes) {
        let Size { queries, keys } = rectangle(&members, sizes);
        all += members.len() * (queries + keys);
        used += members.iter().map(|&i| sizes[i].queries + sizes[i].keys).sum::<usize>();
    }
    if all == 0 { 0.0 } else { 1.0 - used as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn each_segment_is_in_one_bucket_and_fills_it() {
        let draw = |i, limit| (random::value(3, i) % limit) as usize;
        let sizes: Vec<Size> = (0..500)
            .map(|i| Size { queries: draw(2 * i, 40), keys: draw(2 * i + 1, 90) })
            .collect();
        let buckets = in_buckets(&sizes);
        let mut found: Vec<usize> = buckets.concat();
        found.sort_unstable();
        let seen = |&i: &usize| sizes[i].queries > 0 && sizes[i].keys > 0;
        assert_eq!(found, (0..500).filter(seen).collect::<Vec<_>>());
        for members in buckets.iter().filter(|members| members.len() > MIN_BUCKET) {
            let Size { queries, .. } = rectangle(members, &sizes);
            let least = members.iter().map(|&i| sizes[i].queries).min().unwrap();
            assert!(least >= (queries as f64 * MIN_FILL) as usize, "{least} of {queries}");
        }
        let equal = [Size { queries: 5, keys: 7 }; 20];
        assert!(waste(&equal).abs() < 1e-12);
        assert!((0.01..0.3).contains(&waste(&sizes)), "{}", waste(&sizes));
    }
}
