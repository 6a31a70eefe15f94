use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;
use tradewind_daemon::live::Input;
use tradewind_daemon::site::Exit;
use tradewind_model::{PoolId, Price, Time};

use crate::stage::{Stage, job};

#[test]
fn a_job_from_submission_to_its_end() {
    let stage = Stage::new();
    let id = stage.submit("ana", 1);
    let seen = stage.until(id, "RUNNING");
    assert_eq!(seen["parts"][0]["node_names"], json!(["n1"]));
    assert_eq!(seen["submission"]["command"], json!(["true"]));
    let (status, text) =
        stage.send("ana", "GET", &format!("/v1/jobs/{id}/output?bytes=8"), &[], vec![]);
    assert_eq!((status, text.as_str()), (200, &*format!("put of {id}")));
    let part = |query: &str| {
        stage.send("ana", "GET", &format!("/v1/jobs/{id}/output?{query}"), &[], vec![])
    };
    assert_eq!(part("from=3&bytes=3"), (200, "put".to_owned()));
    assert_eq!(part("stream=error&from=0"), (200, format!("errors of {id}")));
    assert_eq!(part("stream=log").0, 400);
    let path = format!("/v1/jobs/{id}/wait?seconds=30");
    let begin = Instant::now();
    let waited = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| stage.get("ana", &path));
        std::thread::sleep(Duration::from_millis(200));
        stage.end(id, Exit::Code(3));
        waiting.join().unwrap()
    });
    assert!(begin.elapsed() < Duration::from_secs(20));
    let (status, seen) = waited;
    assert_eq!((status, &seen["state"]), (200, &json!("FAILED")));
    assert_eq!(seen["exit"], json!({"code": 3, "signal": 0}));
    assert_eq!(seen["reason"], "NonZeroExitCode");
    let words: Vec<&str> =
        seen["history"].as_array().unwrap().iter().filter_map(|it| it["what"].as_str()).collect();
    assert_eq!(words, ["submitted", "queued", "planned", "began", "over"]);
    stage.stop();
}

