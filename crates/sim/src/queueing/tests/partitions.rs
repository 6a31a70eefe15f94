use proptest::prelude::*;

use super::{close, constant, exponential};
use crate::queueing::*;

fn weibull(scale: f64) -> Moments {
    Law::Weibull { shape: 2.0, scale }.moments().unwrap()
}

fn uniform(low: u32, high: u32, runs: Moments) -> Mix {
    Mix::alike(&Widths::Uniform { low, high }, runs).unwrap()
}

fn site(processors: u32, rate: f64, mix: &Mix) -> Site<'_> {
    Site { processors, rate, mix, readings: Readings::corrected() }
}

fn reading(equation: Equation) -> Readings {
    let mut readings = Readings::corrected();
    readings.set(equation, Reading::Printed);
    readings
}

#[test]
fn partitions_by_hand() {
    // Widths 1 to 4, a constant run of 2: half, a quarter and a quarter of the jobs.
    let mix = uniform(1, 4, constant(2.0));
    let answer = partitioned(&site(9, 0.4, &mix), &[2, 3, 4]).unwrap();
    let shares: Vec<f64> = answer.partitions.iter().map(|it| it.share).collect();
    assert_eq!(shares, [0.5, 0.25, 0.25]);
    close(answer.load, 0.4);
    // λu · 4 / (2(1 − ρ)) = 0.8 / 1.2 and 0.4 / 1.6.
    close(answer.partitions[0].wait, 0.4 / 0.6);
    close(answer.partitions[1].wait, 0.2 / 0.8);
    close(answer.wait, 0.5 * (0.4 / 0.6) + 0.5 * 0.25);
    close(answer.slowdown.unwrap(), answer.wait / 2.0);
    // (20) as printed counts each partition alike.
    let as_printed = Site { readings: reading(Equation::E20), ..site(9, 0.4, &mix) };
    close(partitioned(&as_printed, &[2, 3, 4]).unwrap().wait, (0.4 / 0.6 + 0.5) / 3.0);
}

#[test]
fn a_single_partition_is_a_single_server() {
    let mix = uniform(1, 128, weibull(20.0));
    let whole = partitioned(&site(128, 0.03, &mix), &[128]).unwrap();
    let server = mg1(0.03, &weibull(20.0)).unwrap();
    close(whole.wait, server.wait);
    close(whole.slowdown.unwrap(), server.slowdown.unwrap());
    assert_eq!(best(&site(128, 0.03, &mix), 1, Goal::Wait).unwrap(), [128]);
}

#[test]
fn run_times_may_go_with_widths() {
    let jobs = [(1, 10.0), (1, 30.0), (2, 100.0), (4, 100.0)];
    let mix = Mix::recorded(&jobs).unwrap();
    let answer = partitioned(&site(5, 0.01, &mix), &[1, 4]).unwrap();
    let [narrow, wide] = answer.partitions[..] else { panic!("two") };
    close(narrow.load, 0.005 * 20.0);
    close(narrow.wait, 0.005 * 500.0 / (2.0 * 0.9));
    close(wide.load, 0.5);
    close(narrow.slowdown.unwrap(), narrow.wait * (1.0 / 10.0 + 1.0 / 30.0) / 2.0);
    close(answer.slowdown.unwrap(), narrow.slowdown.unwrap() / 2.0 + wide.wait / 100.0 / 2.0);
    // Mingled, all of them run alike.
    close(mix.runs().mean, 60.0);
    close(partitioned(&site(5, 0.01, &mix.mingled()), &[1, 4]).unwrap().load, 0.3);
    assert_eq!(Mix::recorded(&[]).unwrap_err(), QueueingError::Bad(BadParameter::NoJobs));
}

#[test]
fn laws_of_widths() {
    let log = Mix::alike(&Widths::LogUniform { low: 1, high: 63 }, constant(1.0)).unwrap();
    let upto = |max| log.widths().iter().filter(|it| it.width <= max).map(|it| it.share).sum();
    close(upto(1), 1.0 / 6.0);
    close(upto(7), 0.5);
    close(upto(63), 1.0);
    let rows = vec![(8, 0.25), (1, 0.75), (9, 0.0)];
    let table = Mix::alike(&Widths::Table(rows), constant(1.0)).unwrap();
    assert_eq!(table.widest(), 8);
    assert_eq!(table.widths()[0].width, 1);
    for bad in [
        Widths::Uniform { low: 0, high: 3 },
        Widths::Uniform { low: 4, high: 3 },
        Widths::LogUniform { low: 1, high: u32::MAX },
        Widths::Table(vec![]),
        Widths::Table(vec![(1, 0.5), (2, 0.4)]),
        Widths::Table(vec![(1, 0.5), (1, 0.5)]),
        Widths::Table(vec![(0, 1.0)]),
        Widths::Table(vec![(1, 1.5), (2, -0.5)]),
    ] {
        assert!(Mix::alike(&bad, constant(1.0)).is_err(), "{bad:?}");
    }
}

