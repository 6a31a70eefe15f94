//! Nodes that go missing while jobs of the owners have all of them.

use std::sync::Arc;

use tradewind_model::{Cause, Outage, PoolId, Pools, Span, Time};
use tradewind_sched::policy::backfill::{Backfill, BackfillSettings, Depth};
use tradewind_sched::policy::owners::SiteRule;
use tradewind_sim::outage::{AnnouncedOutage, in_order};
use tradewind_sim::workload::OwnersLoad;
use tradewind_sim::workload::{LogJob, Overrun, prepare};
use tradewind_sim::{ReplaySettings, Semantics, check, run};

fn job(number: i64, submit: i64, run: i64, processors: u32) -> LogJob {
    LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(run)),
        user: 1,
        terms: None,
    }
}

/// Starts of owners' jobs beside one job of the market at the end.
fn starts(owners: &[LogJob], outage: Outage) -> Vec<i64> {
    let pools = Arc::new(Pools::cluster(4));
    let market = [job(1, 200, 5, 1)];
    let mut workload = prepare(&market, Arc::clone(&pools), Semantics::Textbook, Overrun::Kill);
    let load = OwnersLoad::new(
        owners,
        &pools,
        vec![PoolId(0)],
        SiteRule::new(Depth::First(1)),
        Overrun::Kill,
    );
    workload.owners = vec![load];
    let announced = AnnouncedOutage { announced: outage.from, what: outage };
    workload.outages = in_order(&pools, vec![announced]);
    let mut policy =
        Backfill::new(BackfillSettings { depth: Depth::First(1), ..BackfillSettings::default() });
    let settings = ReplaySettings::default();
    let mut checkers = check::all(tradewind_sched::policy::Policy::promise(&policy));
    let ran = run(&workload, settings, &mut policy, &mut checkers).unwrap();
    ran.owners[0].iter().map(|ran| ran.unwrap().start.0).collect()
}

fn maintenance(nodes: u32, from: i64, until: i64) -> Outage {
    let (from, until) = (Time(from), Time(until));
    Outage { pool: PoolId(0), nodes, from, until, cause: Cause::Maintenance }
}

#[test]
fn an_outage_takes_nodes_as_the_owners_jobs_end() {
    // Each job takes all nodes for ten seconds; the outage begins in the middle of the second one.
    let whole: Vec<LogJob> = (1..=4).map(|number| job(number, 0, 10, 4)).collect();
    assert_eq!(starts(&whole, maintenance(2, 15, 60)), [0, 10, 60, 70]);
    // Two jobs of two nodes each that end at different times: the outage takes both parts.
    let halves = [job(1, 0, 20, 2), job(2, 0, 30, 2), job(3, 1, 10, 2), job(4, 1, 10, 2)];
    assert_eq!(starts(&halves, maintenance(4, 15, 60)), [0, 0, 60, 60]);
}

#[test]
fn an_outage_that_is_over_before_nodes_come_free_takes_none() {
    let whole: Vec<LogJob> = (1..=3).map(|number| job(number, 0, 10, 4)).collect();
    assert_eq!(starts(&whole, maintenance(2, 12, 18)), [0, 10, 20]);
    // One that begins as a job ends has its nodes at once.
    assert_eq!(starts(&whole, maintenance(2, 20, 30)), [0, 10, 30]);
}