#[test]
fn an_expected_start_is_reported_while_it_may_be_true() {
    let stage = Stage::new();
    let running = stage.submit("ana", 2);
    stage.until(running, "RUNNING");
    stage.submit("ana", 2);
    let waiting = [stage.submit("ana", 2), stage.submit("ana", 2)];
    let now = stage.until(running, "RUNNING")["started"].as_i64().unwrap();
    let starts = [(waiting[0], Time(now + 3_600)), (waiting[1], Time(now - 1))].to_vec();
    stage.engine.handle.tell(Input::Forecast { starts }).unwrap();
    let expected = |job: u64| {
        let (_, seen) = stage.get("ana", &format!("/v1/jobs/{job}"));
        assert_eq!(seen["state"], "PENDING", "{seen}");
        seen["expected_start"]["at"].as_i64()
    };
    let begin = Instant::now();
    while expected(waiting[0]) != Some(now + 3_600) {
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(expected(waiting[1]), None);
    // It is unknown when it will be released.
    let path = format!("/v1/jobs/{}/hold", waiting[0]);
    assert_eq!(stage.call("ana", "POST", &path, json!(null)).0, 200);
    assert_eq!(expected(waiting[0]), None);
    stage.stop();
}

#[test]
fn a_job_that_waits_for_lower_prices_says_so() {
    let stage = Stage::new();
    for job in [stage.submit("bob", 2), stage.submit("bob", 2)] {
        stage.until(job, "RUNNING");
    }
    let mut wanted = job(1);
    wanted["budget"] = json!(100);
    let (status, done) = stage.call("ana", "POST", "/v1/jobs", wanted);
    assert_eq!(status, 201, "{done}");
    let path = format!("/v1/jobs/{}", done["jobs"][0]);
    let asks = |price: i64| {
        let prices = [PoolId(0), PoolId(1)].map(|pool| (pool, Price(price))).to_vec();
        let terms = Input::Terms { prices, rates: BTreeMap::new(), withheld: Vec::new() };
        stage.engine.handle.tell(terms).unwrap();
    };
    let reason = |word: &str| {
        let begin = Instant::now();
        loop {
            let (_, seen) = stage.get("ana", &path);
            if seen["reason"] == word {
                return seen["message"].as_str().unwrap().to_owned();
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{word}: {seen}");
        }
    };
    reason("Resources");
    asks(5_000_000);
    let why = reason("PriceLimit");
    assert!(why.ends_with(" credits now, and its budget is 100"), "{why}");
    asks(1_000_000);
    reason("Resources");
    stage.stop();
}

#[test]
fn held_released_cancelled() {
    let stage = Stage::new();
    let mut held = job(1);
    held["held"] = json!(true);
    let (_, done) = stage.call("ana", "POST", "/v1/jobs", held);
    let id = done["jobs"][0].as_u64().unwrap();
    let path = format!("/v1/jobs/{id}");
    let (_, seen) = stage.get("ana", &path);
    assert_eq!((&seen["state"], &seen["reason"]), (&json!("PENDING"), &json!("JobHeldUser")));
    let (status, _) = stage.get("ana", &format!("{path}/output"));
    assert_eq!(status, 409);
    let (status, _) = stage.call("ana", "POST", &format!("{path}/release"), json!(null));
    assert_eq!(status, 200);
    stage.until(id, "RUNNING");
    let (status, failure) = stage.call("ana", "POST", &format!("{path}/hold"), json!(null));
    assert_eq!((status, &failure["error"]["kind"]), (409, &json!("conflict")));
    let (status, seen) = stage.call("ana", "DELETE", &path, json!(null));
    // The site may have ended it before the answer.
    assert!(seen["state"] == "COMPLETING" || seen["state"] == "CANCELLED", "{seen}");
    assert_eq!(status, 200);
    assert_eq!(stage.until(id, "CANCELLED")["cancelled_by"], "ana");
    let (status, _) = stage.call("ana", "DELETE", &path, json!(null));
    assert_eq!(status, 409);
    stage.stop();
}

#[test]
fn requeued_it_waits_and_runs_again() {
    let stage = Stage::new();
    let id = stage.submit("ana", 1);
    stage.until(id, "RUNNING");
    let path = format!("/v1/jobs/{id}");
    let (status, seen) = stage.call("ana", "POST", &format!("{path}/requeue"), json!(null));
    // Its site may have stopped it, and have it again, by now.
    let states = ["COMPLETING", "PENDING", "CONFIGURING"].map(|state| json!(state));
    assert!(status == 200 && states.contains(&seen["state"]), "{seen}");
    let begin = Instant::now();
    while stage.get("ana", &path).1["restarts"] != 1 {
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(stage.until(id, "RUNNING")["restarts"], 1);
    let (_, seen) = stage.get("ana", &path);
    let said = seen["history"]
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it["what"] == "set_back" && it["detail"] == "requeued by ana");
    assert!(said, "{seen}");
    stage.stop();
}

#[test]
fn a_key_makes_one_job_of_many_submissions() {
    let stage = Stage::new();
    let send = |key: &str| {
        let body = job(1).to_string().into_bytes();
        stage.send("ana", "POST", "/v1/jobs", &[("Idempotency-Key", key)], body)
    };
    assert_eq!(send("a"), send("a"));
    assert_ne!(send("a"), send("b"));
    let (status, text) = send(&"x".repeat(200));
    assert!(status == 400 && text.contains("Idempotency-Key"), "{text}");
    stage.stop();
}

#[test]
fn a_script_with_options() {
    let stage = Stage::new();
    let script = "#!/bin/sh\n#SBATCH --job-name=deep --time=1\ntrue\n";
    let body = json!({"script": script, "options": [["--budget", "500"], ["--nodes=2"]]});
    let (status, done) = stage.call("ana", "POST", "/v1/jobs", body);
    assert_eq!(status, 201, "{done}");
    let (_, seen) = stage.get("ana", &format!("/v1/jobs/{}", done["jobs"][0]));
    assert_eq!((&seen["name"], &seen["nodes"]), (&json!("deep"), &json!(2)));
    assert_eq!(seen["submission"]["budget"].to_string(), "500");
    let wrong = json!({"script": script, "options": [["--budgte", "5"]]});
    let (status, failure) = stage.call("ana", "POST", "/v1/jobs", wrong);
    assert_eq!((status, &failure["error"]["field"]), (422, &json!("options")), "{failure}");
    stage.stop();
}

#[test]
fn lists_have_pages_and_filters() {
    let stage = Stage::new();
    let mut array = job(2);
    array["array"] = json!("0-4");
    let (_, done) = stage.call("ana", "POST", "/v1/jobs", array);
    assert_eq!(done["jobs"].as_array().unwrap().len(), 5);
    let bobs = stage.submit("bob", 1);
    let ids = |path: &str| -> (Vec<u64>, Option<u64>) {
        let (status, list) = stage.get("root", path);
        assert_eq!(status, 200, "{list}");
        let jobs = list["jobs"].as_array().unwrap().iter();
        (jobs.map(|it| it["id"].as_u64().unwrap()).collect(), list["next"].as_u64())
    };
    assert_eq!(ids("/v1/jobs?limit=2"), (vec![1, 2], Some(2)));
    assert_eq!(ids("/v1/jobs?limit=4&after=2"), (vec![3, 4, 5, bobs], None));
    assert_eq!(ids("/v1/jobs?user=bob"), (vec![bobs], None));
    assert_eq!(ids("/v1/jobs?state=completed"), (vec![], None));
    let pending = ids("/v1/jobs?state=pending").0;
    assert_eq!(pending, [3, 4, 5, bobs]);
    let (_, third) = stage.get("root", "/v1/jobs/3");
    assert_eq!(third["reason"], "Resources");
    assert_eq!(stage.get("root", "/v1/jobs/4").1["reason"], "Priority");
    assert_eq!(ids("/v1/jobs?site=nowhere").0, [] as [u64; 0]);
    stage.stop();
}
