use proptest::prelude::*;
use tradewind_model::{PoolId, Profile, Span, Time};

use super::*;
use crate::policy::availability::Taken;

mod laws;
mod naive;

fn at(start: i64, pool: u32) -> Expected {
    Expected::Starts { start: Time(start), pool: PoolId(pool), entries: 1, last: Time(start) }
}

/// A job of pool 0 that may start at once.
fn job(nodes: u32, limit: i64) -> OwnersJob {
    OwnersJob {
        pools: [PoolId(0)].into(),
        nodes,
        limit: Span(limit),
        eligible: Eligible::From(Time(0)),
        after: Vec::new(),
        count: 1,
        reserves: true,
    }
}

fn taken(pool: u32, nodes: u32, from: i64, until: i64) -> Taken {
    Taken::new(PoolId(pool), nodes, Time(from), Time(until))
}

/// One pool of four nodes, three of which run until 10.
fn survey(waiting: Vec<OwnersJob>) -> Survey {
    let pools = vec![(PoolId(0), 4)];
    Survey { now: Time(0), pools, taken: vec![taken(0, 3, -5, 10)], waiting }
}

fn jobs(survey: &Survey, depth: Depth) -> Vec<Expected> {
    forecast(survey, SiteRule::new(depth)).jobs
}

#[test]
fn the_depth_decides_who_is_backfilled() {
    // A wide job, one that fits beside its reservation, one that is too long to, a short one.
    let survey = survey(vec![job(4, 10), job(1, 10), job(1, 11), job(1, 5)]);
    let fcfs = [at(10, 0), at(20, 0), at(20, 0), at(20, 0)];
    assert_eq!(jobs(&survey, Depth::First(0)), fcfs);
    let easy = [at(10, 0), at(0, 0), at(20, 0), at(20, 0)];
    assert_eq!(jobs(&survey, Depth::First(1)), easy);
    assert_eq!(jobs(&survey, Depth::All), easy);
}

#[test]
fn one_more_job_waits_for_its_turn() {
    let survey = survey(vec![job(4, 10), job(4, 7)]);
    let rule = SiteRule::new(Depth::First(1));
    assert_eq!(survey.expected_of(job(2, 3), 0, rule), at(10, 0));
    assert_eq!(survey.expected_of(job(2, 3), 1, rule), at(20, 0));
    assert_eq!(survey.expected_of(job(2, 30), 9, rule), at(27, 0));
    assert_eq!(survey.expected_of(job(1, 3), 9, rule), at(0, 0));
    let wide = Expected::No(Unforeseen::TooWide);
    assert_eq!(survey.expected_of(job(5, 3), 0, rule), wide);
}

#[test]
fn one_more_job_moves_the_numbers_of_dependencies() {
    let second = OwnersJob { after: vec![0], ..job(1, 3) };
    let survey = survey(vec![job(4, 10), second]);
    let rule = SiteRule::new(Depth::First(1));
    let after_both = OwnersJob { after: vec![0, 1], ..job(1, 3) };
    assert_eq!(survey.expected_of(after_both, 0, rule), at(23, 0));
}

#[test]
fn what_cannot_be_foreseen_has_a_reason_and_delays_no_other() {
    let held = OwnersJob { eligible: Eligible::Held, ..job(4, 10) };
    let unknown = OwnersJob { eligible: Eligible::Unknown, ..job(4, 10) };
    let after_held = OwnersJob { after: vec![0], ..job(1, 1) };
    let circle = |other| OwnersJob { after: vec![other], ..job(1, 1) };
    let nowhere = OwnersJob { pools: [PoolId(7)].into(), ..job(1, 1) };
    let of_none = OwnersJob { after: vec![99], ..job(1, 1) };
    let waiting = vec![
        held,
        unknown,
        after_held,
        circle(4),
        circle(3),
        circle(5),
        job(5, 1),
        nowhere,
        of_none,
        job(1, 10),
    ];
    let forecast = forecast(&survey(waiting), SiteRule::new(Depth::First(1)));
    use Unforeseen::{Dependency, Held, TooWide};
    let reasons = [
        Held, Dependency, Dependency, Dependency, Dependency, Dependency, TooWide, TooWide,
        Dependency,
    ];
    let expected: Vec<Expected> = reasons.into_iter().map(Expected::No).chain([at(0, 0)]).collect();
    assert_eq!(forecast.jobs, expected);
    assert_eq!(forecast.load, [taken(0, 1, 0, 10)]);
}

