use proptest::prelude::*;

use super::*;

/// All combinations' sums, by counting through them.
fn all(jobs: &[Vec<Numbers>], columns: usize) -> Vec<Vec<i64>> {
    let count: usize = jobs.iter().map(Vec::len).product();
    let nth = |mut n: usize| {
        let mut digits = Vec::new();
        for job in jobs {
            digits.push(n % job.len());
            n /= job.len();
        }
        totals(jobs, &digits, columns)
    };
    (0..count).map(nth).collect()
}

fn admits(limits: &[Option<i64>], sums: &[i64]) -> bool {
    limits.iter().zip(sums).all(|(limit, sum)| limit.is_none_or(|limit| *sum <= limit))
}

fn vector(order: &[ObjectiveColumn], sums: &[i64]) -> Vec<i64> {
    order.iter().map(|it| sign(it.goal) * sums[it.column]).collect()
}

const COLUMNS: usize = 4;

/// Small numbers have many ties, large ones few; some columns trade against each other.
fn numbers() -> impl Strategy<Value = Numbers> {
    prop_oneof![
        prop::collection::vec(0..5i64, COLUMNS),
        prop::collection::vec(0..2_000i64, COLUMNS),
        (0..40i64, 0..9i64).prop_map(|(a, b)| vec![
            a,
            400 - 7 * a + b,
            b * 30,
            40 * 1_000_000_000 - a
        ]),
    ]
}

#[derive(Debug, Clone)]
struct Case {
    jobs: Vec<Vec<Numbers>>,
    order: Vec<ObjectiveColumn>,
    limits: Vec<Option<i64>>,
}

/// Limits at some thousandths of the way between the minimum and the maximum of each sum.
fn case(jobs: usize, alternatives: usize) -> impl Strategy<Value = Case> {
    let component = (0..COLUMNS, any::<bool>()).prop_map(|(column, most)| ObjectiveColumn {
        column,
        goal: if most { Goal::Most } else { Goal::Least },
    });
    let limit = prop_oneof![2 => Just(None), 3 => (-5..1050i64).prop_map(Some)];
    (
        prop::collection::vec(prop::collection::vec(numbers(), 1..=alternatives), 0..=jobs),
        prop::collection::vec(component, 0..4),
        prop::collection::vec(limit, COLUMNS),
    )
        .prop_map(|(jobs, order, at)| {
            let limits = (0..COLUMNS).map(|column| at[column].map(|at| between(&jobs, column, at)));
            Case { limits: limits.collect(), jobs, order }
        })
}

