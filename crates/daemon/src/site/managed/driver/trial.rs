//! A real job of a second in each pool: whether the whole way works, from submission to output.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tradewind_io::settings::cluster::Accounts;
use tradewind_io::submission::{OnLost, Surroundings, Work};
use tradewind_model::{Span, Time};

use super::doctor::{SET_CLOCKS, SKEW, finding};
use super::manager::{Manager, ManagerJob};
use super::{Driver, find};
use crate::site::managed::tickets::{Ticket, TicketEnd};
use crate::site::managed::tool::{Call, Who};
use crate::site::{Exit, Finding, Order, Seen, Site, Tag, Verdict};

/// The job is looked at so often.
const PAUSE: Duration = Duration::from_millis(500);
/// The manager is asked for it so often.
const ASK: Duration = Duration::from_secs(3);
/// Its output may appear so long after its end: network file systems are slow to tell.
const OUTPUT: Duration = Duration::from_secs(10);
/// What the job writes, before the name of its node.
const WORD: &str = "tradewind-doctor";
/// More of its output is not read, bytes.
const MAX: usize = 4_096;

/// What became of the job.
enum TrialOutcome {
    Ended(Exit),
    /// It did not start in time; what the manager says of it.
    Waits(String),
    /// It could not be submitted or followed.
    Failed(String),
}

