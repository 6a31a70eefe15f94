use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{Limit, Objective};

use super::vector::{Component, lexicographic};
use super::*;

const OBJECTIVES: [Objective; 4] =
    [Objective::MaxIncome, Objective::MinTime, Objective::MinCost, Objective::MinIdle];

/// What `objective` wants small, and what breaks its ties.
fn key(objective: Objective, it: &Combination) -> (i64, i64) {
    match objective {
        Objective::MaxIncome => (-it.cost, it.time),
        Objective::MinTime => (it.time, it.cost),
        Objective::MinCost => (it.cost, it.time),
        Objective::MinIdle => (-it.time, it.cost),
    }
}

/// All combinations, by counting through them.
fn all(jobs: &[Vec<Choice>]) -> Vec<Combination> {
    let count: usize = jobs.iter().map(Vec::len).product();
    let nth = |mut n: usize| {
        let digit = |job: &Vec<Choice>| {
            let index = n % job.len();
            n /= job.len();
            index
        };
        Combination::of(jobs, jobs.iter().map(digit).collect())
    };
    (0..count).map(nth).collect()
}

/// The verdict of full enumeration: the sums of the best, or why there is none.
fn enumerated(
    jobs: &[Vec<Choice>],
    objective: Objective,
    bounds: SumLimits,
) -> Result<(i64, i64), Infeasible> {
    if let Some(job) = jobs.iter().position(Vec::is_empty) {
        return Err(Infeasible::NoAlternative { job });
    }
    let all = all(jobs);
    let least_time = all.iter().map(|it| it.time).min().unwrap();
    let least_cost = all.iter().map(|it| it.cost).min().unwrap();
    match bounds {
        SumLimits { time: Some(limit), .. } if least_time > limit => {
            return Err(Infeasible::Time { limit, min: least_time });
        }
        SumLimits { budget: Some(limit), .. } if least_cost > limit => {
            return Err(Infeasible::Budget { limit, min: least_cost });
        }
        _ => {}
    }
    let fitting = all.iter().filter(|it| bounds.admit(it)).map(|it| key(objective, it));
    fitting.min().ok_or(Infeasible::Both {
        time: bounds.time.unwrap_or_default(),
        budget: bounds.budget.unwrap_or_default(),
    })
}

#[track_caller]
fn check(jobs: &[Vec<Choice>], objective: Objective, bounds: SumLimits) {
    let found = best(jobs, objective, bounds);
    if let Ok(found) = &found {
        assert_eq!(*found, Combination::of(jobs, found.chosen.clone()), "sums of what was chosen");
        assert!(bounds.admit(found));
    }
    let sums = found.map(|found| key(objective, &found));
    assert_eq!(sums, enumerated(jobs, objective, bounds), "{objective:?} {bounds:?} {jobs:?}");
}

/// Times and costs from a small range have many ties and hits; from a large one, few.
fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        (0..6i64, 0..6i64),
        (0..1000i64, 0..1000i64),
        (0..40i64, -3..4i64).prop_map(|(time, noise)| (time, (7 * time + noise).max(0))),
        (0..40i64).prop_map(|time| (time, 400 - 7 * time)),
    ]
    .prop_map(|(time, cost)| Choice { time, cost })
}

fn job(min: usize, max: usize) -> impl Strategy<Value = Vec<Choice>> {
    prop_oneof![
        prop::collection::vec(choice(), min..=max),
        prop::collection::vec((0..9i64).prop_map(|n| Choice { time: n, cost: 3 * n }), 1..=max),
    ]
}

/// Jobs, and limits somewhere between impossible and needless.
fn instance(jobs: usize) -> impl Strategy<Value = (Vec<Vec<Choice>>, SumLimits)> {
    (prop::collection::vec(job(1, 5), 0..=jobs), limit(), limit()).prop_map(|(jobs, time, cost)| {
        let bounds = SumLimits {
            time: time.map(|at| between(&jobs, |choice| choice.time, at)),
            budget: cost.map(|at| between(&jobs, |choice| choice.cost, at)),
        };
        (jobs, bounds)
    })
}

fn limit() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![Just(None), (-5..1050i64).prop_map(Some)]
}

/// A number `at` thousandths of the way between the minimum and the most of a sum.
fn between(jobs: &[Vec<Choice>], of: impl Fn(&Choice) -> i64, at: i64) -> i64 {
    let min: i64 = jobs.iter().map(|job| job.iter().map(&of).min().unwrap()).sum();
    let max: i64 = jobs.iter().map(|job| job.iter().map(&of).max().unwrap()).sum();
    min + (max - min) * at / 1000 - i64::from(at < 0)
}

