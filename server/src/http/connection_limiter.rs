//! Guests: the connections of the listener. There is room for so many; when it is full, the one that
//! has been idle longest makes room for the next, so that silent sockets lock nobody out. Who has not said all of
//! its request is idle too. Not all of them may be busy at once: a newcomer always finds one that is not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use crate::http::stall_timeout::Expecting;

#[derive(Clone)]
pub(crate) struct Guests(Arc<Mutex<Seats>>);

struct Seats {
    free: usize,
    /// Connections that nothing is done for, longest idle first.
    idle: BTreeMap<u64, CancellationToken>,
    /// Grows with every moment a connection becomes idle.
    moments: u64,
    /// How many more may be busy.
    hands: usize,
}

/// One connection; its seat is free again when this is dropped.
pub(crate) struct Guest {
    guests: Guests,
    sent_away: CancellationToken,
    pace: Mutex<Pace>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Since this moment; the next thing to come is the head of a request.
    Idle(u64),
    /// The head is there, but not all of the request: as idle as before.
    Asking(u64),
    Busy,
}

/// A request, from its head to the end of its answer; then its connection is idle again.
pub(crate) struct Asking(Arc<Guest>);

impl Guests {
    pub(crate) fn new(max: usize, busy_max: usize) -> Self {
        let seats = Seats { free: max, idle: BTreeMap::new(), moments: 0, hands: busy_max };
        Self(Arc::new(Mutex::new(seats)))
    }

    /// `None` if every other connection is busy.
    pub(crate) fn welcome(&self) -> Option<Arc<Guest>> {
        let mut seats = self.seats();
        if seats.free == 0 {
            let (_, longest_idle) = seats.idle.pop_first()?;
            longest_idle.cancel(); // Its seat is taken over here, not freed when it has gone.
        } else {
            seats.free -= 1;
        }
        let sent_away = CancellationToken::new();
        let pace = Mutex::new(Pace::Idle(seats.begin_idle(&sent_away)));
        drop(seats);
        Some(Arc::new(Guest { guests: self.clone(), sent_away, pace }))
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// When its seat is needed.
    pub(crate) async fn sent_away(&self) {
        self.sent_away.cancelled().await;
    }

    /// The head of a request is there.
    pub(crate) fn ask(self: &Arc<Self>) -> Asking {
        let mut pace = self.pace();
        if let Pace::Idle(moment) = *pace {
            *pace = Pace::Asking(moment);
        }
        Asking(self.clone())
    }

    /// Whether something is being done for it.
    pub(crate) fn is_busy(&self) -> bool {
        *self.pace() == Pace::Busy
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    /// The moment it begins.
    fn begin_idle(&mut self, sent_away: &CancellationToken) -> u64 {
        self.moments += 1;
        self.idle.insert(self.moments, sent_away.clone());
        self.moments
    }

    fn end(&mut self, pace: Pace) {
        match pace {
            Pace::Idle(moment) | Pace::Asking(moment) => drop(self.idle.remove(&moment)),
            Pace::Busy => self.hands += 1,
        }
    }
}

impl Asking {
    /// The request is whole, and something is done for it. False if too many are busy, or if its seat is gone.
    pub(crate) fn work(&self) -> bool {
        let (mut seats, mut pace) = (self.0.guests.seats(), self.0.pace());
        let hands = seats.hands.checked_sub(1).filter(|_| !self.0.sent_away.is_cancelled());
        let Some(hands) = hands else { return false };
        seats.end(*pace);
        seats.hands = hands;
        *pace = Pace::Busy;
        true
    }
}

/// Who is idle and begins to speak is about to ask for something. A socket that has become the plugin's is
/// no guest any more.
impl Expecting for Weak<Guest> {
    fn expects_more(&self) -> bool {
        self.upgrade().is_some_and(|guest| matches!(*guest.pace(), Pace::Idle(_)))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let (mut seats, mut pace) = (self.0.guests.seats(), self.0.pace());
        if !self.0.sent_away.is_cancelled() {
            seats.end(*pace);
            *pace = Pace::Idle(seats.begin_idle(&self.0.sent_away));
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let pace = *self.pace();
        let mut seats = self.guests.seats();
        seats.end(pace);
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
        let guests = Guests::new(2, 2);
        let first = guests.welcome().unwrap();
        let second = guests.welcome().unwrap();
        let busy = first.ask();
        assert!(busy.work());
        let third = guests.welcome().unwrap();
        assert!(second.sent_away.is_cancelled() && !first.sent_away.is_cancelled());
        let also_busy = third.ask();
        assert!(also_busy.work());
        assert!(guests.welcome().is_none());
        drop(busy);
        let fourth = guests.welcome().unwrap();
        assert!(first.sent_away.is_cancelled() && !third.sent_away.is_cancelled());
        drop((first, second)); // Their seats were taken over: none is free.
        let fifth = guests.welcome().unwrap();
        assert!(fourth.sent_away.is_cancelled());
        drop((also_busy, third, fourth, fifth));
        let seats = guests.seats();
        assert_eq!((seats.free, seats.hands, seats.idle.len()), (2, 2, 0));
    }

    #[test]
    fn half_a_request_keeps_no_seat_and_not_all_are_busy() {
        let guests = Guests::new(2, 1);
        let first = guests.welcome().unwrap();
        let second = guests.welcome().unwrap();
        let (half, whole) = (first.ask(), second.ask());
        assert!(whole.work());
        assert!(!half.work(), "one may be busy");
        let third = guests.welcome().unwrap();
        assert!(first.sent_away.is_cancelled() && !second.sent_away.is_cancelled());
        drop(whole);
        assert!(!half.work(), "its seat is gone");
        let asked = third.ask();
        assert!(asked.work(), "the next one may");
        drop((asked, half, first, second, third));
        let seats = guests.seats();
        assert_eq!((seats.free, seats.hands, seats.idle.len()), (2, 1, 0));
    }
}
