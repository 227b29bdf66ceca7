//! RequestRoom: how many requests may be open over one transport, and how many of them may be large.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::{REQUEST_LARGE_MAX, REQUEST_SMALL_BYTES};

#[derive(Clone)]
pub(crate) struct RequestRoom {
    all: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The room of one request, until this is dropped.
#[derive(Default)]
pub(crate) struct Held([Option<OwnedSemaphorePermit>; 2]);

impl RequestRoom {
    pub(crate) fn new(calls_max: usize) -> Self {
        let [all, large] = [calls_max, REQUEST_LARGE_MAX].map(|max| Arc::new(Semaphore::new(max)));
        Self { all, large }
    }

    /// Waits until there is room for a small request.
    pub(crate) async fn is_free(&self) {
        drop(self.all.acquire().await);
    }

    /// Room for a request of so many bytes, if there is some.
    pub(crate) fn take(&self, bytes: usize) -> Option<Held> {
        let mut held = Held::default();
        (self.grow(&mut held, bytes) && self.begin(&mut held)).then_some(held)
    }

    /// The request, of which so many bytes have arrived, may go on; false if it is large and there is no room.
    pub(crate) fn grow(&self, held: &mut Held, bytes: usize) -> bool {
        let [_, large] = &mut held.0;
        if bytes > REQUEST_SMALL_BYTES && large.is_none() {
            *large = self.large.clone().try_acquire_owned().ok();
            return large.is_some();
        }
        true
    }

    /// The request has arrived; false if there is no room for it.
    pub(crate) fn begin(&self, held: &mut Held) -> bool {
        let [all, _] = &mut held.0;
        *all = self.all.clone().try_acquire_owned().ok();
        all.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, RequestRoom};
    use crate::budget::{REQUEST_LARGE_MAX, REQUEST_SMALL_BYTES};

    #[test]
    fn small_requests_are_counted_and_large_ones_have_a_limit_of_their_own() {
        let room = RequestRoom::new(REQUEST_LARGE_MAX + 1);
        let large: Vec<Option<Held>> =
            (0..=REQUEST_LARGE_MAX).map(|_| room.take(REQUEST_SMALL_BYTES + 1)).collect();
        assert!(large.iter().take(REQUEST_LARGE_MAX).all(Option::is_some));
        assert!(large.last().is_some_and(Option::is_none), "one more is refused");
        let small = room.take(REQUEST_SMALL_BYTES);
        assert!(small.is_some() && room.take(1).is_none(), "all together are limited");
        drop(large);
        assert!(room.take(REQUEST_SMALL_BYTES + 1).is_some());
    }
}
