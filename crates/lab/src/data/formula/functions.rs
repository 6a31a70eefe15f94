//! The functions of formulas.

use super::value::FormulaValue;
use super::{Fault, Format, Result, Seen, Sign};
use crate::papers;
use crate::tally::{Estimate, Tally};

/// A function by what it takes.
enum Function {
    /// The name of something that was counted.
    Counted(fn(&Tally, &str) -> FormulaValue),
    /// An estimate; a number is an exact one.
    Of(fn(&Estimate) -> f64),
    /// A list of numbers, or of the means of estimates.
    Means(fn(&[f64]) -> FormulaValue),
    /// A list of estimates.
    Estimates(fn(&[Estimate]) -> Estimate),
    /// A list of truth values.
    Truths(fn(&[bool]) -> FormulaValue),
}

use Function::{Counted, Estimates, Means, Of, Truths};

/// Sorted by what they take.
static FUNCTIONS: [(&str, Function); 32] = [
    // Of the tally: means of series, and what was counted once.
    ("mean", Counted(|tally, name| FormulaValue::Estimate(tally.mean(name)))),
    ("exact", Counted(|tally, name| FormulaValue::Estimate(tally.exact(name)))),
    ("smallest", Counted(|tally, name| FormulaValue::Number(tally.series(name).min))),
    ("largest", Counted(|tally, name| FormulaValue::Number(tally.series(name).max))),
    ("observed", Counted(|tally, name| FormulaValue::Number(tally.series(name).count as f64))),
    // Of pairs: x over y, x less y, and the mean of x alone.
    ("ratio", Counted(|tally, name| FormulaValue::Estimate(tally.pairs(name).ratio()))),
    ("difference", Counted(|tally, name| FormulaValue::Estimate(tally.pairs(name).difference()))),
    ("first", Counted(|tally, name| FormulaValue::Estimate(tally.pairs(name).means()[0]))),
    ("points", Counted(|tally, name| numbers(tally.points(name).iter().map(|point| point.1)))),
    ("value", Of(|of| of.mean)),
    ("low", Of(|of| of.low)),
    ("high", Of(|of| of.high)),
    ("half", Of(Estimate::half_width)),
    ("count", Of(|of| of.count as f64)),
    ("abs", Of(|of| of.mean.abs())),
    ("ln", Of(|of| of.mean.ln())),
    ("round", Of(|of| of.mean.round())),
    ("sum", Means(|all| FormulaValue::Number(all.iter().sum()))),
    ("min", Means(|all| FormulaValue::Number(all.iter().copied().fold(f64::INFINITY, f64::min)))),
    (
        "max",
        Means(|all| FormulaValue::Number(all.iter().copied().fold(f64::NEG_INFINITY, f64::max))),
    ),
    ("argmin", Means(|all| place((0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b]))))),
    ("argmax", Means(|all| place((0..all.len()).max_by(|a, b| all[*a].total_cmp(&all[*b]))))),
    ("rises", Means(|all| steps(all, |from, to| to > from))),
    ("falls", Means(|all| steps(all, |from, to| to < from))),
    ("of_range", Means(of_range)),
    ("least", Estimates(|all| by_mean(all).first().copied().unwrap_or_else(Estimate::none))),
    ("greatest", Estimates(|all| by_mean(all).last().copied().unwrap_or_else(Estimate::none))),
    ("average", Estimates(average)),
    ("all", Truths(|all| FormulaValue::Truth(all.iter().all(|truth| *truth)))),
    ("any", Truths(|all| FormulaValue::Truth(all.iter().any(|truth| *truth)))),
    ("held", Truths(|all| FormulaValue::Number(all.iter().filter(|truth| **truth).count() as f64))),
    ("crossings", Truths(|all| numbers(turns(all)))),
];

/// `name(arguments)`.
pub(super) fn call(
    seen: &Seen<'_>,
    name: &str,
    arguments: &[FormulaValue],
) -> Result<FormulaValue> {
    match FUNCTIONS.iter().find(|(known, _)| *known == name) {
        Some((_, function)) => match arguments {
            [argument] => function.call(seen.tally, argument),
            _ => Err(Fault::new(format!("`{name}` takes one argument"))),
        },
        None => others(seen, name, arguments),
    }
}

impl Function {
    fn call(&self, tally: &Tally, argument: &FormulaValue) -> Result<FormulaValue> {
        let items = || argument.list().map(<[FormulaValue]>::iter);
        match self {
            Counted(of) => argument.text().map(|name| of(tally, name)),
            Of(of) => argument.estimate().map(|estimate| FormulaValue::Number(of(&estimate))),
            Means(of) => Ok(of(&items()?.map(FormulaValue::number).collect::<Result<Vec<_>>>()?)),
            Estimates(of) => {
                let all = items()?.map(FormulaValue::estimate).collect::<Result<Vec<_>>>()?;
                Ok(FormulaValue::Estimate(of(&all)))
            }
            Truths(of) => Ok(of(&items()?.map(FormulaValue::truth).collect::<Result<Vec<_>>>()?)),
        }
    }
}

