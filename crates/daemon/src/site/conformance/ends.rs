//! How tasks end.

use tradewind_model::Span;

use super::{
    SiteBench, TaskBehaviour, ensure, must_end, order, submit, survey, tag, told, until_ended,
    until_running,
};
use crate::site::{Exit, Seen};

pub(super) fn exit_codes(bench: &mut dyn SiteBench) -> Result<(), String> {
    for code in [0, 1, 7, 127, 255] {
        let order = order(bench, u64::from(code), &TaskBehaviour::Exit { after: 0, code });
        must_end(bench, &order, &Exit::Code(i32::from(code)))?;
    }
    Ok(())
}

pub(super) fn signals(bench: &mut dyn SiteBench) -> Result<(), String> {
    for signal in [9, 15, 10] {
        let order = order(bench, u64::from(signal), &TaskBehaviour::Die(signal));
        must_end(bench, &order, &Exit::Signal(i32::from(signal)))?;
    }
    Ok(())
}

pub(super) fn time_limit(bench: &mut dyn SiteBench) -> Result<(), String> {
    stops_at_limit(bench, &TaskBehaviour::Exit { after: 50, code: 0 })
}

pub(super) fn time_limit_of_a_stubborn_one(bench: &mut dyn SiteBench) -> Result<(), String> {
    stops_at_limit(bench, &TaskBehaviour::Stubborn)
}

fn stops_at_limit(bench: &mut dyn SiteBench, act: &TaskBehaviour) -> Result<(), String> {
    let mut order = order(bench, 1, act);
    order.limit = Span(1);
    let (since, at) = must_end(bench, &order, &Exit::TimeLimit)?;
    ensure(at - since >= Span(1), || format!("stopped after {} s of 1", at - since))
}

pub(super) fn withdrawn_before(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 0 });
    order.start = order.start + Span(3_600);
    submit(bench, &order)?;
    let seen = survey(bench)?.tasks.remove(&order.tag);
    ensure(seen == Some(Seen::Waiting), || format!("it should wait for its hour: {seen:?}"))?;
    told("withdrawal", bench.site().withdraw(&order.tag))?;
    let (since, _, exit) = until_ended(bench, &order.tag)?;
    ensure(since.is_none() && exit == Exit::Withdrawn, || format!("{since:?} {exit:?}"))
}

pub(super) fn withdrawn_while(bench: &mut dyn SiteBench) -> Result<(), String> {
    for (job, act) in
        [(1, TaskBehaviour::Exit { after: 50, code: 0 }), (2, TaskBehaviour::Stubborn)]
    {
        let order = order(bench, job, &act);
        submit(bench, &order)?;
        until_running(bench, &order.tag)?;
        told("withdrawal", bench.site().withdraw(&order.tag))?;
        told("second withdrawal", bench.site().withdraw(&order.tag))?;
        let (since, at, exit) = until_ended(bench, &order.tag)?;
        let is_so = exit == Exit::Withdrawn && since.is_some_and(|since| since <= at);
        ensure(is_so, || format!("{since:?} {at} {exit:?}"))?;
    }
    Ok(())
}

pub(super) fn withdrawn_after(bench: &mut dyn SiteBench) -> Result<(), String> {
    let order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 3 });
    must_end(bench, &order, &Exit::Code(3))?;
    let before = survey(bench)?.tasks;
    told("withdrawal", bench.site().withdraw(&order.tag))?;
    bench.wait();
    let after = survey(bench)?.tasks;
    ensure(before == after, || format!("was {before:?}, is {after:?}"))
}

pub(super) fn withdrawn_unknown(bench: &mut dyn SiteBench) -> Result<(), String> {
    let order = order(bench, 1, &TaskBehaviour::Exit { after: 1, code: 0 });
    told("withdrawal", bench.site().withdraw(&order.tag))?;
    bench.restart();
    submit(bench, &order)?;
    for _ in 0..4 {
        let seen = survey(bench)?.tasks.remove(&tag(1));
        let never = matches!(seen, None | Some(Seen::Ended { since: None, .. }));
        ensure(never, || format!("it came to run: {seen:?}"))?;
        bench.wait();
    }
    Ok(())
}
