//! Whether the time limit of a job is wall-clock time or work, and who said so: the job before its
//! project, the project before the owner of the nodes; else it is wall-clock time.

use std::sync::Arc;

use tradewind_io::submission::{Counted, Submission, TimeLimit};
use tradewind_model::{Demand, TimeMode, Times};

use super::Settings;
use super::state::Quote;

impl Settings {
    /// A new submission with what its project says of its times, if it leaves that open. What was
    /// submitted before stays as it is, whatever its project says now.
    pub fn counted(&self, submission: &Arc<Submission>) -> Arc<Submission> {
        let TimeLimit::One { limit, counted: Counted::Default } = submission.time else {
            return Arc::clone(submission);
        };
        let project = submission.project.as_ref();
        let Some(times) = project.and_then(|project| self.times.get(project)) else {
            return Arc::clone(submission);
        };
        let time = TimeLimit::One { limit, counted: Counted::Project(*times) };
        Arc::new(Submission { time, ..(**submission).clone() })
    }
}

/// The limit that was sent as it counts for the submission that is known: what a project says may
/// have changed since, and that makes no other submission.
pub(super) fn as_known(known: &TimeLimit, sent: &TimeLimit) -> TimeLimit {
    match (known, sent) {
        (
            TimeLimit::One { counted: counted @ (Counted::Default | Counted::Project(_)), .. },
            TimeLimit::One { limit, counted: Counted::Default | Counted::Project(_) },
        ) => TimeLimit::One { limit: *limit, counted: *counted },
        (
            TimeLimit::Reference(_),
            TimeLimit::One { limit, counted: Counted::Default | Counted::Project(_) },
        ) => TimeLimit::Reference(*limit),
        _ => sent.clone(),
    }
}

/// Why a job's limit is counted as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountingReason {
    /// The submission says so.
    Job,
    /// The project that pays says so.
    Project,
    /// The owner of the nodes says so.
    Owner,
    /// It is the default: neither job, project nor owner says.
    Default,
    /// It was submitted under a release in which all times were work.
    Earlier,
    /// It has a limit by class of nodes: as much work as is enough on each.
    Class,
}

/// How the limit counts on nodes whose owner says `owner`, and why.
pub fn counted(limit: &TimeLimit, owner: Times) -> (Times, CountingReason) {
    match limit {
        TimeLimit::One { counted: Counted::Job(times), .. } => (*times, CountingReason::Job),
        TimeLimit::One { counted: Counted::Project(times), .. } => {
            (*times, CountingReason::Project)
        }
        TimeLimit::One { counted: Counted::Default, .. } => match owner {
            Times::Work => (Times::Work, CountingReason::Owner),
            Times::Wall => (Times::Wall, CountingReason::Default),
        },
        TimeLimit::Reference(_) => (Times::Work, CountingReason::Earlier),
        TimeLimit::Classes(_) => (Times::Work, CountingReason::Class),
    }
}

impl Quote {
    /// Whether a job that asks for this may have it: as many nodes, as long, counted in one way.
    pub(super) fn is_for(&self, demand: &Demand) -> bool {
        let wanted = (demand.processors, demand.estimate, demand.mode());
        (self.tasks, self.work, self.times) == wanted
    }

    /// What it is for, in words.
    pub(super) fn subject(&self) -> String {
        let counted = match self.times {
            TimeMode::Fixed(Times::Work) => " of work",
            TimeMode::Fixed(Times::Wall) => " of wall-clock time",
            TimeMode::Owner => "",
        };
        format!("{} nodes and {} s{counted}", self.tasks, self.work)
    }
}
