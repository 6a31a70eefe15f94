//! Deadlines, values, trades and the sites' loads: a case made by hand, and brute force.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{
    Admission, Attribute, Attributes, Cause, Command, Consumption, Energy, Event, JobId, Market,
    Money, Outage, Performance, Place, Pool, PoolId, Pools, Power, Price, Rates, Reason, RunCut,
    Series, Site, SiteId, SitePower, Terms, Time, Times, Trade, thousandths,
};
use tradewind_sched::policy::Policy;

use super::*;
use crate::outage::{self, AnnouncedOutage};
use crate::result::{LossCause, Lost, Ran, Struck};
use crate::workload::{Job, LogJob, Overrun, Refusal, Rejected, prepare};
use crate::{ReplaySettings, run};

/// Four nodes at one credit; two nodes that are twice as fast, at two credits.
fn pools() -> Arc<Pools> {
    let pool = |name: &str, site, nodes, performance, price| Pool {
        name: name.to_owned(),
        site: SiteId(site),
        nodes,
        performance: Performance::from_thousandths(performance).unwrap(),
        price: Price::credits(price),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let sites = ["a", "b"].map(|name| Site { name: name.to_owned() }).to_vec();
    Arc::new(Pools::new(sites, vec![pool("a", 0, 4, 1_000, 1), pool("b", 1, 2, 2_000, 2)]).unwrap())
}

/// Submission, run, nodes; deadline and value.
fn job(number: i64, (submit, run, processors): (i64, i64, u32), terms: (i64, i64)) -> Job {
    let (deadline, value) = (Some(Time(terms.0)), Some(Money::credits(terms.1)));
    Job {
        source: 0,
        number,
        submit: Time(submit),
        run: Span(run),
        processors,
        requested: Span(run),
        user: 1,
        killed: false,
        terms: Some(Arc::new(Terms { deadline, value, ..Terms::NONE })),
    }
}

fn ran(start: i64, end: i64, pool: u32, cost: i64) -> Ran {
    let (start, end, cost) = (Time(start), Time(end), Money::credits(cost));
    Ran { start, end, cost, place: Place::Pool(PoolId(pool)), ..Ran::nothing(Time(0)) }
}

/// One job in time above the list price, one at it, one late below it, one refused, one that is
/// too wide.
fn case() -> (Workload, Run) {
    let jobs = vec![
        job(1, (0, 100, 2), (110, 500)),
        job(2, (10, 100, 2), (160, 20_000)),
        job(3, (20, 40, 2), (85, 3_000)),
        job(4, (30, 10, 1), (60, 60_000)),
    ];
    let wide = Some(Box::new(job(5, (15, 10, 9), (25, 81_000))));
    let rejected = vec![
        Rejected { source: 4, why: Refusal::TooWide, job: wide },
        Rejected { source: 5, why: Refusal::NoRun, job: None },
    ];
    let struck = |job, pool, price| {
        let trade = Trade::at(PoolId(pool), Price(price), Time(0));
        Struck { job, at: Time(0), trade: Arc::new(trade), by_load: None }
    };
    let run = Run {
        submitted: vec![],
        jobs: vec![
            ran(0, 100, 0, 300),
            ran(20, 70, 1, 200),
            ran(50, 90, 0, 40),
            Ran { refused: Some(Box::new(Reason::NoValue)), ..ran(31, 31, 0, 0) },
        ],
        trades: vec![struck(0, 0, 1_500_000), struck(1, 1, 2_000_000), struck(2, 0, 500_000)],
        lost: vec![],
        kept: Default::default(),
        income: vec![340_000_000, 200_000_000],
        passes: 0,
        owners: vec![],
        counts: vec![],
    };
    (Workload { rejected, ..Workload::new(pools(), jobs) }, run)
}

#[track_caller]
fn check(metrics: &Metrics, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        let found = metrics.get(name).expect(name).as_f64();
        assert!((found - value).abs() < 1e-9, "{name}: {found}, not {value}");
    }
}

