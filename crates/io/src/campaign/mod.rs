//! A campaign: workloads × policies × rules × loads × seeds. What a TOML or JSON file says, or
//! the options of the command line.

mod ranges;
mod read;
mod size;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;
use tradewind_model::{Span, Time};

use crate::diagnostics::Diagnostics;
use crate::input::{self, Input};
use crate::kind::{self, FileKind};

pub use ranges::{OfferedLoad, Seeds, Shard};
pub(crate) use read::beside;
pub use size::{MemorySize, NodeSize};
pub use words::{
    Dependencies, EstimateKind, Homes, Keyword, LogField, MemoryField, Output, Overrun, Semantics,
};

/// Everything that is to be run. Serialised, it shows whether two campaigns are the same: paths
/// of files are left out, as their contents count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Campaign {
    /// What it is about.
    #[serde(skip)]
    pub title: Option<String>,
    /// At least one, their names differ.
    pub workloads: Vec<Workload>,
    /// Names of policies with their parameters, as written; at least one, all different.
    pub policies: Vec<String>,
    /// What decides in the policy `command`, if that is one of them: a command of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// At least one.
    pub semantics: Vec<Semantics>,
    /// At least one.
    pub overruns: Vec<Overrun>,
    /// At least one.
    pub estimates: Vec<EstimateKind>,
    /// Offered loads to scale to; none: workloads stay as they are.
    pub loads: Vec<OfferedLoad>,
    /// One replication for each.
    pub seeds: Option<Seeds>,
    /// What metrics leave out.
    pub trim: Trim,
    /// What each run writes, in this order.
    pub outputs: Vec<Output>,
}

/// Where jobs come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Workload {
    /// In tables and folders.
    pub name: String,
    /// Paths of logs that are replayed together; `-` is standard input. None with a model.
    #[serde(serialize_with = "names")]
    pub logs: Vec<String>,
    /// A model with its parameters in brackets, from which jobs are drawn instead.
    pub model: Option<String>,
    /// How many users to draw from each log's, with replacement.
    pub users: Option<u32>,
    /// Processors of the machine, if the logs' headers do not count. None with a grid.
    pub procs: Option<u32>,
    /// Path of a grid file: the sites to run on.
    #[serde(serialize_with = "name", skip_serializing_if = "Option::is_none")]
    pub grid: Option<String>,
    /// Path of a file of outages.
    #[serde(serialize_with = "name", skip_serializing_if = "Option::is_none")]
    pub outages: Option<String>,
    /// Path of a side file: budgets, deadlines and the like.
    #[serde(serialize_with = "name", skip_serializing_if = "Option::is_none")]
    pub side: Option<String>,
    /// Jobs submitted earlier are left out.
    #[serde(serialize_with = "seconds")]
    pub from: Option<Time>,
    /// Jobs submitted then or later are left out.
    #[serde(serialize_with = "seconds")]
    pub to: Option<Time>,
    /// By what submissions' distances from the first are divided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squeeze: Option<u32>,
    /// At which sites of the grid jobs are submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homes: Option<Homes>,
    /// Which jobs are submitted when others are over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// By which fields of a log its jobs keep to pools of the grid; each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_to: Vec<LogField>,
    /// Which memory of jobs is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryField>,
    /// The law by which jobs become moldable, with its parameters in brackets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moldable: Option<String>,
    /// Which jobs are preemptible, with parameters in brackets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptible: Option<String>,
    /// The shared nodes of the machine, where memory is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeSize>,
}

/// Spans at both ends of a replay of which the metrics leave out the submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trim {
    /// From the first submission on.
    pub warm_up: Span,
    /// Up to the last submission.
    pub cool_down: Span,
}

impl Serialize for Trim {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        [self.warm_up.0, self.cool_down.0].serialize(to)
    }
}

impl Campaign {
    /// Whether a seed makes a difference.
    pub fn draws(&self) -> bool {
        self.workloads.iter().any(Workload::draws)
    }

    /// The seeds, also where none are given but something is drawn.
    pub fn seeds(&self) -> Option<Seeds> {
        self.seeds.or(self.draws().then_some(Seeds::DEFAULT))
    }
}

impl Workload {
    /// The most users that are drawn.
    pub const MAX_USERS: u32 = 1_000_000;
    /// The most times that jobs may be submitted faster.
    pub const MAX_SQUEEZE: u32 = 1_000_000_000;

    /// Whether it may depend on a seed.
    pub fn draws(&self) -> bool {
        let drawn = [&self.model, &self.grid, &self.side];
        let laws = [&self.moldable, &self.preemptible];
        drawn.iter().chain(&laws).any(|given| given.is_some()) || self.users.is_some()
    }

    /// At which sites jobs are submitted, also if nothing is said: a model belongs to no site.
    pub fn homes(&self) -> Homes {
        let own = if self.model.is_some() { Homes::Nodes } else { Homes::Log };
        self.homes.unwrap_or(own)
    }

    /// Every file that it is made of.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.logs.iter().chain(&self.grid).chain(&self.outages).chain(&self.side)
    }

    /// A name for logs that were given none: theirs, joined.
    pub fn name_of(logs: &[String]) -> String {
        let names: Vec<&str> = logs.iter().map(|path| log_name(path)).collect();
        names.join("+")
    }
}

fn names<S: serde::Serializer>(logs: &[String], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(logs.iter().map(|path| log_name(path)))
}

fn name<S: serde::Serializer>(path: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(log_name).serialize(to)
}

fn seconds<S: serde::Serializer>(time: &Option<Time>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(to)
}

/// What is wrong with a name and its parameters, if anything: a message and a hint.
pub type Check<'c> = &'c dyn Fn(&str) -> Option<(String, String)>;

/// Those who know what this crate does not.
#[derive(Clone, Copy)]
pub struct Checks<'c> {
    /// Checks the text of a policy.
    pub policy: Check<'c>,
    /// Models of workloads.
    pub model: Check<'c>,
    /// Laws by which jobs become moldable.
    pub moldable: Check<'c>,
    /// Which jobs are preemptible.
    pub preemptible: Check<'c>,
}

/// Reads the campaign in the file `path`; `-` is standard input. Paths in it start from its
/// folder.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str, checks: Checks<'_>) -> Result<(Campaign, Diagnostics), Diagnostics> {
    parse(&input::read(path)?, checks)
}

/// Reads a campaign and the warnings about it.
///
/// # Errors
/// All that is wrong with it, by line.
pub fn parse(input: &Input, checks: Checks<'_>) -> Result<(Campaign, Diagnostics), Diagnostics> {
    kind::expect(FileKind::Campaign, input, read::parse(input, checks))
}

/// The name of a log without its folders and endings.
pub fn log_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.strip_suffix(".swf").unwrap_or(name)
}
