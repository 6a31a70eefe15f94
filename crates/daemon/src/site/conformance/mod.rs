//! What every site must hold, as checks that run on any of them.
//!
//! A [`SiteBench`] offers a site without other jobs, whose first pool has at least four nodes,
//! and lets time pass: real time, or a clock of its own.

mod ends;
mod promises;
mod recall;
mod surroundings;
mod together;

use std::collections::BTreeMap;

use tradewind_io::submission::{OnLost, Surroundings, Work};
use tradewind_model::{Span, Time};

use super::{Exit, Order, Seen, Site, SiteError, Survey, Tag};

/// A site under test.
pub trait SiteBench {
    /// The site under test.
    fn site(&mut self) -> &mut dyn Site;

    /// Time of its clock.
    fn now(&mut self) -> Time;

    /// Lets a little time pass: at most a second.
    fn wait(&mut self);

    /// So many [`wait`](SiteBench::wait)s are long enough for anything that takes some seconds.
    fn patience(&self) -> u32;

    /// The adapter dies and comes back; the cluster does not notice.
    fn restart(&mut self);

    /// The owner takes so many nodes of the first pool, from now on and until this is called
    /// again; 0: none.
    fn take(&mut self, nodes: u32);

    /// The owner, who has all nodes of the first pool, submits jobs that wait there: of so many
    /// nodes each, in this order, with a limit of five minutes. `false`: only the market can
    /// submit jobs to the site, so that nothing was done.
    fn line_up(&mut self, nodes: &[u32]) -> bool;

    /// What does this on the site; as here for those that run programs.
    fn work(&self, act: &TaskBehaviour) -> Work {
        act.script()
    }
}

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskBehaviour {
    /// Nothing for so many seconds, then it ends with this code.
    Exit {
        /// Seconds after the start.
        after: u32,
        /// From 0 to 255.
        code: u8,
    },
    /// It kills itself with this signal.
    Die(u8),
    /// It ignores `SIGTERM` for a minute.
    Stubborn,
    /// It writes this to standard output, waits for so many seconds and ends.
    Say(String, u32),
    /// It writes its arguments, each with a zero byte behind it.
    ShowArguments(Vec<String>),
    /// It writes the values of these variables, each with a zero byte behind it.
    ShowVariables(Vec<String>),
}

impl TaskBehaviour {
    /// As a shell script.
    pub fn script(&self) -> Work {
        let (body, arguments) = match self {
            TaskBehaviour::Exit { after: 0, code } => (format!("exit {code}"), Vec::new()),
            TaskBehaviour::Exit { after, code } => {
                (format!("sleep {after}\nexit {code}"), Vec::new())
            }
            TaskBehaviour::Die(signal) => (format!("kill -{signal} $$\nsleep 60"), Vec::new()),
            TaskBehaviour::Stubborn => {
                ("trap '' TERM\nfor i in 1 2 3 4 5 6; do sleep 10; done".to_owned(), Vec::new())
            }
            TaskBehaviour::Say(text, after) => {
                // No shell is left that would say that it was stopped.
                (format!("printf %s \"$1\"\nexec sleep {after}"), vec![text.clone()])
            }
            TaskBehaviour::ShowArguments(arguments) => (
                "for one in \"$@\"; do printf '%s\\0' \"$one\"; done".to_owned(),
                arguments.clone(),
            ),
            TaskBehaviour::ShowVariables(names) => {
                let show = |name: &String| format!("printf '%s\\0' \"${{{name}-none}}\"\n");
                (names.iter().map(show).collect(), Vec::new())
            }
        };
        Work::Script { text: format!("#!/bin/sh\n{body}\n"), arguments }
    }
}

/// One promise: `Err` says how it was broken.
pub type SiteCheck = fn(&mut dyn SiteBench) -> Result<(), String>;

/// All of them by name. Each wants a fresh bench.
pub const CHECKS: [(&str, SiteCheck); 36] = [
    ("a task runs once for its tag", promises::runs_once),
    ("what was acknowledged is seen", promises::acknowledged_is_seen),
    ("a task that was forgotten is gone for ever", promises::forgotten_is_gone),
    ("a restart of the adapter loses nothing", promises::restart_loses_nothing),
    ("a task does not start before its time", promises::not_before_its_time),
    ("more nodes than are free wait", promises::waits_for_nodes),
    ("more nodes than there are never run", promises::too_wide_never_runs),
    ("an unknown pool is refused", promises::unknown_pool),
    ("the owner's load comes and goes", promises::local_load),
    ("waiting jobs of the owner are listed", promises::waiting_of_others),
    ("fifty tasks at once share the nodes", promises::fifty_at_once),
    ("exit codes are reported", ends::exit_codes),
    ("signals are reported", ends::signals),
    ("the time limit holds", ends::time_limit),
    (
        "the time limit holds against a task that does not listen",
        ends::time_limit_of_a_stubborn_one,
    ),
    ("withdrawn before it started, it never does", ends::withdrawn_before),
    ("withdrawn while it runs, it stops", ends::withdrawn_while),
    ("withdrawn after its end, nothing changes", ends::withdrawn_after),
    ("withdrawn before it was known, it never runs", ends::withdrawn_unknown),
    ("recalled before it began, it never does", recall::before),
    ("recalled when its work has begun, it runs on", recall::after),
    ("recalled as it begins, it runs as a whole or not at all", recall::meanwhile),
    ("recalled before it was known, it never runs", recall::unknown),
    ("the output's tail is reported", surroundings::output_tail),
    ("arguments arrive as they are", surroundings::arguments),
    ("the environment arrives as it is", surroundings::environment),
    ("names may be odd", surroundings::odd_names),
    ("a task that gathers waits for its go", together::waits_for_go),
    ("told twice to begin, it does once", together::go_twice_is_once),
    ("a task that begins learns of the others", together::go_tells_of_the_others),
    ("a go for what does not wait is harmless", together::go_for_others_is_harmless),
    ("a task that waits without a go never runs", together::in_vain),
    ("withdrawn while it waits, it never runs", together::withdrawn_while_it_waits),
    ("a restart of the adapter loses no task that waits", together::restart_while_it_waits),
    ("waiting for others does not count for the limit", together::limit_counts_from_its_work),
    ("a task runs on nodes that were set aside for it", together::runs_on_nodes_set_aside),
];

