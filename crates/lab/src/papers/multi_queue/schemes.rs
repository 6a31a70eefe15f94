//! Who schedules: the paper's mechanism, its baselines, and the controls that it lacks.

use std::num::NonZeroU32;

use tradewind_model::{Pool, Span};
use tradewind_sched::negotiation::{self, Choose};
use tradewind_sched::policy::Spread;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::gridfill::{self, GridFill};
use tradewind_sched::policy::local::{LocalScheduler, Plain, PlainSettings, QueueOrder};
use tradewind_sched::policy::multiqueue::{
    Alpha, Guard, MultiQueue, MultiQueueSettings, Overflow, Reserve, ShortFirst,
};
use tradewind_sim::network::{self, Faults, Links};
use tradewind_sim::workload::Workload;
use tradewind_sim::{Run, run};

use super::parameters::{ALPHA, BETA, CHOOSE, DATA, GUARD, LATENCY, OVERFLOW, PATIENCE, RESERVE};
use crate::case::Case;

/// What decides at a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The paper's, with the case's switches.
    Hybrid,
    /// The same, with patience and guard: no job is starved.
    Guarded,
    /// The same as the paper's, but age alone decides within a queue.
    AgeOnly,
    /// One queue and one reservation.
    Easy,
    /// One queue and a reservation for every job.
    Conservative,
    /// No sites: one EASY queue for all of them, which knows everything.
    Central,
}

/// Whom a site asks about a job that it cannot start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    Nobody,
    Everybody,
    /// Two sites at random, up to three times.
    Two,
}

/// One of the schemes that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheme {
    /// In the tally.
    pub(super) key: &'static str,
    pub(super) rule: Rule,
    pub(super) asks: Asks,
}

const fn scheme(key: &'static str, rule: Rule, asks: Asks) -> Scheme {
    Scheme { key, rule, asks }
}

/// The paper's mechanism.
pub(super) const HYBRID: Scheme = scheme("hybrid", Rule::Hybrid, Asks::Everybody);
pub(super) const EASY: Scheme = scheme("easy", Rule::Easy, Asks::Nobody);
pub(super) const CONSERVATIVE: Scheme = scheme("conservative", Rule::Conservative, Asks::Nobody);
pub(super) const GUARDED: Scheme = scheme("guarded", Rule::Guarded, Asks::Everybody);
pub(super) const HYBRID_ALONE: Scheme = scheme("hybrid-alone", Rule::Hybrid, Asks::Nobody);
pub(super) const AGE_ONLY: Scheme = scheme("age-only", Rule::AgeOnly, Asks::Everybody);
pub(super) const HYBRID_TWO: Scheme = scheme("hybrid-two", Rule::Hybrid, Asks::Two);
pub(super) const EASY_MOVING: Scheme = scheme("easy-moving", Rule::Easy, Asks::Everybody);
pub(super) const CONSERVATIVE_MOVING: Scheme =
    scheme("conservative-moving", Rule::Conservative, Asks::Everybody);
pub(super) const CENTRAL: Scheme = scheme("central", Rule::Central, Asks::Nobody);

/// All of them, the paper's three first.
pub(super) static SCHEMES: [Scheme; 10] = [
    HYBRID,
    EASY,
    CONSERVATIVE,
    GUARDED,
    HYBRID_ALONE,
    AGE_ONLY,
    HYBRID_TWO,
    EASY_MOVING,
    CONSERVATIVE_MOVING,
    CENTRAL,
];

/// A run, and the messages between sites in it.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) run: Run,
    pub(super) messages: u64,
    pub(super) passed_on: u64,
}

/// Replays the jobs; `None` if that went wrong, which no scheme should.
pub(super) fn play(case: &Case, scheme: Scheme, workload: &Workload, seed: u64) -> Option<Played> {
    if scheme.rule == Rule::Central {
        let settings = gridfill::GridFillSettings { spread: Spread::Site, ..Default::default() };
        let mut policy = GridFill::new(settings);
        let run = run(workload, Default::default(), &mut policy, &mut []).ok()?;
        return Some(Played { run, messages: 0, passed_on: 0 });
    }
    let settings = hybrid(case, scheme.rule);
    let build = |pool: &Pool| site(pool, scheme.rule, settings);
    let mut grid = network(case, scheme.asks, seed).sites(&workload.pools, build);
    let run = run(workload, Default::default(), &mut grid, &mut []).ok()?;
    let messages = grid.network().map_or(0, |network| network.traffic().sent());
    Some(Played { run, messages, passed_on: grid.passed_on() })
}

fn site(pool: &Pool, rule: Rule, settings: MultiQueueSettings) -> Box<dyn LocalScheduler> {
    let plain = |depth| PlainSettings { depth, turn: QueueOrder::Arrival };
    match rule {
        Rule::Easy => Box::new(Plain::new(pool.nodes, plain(Depth::First(1)))),
        Rule::Conservative => Box::new(Plain::new(pool.nodes, plain(Depth::All))),
        _ => Box::new(MultiQueue::new(pool.nodes, settings)),
    }
}

/// The case's switches.
fn hybrid(case: &Case, rule: Rule) -> MultiQueueSettings {
    let alpha = Alpha::from_thousandths((1_000.0 * case.number(&ALPHA)).round() as u32);
    let guard = match case.word(&GUARD) {
        "oldest" => Guard::Oldest,
        _ => Guard::Nobody,
    };
    let reserve = match case.word(&RESERVE) {
        "replanned" => Reserve::Replanned,
        _ => Reserve::Kept,
    };
    let overflow = match case.word(&OVERFLOW) {
        "queue" => Overflow::Queue,
        _ => Overflow::Migrate,
    };
    let ours = MultiQueueSettings::default();
    let as_printed = MultiQueueSettings {
        alpha: alpha.unwrap_or(ours.alpha),
        beta: NonZeroU32::new(case.number(&BETA) as u32).unwrap_or(ours.beta),
        patience: NonZeroU32::new(case.number(&PATIENCE) as u32),
        guard,
        reserve,
        overflow,
        ..ours
    };
    match rule {
        Rule::Guarded => {
            MultiQueueSettings { patience: ours.patience, guard: ours.guard, ..as_printed }
        }
        Rule::AgeOnly => MultiQueueSettings { short_first: ShortFirst::Off, ..as_printed },
        _ => as_printed,
    }
}

fn network(case: &Case, asks: Asks, seed: u64) -> network::NetworkSettings {
    let latency = Span(case.number(&LATENCY) as i64);
    let per_processor_mb = case.number(&DATA) as u64;
    let links = Links { latency: (latency, latency), per_processor_mb, ..Links::default() };
    let knobs = match asks {
        Asks::Nobody => None,
        Asks::Everybody => Some(negotiation::NegotiationSettings::default()),
        Asks::Two => Some(negotiation::NegotiationSettings::sampling(2)),
    };
    let named = Choose::ALL.into_iter().find(|(_, name)| *name == case.word(&CHOOSE));
    let choose = named.map_or(Choose::Load, |(choose, _)| choose);
    // Offers are collected for a round trip, and hold until a commit can be there.
    let negotiation = knobs.map(|knobs| negotiation::NegotiationSettings {
        window: Span(2 * latency.0 + 2),
        offer_life: Span(26 + 4 * latency.0),
        choose,
        ..knobs
    });
    network::NetworkSettings { negotiation, links, faults: Faults::none(), seed }
}
