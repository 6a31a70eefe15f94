//! The experiment of figures 6 and 7: Thunder's first week on the ten sites, under the auction and
//! its baselines.

use tradewind_model::{Span, random};
use tradewind_sched::policy::dispatch::{
    Clearing, Dispatch, DispatchRule, DispatchSettings, Dynamics, Gate, Prices, Valuation,
};
use tradewind_sim::workload::Workload;
use tradewind_sim::{Estimate, Run, Semantics, run};

use super::count::{self, Counts};
use super::parameters::{
    ASK_FACTORS, BID_FACTORS, CYCLE, DEADLINES, DEMAND_SUPPLY, GATE, HORIZON, IN_QUEUES, PRICES,
    PROCESSORS, PUBLISH, RATIO, SHARES, SLACK, SLOTS, TICKS, TIES, URGENCY_CLASSES, VALUE_CLASSES,
    VALUES, WAIT, WINDOW, demand_supply, gate, in_queues, publish, ratio, rivals_deadlines, shares,
    slots, span, ticks, ties, wait,
};
use super::testbed::{draw, week};
use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::tally::Tally;

/// The paper's log.
pub(super) const THUNDER: &str = "LLNL-Thunder-2007-1.1-cln.swf";

/// A part is a seed, by which deadlines, values and prices are drawn. Names in the tally:
/// `mechanism/group` is a share of applications that are finished by their deadlines, `all` or of
/// a class; pairs of the same name have the auction's number beside that of a rival or variant (and
/// `fair-share-over-edf-fq/group` those two);
/// `mechanism/missed-5` is the number that missed it when that many sixths of the applications
/// are there; `mechanism/deviation-5` the deviation of load in that twelfth of the window.
pub(in crate::papers) static THUNDER_WEEK: Experiment = Experiment {
    id: "thunder-week",
    summary: "replays a week of Thunder on ten sites under the auction, its baselines and variants",
    parameters: &[
        &CYCLE,
        &SLOTS,
        &HORIZON,
        &GATE,
        &TIES,
        &WAIT,
        &RATIO,
        &DEADLINES,
        &SHARES,
        &TICKS,
        &PROCESSORS,
        &SLACK,
        &VALUES,
        &PRICES,
        &WINDOW,
        &PUBLISH,
        &IN_QUEUES,
        &DEMAND_SUPPLY,
        &ASK_FACTORS,
        &BID_FACTORS,
        &URGENCY_CLASSES,
        &VALUE_CLASSES,
    ],
    logs: &[THUNDER],
    parts,
    part,
};

/// The auction, then its baselines, as the paper writes them.
pub(super) const MECHANISMS: [(&str, &str, DispatchRule); 6] = [
    ("dam", "DAM", DispatchRule::Auction),
    ("edf-fq", "EDF-FQ", DispatchRule::EdfFq),
    ("fair-share", "FairShare", DispatchRule::FairShare),
    ("hvfq", "HVFQ", DispatchRule::Hvfq),
    ("fcfs", "FCFS", DispatchRule::Fcfs),
    ("sjf", "SJF", DispatchRule::Sjf),
];

/// What we put in place of the paper's auction.
pub(super) const VARIANTS: [(&str, &str); 7] = [
    ("admission", "the gate alone: by arrival, no order of bids"),
    ("gated-edf", "earliest deadline first behind the same gate"),
    ("no-gate", "the auction without its gate"),
    ("unit", "bids and asks per second of a reference processor"),
    ("k-price", "trades at a price half-way between ask and bid"),
    ("dynamic", "prices that follow demand"),
    ("short-cycle", "a cycle of a second"),
];

fn parts(case: &Case) -> u32 {
    match (case.log(THUNDER), case.size) {
        (None, _) => 0,
        (Some(_), Size::Full) => 100,
        (Some(_), Size::Quick) => 3,
    }
}

