//! Values of this command's options, from text.

use tradewind_io::decimal;
use tradewind_io::diagnostics::suggestion;
use tradewind_sim::queueing::{Equation, Law, Reading, Widths};

use crate::brackets::{Named, list};

/// Rates of arrivals, ascending: `A..B:STEP`, or one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rates(pub(super) Vec<f64>);

/// Decimals of a rate: one job in some thirty years.
const DECIMALS: u32 = 9;
/// More than any picture shows.
const RATES_MOST: i64 = 10_000;

pub(super) fn rates(text: &str) -> Result<Rates, String> {
    let number = |text: &str| {
        let parsed = decimal::parse(text.trim(), DECIMALS).ok().filter(|rate| *rate > 0);
        parsed.ok_or_else(|| {
            format!("`{text}` is not a number above 0 with at most {DECIMALS} decimals")
        })
    };
    let Some((low, rest)) = text.split_once("..") else {
        return Ok(Rates(vec![scaled(number(text)?)]));
    };
    let (high, step) =
        rest.split_once(':').ok_or_else(|| "write `A..B:STEP`, or one rate".to_owned())?;
    let (low, high, step) = (number(low)?, number(high)?, number(step)?);
    match (high - low) / step {
        _ if low > high => Err("the range ends before it begins".to_owned()),
        RATES_MOST.. => Err(format!("more than {RATES_MOST} rates")),
        steps => Ok(Rates((0..=steps).map(|i| scaled(low + i * step)).collect())),
    }
}

fn scaled(rate: i64) -> f64 {
    rate as f64 / 10_f64.powi(DECIMALS as i32)
}

/// The laws' names and the names of their parameters.
const LAWS: [(&str, &[&str]); 8] = [
    ("deterministic", &["value"]),
    ("exponential", &["mean"]),
    ("weibull", &["shape", "scale"]),
    ("gamma", &["shape", "scale"]),
    ("erlang", &["phases", "mean"]),
    ("uniform", &["low", "high"]),
    ("lognormal", &["mu", "sigma"]),
    ("pareto", &["shape", "scale"]),
];
const HYPEREXPONENTIAL: &str = "hyperexponential";

/// Reads a law such as `weibull[shape=2,scale=20]`, `hyperexponential[0.9=10,0.1=200]`.
pub(super) fn law(text: &str) -> Result<Law, String> {
    let named = Named::of("the law", text).map_err(|failure| {
        failure.problems.into_iter().map(|problem| problem.message).collect::<String>()
    })?;
    if named.name == HYPEREXPONENTIAL {
        let branch = |(share, mean): &(&str, &str)| Ok((number(share)?, number(mean)?));
        let branches = named.parameters.iter().map(branch).collect::<Result<_, String>>()?;
        return Ok(Law::Hyperexponential { branches });
    }
    let names = || LAWS.iter().map(|(name, _)| *name).chain([HYPEREXPONENTIAL]);
    let (name, wanted) =
        LAWS.into_iter().find(|(name, _)| *name == named.name).ok_or_else(|| {
            let all = names().collect::<Vec<_>>().join(", ");
            match suggestion(named.name, names()) {
                Some(best) => format!("there is no law `{}`; did you mean `{best}`?", named.name),
                None => format!("there is no law `{}`; there are: {all}", named.name),
            }
        })?;
    let form = || format!("write `{name}[{}]`", wanted.map_form());
    if named.parameters.iter().any(|(key, _)| !wanted.contains(key)) {
        return Err(form());
    }
    let value = |name: &str| {
        let given: Vec<&str> =
            named.parameters.iter().filter(|it| it.0 == name).map(|it| it.1).collect();
        match given[..] {
            [one] => number(one),
            _ => Err(form()),
        }
    };
    let first = value(wanted[0])?;
    let second = wanted.get(1).map_or(Ok(0.0), |name| value(name))?;
    of_parameters(name, first, second)
}

/// The law of this name with the parameters in the order of [`LAWS`].
fn of_parameters(name: &str, first: f64, second: f64) -> Result<Law, String> {
    Ok(match name {
        "deterministic" => Law::Deterministic { value: first },
        "exponential" => Law::Exponential { mean: first },
        "weibull" => Law::Weibull { shape: first, scale: second },
        "gamma" => Law::Gamma { shape: first, scale: second },
        "erlang" if first.fract() == 0.0 && (1.0..1e9).contains(&first) => {
            Law::erlang(first as u32, second)
        }
        "erlang" => return Err("phases are a whole number from 1".to_owned()),
        "uniform" => Law::Uniform { low: first, high: second },
        "lognormal" => Law::Lognormal { mu: first, sigma: second },
        _ => Law::Pareto { shape: first, scale: second },
    })
}

/// `shape=NUMBER,scale=NUMBER`.
trait MapForm {
    fn map_form(&self) -> String;
}

impl MapForm for [&str] {
    fn map_form(&self) -> String {
        self.iter().map(|name| format!("{name}=NUMBER")).collect::<Vec<_>>().join(",")
    }
}

fn number(text: &str) -> Result<f64, String> {
    let parsed = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    parsed.ok_or_else(|| format!("`{text}` is not a number"))
}

