//! Where a job stands in each state at each place, as `docs/reference/job.md` lists it.

use serde_json::{Value, json};
use tradewind_daemon::live::state::JobHold;
use tradewind_daemon::live::state::jobs::BrokenOffer;
use tradewind_model::Money;

use super::sentence::tests::said;
use super::words::{LICENCES, held};

/// A job that waits, with this reason.
fn waits(reason: &str, message: &str) -> Value {
    json!({"reason": reason, "message": message})
}

/// A job that is held for this.
fn holds(hold: &JobHold) -> Value {
    let (reason, message) = held(hold);
    waits(reason, &message)
}

/// The same in this state, with these fields more.
fn is(state: &str, more: &Value) -> Value {
    let mut job = json!({"state": state, "cost_so_far": 1.5});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job
}

const SILENT: &str = "vega does not answer since 2027-01-15T08:00:00+00:00";

fn waiting() -> Vec<(&'static str, Value)> {
    let head = "it is first in the queue and waits for nodes";
    let mut preempted = waits("Resources", head);
    preempted["history"] = json!([{"at": 9, "what": "set_back",
        "detail": "its nodes were taken away for a job of higher priority"}]);
    let mut booked = waits("Reservation", "reserved; its window has not begun");
    booked["booking"] = json!({"start": 500, "end": 900, "pools": ["alpha/main"]});
    vec![
        ("in the market's queue", waits("Resources", head)),
        ("there again, after a preemption", preempted),
        ("for licences", waits(LICENCES, "it needs 4 licences of abaqus, and 1 is free")),
        ("in its site's queue", waits("SiteQueue", "it waits for its turn in the queue of alpha")),
        ("for its window", booked),
        ("held by its user", holds(&JobHold::User)),
        ("for other jobs", holds(&JobHold::Dependency)),
        ("for credits", holds(&JobHold::Funds(Money(12_000_000)))),
        ("for nodes that are not here", holds(&JobHold::Nowhere)),
        ("lost, with `on-lost=hold`", holds(&JobHold::Lost)),
        ("on its way to a peer", waits("PassedOn", "it goes to vega, which has not confirmed it")),
        ("at a peer", waits("PassedOn", "it waits at vega")),
        (
            "at a peer that is silent",
            waits(
                "PeerNotAvailable",
                &format!("{SILENT}: it waited there when the peer last answered"),
            ),
        ),
    ]
}

fn begun() -> Vec<(&'static str, Value)> {
    let part = json!([{"site": "alpha", "pool": "alpha/x", "nodes": 2, "price": 0.1, "limit": 600,
                       "since": 200}]);
    let here = json!({"started": 200, "sites": ["alpha"], "cost_at_most": 6, "parts": part});
    let there = json!({"started": 200, "peer": "vega", "cost_at_most": 6});
    let told = |told: &str| json!({"started": 200, "peer": "vega", "message": told});
    let coming = json!([{"site": "alpha", "pool": "alpha/x", "nodes": 2, "price": 0.1,
                         "limit": 600, "stage_in": 430, "stage_out": 18}]);
    let staged = json!({"sites": ["alpha"], "parts": coming});
    let stopped = json!({"sites": ["alpha"],
                         "history": [{"at": 300, "what": "cancelling", "detail": "by ana"}]});
    let open =
        "it goes to vega, which has not confirmed it; it is cancelled as soon as that is known";
    vec![
        ("submitted to its site", is("CONFIGURING", &json!({"sites": ["alpha"]}))),
        ("while its data is brought", is("CONFIGURING", &staged)),
        ("here", is("RUNNING", &here)),
        ("at a peer", is("RUNNING", &there)),
        (
            "at a peer that is silent",
            is("RUNNING", &told(&format!("{SILENT}: it ran there when the peer last answered"))),
        ),
        (
            "there, past its limit",
            is(
                "UNKNOWN",
                &told(&format!(
                    "{SILENT}: it ran there when the peer last answered; it should have ended by \
                 2027-01-15T08:00:00+00:00; an administrator can end the doubt (`tradewind peers settle`)"
                )),
            ),
        ),
        ("here, cancelled", is("COMPLETING", &stopped)),
        (
            "cancelled on its way to a peer",
            is("COMPLETING", &json!({"peer": "vega", "message": open})),
        ),
    ]
}

fn over() -> Vec<(&'static str, Value)> {
    let ran = |more: &Value| {
        let mut job = json!({"started": 200, "ended": 260, "sites": ["alpha"]});
        job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        job
    };
    let why = BrokenOffer::NoOutput.words();
    let doubted = format!("vega {why}: it is not believed, and is not paid");
    vec![
        ("here", is("COMPLETED", &ran(&json!({})))),
        ("here", is("FAILED", &ran(&json!({"message": "it ended with exit code 3"})))),
        ("here", is("TIMEOUT", &ran(&json!({"message": "it reached its time limit"})))),
        (
            "here",
            is(
                "OUT_OF_MEMORY",
                &ran(&json!({"message": "it used more memory than it requested (--mem=1G)"})),
            ),
        ),
        (
            "here",
            is("NODE_FAIL", &ran(&json!({"message": "its nodes failed, or its end is unknown"}))),
        ),
        (
            "at a peer",
            is(
                "NODE_FAIL",
                &json!({"started": 200, "ended": 260, "peer": "vega", "message": doubted, "cost_so_far": 0}),
            ),
        ),
        (
            "before its start",
            is("CANCELLED", &json!({"ended": 260, "cancelled_by": "ana", "cost_so_far": 0})),
        ),
    ]
}

#[test]
fn the_documentation_has_the_sentence_of_each_state_at_each_place() {
    let page = include_str!("../../../../docs/reference/job.md");
    let mut missing = Vec::new();
    for (place, job) in waiting().into_iter().chain(begun()).chain(over()) {
        let state = job["state"].as_str().unwrap_or("PENDING").to_owned();
        let (text, _) = said(&job, None);
        // A moment is an ellipsis there.
        let mut pieces = text.split('@');
        let mut shown = pieces.next().unwrap().to_owned();
        for piece in pieces {
            shown += "…";
            shown += piece.trim_start_matches(|it: char| it.is_ascii_digit());
        }
        let row = format!("| `{state}` | {place} | {shown} |");
        if !page.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/reference/job.md lacks\n{}", missing.join("\n"));
}
