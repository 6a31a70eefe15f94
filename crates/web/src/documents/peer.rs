//! Other markets, and what goes to and fro between markets.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::amount::Credits;

/// A market that jobs are exchanged with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "name": "beta", "market": "k3m9", "configured": true, "reachable": true,
    "since": 1_800_000_000, "jobs_there": 3, "jobs_here": 1, "in_doubt": 0, "held": 2.5, "standing": 940,
    "min_standing": 500, "kept": 12, "broken": 1, "checks_right": 4, "checks_wrong": 0, "last_check": 31, "balance": 12.5
}))]
pub struct Peer {
    /// As the configuration calls it.
    pub name: String,
    /// The name that it gives itself, once it has spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub market: Option<String>,
    /// Whether the configuration has it still.
    pub configured: bool,
    /// Whether it answers; nothing if that was not tried yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
    /// Moment since which this holds, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Jobs from here that are there and not over.
    pub jobs_there: u64,
    /// Jobs from there that are here and not over.
    pub jobs_here: u64,
    /// Jobs of which this market does not know yet whether they have arrived.
    pub in_doubt: u64,
    /// What the jobs that are there or in doubt may cost.
    #[serde(default)]
    pub held: Credits,
    /// How far it keeps its offers, from 0 to 1000; below `min_standing` nothing is passed to it.
    #[serde(default = "full")]
    pub standing: u32,
    /// The lowest standing with which it gets jobs.
    #[serde(default)]
    pub min_standing: u32,
    /// Offers that it kept.
    #[serde(default)]
    pub kept: u64,
    /// Offers that it did not keep.
    #[serde(default)]
    pub broken: u64,
    /// Check jobs that it answered as it should.
    #[serde(default)]
    pub checks_right: u64,
    /// Check jobs that it answered wrongly, or not at all.
    #[serde(default)]
    pub checks_wrong: u64,
    /// The number of the last check job, for administrators; nothing if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_check: Option<u64>,
    /// What it has here, for administrators: what it earned with jobs from here and was granted,
    /// less what its jobs paid here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balance: Option<Credits>,
}

fn full() -> u32 {
    1_000
}

/// What happened to a job at a peer, as an administrator says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"outcome": "lost", "confirmed": true}))]
pub struct PeerSettlement {
    /// `lost`: its user's choice for lost jobs decides, and the peer is not paid; `ran`: it counts as
    /// completed, and the peer is paid what was held for it.
    pub outcome: String,
    /// Do it. Otherwise it is only said what would follow.
    #[serde(default)]
    pub confirmed: bool,
}

/// What follows from a settlement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "job": 7, "done": false,
    "message": "job 7 is lost: it ends as NODE_FAIL; vega is not paid, and what it says of this job later has no effect"
}))]
pub struct PeerSettled {
    /// The job.
    pub job: u64,
    /// Whether it was done.
    pub done: bool,
    /// What follows, or would.
    pub message: String,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeerList {
    /// In the order in which they were first configured.
    pub peers: Vec<Peer>,
    /// Jobs for which peers are asked just now.
    #[serde(default)]
    pub searches: u64,
    /// The public key of this market's receipts, if it signs any: for `receipt_key` in the `[[peers]]` of
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_key: Option<String>,
}

/// Messages of the negotiation between markets: see `docs/explanation/negotiation.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "protocol": 1, "market": "k3m9", "sent": 1_800_000_000,
    "letters": [{"settled": [1, 4], "word": {"cancel": {"inquiry": [1, 3]}}}]
}))]
pub struct PeerLetters {
    /// Version of the protocol: 1.
    pub protocol: u32,
    /// The sender's own name; always the same.
    pub market: String,
    /// When, on the sender's clock.
    pub sent: i64,
    /// At most 1000.
    #[schema(value_type = Vec<Object>)]
    pub letters: Vec<Value>,
}

/// A question about a job that went from the sender to this market.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"job": 7, "transfer": [1, 4], "cancel": false, "receipt": "required"}))]
pub struct PeerQuestion {
    /// Id of the job at its home.
    pub job: u64,
    /// By which hand-over it went.
    pub transfer: [u32; 2],
    /// Whether it is to stop.
    pub cancel: bool,
    /// `required`: its start and its end are to be signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

/// Questions about jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeerQuestions {
    /// Version of the protocol: 1.
    pub protocol: u32,
    /// The sender's own name; always the same.
    pub market: String,
    /// At most 1000.
    pub jobs: Vec<PeerQuestion>,
}

/// A request for the output of a job that was transferred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "protocol": 1, "market": "k3m9", "job": 7, "transfer": [1, 4], "bytes": 65_536, "from": 0
}))]
pub struct PeerGlance {
    /// Version of the protocol: 1.
    pub protocol: u32,
    /// The sender's own name.
    pub market: String,
    /// The job's number at home.
    pub job: u64,
    /// By which hand-over it went.
    pub transfer: [u32; 2],
    /// At most so many bytes: 1 to 1048576.
    pub bytes: u32,
    /// From this byte of the file on, counted from 0; the last bytes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// `output` or `error`; `output` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// What happened to jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({"jobs": [{"job": 7, "transfer": [1, 4], "fate": "unknown"}]}))]
pub struct PeerAnswers {
    /// In the order of the questions; `fate` is `unknown`, or `there` with times, nodes and, once
    /// it is over, how it ended and what it paid, or `back` with the reason.
    #[schema(value_type = Vec<Object>)]
    pub jobs: Vec<Value>,
}