#[test]
fn success_by_class_by_hand() {
    let (workload, run) = case();
    let all = measure(&workload, &run, MetricOptions::default());
    check(&all, &[("deadlines", 5.0), ("deadlines_missed", 3.0), ("deadline_success", 0.4)]);
    // Urgencies .1 and 0 (too wide); .5, on the border, and .625; 2.
    check(&all, &[("jobs_urgency_0_25", 2.0), ("success_urgency_0_25", 0.5)]);
    check(&all, &[("jobs_urgency_25_50", 0.0), ("jobs_urgency_75_100", 0.0)]);
    check(&all, &[("jobs_urgency_50_75", 2.0), ("succeeded_urgency_50_75", 1.0)]);
    check(&all, &[("jobs_urgency_100_up", 1.0), ("success_urgency_100_up", 0.0)]);
    assert_eq!(all.get("success_urgency_25_50"), None);
    // Per processor 250; 10,000, on the border; 1,500; 60,000; 9,000.
    check(&all, &[("success_value_0_1000", 1.0), ("success_value_10000_20000", 1.0)]);
    check(&all, &[("success_value_1000_5000", 0.0), ("success_value_5000_10000", 0.0)]);
    check(&all, &[("jobs_value_20000_30000", 0.0), ("success_value_30000_up", 0.0)]);
    check(&all, &[("value_realised", 20_500.0), ("value_ratio", 20_500.0 / 164_500.0)]);
}

#[test]
fn surplus_and_prices_by_hand() {
    let (workload, run) = case();
    let all = measure(&workload, &run, MetricOptions::default());
    check(&all, &[("users_surplus", 200.0 + 19_800.0 - 40.0), ("owners_surplus", 100.0 - 40.0)]);
    check(&all, &[("welfare", 20_500.0 - (200.0 + 200.0 + 80.0)), ("trades", 3.0)]);
    check(&all, &[("mean_price", 4.0 / 3.0), ("mean_list_price", 4.0 / 3.0)]);
    check(&all, &[("price_ratio", 540.0 / 480.0)]);
}

/// The list price of what was used is the integral; of what was agreed, the mean of the expected time.
#[test]
fn surplus_and_prices_by_hand_where_prices_change() {
    let (mut workload, run) = case();
    // The first pool is at half a credit until 60 and at one and a half after it. Jobs 1 and 3 had
    // 60 + 40 and 10 + 30 seconds of that on two nodes; both are expected from 0 on, for 100 and
    // 40 seconds.
    let series = Series::new(&[(Time(0), 500_000), (Time(60), 1_500_000)]).unwrap();
    let rates = Rates::new(vec![Some(Arc::new(series))]);
    workload.pools = Arc::new(Pools::clone(&workload.pools).with_rates(rates));
    let all = measure(&workload, &run, MetricOptions::default());
    let at_list = [2.0 * (30.0 + 60.0), 200.0, 2.0 * (5.0 + 45.0)];
    check(&all, &[("owners_surplus", (300.0 - at_list[0]) + (40.0 - at_list[2]))]);
    check(&all, &[("welfare", 20_500.0 - at_list.iter().sum::<f64>())]);
    check(&all, &[("mean_list_price", (0.9 + 2.0 + 0.5) / 3.0)]);
    check(&all, &[("price_ratio", 540.0 / at_list.iter().sum::<f64>())]);
}

#[test]
fn the_load_deviation_by_hand() {
    let (workload, run) = case();
    let point = |at, load| Deviation { at: Time(at), load };
    let expected =
        [point(0, 0.25), point(20, 0.25), point(50, 0.0), point(70, 0.5), point(90, 0.25)];
    let points = load_deviation(&workload, &run);
    assert_eq!((&points[..5], points[5]), (&expected[..], point(100, 0.0)));
    let all = measure(&workload, &run, MetricOptions::default());
    check(&all, &[("load_deviation_mean", 0.25), ("load_deviation_max", 0.5)]);
    // Submissions from 25 to 30 count, and the time from then to then.
    let trim = Trim { warm_up: Span(15), cool_down: Span(5) };
    let middle = measure(&workload, &run, MetricOptions { trim, ..MetricOptions::default() });
    check(&middle, &[("load_deviation_mean", 0.25), ("load_deviation_max", 0.25)]);
    check(&middle, &[("deadlines", 2.0), ("trades", 1.0), ("users_surplus", -40.0)]);
}

