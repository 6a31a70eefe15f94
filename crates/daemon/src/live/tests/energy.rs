//! What nodes consume, and budgets of it.

use tradewind_model::{Attribute, Carbon, Consumption, Energy, Power, Series, SitePower};

use super::*;
use crate::live::budgets::{BudgetHolder, PowerLimits};
use crate::live::record::LedgerRecord;

fn series(values: &[(i64, i64)]) -> Option<Series> {
    let values: Vec<(Time, i64)> = values.iter().map(|&(at, it)| (later(at), it)).collect();
    Series::new(&values).ok()
}

/// Site a has dirty electricity for 100 s and then clean one; b's is as dirty all the time.
fn power() -> Power {
    let a = SitePower { carbon: series(&[(0, 600_000), (100, 60_000)]), price: series(&[(0, 7)]) };
    let b = SitePower { carbon: series(&[(0, 600_000)]), price: None };
    Power { sites: vec![a, b] }
}

/// Nodes of a take 360 W, those of b 720 W and are twice as fast.
pub(super) fn electric() -> Pools {
    let mut all: Vec<Pool> = pools().as_slice().to_vec();
    for (pool, watts) in all.iter_mut().zip([360_000, 720_000]) {
        pool.attributes.insert(Energy::BUSY.to_owned(), Attribute::Number(watts));
    }
    Pools::new(pools().sites().to_vec(), all).unwrap().with_power(power())
}

fn stage() -> Stage {
    Stage::on(electric(), Settings::default())
}

fn root() -> Actor {
    Actor { user: "root".to_owned(), role: Role::Administrator }
}

fn limit(stage: &mut Stage, at: Time, limits: PowerLimits) {
    let holder = BudgetHolder::User("ana".to_owned());
    stage.asked(at, root(), Ask::Budget { holder, limits }).unwrap();
}

