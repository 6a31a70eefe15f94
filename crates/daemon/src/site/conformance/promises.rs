//! Submission, surveys, nodes and restarts.

use std::collections::BTreeSet;

use tradewind_io::submission::Append;
use tradewind_model::{Span, Time};

use super::{
    SiteBench, TaskBehaviour, ensure, must_end, order, output, submit, survey, tag, told,
    until_ended, until_running,
};
use crate::site::queued::{Blocked, QueuedJob};
use crate::site::{Exit, Seen, SiteError};

pub(super) fn runs_once(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Say("once".to_owned(), 0));
    order.surroundings.append = Append::Append;
    submit(bench, &order)?;
    submit(bench, &order)?;
    bench.restart();
    submit(bench, &order)?;
    until_ended(bench, &order.tag)?;
    let other = super::order(bench, 1, &TaskBehaviour::Say("twice".to_owned(), 0));
    submit(bench, &other)?;
    bench.wait();
    let seen = survey(bench)?.tasks.remove(&order.tag);
    let is_so = matches!(seen, Some(Seen::Ended { exit: Exit::Code(0), .. }));
    ensure(is_so, || format!("it changed: {seen:?}"))?;
    let said = output(bench, &order.tag, 100)?;
    ensure(said == "once", || format!("it said {said:?}"))
}

pub(super) fn acknowledged_is_seen(bench: &mut dyn SiteBench) -> Result<(), String> {
    for job in 1..=6 {
        let mut order = order(bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.start = order.start + Span(if job % 2 == 0 { 1_000 } else { 0 });
        submit(bench, &order)?;
        let seen = survey(bench)?.tasks;
        let all = (1..=job).all(|job| seen.contains_key(&tag(job)));
        ensure(all, || format!("of {job} tasks {seen:?} are seen"))?;
    }
    Ok(())
}

pub(super) fn forgotten_is_gone(bench: &mut dyn SiteBench) -> Result<(), String> {
    told("to forget what is unknown", bench.site().forget(&tag(9)))?;
    let order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    must_end(bench, &order, &Exit::Code(0))?;
    told("to forget", bench.site().forget(&order.tag))?;
    told("to forget again", bench.site().forget(&order.tag))?;
    submit(bench, &order)?;
    bench.restart();
    submit(bench, &order)?;
    for _ in 0..4 {
        let seen = survey(bench)?.tasks.remove(&order.tag);
        let is_idle = !matches!(seen, Some(Seen::Running { .. } | Seen::Waiting));
        ensure(is_idle, || format!("it came again: {seen:?}"))?;
        bench.wait();
    }
    Ok(())
}

pub(super) fn restart_loses_nothing(bench: &mut dyn SiteBench) -> Result<(), String> {
    let over = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 5 });
    must_end(bench, &over, &Exit::Code(5))?;
    let goes_on = order(bench, 2, &TaskBehaviour::Exit { after: 1, code: 6 });
    let runs = order(bench, 3, &TaskBehaviour::Exit { after: 50, code: 0 });
    let mut waits = order(bench, 4, &TaskBehaviour::Exit { after: 0, code: 0 });
    waits.start = waits.start + Span(3_600);
    for order in [&goes_on, &runs, &waits] {
        submit(bench, order)?;
    }
    until_running(bench, &runs.tag)?;
    let before = survey(bench)?.tasks;
    bench.restart();
    let after = survey(bench)?.tasks;
    for job in [1, 3, 4] {
        let (before, after) = (before.get(&tag(job)), after.get(&tag(job)));
        ensure(before == after, || format!("task {job} was {before:?}, is {after:?}"))?;
    }
    let (since, _, exit) = until_ended(bench, &goes_on.tag)?;
    ensure(since.is_some() && exit == Exit::Code(6), || format!("{since:?} {exit:?}"))?;
    for order in [&runs, &waits] {
        told("withdrawal", bench.site().withdraw(&order.tag))?;
        let (_, _, exit) = until_ended(bench, &order.tag)?;
        ensure(exit == Exit::Withdrawn, || format!("{} ended {exit:?}", order.tag))?;
    }
    Ok(())
}

pub(super) fn not_before_its_time(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.start = order.start + Span(2);
    let (since, _) = must_end(bench, &order, &Exit::Code(0))?;
    let start = order.start;
    ensure(since >= start, || format!("it was to start at {start}, and did at {since}"))?;
    let began = survey(bench)?.began.remove(&order.tag);
    let is_so = began.is_some_and(|began| began >= start.0 * 1_000);
    ensure(is_so, || format!("it was to start at {start}, and its work began at {began:?} ms"))
}

/// The nodes of the first pool.
fn width(bench: &mut dyn SiteBench) -> u32 {
    bench.site().pools().first().map_or(0, |pool| pool.nodes)
}

pub(super) fn waits_for_nodes(bench: &mut dyn SiteBench) -> Result<(), String> {
    let all = width(bench);
    let mut first = order(bench, 1, &TaskBehaviour::Exit { after: 50, code: 0 });
    first.nodes = all - 1;
    submit(bench, &first)?;
    let nodes: BTreeSet<String> = until_running(bench, &first.tag)?.into_iter().collect();
    let wanted = usize::try_from(all - 1).unwrap_or(0);
    ensure(nodes.len() == wanted, || format!("{wanted} nodes wanted, {nodes:?} given"))?;
    let mut second = order(bench, 2, &TaskBehaviour::Exit { after: 0, code: 0 });
    second.nodes = 2;
    // It may be refused for now, or wait; it does not run.
    match bench.site().submit(&second) {
        Err(SiteError::Refused(_)) => return Ok(()),
        answer => told("submission", answer)?,
    }
    for _ in 0..3 {
        let seen = survey(bench)?.tasks.remove(&second.tag);
        ensure(seen == Some(Seen::Waiting), || format!("no room, and yet {seen:?}"))?;
        bench.wait();
    }
    told("withdrawal", bench.site().withdraw(&first.tag))?;
    let (_, _, exit) = until_ended(bench, &second.tag)?;
    ensure(exit == Exit::Code(0), || format!("it ended {exit:?}"))
}