#[test]
fn misses_add_up_in_the_order_of_submission() {
    let (workload, run) = case();
    let points = |max| -> Vec<(u64, u64)> {
        let points = misses(&workload, &run, max);
        points.iter().map(|point| (point.applications, point.missed)).collect()
    };
    assert_eq!(points(500), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 3)]);
    assert_eq!(points(3), [(0, 0), (2, 0), (5, 3)]);
    assert_eq!(points(0), [(0, 0), (5, 3)]);
}

#[test]
fn a_workload_without_terms_has_none_of_it() {
    let (mut workload, mut run) = case();
    workload.jobs.iter_mut().for_each(|job| job.terms = None);
    (workload.rejected, run.trades) = (vec![], vec![]);
    workload.pools = Arc::new(Pools::cluster(4));
    run.jobs[1].place = Place::Pool(PoolId(0));
    let all = measure(&workload, &run, MetricOptions::default());
    let market = ["urgency", "value_0", "deadlines", "surplus", "welfare", "price", "load_dev"];
    for entry in all.entries() {
        assert!(!market.iter().any(|name| entry.name.contains(name)), "{}", entry.name);
    }
    assert!(misses(&workload, &run, 500).is_empty() && load_deviation(&workload, &run).is_empty());
}

/// Starts whom it can in the order of submission, at prices of its own.
struct Trader;

impl Trader {
    fn price(job: JobId) -> Price {
        Price(i64::from(job.0 % 4) * 700_000)
    }
}

impl Policy for Trader {
    fn decide(&mut self, market: &Market, _: &[Event], commands: &mut Vec<Command>) {
        let mut free: Vec<u32> = market.pools().iter().map(|(id, _)| market.free_in(id)).collect();
        for job in market.queue() {
            let wanted = market.demand(job).unwrap().processors;
            if wanted > 4 {
                commands.push(Command::Refuse { job, reason: Reason::NoValue });
                continue;
            }
            let Some(pool) = free.iter().position(|free| *free >= wanted) else { continue };
            free[pool] -= wanted;
            let pool = PoolId(pool as u32);
            let trade = Trade::at(pool, Trader::price(job), market.now());
            commands.push(Command::Trade { job, trade: Arc::new(trade) });
            commands.push(Command::Start { job, place: Place::Pool(pool) });
        }
    }
}

/// Submission, run, nodes, request, slack of the deadline, value.
type Row = (i64, i64, u32, i64, i64, i64);

fn replay(rows: &[Row], outages: &[(u32, i64, i64)]) -> (Workload, Run) {
    let job = |(number, &(submit, run, processors, asked, slack, value)): (i64, &Row)| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        requested: Some(Span(asked)),
        user: 1,
        terms: Some(Arc::new(Terms {
            deadline: Some(Time(submit + slack)),
            value: Some(Money::credits(value)),
            ..Terms::NONE
        })),
    };
    let log: Vec<LogJob> = (0..).zip(rows).map(job).collect();
    let mut workload = prepare(&log, pools(), Default::default(), Overrun::Kill);
    let closed = |&(nodes, from, span): &(u32, i64, i64)| {
        let (pool, from, until) = (PoolId(0), Time(from), Time(from + span));
        let what = Outage { pool, nodes, from, until, cause: Cause::Failure(0) };
        AnnouncedOutage { announced: from, what }
    };
    workload.outages = outage::in_order(&workload.pools, outages.iter().map(closed).collect());
    let run = run(&workload, ReplaySettings::default(), &mut Trader, &mut []).unwrap();
    (workload, run)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0i64..60, 0i64..25, 1u32..9, 1i64..25, -5i64..70, 1i64..90_000);
    prop::collection::vec(row, 1..25)
}