#[test]
fn jobs_join_when_they_may_and_when_others_have_ended() {
    let begin = OwnersJob { eligible: Eligible::From(Time(30)), ..job(4, 10) };
    let array = OwnersJob { count: 3, ..job(2, 4) };
    let follower = OwnersJob { after: vec![1], ..job(1, 2) };
    let survey = survey(vec![begin, array, follower]);
    let array =
        |last| Expected::Starts { start: Time(10), pool: PoolId(0), entries: 3, last: Time(last) };
    let expected = [at(30, 0), array(14), at(18, 0)];
    assert_eq!(jobs(&survey, Depth::First(1)), expected);
    let load = forecast(&survey, SiteRule::new(Depth::First(1))).load;
    let steps = [(4, 10, 14), (2, 14, 18), (1, 18, 20), (4, 30, 40)];
    assert_eq!(load, steps.map(|(nodes, from, until)| taken(0, nodes, from, until)));
}

#[test]
fn the_horizon_and_the_limits_are_bounds() {
    let survey = survey(vec![job(4, i64::MAX / 4), job(4, 1), job(1, 10)]);
    let far = SiteRule::new(Depth::First(1));
    let year = 366 * 86_400;
    assert_eq!(far.horizon, Span(year));
    let beyond = Expected::No(Unforeseen::BeyondHorizon);
    let expected = [at(10, 0), beyond, at(0, 0)];
    assert_eq!(forecast(&survey, far).jobs, expected);
    let near = SiteRule { horizon: Span(9), ..far };
    assert_eq!(forecast(&survey, near).jobs, [beyond, beyond, at(0, 0)]);
}

#[test]
fn entries_beyond_the_bound_are_said_to_be() {
    let array = OwnersJob { count: u32::MAX, ..job(4, 1) };
    let follower = OwnersJob { after: vec![0], ..job(1, 1) };
    let survey = survey(vec![array, follower, job(1, 10)]);
    let rule = SiteRule { tested: 5, ..SiteRule::new(Depth::First(1)) };
    let forecast = forecast(&survey, rule);
    let last = 10 + MAX_ENTRIES as i64 - 1;
    let first = Expected::Starts {
        start: Time(10),
        pool: PoolId(0),
        entries: MAX_ENTRIES as u32,
        last: Time(last),
    };
    let behind = Expected::No(Unforeseen::TooManyBefore);
    assert_eq!(forecast.jobs, [first, behind, behind]);
}

#[test]
fn only_the_first_jobs_are_examined() {
    let survey = survey(vec![job(4, 10), job(4, 10), job(1, 5)]);
    let rule = SiteRule { tested: 2, ..SiteRule::new(Depth::First(1)) };
    assert_eq!(forecast(&survey, rule).jobs, [at(10, 0), at(20, 0), at(30, 0)]);
    let all = SiteRule { tested: 3, ..rule };
    assert_eq!(forecast(&survey, all).jobs, [at(10, 0), at(20, 0), at(0, 0)]);
}

#[test]
fn a_job_of_several_pools_starts_where_it_fits_first() {
    let both = OwnersJob { pools: [PoolId(3), PoolId(0)].into(), ..job(2, 10) };
    let mut survey = survey(vec![both.clone(), both, job(4, 1)]);
    survey.pools.push((PoolId(3), 2));
    survey.taken.push(taken(3, 1, 0, 4));
    assert_eq!(jobs(&survey, Depth::First(1)), [at(4, 3), at(10, 0), at(20, 0)]);
}

#[test]
fn planned_outages_are_planned_around() {
    let mut survey = survey(vec![job(4, 10), job(1, 6), job(1, 5)]);
    survey.taken.push(taken(0, 1, 5, 15));
    assert_eq!(jobs(&survey, Depth::First(1)), [at(15, 0), at(25, 0), at(0, 0)]);
}

#[test]
fn long_loads_are_covered_in_a_bounded_number_of_steps() {
    let start = |index: u32| ExpectedStart {
        job: JobId(index),
        pool: PoolId(index % 2),
        nodes: 1 + index % 7,
        start: Time(i64::from(index) * 10),
        end: Time(i64::from(index) * 10 + 25),
    };
    let starts: Vec<ExpectedStart> = (0..1_000).map(start).collect();
    let load = future_load(&starts);
    for pool in [PoolId(0), PoolId(1)] {
        let steps: Vec<&Taken> = load.iter().filter(|step| step.share.pool == pool).collect();
        assert!(steps.len() <= MAX_STEPS);
        assert!(steps.windows(2).all(|pair| pair[0].until <= pair[1].from));
        let cover = |time: i64| {
            let step = steps.iter().find(|it| it.from.0 <= time && time < it.until.0);
            step.map_or(0, |step| step.share.nodes)
        };
        let truth = |time: i64| -> u32 {
            let there = starts.iter().filter(|it| it.pool == pool);
            there.filter(|it| it.start.0 <= time && time < it.end.0).map(|it| it.nodes).sum()
        };
        for time in 0..10_100 {
            assert!(cover(time) >= truth(time), "{time}");
            if time < steps[MAX_STEPS / 2].from.0 {
                assert_eq!(cover(time), truth(time), "{time}");
            }
        }
    }
}
