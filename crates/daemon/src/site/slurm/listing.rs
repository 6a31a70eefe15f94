//! What `squeue --json`, `sinfo --json` and `scontrol show reservation` say.
//!
//! Read with care: a field that is not there is empty, numbers may be wrapped as Slurm 23 does
//! (`{"set": true, "number": 5}`), and an answer that lists errors or is cut off is none.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tradewind_model::Time;

use super::{hostlist, moment};
use crate::site::resources::{Resources, generic, megabytes};

/// A job, whoever's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Job {
    /// Used again after a crash of the controller: it identifies nothing.
    pub id: u64,
    pub name: String,
    pub comment: String,
    pub user: String,
    /// The first of its states.
    pub state: String,
    pub reason: String,
    /// 0: not known, as the others below.
    pub submitted: i64,
    pub start: i64,
    pub end: i64,
    /// All that it may run in.
    pub partitions: Vec<String>,
    /// Those that it has.
    pub nodes: Vec<String>,
    /// Of all nodes together.
    pub cpus: u32,
    /// Megabytes of all nodes together; 0: not asked for.
    pub memory: u64,
    /// Of all nodes together.
    pub gpus: u32,
    /// As `wait` returns it.
    pub status: i32,
    /// How often it was begun before.
    pub restarts: u32,
    pub is_held: bool,
    /// A job of higher priority takes its nodes, or has taken them: it was told so, and may have had
    /// some time left.
    pub is_preempted: bool,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Node {
    pub name: String,
    pub is_up: bool,
    /// Its state and the reason, for people.
    pub state: String,
    pub partitions: Vec<String>,
    pub features: Vec<String>,
    pub cpus: u32,
    pub has: Resources,
}

impl Node {
    pub(super) fn gpus(&self) -> u32 {
        gpus(&self.has.generic)
    }
}

/// A reservation, whoever's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reservation {
    pub name: String,
    pub start: Time,
    pub end: Time,
    pub nodes: Vec<String>,
}

