//! `schedule.swf`: the log as it was replayed.

use tradewind_campaign::fates::{Fate, Fates};
use tradewind_campaign::replay::Finished;
use tradewind_io::swf::{self, Log, ReplayedJob, Rules, SwfOutcome as SwfFate};

/// A name and a text for each log: `schedule.swf`, or `schedule-LOG.swf` of several.
pub(super) fn schedules(finished: &Finished<'_>, fates: &Fates<'_>) -> Vec<(String, String)> {
    let (prepared, summary) = (&finished.prepared, &finished.summary);
    let (policy, semantics) = (summary.cell("policy"), summary.cell("semantics"));
    let processors = prepared.workload.processors();
    let rules = Rules { policy: &policy, semantics: &semantics, processors };
    let mut jobs = prepared.jobs.iter().zip(fates.iter());
    let mut all = Vec::new();
    for log in prepared.logs.iter() {
        let mut log: Log = log.clone();
        let mut replayed = Vec::with_capacity(log.jobs.len() + log.undated.len());
        for record in log.jobs.iter_mut().chain(&mut log.undated) {
            let Some((job, fate)) = jobs.next() else { break };
            // At another load submissions are elsewhere.
            record.submit = job.submit.unwrap_or(record.submit);
            replayed.push(outcome(fate));
        }
        let name = match prepared.logs.len() {
            1 => "schedule.swf".to_owned(),
            _ => format!("schedule-{}.swf", log.name),
        };
        all.push((name, swf::result(&log, &replayed, &rules)));
    }
    all
}

fn outcome(fate: &Fate<'_>) -> ReplayedJob {
    match fate {
        Fate::Rejected(_) => ReplayedJob::NEVER,
        Fate::Ran(life) => ReplayedJob {
            wait: Some(life.ran.start - life.job.submit),
            run: Some(life.ran.end - life.ran.start),
            processors: Some(life.job.processors),
            fate: if life.job.killed { SwfFate::Failed } else { SwfFate::Completed },
        },
    }
}
