//! Prices that change with the hours.

use tradewind_model::Series;

use super::*;
use crate::live::sites::SiteRecord;

/// Two prices in turn, from `from` on, each for 100 s.
fn hours(from: i64, first: i64, second: i64) -> Arc<Series> {
    let steps = [(later(from), first), (later(from + 100), second)];
    Arc::new(Series::new(&steps).unwrap().repeated(Span(200)).unwrap())
}

/// Of both pools.
fn tell(stage: &mut Stage, at: i64, rate: &Arc<Series>) {
    let pools = [PoolId(0), PoolId(1)];
    let prices = pools.map(|pool| (pool, Price(rate.at(later(at))))).into();
    let rates = pools.map(|pool| (pool, Arc::clone(rate))).into();
    stage.step(later(at), Input::Terms { prices, rates, withheld: vec![] });
}

fn at_a(tasks: u32, seconds: i64) -> Submission {
    let terms = Conditions { sites: vec!["a".to_owned()], ..Conditions::default() };
    Submission { terms, ..job(tasks, seconds) }
}

/// A stage on which both sites have been seen.
fn seen() -> Stage {
    let mut stage = Stage::new();
    stage.survey(DAY, 0, vec![], &[]);
    stage.survey(DAY, 1, vec![], &[]);
    stage
}

fn parts(stage: &Stage, job: u64) -> Vec<Price> {
    stage.live.state().jobs[&job].parts().iter().map(|part| part.price).collect()
}

/// What a second costs on average, rounded down: second by second.
fn mean(rate: &Series, from: i64, length: i64) -> Price {
    Price((from..from + length).map(|at| rate.at(later(at))).sum::<i64>() / length)
}

#[test]
fn a_job_agrees_at_its_start_on_the_mean_over_its_time() {
    let (mut stage, rate) = (seen(), hours(0, 1_000_000, 3_000_001));
    tell(&mut stage, 0, &rate);
    stage.submit(later(30), at_a(1, 150)).unwrap();
    stage.step(later(30), Input::Tick);
    assert_eq!(parts(&stage, 1), [mean(&rate, 30, 150)]);
    assert!(mean(&rate, 30, 150) > Price(1_000_000), "not the price of its start");
    // Others later change nothing for it, and what it pays is agreed, however short it runs.
    tell(&mut stage, 40, &hours(0, 9_000_000, 9_500_000));
    assert_eq!(parts(&stage, 1), [mean(&rate, 30, 150)]);
    let order = stage.orders().into_iter().find(|it| it.act == Act::Submit).unwrap();
    stage.survey(later(41), 0, vec![(order.tag.clone(), running(later(30)))], &[]);
    let over = ended(later(30), later(90), Exit::Code(0));
    stage.survey(later(91), 0, vec![(order.tag, over)], &[]);
    let paid = stage.live.state().jobs[&1].paid;
    assert_eq!(paid, mean(&rate, 30, 150).of(1, Span(60)));
    replayed(&stage);
}

/// The budget is enough for the cheap hours only, so the job waits for them; what it pays is within it.
#[test]
fn a_job_with_a_budget_waits_for_cheap_hours() {
    let (mut stage, rate) = (seen(), hours(0, 3_000_000, 1_000_000));
    tell(&mut stage, 0, &rate);
    let mut wanted = at_a(1, 50);
    wanted.terms.budget = Some(Money(60_000_000));
    stage.submit(later(0), wanted).unwrap();
    let mut start = None;
    for at in 0..200 {
        stage.step(later(at), Input::Tick);
        if start.is_none() && stage.phase(1) == Phase::Running {
            start = Some(at);
        }
    }
    // At 95 it costs 5 × 3 + 45 × 1 = 60.
    assert_eq!(start, Some(95));
    assert_eq!(stage.live.state().jobs[&1].max(), Money(60_000_000));
    replayed(&stage);
}

/// The same prices said again, or from another day on, are no news; a change of hours is written once.
#[test]
fn only_what_is_new_is_written_down() {
    let (mut stage, rate) = (seen(), hours(0, 1_000_000, 3_000_000));
    let rows = |stage: &Stage| {
        let is_price = |(_, it): &&(Time, Record)| {
            matches!(it, Record::Site(SiteRecord::Rated { .. } | SiteRecord::Priced { .. }))
        };
        stage.records.iter().filter(is_price).count()
    };
    tell(&mut stage, 0, &rate);
    let first = rows(&stage);
    tell(&mut stage, 10, &hours(200, 1_000_000, 3_000_000));
    assert_eq!(rows(&stage), first);
    tell(&mut stage, 100, &rate);
    assert_eq!(rows(&stage), first + 2, "each pool's price of now");
    let prices = vec![(PoolId(0), Price(2_000_000)), (PoolId(1), Price(1_000_000))];
    stage.step(later(110), Input::Terms { prices, rates: BTreeMap::new(), withheld: vec![] });
    let state = stage.live.state();
    assert!(state.market.pools().rates().is_none());
    let asked = [0, 1].map(|pool| state.market.price_now(PoolId(pool)));
    assert_eq!(asked, [Price(2_000_000), Price(1_000_000)]);
    replayed(&stage);
    let mut again = State::empty(DAY);
    stage.records.iter().for_each(|(at, record)| again.apply(*at, record).unwrap());
    assert_eq!(again.market.state(), stage.live.state().market.state());
}

/// A load passes a border, say, and every hour is too expensive: the job is not refused, as the owner
/// asks less again later.
#[test]
fn a_waiting_job_outlasts_hours_that_it_cannot_afford() {
    let mut stage = Stage::new();
    stage.survey(DAY, 0, vec![], &[("own", 2)]);
    stage.survey(DAY, 1, vec![], &[("own", 2)]);
    tell(&mut stage, 0, &hours(0, 1_000_000, 900_000));
    let mut wanted = at_a(1, 50);
    wanted.terms.budget = Some(Money(60_000_000));
    stage.submit(later(0), wanted).unwrap();
    for (at, rate) in [(10, hours(0, 9_000_000, 8_000_000)), (20, hours(0, 1_000_000, 900_000))] {
        tell(&mut stage, at, &rate);
        stage.step(later(at + 1), Input::Tick);
        assert_eq!(stage.phase(1), Phase::Waiting, "{at}");
    }
    stage.survey(later(30), 0, vec![], &[]);
    stage.step(later(31), Input::Tick);
    assert_eq!(stage.phase(1), Phase::Running);
    replayed(&stage);
}