fn part(case: &Case, index: u32) -> Tally {
    let mut tally = Tally::default();
    let mut seeds = random::stream(case.seed, "thunder-week", index.into());
    let seed = random::within(&mut seeds, 0, i64::MAX).cast_unsigned();
    let jobs = case.log(THUNDER).map(week).unwrap_or_default();
    if let Some(workload) = draw(case, seed, &jobs) {
        count::workload(case, &workload, &mut tally);
        compare(case, seed, &workload, &mut tally);
    }
    tally
}

fn compare(case: &Case, seed: u64, workload: &Workload, tally: &mut Tally) {
    let base = settings(case, DispatchRule::Auction, seed);
    let Some(auction) = replay(workload, base) else { return };
    let auction = Counts::of(case, workload, &auction);
    let mut edf = None;
    for (id, _, rule) in MECHANISMS {
        let settings = settings(case, rule, seed);
        let Some(run) = replay(workload, settings) else { continue };
        let own = Counts::of(case, workload, &run);
        own.add(id, &auction, tally);
        match (rule, &edf) {
            (DispatchRule::EdfFq, _) => edf = Some(own.clone()),
            (DispatchRule::FairShare, Some(edf)) => edf.add("fair-share-over-edf-fq", &own, tally),
            _ => {}
        }
        for sixths in 1..6 {
            let part = first(workload, sixths);
            let Some(run) = replay(&part, settings) else { continue };
            Counts::of(case, &part, &run).add_missed(id, sixths, tally);
        }
        own.add_missed(id, 6, tally);
    }
    for (id, _) in VARIANTS {
        if let Some(run) = replay(workload, variant(id, base, ticks(case))) {
            Counts::of(case, workload, &run).add(id, &auction, tally);
        }
    }
}

fn settings(case: &Case, rule: DispatchRule, seed: u64) -> DispatchSettings {
    let ticks = ticks(case);
    let settings = DispatchSettings::of(rule);
    let outlook = Span(settings.dynamics.outlook.0 * ticks);
    let common = DispatchSettings {
        cycle: span(case, &CYCLE, ticks),
        slots: slots(case),
        horizon: span(case, &HORIZON, ticks),
        ties: ties(case),
        wait: wait(case),
        ratio: ratio(case),
        publish: publish(case),
        local: in_queues(case),
        demand_supply: demand_supply(case),
        share: shares(case),
        patience: Span(settings.patience.0 * ticks),
        // The paper's: values are no limit.
        clearing: Clearing::List,
        tau: Span(settings.tau.0 * ticks),
        dynamics: Dynamics { outlook, ..settings.dynamics },
        seed,
        ..settings
    };
    match rule {
        DispatchRule::Auction => DispatchSettings { gate: gate(case, &GATE), ..common },
        _ => DispatchSettings { deadline: rivals_deadlines(case), ..common },
    }
}

fn variant(id: &str, base: DispatchSettings, ticks: i64) -> DispatchSettings {
    match id {
        "admission" => DispatchSettings { rule: DispatchRule::Admission, gate: Gate::On, ..base },
        "gated-edf" => DispatchSettings { rule: DispatchRule::EdfFq, gate: Gate::On, ..base },
        "no-gate" => DispatchSettings { gate: Gate::Off, ..base },
        "unit" => DispatchSettings { valuation: Valuation::Unit, ..base },
        "k-price" => DispatchSettings { clearing: Clearing::K, ..base },
        "dynamic" => DispatchSettings { prices: Prices::Dynamic, ..base },
        _ => DispatchSettings { cycle: Span(ticks), ..base },
    }
}

/// `None` if the replay gets stuck, which no rule does here.
fn replay(workload: &Workload, settings: DispatchSettings) -> Option<Run> {
    let exact =
        tradewind_sim::ReplaySettings { semantics: Semantics::Textbook, estimate: Estimate::Exact };
    run(workload, exact, &mut Dispatch::new(settings), &mut []).ok()
}

/// The first `sixths` of the applications.
fn first(workload: &Workload, sixths: u32) -> Workload {
    let count = workload.jobs.len() * sixths as usize / 6;
    Workload { jobs: workload.jobs[..count].to_vec(), ..workload.clone() }
}