fn outages() -> impl Strategy<Value = Vec<(u32, i64, i64)>> {
    prop::collection::vec((1u32..4, 0i64..60, 1i64..30), 0..4)
}

fn whole(metrics: &Metrics, name: &str) -> i128 {
    match metrics.get(name) {
        Some(Value::Whole(whole) | Value::Credits(whole)) => whole,
        other => panic!("{name}: {other:?}"),
    }
}

/// A job and, if it ran, its run: in the order of submission.
fn everybody<'a>(workload: &'a Workload, run: &'a Run) -> Vec<(&'a Job, Option<&'a Ran>)> {
    let ran = run.jobs.iter().map(|ran| Some(ran).filter(|ran| ran.refused.is_none()));
    let wide = workload.rejected.iter().filter_map(|it| Some((it.job.as_deref()?, None)));
    let mut all: Vec<_> = workload.jobs.iter().zip(ran).chain(wide).collect();
    all.sort_by_key(|(job, _)| (job.submit, job.number));
    all
}

fn kept((job, ran): &(&Job, Option<&Ran>)) -> bool {
    let deadline = job.terms.as_ref().and_then(|terms| terms.deadline).unwrap();
    !job.killed && ran.is_some_and(|ran| ran.end <= deadline)
}

proptest! {
    /// Each class against a plain sum of floats, and all classes against the totals.
    #[test]
    fn classes_and_the_curve_add_up(rows in rows(), outages in outages(), max in 2usize..40) {
        let (workload, run) = replay(&rows, &outages);
        let all = measure(&workload, &run, MetricOptions::default());
        let everybody = everybody(&workload, &run);
        prop_assert_eq!(whole(&all, "deadlines"), rows.len() as i128);
        let missed = everybody.iter().filter(|it| !kept(it)).count() as i128;
        prop_assert_eq!(whole(&all, "deadlines_missed"), missed);
        let mut counted: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
        for it in &everybody {
            let terms = it.0.terms.as_ref().unwrap();
            let length = (terms.deadline.unwrap() - it.0.submit).0 as f64;
            let urgency = match (length / it.0.run.0 as f64 - 1.0, length >= 0.0) {
                (urgency, _) if urgency.is_finite() => urgency,
                (_, true) => 9.0,
                (_, false) => -9.0,
            };
            let urgency = match urgency {
                ..0.25 => "urgency_0_25",
                0.25..0.5 => "urgency_25_50",
                0.5..0.75 => "urgency_50_75",
                0.75..1.0 => "urgency_75_100",
                _ => "urgency_100_up",
            };
            let value = match terms.value.unwrap().0 as f64 / 1e6 / f64::from(it.0.processors) {
                ..1e3 => "value_0_1000",
                1e3..5e3 => "value_1000_5000",
                5e3..1e4 => "value_5000_10000",
                1e4..2e4 => "value_10000_20000",
                2e4..3e4 => "value_20000_30000",
                _ => "value_30000_up",
            };
            for class in [urgency, value] {
                let count = counted.entry(class).or_default();
                *count = (count.0 + 1, count.1 + i128::from(kept(it)));
            }
        }
        for class in Family::URGENCY.classes.iter().chain(&Family::VALUE.classes) {
            let (jobs, succeeded) = counted.get(class.key).copied().unwrap_or_default();
            prop_assert_eq!(whole(&all, &format!("jobs_{}", class.key)), jobs);
            prop_assert_eq!(whole(&all, &format!("succeeded_{}", class.key)), succeeded);
            let ratio = all.get(&format!("success_{}", class.key));
            prop_assert_eq!(ratio, quotient(succeeded, jobs));
        }
        let curve = misses(&workload, &run, max);
        prop_assert!(curve.len() <= max);
        for Missed { applications, missed } in &curve {
            let first = &everybody[..*applications as usize];
            prop_assert_eq!(*missed as usize, first.iter().filter(|it| !kept(it)).count());
        }
        let last = curve.last().unwrap();
        prop_assert_eq!((last.applications as usize, last.missed as i128), (rows.len(), missed));
    }

    /// Payments go from users to owners: welfare is what was made less what it costs at list
    /// prices, whatever was paid.
    #[test]
    fn welfare_does_not_depend_on_payments(rows in rows(), outages in outages()) {
        let (workload, run) = replay(&rows, &outages);
        let all = measure(&workload, &run, MetricOptions::default());
        let (mut made, mut list, mut paid) = (0i128, 0i128, 0i128);
        for it in everybody(&workload, &run) {
            let Some(ran) = it.1 else { continue };
            made += if kept(&it) { it.0.terms.as_ref().unwrap().value.unwrap().0.into() } else { 0 };
            let Place::Pool(pool) = ran.place else { panic!("several pools") };
            let used = i128::from(it.0.processors) * i128::from((ran.end - ran.start).0);
            list += i128::from(workload.pools.pool(pool).price.0) * used;
            paid += i128::from(ran.cost.0);
        }
        prop_assert_eq!(whole(&all, "welfare"), made - list);
        prop_assert_eq!(whole(&all, "users_surplus"), made - paid);
        prop_assert_eq!(whole(&all, "owners_surplus"), paid - list);
        prop_assert_eq!(whole(&all, "total_income"), paid);
        prop_assert_eq!(whole(&all, "trades"), run.trades.len() as i128);
    }

    /// The series of deviations against a look at every second.
    #[test]
    fn deviations_are_those_of_every_second(rows in rows(), outages in outages()) {
        let (workload, run) = replay(&rows, &outages);
        let points = load_deviation(&workload, &run);
        let window = Window::of(&workload, &run, Trim::default());
        let (mut area, mut max) = (0.0, 0.0f64);
        for second in window.from.0..window.until.0 {
            let mut held = [0.0; 2];
            let attempts = run.lost.iter().map(|it| (it.job, it.start, it.end, &it.place));
            let last = run.jobs.iter().enumerate().filter(|(_, ran)| ran.refused.is_none());
            let last = last.map(|(job, ran)| (job, ran.start, ran.end, &ran.place));
            for (job, start, end, place) in attempts.chain(last) {
                if start.0 <= second && second < end.0 {
                    let share = place.shares(workload.jobs[job].processors).next().unwrap();
                    let pool = workload.pools.pool(share.pool);
                    held[share.pool.index()] += f64::from(share.nodes) / f64::from(pool.nodes);
                }
            }
            // Of two values the standard deviation is half their distance.
            let deviation = (held[0] - held[1]).abs() / 2.0;
            let point = points.iter().rfind(|point| point.at.0 <= second);
            let found = point.map_or(0.0, |point| point.load);
            prop_assert!((found - deviation).abs() < 1e-9, "{second}: {found}, not {deviation}");
            (area, max) = (area + deviation, max.max(deviation));
        }
        let all = measure(&workload, &run, MetricOptions::default());
        let found = |name| all.get(name).map(Value::as_f64);
        if let Some(mean) = found("load_deviation_mean") {
            prop_assert!((mean - area / window.span().0 as f64).abs() < 1e-9);
            prop_assert!((found("load_deviation_max").unwrap() - max).abs() < 1e-9);
        }
        prop_assert!(points.last().is_none_or(|last| last.load == 0.0));
    }
}

