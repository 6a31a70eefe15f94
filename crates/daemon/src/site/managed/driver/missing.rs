//! Tasks whose jobs the manager does not list any more, and that have not written their end: killed by the
//! manager, or their node died. Its records tell how they ended, some time later.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tradewind_model::Time;

use super::judge::TaskVerdict;
use crate::site::managed::spool::{Trace, seconds};
use crate::site::managed::tickets::Ticket;
use crate::site::{Exit, Seen, SiteError, Tag};

const KILL: i32 = 9;
/// Between two looks into the records for the same task: big ones take seconds to read.
const PAUSE: Duration = Duration::from_secs(3);

/// How a job ended, by the manager's records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::site) struct RecordedEnd {
    /// When; `None`: they do not say.
    pub until: Option<Time>,
    /// How.
    pub exit: Exit,
}

#[derive(Debug, Clone, Copy)]
struct Missing {
    since: Instant,
    /// When the records were asked last.
    asked: Option<Instant>,
}

/// All of them.
#[derive(Debug)]
pub(in crate::site) struct MissingTasks {
    /// A task of which the records say nothing for so long is lost.
    patience: Duration,
    tasks: BTreeMap<Tag, Missing>,
}

impl MissingTasks {
    /// None yet.
    pub(in crate::site) fn new(patience: Duration) -> MissingTasks {
        MissingTasks { patience, tasks: BTreeMap::new() }
    }

    /// Forgets those of which this is not so: they are listed again, or over.
    pub(in crate::site) fn retain(&mut self, is_missing: impl Fn(&Tag) -> bool) {
        self.tasks.retain(|tag, _| is_missing(tag));
    }

    /// What is to be said of a missing task; `None`: nothing yet. `records` asks the manager.
    ///
    /// # Errors
    /// If it does not answer.
    pub(in crate::site) fn judge(
        &mut self,
        tag: &Tag,
        (ticket, trace): (&Ticket, Option<&Trace>),
        now: Time,
        records: impl FnOnce() -> Result<Option<RecordedEnd>, SiteError>,
    ) -> Result<Option<TaskVerdict>, SiteError> {
        let fresh = Missing { since: Instant::now(), asked: None };
        let missing = self.tasks.entry(tag.clone()).or_insert(fresh);
        let mut recorded = None;
        if missing.asked.is_none_or(|asked| asked.elapsed() >= PAUSE) && !ticket.is_withdrawn {
            missing.asked = Some(Instant::now());
            recorded = records()?;
        }
        let is_over = recorded.is_some() || missing.since.elapsed() >= self.patience;
        if !ticket.is_withdrawn && !is_over {
            return Ok(None);
        }
        // Its folder is of an earlier recall. One that was deleted while it waited leaves no record,
        // and looks like one that was lost.
        let has_folder = trace.is_some_and(|trace| !trace.is_claimed);
        let (since, at, exit) = end(ticket, trace, recorded, now);
        Ok(Some(match has_folder {
            true => TaskVerdict::Stop(Seen::Ended { since, at, exit }),
            false if ticket.is_recalled => TaskVerdict::Bury(Exit::Withdrawn),
            false => TaskVerdict::Bury(exit),
        }))
    }
}

/// The end of a task that could not say how it ended.
pub(in crate::site) fn end(
    ticket: &Ticket,
    trace: Option<&Trace>,
    recorded: Option<RecordedEnd>,
    now: Time,
) -> (Option<Time>, Time, Exit) {
    let here = trace.and_then(|trace| trace.here.as_ref()).map(|here| seconds(here.at));
    // One that waited on its nodes has not run before its work began.
    let has_run = !ticket.waits_there() || trace.is_some_and(|trace| trace.began.is_some());
    let since = here.filter(|_| has_run);
    let at = recorded.as_ref().and_then(|it| it.until).unwrap_or(now);
    let at = at.max(since.unwrap_or(at));
    let exit = match recorded.map(|it| it.exit) {
        _ if ticket.is_withdrawn => Exit::Withdrawn,
        // With its reservation a job ends, too: it began late, and its own limit comes later.
        Some(Exit::Signal(KILL)) if at.0 >= ticket.start.saturating_add(ticket.limit) => {
            Exit::TimeLimit
        }
        Some(exit) => exit,
        None => Exit::Lost,
    };
    (since, at, exit)
}
