//! Streams of events: so many at once, of one user and of all, and some kept for administrators.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tradewind_daemon::live::Usage;
use tradewind_daemon::live::rights::{Actor, Role};

use crate::api::Limits;

/// Who has how many.
#[derive(Debug)]
pub(crate) struct Seats {
    max: usize,
    per_user: usize,
    /// Of `max`, for administrators alone.
    reserved: usize,
    taken: Mutex<BTreeMap<String, usize>>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    user: String,
}

impl Seats {
    pub(crate) fn new(limits: &Limits) -> Seats {
        let (max, per_user) = (limits.streams, limits.streams_per_user);
        Seats { max, per_user, reserved: limits.streams_reserved, taken: Mutex::default() }
    }

    /// One for the caller.
    ///
    /// # Errors
    /// If the caller has as many as a user may, or all are taken.
    pub(crate) fn take(self: &Arc<Seats>, actor: &Actor) -> Result<Seat, Usage> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = taken.values().sum();
        let own = taken.get(&actor.user).copied().unwrap_or(0);
        let (max, per_user) = match actor.role {
            Role::Administrator => (self.max, self.max),
            _ => (self.max.saturating_sub(self.reserved), self.per_user),
        };
        for (limit, used, allowed) in [("streams_per_user", own, per_user), ("streams", all, max)]
        {
            if used >= allowed {
                let (used, allowed) = (used as u64, allowed as u64);
                return Err(Usage { limit: limit.to_owned(), used, allowed, wait: 5 });
            }
        }
        *taken.entry(actor.user.clone()).or_default() += 1;
        Ok(Seat { seats: Arc::clone(self), user: actor.user.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_part_and_administrators_find_a_free_one() {
        let limits =
            Limits { streams: 6, streams_per_user: 3, streams_reserved: 2, ..Limits::default() };
        let seats = Arc::new(Seats::new(&limits));
        let actor = |user: &str, role| Actor { user: user.to_owned(), role };
        let (ana, bob) = (actor("ana", Role::User), actor("bob", Role::User));
        let anas: Vec<Seat> = (0..3).map(|_| seats.take(&ana).unwrap()).collect();
        let refused = |actor: &Actor| seats.take(actor).unwrap_err();
        assert_eq!((refused(&ana).limit.as_str(), refused(&ana).used), ("streams_per_user", 3));
        let bobs = seats.take(&bob).unwrap();
        assert_eq!((refused(&bob).limit.as_str(), refused(&bob).allowed), ("streams", 4));
        let root = actor("root", Role::Administrator);
        let roots: Vec<Seat> = (0..2).map(|_| seats.take(&root).unwrap()).collect();
        assert_eq!(refused(&root).used, 6);
        drop((anas, bobs, roots));
        assert!(seats.take(&ana).is_ok());
    }
}
