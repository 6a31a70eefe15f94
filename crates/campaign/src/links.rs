//! Which jobs of a log are submitted when others are over.

use std::collections::BTreeMap;

use tradewind_io::campaign::Dependencies;
use tradewind_io::swf::{Log, Record};
use tradewind_model::Span;
use tradewind_sim::feedback::{self, Link, Trail};
use tradewind_sim::workload::Workload;

use crate::failure::Failure;

/// A break longer than this ends a user's session (Zakay and Feitelson: 20 minutes).
const SESSION_GAP: Span = Span(20 * 60);

/// How many jobs of a run follow another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linked {
    /// By which rule.
    pub by: Dependencies,
    /// Jobs that are submitted by it.
    pub linked: usize,
    /// Jobs that name a preceding job which is not replayed, or not before them: as logged.
    pub unlinked: usize,
}

/// Links the jobs of `workload`, which come from `logs` in this order.
///
/// # Errors
/// If the rule needs what a log does not say.
pub(crate) fn link(
    workload: &mut Workload,
    logs: &[Log],
    by: Dependencies,
) -> Result<Linked, Failure> {
    let (mut links, mut unknown, mut first) = (Vec::new(), 0, 0);
    for log in logs {
        match by {
            Dependencies::Ignore => {}
            Dependencies::Order => unknown += preceding(log, first, &mut links, |_| None),
            Dependencies::Think => unknown += preceding(log, first, &mut links, think),
            Dependencies::Sessions => links.extend(sessions(log, first)?),
        }
        first += log.jobs.len() + log.undated.len();
    }
    let (kept, unlinked) = feedback::kept(links, &workload.jobs, first);
    let unlinked = unknown + unlinked.rejected + unlinked.unknown;
    workload.links = kept;
    Ok(Linked { by, linked: workload.links.len(), unlinked })
}

/// Links by field 17; how many jobs name one that is not before them.
fn preceding(
    log: &Log,
    first: usize,
    links: &mut Vec<Link>,
    think: impl Fn(&Record) -> Option<Span>,
) -> usize {
    let mut sources: BTreeMap<i64, usize> = BTreeMap::new();
    let mut unknown = 0;
    for (job, record) in (first..).zip(&log.jobs) {
        if record.preceding > 0 {
            match sources.get(&record.preceding) {
                Some(&after) => links.push(Link { job, after, think: think(record) }),
                None => unknown += 1,
            }
        }
        sources.insert(record.number, job);
    }
    unknown
}

/// Field 18, if the log has it.
fn think(record: &Record) -> Option<Span> {
    (record.think_time >= 0).then(|| Span(record.think_time.min(Span::MAX.0)))
}

/// Links of users' sessions, by the ends that the log has.
fn sessions(log: &Log, first: usize) -> Result<Vec<Link>, Failure> {
    if !log.has_waits() {
        let message = format!("{}: the log has no wait times, so no ends of jobs", log.name);
        let hint = "`--dependencies sessions` needs them; `think` and `order` use fields 17 and 18";
        return Err(Failure::data(message).hint(hint));
    }
    let trail = |(job, record): (usize, &Record)| Trail {
        job,
        user: record.user,
        submit: record.submit,
        end: record.start().unwrap_or(record.submit) + record.run.unwrap_or_default(),
    };
    let trails: Vec<Trail> = (first..).zip(&log.jobs).map(trail).collect();
    Ok(feedback::sessions(&trails, SESSION_GAP))
}

#[cfg(test)]
mod tests {
    use tradewind_io::input::Input;
    use tradewind_io::swf;

    use super::*;

    fn log(lines: &[(i64, i64, i64, i64)]) -> Log {
        let line = |&(number, submit, after, think): &(i64, i64, i64, i64)| {
            format!("{number} {submit} 5 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 {after} {think}\n")
        };
        let text: String = lines.iter().map(line).collect();
        swf::parse(&Input::new("a.swf", format!("; MaxProcs: 4\n{text}"))).unwrap()
    }

    #[test]
    fn fields_17_and_18_are_links_to_jobs_before() {
        let log = log(&[(1, 0, -1, -1), (2, 1, 1, 30), (3, 2, 9, 4), (4, 3, 4, 4), (5, 4, 2, -1)]);
        let mut links = Vec::new();
        assert_eq!(preceding(&log, 10, &mut links, think), 2);
        let link = |job, after, think: Option<i64>| Link { job, after, think: think.map(Span) };
        assert_eq!(links, [link(11, 10, Some(30)), link(14, 11, None)]);
    }

    #[test]
    fn a_session_is_the_users_last_end_of_twenty_minutes() {
        let log = log(&[(1, 0, -1, -1), (2, 20, -1, -1), (3, 1_235, -1, -1), (4, 2_451, -1, -1)]);
        let links = sessions(&log, 0).unwrap();
        let link = |job, after, think| Link { job, after, think: Some(Span(think)) };
        assert_eq!(links, [link(1, 0, 5), link(2, 1, 1_200)]);
    }
}
