//! Reads of tasks' output: each on a thread of its own, with a deadline and within bounds.
//!
//! A file may be on a disk that never answers. Then its reader is left behind, and keeps its permit
//! until it comes back: so one user's stuck reads take no more than that user's share.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::busy::Busy;
use super::sites::SiteRequest;
use crate::site::{Excerpt, SiteError, Tag, Written};

/// So long a reader waits for the site, and then for the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Limit on the number of simultaneous reads.
#[derive(Debug)]
pub struct Reads {
    of_all: usize,
    of_one: usize,
    held: Mutex<BTreeMap<String, usize>>,
}

/// There are as many reads as there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// One user has too many.
    #[error("{0} reads of output by the same user are under way: as many as one user may have")]
    OfOne(usize),
    /// All users together have too many.
    #[error("{0} reads of output are under way: as many as all users together may have")]
    OfAll(usize),
}

impl Reads {
    /// So many of all users, and so many of each.
    pub fn new(of_all: usize, of_one: usize) -> Arc<Reads> {
        Arc::new(Reads { of_all, of_one, held: Mutex::default() })
    }

    /// Permission for one read by `user`, until it is dropped.
    ///
    /// # Errors
    /// Which bound is reached.
    pub fn permit(self: &Arc<Reads>, user: &str) -> Result<Permit, Full> {
        let mut held = self.held();
        if held.get(user).copied().unwrap_or(0) >= self.of_one {
            return Err(Full::OfOne(self.of_one));
        }
        if held.values().sum::<usize>() >= self.of_all {
            return Err(Full::OfAll(self.of_all));
        }
        *held.entry(user.to_owned()).or_default() += 1;
        Ok(Permit { reads: Arc::clone(self), user: user.to_owned() })
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permit of [`Reads`].
#[derive(Debug)]
pub struct Permit {
    reads: Arc<Reads>,
    user: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.reads.held();
        if let Some(count) = held.get_mut(&self.user) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                held.remove(&self.user);
            }
        }
    }
}

/// A way to ask a site what a task has written.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(super) errands: Sender<SiteRequest>,
    pub(super) busy: Arc<Busy>,
}

impl Reader {
    /// A part of what the task has written so far. Returns within ten seconds, whatever the site and
    /// its files do.
    ///
    /// # Errors
    /// What the site says; [`SiteError::Away`] if it does not answer in time.
    pub fn read(&self, tag: &Tag, wanted: Excerpt, permit: Permit) -> Result<Written, SiteError> {
        let gone = || SiteError::Away("the market has stopped".to_owned());
        if let Some(why) = self.busy.overdue() {
            return Err(SiteError::Away(why));
        }
        let until = Instant::now() + PATIENCE;
        let (answer, prepared) = sync_channel(1);
        self.errands.send(SiteRequest::Read(tag.clone(), wanted, answer)).map_err(|_| gone())?;
        let late = |what: &str| {
            let within = PATIENCE.as_secs();
            SiteError::Away(format!("{what} did not answer within {within} s: ask again later"))
        };
        let left = |until: Instant| until.saturating_duration_since(Instant::now());
        let reading = prepared.recv_timeout(left(until)).map_err(|_| late("the site"))??;
        let (answer, read) = sync_channel(1);
        let work = move || {
            let bytes = reading.run();
            drop(permit);
            drop(answer.send(bytes));
        };
        let thread = std::thread::Builder::new().name("read".to_owned()).spawn(work);
        thread.map_err(|wrong| SiteError::Away(format!("no thread to read with: {wrong}")))?;
        read.recv_timeout(PATIENCE).map_err(|_| late("the file's disk, or the user's command,"))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_cannot_take_all_reads() {
        let reads = Reads::new(3, 2);
        let first = reads.permit("ana").unwrap();
        let _second = reads.permit("ana").unwrap();
        assert_eq!(reads.permit("ana").unwrap_err(), Full::OfOne(2));
        let _third = reads.permit("ben").unwrap();
        assert_eq!(reads.permit("eve").unwrap_err(), Full::OfAll(3));
        drop(first);
        reads.permit("eve").unwrap();
        reads.permit("ana").unwrap();
    }
}
