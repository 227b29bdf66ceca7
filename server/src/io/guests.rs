//! Guests: the connections of the listener. There is room for so many; when it is full, the one that
//! has been idle longest makes room for the next, so that silent sockets lock nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use super::patience::Expecting;

#[derive(Clone)]
pub(super) struct Guests(Arc<Mutex<Seats>>);

struct Seats {
    free: usize,
    /// Connections without a request, longest idle first.
    idle: BTreeMap<u64, CancellationToken>,
    /// Grows with every moment a connection becomes idle.
    moments: u64,
}

/// One connection; its seat is free again when this is dropped.
pub(super) struct Guest {
    guests: Guests,
    sent_away: CancellationToken,
    /// Since when it is idle, if it is.
    idle_since: Mutex<Option<u64>>,
}

/// A request that is being answered; its connection is idle again when this is dropped.
pub(super) struct Busy(Arc<Guest>);

impl Guests {
    pub(super) fn new(max: usize) -> Self {
        Self(Arc::new(Mutex::new(Seats { free: max, idle: BTreeMap::new(), moments: 0 })))
    }

    /// `None` if every other connection is busy.
    pub(super) fn welcome(&self) -> Option<Arc<Guest>> {
        let mut seats = self.seats();
        if seats.free == 0 {
            let (_, longest_idle) = seats.idle.pop_first()?;
            longest_idle.cancel(); // Its seat is taken over here, not freed when it has gone.
        } else {
            seats.free -= 1;
        }
        drop(seats);
        let sent_away = CancellationToken::new();
        let guest = Guest { guests: self.clone(), sent_away, idle_since: Mutex::default() };
        guest.rest();
        Some(Arc::new(guest))
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// When its seat is needed.
    pub(super) async fn sent_away(&self) {
        self.sent_away.cancelled().await;
    }

    pub(super) fn work(self: &Arc<Self>) -> Busy {
        if let Some(moment) = self.idle_since().take() {
            self.guests.seats().idle.remove(&moment);
        }
        Busy(self.clone())
    }

    fn rest(&self) {
        let mut seats = self.guests.seats();
        seats.moments += 1;
        let moment = seats.moments;
        seats.idle.insert(moment, self.sent_away.clone());
        *self.idle_since() = Some(moment);
    }

    fn idle_since(&self) -> MutexGuard<'_, Option<u64>> {
        self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who is idle and begins to speak is about to ask for something. A socket that has become the plugin's is
/// no guest any more.
impl Expecting for Weak<Guest> {
    fn expects_more(&self) -> bool {
        self.upgrade().is_some_and(|guest| guest.idle_since().is_some())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rest();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let moment = self.idle_since().take();
        let mut seats = self.guests.seats();
        if let Some(moment) = moment {
            seats.idle.remove(&moment);
        }
        if !self.sent_away.is_cancelled() {
            seats.free += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Guests;

    #[test]
    fn the_longest_idle_makes_room_and_the_busy_stay() {
        let guests = Guests::new(2);
        let first = guests.welcome().unwrap();
        let second = guests.welcome().unwrap();
        let busy = first.work();
        let third = guests.welcome().unwrap();
        assert!(second.sent_away.is_cancelled() && !first.sent_away.is_cancelled());
        let also_busy = third.work();
        assert!(guests.welcome().is_none());
        drop(busy);
        let fourth = guests.welcome().unwrap();
        assert!(first.sent_away.is_cancelled() && !third.sent_away.is_cancelled());
        drop((first, second)); // Their seats were taken over: none is free.
        let fifth = guests.welcome().unwrap();
        assert!(fourth.sent_away.is_cancelled());
        drop((also_busy, third, fourth, fifth));
        assert_eq!(guests.seats().free, 2);
        assert!(guests.seats().idle.is_empty());
    }
}
