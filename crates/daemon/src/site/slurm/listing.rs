//! What `squeue --json` and `scontrol show reservation` say.
//!
//! Read with care: a field that is not there is empty, numbers may be wrapped as Slurm does since
//! 23.02 (`{"set": true, "number": 5}`), states may be lists, and an answer that lists errors or
//! is cut off is none.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use tradewind_model::{Span, Time};

use super::asked::AskedNodes;
use super::held::{HeldPart, RawResources};
use super::{hostlist, moment};
use crate::site::resources::{generic, megabytes};

/// A job, whoever's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::site) struct SlurmJob {
    /// Used again after a crash of the controller: it identifies nothing.
    pub id: u64,
    pub name: String,
    pub comment: String,
    pub user: String,
    /// Its state as `squeue --format %T` writes it: of several, the one that says most.
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
    /// What it has of each node, where Slurm lists it.
    pub parts: Vec<HeldPart>,
    /// As `wait` returns it.
    pub status: i32,
    /// How often it was begun before.
    pub restarts: u32,
    pub is_held: bool,
    /// A job of higher priority takes its nodes, or has taken them: it was told so, and may have had
    /// some time left.
    pub is_preempted: bool,
    /// What it asks for, if it waits, or asked for, if it is over.
    pub asked: Option<Box<AskedNodes>>,
}

/// A reservation, whoever's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedReservation {
    pub name: String,
    pub start: Time,
    pub end: Time,
    pub nodes: Vec<String>,
}

