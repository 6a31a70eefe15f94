use proptest::prelude::*;

use super::close;
use crate::queueing::*;

/// ∫ f(x) density(x) dx over (0, ∞), with x = e^y: a sum over y, which converges fast because
/// everything vanishes at both ends.
fn integral(density: impl Fn(f64) -> f64, of: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 1.0 / 256.0;
    let term = |i: i32| {
        let x = (f64::from(i) * STEP).exp();
        of(x) * density(x) * x
    };
    (-12_000..4_000).map(term).filter(|term| term.is_finite()).sum::<f64>() * STEP
}

#[track_caller]
fn agrees(law: &Law, density: impl Fn(f64) -> f64) {
    let moments = law.moments().unwrap();
    close(integral(&density, |_| 1.0), 1.0);
    close(moments.mean, integral(&density, |x| x));
    close(moments.square.unwrap(), integral(&density, |x| x * x));
    match moments.inverse {
        Ok(inverse) => close(inverse, integral(&density, |x| 1.0 / x)),
        Err(why) => assert_eq!(why.moment, Moment::Inverse),
    }
}

#[test]
fn closed_forms_are_the_integrals() {
    for (shape, scale) in [(2.0, 20.0), (2.0, 25.0), (1.5, 3.0), (1.0, 2.0), (4.0, 0.5)] {
        agrees(&Law::Weibull { shape, scale }, |x: f64| {
            shape / scale * (x / scale).powf(shape - 1.0) * (-(x / scale).powf(shape)).exp()
        });
        agrees(&Law::Gamma { shape, scale }, |x: f64| {
            let log = (shape - 1.0) * x.ln() - x / scale - shape * scale.ln();
            (log - libm::lgamma(shape)).exp()
        });
    }
    agrees(&Law::Exponential { mean: 3.0 }, |x: f64| (-x / 3.0).exp() / 3.0);
    let branches = vec![(0.9, 1.0), (0.1, 8.0)];
    agrees(&Law::Hyperexponential { branches }, |x: f64| {
        0.9 * (-x).exp() + 0.1 / 8.0 * (-x / 8.0).exp()
    });
    agrees(&Law::Lognormal { mu: 1.0, sigma: 0.7 }, |x: f64| {
        let z = (x.ln() - 1.0) / 0.7;
        (-z * z / 2.0).exp() / (x * 0.7 * (2.0 * std::f64::consts::PI).sqrt())
    });
}

#[test]
fn laws_with_edges() {
    let uniform = Law::Uniform { low: 2.0, high: 6.0 }.moments().unwrap();
    close(uniform.mean, 4.0);
    close(uniform.square.unwrap(), 52.0 / 3.0);
    close(uniform.inverse.unwrap(), 3.0_f64.ln() / 4.0);
    let pareto = Law::Pareto { shape: 3.0, scale: 2.0 }.moments().unwrap();
    close(pareto.mean, 3.0);
    close(pareto.square.unwrap(), 12.0);
    close(pareto.inverse.unwrap(), 3.0 / 8.0);
    let values = vec![1.0, 2.0, 4.0];
    let empirical = Law::Empirical { values }.moments().unwrap();
    close(empirical.mean, 7.0 / 3.0);
    close(empirical.square.unwrap(), 7.0);
    close(empirical.inverse.unwrap(), 1.75 / 3.0);
    let equal = Law::Uniform { low: 5.0, high: 5.0 }.moments().unwrap();
    assert_eq!(equal, super::constant(5.0));
}

#[test]
fn the_papers_run_times() {
    let moments = Law::Weibull { shape: 2.0, scale: 20.0 }.moments().unwrap();
    close(moments.mean, 10.0 * std::f64::consts::PI.sqrt());
    close(moments.square.unwrap(), 400.0);
    close(moments.inverse.unwrap(), std::f64::consts::PI.sqrt() / 20.0);
}

#[test]
fn infinite_moments_say_which_and_why() {
    let cases = [
        (Law::Weibull { shape: 1.0, scale: 2.0 }, "E(1/X) of a Weibull law is infinite"),
        (Law::Gamma { shape: 0.7, scale: 2.0 }, "E(1/X) of a gamma law is infinite"),
        (Law::Exponential { mean: 2.0 }, "E(1/X) of an exponential law is infinite"),
        (Law::Uniform { low: 0.0, high: 2.0 }, "E(1/X) of a uniform law is infinite"),
        (Law::Deterministic { value: 0.0 }, "E(1/X) of a constant is infinite"),
        (Law::Empirical { values: vec![1.0, 0.0] }, "E(1/X) of the recorded times is infinite"),
    ];
    for (law, text) in cases {
        let why = law.moments().unwrap().inverse.unwrap_err().to_string();
        assert!(why.starts_with(text) && why.len() > text.len() + 2, "{why}");
    }
    let heavy = Law::Pareto { shape: 1.5, scale: 1.0 }.moments().unwrap();
    assert_eq!(heavy.square.unwrap_err().moment, Moment::Square);
    let error = mg1(0.1, &heavy).unwrap_err();
    assert!(error.is_infeasible(), "{error}");
    let error = Law::Pareto { shape: 1.0, scale: 1.0 }.moments().unwrap_err();
    assert!(matches!(error, QueueingError::Infinite(why) if why.moment == Moment::Mean));
}

#[test]
fn senseless_parameters_are_refused() {
    for law in [
        Law::Deterministic { value: -1.0 },
        Law::Exponential { mean: 0.0 },
        Law::Weibull { shape: f64::NAN, scale: 1.0 },
        Law::Weibull { shape: 1e-3, scale: 1.0 },
        Law::Gamma { shape: 1.0, scale: f64::INFINITY },
        Law::Uniform { low: 2.0, high: 1.0 },
        Law::Uniform { low: 0.0, high: 0.0 },
        Law::Lognormal { mu: 0.0, sigma: -1.0 },
        Law::Hyperexponential { branches: vec![(0.5, 1.0), (0.4, 2.0)] },
        Law::Hyperexponential { branches: vec![] },
        Law::Empirical { values: vec![] },
        Law::Empirical { values: vec![-3.0] },
    ] {
        let error = law.moments().unwrap_err();
        assert!(matches!(error, QueueingError::Bad(_)) && !error.is_infeasible(), "{law:?}");
    }
}

proptest! {
    #[test]
    fn inequalities_of_moments_hold(shape in 1.05_f64..6.0, scale in 0.1_f64..100.0) {
        for law in [
            Law::Weibull { shape, scale },
            Law::Gamma { shape, scale },
            Law::Lognormal { mu: scale.ln(), sigma: shape / 4.0 },
            Law::Uniform { low: scale, high: scale * shape },
            Law::Pareto { shape: shape + 2.0, scale },
        ] {
            let moments = law.moments().unwrap();
            prop_assert!(moments.variation().unwrap() > 0.0);
            // Jensen.
            prop_assert!(moments.inverse.unwrap() * moments.mean > 1.0);
        }
    }

    #[test]
    fn a_mixture_of_exponentials_is_hyperexponential(
        chance in 0.01_f64..0.99, one in 0.1_f64..10.0, two in 0.1_f64..10.0,
    ) {
        let branches = vec![(chance, one), (1.0 - chance, two)];
        let law = Law::Hyperexponential { branches }.moments().unwrap();
        let parts = [super::exponential(one), super::exponential(two)];
        let mixed = Moments::mixed([(chance, &parts[0]), (1.0 - chance, &parts[1])]).unwrap();
        close(law.mean, mixed.mean);
        close(law.square.unwrap(), mixed.square.unwrap());
    }
}