/// An order of one node in the first pool, at once, for a minute.
pub fn order(bench: &mut dyn SiteBench, job: u64, act: &TaskBehaviour) -> Order {
    let work = bench.work(act);
    let start = bench.now();
    let pool = bench.site().pools().first().map(|pool| pool.name.clone()).unwrap_or_default();
    Order {
        tag: tag(job),
        name: format!("check {job}"),
        user: "somebody".to_owned(),
        pool,
        nodes: 1,
        start,
        aside: false,
        gather: None,
        limit: Span(60),
        data: None,
        work,
        surroundings: Surroundings::default(),
        variables: BTreeMap::new(),
        on_lost: OnLost::Fail,
        is_preemptible: false,
        passed_through: Vec::new(),
    }
}

/// The tag of [`order`].
pub fn tag(job: u64) -> Tag {
    Tag { market: "suite".to_owned(), job, attempt: 0, part: 0 }
}

/// Fails with this text unless it holds.
fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn told<T>(what: &str, answer: Result<T, SiteError>) -> Result<T, String> {
    answer.map_err(|error| format!("{what}: {error}"))
}

fn submit(bench: &mut dyn SiteBench, order: &Order) -> Result<(), String> {
    told("submission", bench.site().submit(order))
}

fn survey(bench: &mut dyn SiteBench) -> Result<Survey, String> {
    told("survey", bench.site().survey())
}

/// Surveys until the task is seen as wanted.
fn until(
    bench: &mut dyn SiteBench,
    tag: &Tag,
    wanted: &str,
    is_so: impl Fn(&Seen) -> bool,
) -> Result<Seen, String> {
    let mut last = None;
    for _ in 0..bench.patience() {
        last = survey(bench)?.tasks.remove(tag);
        match last {
            Some(seen) if is_so(&seen) => return Ok(seen),
            _ => bench.wait(),
        }
    }
    Err(format!("{tag} should be {wanted}, and is {last:?}"))
}

fn until_running(bench: &mut dyn SiteBench, tag: &Tag) -> Result<Vec<String>, String> {
    match until(bench, tag, "running", |seen| matches!(seen, Seen::Running { .. }))? {
        Seen::Running { nodes, .. } => Ok(nodes),
        Seen::Waiting | Seen::Ended { .. } => Ok(Vec::new()),
    }
}

/// Since when it ran, until when, and how it ended.
fn until_ended(bench: &mut dyn SiteBench, tag: &Tag) -> Result<(Option<Time>, Time, Exit), String> {
    match until(bench, tag, "over", |seen| matches!(seen, Seen::Ended { .. }))? {
        Seen::Ended { since, at, exit } => Ok((since, at, exit)),
        Seen::Waiting | Seen::Running { .. } => Err(format!("{tag} is not over")),
    }
}

/// Runs it to its end, which must be this one.
fn must_end(
    bench: &mut dyn SiteBench,
    order: &Order,
    wanted: &Exit,
) -> Result<(Time, Time), String> {
    let before = bench.now();
    submit(bench, order)?;
    let (since, at, exit) = until_ended(bench, &order.tag)?;
    let tag = &order.tag;
    ensure(exit == *wanted, || format!("{tag} should have ended {wanted:?}, not {exit:?}"))?;
    let since = since.ok_or_else(|| format!("{tag} ran, and its start is unknown"))?;
    let now = bench.now();
    // What is charged is rounded up to whole seconds, and so may the end be.
    ensure(before <= since && since <= at && at <= now + Span(1), || {
        format!("{tag} submitted at {before}, ran from {since} to {at}, and now is {now}")
    })?;
    Ok((since, at))
}

fn output(bench: &mut dyn SiteBench, tag: &Tag, max: usize) -> Result<String, String> {
    let bytes = told("output", bench.site().output(tag, max))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
