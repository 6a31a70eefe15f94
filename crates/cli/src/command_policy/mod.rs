//! A policy of one's own in any language: a command that answers each pass with a line of JSON.

mod child;
mod observed;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tradewind_campaign::replay::{OwnPolicy, own_misbehaved};
use tradewind_model::{Command, Event, JobId, Market, Pools, Reason, Span, Time};
use tradewind_sched::policy::{Policy, Promise};
use tradewind_sim::check::{self, Checker};
use tradewind_sim::workload::Workload;
use tradewind_sim::{ReplaySettings, Run};

pub(crate) use observed::site_policy;

use child::Dialogue;
use wire::{Greeting, Hello, PROTOCOL, Pass, PassAnswer, prices_now};

use crate::exit::Failure;

/// Longer ones are shown cut.
const SHOWN: usize = 120;

/// How commands of the user's decide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Commands {
    /// How long each answer may take.
    pub(crate) answer_within: Span,
}

/// A command of the user's that decides.
#[derive(Debug, Clone, Copy)]
struct UserCommand<'a> {
    /// For `sh -c`.
    text: &'a str,
    /// How long each answer may take.
    answer_within: Span,
}

impl OwnPolicy for Commands {
    /// # Errors
    /// When the command does not start, says nothing in time, talks nonsense, or asks for what
    /// cannot be.
    fn replay(
        &self,
        text: &str,
        workload: &Workload,
        settings: ReplaySettings,
        listener: Box<dyn Checker>,
    ) -> Result<Run, Failure> {
        let command = UserCommand { text, answer_within: self.answer_within };
        let mut policy = CommandPolicy::start(command, &workload.pools, Arc::default())?;
        let mut checkers = check::of_own(policy.promise);
        checkers.push(listener);
        let run = tradewind_sim::run(workload, settings, &mut policy, &mut checkers);
        match policy.failure {
            Some(failure) => Err(failure),
            None => run.map_err(|error| own_misbehaved("the policy's command", workload, &error)),
        }
    }
}

/// A command as a policy. One that dies, lingers or talks nonsense is asked no more: the replay
/// then ends without starting jobs, and `failure` says why.
#[derive(Debug)]
struct CommandPolicy {
    dialogue: Dialogue,
    promise: Promise,
    /// What the command said last of jobs' starts.
    reserved: BTreeMap<JobId, Time>,
    free: Vec<u32>,
    failure: Option<Failure>,
}

impl CommandPolicy {
    fn start(
        command: UserCommand<'_>,
        pools: &Pools,
        stop: Arc<AtomicBool>,
    ) -> Result<CommandPolicy, Failure> {
        let limit = Duration::from_secs(command.answer_within.0.unsigned_abs());
        let mut dialogue = Dialogue::start(command.text, limit, stop).map_err(|error| {
            Failure::data(format!("the policy's command does not start: {error}"))
        })?;
        let greeting: Greeting = ask(&mut dialogue, &Hello::new(pools), "its greeting")?;
        if greeting.protocol != PROTOCOL {
            let theirs = greeting.protocol;
            let failure = format!("the policy's command speaks protocol {theirs}, not {PROTOCOL}");
            return Err(Failure::data(failure));
        }
        let promise = greeting.promise.into();
        let (reserved, free) = (BTreeMap::new(), Vec::new());
        Ok(CommandPolicy { dialogue, promise, reserved, free, failure: None })
    }

    fn answer(
        &mut self,
        market: &Market,
        events: &[Event],
        commands: &mut Vec<Command>,
    ) -> Result<(), Failure> {
        let Time(now) = market.now();
        let pools = market.pools();
        self.free.clear();
        self.free.extend(pools.iter().map(|(pool, _)| market.free_in(pool)));
        let events = events.iter().map(Into::into).collect();
        let pass = Pass { now, free: &self.free, prices: prices_now(market), events };
        let when = format!("its answer at {now}");
        let answer: PassAnswer = ask(&mut self.dialogue, &pass, &when)?;
        let wrong = |error| Failure::data(format!("the policy's command: {when}: {error}"));
        let wake = answer.wake().map_err(wrong)?;
        for start in answer.start {
            commands.push(start.command(market).map_err(wrong)?);
        }
        for job in answer.preempt {
            commands.push(preempt(market, JobId(job)).map_err(wrong)?);
        }
        commands.extend(answer.refuse.into_iter().map(|refuse| {
            let (job, reason) = (JobId(refuse.job), Reason::Declined);
            Command::Refuse { job, reason }
        }));
        commands.extend(wake.map(|at| Command::Wake { at }));
        self.reserved.extend(answer.reserve.iter().map(|it| (JobId(it.job), Time(it.at))));
        Ok(())
    }
}

impl Policy for CommandPolicy {
    fn decide(&mut self, market: &Market, events: &[Event], commands: &mut Vec<Command>) {
        if self.failure.is_none() {
            self.failure = self.answer(market, events, commands).err();
        }
        if self.failure.is_some() {
            commands.clear();
        }
    }

    fn promise(&self) -> Promise {
        self.promise
    }

    fn reservation(&self, job: JobId) -> Option<Time> {
        self.reserved.get(&job).copied()
    }
}

/// A job that can be told to leave its nodes.
fn preempt(market: &Market, job: JobId) -> Result<Command, String> {
    let run = market.run_of(job).ok_or_else(|| format!("`preempt`: job {} does not run", job.0))?;
    match (run.demand.is_preemptible(), run.notice()) {
        (false, _) => Err(format!("`preempt`: job {} is not preemptible", job.0)),
        (true, Some(_)) => Err(format!("`preempt`: job {} was told before", job.0)),
        (true, None) => Ok(Command::Preempt { job }),
    }
}

/// Sends `line` and reads the answer, which `what` names.
fn ask<T: DeserializeOwned>(
    dialogue: &mut Dialogue,
    line: &impl serde::Serialize,
    what: &str,
) -> Result<T, Failure> {
    // Only maps with keys other than texts can fail, and no line has one.
    let line = serde_json::to_string(line).unwrap_or_default();
    let heard = dialogue
        .ask(line)
        .map_err(|silence| Failure::data(format!("the policy's command: {what}: {silence}")))?;
    read(&heard).map_err(|error| {
        let shown: String = heard.trim_end().chars().take(SHOWN).collect();
        let failure = Failure::data(format!("the policy's command: {what} is wrong: {error}"));
        failure.hint(format!("it said `{shown}`; docs/reference/policy-cmd.md has the lines"))
    })
}

/// An object of named parts; what serde would make of a bare list is not meant.
fn read<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    match line.trim_start().starts_with('{') {
        true => serde_json::from_str(line).map_err(|error| error.to_string()),
        false => Err("not an object".to_owned()),
    }
}
