//! Since when the parts of a job work, and whether they come together.

use tradewind_io::submission::Gather;
use tradewind_model::{PoolId, Span, Time};

use super::{Beginning, Job, Part, Setback};
use crate::site::Exit;

/// How a running job's parts come together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StartBarrier {
    /// When their work begins; `None`: they are not all there.
    pub at: Option<Time>,
    /// They did not come together: the pool of the one that was missing, and why.
    pub timed_out: Option<(PoolId, String)>,
    /// When their work really began: milliseconds since 1970 by part, once all are known.
    pub began: Vec<i64>,
}

impl Job {
    /// Whether it has parts in several pools that do not wait for each other.
    pub fn begins_apart(&self) -> bool {
        self.parts().len() > 1 && self.barrier().is_none()
    }

    /// When the work of its parts really began: milliseconds since 1970 by part, once all are known.
    pub(in crate::live) fn beginnings(&self) -> &[i64] {
        match self.run().map(|run| &run.beginning) {
            Some(Beginning::Together(StartBarrier { began, .. }) | Beginning::Apart(began)) => {
                began
            }
            None => &[],
        }
    }

    /// The start skew: from the first part's real beginning to the last one's, milliseconds.
    pub fn skew(&self) -> Option<i64> {
        let began = self.beginnings();
        Some(began.iter().max()? - began.iter().min()?)
    }

    /// Since when its work runs, perhaps in a moment: if its parts begin together, since they do.
    pub fn began(&self) -> Option<Time> {
        match self.barrier() {
            Some(it) => it.at,
            None => self.parts().iter().filter_map(|part| part.since).min(),
        }
    }

    /// Since when the part's work runs: what it waited for others does not count.
    pub fn works_since(&self, part: &Part) -> Option<Time> {
        match self.barrier() {
            Some(it) => Some(part.since?.max(it.at?)),
            None => part.since,
        }
    }

    /// Seconds that the part's work ran until `now` or its end, at most its limit.
    pub fn worked(&self, part: &Part, now: Time) -> Span {
        let end = part.exit.as_ref().map_or(now, |(end, _)| *end);
        let end = self.kept_until().map_or(end, |kept| kept.min(end));
        let used = self.works_since(part).map_or(0, |since| (end - since).0);
        Span(used.clamp(0, part.limit.0))
    }

    /// Seconds that the part pays for: those that its work ran, and at least one once it has begun,
    /// so that many short tasks are not free. At most its limit, which is what was held for it.
    pub(in crate::live) fn charged(&self, part: &Part, now: Time, rules: Option<u32>) -> Span {
        let worked = self.worked(part, now) + self.staged(part);
        if self.lost_all() {
            return Span(0);
        }
        match rules.is_some() && self.works_since(part).is_some() {
            true => Span(worked.0.max(1).min(part.limit.0)),
            false => worked.min(part.limit),
        }
    }

    /// How long its nodes were kept for the part while its data was brought: at most as long as that was
    /// expected to take.
    fn staged(&self, part: &Part) -> Span {
        let Some(times) = part.staging else { return Span(0) };
        let since = self.works_since(part).zip(self.started());
        since.map_or(Span(0), |(since, started)| {
            Span((since - started).0.max(0)).min(times.stage_in)
        })
    }

    /// The longest of these times of its parts: so long it pays for what it has taken along.
    pub(in crate::live) fn charged_longest(&self, now: Time, rules: Option<u32>) -> Span {
        let parts = self.parts().iter();
        parts.map(|part| self.charged(part, now, rules)).max().unwrap_or_default()
    }

    /// Whether it was given its nodes and its parts still wait for each other: no work has run,
    /// whatever sites say.
    pub(in crate::live) fn is_gathering(&self) -> bool {
        self.barrier().is_some_and(|it| it.at.is_none())
    }

    /// Whether the work of some of its parts never began.
    pub(in crate::live) fn is_incomplete(&self) -> bool {
        self.parts().iter().any(|part| part.since.is_none())
    }

    /// That its parts did not come together, if so.
    pub(in crate::live) fn barrier_timeout(&self) -> Option<Setback> {
        let (pool, why) = self.barrier()?.timed_out.clone()?;
        Some(Setback::BarrierTimedOut(pool, why))
    }

    /// The same, when all of them ended without an order to.
    pub(in crate::live) fn vanished(&self) -> Option<Setback> {
        let first = self.parts().first().filter(|_| self.barrier().is_some())?;
        Some(Setback::BarrierTimedOut(first.pool, gone(first)))
    }

    /// How its work begins if it is started in so many parts.
    pub(in crate::live::state) fn beginning_of(&self, parts: usize) -> Beginning {
        match parts > 1 && self.submission.gather != Some(Gather::Apart) {
            true => Beginning::Together(StartBarrier::default()),
            false => Beginning::Apart(Vec::new()),
        }
    }
}

/// How a part ended that was over before it began.
pub(in crate::live) fn gone(part: &Part) -> String {
    match part.exit.as_ref().map(|(_, exit)| exit) {
        Some(Exit::NotStarted(why) | Exit::Refused(why)) => why.clone(),
        Some(Exit::NodeFailed) => "its nodes died".to_owned(),
        Some(Exit::Preempted) => {
            "its nodes were taken away for a job of higher priority".to_owned()
        }
        Some(Exit::Lost) => "its site has lost it".to_owned(),
        Some(Exit::Withdrawn) => "it was taken away at its site".to_owned(),
        _ => "it ended before the others were there".to_owned(),
    }
}
