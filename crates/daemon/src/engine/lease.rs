//! Whether this daemon may act as the market's owner, by clocks of its own.
//!
//! The database decides who owns a market, and until when. Its answer is old when it arrives, so an
//! owner counts its lease from before the question left: it ends here no later than there, if both
//! clocks run alike. An eighth is left out for clocks that do not. Orders leave only under a lease
//! that holds; one that was lost never holds again, and another term has a lease of its own.

use std::fs;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A moment by two clocks: one that stands still while the machine is suspended, and one that
/// does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    instant: Instant,
    /// Milliseconds since the machine's start; `None`: the system does not say.
    uptime: Option<u64>,
}

impl Tick {
    /// This moment.
    pub fn now() -> Tick {
        let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
        Tick { instant: Instant::now(), uptime: milliseconds(&text) }
    }

    /// How long it is since `earlier`, by the clock that shows more.
    fn since(self, earlier: Tick) -> Duration {
        let by_instant = self.instant.saturating_duration_since(earlier.instant);
        match (self.uptime, earlier.uptime) {
            (Some(now), Some(then)) => {
                by_instant.max(Duration::from_millis(now.saturating_sub(then)))
            }
            _ => by_instant,
        }
    }
}

/// `12345.67 …`, in milliseconds.
fn milliseconds(uptime: &str) -> Option<u64> {
    let (seconds, rest) = uptime.split_whitespace().next()?.split_once('.')?;
    let hundredths: u64 = rest.get(..2)?.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(hundredths * 10)
}

#[derive(Debug)]
enum LeaseTerm {
    /// No other process can own the market.
    Endless,
    /// Renewed by a question that left at this moment, for so long.
    Timed(Tick, Duration),
    /// For ever, and why.
    Lost(String),
}

#[derive(Debug)]
struct HeldLease {
    term: LeaseTerm,
    /// Calls of sites with orders that have not returned.
    orders: usize,
}

impl HeldLease {
    fn left(&self) -> Option<Duration> {
        match &self.term {
            LeaseTerm::Endless => None,
            LeaseTerm::Timed(asked, length) => {
                let sure = *length - *length / 8;
                Some(sure.saturating_sub(Tick::now().since(*asked)))
            }
            LeaseTerm::Lost(_) => Some(Duration::ZERO),
        }
    }
}

/// The right to act as owner.
#[derive(Debug)]
pub struct Lease {
    held: Mutex<HeldLease>,
    returned: Condvar,
}

/// A call of a site with orders is under way until this is dropped.
#[derive(Debug)]
pub(super) struct OrderUnderway(Arc<Lease>);

impl Drop for OrderUnderway {
    fn drop(&mut self) {
        self.0.held().orders -= 1;
        self.0.returned.notify_all();
    }
}

impl Lease {
    /// Of a market that only this process can own, such as one in a file.
    pub fn endless() -> Arc<Lease> {
        Lease::of(LeaseTerm::Endless)
    }

    /// For `length` from the moment at which the question for it left.
    pub fn timed(asked: Tick, length: Duration) -> Arc<Lease> {
        Lease::of(LeaseTerm::Timed(asked, length))
    }

    fn of(term: LeaseTerm) -> Arc<Lease> {
        Arc::new(Lease {
            held: Mutex::new(HeldLease { term, orders: 0 }),
            returned: Condvar::new(),
        })
    }

    fn held(&self) -> MutexGuard<'_, HeldLease> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The database has renewed it, as asked at this moment. One that was lost stays lost.
    pub fn renew(&self, asked: Tick, length: Duration) {
        let mut held = self.held();
        if let LeaseTerm::Timed(..) = held.term {
            held.term = LeaseTerm::Timed(asked, length);
        }
    }

    /// It is not ours any more.
    pub fn lose(&self, why: impl Into<String>) {
        let mut held = self.held();
        if !matches!(held.term, LeaseTerm::Lost(_)) {
            held.term = LeaseTerm::Lost(why.into());
        }
    }

    /// Why it was lost, if it was.
    pub fn lost(&self) -> Option<String> {
        match &self.held().term {
            LeaseTerm::Lost(why) => Some(why.clone()),
            LeaseTerm::Endless | LeaseTerm::Timed(..) => None,
        }
    }

    /// How long it still holds; `None`: without end.
    pub fn left(&self) -> Option<Duration> {
        self.held().left()
    }

    /// Whether orders may leave.
    pub fn holds(&self) -> bool {
        self.left().is_none_or(|left| !left.is_zero())
    }

    /// Permission for one call of a site with orders, if the lease holds.
    pub(super) fn order(self: &Arc<Lease>) -> Option<OrderUnderway> {
        // Under one lock: else the lease could be lost between the look and the count, and a wait
        // for orders under way would miss this one.
        let mut held = self.held();
        if held.left().is_some_and(|left| left.is_zero()) {
            return None;
        }
        held.orders += 1;
        Some(OrderUnderway(Arc::clone(self)))
    }

    /// Waits until no call with orders is under way, but no longer than `max`; whether that is so.
    pub(super) fn await_orders(&self, max: Duration) -> bool {
        let waited = self.returned.wait_timeout_while(self.held(), max, |held| held.orders > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.orders == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_before_the_time_for_which_it_was_given() {
        let long_ago = Tick { instant: Instant::now(), uptime: None };
        let lease = Lease::timed(long_ago, Duration::from_secs(800));
        assert!(lease.left().unwrap() <= Duration::from_secs(700));
        assert!(lease.holds());
        lease.renew(long_ago, Duration::ZERO);
        assert!(!lease.holds());
        assert!(lease.order().is_none());
    }

    #[test]
    fn time_in_which_the_machine_was_suspended_counts() {
        let now = Tick::now();
        let Some(uptime) = now.uptime else { return };
        // By the other clock no time has passed.
        let before = Tick { uptime: Some(uptime.saturating_sub(11_000)), ..now };
        assert!(now.since(before) >= Duration::from_secs(11).min(Duration::from_millis(uptime)));
        assert!(!Lease::timed(before, Duration::from_secs(1)).holds() || uptime < 1_000);
        assert_eq!(milliseconds("350735.47 234388.90\n"), Some(350_735_470));
        assert_eq!(milliseconds("nonsense"), None);
    }

    #[test]
    fn what_was_lost_is_never_renewed() {
        let lease = Lease::timed(Tick::now(), Duration::from_secs(100));
        lease.lose("taken over");
        lease.lose("another reason");
        lease.renew(Tick::now(), Duration::from_secs(100));
        assert!(!lease.holds());
        assert_eq!(lease.lost().as_deref(), Some("taken over"));
    }

    #[test]
    fn orders_under_way_are_waited_for() {
        let lease = Lease::timed(Tick::now(), Duration::from_secs(100));
        let first = lease.order().unwrap();
        lease.lose("given up");
        assert!(lease.order().is_none());
        assert!(!lease.await_orders(Duration::from_millis(1)));
        let other = std::thread::spawn(move || drop(first));
        assert!(lease.await_orders(Duration::from_secs(60)));
        other.join().unwrap();
    }
}
