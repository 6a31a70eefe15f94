//! Jobs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tradewind_io::links::size_text;
use utoipa::ToSchema;

use super::amount::Credits;
use super::choice::Choice;
use super::consumed::Consumed;
use super::limit::Limit;
use super::site::SiteFailure;
use super::start::Expectation;

/// A job. Lists leave out `parts`, `history` and `submission`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "id": 7, "name": "train", "user": "ana", "state": "RUNNING", "nodes": 2,
    "submitted": 1_800_000_000, "started": 1_800_000_020, "sites": ["alpha"],
    "cost_so_far": 3.5, "cost_at_most": 120.5, "paid": 0, "held": 120.5, "restarts": 0
}))]
pub struct Job {
    /// Id of the job in the market.
    pub id: u64,
    /// Name that the user gave, not unique.
    pub name: String,
    /// Name of the user.
    pub user: String,
    /// Who pays, if not the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// In Slurm's words: `PENDING`, `CONFIGURING`, `RUNNING`, `COMPLETING`, `COMPLETED`, `FAILED`,
    /// `TIMEOUT`, `CANCELLED`, `NODE_FAIL`, `OUT_OF_MEMORY` or `DEADLINE`; and `UNKNOWN` of a job at a
    /// peer of which nothing is known any more.
    pub state: String,
    /// Why it is in that state, in one word, as `squeue` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it stands, as its page says: what it waits for and since when, where it runs until when,
    /// or what happened and what it cost. Of one job, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The reason in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Sites that fail and keep it from its start or its end; left out if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing_sites: Vec<SiteFailure>,
    /// If it is one of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayPlace>,
    /// Number of nodes.
    pub nodes: u32,
    /// How its tasks became that many nodes: of one job, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The moment, in Unix seconds.
    pub submitted: i64,
    /// When its work began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<i64>,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// When its work is expected to begin; left out if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start: Option<Expectation>,
    /// Where it runs or ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// Licences that it takes along wherever it runs: names and numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub licences: BTreeMap<String, u32>,
    /// What it reads and leaves behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<JobData>,
    /// What it has paid, and what its nodes have cost since it started.
    #[serde(default)]
    pub cost_so_far: Credits,
    /// The most that it can cost in all: what it has cost once it is over; with all parts at their
    /// limits while it has nodes; with its promised window; else within its budget. Left out if
    /// there is no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_at_most: Option<Credits>,
    /// What it has paid: settled, and not refunded.
    pub paid: Credits,
    /// What is held for it now; what it does not use is refunded.
    pub held: Credits,
    /// What its nodes have consumed so far; left out where they do not say what they consume, and
    /// of what ran at a peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed: Option<Consumed>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitStatus>,
    /// How often it was started and interrupted.
    pub restarts: u32,
    /// Who wants it to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
    /// When its nodes go back to their owner, if it was given notice: Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice_until: Option<i64>,
    /// The window that was promised to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booking: Option<Booking>,
    /// The offer that it accepted last, and whether it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
    /// The peer that it went or goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Since when that peer does not answer, or is not in the configuration any more, in Unix seconds;
    /// left out if it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_silent_since: Option<i64>,
    /// Where it runs or ran there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peer_nodes: Vec<String>,
    /// What the peer has signed of its start or its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_receipt: Option<PeerReceipt>,
    /// Where it came from, if it is a peer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<Home>,
    /// If it has parts in several pools: how they begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// Its time limit where it runs or ran; while it waits in the queue, in the pools that suit it:
    /// of one job, not in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// What else it could have used when it was given its nodes: of one job, not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Its nodes, pool by pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What happened to it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// What was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::Submission>)]
    pub submission: Option<Value>,
    /// The job has been over for so long that its script and its environment were dropped: they
    /// are not in `submission`. This is the SHA-256 of the script, in hexadecimal; of a command,
    /// that of its words, each with a zero byte behind it. Left out otherwise, and in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_dropped: Option<String>,
}

