//! The stations' answers in one shape, which is also the JSON document.

use serde::Serialize;
use tradewind_sim::queueing::{
    self as theory, Infinite, Partitioned, Priority, QueueingError, QueueingNetwork, Unstable,
};

/// What a station says about one rate under one model.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) model: &'static str,
    /// Arrivals per second.
    pub(super) rate: f64,
    #[serde(flatten)]
    pub(super) whole: StationNumbers,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stages: Vec<NamedNumbers>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) classes: Vec<NamedNumbers>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<NamedNumbers>,
    /// Why numbers are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasons: Vec<Reason>,
}

/// What is asked for: seconds and ratios.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct StationNumbers {
    pub(super) load: Option<f64>,
    pub(super) wait: Option<f64>,
    pub(super) slowdown: Option<f64>,
}

/// One of several stages, classes or partitions.
#[derive(Debug, Serialize)]
pub(super) struct NamedNumbers {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) processors: Option<u32>,
    #[serde(flatten)]
    pub(super) numbers: StationNumbers,
}

/// Why a number is missing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Reason {
    pub(super) reason: &'static str,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_below: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    servers_from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moment: Option<&'static str>,
}

/// What a station gave, before a rate and a model are put to it.
#[derive(Debug, Default)]
pub(super) struct StationAnswer {
    whole: StationNumbers,
    stages: Vec<NamedNumbers>,
    classes: Vec<NamedNumbers>,
    partitions: Vec<NamedNumbers>,
    missing: Option<Infinite>,
}

type Slowdown = Result<f64, Infinite>;

fn numbers(load: f64, wait: f64, slowdown: Slowdown) -> StationNumbers {
    StationNumbers { load: Some(load), wait: Some(wait), slowdown: slowdown.ok() }
}

impl StationAnswer {
    fn of(load: f64, wait: f64, slowdown: Slowdown) -> StationAnswer {
        let whole = numbers(load, wait, slowdown);
        StationAnswer { whole, missing: slowdown.err(), ..StationAnswer::default() }
    }

    /// M/M/m, which has no slowdown.
    pub(super) fn exponential(load: f64, wait: f64) -> StationAnswer {
        let whole = StationNumbers { load: Some(load), wait: Some(wait), slowdown: None };
        StationAnswer { whole, ..StationAnswer::default() }
    }

    pub(super) fn station(answer: theory::Answer) -> StationAnswer {
        StationAnswer::of(answer.load, answer.wait, answer.slowdown)
    }

    pub(super) fn priority(answer: &Priority) -> StationAnswer {
        let whole = StationAnswer::of(answer.load, answer.wait, answer.slowdown);
        StationAnswer { classes: classes(answer), ..whole }
    }

    pub(super) fn partitioned(answer: &Partitioned) -> StationAnswer {
        let whole = StationAnswer::of(answer.load, answer.wait, answer.slowdown);
        StationAnswer { partitions: partitions(answer), ..whole }
    }

    pub(super) fn network(answer: &QueueingNetwork) -> StationAnswer {
        let names = ["valuation", "dispatch", "execution"];
        let stages = names.into_iter().zip(&answer.stages).map(|(name, stage)| NamedNumbers {
            name: name.to_owned(),
            share: None,
            processors: None,
            numbers: numbers(stage.load, stage.wait, stage.slowdown),
        });
        // A class's slowdown is relative to the valuation here, which is not asked for.
        let mut classes = classes(&answer.valuation);
        classes.iter_mut().for_each(|class| class.numbers.slowdown = None);
        let load = answer.stages.iter().map(|stage| stage.load).fold(0.0, f64::max);
        StationAnswer {
            stages: stages.collect(),
            classes,
            partitions: partitions(&answer.site),
            ..StationAnswer::of(load, answer.wait, answer.slowdown)
        }
    }

    /// Without any slowdown, and without a word about it.
    pub(super) fn waits_only(mut self) -> StationAnswer {
        let parts = self.stages.iter_mut().chain(&mut self.classes).chain(&mut self.partitions);
        parts.for_each(|part| part.numbers.slowdown = None);
        self.whole.slowdown = None;
        self.missing = None;
        self
    }
}

fn classes(answer: &Priority) -> Vec<NamedNumbers> {
    let part = |(number, class): (usize, &theory::ClassAnswer)| NamedNumbers {
        name: format!("class {number}"),
        share: Some(class.share),
        processors: None,
        numbers: numbers(class.load, class.wait, class.slowdown),
    };
    (1..).zip(&answer.classes).map(part).collect()
}

fn partitions(answer: &Partitioned) -> Vec<NamedNumbers> {
    let part = |(number, partition): (usize, &theory::Partition)| NamedNumbers {
        name: format!("partition {number}"),
        share: Some(partition.share),
        processors: Some(partition.processors),
        numbers: numbers(partition.load, partition.wait, partition.slowdown),
    };
    (1..).zip(&answer.partitions).map(part).collect()
}

impl Point {
    /// `Err` if the question itself makes no sense.
    pub(super) fn of(
        model: &'static str,
        rate: f64,
        answer: Result<StationAnswer, QueueingError>,
    ) -> Result<Point, QueueingError> {
        let (answer, reasons) = match answer {
            Ok(answer) => {
                let reasons = answer.missing.map(Reason::infinite).into_iter().collect();
                (answer, reasons)
            }
            Err(QueueingError::Unstable(why)) => {
                (StationAnswer::default(), vec![Reason::unstable(&why)])
            }
            Err(QueueingError::Infinite(why)) => {
                (StationAnswer::default(), vec![Reason::infinite(why)])
            }
            Err(bad) => return Err(bad),
        };
        let StationAnswer { whole, stages, classes, partitions, .. } = answer;
        Ok(Point { model, rate, whole, stages, classes, partitions, reasons })
    }

    /// All parts, in the order of the document.
    pub(super) fn parts(&self) -> impl Iterator<Item = &NamedNumbers> {
        self.stages.iter().chain(&self.classes).chain(&self.partitions)
    }

    /// Why there is no wait, or no slowdown, in one word; a dash if not asked.
    pub(super) fn word(&self) -> &'static str {
        self.reasons.first().map_or("–", |reason| reason.reason)
    }
}

impl Reason {
    /// No numbers, but words.
    pub(super) fn said(reason: &'static str, text: String) -> Reason {
        let (load, rate_below, servers_from, moment) = (None, None, None, None);
        Reason { reason, text, load, rate_below, servers_from, moment }
    }

    fn unstable(why: &Unstable) -> Reason {
        Reason {
            load: Some(why.load),
            rate_below: Some(why.rate_below),
            servers_from: why.servers_from,
            ..Reason::said("unstable", why.to_string())
        }
    }

    fn infinite(why: Infinite) -> Reason {
        let moment = Some(why.moment.symbol());
        Reason { moment, ..Reason::said("infinite", why.to_string()) }
    }
}
