//! The random numbers of `NumPy`'s `default_rng`, so that resamples equal those of sacreBLEU.
//!
//! A seed is expanded by `NumPy`'s seed sequence (after O'Neill's `seed_seq_fe`); the numbers come
//! from PCG64 (O'Neill, 2014; the XSL-RR variant with 128 bits of state), bounded integers from
//! Lemire's method (2019). The unit tests compare with numbers from `NumPy`.

/// A generator of the same numbers as `numpy.random.default_rng(seed)`.
#[derive(Clone, Debug)]
pub struct NumpyRandom {
    state: u128,
    increment: u128,
    /// The upper half of the last 64 bits, when only the lower half was used.
    half: Option<u32>,
}

impl NumpyRandom {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let words = spread(seed);
        let pair = |index: usize| u128::from(words[index]) << 64 | u128::from(words[index + 1]);
        let increment = pair(2) << 1 | 1;
        let mut random = Self { state: 0, increment, half: None };
        random.step();
        random.state = random.state.wrapping_add(pair(0));
        random.step();
        random
    }

    fn step(&mut self) {
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    /// 32 random bits: the lower half of 64 first, the upper half next time.
    pub fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let bits = self.next_u64();
        self.half = Some((bits >> 32) as u32);
        bits as u32
    }

    /// Fills the slice with indices below `bound`, all equally likely: `choice(bound, size)`.
    ///
    /// # Panics
    /// If the bound is 0.
    pub fn fill_indices(&mut self, bound: u32, indices: &mut [u32]) {
        assert!(bound > 0, "there is no index below 0");
        if bound == 1 {
            indices.fill(0);
            return;
        }
        let unfair = bound.wrapping_neg() % bound;
        for index in indices {
            *index = loop {
                let product = u64::from(self.next_u32()) * u64::from(bound);
                if product as u32 >= unfair {
                    break (product >> 32) as u32;
                }
            };
        }
    }

    /// An endless source of random booleans, as from one call of `integers(2, dtype=bool)`.
    pub fn coins(&mut self) -> Coins<'_> {
        Coins { random: self, bits: 0, left: 0 }
    }
}

/// Random booleans, 32 from each draw, the lowest bit first.
#[derive(Debug)]
pub struct Coins<'a> {
    random: &'a mut NumpyRandom,
    bits: u32,
    left: u32,
}

impl Coins<'_> {
    /// The next coin.
    pub fn toss(&mut self) -> bool {
        if self.left == 0 {
            self.bits = self.random.next_u32();
            self.left = 32;
        }
        let coin = self.bits & 1 == 1;
        self.bits >>= 1;
        self.left -= 1;
        coin
    }
}

/// Hashes the seed into a pool of four words, mixes them, and draws 256 bits from the pool.
fn spread(seed: u64) -> [u64; 4] {
    const POOL: usize = 4;
    let mut entropy = [0u32; POOL];
    entropy[0] = seed as u32;
    entropy[1] = (seed >> 32) as u32;

    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool = entropy.map(|word| hash.of(word));
    for source in 0..POOL {
        for target in 0..POOL {
            if source != target {
                let hashed = hash.of(pool[source]);
                let mixed = 0xca01_f9ddu32
                    .wrapping_mul(pool[target])
                    .wrapping_sub(0x4973_f715u32.wrapping_mul(hashed));
                pool[target] = mixed ^ (mixed >> 16);
            }
        }
    }

    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let mut words = [0u64; 4];
    for index in 0..8 {
        let half = u64::from(hash.of(pool[index % POOL]));
        words[index / 2] |= half << (32 * (index % 2));
    }
    words
}

/// A multiplicative hash whose constant changes with every use.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn of(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let word = word.wrapping_mul(self.constant);
        word ^ (word >> 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_bits_equal_those_of_numpy() {
        let expected = [
            (12345, [0x3a32_b18d_b2ff_c19d, 0x5117_1315_c9e4_c4de, 0xcc20_2482_3444_efd9]),
            (0, [0xa30f_ebcf_d9c2_825f, 0x4510_bdf8_82d9_d721, 0x0a7d_3da9_4ecd_e8b8]),
            ((1 << 40) + 7, [0xd46e_9e20_34de_21aa, 0x415b_adc9_9c08_7675, 0x275e_d40f_045a_cb84]),
        ];
        for (seed, bits) in expected {
            let mut random = NumpyRandom::new(seed);
            assert_eq!(bits, [random.next_u64(), random.next_u64(), random.next_u64()]);
        }
    }

    #[test]
    fn indices_and_coins_equal_those_of_numpy() {
        let mut indices = [0; 10];
        NumpyRandom::new(12345).fill_indices(1000, &mut indices);
        assert_eq!(indices, [699, 227, 788, 316, 204, 797, 642, 676, 988, 391]);
        let mut indices = [0; 6];
        NumpyRandom::new(7).fill_indices(3_000_000_000, &mut indices);
        assert_eq!(
            indices,
            [
                2_834_714_867,
                2_052_539_810,
                2_691_641_402,
                1_734_877_356,
                2_327_057_070,
                2_500_953_064
            ]
        );
        let mut random = NumpyRandom::new(12345);
        let mut coins = random.coins();
        let tossed: String = (0..40).map(|_| if coins.toss() { '1' } else { '0' }).collect();
        assert_eq!(tossed, "1011100110000011111111110100110110110001");
    }
}
