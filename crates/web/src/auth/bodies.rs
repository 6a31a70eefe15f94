//! Large bodies: how many bytes of them are held at once, and how many are parsed.
//!
//! A small body costs little and waits for nothing. A large one is counted from before it is read
//! until its request is answered, and is parsed on a thread of lower priority, one of each user at
//! a time and few in all; so others' requests are not held up. What is left of refused requests is
//! read slowly, for few of them at the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tradewind_daemon::live::Usage;

use crate::api::Limits;
use crate::failure::{Answer, ErrorResponse};
use crate::quiet::quietly;

/// Bodies of so many bytes are small.
pub(crate) const SMALL: usize = 64 << 10;

/// So many refused requests are read to their end at the same time.
const LEFTOVERS: usize = 4;

/// What there is of large bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    max: usize,
    per_user: usize,
    held: Mutex<HeldBytes>,
    /// Parsed at once.
    parsers: Arc<Semaphore>,
    /// Refused requests that are read to their end.
    leftovers: Semaphore,
}

#[derive(Debug, Default)]
struct HeldBytes {
    all: usize,
    users: BTreeMap<String, Own>,
}

#[derive(Debug)]
struct Own {
    bytes: usize,
    requests: usize,
    /// One of them is parsed at a time.
    turn: Arc<Semaphore>,
}

/// Room for a large body, until it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    bodies: Arc<Bodies>,
    user: String,
    bytes: usize,
}

impl Bodies {
    pub(crate) fn new(limits: &Limits) -> Bodies {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (max, per_user) = (limits.bodies_bytes, limits.bodies_bytes_per_user);
        let parsers = Arc::new(Semaphore::new((cores / 2).max(1)));
        let leftovers = Semaphore::new(LEFTOVERS);
        Bodies { max, per_user, held: Mutex::default(), parsers, leftovers }
    }

    fn held(&self) -> MutexGuard<'_, HeldBytes> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Permission to read what is left of a large refused request.
    pub(crate) async fn leftover(&self) -> Option<SemaphorePermit<'_>> {
        self.leftovers.acquire().await.ok()
    }

    /// Room for a body of so many bytes. A user who has no other large one always finds it within
    /// the own share.
    ///
    /// # Errors
    /// If too many bytes are held already.
    pub(crate) fn room(self: &Arc<Bodies>, user: &str, bytes: usize) -> Result<Room, Usage> {
        let mut held = self.held();
        let own = held.users.get(user).map_or(0, |own| own.bytes);
        let limits =
            [("request_bytes_per_user", own, self.per_user), ("request_bytes", held.all, self.max)];
        let met = limits.into_iter().find(|(_, used, max)| *used > 0 && used + bytes > *max);
        if let Some((limit, used, max)) = met {
            let (used, allowed) = (used as u64, max as u64);
            return Err(Usage { limit: limit.to_owned(), used, allowed, wait: 1 });
        }
        held.all += bytes;
        let new = || Own { bytes: 0, requests: 0, turn: Arc::new(Semaphore::new(1)) };
        let own = held.users.entry(user.to_owned()).or_insert_with(new);
        (own.bytes, own.requests) = (own.bytes + bytes, own.requests + 1);
        drop(held);
        Ok(Room { bodies: Arc::clone(self), user: user.to_owned(), bytes })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut held = self.bodies.held();
        held.all = held.all.saturating_sub(self.bytes);
        if let Some(own) = held.users.get_mut(&self.user) {
            own.bytes = own.bytes.saturating_sub(self.bytes);
            own.requests -= 1;
            if own.requests == 0 {
                held.users.remove(&self.user);
            }
        }
    }
}

impl Room {
    /// Parses a large body: when it is its user's turn, and then when a parser is free.
    ///
    /// # Errors
    /// If the server is stopping.
    pub(crate) async fn parse<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Answer<T> {
        let turn = self.bodies.held().users.get(&self.user).map(|own| Arc::clone(&own.turn));
        let turn = turn.unwrap_or_else(|| Arc::new(Semaphore::new(1)));
        let turn = permit(turn).await?;
        let parser = permit(Arc::clone(&self.bodies.parsers)).await?;
        quietly(move || {
            let done = work();
            drop((parser, turn));
            done
        })
        .await
    }
}

async fn permit(semaphore: Arc<Semaphore>) -> Answer<OwnedSemaphorePermit> {
    let permit = semaphore.acquire_owned().await;
    permit.map_err(|_| ErrorResponse::unavailable("the server is stopping"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_one_user_leave_room_for_others() {
        let limits = Limits { bodies_bytes: 10, bodies_bytes_per_user: 6, ..Limits::default() };
        let bodies = Arc::new(Bodies::new(&limits));
        let ana = bodies.room("ana", 6).unwrap();
        let usage = bodies.room("ana", 1).unwrap_err();
        assert_eq!(
            (usage.limit.as_str(), usage.used, usage.allowed),
            ("request_bytes_per_user", 6, 6)
        );
        let bob = bodies.room("bob", 4).unwrap();
        assert_eq!(bodies.room("eve", 1).unwrap_err().limit, "request_bytes");
        drop((ana, bob));
        let large = bodies.room("ana", 20).unwrap();
        assert_eq!(bodies.held().all, 20, "one alone is never refused");
        drop(large);
        assert!(bodies.held().users.is_empty());
    }
}
