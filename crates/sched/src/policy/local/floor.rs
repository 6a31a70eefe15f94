//! What is taken of one site: running jobs until their expected ends, closures, and whatever the
//! owner of the books sets aside in the profile.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Outage, OutageId, JobId, Profile, Span, Time};

use crate::policy::outages::{Outages, Taken};
use crate::policy::backfill::{Waiting, expected_span};

/// A running job.
#[derive(Debug, Clone, Copy)]
struct Hold {
    processors: u32,
    start: Time,
    length: Span,
    /// When it is expected to end.
    end: Time,
}

/// Became free during `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) struct Opened {
    pub(in crate::policy) from: Time,
    pub(in crate::policy) until: Time,
}

impl Opened {
    fn new(from: Time, until: Time) -> Option<Opened> {
        (from < until).then_some(Opened { from, until })
    }
}

/// The books of a site.
#[derive(Debug)]
pub(in crate::policy) struct Floor {
    processors: u32,
    /// What is free beside running jobs, closures and reservations.
    pub(in crate::policy) profile: Profile,
    running: BTreeMap<JobId, Hold>,
    /// When running jobs are expected to end.
    due: BTreeSet<(Time, JobId)>,
    absences: Outages,
    /// Something happened that no reservation reckoned with.
    upset: bool,
    /// When closures that never began were last looked for.
    looked: Time,
}

impl Floor {
    /// Nothing is taken. No processors count as one.
    pub(in crate::policy) fn new(processors: u32) -> Floor {
        let processors = processors.max(1);
        Floor {
            processors,
            profile: Profile::new(processors, Time::MIN),
            running: BTreeMap::new(),
            due: BTreeSet::new(),
            absences: Outages::default(),
            upset: false,
            looked: Time::MIN,
        }
    }

    /// Processors of the site.
    pub(in crate::policy) fn processors(&self) -> u32 {
        self.processors
    }

    /// Processors that are free now.
    pub(in crate::policy) fn free(&self) -> u32 {
        u32::try_from(self.profile.free_now().max(0)).unwrap_or(u32::MAX)
    }

    /// The first moment at which a running job is expected to have ended, or nodes that are gone
    /// to be back.
    pub(in crate::policy) fn next_end(&self) -> Option<Time> {
        let end = self.due.first().map(|(end, _)| *end);
        end.into_iter().chain(self.absences.next_due()).min()
    }

    /// When processors are there again for which a closure was announced that never began.
    pub(in crate::policy) fn next_unsaid_end(&self) -> Option<Time> {
        self.absences.next_unsaid_end(self.profile.origin())
    }

    /// Whether there are such since the last call of this.
    pub(in crate::policy) fn regained(&mut self, now: Time) -> bool {
        let before = std::mem::replace(&mut self.looked, now);
        self.absences.next_unsaid_end(before).is_some_and(|at| at <= now)
    }

    /// A job takes its processors, which are taken in the profile already.
    pub(in crate::policy) fn start(&mut self, waiting: &Waiting) {
        let Waiting { rank, processors, estimate: length, .. } = *waiting;
        let start = self.profile.origin();
        let end = start + length;
        self.running.insert(rank.job, Hold { processors, start, length, end });
        self.due.insert((end, rank.job));
    }

    /// A job runs here that somebody else started at `start`, and is expected to take `length` in
    /// all. Reservations are made anew if they do not fit beside it.
    pub(in crate::policy) fn adopt(
        &mut self,
        job: JobId,
        processors: u32,
        (start, length): (Time, Span),
        now: Time,
    ) {
        self.profile.advance(now);
        let end = start + expected_span(length, now - start);
        match self.profile.fits(processors, now, end - now) {
            true => self.profile.take(processors, now, end),
            false => self.upset = true,
        }
        self.running.insert(job, Hold { processors, start, length, end });
        self.due.insert((end, job));
    }

    /// A job is over; returns what that opens.
    pub(in crate::policy) fn ended(&mut self, job: JobId, now: Time) -> Option<Opened> {
        self.profile.advance(now);
        let Hold { processors, end, .. } = self.running.remove(&job)?;
        self.due.remove(&(end, job));
        self.profile.give(processors, now, end);
        Opened::new(now, end)
    }

    /// A job lost its nodes.
    pub(in crate::policy) fn interrupted(&mut self, job: JobId, now: Time) {
        self.ended(job, now);
        self.upset = true;
    }

    /// Processors will be missing.
    pub(in crate::policy) fn announced(&mut self, closure: OutageId, what: Outage, now: Time) {
        self.absences.announced(closure, what, now);
        self.upset = true;
    }

    /// They are gone.
    pub(in crate::policy) fn closed(&mut self, closure: OutageId, now: Time) {
        self.upset |= self.absences.closed(closure, now).is_some();
    }

    /// They are back; returns what that opens.
    pub(in crate::policy) fn reopened(&mut self, closure: OutageId, now: Time) -> Option<Opened> {
        self.profile.advance(now);
        let (_, left) = self.absences.reopened(closure, now)?;
        let Taken { nodes, from, until, .. } = left?;
        self.profile.give(nodes, from, until);
        Opened::new(from, until)
    }

    /// Comes to `now`, with all that happened written down. `true`: expectations failed, so that
    /// the profile was made anew, without reservations: who should have ended is expected to need
    /// twice as long as believed so far.
    pub(in crate::policy) fn settle(&mut self, now: Time) -> bool {
        self.profile.advance(now);
        self.upset |= self.next_end().is_some_and(|end| end <= now);
        let upset = std::mem::take(&mut self.upset);
        if upset {
            self.rebuild(now);
        }
        upset
    }

    fn rebuild(&mut self, now: Time) {
        self.profile = Profile::new(self.processors, now);
        self.due.clear();
        for (&job, hold) in &mut self.running {
            hold.end = hold.start + expected_span(hold.length, now - hold.start);
            self.due.insert((hold.end, job));
            self.profile.take(hold.processors, now, hold.end);
        }
        for Taken { nodes, from, until, .. } in self.absences.anew(now) {
            self.profile.take(nodes, from, until);
        }
    }
}