impl Job {
    /// What it takes along, as in `abaqus × 4, matlab × 1`; nothing for most jobs.
    pub fn takes_along(&self) -> Option<String> {
        let one = |(name, count): (&String, &u32)| format!("{name} × {count}");
        let all: Vec<String> = self.licences.iter().map(one).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Its name; of an array with its index, as in `sweep[3]`.
    pub fn title(&self) -> String {
        array_title(&self.name, self.array.map(|place| place.index))
    }

    /// Whether it waits in the market, and not in the queue of the site to which it was submitted.
    pub fn waits_here(&self) -> bool {
        self.state == "PENDING" && self.sites.is_empty() && self.peer.is_none()
    }
}

/// The name of one job of an array.
pub(crate) fn array_title(name: &str, index: Option<u32>) -> String {
    match index {
        Some(index) => format!("{name}[{index}]"),
        None => name.to_owned(),
    }
}

/// What a peer has signed of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "statement": "{\"home\":\"k3m9\",\"job\":7,\"transfer\":[1,4],\"since\":1800000000,\"charged\":0}",
    "signature": "bm90IGEgc2lnbmF0dXJlLCBidXQgYW4gZXhhbXBsZQ=="
}))]
pub struct PeerReceipt {
    /// The bytes that are signed: job and hand-over, when it began and ended (Unix seconds), how it ended,
    /// and what it paid (micro-credits).
    pub statement: String,
    /// Their Ed25519 signature by the peer's `receipt_key`, in base64.
    pub signature: String,
}

/// Where a job came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"peer": "beta", "job": 7}))]
pub struct Home {
    /// Name of the peer.
    pub peer: String,
    /// The job's number there.
    pub job: u64,
}

/// A job's place in its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArrayPlace {
    /// The array's first job.
    pub first: u64,
    /// This one's index.
    pub index: u32,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"code": 1, "signal": 0}))]
pub struct ExitStatus {
    /// Exit code, 0 if a signal ended it.
    pub code: i32,
    /// Signal, 0 if it ended by itself.
    pub signal: i32,
}

/// A promised window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Booking {
    /// Start, in Unix seconds.
    pub start: i64,
    /// Until when, at the latest.
    pub end: i64,
    /// Names of the pools.
    pub pools: Vec<String>,
}

/// An accepted offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "quote": 12, "outcome": "breached", "pools": ["gamma/main"], "nodes": 2,
    "start": 1_800_000_100, "latest_start": 1_800_000_160, "cost": 0.03, "on_breach": "requeue",
    "decided": 1_800_000_161, "reason": "gamma does not answer since 18:03", "covered": 0.07
}))]
pub struct Promise {
    /// Number of the quote.
    pub quote: u64,
    /// `open`; `kept`: its work began in time, in this window and at these prices; `breached`: it
    /// did not, or lost its nodes; `void`: its own side gave the window up.
    pub outcome: String,
    /// Names of the pools.
    pub pools: Vec<String>,
    /// Number of nodes.
    pub nodes: u32,
    /// Per node and second, in the order of `pools`.
    #[serde(default)]
    pub prices: Vec<Credits>,
    /// Start of the window, in Unix seconds.
    pub start: i64,
    /// The work begins by then, or the promise is broken.
    pub latest_start: i64,
    /// The job pays no more than this, whatever window it gets in the end.
    pub cost: Credits,
    /// What happens after a breach: `requeue`, `cancel` or `hold`.
    pub on_breach: String,
    /// When the work began, or the breach was stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<i64>,
    /// Why it was broken or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the market has paid of the job's costs since a breach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<Credits>,
}

