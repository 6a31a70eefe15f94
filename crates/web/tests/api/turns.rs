//! Looks ahead: fair among users, with a deadline, and over when the client hangs up.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tradewind_daemon::priority;
use tradewind_web::{Limits, Rate};

use crate::stage::{ASKED, Stage, job};

/// A question that takes so many milliseconds, if it ends in 7.
fn slow(milliseconds: i64) -> Value {
    json!({"horizon": milliseconds})
}

/// Sends a what-if and does not wait for the answer.
fn whatif(stage: &Stage, user: &str, milliseconds: i64) -> TcpStream {
    let mut stream = TcpStream::connect(stage.address).unwrap();
    let body = slow(milliseconds).to_string();
    let head = format!(
        "POST /v1/whatif HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        stage.tokens[user],
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn who_hangs_up_gives_the_permit_back_at_once() {
    let advice_time = Duration::from_secs(600);
    let stage = Stage::limited(Limits { advice: 1, advice_time, ..Limits::default() });
    let asked = whatif(&stage, "ana", 500_007);
    // Once it runs, the only permit is in use.
    std::thread::sleep(Duration::from_millis(300));
    let (done, waited) = std::thread::scope(|scope| {
        let other = scope.spawn(|| stage.call("bob", "POST", "/v1/quotes", job(1)).0);
        std::thread::sleep(Duration::from_millis(500));
        assert!(!other.is_finished(), "the permit is in use");
        let begin = Instant::now();
        drop(asked);
        (other.join().unwrap(), begin.elapsed())
    });
    assert_eq!(done, 200);
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    stage.stop();
}

#[test]
fn a_question_has_a_deadline() {
    let advice_time = Duration::from_millis(400);
    let stage = Stage::limited(Limits { advice: 1, advice_time, ..Limits::default() });
    let begin = Instant::now();
    let (status, failure) = stage.call("ana", "POST", "/v1/whatif", slow(500_007));
    assert_eq!((status, &failure["error"]["kind"]), (503, &json!("timeout")), "{failure}");
    assert_eq!(failure["error"]["message"], "no answer in 0.4 s");
    assert!(begin.elapsed() < Duration::from_secs(20));
    // The permit is back.
    assert_eq!(stage.call("bob", "POST", "/v1/quotes", job(1)).0, 200);
    stage.stop();
}

/// Whatever happens, the others stop.
struct Stopped<'a>(&'a AtomicBool);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn one_user_with_six_connections_leaves_the_others_their_turn() {
    // Not the rate of requests is tried here.
    let often = Rate { per_second: 1_000_000, burst: 1_000_000 };
    let limits = Limits { per_token: often, per_user: often, ..Limits::default() };
    let stage = Stage::limited(limits);
    let stop = AtomicBool::new(false);
    let (answered, refused) = (AtomicU32::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let (status, said) = stage.call("ana", "POST", "/v1/quotes", job(1));
                    match status {
                        200 => drop(answered.fetch_add(1, Ordering::Relaxed)),
                        _ => refused.lock().unwrap().push(said),
                    }
                }
            });
        }
        let _stopped = Stopped(&stop);
        // One of two permits is in use for long.
        let long = scope.spawn(|| stage.call("olga", "POST", "/v1/whatif", slow(7_007)).0);
        let bobs: Vec<u16> =
            (0..100).map(|_| stage.call("bob", "POST", "/v1/quotes", job(1)).0).collect();
        assert!(bobs.iter().all(|status| *status == 200), "{bobs:?}");
        assert_eq!(stage.call("root", "POST", "/v1/quotes", job(1)).0, 200);
        assert_eq!(long.join().unwrap(), 200);
    });
    assert!(answered.load(Ordering::Relaxed) > 0);
    let refused = refused.into_inner().unwrap();
    assert!(refused.is_empty(), "they wait for each other: {:?}", refused.first());
    stage.stop();
}

/// Until the what-if with this horizon, which no other test asks for, has begun.
fn begins(horizon: i64) {
    let begin = Instant::now();
    while !ASKED.lock().unwrap().contains(&horizon) {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn further_what_ifs_of_a_user_have_a_lower_priority_than_the_first_of_others() {
    let advice_time = Duration::from_secs(600);
    let limits = Limits { advice_time, advice_per_user: 2, ..Limits::default() };
    let stage = Stage::limited(limits);
    let nice = |user: &str, horizon| {
        let (status, found) = stage.call(user, "POST", "/v1/whatif", json!({"horizon": horizon}));
        assert_eq!(status, 200, "{found}");
        found["until"].as_i64().unwrap()
    };
    let own = rustix::process::getpriority_process(None).unwrap();
    let (usual, lower) = (i64::from(own), i64::from((own + priority::NICER).min(19)));
    assert_eq!(nice("ana", 61), usual, "her only one");
    let first = whatif(&stage, "ana", 600_017);
    begins(600_017);
    assert_eq!(nice("ana", 62), lower, "a further one");
    assert_eq!(nice("bob", 63), usual, "the first one of another");
    drop(first);
    stage.stop();
}

#[test]
fn a_line_has_an_end_and_the_refusal_says_so() {
    let limits = Limits { advice_waiting: 1, ..Limits::default() };
    let stage = Stage::limited(Limits { advice_time: Duration::from_secs(60), ..limits });
    // One begins, one waits and one is refused: which is which depends on who comes first.
    let mut three = [(); 3].map(|()| whatif(&stage, "ana", 500_007));
    let begin = Instant::now();
    let failure = loop {
        assert!(begin.elapsed() < Duration::from_secs(60));
        if let Some(said) = three.iter_mut().find_map(answered_within_half_a_second) {
            break said;
        }
    };
    assert!(failure.starts_with("HTTP/1.1 429"), "{failure}");
    assert!(failure.contains("advice_waiting") && failure.contains("retry-after"), "{failure}");
    assert_eq!(stage.call("bob", "POST", "/v1/quotes", job(1)).0, 200);
    drop(three);
    stage.stop();
}

fn answered_within_half_a_second(stream: &mut std::net::TcpStream) -> Option<String> {
    let mut answer = [0; 4_096];
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let read = std::io::Read::read(stream, &mut answer).unwrap_or(0);
    (read > 0).then(|| String::from_utf8_lossy(&answer[..read]).into_owned())
}
