//! `tradewind wait`: until jobs are over, and exits as they did.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde_json::Value;
use tradewind_web::documents::{ExitStatus, Job};

use super::joined;
use crate::client::{Market, MarketArgs, words};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::report::Report;

/// Arguments of `tradewind wait`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind wait 7
  tradewind wait 7 8 9 && echo all of them completed
  tradewind wait 7 --timeout 600

A job that is held, for money or by its user, say, is told of on standard error, once and when the
reason changes. A job that sites would not start, because its program or its directory does not
exist, say, ends the wait. The exit code is the job's own, 128 and the signal's number if a signal ended it, 1 if it ended
otherwise (cancelled, time limit, lost nodes, memory, deadline) or was not started; of several jobs the highest. With
`--timeout` it is 1, too, for jobs that are not over after so many seconds; without it there is no
end, but a market that goes away is looked for no longer than 30 s; then the code is 2, and a job
that the caller does not have is 1: see standard error.")]
pub(crate) struct Args {
    /// Numbers of jobs.
    #[arg(value_name = "ID", required = true)]
    jobs: Vec<u64>,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let bound = args.place.bound();
    let (exit, jobs) = until_over(&args.place, &args.jobs, bound, report)?;
    let sent = joined(jobs);
    match format {
        Format::Table => {}
        Format::Json => sent.print()?,
        Format::Csv => {
            let jobs: Vec<Job> = match sent.0 {
                Value::Array(_) => sent.read()?,
                _ => vec![sent.read()?],
            };
            super::jobs::sheet_csv(&jobs).print_csv()?;
        }
    }
    Ok(exit)
}

/// Waits for all of `jobs`, in all as long as `bound` says; the highest exit code, and the jobs as
/// they ended, or as they were then.
pub(crate) fn until_over(
    place: &MarketArgs,
    jobs: &[u64],
    bound: Option<Duration>,
    report: &Report,
) -> Result<(Exit, Vec<Value>), Failure> {
    let until = bound.and_then(|bound| Instant::now().checked_add(bound));
    let mut highest = 0;
    let mut all = Vec::new();
    for number in jobs {
        let mut said = None;
        let sent = Market::wait(place, *number, until, |sent| {
            let job = sent.read::<Job>().ok();
            let told = job.as_ref().and_then(stuck);
            if told != said {
                said = told;
                said.iter().for_each(|text| report.note(text));
            }
            match job.is_some_and(|job| is_hopeless(&job)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        let job: Job = sent.read()?;
        let code = code(&job.state, job.exit);
        if code != 0 {
            let still = if words::is_over(Some(&job.state)) { "" } else { "still " };
            let why = job.message.map(|why| format!(": {why}")).unwrap_or_default();
            report.note(&format!("job {number} is {still}{}{why}", job.state));
        }
        highest = highest.max(code);
        all.push(sent.0);
    }
    Ok((Exit::Job(highest), all))
}

/// Reasons that do not pass by themselves.
const STUCK: [&str; 5] = [
    "AssocGrpBillingMinutes",
    "Dependency",
    "JobHeldUser",
    "JobLaunchFailedHeld",
    "JobRequeuedHeld",
];

/// The message for a caller who waits for a job that is not even in the queue.
fn stuck(job: &Job) -> Option<String> {
    let reason = job.reason.as_deref().filter(|reason| STUCK.contains(reason))?;
    let why = job.message.as_deref().unwrap_or(reason);
    job.waits_here().then(|| format!("job {} is held ({reason}): {why}", job.id))
}

/// Whether sites would not start the job: it has not run, and will not until its user releases it.
fn is_hopeless(job: &Job) -> bool {
    job.reason.as_deref() == Some("JobLaunchFailedHeld") && job.waits_here()
}

/// The exit code for a job that is over.
fn code(state: &str, exit: Option<ExitStatus>) -> u8 {
    match exit {
        Some(ExitStatus { signal, .. }) if signal > 0 => {
            u8::try_from(signal.saturating_add(128)).unwrap_or(u8::MAX)
        }
        Some(ExitStatus { code, .. }) if code != 0 => u8::try_from(code).unwrap_or(u8::MAX),
        _ if state == "COMPLETED" => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_sites_would_not_start_ends_the_wait() {
        let job = |reason: &str, sites: &[&str]| {
            let fields = serde_json::json!({
                "id": 7, "name": "n", "user": "ana", "state": "PENDING", "reason": reason,
                "nodes": 1, "submitted": 0, "paid": 0, "held": 0, "restarts": 0, "sites": sites
            });
            is_hopeless(&serde_json::from_value(fields).unwrap())
        };
        assert!(job("JobLaunchFailedHeld", &[]));
        assert!(!job("JobHeldUser", &[]) && !job("Priority", &[]));
    }

    #[test]
    fn a_waiting_caller_learns_why_nothing_happens() {
        let job = |state: &str, reason: &str| {
            let fields = serde_json::json!({
                "id": 7, "name": "n", "user": "ana", "state": state, "reason": reason,
                "message": "its payer has less", "nodes": 1, "submitted": 0, "paid": 0, "held": 0,
                "restarts": 0
            });
            stuck(&serde_json::from_value(fields).unwrap())
        };
        let said = "job 7 is held (AssocGrpBillingMinutes): its payer has less";
        assert_eq!(job("PENDING", "AssocGrpBillingMinutes").as_deref(), Some(said));
        assert_eq!([job("PENDING", "Priority"), job("CANCELLED", "Dependency")], [None, None]);
    }

    #[test]
    fn codes_are_those_of_the_job() {
        let exit = |code, signal| Some(ExitStatus { code, signal });
        assert_eq!(code("COMPLETED", exit(0, 0)), 0);
        assert_eq!(code("FAILED", exit(7, 0)), 7);
        assert_eq!(code("FAILED", exit(0, 9)), 137);
        assert_eq!(code("FAILED", exit(-1, 0)), 255);
        assert_eq!((code("TIMEOUT", None), code("CANCELLED", None)), (1, 1));
    }
}