/// What a user changes of a job that waits, or chooses for one that accepted an offer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"options": [["--time", "20"]]}))]
pub struct JobUpdate {
    /// Words of each option of a submission that says something else from now on: its name, and its
    /// value; one with nothing behind `=` takes away what was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Vec<String>>,
    /// The user's time zone, as in `Europe/Oslo`: for moments such as `16:00`; UTC if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// What happens if the offer is not kept: `requeue`, `cancel` or `hold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_breach: Option<String>,
    /// After a breach: the number of another quote to accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<u64>,
}

/// How the parts of a job begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"begin": 1_800_000_021, "skew_ms": 37}))]
pub struct Together {
    /// When; not there as long as they wait for each other or for their nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<i64>,
    /// From the first part's real beginning to the last one's, milliseconds, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ms: Option<i64>,
    /// Each begins by itself, as soon as it can; left out if they wait for each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
}

/// What a job reads before its work and leaves behind after it. Amounts are texts such as `2 TB`, in
/// binary units.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"input": "2 TB", "from": "alpha", "output": "100 GB", "to": "alpha"}))]
pub struct JobData {
    /// How much it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Where that is: a site, or another end of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How much it leaves behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Where that is to be; as submitted: where the input is, if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl JobData {
    /// As documents have it.
    pub fn of(data: &tradewind_model::JobData) -> JobData {
        let amount = |bytes: u64| (bytes > 0).then(|| size_text(bytes));
        let place = |bytes: u64, name: &str| (bytes > 0).then(|| name.to_owned());
        JobData {
            input: amount(data.input),
            from: place(data.input, &data.from),
            output: amount(data.output),
            to: place(data.output, &data.to),
        }
    }

    /// As in `input 2 TB from alpha, output 100 GB to alpha`.
    pub fn words(&self) -> String {
        let part = |what: &str, way: &str, amount: &Option<String>, place: &Option<String>| {
            let (amount, place) = amount.as_deref().zip(place.as_deref())?;
            Some(format!("{what} {amount} {way} {place}"))
        };
        let input = part("input", "from", &self.input, &self.from);
        let output = part("output", "to", &self.output, &self.to);
        input.into_iter().chain(output).collect::<Vec<_>>().join(", ")
    }
}

/// A job's nodes in one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "site": "alpha", "pool": "alpha/fast", "nodes": 2, "price": 0.5, "limit": 600,
    "node_names": ["fast1", "fast2"], "since": 1_800_000_021
}))]
pub struct Part {
    /// Name of the site.
    pub site: String,
    /// Name of the pool, `SITE/POOL`.
    pub pool: String,
    /// For which group of tasks it is, from 0 on, where tasks differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Number of nodes.
    pub nodes: u32,
    /// Per node and second.
    pub price: Credits,
    /// How long it may run there: seconds of wall-clock time.
    pub limit: i64,
    /// How long its data is expected to take before its work: seconds for which it has its nodes beside
    /// the limit. Left out of jobs without data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_in: Option<i64>,
    /// The same after its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_out: Option<i64>,
    /// Which ones, by the site's names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_names: Vec<String>,
    /// Since when it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// How it ended, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
}

/// Something that happened to a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"at": 1_800_000_000, "what": "queued"}))]
pub struct HistoryEntry {
    /// The moment, in Unix seconds.
    pub at: i64,
    /// `submitted`, `held`, `queued`, `planned`, `began`, `set_back`, `cancelling`, `requeueing`, `updated`, `notice`, `over`,
    /// `unkept`, `in_line` (it waits in the queue of a site), `kept` and `breached` of an accepted offer; `passed_on`, `arrived`, `came_back`, `taken_in`, `doubted`, `settled` of jobs that go to peers or come from them.
    pub what: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A page of jobs, by number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobList {
    /// Without parts, history and submission.
    pub jobs: Vec<Job>,
    /// There are more: ask for those `after` this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Jobs that were taken on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"jobs": [7], "warnings": []}))]
pub struct Submitted {
    /// Their numbers: of an array, all of them.
    pub jobs: Vec<u64>,
    /// What is probably not meant.
    #[serde(default)]
    pub warnings: Vec<String>,
}
