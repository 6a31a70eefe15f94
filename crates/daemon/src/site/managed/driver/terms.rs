//! What is left at the site of earlier terms of ownership.
//!
//! A job that was submitted in an earlier term may wait at the manager, and then it is ours; or its
//! submission may still be under way, by a daemon that was succeeded meanwhile, and then it must not
//! run whenever it arrives. So each account's spool learns of the new term first, which refuses what is
//! ordered from then on; then all jobs are listed; and of earlier terms only the tasks of that list may
//! begin afterwards ([`Spool::keep`]). What comes later is refused by its own script, and has been
//! submitted again, withdrawn or given up by then.

use std::collections::BTreeSet;

use super::Driver;
use super::judge::{by_mark, find};
use super::manager::{Manager, ManagerJob};
use crate::site::managed::spool::Spool;
use crate::site::{SiteError, Tag};

/// An account, and its spool.
type AccountSpool = (String, String);

/// Which spools know of the term.
#[derive(Debug, Default)]
pub(super) struct SpoolTerms {
    /// Earlier terms can order nothing there.
    begun: BTreeSet<AccountSpool>,
    /// And nothing that they ordered can arrive there.
    settled: BTreeSet<AccountSpool>,
    /// Those that could not be used.
    failed: BTreeSet<AccountSpool>,
}

impl SpoolTerms {
    fn note(&mut self, place: &AccountSpool, done: Result<(), SiteError>) -> bool {
        match done {
            Ok(()) => drop(self.failed.remove(place)),
            Err(wrong) if self.failed.insert(place.clone()) => {
                tracing::warn!(account = place.0, %wrong, "orders of earlier terms are not refused yet");
            }
            Err(_) => return false,
        }
        !self.failed.contains(place)
    }
}

impl<M: Manager> Driver<M> {
    /// Whether folders of tasks may be removed there: no submission of an earlier term can arrive that
    /// they would have stopped.
    pub(super) fn is_settled(&self, place: &AccountSpool) -> bool {
        self.base.tool.gate.is_none() || self.terms.settled.contains(place)
    }

    /// Before jobs are listed.
    pub(super) fn begin_term(&mut self) {
        if self.base.tool.gate.is_none() {
            return;
        }
        let tickets = self.base.tickets.iter();
        let all: BTreeSet<AccountSpool> =
            tickets.map(|(_, it)| (it.account.clone(), it.spool.clone())).collect();
        let new: Vec<AccountSpool> = all.difference(&self.terms.begun).cloned().collect();
        for place in &new {
            let spool = Spool { tool: &self.base.tool, account: &place.0, path: &place.1 };
            if self.terms.note(place, spool.begin_term()) {
                self.terms.begun.insert(place.clone());
            }
        }
    }

    /// After all jobs were listed.
    pub(super) fn settle_terms(&mut self, jobs: &[M::Job]) {
        if self.terms.begun.len() == self.terms.settled.len() {
            return;
        }
        let marked = by_mark(jobs);
        let left: Vec<AccountSpool> =
            self.terms.begun.difference(&self.terms.settled).cloned().collect();
        for place in &left {
            let is_here = |job: &M::Job| job.waits() || job.holds_nodes();
            let found = self.base.tickets.iter().filter(|(_, it)| {
                (&it.account, &it.spool) == (&place.0, &place.1)
                    && it.ended.is_none()
                    && find::<M>(&marked, it).is_some_and(is_here)
            });
            let tags: Vec<Tag> = found.map(|(tag, _)| tag.clone()).collect();
            let spool = Spool { tool: &self.base.tool, account: &place.0, path: &place.1 };
            let kept = spool.keep(&tags);
            if self.terms.note(place, kept) {
                self.terms.settled.insert(place.clone());
            }
        }
    }
}