/// A job that may run at one site only.
fn job_at(site: &str, tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec![site.to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

/// The job's one task runs from `since` to `until`.
fn run(stage: &mut Stage, job: u64, since: i64, until: i64) {
    let order = stage.orders().into_iter().find(|it| it.tag.job == job).unwrap();
    let (tag, site) = (order.tag, order.site.0);
    let answer = Input::Answered { tag: tag.clone(), act: Act::Submit, answer: Ok(()) };
    stage.step(later(since), answer);
    stage.survey(later(since), site, vec![(tag.clone(), running(later(since)))], &[]);
    let over = ended(later(since), later(until), Exit::Code(0));
    stage.survey(later(until), site, vec![(tag, over)], &[]);
}

/// Second by second: watts × intensity, for so many nodes.
fn naive(pools: &Pools, pool: usize, nodes: i64, seconds: std::ops::Range<i64>) -> (i64, i64) {
    let (pool, watts) = (&pools.as_slice()[pool], [360_000, 720_000][pool]);
    let carbon = pools.power().unwrap().sites[pool.site.0 as usize].carbon.clone().unwrap();
    let energy = watts * (seconds.end - seconds.start);
    let emitted: i128 =
        seconds.map(|at| i128::from(carbon.at(later(at))) * i128::from(watts)).sum();
    (energy * nodes, ((emitted + 1_800_000_000) / 3_600_000_000) as i64 * nodes)
}

#[test]
fn a_job_counts_what_its_nodes_consumed_while_it_paid() {
    let mut stage = stage();
    stage.submit(DAY, job_at("a", 2, 200)).unwrap();
    run(&mut stage, 1, 70, 150);
    let state = stage.live.state();
    let consumed = state.jobs[&1].consumed;
    assert_eq!((consumed.energy.0, consumed.carbon.0), naive(&electric(), 0, 2, 70..150));
    assert!(consumed.carbon.0 > 0 && state.jobs[&1].paid == Money(160_000_000));
    let used: Consumption = state.used().0.values().map(|it| it.consumed).sum();
    let earned: Consumption = state.income().0.values().map(|it| it.consumed).sum();
    assert_eq!((used, earned), (consumed, consumed));
    assert_eq!(state.consumed_by(&state.jobs[&1], later(500)), consumed);
}

#[test]
fn a_replay_counts_the_same_and_older_records_count_nothing() {
    let mut stage = stage();
    stage.submit(DAY, job_at("a", 1, 200)).unwrap();
    limit(&mut stage, DAY, PowerLimits { energy: Some(Energy(1 << 40)), ..PowerLimits::default() });
    run(&mut stage, 1, 10, 90);
    let replay = |rules: u32| {
        let mut again = State::empty(DAY);
        for (at, record) in &stage.records {
            match record {
                Record::Ledger(LedgerRecord::RuledBy { .. }) => {
                    let older = LedgerRecord::Rules { version: rules };
                    again.apply(*at, &older.into()).unwrap();
                }
                record => again.apply(*at, record).unwrap(),
            }
        }
        again
    };
    let (again, older) = (replay(3), replay(2));
    assert_eq!(again.jobs, stage.live.state().jobs);
    assert_eq!(again.used(), stage.live.state().used());
    assert_eq!(again.budgets(), stage.live.state().budgets());
    assert_eq!(older.jobs[&1].consumed, Consumption::default());
}

#[test]
fn a_job_for_which_too_little_energy_is_left_waits() {
    let mut stage = stage();
    // Two nodes of a for 100 s each are 72 kJ; the limit leaves 108 kJ.
    let limits = PowerLimits { energy: Some(Energy(108_000_000)), ..PowerLimits::default() };
    stage.submit(DAY, job_at("a", 2, 100)).unwrap();
    limit(&mut stage, DAY, limits);
    stage.submit(DAY, job_at("a", 2, 100)).unwrap();
    let Phase::Held(JobHold::OverBudget(why)) = stage.phase(2) else { panic!() };
    let said = "user:ana has 0.03 kWh left of 0.03 kWh in all, and it may take 0.02 kWh at a/x";
    assert_ne!(why, said, "what the first may take is held");
    assert_eq!(why, &said.replacen("0.03", "0.01", 1));
    // The first job needs a quarter of what was held, so the second fits.
    run(&mut stage, 1, 0, 25);
    stage.step(later(26), Input::Tick);
    assert_eq!(stage.phase(2), Phase::Running);
    let used = stage.live.state().budgets().0.values().next().unwrap().used;
    assert_eq!(used.energy, Energy(2 * 360_000 * 25));
}

#[test]
fn jobs_that_are_decided_together_do_not_exceed_a_budget_together() {
    let mut stage = stage();
    let limits = PowerLimits { energy: Some(Energy(50_000_000)), ..PowerLimits::default() };
    stage.survey(DAY, 0, vec![], &[("own", 2)]);
    stage.submit(DAY, job_at("a", 1, 100)).unwrap();
    stage.submit(DAY, job_at("a", 1, 100)).unwrap();
    limit(&mut stage, DAY, limits);
    assert_eq!((stage.phase(1), stage.phase(2)), (Phase::Waiting, Phase::Waiting));
    stage.survey(later(1), 0, vec![], &[]);
    assert_eq!(stage.phase(1), Phase::Running);
    assert!(matches!(stage.phase(2), Phase::Held(JobHold::OverBudget(_))), "{:?}", stage.phase(2));
    assert_eq!(stage.live.state().jobs[&2].setbacks(), 0, "that is no refusal");
}

#[test]
fn a_job_goes_where_its_budget_allows_it() {
    let mut stage = stage();
    // 100 s are 36 kJ at a, and 50 s are 36 kJ at b; with wall-clock time b takes 72 kJ.
    let limits = PowerLimits { energy: Some(Energy(40_000_000)), ..PowerLimits::default() };
    limit_after_submission(&mut stage, limits);
    let wall = TimeLimit::one(Span(100)).counted_by(Times::Wall);
    stage.submit(later(1), Submission { time: wall, ..job(1, 100) }).unwrap();
    assert_eq!(stage.phase(2), Phase::Running);
    assert_eq!(stage.live.state().jobs[&2].parts()[0].pool, PoolId(0), "b is faster, and hungrier");
}

/// Users are known by their first submission.
fn limit_after_submission(stage: &mut Stage, limits: PowerLimits) {
    stage.submit(DAY, Submission { held: true, ..job(1, 1) }).unwrap();
    limit(stage, DAY, limits);
}

#[test]
fn a_clean_hour_is_waited_for_within_a_carbon_budget() {
    let mut stage = stage();
    // 100 s on a node emit 6 g in dirty hours and 0.6 g in clean ones.
    let limits = PowerLimits { carbon: Some(Carbon(3_000)), ..PowerLimits::default() };
    limit_after_submission(&mut stage, limits);
    stage.submit(DAY, job_at("a", 1, 100)).unwrap();
    assert!(matches!(stage.phase(2), Phase::Held(JobHold::OverBudget(_))));
    stage.step(later(10), Input::Tick);
    assert!(matches!(stage.phase(2), Phase::Held(JobHold::OverBudget(_))));
    stage.step(later(100), Input::Tick);
    assert_eq!(stage.phase(2), Phase::Running);
}

#[test]
fn electricity_that_changes_counts_from_then_on() {
    let mut stage = stage();
    stage.submit(DAY, job_at("a", 1, 200)).unwrap();
    let clean = SitePower { carbon: series(&[(0, 1_000)]), price: None };
    let power = Power { sites: vec![clean, SitePower::default()] };
    stage.step(later(5), Input::Electricity { power: power.clone() });
    stage.step(later(6), Input::Electricity { power: power.clone() });
    let is_grid = |it: &Record| matches!(it, Record::Market(MarketRecord::Gridded { .. }));
    let grids = stage.records.iter().filter(|(_, it)| is_grid(it)).count();
    assert_eq!(grids, 2, "the same is no news");
    run(&mut stage, 1, 10, 110);
    // 360 W for 100 s are 0.01 kWh, with 1 g each.
    let consumed = stage.live.state().jobs[&1].consumed;
    assert_eq!((consumed.energy.0, consumed.carbon.0), (36_000_000, 10));
    assert_eq!(stage.live.state().market.pools().power(), Some(&power));
}

#[test]
fn budgets_are_for_administrators_and_names_that_are_known() {
    let mut stage = stage();
    let limits = PowerLimits { energy: Some(Energy(-1)), ..PowerLimits::default() };
    let ask = |name: &str| Ask::Budget { holder: BudgetHolder::User(name.to_owned()), limits };
    let kind = |answer: Result<Reply, Refusal>| answer.unwrap_err().kind;
    assert_eq!(kind(stage.asked(DAY, ana(), ask("ana"))), RefusalKind::Forbidden);
    assert_eq!(kind(stage.asked(DAY, root(), ask("nix"))), RefusalKind::Invalid);
    stage.submit(DAY, job(1, 1)).unwrap();
    assert_eq!(kind(stage.asked(DAY, root(), ask("ana"))), RefusalKind::Invalid, "below 0");
    assert!(stage.live.state().budgets().0.is_empty());
}