#[test]
fn cuts_that_are_none() {
    let mix = uniform(1, 8, constant(1.0));
    let at = site(16, 0.1, &mix);
    let why = |sizes: &[u32]| partitioned(&at, sizes).unwrap_err().to_string();
    assert!(why(&[4, 4, 8]).contains("larger than the one before"));
    assert!(why(&[0, 16]).contains("larger than the one before"));
    assert!(why(&[4, 8]).contains("have 12 processors, the site has 16"));
    assert!(why(&[]).contains("at least one"));
    let narrow = site(7, 0.1, &mix);
    let error = partitioned(&narrow, &[1, 6]).unwrap_err();
    assert_eq!(error, BadParameter::TooWide { widest: 8, largest: 6 }.into());
    assert!(matches!(best(&narrow, 1, Goal::Wait), Err(QueueingError::Bad(_))));
    // 1 + 2 + 3 + 10 is all that 16 can have; 1 + 2 + 3 + 4 + 8 are 18.
    assert!(best(&at, 4, Goal::Wait).is_ok());
    let error = best(&at, 5, Goal::Wait).unwrap_err().to_string();
    assert!(error.contains("at most 4 can be"), "{error}");
    assert!(best(&at, 0, Goal::Wait).is_err());
}

#[test]
fn what_the_limit_is_when_no_cut_is_stable() {
    // Two partitions of widths 1 to 4: at best, half of the jobs each.
    let mix = uniform(1, 4, constant(1.0));
    let QueueingError::Unstable(why) = best(&site(8, 4.0, &mix), 2, Goal::Wait).unwrap_err() else {
        panic!("unstable")
    };
    close(why.load, 2.0);
    close(why.rate_below, 2.0);
    assert_eq!(best(&site(8, 1.99, &mix), 2, Goal::Wait).unwrap(), [2, 6]);
}

/// All growing rows of `count` numbers above `above` that sum to `sum`.
fn cuts(above: u32, sum: u32, count: u32) -> Vec<Vec<u32>> {
    match count {
        0 => vec![],
        1 if sum > above => vec![vec![sum]],
        1 => vec![],
        _ => (above + 1..sum)
            .flat_map(|first| {
                let rest = cuts(first, sum - first, count - 1);
                rest.into_iter().map(move |rest| [vec![first], rest].concat())
            })
            .collect(),
    }
}

fn value(site: &Site<'_>, sizes: &[u32], goal: Goal) -> Result<f64, QueueingError> {
    let answer = partitioned(site, sizes)?;
    match goal {
        Goal::Wait => Ok(answer.wait),
        Goal::Slowdown => Ok(answer.slowdown?),
    }
}

