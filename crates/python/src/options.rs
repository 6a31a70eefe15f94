//! What the caller of `simulate` says, as a campaign.

use pyo3::prelude::*;
use tradewind_campaign::checks;
use tradewind_campaign::failure::Failure;
use tradewind_campaign::policy::{COMMAND, PolicySpec};
use tradewind_io::campaign::{Campaign, Keyword, OfferedLoad, Output, Seeds, Trim, Workload};
use tradewind_io::diagnostics::did_you_mean;
use tradewind_io::duration::{parse_span, parse_time};
use tradewind_model::{Pools, Span};

/// The keyword arguments, as text and numbers.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    logs: Vec<String>,
    policies: Vec<String>,
    semantics: Vec<String>,
    overrun: Vec<String>,
    estimate: Vec<String>,
    load: Vec<String>,
    seeds: Option<String>,
    model: Option<String>,
    users: Option<i64>,
    procs: Option<i64>,
    grid: Option<String>,
    homes: Option<String>,
    outages: Option<String>,
    side: Option<String>,
    from: Option<String>,
    to: Option<String>,
    squeeze: Option<i64>,
    warm_up: Option<String>,
    cool_down: Option<String>,
}

impl Options {
    /// The campaign; `own`: a policy of the caller's is one of the policies.
    ///
    /// # Errors
    /// What makes no sense, as the command says it.
    pub(crate) fn into_campaign(self, own: Option<&str>) -> Result<Campaign, Failure> {
        let policies =
            self.policies.iter().map(|text| Ok(PolicySpec::parse(text)?.text().to_owned()));
        let mut policies: Vec<String> = policies.collect::<Result<_, Failure>>()?;
        policies.extend(own.map(|_| COMMAND.to_owned()));
        Ok(Campaign {
            title: None,
            workloads: vec![self.workload()?],
            policies,
            command: own.map(str::to_owned),
            semantics: words("semantics", &self.semantics)?,
            overruns: words("overrun", &self.overrun)?,
            estimates: words("estimate", &self.estimate)?,
            loads: self
                .load
                .iter()
                .map(|text| parsed("load", text, str::parse::<OfferedLoad>))
                .collect::<Result<_, _>>()?,
            seeds: self
                .seeds
                .as_ref()
                .map(|text| parsed("seeds", text, str::parse::<Seeds>))
                .transpose()?,
            trim: Trim {
                warm_up: span("warm_up", self.warm_up.as_ref())?,
                cool_down: span("cool_down", self.cool_down.as_ref())?,
            },
            // So that processors are placed.
            outputs: vec![Output::Summary, Output::Jobs],
        })
    }

    fn workload(&self) -> Result<Workload, Failure> {
        let time = |name, text: &Option<String>| {
            text.as_ref().map(|text| parsed(name, text, parse_time)).transpose()
        };
        let workload = Workload {
            name: self.model.clone().unwrap_or_else(|| Workload::name_of(&self.logs)),
            logs: self.logs.clone(),
            model: self.model.clone(),
            users: count("users", self.users, Workload::MAX_USERS)?,
            procs: count("procs", self.procs, Pools::MAX_NODES)?,
            grid: self.grid.clone(),
            outages: self.outages.clone(),
            side: self.side.clone(),
            from: time("from_time", &self.from)?,
            to: time("to_time", &self.to)?,
            squeeze: count("squeeze", self.squeeze, Workload::MAX_SQUEEZE)?,
            homes: self.homes.as_deref().map(|text| word("homes", text)).transpose()?,
            ..Workload::default()
        };
        checks::workload(&workload)?;
        Ok(workload)
    }
}

fn parsed<T, E: std::fmt::Display>(
    name: &str,
    text: &str,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<T, Failure> {
    read(text).map_err(|error| Failure::usage(format!("`{name}={text}`: {error}")))
}

fn span(name: &str, text: Option<&String>) -> Result<Span, Failure> {
    text.map_or(Ok(Span::ZERO), |text| parsed(name, text, parse_span))
}

/// A number from 1 to `most`.
fn count(name: &str, given: Option<i64>, most: u32) -> Result<Option<u32>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let count = u32::try_from(given).ok().filter(|count| (1..=most).contains(count));
    count.map(Some).ok_or_else(|| {
        Failure::usage(format!("`{name}={given}`: not a whole number from 1 to {most}"))
    })
}

fn word<T: Keyword>(name: &str, text: &str) -> Result<T, Failure> {
    T::named(text).ok_or_else(|| {
        let names: Vec<&str> = T::WORDS.iter().map(|(name, ..)| *name).collect();
        Failure::usage(format!("`{name}`: there is no `{text}`")).hint(did_you_mean(text, &names))
    })
}

/// Each once, or else the default.
fn words<T: Keyword + Default + Copy + PartialEq>(
    name: &str,
    given: &[String],
) -> Result<Vec<T>, Failure> {
    let words: Vec<T> = given.iter().map(|text| word(name, text)).collect::<Result<_, _>>()?;
    match words.is_empty() {
        true => Ok(vec![T::default()]),
        false if (1..words.len()).any(|at| words[..at].contains(&words[at])) => {
            Err(Failure::usage(format!("`{name}` names something twice")))
        }
        false => Ok(words),
    }
}