fn permuted(jobs: &[Vec<Choice>], seed: u64) -> Vec<Vec<Choice>> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut jobs = jobs.to_vec();
    for i in (1..jobs.len()).rev() {
        jobs.swap(i, rng.random_range(0..=i));
    }
    jobs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn best_is_what_full_enumeration_finds((jobs, bounds) in instance(6)) {
        for objective in OBJECTIVES {
            check(&jobs, objective, bounds);
        }
    }

    #[test]
    fn lexicographic_choice_is_what_full_enumeration_finds(
        (jobs, bounds) in instance(5),
        order in prop::collection::vec(0..4usize, 1..5),
    ) {
        use Component::{Cost, Idleness, LostIncome, Time};
        let order: Vec<Component> =
            order.into_iter().map(|i| [Cost, LostIncome, Time, Idleness][i]).collect();
        let component = |it: &Combination, of: &Component| match of {
            Cost => it.cost,
            LostIncome => -it.cost,
            Time => it.time,
            Idleness => -it.time,
        };
        let vector = |it: &Combination| -> Vec<i64> {
            // Without a second component the minimum of the other sum decides.
            order.iter().chain(&[Cost, Time]).map(|of| component(it, of)).collect()
        };
        let min = all(&jobs).iter().filter(|it| bounds.admit(it)).map(vector).min();
        let found = lexicographic(&jobs, &order, bounds).ok().map(|it| vector(&it));
        let both_most = order.contains(&LostIncome) && order.contains(&Idleness);
        if both_most && bounds.time.is_some() && bounds.budget.is_some() {
            // The documented exception: only the first component is promised.
            prop_assert_eq!(found.map(|it| it[0]), min.map(|it| it[0]));
        } else {
            prop_assert_eq!(found, min);
        }
    }

    #[test]
    fn front_is_what_full_enumeration_finds((jobs, _) in instance(5), max in 2..40usize) {
        let mut all: Vec<(i64, i64)> = all(&jobs).iter().map(|it| (it.cost, it.time)).collect();
        all.sort_unstable();
        let mut min = i64::MAX;
        all.retain(|&(_, time)| {
            let kept = time < min;
            min = min.min(time);
            kept
        });
        let front = front(&jobs, max);
        let points: Vec<(i64, i64)> = front.points.iter().map(|it| (it.cost, it.time)).collect();
        prop_assert_eq!(front.complete, all.len() <= max);
        if front.complete {
            prop_assert_eq!(&points, &all);
        } else {
            prop_assert_eq!(points.len(), max);
            prop_assert!(points.iter().all(|point| all.contains(point)));
            prop_assert_eq!((points[0], points[max - 1]), (all[0], all[all.len() - 1]));
        }
        for point in &front.points {
            prop_assert_eq!(point, &Combination::of(&jobs, point.chosen.clone()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn best_is_what_the_recursion_finds(
        jobs in prop::collection::vec(job(1, 8), 1..25),
        at in -5..1050i64,
    ) {
        for objective in OBJECTIVES {
            let limited = |choice: &Choice| match objective {
                Objective::MinTime => choice.cost,
                _ => choice.time,
            };
            let limit = between(&jobs, limited, at);
            let bounds = match objective {
                Objective::MinTime => SumLimits { time: None, budget: Some(limit) },
                _ => SumLimits { time: Some(limit), budget: None },
            };
            let found = best(&jobs, objective, bounds).ok().map(|it| key(objective, &it));
            let table = recursion::best(&jobs, objective, limit).ok();
            prop_assert_eq!(found, table.map(|it| key(objective, &it)));
        }
    }

    #[test]
    fn scaled_costs_permuted_jobs_and_wider_choices(
        (jobs, bounds) in instance(30),
        factor in 1..1_000_000i64,
        extra in choice(),
        seed in 0..u64::MAX,
    ) {
        for objective in OBJECTIVES {
            let plain = best(&jobs, objective, bounds);
            let scaled: Vec<Vec<Choice>> = jobs.iter().map(|job| {
                job.iter().map(|it| Choice { cost: it.cost * factor, ..*it }).collect()
            }).collect();
            let scaled_bounds = SumLimits { budget: bounds.budget.map(|max| max * factor), ..bounds };
            let by_cost = best(&scaled, objective, scaled_bounds);
            let sums = |it: &Combination| (it.time, it.cost);
            prop_assert_eq!(
                by_cost.as_ref().ok().map(sums),
                plain.as_ref().ok().map(|it| (it.time, it.cost * factor))
            );

            let permuted = best(&permuted(&jobs, seed), objective, bounds);
            prop_assert_eq!(permuted.as_ref().map(sums), plain.as_ref().map(sums));

            let Ok(plain) = plain else { continue };
            let mut wider = jobs.clone();
            if let Some(job) = wider.first_mut() {
                job.push(extra);
            }
            let more = best(&wider, objective, bounds).unwrap();
            prop_assert!(key(objective, &more) <= key(objective, &plain));
            let raised = SumLimits {
                time: bounds.time.map(|max| max + 5),
                budget: bounds.budget.map(|max| max + 5),
            };
            let more = best(&jobs, objective, raised).unwrap();
            prop_assert!(key(objective, &more).0 <= key(objective, &plain).0);
        }
    }
}

fn drawn(seed: u64, jobs: usize, choice: impl Fn(&mut Pcg64Mcg) -> Choice) -> Vec<Vec<Choice>> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    (0..jobs).map(|_| (0..30).map(|_| choice(&mut rng)).collect()).collect()
}

/// The optimum is proven without an oracle: the sum hits the limit.
#[test]
fn least_idleness_uses_all_the_time_of_many_jobs() {
    for (jobs, longest) in [(20, 100_000), (200, 1 << 40)] {
        let jobs = drawn(7, jobs, |rng| Choice {
            time: rng.random_range(1..longest),
            cost: rng.random_range(0..1_000_000_000),
        });
        let limit = mean_time(&jobs);
        let bounds = SumLimits { time: Some(limit), budget: None };
        let found = best(&jobs, Objective::MinIdle, bounds).unwrap();
        assert_eq!(found.time, limit);
    }
}

#[test]
fn no_jobs_is_a_combination_of_nothing() {
    for objective in OBJECTIVES {
        check(&[], objective, SumLimits { time: Some(0), budget: Some(0) });
        check(&[], objective, SumLimits { time: Some(-1), budget: None });
    }
}

#[test]
fn a_job_without_alternatives_is_named() {
    let jobs = [vec![Choice { time: 1, cost: 1 }], vec![]];
    let found = best(&jobs, Objective::MinTime, SumLimits::default());
    assert_eq!(found, Err(Infeasible::NoAlternative { job: 1 }));
}

#[test]
fn verdicts_carry_their_numbers() {
    let jobs = [vec![Choice { time: 10, cost: 1_500_000 }, Choice { time: 20, cost: 500_000 }]];
    let verdict = |time, budget| {
        let bounds = SumLimits { time: Some(time), budget: Some(budget) };
        best(&jobs, Objective::MinTime, bounds).unwrap_err().to_string()
    };
    assert_eq!(verdict(9, 1), "every combination takes at least 10 s and the time limit is 9 s");
    assert_eq!(
        verdict(10, 1),
        "every combination costs at least 0.5 and the budget limit is 0.000001"
    );
    assert_eq!(verdict(10, 1_000_000), "no combination keeps to both 10 s and 1 credits");
}

#[test]
fn automatic_limits_are_the_mean_and_the_income_under_it() {
    let pairs = |list: &[(i64, i64)]| -> Vec<Choice> {
        list.iter().map(|&(time, cost)| Choice { time, cost }).collect()
    };
    // Means 7.5 and 5: T* = 8 + 5 = 13. Under it the most income is 30 + 9 with times 10 + 3.
    let jobs = [pairs(&[(5, 20), (10, 30)]), pairs(&[(3, 9), (5, 1), (7, 90)]), Vec::new()];
    assert_eq!(mean_time(&jobs), 13);
    let jobs = &jobs[..2];
    let resolved = |objective, time, budget| limits(jobs, objective, time, budget).unwrap();
    let both = |time, budget| SumLimits { time, budget };
    for objective in [Objective::MaxIncome, Objective::MinCost, Objective::MinIdle] {
        assert_eq!(resolved(objective, Limit::Auto, Limit::Auto), both(Some(13), None));
        assert_eq!(resolved(objective, Limit::At(9), Limit::At(4)), both(Some(9), Some(4)));
    }
    let min_time = |time, budget| resolved(Objective::MinTime, time, budget);
    assert_eq!(min_time(Limit::Auto, Limit::Auto), both(None, Some(110)));
    assert_eq!(min_time(Limit::At(11), Limit::Auto), both(Some(11), Some(29)));
    assert_eq!(min_time(Limit::At(9), Limit::At(4)), both(Some(9), Some(4)));
    let impossible = limits(jobs, Objective::MinTime, Limit::At(7), Limit::Auto);
    assert_eq!(impossible, Err(Infeasible::Time { limit: 7, min: 8 }));
}

#[test]
fn a_front_too_large_to_list_is_sampled() {
    let jobs = drawn(3, 300, |rng| {
        let time = rng.random_range(1..100_000);
        Choice { time, cost: 1_000_000_000_000 / (time + rng.random_range(100..50_000)) }
    });
    let front = front(&jobs, 12);
    assert!(!front.complete);
    assert!(front.points.len() > 8);
    let falls = |pair: &[Combination]| pair[0].cost < pair[1].cost && pair[0].time > pair[1].time;
    assert!(front.points.windows(2).all(falls));
}

#[test]
fn the_recursion_refuses_a_table_without_end() {
    let jobs = [vec![Choice { time: 1, cost: 1 }]];
    let found = recursion::best(&jobs, Objective::MinCost, i64::MAX);
    assert_eq!(found, Err(recursion::NoTable::TooLarge));
    assert!(recursion::best(&jobs, Objective::MinCost, -1).is_err());
}
