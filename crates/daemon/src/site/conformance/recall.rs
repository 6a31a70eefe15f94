//! Tasks that are to be taken back if their work has not begun.

use tradewind_io::submission::Append;
use tradewind_model::Span;

use super::{
    SiteBench, TaskBehaviour, ensure, order, output, submit, survey, tag, told, until_ended,
};
use crate::site::{Exit, Seen, SiteError};

pub(super) fn before(bench: &mut dyn SiteBench) -> Result<(), String> {
    let mut order = order(bench, 1, &TaskBehaviour::Say("it ran".to_owned(), 0));
    order.start = order.start + Span(3_600);
    submit(bench, &order)?;
    told("recall", bench.site().recall(&order.tag))?;
    told("second recall", bench.site().recall(&order.tag))?;
    bench.restart();
    let (since, _, exit) = until_ended(bench, &order.tag)?;
    ensure(since.is_none() && exit == Exit::Withdrawn, || format!("{since:?} {exit:?}"))?;
    submit(bench, &order)?;
    bench.wait();
    let said = output(bench, &order.tag, 100)?;
    ensure(said.is_empty(), || format!("it said {said:?}"))
}

pub(super) fn after(bench: &mut dyn SiteBench) -> Result<(), String> {
    // Longer than a survey takes on a busy machine.
    let order = order(bench, 1, &TaskBehaviour::Say("begun".to_owned(), 8));
    submit(bench, &order)?;
    for _ in 0..bench.patience() {
        survey(bench)?;
        if output(bench, &order.tag, 100)? == "begun" {
            break;
        }
        bench.wait();
    }
    for _ in 0..2 {
        let answer = bench.site().recall(&order.tag);
        ensure(answer == Err(SiteError::Begun), || format!("it runs, and yet {answer:?}"))?;
        bench.restart();
    }
    let (since, _, exit) = until_ended(bench, &order.tag)?;
    let ran = since.is_some() && exit == Exit::Code(0);
    ensure(ran, || format!("it should have run on: {since:?} {exit:?}"))?;
    let before = survey(bench)?.tasks;
    told("recall after its end", bench.site().recall(&order.tag))?;
    let after = survey(bench)?.tasks;
    ensure(before == after, || format!("was {before:?}, is {after:?}"))
}

pub(super) fn meanwhile(bench: &mut dyn SiteBench) -> Result<(), String> {
    for job in 1..=8_u32 {
        let mut order = order(bench, u64::from(job), &TaskBehaviour::Say("once".to_owned(), 1));
        order.surroundings.append = Append::Append;
        submit(bench, &order)?;
        for _ in 1..job {
            bench.wait();
        }
        let mut answer = bench.site().recall(&order.tag);
        for _ in 0..bench.patience() {
            let Err(SiteError::Unknown(_) | SiteError::Away(_)) = answer else { break };
            bench.wait();
            answer = bench.site().recall(&order.tag);
        }
        let (since, _, exit) = until_ended(bench, &order.tag)?;
        let said = output(bench, &order.tag, 100)?;
        let fits = match (&answer, &exit) {
            (Err(SiteError::Begun), Exit::Code(0)) => since.is_some() && said == "once",
            // It may have been over by then.
            (Ok(()), Exit::Code(0)) => since.is_some() && said == "once",
            (Ok(()), Exit::Withdrawn) => since.is_none() && said.is_empty(),
            _ => false,
        };
        ensure(fits, || format!("{answer:?}, and yet {since:?} {exit:?}, it said {said:?}"))?;
    }
    Ok(())
}

pub(super) fn unknown(bench: &mut dyn SiteBench) -> Result<(), String> {
    let order = order(bench, 1, &TaskBehaviour::Exit { after: 1, code: 0 });
    told("recall", bench.site().recall(&order.tag))?;
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
