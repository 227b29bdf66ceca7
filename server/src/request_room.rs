//! RequestRoom: how many requests may be open over one transport, how many of them may wait, and how many may be
//! large.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::{REQUEST_LARGE_MAX, REQUEST_SMALL_BYTES, calls_waiting_max, requests_max};

#[derive(Clone)]
pub(crate) struct RequestRoom {
    all: Arc<Semaphore>,
    /// Fewer than all, so that those that are answered soon always find room.
    waiting: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// The room of one request, until this is dropped.
#[derive(Default)]
pub(crate) struct Held {
    all: Option<OwnedSemaphorePermit>,
    waiting: Option<OwnedSemaphorePermit>,
    large: Option<OwnedSemaphorePermit>,
}

impl RequestRoom {
    pub(crate) fn new(queue_max: usize) -> Self {
        let sizes = [requests_max(queue_max), calls_waiting_max(queue_max), REQUEST_LARGE_MAX];
        let [all, waiting, large] = sizes.map(|max| Arc::new(Semaphore::new(max)));
        Self { all, waiting, large }
    }

    /// Waits until there is room for a small request that does not wait. That is soon: those that take its room are
    /// answered soon.
    pub(crate) async fn is_free(&self) {
        drop(self.all.acquire().await);
    }

    /// Room for a request of so many bytes, if there is some.
    pub(crate) fn take(&self, bytes: usize, may_wait: bool) -> Option<Held> {
        let mut held = Held::default();
        (self.grow(&mut held, bytes) && self.begin(&mut held, may_wait)).then_some(held)
    }

    /// The request, of which so many bytes have arrived, may go on; false if it is large and there is no room.
    pub(crate) fn grow(&self, held: &mut Held, bytes: usize) -> bool {
        if bytes > REQUEST_SMALL_BYTES && held.large.is_none() {
            held.large = self.large.clone().try_acquire_owned().ok();
            return held.large.is_some();
        }
        true
    }

    /// The request has arrived; false if there is no room for it.
    pub(crate) fn begin(&self, held: &mut Held, may_wait: bool) -> bool {
        if may_wait {
            held.waiting = self.waiting.clone().try_acquire_owned().ok();
        }
        held.all = self.all.clone().try_acquire_owned().ok();
        held.all.is_some() && held.waiting.is_some() == may_wait
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::{Held, RequestRoom};
    use crate::budget::{REQUEST_LARGE_MAX, REQUEST_SMALL_BYTES, calls_waiting_max, requests_max};

    const QUEUE_MAX: usize = 32;

    /// All the room for small requests of this kind.
    fn fill(room: &RequestRoom, may_wait: bool) -> Vec<Held> {
        std::iter::from_fn(|| room.take(1, may_wait)).collect()
    }

    #[test]
    fn large_requests_have_a_limit_of_their_own() {
        let room = RequestRoom::new(QUEUE_MAX);
        let large = || room.take(REQUEST_SMALL_BYTES + 1, false);
        let taken: Vec<Held> = std::iter::from_fn(large).collect();
        assert_eq!(taken.len(), REQUEST_LARGE_MAX);
        assert!(room.take(REQUEST_SMALL_BYTES, false).is_some());
        drop(taken);
        assert!(large().is_some());
    }

    #[test]
    fn calls_that_wait_leave_room_for_the_control_calls_of_the_queue_and_more() {
        for queue_max in [1, QUEUE_MAX, 1_024] {
            let room = RequestRoom::new(queue_max);
            let waiting = fill(&room, true);
            assert_eq!(waiting.len(), calls_waiting_max(queue_max));
            assert!(waiting.len() > queue_max);
            let others = fill(&room, false);
            assert!(others.len() > queue_max, "{} beside {queue_max}", others.len());
            assert_eq!(waiting.len() + others.len(), requests_max(queue_max));
            drop(others);
            assert!(room.take(1, true).is_none());
            drop(waiting);
            assert!(room.take(1, true).is_some(), "what did not fit holds nothing");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_request_waits_until_one_is_answered() {
        let room = RequestRoom::new(QUEUE_MAX);
        let mut others = fill(&room, false);
        let hour = Duration::from_secs(3_600);
        timeout(hour, room.is_free()).await.unwrap_err();
        others.pop();
        timeout(hour, room.is_free()).await.unwrap();
    }

    #[test]
    fn requests_that_do_not_wait_may_take_all_the_room() {
        let room = RequestRoom::new(QUEUE_MAX);
        let others = fill(&room, false);
        assert_eq!(others.len(), requests_max(QUEUE_MAX));
        assert!(room.take(1, true).is_none());
    }
}
