//! Tasks that wait for others on their nodes, and nodes that are kept free.

use std::collections::BTreeMap;

use tradewind_io::submission::Append;
use tradewind_model::{Span, Time};

use super::{
    SiteBench, TaskBehaviour, ensure, must_end, order, output, submit, survey, tag, told,
    until_ended, until_running,
};
use crate::site::{Aside, Exit, Go, Order, Seen};

/// Work may begin so much later than ordered, milliseconds.
const LATE: i64 = 10_000;

/// An order of one node that waits for others, for a while at most.
fn gathering(bench: &mut dyn SiteBench, job: u64, act: &TaskBehaviour) -> Order {
    Order { gather: Some(Span(60)), ..order(bench, job, act) }
}

/// Says so when it begins.
fn says() -> TaskBehaviour {
    TaskBehaviour::Say("here".to_owned(), 0)
}

fn go(bench: &mut dyn SiteBench, order: &Order, at: Time) -> Result<(), String> {
    let go = Go { at, variables: BTreeMap::new() };
    told("go", bench.site().go(&order.tag, &go))
}

/// Lets so many seconds pass.
fn pass(bench: &mut dyn SiteBench, seconds: i64) {
    let until = bench.now() + Span(seconds);
    while bench.now() < until {
        bench.wait();
    }
}

/// It has its nodes, and its work has not begun.
fn must_wait(bench: &mut dyn SiteBench, order: &Order) -> Result<(), String> {
    until_running(bench, &order.tag)?;
    pass(bench, 1);
    let mut seen = survey(bench)?;
    let began = seen.began.get(&order.tag);
    ensure(began.is_none(), || format!("it began by itself at {began:?}"))?;
    let task = seen.tasks.remove(&order.tag);
    ensure(matches!(task, Some(Seen::Running { .. })), || format!("it should wait: {task:?}"))?;
    let said = output(bench, &order.tag, 100)?;
    ensure(said.is_empty(), || format!("it waits, and said {said:?}"))
}

/// It ended well, and its work ran once, from the second ordered for its begin.
fn must_have_begun(bench: &mut dyn SiteBench, order: &Order, at: Time) -> Result<(), String> {
    let (since, end, exit) = until_ended(bench, &order.tag)?;
    let good = exit == Exit::Code(0) && since.is_some_and(|since| at <= since && since <= end);
    ensure(good, || format!("told to begin at {at}: {since:?} to {end}, {exit:?}"))?;
    let began = survey(bench)?.began.remove(&order.tag);
    let late = began.map(|began| began - at.0 * 1_000);
    let in_time = late.is_some_and(|late| (0..=LATE).contains(&late));
    ensure(in_time, || format!("told to begin at {at}, it did {late:?} ms later"))?;
    let said = output(bench, &order.tag, 100)?;
    ensure(said == "here", || format!("it said {said:?}"))
}

/// It is over, and its work has not run.
fn must_not_have_begun(bench: &mut dyn SiteBench, order: &Order) -> Result<(), String> {
    let (since, _, exit) = until_ended(bench, &order.tag)?;
    ensure(since.is_none() && exit == Exit::Withdrawn, || format!("{since:?} {exit:?}"))?;
    let began = survey(bench)?.began.remove(&order.tag);
    ensure(began.is_none(), || format!("it began at {began:?}"))?;
    let said = output(bench, &order.tag, 100)?;
    ensure(said.is_empty(), || format!("it never began, and said {said:?}"))
}

pub(super) fn waits_for_go(bench: &mut dyn SiteBench) -> Result<(), String> {
    let order = gathering(bench, 1, &says());
    submit(bench, &order)?;
    must_wait(bench, &order)?;
    let at = bench.now() + Span(2);
    go(bench, &order, at)?;
    must_have_begun(bench, &order, at)
}

pub(super) fn go_twice_is_once(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = gathering(bench, 1, &says());
    order.surroundings.append = Append::Append;
    submit(bench, &order)?;
    until_running(bench, &order.tag)?;
    let at = bench.now() + Span(2);
    go(bench, &order, at)?;
    go(bench, &order, at + Span(40))?;
    must_have_begun(bench, &order, at)?;
    let now = bench.now();
    go(bench, &order, now)?;
    pass(bench, 1);
    must_have_begun(bench, &order, at)
}

pub(super) fn go_tells_of_the_others(bench: &mut dyn SiteBench) -> Result<(), String> {
    let names = ["OWN", "OTHERS", "NOT_THERE"].map(str::to_owned);
    let mut order = gathering(bench, 1, &TaskBehaviour::ShowVariables(names.into()));
    order.variables.insert("OWN".to_owned(), "one".to_owned());
    submit(bench, &order)?;
    until_running(bench, &order.tag)?;
    let others = ("OTHERS".to_owned(), "a,b 'c' $(exit 9)".to_owned());
    let at = bench.now();
    let go = Go { at, variables: [others].into() };
    told("go", bench.site().go(&order.tag, &go))?;
    let (_, _, exit) = until_ended(bench, &order.tag)?;
    ensure(exit == Exit::Code(0), || format!("it ended {exit:?}"))?;
    let seen = output(bench, &order.tag, 1_000)?;
    ensure(seen == "one\0a,b 'c' $(exit 9)\0none\0", || format!("arrived {seen:?}"))
}

