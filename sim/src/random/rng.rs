//! Rng: everything that is drawn in a plan.

use crate::random::schedule::Words;

pub(crate) struct Rng(Words);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Words::from_seed(seed))
    }

    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.next_word() % (high - low + 1)
    }

    pub(crate) fn one_in(&mut self, sides: u64) -> bool {
        self.0.next_word().is_multiple_of(sides)
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.0.next_word() as usize % choices.len().max(1);
        let Some(choice) = choices.get(index) else { unreachable!("there is always a choice") };
        *choice
    }
}