fn between(jobs: &[Vec<Numbers>], column: usize, at: i64) -> i64 {
    let each = |of: fn(i64, i64) -> i64| -> i64 {
        jobs.iter().filter_map(|job| job.iter().map(|it| it[column]).reduce(of)).sum()
    };
    let (min, max) = (each(i64::min), each(i64::max));
    min + ((i128::from(max - min) * i128::from(at)) / 1000) as i64 - i64::from(at < 0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1200))]

    #[test]
    fn lexicographic_choice_is_what_full_enumeration_finds(case in case(5, 5)) {
        let Case { jobs, order, limits } = &case;
        let wanted = CombinationProblem { order, limits, work_limit: u64::MAX };
        let fitting: Vec<Vec<i64>> =
            all(jobs, COLUMNS).into_iter().filter(|sums| admits(limits, sums)).collect();
        let best = fitting.iter().map(|sums| vector(order, sums)).min();
        match lexicographic(jobs, &wanted) {
            Ok(found) => {
                prop_assert_eq!(&found.totals, &totals(jobs, &found.chosen, COLUMNS));
                prop_assert!(admits(limits, &found.totals));
                prop_assert_eq!(Some(vector(order, &found.totals)), best);
                prop_assert_eq!(found.gap, None);
            }
            Err(Refused::Limit { column, limit, min }) => {
                prop_assert_eq!(min, between(jobs, column, 0));
                prop_assert!(limits[column] == Some(limit) && min > limit);
            }
            Err(refused) => {
                prop_assert_eq!(refused, Refused::Together);
                prop_assert_eq!(best, None);
            }
        }
    }

    #[test]
    fn front_is_what_full_enumeration_finds(case in case(4, 4), max in 2..60usize) {
        let Case { jobs, order, limits } = &case;
        let wanted = CombinationProblem { order, limits, work_limit: u64::MAX };
        let fitting: Vec<Vec<i64>> = all(jobs, COLUMNS)
            .into_iter()
            .filter(|sums| admits(limits, sums))
            .map(|sums| vector(order, &sums))
            .collect();
        let beaten = |it: &Vec<i64>| {
            fitting.iter().any(|other| other != it && other.iter().zip(it).all(|(a, b)| a <= b))
        };
        let mut expected: Vec<Vec<i64>> =
            fitting.iter().filter(|it| !beaten(it)).cloned().collect();
        expected.sort();
        expected.dedup();
        let Ok(front) = front(jobs, &wanted, max) else {
            prop_assert!(expected.is_empty());
            return Ok(());
        };
        let points: Vec<Vec<i64>> =
            front.points.iter().map(|it| vector(order, &it.totals)).collect();
        prop_assert_eq!(front.complete, expected.len() <= max);
        prop_assert!(points.iter().all(|point| expected.contains(point)));
        prop_assert!(points.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert_eq!(points.len(), expected.len().min(max));
    }

    /// A search that is stopped early claims no more than what holds.
    #[test]
    fn a_gap_is_a_bound(case in case(6, 4), work_limit in 0..400u64) {
        let Case { jobs, order, limits } = &case;
        let of = |work_limit| lexicographic(jobs, &CombinationProblem { order, limits, work_limit });
        match (of(work_limit), of(u64::MAX)) {
            (Ok(early), Ok(best)) => {
                let (found, least) = (vector(order, &early.totals), vector(order, &best.totals));
                prop_assert!(least <= found);
                match early.gap {
                    None => prop_assert_eq!(found, least),
                    Some(gap) => {
                        let at = gap.component;
                        prop_assert_eq!(&found[..at], &least[..at]);
                        prop_assert!(sign(order[at].goal) * gap.bound <= least[at]);
                        prop_assert!(sign(order[at].goal) * gap.bound < found[at]);
                    }
                }
            }
            (Err(refused), whole) => {
                let known = refused == Refused::Unknown || whole == Err(refused);
                prop_assert!(known, "{:?} {:?}", refused, whole);
            }
            (Ok(early), Err(refused)) => prop_assert!(false, "{:?} {:?}", early, refused),
        }
    }
}

/// Twenty jobs with thirty alternatives each, four limits: proven within the default work limit.
#[test]
fn batches_of_the_papers_size_are_proven() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(11);
    let mut alternative = |_| -> Numbers {
        let time = rng.random_range(30..200i64);
        let cost = 9_000_000 * 200 / time + rng.random_range(0..3_000_000);
        let energy = time * rng.random_range(90_000..400_000);
        vec![cost, time, energy, rng.random_range(0..600)]
    };
    let jobs: Vec<Vec<Numbers>> =
        (0..20).map(|_| (0..30).map(&mut alternative).collect()).collect();
    let limits: Vec<Option<i64>> =
        (0..COLUMNS).map(|column| Some(between(&jobs, column, 450))).collect();
    let least = |column| ObjectiveColumn { column, goal: Goal::Least };
    let wanted = CombinationProblem {
        order: &[least(2), least(0)],
        limits: &limits,
        work_limit: CombinationProblem::DEFAULT_WORK_LIMIT,
    };
    let found = lexicographic(&jobs, &wanted).unwrap();
    assert_eq!(found.gap, None);
    assert!(admits(&limits, &found.totals));
}

#[test]
fn sums_out_of_range_are_refused() {
    let jobs = vec![vec![vec![i64::MAX / 3]]; 2];
    let wanted = CombinationProblem { order: &[], limits: &[None], work_limit: 1 };
    assert_eq!(lexicographic(&jobs, &wanted), Err(Refused::OutOfRange));
}
