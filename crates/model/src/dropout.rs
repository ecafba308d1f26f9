//! Dropout whose masks depend only on a key and a position, never on threads or earlier calls.

use burn::tensor::{Device, Int, Tensor};

use crate::addition::Part;
use crate::device::is_cpu;
use crate::ops::upload;
use crate::random;

/// The places of a mask that are moved in one integer.
const BITS: usize = i32::BITS as usize;

/// The dropout of one forward pass.
///
/// Each use advances the position, so a pass with the same key draws the same masks again. For
/// inference there is [`Dropout::off`].
#[derive(Clone, Debug)]
pub struct Dropout {
    rate: f64,
    key: u64,
    place: u64,
    /// Whether dropout applies only to the context part.
    only_context: bool,
}

/// Which channels one use of dropout zeroes.
#[derive(Clone, Copy, Debug)]
pub struct DropoutMask {
    key: u64,
    /// Random values below it are dropped.
    threshold: u32,
    /// What the others are multiplied by.
    keep: f32,
}

impl Dropout {
    /// No dropout: for validation and translation.
    pub fn off() -> Self {
        Self { rate: 0.0, key: 0, place: 0, only_context: false }
    }

    /// Dropout at `rate`. The key stands for the seed, the update and the micro-batch, for instance
    /// by [`random::key`].
    pub fn new(rate: f64, key: u64) -> Self {
        assert!((0.0..1.0).contains(&rate), "a dropout rate lies in [0, 1), but got {rate}");
        Self { rate, key, place: 0, only_context: false }
    }

    /// The same, but only in the context part; the network below runs as in translation. Dropout
    /// only hurts a frozen network, which cannot adapt to it.
    #[must_use]
    pub fn only_of_context(self) -> Self {
        Self { only_context: true, ..self }
    }

    /// The mask of the next position, which belongs to `part`, or `None` if nothing is dropped.
    pub fn next_mask(&mut self, part: Part) -> Option<DropoutMask> {
        self.place += 1;
        let is_spared = self.only_context && part == Part::Base;
        (self.rate > 0.0 && !is_spared).then(|| DropoutMask {
            key: random::key(&[self.key, self.place]),
            threshold: (self.rate * 2f64.powi(32)) as u32,
            keep: (1.0 / (1.0 - self.rate)) as f32,
        })
    }
}

impl DropoutMask {
    /// What element `i` is multiplied by: 0 if it is dropped, `1 / (1 - rate)` if not.
    #[inline(always)]
    pub(crate) fn factor(self, i: usize) -> f32 {
        if random::short_value(self.key, i as u32) < self.threshold { 0.0 } else { self.keep }
    }

    fn factors(self, elements: usize) -> Vec<f32> {
        (0..elements).map(|i| self.factor(i)).collect()
    }

    /// Applies the mask.
    pub fn apply(self, x: Tensor<2>) -> Tensor<2> {
        let shape = x.dims();
        let device = x.device();
        let factors = if is_cpu(&device) {
            upload(self.factors(shape[0] * shape[1]), shape, &device)
        } else {
            self.factors_from_bits(shape, &device)
        };
        x * factors
    }

    /// The factors, of which only a bit each is moved to the device.
    fn factors_from_bits(self, [rows, width]: [usize; 2], device: &Device) -> Tensor<2> {
        let count = rows * width;
        if count == 0 {
            return Tensor::zeros([rows, width], device);
        }
        let words: Vec<i32> = (0..count.div_ceil(BITS))
            .map(|word| {
                let places = word * BITS..count.min((word + 1) * BITS);
                let bit = |i| i32::from(self.factor(i) > 0.0) << (i % BITS);
                places.map(bit).fold(0, |bits, bit| bits | bit)
            })
            .collect();
        let shape = [words.len(), 1];
        let words: Tensor<2, Int> = upload(words, shape, device);
        let places = Tensor::<1, Int>::arange(0..BITS as i64, device).unsqueeze();
        // The sign fills up from the left, but only the lowest bit is kept.
        let bits = words.bitwise_right_shift(places).bitwise_and_scalar(1);
        let factors: Tensor<1> = bits.float().flatten(0, 1) * self.keep;
        factors.narrow(0, 0, count).reshape([rows, width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::read;

    #[test]
    fn drops_the_given_share_and_keeps_the_mean() {
        let mask = Dropout::new(0.3, 42).next_mask(Part::Base).unwrap();
        let factors = mask.factors(100_000);
        let zeros = factors.iter().filter(|&&f| f == 0.0).count() as f64 / 1e5;
        let mean = factors.iter().sum::<f32>() / 1e5;
        assert!((zeros - 0.3).abs() < 0.01, "{zeros}");
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn bits_expand_to_the_same_factors() {
        for [rows, width] in [[1, 1], [3, 5], [4, 8], [7, 100], [0, 3]] {
            let mask = Dropout::new(0.3, 9).next_mask(Part::Base).unwrap();
            let expanded = mask.factors_from_bits([rows, width], &Device::flex());
            assert_eq!(expanded.dims(), [rows, width]);
            let bits =
                |factors: Vec<f32>| factors.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(read(expanded).unwrap()), bits(mask.factors(rows * width)));
        }
    }

    #[test]
    fn masks_depend_on_the_key_and_the_position() {
        let draw = |key| {
            let mut dropout = Dropout::new(0.5, key);
            [(); 2].map(|()| dropout.next_mask(Part::Base).unwrap().factors(64))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_ne!(draw(7)[0], draw(7)[1]);
        assert!(Dropout::off().next_mask(Part::Context).is_none());
        let mut only = Dropout::new(0.5, 7).only_of_context();
        assert!(only.next_mask(Part::Base).is_none());
        assert_eq!(only.next_mask(Part::Context).unwrap().factors(64), draw(7)[1]);
    }
}