pub(super) fn go_for_others_is_harmless(bench: &mut dyn SiteBench) -> Result<(), String> {
    let waits = gathering(bench, 1, &says());
    let now = bench.now();
    go(bench, &waits, now)?;
    let seen = survey(bench)?.tasks.remove(&tag(1));
    ensure(seen.is_none(), || format!("it was not submitted: {seen:?}"))?;
    submit(bench, &waits)?;
    must_wait(bench, &waits)?;
    let over = order(bench, 2, &TaskBehaviour::Exit { after: 0, code: 3 });
    must_end(bench, &over, &Exit::Code(3))?;
    let before = survey(bench)?.tasks;
    go(bench, &over, now)?;
    let after = survey(bench)?.tasks;
    ensure(before == after, || format!("was {before:?}, is {after:?}"))
}

pub(super) fn in_vain(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = gathering(bench, 1, &says());
    order.gather = Some(Span(2));
    submit(bench, &order)?;
    must_not_have_begun(bench, &order)?;
    let now = bench.now();
    go(bench, &order, now)?;
    submit(bench, &order)?;
    pass(bench, 1);
    must_not_have_begun(bench, &order)
}

pub(super) fn withdrawn_while_it_waits(bench: &mut dyn SiteBench) -> Result<(), String> {
    let first = gathering(bench, 1, &says());
    // This one got its moment to begin, in a while.
    let second = gathering(bench, 2, &says());
    for order in [&first, &second] {
        submit(bench, order)?;
        until_running(bench, &order.tag)?;
    }
    let at = bench.now() + Span(40);
    go(bench, &second, at)?;
    for order in [&first, &second] {
        told("withdrawal", bench.site().withdraw(&order.tag))?;
        must_not_have_begun(bench, order)?;
    }
    Ok(())
}

pub(super) fn restart_while_it_waits(bench: &mut dyn SiteBench) -> Result<(), String> {
    let order = gathering(bench, 1, &says());
    submit(bench, &order)?;
    until_running(bench, &order.tag)?;
    let before = survey(bench)?.tasks;
    bench.restart();
    let after = survey(bench)?.tasks;
    ensure(before == after, || format!("was {before:?}, is {after:?}"))?;
    must_wait(bench, &order)?;
    let at = bench.now() + Span(2);
    go(bench, &order, at)?;
    bench.restart();
    must_have_begun(bench, &order, at)?;
    bench.restart();
    must_have_begun(bench, &order, at)
}

pub(super) fn limit_counts_from_its_work(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = gathering(bench, 1, &TaskBehaviour::Exit { after: 1, code: 0 });
    order.limit = Span(6);
    submit(bench, &order)?;
    until_running(bench, &order.tag)?;
    pass(bench, 7);
    let now = bench.now();
    go(bench, &order, now)?;
    let (_, _, exit) = until_ended(bench, &order.tag)?;
    ensure(exit == Exit::Code(0), || format!("it ended {exit:?}"))?;
    let mut order = gathering(bench, 2, &TaskBehaviour::Exit { after: 50, code: 0 });
    order.limit = Span(1);
    submit(bench, &order)?;
    let now = bench.now();
    go(bench, &order, now)?;
    let (_, _, exit) = until_ended(bench, &order.tag)?;
    ensure(exit == Exit::TimeLimit, || format!("it ended {exit:?}"))
}

pub(super) fn runs_on_nodes_set_aside(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 1, code: 0 });
    (order.aside, order.nodes) = (true, 2);
    let (from, until) = (order.start, order.start + order.limit);
    let (market, job) = (order.tag.market.clone(), order.tag.job);
    let (user, pool, nodes) = (order.user.clone(), order.pool.clone(), order.nodes);
    let wanted = [Aside { market: market.clone(), job, user, pool, nodes, from, until }];
    for _ in 0..2 {
        let denied = told("set aside", bench.site().set_aside(&market, &wanted))?;
        ensure(denied.is_empty(), || format!("the site is idle, and says {denied:?}"))?;
    }
    bench.restart();
    must_end(bench, &order, &Exit::Code(0))?;
    let denied = told("given up", bench.site().set_aside(&market, &[]))?;
    ensure(denied.is_empty(), || format!("nothing was wanted, and it says {denied:?}"))?;
    let mut all = super::order(bench, 2, &TaskBehaviour::Exit { after: 0, code: 0 });
    all.nodes = bench.site().pools().first().map_or(0, |pool| pool.nodes);
    must_end(bench, &all, &Exit::Code(0))?;
    Ok(())
}
