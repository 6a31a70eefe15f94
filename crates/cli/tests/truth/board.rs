//! The timeline.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Status;
use crate::stage::Stage;

/// Kinds of what is drawn, by their numbers.
const EXPECTED: u64 = 3;
const BOOKED: u64 = 4;
const STARTING: u64 = 5;
const RUNNING: u64 = 6;
const DONE: u64 = 7;
const CANCELLED: u64 = 8;
const FAILED: u64 = 9;

#[derive(Debug)]
struct Drawn {
    kind: u64,
    start: i64,
    cost: i64,
}

/// What is drawn of each job, but for nodes that it lost.
fn drawn(stage: &Stage) -> BTreeMap<u64, Vec<Drawn>> {
    let path = "/page/board/digest?from=3900000000&until=4100000000&first=0&rows=99&most=500";
    let table = &stage.get(path)["table"];
    let number = |name: &str, at: usize| table[name][at].as_i64().unwrap();
    let mut all = BTreeMap::<u64, Vec<Drawn>>::new();
    let tasks = table["kind"].as_array().unwrap().len();
    assert!(tasks < 500, "not all tasks of the market are listed");
    for at in 0..tasks {
        let kind = number("kind", at) as u64 & 15;
        let (start, cost) = (number("start", at), number("cost", at));
        if (EXPECTED..=FAILED).contains(&kind) {
            let job = number("job", at) as u64;
            all.entry(job).or_default().push(Drawn { kind, start, cost });
        }
    }
    all
}

pub(crate) fn compare(stage: &Stage, all: &BTreeMap<u64, (Value, Status)>) {
    let mut drawn = drawn(stage);
    for (number, (job, status)) in all {
        of_job(job, status, &drawn.remove(number).unwrap_or_default());
    }
    assert!(drawn.is_empty(), "of no known job: {drawn:?}");
}

fn of_job(job: &Value, status: &Status, drawn: &[Drawn]) {
    let paid = crate::micro(&job["paid"].to_string());
    let cost: i64 = drawn.iter().map(|it| it.cost).sum();
    let are = |kinds: &[u64]| drawn.iter().all(|it| kinds.contains(&it.kind));
    let reason = job.get("reason").and_then(Value::as_str).unwrap_or_default();
    // Its window stands, and its site does not answer now.
    let is_open = job.get("promise").is_some_and(|it| it["outcome"] == "open");
    let waits_for_site = reason == "SiteNotAvailable" && is_open && are(&[BOOKED]);
    let fits = match status.state.as_str() {
        "PENDING" if reason == "Reservation" || waits_for_site => {
            let at = job["booking"]["start"].as_i64().unwrap();
            let starts = drawn.iter().all(|it| it.start == at);
            are(&[BOOKED]) && starts && !drawn.is_empty() && Some(paid + cost) == status.at_most
        }
        // In the queue of a site: on nodes that it has to itself in the market, or in line with the
        // owners' jobs, and then only when its turn is expected.
        "PENDING" if job.get("sites").is_some() => {
            let turn = drawn.iter().all(|it| Some(it.start) == status.expected);
            let is_drawn = !drawn.is_empty();
            is_drawn && (are(&[STARTING]) || are(&[EXPECTED]) && turn)
                || !is_drawn && status.expected.is_none()
        }
        "PENDING" => {
            let starts = drawn.iter().all(|it| Some(it.start) == status.expected);
            let is_own = !crate::is_breached(job) || Some(paid + cost) <= status.at_most;
            are(&[EXPECTED]) && starts && is_own && drawn.is_empty() == status.expected.is_none()
        }
        // Cancelled in line with the owners' jobs: it never had nodes.
        "COMPLETING" if drawn.is_empty() && job.get("sites").is_some() => {
            paid == 0 && status.expected.is_none() && job.get("cancelled_by").is_some()
        }
        "CONFIGURING" => {
            are(&[STARTING, DONE, CANCELLED, FAILED]) && Some(paid + cost) == status.at_most
        }
        "RUNNING" | "COMPLETING" => {
            are(&[STARTING, RUNNING, DONE, CANCELLED, FAILED])
                && Some(paid + cost) == status.at_most
        }
        over => {
            let kind = match over {
                "COMPLETED" => DONE,
                "CANCELLED" => CANCELLED,
                _ => FAILED,
            };
            let is_whole = job["restarts"] == 0;
            are(&[kind]) && (if is_whole { cost == paid } else { cost <= paid })
        }
    };
    assert!(fits, "{drawn:?} is drawn of {job}");
}
