//! Whose turn it is to look ahead.
//!
//! A look ahead takes a processor for a while, so only few run at the same time. Each user has so
//! many of them at most; further questions of the same user wait in a line of the user's own, and
//! the lines are served in turn. So a user with many questions waits for the own ones, and others
//! wait for one question of each user at most.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tradewind_daemon::live::rights::{Actor, Role};

/// Bounds of what is taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Run at the same time, of all users; one more is for administrators.
    pub(crate) all: usize,
    /// Of these, of one user.
    pub(crate) per_user: usize,
    /// Questions of one user that wait.
    pub(crate) waiting: usize,
}

/// Questions of all users that wait.
const MOST_WAITING: usize = 1_024;
/// No caller is asked to wait longer: seconds.
const LONGEST_WAIT_S: u64 = 600;

/// All permits, and who waits for them.
#[derive(Debug)]
pub(crate) struct Turns {
    bounds: Bounds,
    desk: Mutex<Desk>,
}

#[derive(Debug)]
struct Desk {
    /// How long a permit is held, in milliseconds: a moving mean of the last ones.
    mean_ms: u64,
    /// Permits in use.
    used: usize,
    /// The same by user.
    running: BTreeMap<String, usize>,
    /// By user: who waits, first come first.
    lines: BTreeMap<String, UserQueue>,
    /// Users with a line; the first is served next.
    round: VecDeque<String>,
    /// The next question's number.
    next: u64,
}

#[derive(Debug)]
struct UserQueue {
    role: Role,
    waiting: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// Why there is no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// So many questions of the user wait already.
    Line(usize),
    /// So many questions of all users wait already.
    Full(usize),
    /// No permit was free in time.
    Late,
}

/// A permit, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    user: String,
    since: Instant,
    is_further: bool,
}

impl Turn {
    /// Whether other questions of the same user ran or waited when this one was asked.
    pub(crate) fn is_further(&self) -> bool {
        self.is_further
    }

    /// Name of the user.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.give_back(&self.user, Some(self.since.elapsed()));
    }
}

/// A caller in a line, who may leave it.
struct Waiting {
    turns: Arc<Turns>,
    user: String,
    number: u64,
    is_served: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_served {
            return;
        }
        let left = self.turns.desk().leave(&self.user, self.number);
        if !left {
            // The permit was on its way.
            self.turns.give_back(&self.user, None);
        }
    }
}

impl Turns {
    pub(crate) fn new(bounds: Bounds) -> Turns {
        Turns { bounds, desk: Mutex::new(Desk::new()) }
    }

    /// Seconds until it is of use to ask again, by how long questions took recently and by who
    /// waits: where a line is full, until one of its questions is served; else until a new one
    /// would be.
    pub(crate) fn wait(&self, user: &str, why: NoTurn) -> u64 {
        let desk = self.desk();
        let users = desk.round.len().max(1) as u64;
        let own = desk.lines.get(user).map_or(0, |line| line.waiting.len()) as u64;
        let questions = match why {
            NoTurn::Full(_) => 1,
            NoTurn::Line(_) => users,
            NoTurn::Late => users.saturating_mul(own + 1),
        };
        let wait_ms = questions.saturating_mul(desk.mean_ms) / self.bounds.all.max(1) as u64;
        wait_ms.div_ceil(1_000).clamp(1, LONGEST_WAIT_S)
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit, until `until` at most.
    ///
    /// # Errors
    /// If too many wait, or no permit is free in time.
    pub(crate) async fn take(
        self: &Arc<Turns>,
        who: &Actor,
        until: Instant,
    ) -> Result<Turn, NoTurn> {
        let turn = |is_further| {
            let (turns, user) = (Arc::clone(self), who.user.clone());
            Turn { turns, user, since: Instant::now(), is_further }
        };
        let (is_further, (number, served)) = {
            let mut desk = self.desk();
            let is_further = desk.has(&who.user);
            // A caller that waits although there is a permit was notified already.
            if desk.may_run(self.bounds, &who.user, who.role) && !desk.lines.contains_key(&who.user)
            {
                desk.start(&who.user);
                return Ok(turn(is_further));
            }
            (is_further, desk.queue(self.bounds, who)?)
        };
        let (turns, user) = (Arc::clone(self), who.user.clone());
        let mut waiting = Waiting { turns, user, number, is_served: false };
        match tokio::time::timeout_at(until.into(), served).await {
            Ok(Ok(())) => {
                waiting.is_served = true;
                Ok(turn(is_further))
            }
            Ok(Err(_)) | Err(_) => Err(NoTurn::Late),
        }
    }

    fn give_back(&self, user: &str, held: Option<Duration>) {
        let mut desk = self.desk();
        if let Some(held) = held {
            let held_ms = u64::try_from(held.as_millis()).unwrap_or(u64::MAX / 8);
            desk.mean_ms = (desk.mean_ms * 7).saturating_add(held_ms) / 8;
        }
        desk.used = desk.used.saturating_sub(1);
        if let Some(running) = desk.running.get_mut(user) {
            *running -= 1;
            if *running == 0 {
                desk.running.remove(user);
            }
        }
        desk.serve(self.bounds);
    }
}

impl Desk {
    fn new() -> Desk {
        Desk {
            mean_ms: 1_000,
            used: 0,
            running: BTreeMap::new(),
            lines: BTreeMap::new(),
            round: VecDeque::new(),
            next: 0,
        }
    }