/// Nodes of 200 W (80 W idle) and 500 W (90 W idle), at sites whose electricity changes each
/// minute or so.
fn electric(pools: &Pools) -> Pools {
    let watts = [(200_000, 80_000), (500_000, 90_000)];
    let pool = |(pool, (busy, idle)): (&Pool, (i64, i64))| {
        let mut pool = pool.clone();
        pool.attributes.insert(Energy::BUSY.to_owned(), Attribute::Number(busy));
        pool.attributes.insert(Energy::IDLE.to_owned(), Attribute::Number(idle));
        pool
    };
    let all = pools.as_slice().iter().zip(watts).map(pool).collect();
    let series = |values: &[(i64, i64)]| {
        let values: Vec<(Time, i64)> = values.iter().map(|&(at, it)| (Time(at), it)).collect();
        Series::new(&values).ok()
    };
    let sites = vec![
        SitePower { carbon: series(&[(0, 9_000_000), (25, 1_000_000)]), price: None },
        SitePower { carbon: None, price: series(&[(-5, 100_000), (30, 900_000), (60, 50_000)]) },
    ];
    Pools::new(pools.sites().to_vec(), all).unwrap().with_power(Power { sites })
}

/// What one node consumes during `[start, end)`, second by second: mJ, mg and micro-credits.
fn by_seconds(power: &SitePower, watts: i64, (start, end): (i64, i64)) -> [i64; 3] {
    let sum = |series: &Option<Series>| -> i64 {
        let at = |second: i64| series.as_ref().map_or(0, |it| it.at(Time(second)));
        let all: i64 = (start..end).map(|second| at(second) * watts).sum();
        (all + 1_800_000_000) / 3_600_000_000
    };
    [(start..end).map(|_| watts).sum(), sum(&power.carbon), sum(&power.price)]
}

