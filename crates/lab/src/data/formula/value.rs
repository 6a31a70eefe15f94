//! What formulas make.

use super::{Fault, Format, Op, Result, Sign};
use crate::tally::Estimate;

/// A value of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FormulaValue {
    Number(f64),
    Estimate(Estimate),
    Truth(bool),
    Text(String),
    List(Vec<FormulaValue>),
}

impl FormulaValue {
    fn noun(&self) -> &'static str {
        match self {
            FormulaValue::Number(_) => "a number",
            FormulaValue::Estimate(_) => "an estimate",
            FormulaValue::Truth(_) => "a truth value",
            FormulaValue::Text(_) => "a text",
            FormulaValue::List(_) => "a list",
        }
    }

    fn wanted<T>(&self, what: &str) -> Result<T> {
        Err(Fault::new(format!("{what} was expected, and here is {}", self.noun())))
    }

    /// A number, or the mean of an estimate.
    pub(crate) fn number(&self) -> Result<f64> {
        self.estimate().map(|estimate| estimate.mean)
    }

    /// Numbers are exact.
    pub(crate) fn estimate(&self) -> Result<Estimate> {
        match self {
            FormulaValue::Number(number) => Ok(Estimate::exact(*number)),
            FormulaValue::Estimate(estimate) => Ok(*estimate),
            _ => self.wanted("a number"),
        }
    }

    pub(crate) fn truth(&self) -> Result<bool> {
        match self {
            FormulaValue::Truth(truth) => Ok(*truth),
            _ => self.wanted("a truth value"),
        }
    }

    pub(crate) fn text(&self) -> Result<&str> {
        match self {
            FormulaValue::Text(text) => Ok(text),
            _ => self.wanted("a text"),
        }
    }

    pub(crate) fn list(&self) -> Result<&[FormulaValue]> {
        match self {
            FormulaValue::List(list) => Ok(list),
            _ => self.wanted("a list"),
        }
    }

    /// A number that counts or numbers something.
    pub(super) fn index(&self) -> Result<usize> {
        match self.number()? {
            number if number >= 0.0 => Ok(number as usize),
            number => Err(Fault::new(format!("{number} is no place in a list"))),
        }
    }

    /// Texts as they are, numbers as `format` says.
    pub(super) fn write(&self, format: Format) -> Result<String> {
        if let FormulaValue::Text(text) = self {
            return Ok(text.clone());
        }
        let number = self.number()?;
        Ok(match format {
            Format::Shortest => number.to_string(),
            Format::Fixed { decimals, sign: Sign::OfLosses } => format!("{number:.decimals$}"),
            Format::Fixed { decimals, sign: Sign::Always } => format!("{number:+.decimals$}"),
        })
    }
}

/// `left op right`.
pub(super) fn binary(op: Op, left: &FormulaValue, right: &FormulaValue) -> Result<FormulaValue> {
    let compared =
        |of: fn(&f64, &f64) -> bool| Ok(FormulaValue::Truth(of(&left.number()?, &right.number()?)));
    match op {
        Op::Or => Ok(FormulaValue::Truth(left.truth()? | right.truth()?)),
        Op::And => Ok(FormulaValue::Truth(left.truth()? & right.truth()?)),
        Op::Equal => Ok(FormulaValue::Truth(equal(left, right))),
        Op::Unequal => Ok(FormulaValue::Truth(!equal(left, right))),
        Op::AtMost => compared(f64::le),
        Op::AtLeast => compared(f64::ge),
        Op::Below => compared(f64::lt),
        Op::Above => compared(f64::gt),
        Op::Plus => calculated(left, right, |a, b| a + b),
        Op::Minus => calculated(left, right, |a, b| a - b),
        Op::Times => calculated(left, right, |a, b| a * b),
        Op::Over => calculated(left, right, |a, b| a / b),
    }
}

/// Numbers and estimates by their means.
fn equal(left: &FormulaValue, right: &FormulaValue) -> bool {
    match (left.number(), right.number()) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    }
}

fn calculated(
    left: &FormulaValue,
    right: &FormulaValue,
    of: fn(f64, f64) -> f64,
) -> Result<FormulaValue> {
    Ok(match (left, right) {
        (FormulaValue::Estimate(left), FormulaValue::Number(right)) => {
            FormulaValue::Estimate(left.map(|left| of(left, *right)))
        }
        (FormulaValue::Number(left), FormulaValue::Estimate(right)) => {
            FormulaValue::Estimate(right.map(|right| of(*left, right)))
        }
        _ => FormulaValue::Number(of(left.number()?, right.number()?)),
    })
}
