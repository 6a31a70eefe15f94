//! The stations' answers in one shape, which is also the JSON document.

use serde::Serialize;
use tradewind_sim::queueing::{
    self as theory, Infinite, Network, Partitioned, Priority, QueueingError, Unstable,
};

/// What a station says about one rate under one model.
#[derive(Debug, Serialize)]
pub(super) struct Point {
    pub(super) model: &'static str,
    /// Arrivals per second.
    pub(super) rate: f64,
    #[serde(flatten)]
    pub(super) whole: Numbers,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) stages: Vec<Part>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) classes: Vec<Part>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<Part>,
    /// Why numbers are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) reasons: Vec<Reason>,
}

/// What is asked for: seconds and ratios.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Numbers {
    pub(super) load: Option<f64>,
    pub(super) wait: Option<f64>,
    pub(super) slowdown: Option<f64>,
}

/// One of several stages, classes or partitions.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) processors: Option<u32>,
    #[serde(flatten)]
    pub(super) numbers: Numbers,
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
pub(super) struct Answer {
    whole: Numbers,
    stages: Vec<Part>,
    classes: Vec<Part>,
    partitions: Vec<Part>,
    missing: Option<Infinite>,
}

type Slowdown = Result<f64, Infinite>;

fn numbers(load: f64, wait: f64, slowdown: Slowdown) -> Numbers {
    Numbers { load: Some(load), wait: Some(wait), slowdown: slowdown.ok() }
}

impl Answer {
    fn of(load: f64, wait: f64, slowdown: Slowdown) -> Answer {
        let whole = numbers(load, wait, slowdown);
        Answer { whole, missing: slowdown.err(), ..Answer::default() }
    }

    /// M/M/m, which has no slowdown.
    pub(super) fn exponential(load: f64, wait: f64) -> Answer {
        let whole = Numbers { load: Some(load), wait: Some(wait), slowdown: None };
        Answer { whole, ..Answer::default() }
    }

    pub(super) fn station(answer: theory::Answer) -> Answer {
        Answer::of(answer.load, answer.wait, answer.slowdown)
    }

    pub(super) fn priority(answer: &Priority) -> Answer {
        let whole = Answer::of(answer.load, answer.wait, answer.slowdown);
        Answer { classes: classes(answer), ..whole }
    }

    pub(super) fn partitioned(answer: &Partitioned) -> Answer {
        let whole = Answer::of(answer.load, answer.wait, answer.slowdown);
        Answer { partitions: partitions(answer), ..whole }
    }

    pub(super) fn network(answer: &Network) -> Answer {
        let names = ["valuation", "dispatch", "execution"];
        let stages = names.into_iter().zip(&answer.stages).map(|(name, stage)| Part {
            name: name.to_owned(),
            share: None,
            processors: None,
            numbers: numbers(stage.load, stage.wait, stage.slowdown),
        });
        // A class's slowdown is relative to the valuation here, which nobody asks for.
        let mut classes = classes(&answer.valuation);
        classes.iter_mut().for_each(|class| class.numbers.slowdown = None);
        let load = answer.stages.iter().map(|stage| stage.load).fold(0.0, f64::max);
        Answer {
            stages: stages.collect(),
            classes,
            partitions: partitions(&answer.site),
            ..Answer::of(load, answer.wait, answer.slowdown)
        }
    }

    /// Without any slowdown, and without a word about it.
    pub(super) fn waits_only(mut self) -> Answer {
        let parts = self.stages.iter_mut().chain(&mut self.classes).chain(&mut self.partitions);
        parts.for_each(|part| part.numbers.slowdown = None);
        self.whole.slowdown = None;
        self.missing = None;
        self
    }
}

fn classes(answer: &Priority) -> Vec<Part> {
    let part = |(number, class): (usize, &theory::ClassAnswer)| Part {
        name: format!("class {number}"),
        share: Some(class.share),
        processors: None,
        numbers: numbers(class.load, class.wait, class.slowdown),
    };
    (1..).zip(&answer.classes).map(part).collect()
}

fn partitions(answer: &Partitioned) -> Vec<Part> {
    let part = |(number, partition): (usize, &theory::Partition)| Part {
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
        answer: Result<Answer, QueueingError>,
    ) -> Result<Point, QueueingError> {
        let (answer, reasons) = match answer {
            Ok(answer) => {
                let reasons = answer.missing.map(Reason::infinite).into_iter().collect();
                (answer, reasons)
            }
            Err(QueueingError::Unstable(why)) => (Answer::default(), vec![Reason::unstable(&why)]),
            Err(QueueingError::Infinite(why)) => (Answer::default(), vec![Reason::infinite(why)]),
            Err(bad) => return Err(bad),
        };
        let Answer { whole, stages, classes, partitions, .. } = answer;
        Ok(Point { model, rate, whole, stages, classes, partitions, reasons })
    }

    /// All parts, in the order of the document.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.stages.iter().chain(&self.classes).chain(&self.partitions)
    }

    /// Why there is no wait, or no slowdown, in one word; a dash if nobody asked.
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