pub(super) fn too_wide_never_runs(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.nodes = width(bench) + 1;
    match bench.site().submit(&order) {
        Err(SiteError::Refused(_)) => return Ok(()),
        answer => told("submission", answer)?,
    }
    for _ in 0..3 {
        let seen = survey(bench)?.tasks.remove(&order.tag);
        let has_run = matches!(
            seen,
            Some(
                Seen::Running { .. }
                    | Seen::Ended { since: Some(_), .. }
                    | Seen::Ended { exit: Exit::Code(_), .. }
            )
        );
        ensure(!has_run, || format!("there are not so many nodes: {seen:?}"))?;
        bench.wait();
    }
    Ok(())
}

pub(super) fn unknown_pool(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.pool = "no such pool".to_owned();
    let answer = bench.site().submit(&order);
    ensure(matches!(answer, Err(SiteError::Refused(_))), || format!("{answer:?}"))?;
    let seen = survey(bench)?.tasks;
    ensure(seen.is_empty(), || format!("refused, and yet {seen:?}"))
}

/// Nodes of the first pool that the owner's running tasks hold now.
fn taken(bench: &mut dyn SiteBench) -> Result<u32, String> {
    let now: Time = bench.now();
    let survey = survey(bench)?;
    let pool = survey.pools.first().ok_or("a survey without pools")?;
    let all = bench.site().pools().first().map_or(0, |pool| pool.nodes);
    ensure(pool.up == all, || format!("{} of {all} nodes are up", pool.up))?;
    Ok(pool.local.values().filter(|task| task.from <= now).map(|task| task.nodes).sum())
}

pub(super) fn local_load(bench: &mut dyn SiteBench) -> Result<(), String> {
    let all = width(bench);
    for nodes in [0, 2, all] {
        bench.take(nodes);
        let seen = taken(bench)?;
        ensure(seen == nodes, || format!("the owner has {nodes} nodes, {seen} are seen"))?;
    }
    let order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    submit(bench, &order)?;
    for _ in 0..3 {
        let seen = survey(bench)?.tasks.remove(&order.tag);
        ensure(seen == Some(Seen::Waiting), || format!("the owner has all, and yet {seen:?}"))?;
        bench.wait();
    }
    bench.take(0);
    let (_, _, exit) = until_ended(bench, &order.tag)?;
    ensure(exit == Exit::Code(0), || format!("it ended {exit:?}"))?;
    let seen = taken(bench)?;
    ensure(seen == 0, || format!("the owner has nothing, {seen} nodes are seen"))
}

pub(super) fn waiting_of_others(bench: &mut dyn SiteBench) -> Result<(), String> {
    let all = width(bench);
    bench.take(all);
    let own = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    submit(bench, &own)?;
    let wanted = if bench.line_up(&[all, 1]) { vec![all, 1] } else { Vec::new() };
    let mut told = Vec::new();
    for _ in 0..bench.patience() {
        told = survey(bench)?.queue;
        if told.len() == wanted.len() && told.iter().all(|it| it.blocked == Blocked::Eligible) {
            break;
        }
        bench.wait();
    }
    let nodes: Vec<u32> = told.iter().map(|job| job.nodes).collect();
    ensure(nodes == wanted, || format!("jobs of {wanted:?} nodes wait, listed are {told:?}"))?;
    let ranks = (0..).zip(&told).all(|(rank, job)| job.rank == rank);
    let is_right = |job: &QueuedJob| {
        (job.limit, job.is_capped, job.tasks) == (Span(300), false, 1) && job.pools == [0]
    };
    ensure(ranks && told.iter().all(is_right), || format!("they are listed as {told:?}"))?;
    bench.take(0);
    for _ in 0..bench.patience() {
        told = survey(bench)?.queue;
        if told.len() < wanted.len() || wanted.is_empty() {
            return Ok(());
        }
        bench.wait();
    }
    Err(format!("the nodes are free, and yet all wait: {told:?}"))
}

pub(super) fn fifty_at_once(bench: &mut dyn SiteBench) -> Result<(), String> {
    const TASKS: u64 = 50;
    for job in 0..TASKS {
        let order = order(bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        submit(bench, &order)?;
    }
    for _ in 0..bench.patience() {
        let tasks = survey(bench)?.tasks;
        ensure(tasks.len() == 50, || format!("{} tasks are seen", tasks.len()))?;
        let mut nodes = BTreeSet::new();
        let mut ended = 0;
        for (tag, seen) in &tasks {
            match seen {
                Seen::Running { nodes: own, .. } => {
                    let is_alone = own.iter().all(|node| nodes.insert(node.clone()));
                    ensure(is_alone, || format!("{tag} shares {own:?}"))?;
                }
                Seen::Ended { exit: Exit::Code(0), .. } => ended += 1,
                Seen::Ended { exit, .. } => return Err(format!("{tag} ended {exit:?}")),
                Seen::Waiting => {}
            }
        }
        if ended == TASKS {
            return Ok(());
        }
        bench.wait();
    }
    Err("they do not come to an end".to_owned())
}