#[derive(Deserialize)]
struct Answer<T> {
    #[serde(default)]
    errors: Vec<Trouble>,
    #[serde(alias = "jobs", alias = "nodes", alias = "sinfo")]
    rows: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Trouble {
    description: String,
    error: String,
    source: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawJob {
    job_id: Value,
    name: Value,
    comment: Value,
    user_name: Value,
    job_state: Value,
    state_reason: Value,
    submit_time: Value,
    start_time: Value,
    end_time: Value,
    partition: Value,
    nodes: Value,
    cpus: Value,
    tres_alloc_str: Value,
    exit_code: Value,
    restart_cnt: Value,
    priority: Value,
    preempt_time: Value,
    gres_detail: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawNode {
    name: Value,
    state: Value,
    state_flags: Value,
    reason: Value,
    partitions: Value,
    active_features: Value,
    cpus: Value,
    real_memory: Value,
    gres: Value,
}

/// The jobs of an answer.
///
/// # Errors
/// What is wrong with it: it is cut off, or tells of errors.
pub(super) fn jobs(answer: &[u8]) -> Result<Vec<Job>, String> {
    rows::<RawJob>(answer).map(|rows| rows.iter().map(job).collect())
}

/// The nodes of an answer.
///
/// # Errors
/// As [`jobs`].
pub(super) fn nodes(answer: &[u8]) -> Result<Vec<Node>, String> {
    rows::<RawNode>(answer).map(|rows| rows.iter().map(node).collect())
}

fn rows<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<Vec<T>, String> {
    let answer: Answer<T> =
        serde_json::from_slice(answer).map_err(|error| match error.is_eof() {
            true => "the answer was cut off".to_owned(),
            false => format!("the answer cannot be read: {error}"),
        })?;
    if let Some(Trouble { description, error, source }) = answer.errors.first() {
        let all = [description, error, source].map(String::as_str);
        let said: Vec<&str> = all.into_iter().filter(|text| !text.is_empty()).collect();
        return Err(format!("the answer lists an error: {}", said.join(", ")));
    }
    answer.rows.ok_or_else(|| "the answer lists nothing".to_owned())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A number, bare or wrapped; 0 without one.
fn number(value: &Value) -> i64 {
    let bare = value.get("number").or_else(|| value.get("return_code")).unwrap_or(value);
    let fraction = || bare.as_f64().map(|number| number as i64);
    bare.as_i64().or_else(fraction).unwrap_or(0)
}

fn small(value: &Value) -> u32 {
    u32::try_from(number(value)).unwrap_or(0)
}

/// A list, or a text with commas.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::String(text) => {
            text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn job(raw: &RawJob) -> Job {
    let resources = text(&raw.tres_alloc_str);
    let memory = resource(&resources, "mem").map_or(0, megabytes);
    Job {
        id: number(&raw.job_id).unsigned_abs(),
        name: text(&raw.name),
        comment: text(&raw.comment),
        user: text(&raw.user_name),
        state: words(&raw.job_state).first().cloned().unwrap_or_default(),
        reason: text(&raw.state_reason),
        submitted: number(&raw.submit_time),
        start: number(&raw.start_time),
        end: number(&raw.end_time),
        partitions: words(&raw.partition),
        nodes: hostlist::expand(&text(&raw.nodes)),
        cpus: small(&raw.cpus),
        memory,
        gpus: words(&raw.gres_detail).iter().map(|node| gpus(&generic(node))).sum(),
        status: status(&raw.exit_code),
        restarts: small(&raw.restart_cnt),
        is_held: raw.priority.as_i64() == Some(0),
        is_preempted: number(&raw.preempt_time) > 0,
    }
}

/// As `wait` returns it, from the bare number or from Slurm 23's parts.
fn status(value: &Value) -> i32 {
    let signal =
        value.get("signal").and_then(|signal| signal.get("signal_id").or(signal.get("id")));
    let status = match signal.map(number).filter(|signal| *signal > 0) {
        Some(signal) => signal,
        None if value.is_object() => number(value.get("return_code").unwrap_or(value)) << 8,
        None => number(value),
    };
    i32::try_from(status).unwrap_or(1 << 8)
}

/// `mem` of `cpu=4,mem=4000M,node=1`.
fn resource<'a>(all: &'a str, name: &str) -> Option<&'a str> {
    all.split(',').find_map(|one| one.strip_prefix(name)?.strip_prefix('='))
}

/// Flags of a node on which nothing starts.
const UNUSABLE: [&str; 13] = [
    "DOWN",
    "DRAIN",
    "DRAINED",
    "DRAINING",
    "FAIL",
    "MAINTENANCE",
    "NOT_RESPONDING",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWER_DOWN",
    "REBOOT_ISSUED",
    "INVALID_REG",
    "DYNAMIC_NORM_GONE",
];
const USABLE: [&str; 4] = ["IDLE", "MIXED", "ALLOCATED", "COMPLETING"];

fn node(raw: &RawNode) -> Node {
    let states: Vec<String> = words(&raw.state)
        .into_iter()
        .chain(words(&raw.state_flags))
        .map(|word| word.to_ascii_uppercase())
        .collect();
    let is = |list: &[&str]| states.iter().any(|state| list.contains(&state.as_str()));
    let reason = text(&raw.reason);
    let state = states.join("+").to_ascii_lowercase();
    Node {
        name: text(&raw.name),
        is_up: is(&USABLE) && !is(&UNUSABLE),
        state: if reason.is_empty() { state } else { format!("{state} ({reason})") },
        partitions: words(&raw.partitions),
        features: words(&raw.active_features),
        cpus: small(&raw.cpus),
        has: Resources {
            memory: number(&raw.real_memory).unsigned_abs(),
            generic: generic(&text(&raw.gres)),
        },
    }
}

/// How many of them are accelerators.
fn gpus(generic: &BTreeMap<String, u64>) -> u32 {
    generic.get("gpu").map_or(0, |count| u32::try_from(*count).unwrap_or(u32::MAX))
}

/// The reservations that `scontrol -o show reservation` lists.
///
/// # Errors
/// If a line is no reservation.
pub(super) fn reservations(answer: &str) -> Result<Vec<Reservation>, String> {
    if answer.starts_with("No reservations in the system") {
        return Ok(Vec::new());
    }
    let lines = answer.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let field = |name: &str| {
                let find =
                    |word: &'_ str| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
                line.split_ascii_whitespace().find_map(find)
            };
            let time = |name| field(name).and_then(|text| moment::parse(&text));
            let nodes = field("Nodes").filter(|nodes| nodes != "(null)").unwrap_or_default();
            let read = || {
                Some(Reservation {
                    name: field("ReservationName")?,
                    start: time("StartTime")?,
                    end: time("EndTime")?,
                    nodes: hostlist::expand(&nodes),
                })
            };
            read().ok_or_else(|| format!("no reservation: {line:?}"))
        })
        .collect()
}
