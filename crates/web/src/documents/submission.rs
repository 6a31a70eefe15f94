//! What is submitted to run. [`Submission`] describes what `tradewind_io::submission::document`
//! reads and writes; it is the reader that counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::{Credits, Thousandths};
use super::limit::Times;

/// A job with every field spelt out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[schema(example = json!({
    "name": "hello", "command": ["echo", "hello"], "nodes": 1, "time": 60, "budget": 100
}))]
pub struct Submission {
    /// At most 128 characters.
    #[schema(required = true, min_length = 1, max_length = 128)]
    pub name: String,
    /// A script with a `#!` line. Either this or `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Arguments of the script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub arguments: Vec<String>,
    /// A program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub command: Vec<String>,
    /// Nodes at least; without it, as many as the tasks need at each pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub nodes: Option<u32>,
    /// Nodes at most, `nodes` or more; without it, `nodes` is the number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub max_nodes: Option<u32>,
    /// Tasks of all nodes together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub ntasks: Option<u32>,
    /// Tasks of a node at most; without `ntasks`, each node has as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub ntasks_per_node: Option<u32>,
    /// Processors of each task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 16_777_216)]
    pub cpus_per_task: Option<u32>,
    /// Shapes of which the job gets one, 1 to 32, instead of `nodes` and `time`; a text such as
    /// `64x1h,32x1:50` will do, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub shapes: Vec<SubmittedShape>,
    /// Groups of tasks that differ and start together, 2 to 16, instead of `nodes` and `time`; a text
    /// such as `1x1h@2@gpu,3x10m` will do, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub groups: Vec<SubmittedGroup>,
    /// How long it may run.
    #[schema(required = false)]
    pub time: TimeLimit,
    /// What `time` counts: `wall` is wall-clock time, the same on all nodes; `work` is seconds on a
    /// node of performance 1. Left out: as the project or the site's owner says, else `wall`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Times>,
    /// Each node's at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_performance: Option<Thousandths>,
    /// Each node's per second at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<Credits>,
    /// The whole job's cost at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Credits>,
    /// What its completion in time is worth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Credits>,
    /// Earliest start, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earliest_start: Option<i64>,
    /// Deadline, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<i64>,
    /// `start`, `finish`, `runtime`, `cost`, `processor-time`, `energy` or `sum:ATTRIBUTE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimize: Option<String>,
    /// Higher comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// What each node must offer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(nullable)]
    pub attributes: BTreeMap<String, Attribute>,
    /// Licences that it takes along wherever it runs, by name: at least 1 of each.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(nullable)]
    pub licences: BTreeMap<String, u32>,
    /// What it reads before its work and leaves behind after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<super::JobData>,
    /// At one of these; empty: anywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub sites: Vec<String>,
    /// In one of these pools; empty: anywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub partitions: Vec<String>,
    /// `site`: all nodes lie at one site, whichever it is; `grid` (default): at one or several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// Name of the project that pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Working folder of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Standard output; `%j` is the job's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// File for standard error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// File for standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// `truncate` or `append`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_mode: Option<String>,
    /// Variables that it sees besides those of the site.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(nullable)]
    pub environment: BTreeMap<String, String>,
    /// Dependencies of the job.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub after: Vec<Dependency>,
    /// Indices, as in `0-9%2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Not before its user says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
    /// `fail`, `rerun` or `hold`: what is done when its nodes die.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_lost: Option<String>,
    /// A site may take its nodes away for jobs of higher priority: then it is planned again, whatever
    /// `on_lost` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptible: Option<bool>,
    /// How long parts at several sites wait for each other, to begin together; 0: each begins by
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gather: Option<i64>,
    /// What happens if its accepted quote is not kept: `requeue` (default), `cancel` or `hold`.
    pub on_breach: Option<String>,
    /// Mail about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail: Option<Mail>,
    /// A remark, kept with the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The number of the quote that is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<u64>,
    /// Options for a site's own manager.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub passed_through: Vec<Passed>,
    /// It is not passed on to another market.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stay_home: Option<bool>,
    /// It is passed on to none but these markets, by the names of peers here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub peers: Vec<String>,
    /// It is passed on to none of these markets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(nullable)]
    pub exclude_peers: Vec<String>,
}

/// Equal tasks of a job whose tasks differ.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SubmittedGroup {
    /// Number of nodes.
    #[schema(required = true, minimum = 1, maximum = 16_777_216)]
    pub nodes: u32,
    /// Seconds, counted as `times` says; `10m` and its like will do, too.
    #[schema(required = true, minimum = 1)]
    pub time: i64,
    /// Each node's at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_performance: Option<Thousandths>,
    /// What each node of the group must offer besides.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(nullable)]
    pub attributes: BTreeMap<String, Attribute>,
}

/// A number of nodes, and how long the job takes on as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct SubmittedShape {
    /// Number of nodes.
    #[schema(required = true, minimum = 1, maximum = 16_777_216)]
    pub nodes: u32,
    /// Seconds, counted as `times` says; `10m` and its like will do, too.
    #[schema(required = true, minimum = 1)]
    pub time: i64,
}

/// Seconds, counted as `times` says, or seconds of wall-clock time by class of nodes; `10m` and its
/// like will do, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum TimeLimit {
    /// As in `"10m"`.
    Text(String),
    /// A limit in seconds.
    Seconds(i64),
    /// Limits in seconds, by class of nodes.
    Classes(BTreeMap<String, i64>),
}

impl Default for TimeLimit {
    fn default() -> TimeLimit {
        TimeLimit::Seconds(0)
    }
}

/// What an attribute of a node must be: one of several texts, or just that.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Attribute {
    /// It must be this.
    Flag(bool),
    /// It must be this.
    Text(String),
    /// It must be one of these.
    OneOf(Vec<String>),
    /// It must be this, or more.
    Number(Thousandths),
}

/// A job that another waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({"when": "afterok", "job": 6}))]
pub struct Dependency {
    /// `afterok`, `afternotok`, `afterany`, `after`, `aftercorr` or `singleton`.
    pub when: String,
    /// Which; `singleton` names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
}

/// Mail about a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct Mail {
    /// To whom: one plain address, or the name of a user of the mail system.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        max_length = 254,
        pattern = "^[A-Za-z0-9_][A-Za-z0-9._+=~-]*(@[A-Za-z0-9_][A-Za-z0-9.-]*)?$"
    )]
    pub to: Option<String>,
    /// When it begins.
    pub begin: bool,
    /// When it ends well.
    pub end: bool,
    /// When it fails.
    pub fail: bool,
}

/// An option for a site's own manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Passed {
    /// Name of the option.
    pub option: String,
    /// Value of the option.
    pub value: String,
}

/// A script with `#SBATCH` and `#TRADEWIND` lines, and options as on a command line, which win.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "script": "#!/bin/sh\n#SBATCH --time=1\necho hello\n",
    "options": [["--budget", "5"]]
}))]
pub struct ScriptSubmission {
    /// All of it; left out if the options say `--wrap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Arguments of the script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Words of each option: its name, and its value if it has one. Must be there, and may be
    /// empty: it distinguishes this form from the other.
    pub options: Vec<Vec<String>>,
    /// The script's file name, for messages and as the job's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The user's variables, for `--export` and `SBATCH_…`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The user's time zone, as in `Europe/Oslo`: for moments such as `16:00`; UTC if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}