/// Those that take several things.
fn others(seen: &Seen<'_>, name: &str, arguments: &[FormulaValue]) -> Result<FormulaValue> {
    Ok(match (name, arguments) {
        ("given", [name]) => FormulaValue::Number(given(seen, name.text()?)?),
        ("published", [name]) => FormulaValue::Number(published(seen, name.text()?)?),
        ("known", [number]) => FormulaValue::Truth(number.number()?.is_finite()),
        ("len", [list]) => FormulaValue::Number(list.list()?.len() as f64),
        ("at", [list, place]) => at(list.list()?, place.index()?)?,
        ("flat", [lists]) => {
            let lists = lists.list()?.iter().map(|list| list.list().map(<[FormulaValue]>::to_vec));
            FormulaValue::List(lists.collect::<Result<Vec<_>>>()?.concat())
        }
        ("take", [list, count]) => {
            FormulaValue::List(list.list()?.iter().take(count.index()?).cloned().collect())
        }
        ("range", [from, to]) => numbers((from.index()?..to.index()?).map(|at| at as f64)),
        ("join", [list, between]) => {
            let texts = list.list()?.iter().map(|item| item.write(Format::Shortest));
            FormulaValue::Text(texts.collect::<Result<Vec<_>>>()?.join(between.text()?))
        }
        ("fixed", [number, decimals]) => {
            let decimals = decimals.index()?;
            FormulaValue::Text(number.write(Format::Fixed { decimals, sign: Sign::OfLosses })?)
        }
        ("gap", [more, less]) => gap(more.estimate()?, less.estimate()?),
        ("around", [mean, half, count]) => {
            around(mean.number()?, half.number()?, count.number()? as u64)
        }
        _ => {
            let count = arguments.len();
            return Err(Fault::new(format!("there is no function `{name}` of {count} arguments")));
        }
    })
}

/// A parameter of the experiment, or what follows from several.
fn given(seen: &Seen<'_>, name: &str) -> Result<f64> {
    papers::given(seen.case, name)
        .ok_or_else(|| Fault::new(format!("the experiment has no parameter `{name}`")))
}

/// A number of the study, as it is printed.
fn published(seen: &Seen<'_>, name: &str) -> Result<f64> {
    let number = seen.published.iter().find(|number| number.name == name);
    number
        .map(|number| number.value)
        .ok_or_else(|| Fault::new(format!("the study has no number `{name}`")))
}

fn at(list: &[FormulaValue], place: usize) -> Result<FormulaValue> {
    list.get(place)
        .cloned()
        .ok_or_else(|| Fault::new(format!("a list of {} has no item {place}", list.len())))
}

fn numbers(all: impl Iterator<Item = f64>) -> FormulaValue {
    FormulaValue::List(all.map(FormulaValue::Number).collect())
}

/// Not a number where there is none.
fn place(at: Option<usize>) -> FormulaValue {
    FormulaValue::Number(at.map_or(f64::NAN, |at| at as f64))
}

/// How many steps from one to the next are so.
fn steps(all: &[f64], is: fn(f64, f64) -> bool) -> FormulaValue {
    FormulaValue::Number(all.windows(2).filter(|pair| is(pair[0], pair[1])).count() as f64)
}

/// Each as a part of the range of all.
fn of_range(all: &[f64]) -> FormulaValue {
    let low = all.iter().copied().fold(f64::MAX, f64::min);
    let high = all.iter().copied().fold(f64::MIN, f64::max);
    numbers(all.iter().map(|value| (value - low) / (high - low)))
}

/// Those that are known, from the lowest mean to the highest.
fn by_mean(all: &[Estimate]) -> Vec<Estimate> {
    let mut known: Vec<Estimate> =
        all.iter().copied().filter(|estimate| estimate.mean.is_finite()).collect();
    known.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    known
}

/// The mean of means of the same cases: the interval is not narrower than each one's.
fn average(all: &[Estimate]) -> Estimate {
    let mean = |of: fn(&Estimate) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let (low, high) = (mean(|of| of.low), mean(|of| of.high));
    let count = all.first().map_or(0, |first| first.count);
    Estimate { mean: mean(|of| of.mean), low, high, count }
}

/// Where a truth value is not the one before it.
fn turns(all: &[bool]) -> impl Iterator<Item = f64> {
    (1..all.len()).filter(|&at| all[at] != all[at - 1]).map(|at| at as f64)
}

/// The difference of two means, as if they were independent.
fn gap(more: Estimate, less: Estimate) -> FormulaValue {
    let half = more.half_width().hypot(less.half_width());
    around(more.mean - less.mean, half, more.count.min(less.count))
}

fn around(mean: f64, half: f64, count: u64) -> FormulaValue {
    FormulaValue::Estimate(Estimate { mean, low: mean - half, high: mean + half, count })
}