/// `1..64`, `log[1..64]`, or `1=0.5,8=0.25,64=0.25`.
pub(super) fn widths(text: &str) -> Result<Widths, String> {
    const FORMS: &str = "write `A..B`, `log[A..B]`, or `WIDTH=SHARE,WIDTH=SHARE,…`";
    let range = |text: &str| {
        let (low, high) = text.split_once("..")?;
        Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
    };
    let row = |row: &str| {
        let (width, share) = row.split_once('=')?;
        Some((width.trim().parse().ok()?, number(share).ok()?))
    };
    let inside = text.strip_prefix("log[").and_then(|rest| rest.strip_suffix(']'));
    if let Some((low, high)) = inside.and_then(range) {
        return Ok(Widths::LogUniform { low, high });
    }
    if let Some((low, high)) = range(text) {
        return Ok(Widths::Uniform { low, high });
    }
    let rows: Option<Vec<(u32, f64)>> = text.split(',').map(row).collect();
    rows.map(Widths::Table).ok_or_else(|| FORMS.to_owned())
}

/// Shares of classes, from the highest on, each with a law of its own or the common one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Classes(pub(super) Vec<(f64, Option<Law>)>);

/// Reads classes such as `0.2,0.3=exponential[mean=5],0.5`.
pub(super) fn classes(text: &str) -> Result<Classes, String> {
    let class = |text: &str| match text.split_once('=') {
        Some((share, rest)) if !share.contains('[') => Ok((number(share)?, Some(law(rest)?))),
        _ => Ok((number(text)?, None)),
    };
    list(text).into_iter().map(class).collect::<Result<_, String>>().map(Classes)
}

/// Sizes of partitions: `21,43,64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes(pub(super) Vec<u32>);

pub(super) fn sizes(text: &str) -> Result<Sizes, String> {
    let size = |text: &str| {
        text.trim().parse().map_err(|_| format!("`{text}` is not a number of processors"))
    };
    text.split(',').map(size).collect::<Result<_, String>>().map(Sizes)
}

/// `9=printed`.
pub(super) fn equation(text: &str) -> Result<(Equation, Reading), String> {
    let known = "7, 8, 9, 10, 12, 20, 21";
    let form = || format!("write `NUMBER=printed` or `NUMBER=corrected`; numbers: {known}");
    let (number, reading) = text.split_once('=').ok_or_else(form)?;
    let equation = number.trim().parse().ok().and_then(Equation::of_number).ok_or_else(form)?;
    match reading.trim() {
        "printed" => Ok((equation, Reading::Printed)),
        "corrected" => Ok((equation, Reading::Corrected)),
        _ => Err(form()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact_and_few() {
        assert_eq!(rates("0.1..0.28:0.03").unwrap().0, [0.1, 0.13, 0.16, 0.19, 0.22, 0.25, 0.28]);
        assert_eq!(rates("2").unwrap().0, [2.0]);
        assert_eq!(rates("1..1:5").unwrap().0, [1.0]);
        for text in ["", "0", "-1", "1..2", "2..1:1", "1..2:0", "0.1..9:0.000001", "x", "1..:1"] {
            assert!(rates(text).is_err(), "{text}");
        }
    }

    #[test]
    fn laws_have_the_parameters_of_their_names() {
        assert_eq!(law("weibull[scale=20, shape=2]"), Ok(Law::Weibull { shape: 2.0, scale: 20.0 }));
        assert_eq!(law("erlang[phases=2,mean=8]"), Ok(Law::Gamma { shape: 2.0, scale: 4.0 }));
        let branches = vec![(0.9, 10.0), (0.1, 200.0)];
        assert_eq!(law("hyperexponential[0.9=10,0.1=200]"), Ok(Law::Hyperexponential { branches }));
        for text in [
            "weibull",
            "weibull[shape=2]",
            "weibull[shape=2,scale=x]",
            "weibull[shape=2,scale=3,scale=4]",
            "weibull[shape=2,scale=3",
            "weibull[shape=2,scale=3,mean=4]",
            "erlang[phases=1.5,mean=2]",
            "normal[mean=1]",
            "",
        ] {
            assert!(law(text).is_err(), "{text}");
        }
        assert!(law("weibul[shape=1,scale=1]").unwrap_err().contains("did you mean `weibull`?"));
        assert_eq!(law("gamma[k=1]").unwrap_err(), "write `gamma[shape=NUMBER,scale=NUMBER]`");
    }

    #[test]
    fn widths_are_ranges_or_tables() {
        assert_eq!(widths("1..64"), Ok(Widths::Uniform { low: 1, high: 64 }));
        assert_eq!(widths("log[1..64]"), Ok(Widths::LogUniform { low: 1, high: 64 }));
        assert_eq!(widths("1=0.5, 8=0.5"), Ok(Widths::Table(vec![(1, 0.5), (8, 0.5)])));
        for text in ["", "64", "1-64", "log[1]", "1=x", "a..b"] {
            assert!(widths(text).is_err(), "{text}");
        }
    }

    #[test]
    fn classes_have_shares_and_maybe_laws() {
        let Classes(all) = classes("0.25,0.75=uniform[low=1,high=2]").unwrap();
        assert_eq!(all, [(0.25, None), (0.75, Some(Law::Uniform { low: 1.0, high: 2.0 }))]);
        assert!(classes("").is_err() && classes("0.5=none").is_err());
        assert_eq!(sizes("1, 2,125"), Ok(Sizes(vec![1, 2, 125])));
        assert!(sizes("1,-2").is_err());
        assert_eq!(equation("12=printed"), Ok((Equation::E8, Reading::Printed)));
        assert!(equation("5=printed").is_err() && equation("9").is_err());
    }
}