/// Milliseconds since 1970.
fn clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl<M: Manager> Driver<M> {
    /// See [`Site::trial`].
    pub(super) fn try_pool(&mut self, pool: &str, patience: Duration) -> Finding {
        let what = format!("a job runs in pool {pool}");
        let user = match &self.base.cluster.accounts {
            Accounts::Of(all) => all.keys().next().cloned(),
            Accounts::Same => self.base.own_account().ok(),
        };
        let Some(user) = user else {
            let found = "no user has an account here".to_owned();
            return finding(&what, Verdict::Bad, found, "set `accounts` of the site");
        };
        let place = self.base.pool(pool).and_then(|place| u32::try_from(place).ok()).unwrap_or(0);
        let job = u64::from(std::process::id());
        let tag = Tag { market: WORD.to_owned(), job, attempt: 0, part: place };
        let sent = clock();
        let began = Instant::now();
        let outcome = self.run_to_end(&trial(&tag, pool, &user), patience);
        let took = began.elapsed().as_secs_f64();
        let finding = match outcome {
            TrialOutcome::Ended(exit) => self.judge_trial(&what, &tag, &exit, sent, took),
            TrialOutcome::Waits(why) => {
                let found =
                    format!("not tried: after {} s it still waits: {why}", patience.as_secs());
                let remedy = "ask again when nodes are free, or wait longer: `--patience 10m`";
                finding(&what, Verdict::Warning, found, remedy)
            }
            TrialOutcome::Failed(why) => {
                let remedy = "see `options`, `accounts`, `user_command` and `spool` of the site";
                finding(&what, Verdict::Bad, why, remedy)
            }
        };
        self.clear_trial(&tag);
        finding
    }

    fn run_to_end(&mut self, order: &Order, patience: Duration) -> TrialOutcome {
        if let Err(wrong) = self.submit(order) {
            return TrialOutcome::Failed(wrong.to_string());
        }
        let end = Instant::now() + patience;
        let mut said = "nothing is known of it".to_owned();
        let mut asked = Instant::now();
        while Instant::now() < end {
            thread::sleep(PAUSE);
            // The task's own words come first: its manager is asked only now and then.
            if !self.has_ended(&order.tag) && asked.elapsed() < ASK {
                continue;
            }
            asked = Instant::now();
            match self.survey().map(|mut survey| survey.tasks.remove(&order.tag)) {
                Ok(Some(Seen::Ended { exit, .. })) => return TrialOutcome::Ended(exit),
                Ok(_) => said = self.managers_word(&order.tag).unwrap_or(said),
                Err(wrong) => said = wrong.to_string(),
            }
        }
        match self.withdraw(&order.tag) {
            Ok(()) => TrialOutcome::Waits(said),
            Err(wrong) => TrialOutcome::Failed(wrong.to_string()),
        }
    }

    /// Whether the task has written its end.
    fn has_ended(&self, tag: &Tag) -> bool {
        let Some(ticket) = self.base.tickets.get(tag) else { return false };
        let traces = self.base.spool(ticket).look(std::slice::from_ref(tag));
        traces.is_ok_and(|all| all.get(tag).is_some_and(|trace| trace.end.is_some()))
    }

    /// State and reason of the task's job.
    fn managers_word(&mut self, tag: &Tag) -> Option<String> {
        let jobs = self.manager.jobs_in_brief(&self.base).ok()?;
        find::<M>(&jobs, self.base.tickets.get(tag)?).map(ManagerJob::shown)
    }

    /// What its end, its traces in the spool and its output say.
    fn judge_trial(&self, what: &str, tag: &Tag, exit: &Exit, sent: i64, took: f64) -> Finding {
        let Some(ticket) = self.base.tickets.get(tag) else {
            let lost = "its ticket is gone".to_owned();
            return finding(what, Verdict::Bad, lost, "ask again");
        };
        let (spool, account) = (&ticket.spool, &ticket.account);
        let node = ticket.ended.as_ref().map(nodes).unwrap_or_default();
        let trace = match self.base.spool(ticket).look(std::slice::from_ref(tag)) {
            Ok(mut traces) => traces.remove(tag).unwrap_or_default(),
            Err(wrong) => {
                return finding(what, Verdict::Bad, wrong.to_string(), "see `spool` of the site");
            }
        };
        let Some(here) = &trace.here else {
            let found =
                format!("it ended on {node}, and wrote nothing to {spool} that can be read here");
            let remedy = "`spool` of the site must be one folder on a file system that its nodes and \
                          the machine of our commands share";
            return finding(what, Verdict::Bad, found, remedy);
        };
        if *exit != Exit::Code(0) {
            let found = format!("it ended on {node} with {exit:?}");
            let remedy = format!("see {}'s logs on that node", M::NAME);
            return finding(what, Verdict::Bad, found, &remedy);
        }
        let output = self.output_of(ticket);
        if !output.contains(WORD) {
            let found = format!(
                "it ran on {node} as {account}, and its output {} is not to be seen here",
                ticket.output
            );
            let remedy = "`directory` of the site must be on a file system that its nodes and the \
                          machine of our commands share";
            return finding(what, Verdict::Bad, found, remedy);
        }
        let (early, late) = (sent - here.at, here.at - clock());
        if early.max(late) > SKEW * 1_000 {
            let found = format!("the clock of {node} is {} s from ours", early.max(late) / 1_000);
            return finding(what, Verdict::Warning, found, SET_CLOCKS);
        }
        let found = format!("on {node} as {account}; output and clock are right ({took:.1} s)");
        finding(what, Verdict::Good, found, "")
    }

    fn output_of(&self, ticket: &Ticket) -> String {
        let end = Instant::now() + OUTPUT;
        loop {
            let read = self.base.spool(ticket).tail(&ticket.output, MAX).unwrap_or_default();
            let text = String::from_utf8_lossy(&read).into_owned();
            if text.contains(WORD) || Instant::now() > end {
                return text;
            }
            thread::sleep(PAUSE);
        }
    }

    /// Removes what the job has left. What fails stays: a file of a few words.
    fn clear_trial(&mut self, tag: &Tag) {
        let Some(ticket) = self.base.tickets.get(tag).cloned() else { return };
        let script = "case $1 in '~'/*) cd && set -- \"${1#??}\" ;; esac; rm -f -- \"$1\"";
        let words = ["/bin/sh", "-c", script, "sh", &ticket.output];
        let removed =
            self.base.tool.must(&Call::by(Who::User(&ticket.account), &words)).map(|_| ());
        let cleared = removed.and(self.base.spool(&ticket).clear(std::slice::from_ref(tag)));
        if let Err(wrong) = cleared.and_then(|()| self.forget(tag)) {
            tracing::debug!(%wrong, "something of the trial is left");
        }
    }
}

fn nodes(ended: &TicketEnd) -> String {
    match ended.nodes.is_empty() {
        true => "a node".to_owned(),
        false => ended.nodes.join(","),
    }
}

/// A job of a second on one node.
fn trial(tag: &Tag, pool: &str, user: &str) -> Order {
    let script = format!("echo {WORD} $(uname -n); sleep 1");
    let output = format!("{WORD}-{}-{}.out", tag.job, tag.part);
    Order {
        tag: tag.clone(),
        name: WORD.to_owned(),
        user: user.to_owned(),
        pool: pool.to_owned(),
        nodes: 1,
        start: Time(0),
        aside: false,
        gather: None,
        limit: Span(60),
        data: None,
        work: Work::Command(["/bin/sh", "-c", &script].map(str::to_owned).to_vec()),
        surroundings: Surroundings { output: Some(output), ..Surroundings::default() },
        variables: BTreeMap::new(),
        on_lost: OnLost::Fail,
        is_preemptible: false,
        passed_through: Vec::new(),
    }
}
