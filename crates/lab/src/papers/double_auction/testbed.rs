//! Table I of the paper, and a week of a log as its users' applications. All times are in ticks.

use std::sync::Arc;

use tradewind_io::swf::{Log, Record};
use tradewind_model::{
    Admission, Attributes, Money, Performance, Pool, Pools, Price, Site, SiteId, Span, Terms, Time,
    Times, random,
};
use tradewind_sim::workload::{Job, Workload};

use super::parameters::{
    ASK_FACTORS, BID_FACTORS, PRICES, PROCESSORS, SLACK, VALUES, factor, ticks,
};
use crate::case::Case;

/// Sites with their processors and the rating of each in MIPS, of which 1,000 count as a
/// reference node.
const SITES: [(&str, u32, u32); 10] = [
    ("RAL", 2_050, 1_140),
    ("Imperial College", 2_600, 1_330),
    ("NorduGrid", 650, 1_176),
    ("NIKHEF", 540, 1_166),
    ("Lyon", 600, 1_320),
    ("Milano", 350, 1_000),
    ("Torino", 200, 1_330),
    ("Catania", 250, 1_200),
    ("Padova", 650, 1_000),
    ("Bologna", 1_000, 1_140),
];

/// By how much submissions come sooner.
const SQUEEZE: i64 = 1_000;
const WEEK: Span = Span(7 * 86_400);
const CREDIT: i64 = 1_000_000;
/// Streams of users' factors come after those of queues.
const USERS: u64 = 1 << 32;

/// The first week's jobs with a run time: submission, run time, processors. As in every replay,
/// `simulate` included, a job's width is what the log says that it got.
pub(super) fn week(log: &Log) -> Vec<&Record> {
    let Some(first) = log.jobs.first().map(|job| job.submit) else { return Vec::new() };
    let within = log.jobs.iter().take_while(|job| job.submit - first < WEEK);
    let ran = |job: &&Record| job.run.is_some_and(|run| run.0 > 0) && job.held().is_some();
    within.filter(ran).collect()
}

/// The applications on the grid, with what is drawn for them. Those that fit no queue are there,
/// too: they are refused, and fail.
pub(super) fn draw(case: &Case, seed: u64, jobs: &[&Record]) -> Option<Workload> {
    let pools = Arc::new(grid(case, seed)?);
    let first = jobs.first()?.submit;
    let work = |job: &Record| i64::from(job.held().unwrap_or(1)) * job.run.map_or(1, |run| run.0);
    let mean = jobs.iter().map(|job| work(job)).sum::<i64>() / jobs.len() as i64;
    let one = |(source, record): (usize, &&Record)| {
        let run = Span(record.run?.0 * ticks(case));
        let submit = Time((record.submit - first).0 * ticks(case) / SQUEEZE);
        let (deadline, value) = promise(case, seed, source as u64, run);
        let value = match case.word(&VALUES) {
            "by-work" => scaled(value, work(record), mean),
            _ => value,
        };
        let deadline = Some(submit + deadline);
        let user = record.user.cast_unsigned();
        let bid_factor = Some(factor(case, &BID_FACTORS, (seed, USERS.wrapping_add(user))));
        let terms = Terms { value: Some(Money(value)), bid_factor, deadline, ..Terms::NONE };
        Some(Job {
            source,
            number: record.number,
            submit,
            run,
            processors: record.held()?,
            requested: run,
            user: record.user,
            killed: false,
            terms: Some(Arc::new(terms)),
        })
    };
    let jobs = jobs.iter().enumerate().filter_map(one).collect();
    Some(Workload::new(pools, jobs))
}

/// A deadline after submission, and a value in micro-credits.
fn promise(case: &Case, seed: u64, job: u64, run: Span) -> (Span, i64) {
    let latest = (run.0 as f64 * case.number(&SLACK)).round() as i64;
    let deadline = random::within(&mut random::stream(seed, "deadline", job), run.0, latest);
    let mut values = random::stream(seed, "value", job);
    (Span(deadline), random::within(&mut values, 90_000 * CREDIT, 160_000 * CREDIT))
}

/// In proportion to work, and never nothing.
fn scaled(value: i64, work: i64, mean: i64) -> i64 {
    let scaled = i128::from(value) * i128::from(work) / i128::from(mean.max(1));
    i64::try_from(scaled).unwrap_or(i64::MAX / 4).max(1)
}

/// Table I, each site cut into queues of 1:2:3.
fn grid(case: &Case, seed: u64) -> Option<Pools> {
    let mut pools = Vec::new();
    for (at, (name, processors, mips)) in (0u32..).zip(SITES) {
        let processors = (f64::from(processors) * case.number(&PROCESSORS)).round() as u32;
        for (queue, nodes) in (0u32..).zip(thirds(processors)) {
            let lot = match case.word(&PRICES) {
                "per-queue" => 3 * at + queue,
                _ => 3 * at,
            };
            let mut prices = random::stream(seed, "price", lot.into());
            let price = random::within(&mut prices, 9 * CREDIT / 2, 19 * CREDIT / 2);
            pools.push(Pool {
                name: format!("{name} {}", queue + 1),
                site: SiteId(at),
                nodes,
                performance: Performance::from_thousandths(mips)?,
                price: Price(price / ticks(case)),
                attributes: Attributes::new(),
                admission: Admission::NONE,
                times: Times::Work,
            });
        }
    }
    let sites = SITES.map(|(name, ..)| Site { name: name.to_owned() });
    let factors = (0..pools.len() as u64).map(|queue| factor(case, &ASK_FACTORS, (seed, queue)));
    let factors = factors.collect();
    Pools::new(sites.to_vec(), pools).ok().map(|pools| pools.with_ask_factors(factors))
}

/// 1:2:3, the first two rounded down.
pub(super) fn thirds(processors: u32) -> [u32; 3] {
    let (small, middle) = (processors / 6, processors / 3);
    [small, middle, processors - small - middle]
}
