use proptest::prelude::*;

use super::{close, constant, exponential, printed};
use crate::queueing::*;

const EXACT: fn() -> Readings = Readings::corrected;

#[test]
fn one_server_by_the_book() {
    // ρ = 0.8: 4 services for exponential ones, half for constant ones, 3/4 for two phases.
    close(mg1(0.8, &exponential(1.0)).unwrap().wait, 4.0);
    let fixed = mg1(0.8, &constant(1.0)).unwrap();
    close(fixed.wait, 2.0);
    close(fixed.slowdown.unwrap(), 2.0);
    close(mg1(0.8, &Law::erlang(2, 1.0).moments().unwrap()).unwrap().wait, 3.0);
}

#[test]
fn chances_to_wait_are_those_of_printed_tables() {
    for (servers, offered, table) in
        [(1, 0.7, 0.7), (2, 1.0, 0.3333), (5, 4.0, 0.5541), (10, 8.0, 0.4092), (20, 16.0, 0.2561)]
    {
        printed(erlang_c(servers, offered), table, 5e-5);
    }
    for (servers, offered, table) in [(5, 3.0, 0.1101), (10, 8.0, 0.1217), (100, 100.0, 0.0757)] {
        printed(erlang_b(servers, offered), table, 5e-5);
    }
}

#[test]
fn many_servers_need_no_factorials() {
    // B(m, m) is √(2 / πm) for large m, but for some 2/3 of 1/√m of itself.
    let m = 100_000;
    let asymptote = (2.0 / (std::f64::consts::PI * f64::from(m))).sqrt();
    printed(erlang_b(m, f64::from(m)) / asymptote, 1.0, 3e-3);
    assert!(erlang_c(m, 99_000.0) > 0.0 && erlang_c(m, 10.0) == 0.0);
    for readings in [Readings::corrected(), Readings::printed()] {
        let (load, wait) = mmm(Servers { count: m, rate: 99.0 }, 1_000.0, readings).unwrap();
        close(load, 0.99);
        assert!(wait.is_finite() && wait >= 0.0);
    }
}

#[test]
fn two_classes_by_hand() {
    // 0.3 urgent and 0.3 other jobs a minute, a minute each: W0 = 0.6 · 2 / 2 = 0.6.
    let class = Class { share: 0.5, service: exponential(1.0) };
    let both = priority(0.6, &[class, class]).unwrap();
    close(both.classes[0].wait, 0.6 / 0.7);
    close(both.classes[1].wait, 0.6 / (0.7 * 0.4));
    close(both.wait, 0.6 * (1.0 / 0.7 + 1.0 / 0.28) / 2.0);
    close(both.stay, both.wait + 1.0);
    close(both.load, 0.6);
    // Constant services of two lengths: W0 = (0.2 · 1 + 0.1 · 16) / 2 = 0.9; 0.2 and 0.6 of load.
    let classes = [
        Class { share: 2.0 / 3.0, service: constant(1.0) },
        Class { share: 1.0 / 3.0, service: constant(4.0) },
    ];
    let both = priority(0.3, &classes).unwrap();
    close(both.classes[0].wait, 0.9 / 0.8);
    close(both.classes[1].wait, 0.9 / (0.8 * 0.4));
    close(both.classes[1].slowdown.unwrap(), 0.9 / (0.8 * 0.4) / 4.0);
}