#[test]
fn energy_and_emissions_are_the_sums_of_their_seconds() {
    let (mut workload, mut run) = case();
    workload.pools = Arc::new(electric(&workload.pools));
    // The first job was interrupted once before.
    let place = run.jobs[0].place.clone();
    run.lost = vec![Lost {
        job: 0,
        start: Time(0),
        end: Time(7),
        place,
        cause: LossCause::Outage,
        before: Span::ZERO,
        cut: RunCut::default(),
    }];
    let power = workload.pools.power().unwrap();
    let used = consumption(&workload, &run);
    let mut total = [0; 3];
    for (index, (job, ran)) in workload.jobs.iter().zip(&run.jobs).enumerate() {
        let mut expected = [0; 3];
        let lost = run.lost.iter().filter(|lost| lost.job == index);
        let lost = lost.map(|lost| (&lost.place, lost.start, lost.end));
        let runs = lost.chain((ran.refused.is_none()).then_some((&ran.place, ran.start, ran.end)));
        for (place, start, end) in runs {
            for share in place.shares(job.processors) {
                let pool = workload.pools.pool(share.pool);
                let end = end.min(start + job.length_in(pool));
                let watts = thousandths(&pool.attributes, Energy::BUSY);
                let site = &power.sites[pool.site.0 as usize];
                let one = by_seconds(site, watts, (start.0, end.0));
                (0..3).for_each(|at| expected[at] += one[at] * i64::from(share.nodes));
            }
        }
        let found = used[index];
        assert_eq!([found.energy.0, found.carbon.0, found.price.0], expected, "job {index}");
        (0..3).for_each(|at| total[at] += expected[at]);
    }
    assert!(total.iter().all(|sum| *sum > 0), "{total:?}");
    let of_sites = consumption_by_site(&workload, &run);
    let sum: Consumption = of_sites.iter().map(|(_, used)| *used).sum();
    assert_eq!([sum.energy.0, sum.carbon.0, sum.price.0], total);
    assert_eq!([of_sites[0].0, of_sites[1].0], [2, 1]);
    let all = measure(&workload, &run, MetricOptions::default());
    let value = |name: &str| all.get(name).unwrap();
    assert_eq!(value("energy_kwh"), Value::Credits(i128::from((total[0] + 1_800) / 3_600)));
    assert_eq!(value("carbon_g"), Value::Credits(i128::from(total[1]) * 1_000));
    assert_eq!(value("energy_price"), Value::Credits(total[2].into()));
    assert!(value("idle_energy_kwh").as_f64() > 0.0);
}
