//! Which jobs are planned, and what they ask for.

use std::collections::BTreeSet;

use tradewind_model::{Grid, Horizon, Job, Performance, Request, Span, Time};

use super::history::Moment;
use super::offers::Offers;
use super::{Arrivals, Batch, MissingRequest, Refusal, SnapshotOptions};
use crate::swf::{Log, Record};

/// The chosen jobs, by index in the log.
pub(super) struct ChosenJobs {
    pub(super) jobs: Vec<usize>,
    kind: Batch,
    /// How many more there would be if the machine were wider.
    too_wide: usize,
    /// How many of them requested no time.
    without_request: usize,
    /// The submit time of the first and of the last.
    submitted: (Time, Time),
}

pub(super) fn choose(
    log: &Log,
    options: &SnapshotOptions,
    at: Time,
    moment: &Moment,
    processors: u32,
) -> ChosenJobs {
    let kind = match options.batch {
        Some(batch) => batch,
        None if options.arrivals.is_none() && log.has_waits() => Batch::Waiting,
        None => Batch::Arrivals,
    };
    let all = match kind {
        Batch::Waiting => moment.waiting.clone(),
        Batch::Arrivals => arrivals(log, options.arrivals.unwrap_or_default(), at),
    };
    let fits = |&i: &usize| log.jobs[i].wanted().is_none_or(|wanted| wanted <= processors);
    let (jobs, too_wide): (Vec<usize>, Vec<usize>) = all.into_iter().partition(fits);
    let too_wide = too_wide.len();
    let records = || jobs.iter().map(|&i| &log.jobs[i]);
    let without_request = records().filter(|job| requested(job).is_none()).count();
    let submits = || records().map(|job| job.submit);
    let submitted = (submits().min().unwrap_or(at), submits().max().unwrap_or(at));
    ChosenJobs { jobs, kind, too_wide, without_request, submitted }
}

fn arrivals(log: &Log, arrivals: Arrivals, at: Time) -> Vec<usize> {
    let later = log.jobs.iter().enumerate().filter(|(_, job)| job.submit > at && job.ran());
    match arrivals {
        Arrivals::Count(count) => later.take(count as usize).map(|(i, _)| i).collect(),
        Arrivals::Within(span) => {
            later.take_while(|(_, job)| job.submit - at <= span).map(|(i, _)| i).collect()
        }
    }
}

fn requested(job: &Record) -> Option<Span> {
    job.requested_time.filter(|span| span.0 > 0)
}

/// The chosen jobs with all that they ask for. Work is the requested time on the reference node.
pub(super) fn jobs(
    log: &Log,
    options: &SnapshotOptions,
    grid: &Grid,
    chosen: &ChosenJobs,
    at: Time,
) -> Vec<Job> {
    let offers = Offers::drawn(grid, options.side.model.price_base);
    let mut names = BTreeSet::new();
    let mut all = Vec::with_capacity(chosen.jobs.len());
    for &i in &chosen.jobs {
        let record = &log.jobs[i];
        let missing = match options.missing_request {
            MissingRequest::RunTime => record.run.unwrap_or(Span(1)),
            MissingRequest::Span(span) => span,
        };
        let work = requested(record).unwrap_or(missing).max(Span(1));
        let earliest = (record.submit > at).then_some(record.submit);
        let mut request = Request::new(record.wanted().unwrap_or(1), work);
        request.earliest_start = earliest;
        let mut job = Job { name: name(record.number, &mut names), priority: 0, request };
        let logged = (record.number, record.run);
        options.side.terms(options.seed, logged, at, &offers, &mut job);
        all.push(job);
    }
    all
}

/// The job's number in the log; a number that occurs again gets a suffix.
fn name(number: i64, names: &mut BTreeSet<String>) -> String {
    let mut name = number.to_string();
    let mut copy = 1;
    while !names.insert(name.clone()) {
        copy += 1;
        name = format!("{number}#{copy}");
    }
    name
}

impl ChosenJobs {
    /// Why there is nothing to plan, if so: no job, or none that is submitted in the horizon.
    pub(super) fn emptiness(&self, horizon: Horizon) -> Option<Refusal> {
        let at = horizon.start;
        if self.jobs.is_empty() {
            let hint = "try another moment, or `--batch arrivals` with a larger `--arrivals`";
            return Some((format!("no job to plan at {at}"), hint.to_owned()));
        }
        let (first, end) = (self.submitted.0, horizon.end);
        (first >= end).then(|| {
            let message = format!("no job is submitted between {at} and {end}");
            (message, format!("the next is submitted at {first}: try a moment near it"))
        })
    }

    /// Adds what was assumed about the batch, as sentences.
    pub(super) fn assume(
        &self,
        options: &SnapshotOptions,
        horizon: Horizon,
        assumptions: &mut Vec<String>,
    ) {
        let count = self.jobs.len();
        assumptions.push(match self.kind {
            Batch::Waiting => format!("the batch is what waits: {count} jobs"),
            Batch::Arrivals => format!(
                "the batch is what is submitted next, up to {}, and starts no earlier: {count} jobs",
                self.submitted.1
            ),
        });
        if self.submitted.1 >= horizon.end {
            assumptions
                .push("some are submitted after the horizon and cannot be placed".to_owned());
        }
        if self.too_wide > 0 {
            let count = self.too_wide;
            assumptions
                .push(format!("jobs that ask for more than the machine has, left out: {count}"));
        }
        if self.without_request > 0 {
            let work = match options.missing_request {
                MissingRequest::RunTime => "the time that they ran".to_owned(),
                MissingRequest::Span(span) => format!("{span} s"),
            };
            assumptions.push(format!(
                "jobs that requested no time, given {work}: {}",
                self.without_request
            ));
        }
        let reference = Performance::REFERENCE;
        assumptions.push(format!("requested times are work on a node of performance {reference}"));
    }
}