/// The minimum load that the fullest partition can have.
fn least_load(site: &Site<'_>, queues: u32) -> f64 {
    // Light enough to be stable; loads grow with the rate.
    let light = Site { rate: site.rate * 1e-6, ..*site };
    let load = |sizes: &Vec<u32>| partitioned(&light, sizes).map(|answer| answer.load * 1e6).ok();
    cuts(0, site.processors, queues).iter().filter_map(load).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_best_partitions_are_the_best_of_all(
        processors in 1_u32..26,
        queues in 1_u32..6,
        jobs in prop::collection::vec((1_u32..12, 1_i32..60), 1..30),
        load in 0.1_f64..4.0,
        slowdown in any::<bool>(),
        as_printed in any::<bool>(),
        mingled in any::<bool>(),
    ) {
        let jobs: Vec<(u32, f64)> =
            jobs.into_iter().map(|(width, run)| (width.min(processors), f64::from(run))).collect();
        let mix = Mix::recorded(&jobs).unwrap();
        // As printed, all jobs are of one kind.
        let mix = if mingled || as_printed { mix.mingled() } else { mix };
        let readings =
            if as_printed { reading(Equation::E20) } else { Readings::corrected() };
        let site = Site { processors, rate: load / mix.runs().mean, mix: &mix, readings };
        let goal = if slowdown { Goal::Slowdown } else { Goal::Wait };
        let all = cuts(0, processors, queues);
        let values: Vec<f64> =
            all.iter().filter_map(|sizes| value(&site, sizes, goal).ok()).collect();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        match best(&site, queues, goal) {
            Ok(sizes) => {
                let found = value(&site, &sizes, goal).unwrap();
                prop_assert!((found - min).abs() <= 1e-9 * min.abs(), "{sizes:?}: {found}, not {min}");
            }
            Err(QueueingError::Unstable(why)) => {
                prop_assert!(values.is_empty(), "{values:?}");
                close(why.load, least_load(&site, queues));
            }
            Err(QueueingError::Bad(_)) => {
                let fits = |sizes: &&Vec<u32>| sizes[sizes.len() - 1] >= mix.widest();
                prop_assert_eq!(all.iter().filter(fits).count(), 0);
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }
}

/// Figure 5's grid: five sites of 128, four classes, widths up to 64, three partitions.
fn paper(scale: f64, readings: Readings) -> Setup {
    Setup {
        sites: 5,
        processors: 128,
        classes: vec![Class { share: 0.25, service: constant(0.0) }; 4],
        mix: uniform(1, 64, weibull(scale)),
        queues: Queues::Best { count: 3, goal: Goal::Wait },
        readings,
    }
}

#[test]
fn three_stations_in_a_row() {
    let setup = paper(20.0, Readings::corrected());
    let answer = network(0.2, &setup).unwrap();
    let runs = weibull(20.0);
    let dispatch = mgm(Servers { count: 5, rate: 0.2 }, &runs, setup.readings).unwrap();
    close(answer.stages[1].wait, dispatch.wait);
    let sizes: Vec<u32> = answer.site.partitions.iter().map(|it| it.processors).collect();
    assert_eq!(sizes.iter().sum::<u32>(), 128);
    let at_site = partitioned(&site(128, 0.04, &setup.mix), &sizes).unwrap();
    close(answer.stages[2].wait, at_site.wait);
    close(answer.wait, dispatch.wait + at_site.wait);
    close(answer.slowdown.unwrap(), answer.wait * runs.inverse.unwrap());
    // A valuation that takes time is waited for, and counts.
    let class = Class { share: 0.25, service: exponential(1.0) };
    let slow = Setup { classes: vec![class; 4], ..setup.clone() };
    close(network(0.2, &slow).unwrap().wait, answer.wait + 1.0 + 0.25 * 1.0);
    // The second station is the first to be too much.
    let given = Setup { queues: Queues::Sizes(vec![1, 2, 125]), ..setup };
    assert!(network(0.28, &given).is_ok());
    let QueueingError::Unstable(why) = network(0.29, &given).unwrap_err() else {
        panic!("unstable")
    };
    assert_eq!((why.place, why.servers_from), (Place::Sites(5), Some(6)));
}

#[test]
fn misprints_of_the_network() {
    let at = |readings| network(0.2, &paper(20.0, readings)).unwrap();
    let right = at(Readings::corrected());
    close(at(reading(Equation::E21)).stages[2].wait, 0.2 * right.stages[2].wait);
    // A slowdown relative to the station's own service is at least 1.
    let mut setup = paper(20.0, reading(Equation::E7));
    setup.classes = vec![Class { share: 0.25, service: constant(0.01) }; 4];
    assert!(network(0.2, &setup).unwrap().slowdown.unwrap() > 1.0);
    // Of a constant 0, it is none at all.
    let none = at(reading(Equation::E7)).slowdown.unwrap_err();
    assert_eq!(none.moment, Moment::Inverse);
}

/// What figure 5's axes show: up to some 1.6 s and 0.14 in (a) and (b), and some 2.2 s and 0.15
/// in (c) and (d), at the highest rates.
#[test]
fn as_printed_the_model_has_the_size_of_figure_5() {
    for (scale, rate, wait, slowdown) in [(20.0, 0.28, 1.8, 0.16), (25.0, 0.22, 2.5, 0.16)] {
        let answer = network(rate, &paper(scale, Readings::printed())).unwrap();
        let within = |found: f64, max: f64| found > 0.6 * max && found < max;
        assert!(within(answer.wait, wait), "{}", answer.wait);
        assert!(within(answer.slowdown.unwrap(), slowdown), "{:?}", answer.slowdown);
        let right = network(rate, &paper(scale, Readings::corrected())).unwrap();
        assert!(right.wait > 50.0 * answer.wait, "{}", right.wait);
    }
}
