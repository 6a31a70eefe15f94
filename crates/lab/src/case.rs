//! What an experiment is run with: its seed, its size, and a value for each of its parameters.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tradewind_io::swf::Log;

use crate::experiment::Experiment;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A few seconds for everything: enough to see whether it works.
    Quick,
    /// The papers' own sizes.
    Full,
}

impl Size {
    /// `quick` or `full`.
    pub fn name(self) -> &'static str {
        match self {
            Size::Quick => "quick",
            Size::Full => "full",
        }
    }
}

/// An assumption of an experiment that may be set.
#[derive(Debug)]
pub struct Parameter {
    /// Lower case with hyphens; the same name in two experiments means the same.
    pub name: &'static str,
    /// What it is, in a few words.
    pub meaning: &'static str,
    /// What the paper says of it; `None` where it is silent.
    pub stated: Option<&'static str>,
    /// Default, range and values of the sweep.
    pub kind: Kind,
}

/// The values of a parameter.
#[derive(Debug)]
pub enum Kind {
    /// A number in a range.
    Number {
        /// Value used here by default.
        default: f64,
        /// The minimum and the greatest that may be set.
        range: (f64, f64),
        /// What the sensitivity of the results is measured with; without the default.
        sweep: &'static [f64],
    },
    /// One of a few words; the sweep goes through all of them.
    Word {
        /// Value used here by default.
        default: &'static str,
        /// All of them.
        words: &'static [&'static str],
    },
}

/// A value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A value of [`Kind::Number`].
    Number(f64),
    /// A value of [`Kind::Word`].
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Word(word) => word.fmt(f),
        }
    }
}

impl Parameter {
    /// Value used here by default.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Word { default, .. } => Value::Word(default),
        }
    }

    /// The values that the sensitivity table tries beside the default.
    pub fn sweep(&self) -> Vec<Value> {
        match self.kind {
            Kind::Number { sweep, .. } => sweep.iter().copied().map(Value::Number).collect(),
            Kind::Word { default, words } => {
                words.iter().copied().filter(|word| *word != default).map(Value::Word).collect()
            }
        }
    }

    /// A value from text.
    ///
    /// # Errors
    /// What values there are, if `text` is none of them.
    pub fn parse(&self, text: &str) -> Result<Value, CaseError> {
        let found = match self.kind {
            Kind::Number { range: (low, high), .. } => {
                let number = text.parse().ok().filter(|number| (low..=high).contains(number));
                number.map(Value::Number)
            }
            Kind::Word { words, .. } => {
                words.iter().copied().find(|word| *word == text).map(Value::Word)
            }
        };
        let values = || match self.kind {
            Kind::Number { range: (low, high), .. } => format!("a number from {low} to {high}"),
            Kind::Word { words, .. } => format!("one of: {}", words.join(", ")),
        };
        found.ok_or_else(|| CaseError { parameter: self.name, values: values() })
    }
}

/// A value that a parameter does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseError {
    /// The parameter's name.
    pub parameter: &'static str,
    /// What it takes.
    pub values: String,
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` takes {}", self.parameter, self.values)
    }
}

impl std::error::Error for CaseError {}

/// What one run of an experiment depends on, and nothing else.
#[derive(Debug, Clone)]
pub struct Case {
    /// All that is drawn follows from it.
    pub seed: u64,
    /// How much is run.
    pub size: Size,
    /// By the names of the experiment's parameters.
    values: BTreeMap<&'static str, Value>,
    /// By name: those of the experiment's logs that are there.
    logs: BTreeMap<&'static str, LogFile>,
}

/// A log that a run depends on.
#[derive(Debug, Clone)]
pub struct LogFile {
    /// What is in it.
    pub log: Arc<Log>,
    /// Of the file.
    pub sha256: String,
}

impl Case {
    /// `experiment` with our values.
    pub fn new(experiment: &Experiment, seed: u64, size: Size) -> Case {
        let value = |parameter: &&Parameter| (parameter.name, parameter.default());
        let values = experiment.parameters.iter().map(value).collect();
        Case { seed, size, values, logs: BTreeMap::new() }
    }

    /// The same with another value of `parameter`.
    #[must_use]
    pub fn with(mut self, parameter: &Parameter, value: Value) -> Case {
        self.values.insert(parameter.name, value);
        self
    }

    /// The same with one of the experiment's logs.
    #[must_use]
    pub fn with_log(mut self, name: &'static str, log: LogFile) -> Case {
        self.logs.insert(name, log);
        self
    }

    /// The log of this name; `None` if it is not there.
    pub fn log(&self, name: &str) -> Option<&Log> {
        self.logs.get(name).map(|file| file.log.as_ref())
    }

    /// The names of the logs that are there, each with the SHA-256 of its file.
    pub fn logs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.logs.iter().map(|(name, file)| (*name, file.sha256.as_str()))
    }

    /// The value of `parameter`.
    pub fn value(&self, parameter: &Parameter) -> Value {
        self.values.get(parameter.name).copied().unwrap_or_else(|| parameter.default())
    }

    /// The value of a parameter of numbers; not a number for one of words.
    pub fn number(&self, parameter: &Parameter) -> f64 {
        match self.value(parameter) {
            Value::Number(number) => number,
            Value::Word(_) => f64::NAN,
        }
    }

    /// The value of the parameter of this name, if it is one of numbers.
    pub(crate) fn number_named(&self, name: &str) -> Option<f64> {
        match self.values.get(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The value of a parameter of words; empty for one of numbers.
    pub fn word(&self, parameter: &Parameter) -> &'static str {
        match self.value(parameter) {
            Value::Word(word) => word,
            Value::Number(_) => "",
        }
    }

    /// In words that are the same only for the same case: `seed=1 size=quick rho=1`.
    pub fn key(&self) -> String {
        let mut key = format!("seed={} size={}", self.seed, self.size.name());
        for (name, value) in &self.values {
            key.push_str(&format!(" {name}={value}"));
        }
        for (name, file) in &self.logs {
            key.push_str(&format!(" {name}={}", file.sha256));
        }
        key
    }
}