#[test]
fn too_much_load_says_where_and_what_would_help() {
    let unstable = |error: QueueingError| match error {
        QueueingError::Unstable(why) => why,
        other => panic!("{other}"),
    };
    let why = unstable(mg1(2.0, &constant(1.0)).unwrap_err());
    assert_eq!((why.place, why.load, why.rate_below), (Place::Server, 2.0, 1.0));
    let why = unstable(mgm(Servers { count: 5, rate: 7.0 }, &constant(1.0), EXACT()).unwrap_err());
    assert_eq!((why.place, why.servers_from), (Place::Servers(5), Some(8)));
    close(why.rate_below, 5.0);
    // Exactly full is too much.
    assert!(mgm(Servers { count: 2, rate: 2.0 }, &constant(1.0), EXACT()).is_err());
    let class = Class { share: 0.5, service: constant(1.0) };
    let why = unstable(priority(1.5, &[class, class]).unwrap_err());
    assert_eq!(why.place, Place::Class(1));
    close(why.rate_below, 1.0);
    assert!(why.to_string().contains("classes 1 to 2"), "{why}");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(mg1(rate, &constant(1.0)), Err(QueueingError::Bad(_))));
    }
    assert_eq!(mgm(Servers { count: 2, rate: 1.0 }, &constant(0.0), EXACT()).unwrap().wait, 0.0);
    let nobody = mgm(Servers { count: 0, rate: 1.0 }, &constant(1.0), EXACT());
    assert!(matches!(nobody, Err(QueueingError::Bad(BadParameter::NoServers))));
    let shares = priority(0.1, &[Class { share: 0.6, service: constant(1.0) }; 2]);
    assert!(matches!(shares, Err(QueueingError::Bad(BadParameter::Shares { .. }))));
}

#[test]
fn misprints_of_several_servers() {
    let servers = Servers { count: 3, rate: 0.2 };
    let times = |equation, times: f64| {
        let mut readings = Readings::corrected();
        readings.set(equation, Reading::Printed);
        let (right, wrong) = (EXACT(), readings);
        let wait = |readings| mgm(servers, &exponential(2.0), readings).unwrap().wait;
        close(wait(wrong), times * wait(right));
    };
    // Without the half, M/M/m is doubled.
    times(Equation::E8, 2.0);
    // p0 for Erlang's C.
    let offered: f64 = 0.4;
    let last = offered.powi(3) / 6.0 / (1.0 - offered / 3.0);
    times(Equation::E10, 1.0 / last);
    // Without division by the servers, 0.4 stands for the load of each.
    let mut readings = Readings::corrected();
    readings.set(Equation::E9, Reading::Printed);
    let (load, _) = mmm(servers, 2.0, readings).unwrap();
    close(load, 0.4);
    assert!(mmm(Servers { count: 3, rate: 0.6 }, 2.0, readings).is_err());
}

/// Erlang's C from its definition, with factorials.
fn by_definition(servers: u32, offered: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 1..=servers {
        sum += term;
        term *= offered / f64::from(k);
    }
    let last = term / (1.0 - offered / f64::from(servers));
    last / (sum + last)
}

proptest! {
    #[test]
    fn erlangs_c_is_its_definition(servers in 1_u32..60, load in 0.01_f64..0.999) {
        let offered = load * f64::from(servers);
        close(erlang_c(servers, offered), by_definition(servers, offered));
    }

    #[test]
    fn one_of_several_servers_is_one_server(load in 0.01_f64..0.99, shape in 0.5_f64..5.0) {
        let service = Law::Gamma { shape, scale: 1.0 / shape }.moments().unwrap();
        let one = mg1(load, &service).unwrap();
        let servers = mgm(Servers { count: 1, rate: load }, &service, EXACT()).unwrap();
        close(servers.wait, one.wait);
        close(servers.load, one.load);
    }

    /// Kleinrock's conservation law: for every order of service, Σ ρ_j W_j = ρ W0 / (1 − ρ).
    #[test]
    fn work_is_conserved(
        weights in prop::collection::vec((0.05_f64..1.0, 0.1_f64..5.0, 1.1_f64..6.0), 1..6),
        load in 0.05_f64..0.98,
    ) {
        let all: f64 = weights.iter().map(|it| it.0).sum();
        let classes: Vec<Class> = weights
            .iter()
            .map(|&(share, scale, shape)| {
                let service = Law::Gamma { shape, scale }.moments().unwrap();
                Class { share: share / all, service }
            })
            .collect();
        let mean: f64 = classes.iter().map(|it| it.share * it.service.mean).sum();
        let square: f64 = classes.iter().map(|it| it.share * it.service.square.unwrap()).sum();
        let rate = load / mean;
        let answer = priority(rate, &classes).unwrap();
        let work: f64 = answer.classes.iter().map(|it| it.load * it.wait).sum();
        close(work, load * rate * square / 2.0 / (1.0 - load));
        // Lower classes wait longer; alike classes wait as one in the mean.
        prop_assert!(answer.classes.windows(2).all(|pair| pair[0].wait < pair[1].wait));
    }
}
