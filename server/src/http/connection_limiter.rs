//! ConnectionLimiter: the connections of the listener. When there is room for no more, the one that has been idle
//! longest makes room for the next, so that silent connections lock no one out. A connection with an incomplete
//! request counts as idle. `RequestRoom` keeps some connections from being busy, so a new one always finds room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

#[derive(Clone)]
pub(crate) struct ConnectionLimiter(Arc<Mutex<Connections>>);

struct Connections {
    free: usize,
    /// Longest idle first.
    idle: BTreeMap<u64, CancellationToken>,
    /// Counts how often a connection has become idle.
    moments: u64,
}

/// One connection. Its place is free again when this is dropped.
pub(crate) struct Connection {
    limiter: ConnectionLimiter,
    evicted: CancellationToken,
    /// Its peer is too slow.
    dropped: CancellationToken,
    activity: Mutex<Activity>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// Since this moment. The next thing to come is the head of a request.
    Idle(u64),
    /// The head has arrived, but not the whole request. It is still as idle as before.
    Receiving(u64),
    /// Its request is being answered.
    Busy,
}

/// A request, from its head to the end of its answer. Then its connection is idle again.
pub(crate) struct OpenRequest(Arc<Connection>);

impl ConnectionLimiter {
    pub(crate) fn new(max: usize) -> Self {
        let connections = Connections { free: max, idle: BTreeMap::new(), moments: 0 };
        Self(Arc::new(Mutex::new(connections)))
    }

    /// `None` if every other connection is busy.
    pub(crate) fn accept(&self) -> Option<Arc<Connection>> {
        let mut connections = self.lock();
        if connections.free == 0 {
            let (_, longest_idle) = connections.idle.pop_first()?;
            longest_idle.cancel(); // Its place is taken over here, not freed when it has gone.
        } else {
            connections.free -= 1;
        }
        let evicted = CancellationToken::new();
        let activity = Mutex::new(Activity::Idle(connections.begin_idle(&evicted)));
        drop(connections);
        let (limiter, dropped) = (self.clone(), CancellationToken::new());
        Some(Arc::new(Connection { limiter, evicted, dropped, activity }))
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Ends when its place is needed, or when it is to be dropped.
    pub(crate) async fn evicted(&self) {
        tokio::select! {
            () = self.evicted.cancelled() => {}
            () = self.dropped.cancelled() => {}
        }
    }

    /// The head of a request has arrived.
    pub(crate) fn open_request(self: &Arc<Self>) -> OpenRequest {
        let mut activity = self.activity();
        if let Activity::Idle(moment) = *activity {
            *activity = Activity::Receiving(moment);
        }
        OpenRequest(self.clone())
    }

    pub(crate) fn is_busy(&self) -> bool {
        *self.activity() == Activity::Busy
    }

    /// The next thing to come is the head of a request.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(*self.activity(), Activity::Idle(_))
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Returns the moment.
    fn begin_idle(&mut self, evicted: &CancellationToken) -> u64 {
        self.moments += 1;
        self.idle.insert(self.moments, evicted.clone());
        self.moments
    }

    fn end(&mut self, activity: Activity) {
        match activity {
            Activity::Idle(moment) | Activity::Receiving(moment) => drop(self.idle.remove(&moment)),
            Activity::Busy => {}
        }
    }
}

impl OpenRequest {
    /// Cancelling it drops the connection, whatever is unread.
    pub(crate) fn dropped(&self) -> CancellationToken {
        self.0.dropped.clone()
    }

    /// The whole request has arrived. False if its connection was evicted.
    pub(crate) fn begin(&self) -> bool {
        let (mut connections, mut activity) = (self.0.limiter.lock(), self.0.activity());
        if self.0.evicted.is_cancelled() {
            return false;
        }
        connections.end(*activity);
        *activity = Activity::Busy;
        true
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let (mut connections, mut activity) = (self.0.limiter.lock(), self.0.activity());
        if !self.0.evicted.is_cancelled() {
            connections.end(*activity);
            *activity = Activity::Idle(connections.begin_idle(&self.0.evicted));
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let activity = *self.activity();
        let mut connections = self.limiter.lock();
        connections.end(activity);
        if !self.evicted.is_cancelled() {
            connections.free += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::ConnectionLimiter;

    #[test]
    fn the_longest_idle_makes_room_and_the_busy_stay() {
        let limiter = ConnectionLimiter::new(2);
        let first = limiter.accept().unwrap();
        let second = limiter.accept().unwrap();
        let busy = first.open_request();
        assert!(busy.begin());
        let third = limiter.accept().unwrap();
        assert!(second.evicted.is_cancelled() && !first.evicted.is_cancelled());
        let also_busy = third.open_request();
        assert!(also_busy.begin());
        assert!(limiter.accept().is_none());
        drop(busy);
        let fourth = limiter.accept().unwrap();
        assert!(first.evicted.is_cancelled() && !third.evicted.is_cancelled());
        drop((first, second)); // Their places were taken over: none is free.
        let fifth = limiter.accept().unwrap();
        assert!(fourth.evicted.is_cancelled());
        drop((also_busy, third, fourth, fifth));
        let connections = limiter.lock();
        assert_eq!((connections.free, connections.idle.len()), (2, 0));
    }

    #[test]
    fn a_connection_is_idle_then_neither_then_busy() {
        let limiter = ConnectionLimiter::new(1);
        let connection = limiter.accept().unwrap();
        let seen = || (connection.is_idle(), connection.is_busy());
        assert_eq!(seen(), (true, false));
        let request = connection.open_request();
        assert_eq!(seen(), (false, false), "it is being received");
        assert!(request.begin());
        assert_eq!(seen(), (false, true));
        drop(request);
        assert_eq!(seen(), (true, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_hears_that_its_place_is_needed() {
        let limiter = ConnectionLimiter::new(1);
        let first = limiter.accept().unwrap();
        let hour = Duration::from_secs(3_600);
        timeout(hour, first.evicted()).await.unwrap_err();
        let _second = limiter.accept().unwrap();
        timeout(hour, first.evicted()).await.unwrap();
    }

    #[test]
    fn an_incomplete_request_keeps_no_place() {
        let limiter = ConnectionLimiter::new(2);
        let first = limiter.accept().unwrap();
        let second = limiter.accept().unwrap();
        let (incomplete, whole) = (first.open_request(), second.open_request());
        assert!(whole.begin());
        let third = limiter.accept().unwrap();
        assert!(first.evicted.is_cancelled() && !second.evicted.is_cancelled());
        assert!(!incomplete.begin(), "its place is gone");
        drop((whole, incomplete, first, second, third));
        let connections = limiter.lock();
        assert_eq!((connections.free, connections.idle.len()), (2, 0));
    }
}