#[derive(Deserialize)]
struct SlurmReply<T> {
    #[serde(default)]
    errors: Vec<SlurmTrouble>,
    #[serde(alias = "jobs")]
    rows: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SlurmTrouble {
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
    hold: Value,
    preempt_time: Value,
    gres_detail: Value,
    node_count: Value,
    time_limit: Value,
    account: Value,
    dependency: Value,
    array_task_string: Value,
    resv_name: Value,
    tres_req_str: Value,
    shared: Value,
    #[serde(deserialize_with = "or_none")]
    job_resources: RawResources,
}

/// The jobs of an answer.
///
/// # Errors
/// What is wrong with it: it is cut off, or tells of errors.
pub(super) fn jobs(answer: &[u8]) -> Result<Vec<SlurmJob>, String> {
    rows::<RawJob>(answer).map(|rows| rows.iter().map(job).collect())
}

fn rows<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<Vec<T>, String> {
    let answer: SlurmReply<T> =
        serde_json::from_slice(answer).map_err(|error| match error.is_eof() {
            true => "the answer was cut off".to_owned(),
            false => format!("the answer cannot be read: {error}"),
        })?;
    if let Some(SlurmTrouble { description, error, source }) = answer.errors.first() {
        let all = [description, error, source].map(String::as_str);
        let said: Vec<&str> = all.into_iter().filter(|text| !text.is_empty()).collect();
        return Err(format!("the answer lists an error: {}", said.join(", ")));
    }
    answer.rows.ok_or_else(|| "the answer lists nothing".to_owned())
}

/// What may be null.
fn or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<RawResources, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
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

/// States that come beside another one, and say more than it; the first of them counts.
const BESIDE: [&str; 12] = [
    "COMPLETING",
    "STAGE_OUT",
    "CONFIGURING",
    "RESIZING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "STOPPED",
    "REVOKED",
    "RESV_DEL_HOLD",
    "SIGNALING",
];

/// The one state of several that `squeue --format %T` would write.
fn state(all: &[String]) -> String {
    let beside = BESIDE.iter().find(|state| all.iter().any(|it| it == *state));
    let first = all.first().map(String::as_str);
    beside.copied().or(first).unwrap_or_default().to_owned()
}

/// Whether there is a number, bare or wrapped, and it is 0.
fn is_zero(value: &Value) -> bool {
    let is_set = value.get("set").and_then(Value::as_bool).unwrap_or(true);
    value.get("number").unwrap_or(value).as_i64() == Some(0) && is_set
}

/// Whether there is no number: null, or wrapped without one.
fn is_unset(value: &Value) -> bool {
    let is_set = value.get("set").and_then(Value::as_bool);
    value.is_null() || is_set == Some(false)
}

/// What a job asks for.
fn asked(raw: &RawJob) -> AskedNodes {
    let minutes = number(&raw.time_limit);
    AskedNodes {
        nodes: small(&raw.node_count),
        limit: (minutes > 0).then(|| Span(minutes.saturating_mul(60))),
        priority: (!is_unset(&raw.priority)).then(|| number(&raw.priority).unsigned_abs()),
        account: text(&raw.account),
        dependency: text(&raw.dependency),
        array: text(&raw.array_task_string),
        reservation: text(&raw.resv_name),
        is_exclusive: words(&raw.shared).iter().any(|word| word == "none"),
    }
}

fn job(raw: &RawJob) -> SlurmJob {
    let mut job = listed(raw);
    if job.is_waiting() {
        let wanted = text(&raw.tres_req_str);
        let gpus = resource(&wanted, "gres/gpu").and_then(|count| count.parse().ok());
        job.memory = resource(&wanted, "mem").map_or(0, megabytes);
        job.gpus = gpus.unwrap_or(0);
    }
    job.asked = (job.is_waiting() || job.is_over()).then(|| Box::new(asked(raw)));
    job
}

/// What jobs in all states have.
fn listed(raw: &RawJob) -> SlurmJob {
    let resources = text(&raw.tres_alloc_str);
    let memory = resource(&resources, "mem").map_or(0, megabytes);
    SlurmJob {
        id: number(&raw.job_id).unsigned_abs(),
        name: text(&raw.name),
        comment: text(&raw.comment),
        user: text(&raw.user_name),
        state: state(&words(&raw.job_state)),
        reason: text(&raw.state_reason),
        submitted: number(&raw.submit_time),
        start: number(&raw.start_time),
        end: number(&raw.end_time),
        partitions: words(&raw.partition),
        nodes: hostlist::expand(&text(&raw.nodes)),
        cpus: small(&raw.cpus),
        memory,
        parts: raw.job_resources.parts(small(&raw.cpus)),
        gpus: words(&raw.gres_detail).iter().map(|node| gpus(&generic(node))).sum(),
        status: status(&raw.exit_code),
        restarts: small(&raw.restart_cnt),
        is_held: raw.hold.as_bool().unwrap_or_else(|| is_zero(&raw.priority)),
        is_preempted: number(&raw.preempt_time) > 0,
        asked: None,
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

/// How many of them are accelerators.
fn gpus(generic: &BTreeMap<String, u64>) -> u32 {
    generic.get("gpu").map_or(0, |count| u32::try_from(*count).unwrap_or(u32::MAX))
}

/// The reservations that `scontrol -o show reservation` lists.
///
/// # Errors
/// If a line is no reservation.
pub(super) fn reservations(answer: &str) -> Result<Vec<ListedReservation>, String> {
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
                Some(ListedReservation {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded answers about the same five jobs: one runs, one ended with 3, one died of signal 9, one
    /// is held, and one has an accelerator.
    #[test]
    fn every_version_lists_the_same_jobs() {
        for (version, text) in [
            ("22.05", include_str!("samples/squeue-22.05.json")),
            ("24.11", include_str!("samples/squeue-24.11.json")),
            ("26.05", include_str!("samples/squeue-26.05.json")),
        ] {
            let shown: Vec<String> = jobs(text.as_bytes())
                .unwrap()
                .iter()
                .map(|it| {
                    let (nodes, partitions) = (it.nodes.join("+"), it.partitions.join("+"));
                    let known =
                        it.submitted > 0 && (it.start == 0 || it.end > 0) && !it.is_unknown();
                    let numbers = (it.cpus, it.gpus, it.status, it.is_held, known);
                    format!("{} {} {} {partitions} {nodes} {numbers:?}", it.id, it.name, it.state)
                })
                .collect();
            let wanted = [
                "1 a b RUNNING main a1 (2, 0, 0, false, true)",
                "2 wrap FAILED main a3 (1, 0, 768, false, true)",
                "3 wrap FAILED main a3 (1, 0, 9, false, true)",
                "4 wrap PENDING main+fast  (1, 0, 0, true, true)",
                "5 wrap RUNNING fast a2 (1, 1, 0, false, true)",
            ];
            assert_eq!(shown, wanted, "{version}");
        }
    }

    #[test]
    fn of_several_states_the_one_that_says_most_counts() {
        let read = |states: &str| {
            let text = format!(
                r#"{{"jobs": [{{"job_id": 7, "nodes": "a1", "job_state": {states},
                "priority": {{"set": true, "infinite": false, "number": 0}}}}]}}"#
            );
            jobs(text.as_bytes()).unwrap().remove(0)
        };
        let job = read(r#"["CANCELLED", "COMPLETING"]"#);
        assert_eq!((job.state.as_str(), job.has_nodes(), job.is_held), ("COMPLETING", true, true));
        assert!(read(r#"["PENDING", "REQUEUE_HOLD"]"#).is_waiting());
        let strange = read(r#"["HIBERNATING"]"#);
        assert!(strange.is_unknown() && strange.has_nodes() && !strange.is_waiting());
        assert!(!read(r#""OUT_OF_MEMORY""#).is_unknown());
    }
}