    fn may_run(&self, bounds: Bounds, user: &str, role: Role) -> bool {
        let all = bounds.all + usize::from(role == Role::Administrator);
        let own = self.running.get(user).copied().unwrap_or(0);
        self.used < all && own < bounds.per_user
    }

    /// Whether a question of the user runs or waits.
    fn has(&self, user: &str) -> bool {
        self.running.contains_key(user) || self.lines.contains_key(user)
    }

    fn start(&mut self, user: &str) {
        self.used += 1;
        *self.running.entry(user.to_owned()).or_default() += 1;
    }

    fn queue(
        &mut self,
        bounds: Bounds,
        who: &Actor,
    ) -> Result<(u64, oneshot::Receiver<()>), NoTurn> {
        let own = self.lines.get(&who.user).map_or(0, |line| line.waiting.len());
        if own >= bounds.waiting {
            return Err(NoTurn::Line(own));
        }
        let all = self.lines.values().map(|line| line.waiting.len()).sum();
        if all >= MOST_WAITING {
            return Err(NoTurn::Full(all));
        }
        if own == 0 {
            self.round.push_back(who.user.clone());
        }
        let (tell, served) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        let fresh = || UserQueue { role: who.role, waiting: VecDeque::new() };
        let line = self.lines.entry(who.user.clone()).or_insert_with(fresh);
        line.waiting.push_back((number, tell));
        Ok((number, served))
    }

    /// Whether the question was still in its line.
    fn leave(&mut self, user: &str, number: u64) -> bool {
        let Some(line) = self.lines.get_mut(user) else { return false };
        let before = line.waiting.len();
        line.waiting.retain(|(other, _)| *other != number);
        let left = line.waiting.len() < before;
        if line.waiting.is_empty() {
            self.lines.remove(user);
            self.round.retain(|other| other != user);
        }
        left
    }

    /// Gives out what permits there are: one to each user in turn.
    fn serve(&mut self, bounds: Bounds) {
        while let Some(at) = self.round.iter().position(|user| self.may_serve(bounds, user)) {
            let Some(user) = self.round.remove(at) else { return };
            let Some(line) = self.lines.get_mut(&user) else { continue };
            let first = line.waiting.pop_front();
            match line.waiting.is_empty() {
                true => drop(self.lines.remove(&user)),
                false => self.round.push_back(user.clone()),
            }
            if let Some((_, tell)) = first {
                self.start(&user);
                // If the other end is gone, it gives the permit back.
                let _ = tell.send(());
            }
        }
    }

    fn may_serve(&self, bounds: Bounds, user: &str) -> bool {
        let role = self.lines.get(user).map(|line| line.role);
        role.is_some_and(|role| self.may_run(bounds, user, role))
    }
}

#[cfg(test)]
mod tests;
