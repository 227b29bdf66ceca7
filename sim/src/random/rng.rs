//! Rng: the one source of randomness of a plan.

/// Draws from a seed (splitmix64), or from given words, which a fuzzer can change one by one.
pub(crate) enum Rng {
    Seed(u64),
    Words(std::vec::IntoIter<u64>),
}

impl Rng {
    /// After the last word each draw is zero, which is the first of its choices.
    fn next_word(&mut self) -> u64 {
        let state = match self {
            Self::Seed(state) => state,
            Self::Words(words) => return words.next().unwrap_or_default(),
        };
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next_word() % (high - low + 1)
    }

    pub(crate) fn one_in(&mut self, sides: u64) -> bool {
        self.next_word().is_multiple_of(sides)
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.next_word() as usize % choices.len().max(1);
        let Some(choice) = choices.get(index) else { unreachable!("there is always a choice") };
        *choice
    }
}
