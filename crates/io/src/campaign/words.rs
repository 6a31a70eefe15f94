//! The words of a campaign, in files and on the command line.

use serde::{Serialize, Serializer};

/// One of a closed list of words.
pub trait Keyword: Copy + Eq + 'static {
    /// Every word with its meaning and a line of help, in the order of documentation.
    const WORDS: &'static [(&'static str, Self, &'static str)];

    /// As it is written.
    fn name(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, meaning, _)| *meaning == self);
        found.map_or("", |(name, _, _)| name)
    }

    /// What `name` means.
    fn named(name: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(word, _, _)| *word == name);
        found.map(|(_, meaning, _)| *meaning)
    }

    /// All names of the keyword.
    fn names() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(name, _, _)| *name).collect()
    }
}

/// What happens in which order within one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Semantics {
    /// All ends, then all submissions, then one pass.
    #[default]
    Textbook,
    /// As the simulator pyss does it.
    Pyss,
}

/// What happens to a job that exceeds its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Overrun {
    /// It is killed.
    #[default]
    Kill,
    /// It runs on.
    Extend,
}

/// The run times that policies expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum EstimateKind {
    /// The user's request.
    #[default]
    Requested,
    /// The real run time.
    Exact,
    /// The mean of the user's last two runs.
    Predicted,
    /// The online linear learner of a published study.
    PublishedLinear,
    /// Our own learner.
    Learned,
}

/// What a run leaves in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Output {
    /// `summary.json`, which is always written.
    Summary,
    /// `jobs.csv`.
    Jobs,
    /// `schedule.csv` and `schedule.json`.
    Schedule,
    /// `trades.csv`, if there were trades.
    Trades,
    /// `refused.csv`, if any job did not run.
    Refused,
    /// `jobs.parquet`.
    Parquet,
    /// `schedule.swf`.
    Swf,
    /// Pictures of each run and of the campaign, and `report.html`.
    Report,
}

/// At which site of a grid jobs are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Homes {
    /// At their log's.
    #[default]
    Log,
    /// Jobs are assigned to the sites in turn.
    Dealt,
    /// At a random one, in proportion to nodes.
    Nodes,
    /// At their user's, which is random in proportion to nodes.
    Users,
}

/// Which jobs are submitted when others are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Dependencies {
    /// None: as logged.
    #[default]
    Ignore,
    /// Those with a preceding job, not before its end.
    Order,
    /// Those with a preceding job, their think time after its end.
    Think,
    /// Those that their users submitted soon after the end of another of theirs.
    Sessions,
}

/// A field of a log that names a part of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogField {
    /// Field 15.
    Queue,
    /// Field 16.
    Partition,
}

/// Which memory of a job is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum MemoryField {
    /// None.
    #[default]
    Ignore,
    /// Field 10, or field 7 where it is missing.
    Requested,
    /// Field 7, or field 10 where it is missing.
    Used,
}

impl Output {
    /// What is written if nothing is said.
    pub const DEFAULT: [Output; 5] =
        [Output::Summary, Output::Jobs, Output::Schedule, Output::Trades, Output::Refused];
}

impl Keyword for Semantics {
    const WORDS: &'static [(&'static str, Semantics, &'static str)] = &[
        ("textbook", Semantics::Textbook, "All ends, then all submissions, then one pass"),
        ("pyss", Semantics::Pyss, "As the simulator pyss: submissions first, a pass for each"),
    ];
}

impl Keyword for Overrun {
    const WORDS: &'static [(&'static str, Overrun, &'static str)] =
        &[("kill", Overrun::Kill, "It is killed"), ("extend", Overrun::Extend, "It runs on")];
}

impl Keyword for EstimateKind {
    const WORDS: &'static [(&'static str, EstimateKind, &'static str)] = &[
        ("requested", EstimateKind::Requested, "The user's request"),
        ("exact", EstimateKind::Exact, "The real run time"),
        ("predicted", EstimateKind::Predicted, "The mean of the user's last two runs"),
        (
            "published-linear",
            EstimateKind::PublishedLinear,
            "Learned online, as in a study of 2015",
        ),
        ("learned", EstimateKind::Learned, "Learned online, by our own learner"),
    ];
}

impl Keyword for Homes {
    const WORDS: &'static [(&'static str, Homes, &'static str)] = &[
        ("log", Homes::Log, "At the site that the grid file names for their log"),
        ("dealt", Homes::Dealt, "In turn, at sites that are wide enough"),
        ("nodes", Homes::Nodes, "At random, in proportion to the sites' nodes"),
        ("users", Homes::Users, "All of a user's at one site, drawn in proportion to nodes"),
    ];
}

impl Keyword for Dependencies {
    const WORDS: &'static [(&'static str, Dependencies, &'static str)] = &[
        ("ignore", Dependencies::Ignore, "Jobs are submitted as logged"),
        ("order", Dependencies::Order, "Not before the end of the preceding job (field 17)"),
        ("think", Dependencies::Think, "The think time (field 18) after the preceding job's end"),
        ("sessions", Dependencies::Sessions, "As long after the user's last end as in the log"),
    ];
}

impl Keyword for LogField {
    const WORDS: &'static [(&'static str, LogField, &'static str)] = &[
        ("queue", LogField::Queue, "Field 15: the attribute `queue` of a pool"),
        ("partition", LogField::Partition, "Field 16: the attribute `partition` of a pool"),
    ];
}

impl Keyword for MemoryField {
    const WORDS: &'static [(&'static str, MemoryField, &'static str)] = &[
        ("ignore", MemoryField::Ignore, "Memory is not counted"),
        (
            "requested",
            MemoryField::Requested,
            "Field 10 per processor, or field 7 if it is missing",
        ),
        ("used", MemoryField::Used, "Field 7 per processor, or field 10 if it is missing"),
    ];
}

impl Keyword for Output {
    const WORDS: &'static [(&'static str, Output, &'static str)] = &[
        ("summary", Output::Summary, "summary.json, which is always written"),
        ("jobs", Output::Jobs, "jobs.csv, a row per job"),
        ("schedule", Output::Schedule, "schedule.csv and schedule.json, sums as Batsim has them"),
        ("trades", Output::Trades, "trades.csv, a row per trade, if there were any"),
        ("refused", Output::Refused, "refused.csv, why jobs did not run, if any did not"),
        ("parquet", Output::Parquet, "jobs.parquet, for notebooks"),
        ("swf", Output::Swf, "schedule.swf, the log as it was replayed"),
        ("report", Output::Report, "pictures as SVG and PNG, and report.html"),
    ];
}

/// Words are written by name.
macro_rules! by_name {
    ($($word:ty),*) => {$(
        impl Serialize for $word {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }
    )*};
}
by_name!(Semantics, Overrun, EstimateKind, Output, Homes, Dependencies, LogField, MemoryField);
