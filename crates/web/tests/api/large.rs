//! Submissions with much in them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tradewind_web::{Limits, Rate};

use crate::stage::Stage;

/// A held job with so many variables.
fn heavy(variables: usize) -> Value {
    let environment: serde_json::Map<String, Value> =
        (0..variables).map(|i| (format!("V{i}"), json!("x"))).collect();
    json!({"name": "t", "command": ["true"], "nodes": 1, "time": 60, "held": true,
        "environment": environment})
}

#[test]
fn a_large_environment_is_refused_with_its_limit() {
    let stage = Stage::new();
    let (status, told) = stage.call("ana", "POST", "/v1/jobs", heavy(100_000));
    let error = &told["error"];
    assert_eq!((status, error["limit"].as_str()), (413, Some("environment_variables")), "{told}");
    assert_eq!((&error["used"], &error["allowed"]), (&json!(100_000), &json!(8_192)));
    assert!(error["retry_after"].is_null(), "it never fits");
    stage.stop();
}

#[test]
fn submissions_have_a_rate_and_say_when_to_come_again() {
    let submissions = Rate { per_second: 1, burst: 3 };
    let submitted_bytes = Rate { per_second: 100, burst: 10_000 };
    let stage = Stage::limited(Limits { submissions, submitted_bytes, ..Limits::default() });
    for _ in 0..3 {
        stage.submit("ana", 1);
    }
    let (status, told) = stage.call("ana", "POST", "/v1/jobs", heavy(1));
    let error = &told["error"];
    assert_eq!((status, error["limit"].as_str()), (429, Some("submissions_per_second")), "{told}");
    assert!(error["retry_after"].as_u64().is_some_and(|it| it >= 1));
    assert_eq!(stage.call("bob", "POST", "/v1/jobs", heavy(900)).0, 201);
    let (status, told) = stage.call("bob", "POST", "/v1/jobs", heavy(900));
    let error = &told["error"];
    let named = error["limit"].as_str();
    assert_eq!((status, named), (429, Some("submission_bytes_per_second")), "{told}");
    stage.stop();
}

#[test]
fn large_submissions_of_one_user_do_not_hold_up_others() {
    let rate = Rate { per_second: 1 << 30, burst: 1 << 30 };
    let stage = Stage::limited(Limits { submitted_bytes: rate, ..Limits::default() });
    let body = heavy(200_000).to_string().into_bytes();
    let over = std::sync::atomic::AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        let attack = |_| {
            let (stage, body, over) = (&stage, &body, &over);
            scope.spawn(move || {
                let mut refused = 0;
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    let sent = stage.send("ana", "POST", "/v1/jobs", &[], body.clone());
                    assert!([413, 429].contains(&sent.0), "{}", sent.1);
                    refused += 1;
                }
                refused
            })
        };
        let attacks: Vec<_> = (0..6).map(attack).collect();
        std::thread::sleep(Duration::from_millis(300));
        for _ in 0..10 {
            let begin = Instant::now();
            stage.submit("bob", 1);
            assert!(begin.elapsed() < Duration::from_secs(10));
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        attacks.into_iter().map(|it| it.join().unwrap()).sum::<u32>()
    });
    assert!(refused > 0);
    stage.stop();
}

#[test]
fn names_that_are_shown_as_others_are_refused() {
    let stage = Stage::new();
    let mut named = heavy(0);
    named["name"] = json!("report\u{202e}fdp.sh");
    let (status, told) = stage.call("ana", "POST", "/v1/jobs", named);
    assert_eq!((status, told["error"]["field"].as_str()), (422, Some("name")), "{told}");
    let note = json!({"user": "eve", "role": "user", "note": "a\u{2066}b"});
    assert_eq!(stage.call("root", "POST", "/v1/tokens", note).0, 422);
    stage.stop();
}
