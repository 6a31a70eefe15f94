//! Taking a task back whose work has not begun.

use std::time::Duration;

use super::listing::Job;
use super::{Slurm, unwritten};
use crate::site::local::records::now;
use crate::site::managed::spool::Taken;
use crate::site::managed::tickets::Ended;
use crate::site::{Exit, SiteError, Tag};

/// A task that has just begun writes that down within some milliseconds; files may be seen later.
const PAUSE: Duration = Duration::from_millis(200);

impl Slurm {
    /// As [`Site::recall`](crate::site::Site::recall) says. Slurm's own word is not enough: it may
    /// start the job while we ask. But the task's script does nothing before it has made the task's
    /// folder, so whoever makes that folder first has decided.
    pub(super) fn take_back(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else {
            return self.tickets.ban(tag).map_err(|error| unwritten(&error));
        };
        if ticket.ended.is_some() || ticket.is_forgotten {
            return Ok(());
        }
        self.change(tag, |ticket| ticket.is_recalled = true)?;
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        match self.spool(ticket).take_back(tag)? {
            Taken::Back => self.never_begins(tag),
            Taken::TooLate => {
                self.change(tag, |ticket| ticket.is_recalled = false)?;
                Err(SiteError::Begun)
            }
            Taken::Unclear => {
                let jobs = self.jobs_in_brief()?;
                // The folder is of an earlier recall: no job that waits has made it.
                if Slurm::find(&jobs, ticket).is_some_and(Job::waits) {
                    return self.never_begins(tag);
                }
                // We are asked again at once.
                std::thread::sleep(PAUSE);
                Err(SiteError::Unknown(format!("{tag} may have just begun")))
            }
        }
    }

    /// Its folder is ours. Its job would find that and do nothing, so it only has to go: if we die
    /// here, or Slurm does not answer, the next survey cancels what is left of it.
    fn never_begins(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let ended = Ended::before_it_began(now(), &Exit::Withdrawn);
        self.change(tag, |ticket| {
            ticket.is_withdrawn = true;
            ticket.ended = Some(ended);
        })?;
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        let cancelled = self.jobs_in_brief().and_then(|jobs| {
            let job = Slurm::find(&jobs, ticket).filter(|job| job.waits() || job.holds_nodes());
            job.map_or(Ok(()), |job| self.cancel(job, ticket))
        });
        if let Err(wrong) = cancelled {
            tracing::warn!(%tag, %wrong, "a job that was taken back is still there");
        }
        Ok(())
    }
}
