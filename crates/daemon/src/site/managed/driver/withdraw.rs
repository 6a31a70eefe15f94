//! Stopping a task, and taking one back whose work has not begun.

use std::time::{Duration, Instant};

use super::base::unwritten;
use super::judge::is_other;
use super::manager::{Manager, ManagerJob};
use super::{Driver, find};
use tradewind_io::submission::signal::Warning;

use crate::site::clock::now;
use crate::site::managed::spool::{RecallOutcome, Trace};
use crate::site::managed::tickets::{Ticket, TicketEnd};
use crate::site::{Exit, SiteError, Tag};

/// A task that has just begun writes that down within some milliseconds; files may be seen later.
const PAUSE: Duration = Duration::from_millis(200);
/// A list of jobs may serve again for so long.
const FRESH: Duration = Duration::from_secs(2);

impl<M: Manager> Driver<M> {
    /// As [`Site::withdraw`](crate::site::Site::withdraw) says.
    pub(super) fn call_off(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.base.tickets.get(tag) else {
            self.staging.forget(tag);
            return self.base.tickets.ban(tag).map_err(|error| unwritten(&error));
        };
        if ticket.ended.is_some() || ticket.is_forgotten {
            return Ok(());
        }
        let job = if M::CANCEL_KILLS { None } else { self.job_to_cancel(tag)? };
        // Only from here on: what ended before it was withdrawn ended by itself.
        match job {
            Some(job) if job.waits() || job.holds_nodes() => {
                self.base.change(tag, |ticket| ticket.is_withdrawn = true)?;
                self.await_word(tag);
                let Some(ticket) = self.base.tickets.get(tag) else { return Ok(()) };
                self.manager.cancel(&self.base, ticket, Some(&job))
            }
            Some(job) if !self.is_of_another(tag, &job)? => {
                self.await_word(tag);
                Ok(())
            }
            _ => {
                self.base.change(tag, |ticket| ticket.is_withdrawn = true)?;
                self.await_word(tag);
                self.claim_or_stop(tag)
            }
        }
    }

    /// Whether the task has its nodes in another job than this one, which is over. A submission that
    /// seemed to fail may have come through all the same, and its job has an earlier mark.
    fn is_of_another(&self, tag: &Tag, job: &M::Job) -> Result<bool, SiteError> {
        let Some(ticket) = self.base.tickets.get(tag) else { return Ok(false) };
        let traces = self.base.spool(ticket).look(std::slice::from_ref(tag))?;
        let runs = |trace: &Trace| trace.end.is_none() && is_other(job, trace);
        Ok(traces.get(tag).is_some_and(runs))
    }

    /// As [`Site::notify`](crate::site::Site::notify) says.
    pub(super) fn tell(&mut self, tag: &Tag, signal: Option<Warning>) -> Result<(), SiteError> {
        let runs = |ticket: &&Ticket| ticket.ended.is_none() && !ticket.is_forgotten;
        if self.base.tickets.get(tag).filter(runs).is_none() {
            return Ok(());
        }
        let job = self.job_to_cancel(tag)?;
        match (job.filter(ManagerJob::holds_nodes), self.base.tickets.get(tag)) {
            (Some(job), Some(ticket)) => self.manager.notify(&self.base, ticket, &job, signal),
            _ => Ok(()),
        }
    }

    /// The task's job; a list of a moment ago will do.
    fn job_to_cancel(&mut self, tag: &Tag) -> Result<Option<M::Job>, SiteError> {
        let Some(ticket) = self.base.tickets.get(tag) else { return Ok(None) };
        let extra = self.known.extra.as_ref().filter(|(at, _)| at.elapsed() < FRESH);
        if let Some(job) = extra.and_then(|(_, jobs)| find::<M>(jobs, ticket)) {
            return Ok(Some(job.clone()));
        }
        let jobs = self.manager.jobs_in_brief(&self.base)?;
        let job = find::<M>(&jobs, ticket).cloned();
        self.known.extra = Some((Instant::now(), jobs));
        Ok(job)
    }

    /// Of a task that was withdrawn: either it never begins, or it hears that it is to stop.
    fn claim_or_stop(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.base.tickets.get(tag) else { return Ok(()) };
        let spool = self.base.spool(ticket);
        match spool.claim(tag)? {
            None => {
                self.end_unbegun(tag)?;
                // Where jobs are cancelled from a list, this one was not in it.
                if M::CANCEL_KILLS {
                    self.cancel_left(tag);
                }
                Ok(())
            }
            Some(trace) if trace.end.is_none() => spool.stop(tag),
            // It was over before we came.
            Some(_) => self.base.change(tag, |ticket| ticket.is_withdrawn = false),
        }
    }

    /// As [`Site::recall`](crate::site::Site::recall) says. The manager's own word is not enough:
    /// it may start the job while we ask. But the task's script does nothing before it has made the
    /// task's folder, so the one who makes that folder first has decided.
    pub(super) fn take_back(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.base.tickets.get(tag) else {
            self.staging.forget(tag);
            return self.base.tickets.ban(tag).map_err(|error| unwritten(&error));
        };
        if ticket.ended.is_some() || ticket.is_forgotten {
            return Ok(());
        }
        self.base.change(tag, |ticket| ticket.is_recalled = true)?;
        let Some(ticket) = self.base.tickets.get(tag) else { return Ok(()) };
        match self.base.spool(ticket).take_back(tag)? {
            RecallOutcome::Back => self.never_begins(tag),
            RecallOutcome::TooLate => {
                self.base.change(tag, |ticket| ticket.is_recalled = false)?;
                Err(SiteError::Begun)
            }
            RecallOutcome::Unclear => {
                let jobs = self.manager.jobs_in_brief(&self.base)?;
                // The folder is of an earlier recall: no job that waits has made it.
                if find::<M>(&jobs, ticket).is_some_and(ManagerJob::waits) {
                    return self.never_begins(tag);
                }
                // We are asked again at once.
                std::thread::sleep(PAUSE);
                Err(SiteError::Unknown(format!("{tag} may have just begun")))
            }
        }
    }

    /// Its folder is ours. Its job would find that and do nothing, so it only has to go: if we die
    /// here, or the manager does not answer, the next survey cancels what is left of it.
    fn never_begins(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.end_unbegun(tag)?;
        self.cancel_left(tag);
        Ok(())
    }

    /// Its folder is ours: it has ended, and its work has not begun.
    fn end_unbegun(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let ended = TicketEnd::before_it_began(now(), Exit::Withdrawn);
        self.base.change(tag, |ticket| {
            ticket.is_withdrawn = true;
            ticket.ended = Some(ended);
        })
    }

    fn cancel_left(&mut self, tag: &Tag) {
        let Some(ticket) = self.base.tickets.get(tag) else { return };
        let cancelled = match M::CANCEL_KILLS {
            true => self.manager.cancel(&self.base, ticket, None),
            false => self.manager.jobs_in_brief(&self.base).and_then(|jobs| {
                let job = find::<M>(&jobs, ticket).filter(|job| job.waits() || job.holds_nodes());
                job.map_or(Ok(()), |job| self.manager.cancel(&self.base, ticket, Some(job)))
            }),
        };
        if let Err(wrong) = cancelled {
            tracing::warn!(%tag, %wrong, "a job that was taken back is still there");
        }
    }
}
