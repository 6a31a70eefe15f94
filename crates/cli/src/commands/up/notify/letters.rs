//! Which mails are due, and what they say.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use tradewind_daemon::engine::{EngineStopped, Handle};
use tradewind_daemon::live::Live;
use tradewind_daemon::live::state::{Finish, Job, Phase};
use tradewind_web::documents::Event;
use tradewind_web::{Moment, Notice, job_title};

use super::mail::{Mail, date};

/// What was said of jobs that are not over: by job, the attempt whose beginning was told.
#[derive(Debug)]
pub(super) struct Letters {
    began: BTreeMap<u64, u32>,
    zone: TimeZone,
}

/// What a mail reports a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) job: u64,
    pub(super) to: String,
    pub(super) name: String,
    pub(super) user: String,
    pub(super) pools: Vec<String>,
    pub(super) attempt: u32,
    pub(super) submitted: i64,
    pub(super) started: Option<i64>,
    /// When its work ended: the market may have learned it later.
    pub(super) ended: Option<i64>,
    pub(super) paid: String,
    pub(super) reason: Option<String>,
    pub(super) wants: Wants,
}

/// About what the job's user wants mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) begin: bool,
    pub(super) end: bool,
    pub(super) fail: bool,
}

impl Letters {
    pub(super) fn new(zone: TimeZone) -> Letters {
        Letters { began: BTreeMap::new(), zone }
    }

    /// The mails that these events call for. Looks at the market at most once.
    ///
    /// # Errors
    /// If the market has stopped.
    pub(super) fn write(
        &mut self,
        market: &Handle,
        notices: &[&Notice],
    ) -> Result<Vec<Mail>, EngineStopped> {
        let due =
            |it: &&&Notice| ["running", "over", "breached", "notice"].contains(&it.kind.as_str());
        let due: Vec<&Notice> = notices.iter().filter(due).copied().collect();
        let jobs: Vec<u64> = due.iter().filter_map(|it| it.job).collect();
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let facts = market.look(move |live| facts(live, &jobs))?;
        let mails = due.iter().filter_map(|notice| {
            let facts = facts.get(&notice.job?)?;
            let event = serde_json::from_str(&notice.text).ok()?;
            self.mail(&event, facts)
        });
        Ok(mails.collect())
    }

    /// The mail of an event of a job whose user wants mail of some kind.
    pub(super) fn mail(&mut self, event: &Event, facts: &Facts) -> Option<Mail> {
        let (wanted, what) = match event.kind.as_str() {
            // Each part of a job begins; one mail is enough.
            "running" => {
                let told = self.began.insert(facts.job, facts.attempt);
                (facts.wants.begin && told != Some(facts.attempt), "RUNNING")
            }
            "notice" => (facts.wants.fail, "NOTICE"),
            "breached" => (facts.wants.fail, "OFFER NOT KEPT"),
            _ => {
                self.began.remove(&facts.job);
                let state = event.state.as_deref().unwrap_or("OVER");
                let wants = facts.wants;
                (if state == "COMPLETED" { wants.end } else { wants.fail }, state)
            }
        };
        wanted.then(|| self.compose(event, facts, what))
    }

    fn compose(&self, event: &Event, facts: &Facts, state: &str) -> Mail {
        let name = if facts.name.is_empty() { "no name" } else { facts.name.as_str() };
        let over = event.kind == "over";
        let time = |at: i64| date(at, &self.zone);
        let mut lines = vec![
            ("Job", facts.job.to_string()),
            ("Name", name.to_owned()),
            ("User", facts.user.clone()),
            ("State", state.to_owned()),
        ];
        let reason = if over { &facts.reason } else { &event.message };
        lines.extend(reason.clone().map(|it| ("Reason", it)));
        lines.extend((!facts.pools.is_empty()).then(|| ("Where", facts.pools.join(", "))));
        lines.push(("Submitted", time(facts.submitted)));
        let is_notice = event.kind == "notice";
        let started = if over || is_notice { facts.started } else { event.time.or(facts.started) };
        lines.extend(started.map(|it| ("Started", time(it))));
        lines.extend(event.time.filter(|_| is_notice).map(|it| ("Nodes until", time(it))));
        if over {
            lines.push(("Ended", time(facts.ended.unwrap_or(event.at))));
            lines.push(("Paid", format!("{} credits", facts.paid)));
        }
        Mail {
            to: facts.to.clone(),
            subject: format!("Tradewind: job {} ({name}): {state}", facts.job),
            at: event.at,
            lines,
        }
    }
}

fn facts(live: &Live, jobs: &[u64]) -> BTreeMap<u64, Facts> {
    let state = live.state();
    let moment = Moment::new(state, None);
    let of = |number: &u64| {
        let job = state.jobs.get(number)?;
        let mail = job.submission.mail.as_ref()?;
        let pools = state.market.pools().as_slice();
        let pools = job.parts().iter().filter_map(|part| pools.get(part.pool.index()));
        let status = moment.status(job);
        let facts = Facts {
            job: *number,
            to: mail.to.clone().unwrap_or_else(|| job.user.clone()),
            name: job_title(job),
            user: job.user.clone(),
            pools: pools.map(|pool| pool.name.clone()).collect(),
            attempt: job.attempt,
            submitted: job.submitted.0,
            started: status.started.map(|it| it.0),
            ended: job.ended().map(|it| it.0),
            paid: status.cost_so_far.to_string(),
            reason: reason(job),
            wants: Wants { begin: mail.begin, end: mail.end, fail: mail.fail },
        };
        Some((*number, facts))
    };
    jobs.iter().filter_map(of).collect()
}

/// Why a job ended as it did, where its state does not say all.
fn reason(job: &Job) -> Option<String> {
    let Phase::Over(finish) = job.phase() else { return None };
    match finish {
        Finish::Failed(code) => Some(format!("exit code {code}")),
        Finish::Killed(signal) => Some(format!("signal {signal}")),
        Finish::Refused(reason) => Some(tradewind_web::sentence(reason)),
        Finish::Dependency(other) => Some(format!("job {other} did not end as it had to")),
        Finish::Returned(why) => Some(why.clone()),
        Finish::Cancelled => job.cancelled_by.as_ref().map(|by| format!("cancelled by {by}")),
        Finish::Completed | Finish::Timeout | Finish::OutOfMemory | Finish::NodeFail => None,
    }
}
