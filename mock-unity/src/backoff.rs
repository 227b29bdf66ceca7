//! Backoff: how long the plugin waits before it tries to connect again.

use std::time::Duration;

const INITIAL_MS: f64 = 100.0;
const MULTIPLIER: f64 = 1.7;
const MAX_MS: f64 = 1_200.0;
const JITTER: f64 = 0.1;

/// The only source of randomness in the mock. The seed decides everything.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to 1, evenly distributed (splitmix64).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The wait after this many failed attempts in a row.
pub(crate) fn wait(failed: u32, chance: &mut Chance) -> Duration {
    let base = (INITIAL_MS * MULTIPLIER.powf(f64::from(failed))).min(MAX_MS);
    let jitter = 1.0 + JITTER * (2.0 * chance.next() - 1.0);
    Duration::from_micros((base * jitter * 1_000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::{Chance, wait};

    #[test]
    fn it_grows_to_its_limit_with_jitter_from_the_seed_alone() {
        let waits = |seed| {
            let mut chance = Chance::new(seed);
            (0..8).map(|failed| wait(failed, &mut chance).as_millis()).collect::<Vec<_>>()
        };
        for (wait, base) in waits(1).into_iter().zip([100, 170, 289, 491, 835, 1_200, 1_200, 1_200])
        {
            assert!((base * 9 / 10 - 1..=base * 11 / 10 + 1).contains(&wait), "{wait} of {base}");
        }
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
    }
}
