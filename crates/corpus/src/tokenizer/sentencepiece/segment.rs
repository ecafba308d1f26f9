//! Segmentation of normalised text with a SentencePiece model, byte pairs or unigram, exactly as in
//! SentencePiece, including ties and rounding.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::model::{Algorithm, Model, PieceKind};

/// How much lower an unknown character scores than the worst piece, in log-probability.
const UNKNOWN_PENALTY: f32 = 10.0;

/// The pieces of a text that [`Model::normalise`] has prepared, as ranges of bytes with their ids.
pub fn segment(model: &Model, text: &str) -> Vec<(std::ops::Range<usize>, usize)> {
    if text.is_empty() {
        return Vec::new();
    }
    let pieces = match model.algorithm {
        Algorithm::Bpe => byte_pairs(model, text),
        Algorithm::Unigram => unigram(model, text),
    };
    fuse_unknown(pieces, model.unknown)
}

/// A run of unknown pieces is one unknown piece.
fn fuse_unknown(
    pieces: Vec<(std::ops::Range<usize>, usize)>,
    unknown: usize,
) -> Vec<(std::ops::Range<usize>, usize)> {
    let mut fused: Vec<(std::ops::Range<usize>, usize)> = Vec::with_capacity(pieces.len());
    for (range, id) in pieces {
        match fused.last_mut() {
            Some((last, last_id)) if *last_id == unknown && id == unknown => last.end = range.end,
            _ => fused.push((range, id)),
        }
    }
    fused
}

struct Symbol {
    start: usize,
    end: usize,
    previous: Option<usize>,
    next: Option<usize>,
    frozen: bool,
}

/// An adjacent pair that could be merged. The best score comes first, then the leftmost.
struct Candidate {
    score: f32,
    left: usize,
    right: usize,
    size: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = Reverse(self.left).cmp(&Reverse(other.left));
        self.score.total_cmp(&other.score).then(place)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

fn byte_pairs(model: &Model, text: &str) -> Vec<(std::ops::Range<usize>, usize)> {
    let mut symbols = split_characters(model, text);
    let mut queue = BinaryHeap::new();
    // How an unused piece was formed, to split it again.
    let mut origins: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    for right in 1..symbols.len() {
        propose(model, text, &symbols, (right - 1, right), &mut queue, &mut origins);
    }
    while let Some(Candidate { left, right, size, .. }) = queue.pop() {
        let gone = |index: usize| symbols[index].start == symbols[index].end;
        let joined_size = symbols[right].end.wrapping_sub(symbols[left].start);
        if gone(left) || gone(right) || joined_size != size {
            continue;
        }
        symbols[left].end = symbols[right].end;
        symbols[left].next = symbols[right].next;
        symbols[right].start = symbols[right].end;
        if let Some(next) = symbols[left].next {
            symbols[next].previous = Some(left);
            propose(model, text, &symbols, (left, next), &mut queue, &mut origins);
        }
        if let Some(previous) = symbols[left].previous {
            propose(model, text, &symbols, (previous, left), &mut queue, &mut origins);
        }
    }
    let mut pieces = Vec::new();
    let mut index = Some(0);
    while let Some(here) = index {
        let symbol = &symbols[here];
        emit(model, text, (symbol.start, symbol.end), &origins, &mut pieces);
        index = symbol.next;
    }
    pieces
}

fn split_characters(model: &Model, text: &str) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let whole = model.user_defined_prefix(&text[start..]);
        let end = start + whole.unwrap_or(first.len_utf8());
        let index = symbols.len();
        symbols.push(Symbol {
            start,
            end,
            previous: index.checked_sub(1),
            next: (end < text.len()).then_some(index + 1),
            frozen: whole.is_some(),
        });
        start = end;
    }
    symbols
}

fn propose(
    model: &Model,
    text: &str,
    symbols: &[Symbol],
    (left, right): (usize, usize),
    queue: &mut BinaryHeap<Candidate>,
    origins: &mut FxHashMap<(usize, usize), usize>,
) {
    if symbols[left].frozen || symbols[right].frozen {
        return;
    }
    let (start, end) = (symbols[left].start, symbols[right].end);
    let Some(&id) = model.producible.get(&text[start..end]) else { return };
    queue.push(Candidate { score: model.pieces[id].score, left, right, size: end - start });
    if model.pieces[id].kind == PieceKind::Unused {
        origins.insert((start, end), symbols[right].start);
    }
}

fn emit(
    model: &Model,
    text: &str,
    (start, end): (usize, usize),
    origins: &FxHashMap<(usize, usize), usize>,
    pieces: &mut Vec<(std::ops::Range<usize>, usize)>,
) {
    let id = model.id(&text[start..end]);
    if model.pieces[id].kind == PieceKind::Unused
        && let Some(&middle) = origins.get(&(start, end))
    {
        emit(model, text, (start, middle), origins, pieces);
        emit(model, text, (middle, end), origins, pieces);
        return;
    }
    pieces.push((start..end, id));
}

/// The best path to a position: its score, and the piece that ends there.
#[derive(Clone, Copy)]
struct Step {
    score: f32,
    from: Option<usize>,
    id: usize,
}

fn unigram(model: &Model, text: &str) -> Vec<(std::ops::Range<usize>, usize)> {
    let (lowest, highest) = model.score_range;
    let mut steps = vec![Step { score: 0.0, from: None, id: 0 }; text.len() + 1];
    let boundaries: Vec<usize> =
        text.char_indices().map(|(index, _)| index).chain([text.len()]).collect();
    for (index, &start) in boundaries[..boundaries.len() - 1].iter().enumerate() {
        let until_here = steps[start].score;
        let mut alone = false;
        for &end in &boundaries[index + 1..] {
            if end - start > model.longest {
                break;
            }
            let Some(&id) = model.producible.get(&text[start..end]) else { continue };
            let piece = &model.pieces[id];
            let score = match piece.kind {
                PieceKind::Unused => continue,
                // A bonus, so that a user-defined symbol is always kept whole.
                PieceKind::UserDefined => (end - start) as f32 * highest - 0.1,
                _ => piece.score,
            };
            // In single precision, so that ties are the same as in the reference ("000").
            let score = score + until_here;
            if steps[end].from.is_none() || score > steps[end].score {
                steps[end] = Step { score, from: Some(start), id };
            }
            alone |= end == boundaries[index + 1];
        }
        if !alone {
            let end = boundaries[index + 1];
            let score = (lowest - UNKNOWN_PENALTY) + until_here;
            if steps[end].from.is_none() || score > steps[end].score {
                steps[end] = Step { score, from: Some(start), id: model.unknown };
            }
        }
    }
    let mut pieces = Vec::new();
    let mut end = text.len();
    while let Some(start) = steps[end].from {
        pieces.push((start..end, steps[end].id));
        end = start;
    }
    pieces.reverse();
    pieces
}
