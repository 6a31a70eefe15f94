use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tradewind_daemon::site::Exit;
use tradewind_web::documents::Event;

use crate::stage::Stage;

/// A client of the stream: raw, so that nothing is buffered behind our back.
pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    pub(crate) fn open(stage: &Stage, user: &str, query: &str) -> Stream {
        Stream::with(stage, user, query, "")
    }

    fn with(stage: &Stage, user: &str, query: &str, header: &str) -> Stream {
        let mut stream = TcpStream::connect(stage.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let token = &stage.tokens[user];
        let head = format!(
            "GET /v1/events{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\n{header}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Stream(reader)
    }

    /// The next event, and its id if it has one.
    fn next(&mut self) -> (Event, Option<u64>) {
        let (mut event, mut id) = (None, None);
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(data) = line.strip_prefix("data: ") {
                event = Some(serde_json::from_str(data).unwrap());
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.trim().parse().unwrap());
            } else if line == "\n"
                && let Some(event) = event.take()
            {
                return (event, id);
            }
        }
    }

    pub(crate) fn until(&mut self, kind: &str) -> Vec<(Event, Option<u64>)> {
        let mut seen = Vec::new();
        while seen.last().is_none_or(|(event, _): &(Event, _)| event.kind != kind) {
            seen.push(self.next());
        }
        seen
    }
}

#[test]
fn events_come_to_whom_they_concern_and_go_on_after_a_break() {
    let stage = Stage::new();
    let mut anas = Stream::open(&stage, "ana", "");
    let id = stage.submit("ana", 1);
    stage.end(id, Exit::Code(0));
    let seen = anas.until("over");
    let kinds: Vec<&str> = seen.iter().map(|(event, _)| event.kind.as_str()).collect();
    let all = ["moved", "submitted", "queued", "planned", "running", "part_over", "over"];
    assert_eq!(kinds, all);
    assert!(seen.iter().skip(1).all(|(event, _)| event.job == Some(id)));
    assert_eq!(seen.last().unwrap().0.state.as_deref(), Some("COMPLETED"));
    let third = seen[2].1.unwrap();
    let mut again = Stream::open(&stage, "ana", &format!("?after={third}"));
    assert_eq!(again.until("over"), seen[3..]);
    // A browser asks the same address again, and says what it saw last.
    let (first, last) = (seen[0].1.unwrap(), format!("Last-Event-ID: {third}\r\n"));
    let mut back = Stream::with(&stage, "ana", &format!("?after={first}"), &last);
    assert_eq!(back.until("over"), seen[3..]);
    let mut from_start = Stream::open(&stage, "bob", "?after=0");
    assert_eq!(from_start.next().0.kind, "reset", "rows before the server are not there");
    stage.call("root", "PUT", "/v1/market/policy", json!({"policy": "other"}));
    let bobs: Vec<String> = from_start.until("policy").into_iter().map(|it| it.0.kind).collect();
    assert_eq!(bobs, ["policy"], "nothing of what is ana's");
    stage.stop();
}

#[test]
fn a_stream_ends_when_its_token_does_and_when_the_server_stops() {
    let stage = Stage::new();
    let mut bobs = Stream::open(&stage, "bob", "");
    let mut roots = Stream::open(&stage, "root", "");
    let (_, me) = stage.get("bob", "/v1/me");
    stage.call("root", "DELETE", &format!("/v1/tokens/{}", me["token"]), Value::Null);
    let mut rest = String::new();
    while bobs.0.read_line(&mut rest).unwrap() > 0 {}
    assert_eq!(roots.next().0.kind, "expelled");
    stage.stop();
    while roots.0.read_line(&mut rest).unwrap() > 0 {}
}

#[test]
fn a_stream_goes_on_while_the_secret_it_was_opened_with_is_valid() {
    let stage = Stage::new();
    let mut anas = Stream::open(&stage, "ana", "");
    let (_, me) = stage.get("ana", "/v1/me");
    let rotate = format!("/v1/tokens/{}/rotate", me["token"]);
    let (status, told) = stage.call("root", "POST", &rotate, json!({"grace": 3_600}));
    assert_eq!(status, 200, "{told}");
    stage.submit("ana", 1);
    anas.until("submitted");
    // The next secret replaces the one before the last.
    stage.call("root", "POST", &rotate, json!({"grace": 3_600}));
    let mut rest = String::new();
    while anas.0.read_line(&mut rest).unwrap() > 0 {}
    stage.stop();
}

#[test]
fn numbers_for_prometheus() {
    let stage = Stage::new();
    let id = stage.submit("ana", 1);
    stage.end(id, Exit::Code(0));
    stage.until(id, "COMPLETED");
    stage.call("ana", "POST", "/v1/jobs", json!({}));
    let (_, text) = stage.send("nobody", "GET", "/metrics", &[], vec![]);
    for line in [
        "tradewind_jobs{phase=\"over\"} 1",
        "tradewind_queue_jobs 0",
        "tradewind_submissions_total 1",
        "tradewind_submissions_refused_total 1",
        "tradewind_held_credits 0.0",
        "tradewind_price_credits{pool=\"alpha/x\"} 1.0",
        "tradewind_site_up{site=\"beta\"} 1",
        "tradewind_job_wait_seconds_count 1",
        "tradewind_http_requests_total{method=\"POST\",route=\"/v1/jobs\",status=\"422\"} 1",
        "tradewind_journal_rows_total",
        "tradewind_journal_append_seconds_total",
        "tradewind_passes_total",
        "tradewind_pass_seconds_total",
        "tradewind_site_survey_seconds{site=\"alpha\"}",
        "tradewind_site_survey_age_seconds{site=\"alpha\"}",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    stage.stop();
}

#[test]
fn open_streams_ask_nothing_of_the_engine() {
    let stage = Stage::new();
    let readings = || stage.engine.handle.gauges().readings.count();
    let cost = |streams: &mut [Stream]| {
        let before = readings();
        let job = stage.submit("ana", 1);
        for stream in streams.iter_mut() {
            let seen = stream.until("submitted");
            assert_eq!(seen.last().unwrap().0.job, Some(job));
        }
        readings() - before
    };
    let alone = cost(&mut []);
    let mut streams: Vec<Stream> = (0..24).map(|_| Stream::open(&stage, "root", "")).collect();
    let beside = cost(&mut streams);
    assert!(beside <= alone + 4, "24 open pages cost {beside} looks at the market, none {alone}");
    stage.stop();
}
