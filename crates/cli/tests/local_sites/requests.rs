//! What jobs ask for and this machine does not have.

use serde_json::{Value, json};

use crate::market::{Market, SITE, until};

/// Submits a job with these fields more; status and answer.
fn submit(market: &Market, more: &Value) -> (u16, Value) {
    let mut job =
        json!({"name": "x", "nodes": 1, "command": ["true"], "output": "/dev/null", "time": 60});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, body) = market.ask("POST", "/v1/jobs", &job.to_string());
    (status, serde_json::from_str(&body).unwrap())
}

fn option(name: &str, value: &str) -> Value {
    json!({"passed_through": [{"option": name, "value": value}]})
}

#[test]
fn what_the_machine_does_not_have_is_refused_at_once_and_harms_no_other_job() {
    let mut market = Market::start(tempfile::tempdir().unwrap(), SITE);
    until("the site was looked at", || {
        market.ask("GET", "/metrics", "").1.contains("site_up{site=\"alpha\"} 1")
    });
    for (more, said, has) in [
        (option("gres", "gpu:1"), "gpu 1", "alpha/"),
        (option("mem", "90000G"), "92160000 MB", " MB"),
        (json!({"cpus_per_task": 4_000}), "4000 processors", "processors in all"),
    ] {
        // As many as would make it the site that refuses.
        for _ in 0..5 {
            let (status, told) = submit(&market, &more);
            let (message, hint) = (&told["error"]["message"], &told["error"]["hint"]);
            let is_told =
                message.as_str().unwrap().contains(said) && hint.as_str().unwrap().contains(has);
            assert!(status == 422 && is_told, "{more}: {status} {told}");
        }
    }
    let (_, metrics) = market.ask("GET", "/metrics", "");
    assert!(metrics.contains("site_up{site=\"alpha\"} 1"), "{metrics}");
    let job = market.submit("true", "/dev/null");
    until("another job is done", || market.is(job, "COMPLETED"));
    market.stop();
}

#[test]
fn a_job_of_several_slots_gets_a_warning_that_its_script_runs_once() {
    let mut market = Market::start(tempfile::tempdir().unwrap(), SITE);
    until("the site was looked at", || {
        market.ask("GET", "/metrics", "").1.contains("site_up{site=\"alpha\"} 1")
    });
    let (status, told) = submit(&market, &json!({"nodes": 2}));
    let warnings = told["warnings"].to_string();
    assert!(status == 201 && warnings.contains("the script runs once, in the first"), "{told}");
    assert_eq!(submit(&market, &json!({})).1["warnings"], json!([]), "one node is one slot");
    market.stop();
}
