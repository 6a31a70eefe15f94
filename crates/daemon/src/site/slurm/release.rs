//! Jobs that were handed in on hold are let go on the moment, whatever their site's thread does
//! then: a command waits for it at the cluster, by the clock there. If it fails, or dies with us,
//! the next survey lets the job go.

use std::thread;
use std::time::Duration;

use super::Slurm;
use crate::site::managed::tickets::{Ticket, stamp};
use crate::site::managed::tool::{Call, Tool, Who};

const PROGRAM: &str = include_str!("release.sh");
/// The command is begun so long before the moment: far clusters are slow to reach.
const SOONER: Duration = Duration::from_secs(1);

/// A job on hold.
struct Held {
    tool: Tool,
    account: String,
    /// Slurm's number of it.
    id: String,
    mark: String,
    /// When it is to be let go: milliseconds since 1970.
    at: i64,
}

impl Slurm {
    /// Lets the ticket's job go when its start has come. `id` is what Slurm calls it now.
    pub(super) fn release_in_time(&self, id: &str, ticket: &Ticket) {
        let held = Held {
            tool: self.tool.clone(),
            account: ticket.account.clone(),
            id: id.to_owned(),
            mark: ticket.mark(),
            at: ticket.start.saturating_mul(1_000),
        };
        let thread = thread::Builder::new().name(format!("release-{}", self.name));
        if let Err(error) = thread.spawn(move || held.release()) {
            tracing::warn!(site = self.name, %error, "no thread to let a job go in time");
        }
    }
}

impl Held {
    fn release(self) {
        let sooner = SOONER.min(self.tool.timeout / 2);
        thread::sleep(self.left().saturating_sub(sooner));
        let (at, left) = (self.at.to_string(), self.left().as_millis().to_string());
        let words = ["/bin/sh", "-s", "--", &self.id, &self.mark, &at, &left];
        let mut call = Call::by(Who::User(&self.account), &words);
        call.input = PROGRAM.as_bytes();
        // It may have been cancelled meanwhile.
        if let Err(wrong) = self.tool.must(&call) {
            tracing::debug!(%wrong, "not let go in time");
        }
    }

    fn left(&self) -> Duration {
        let left = self.at.saturating_sub(stamp() / 1_000);
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}
