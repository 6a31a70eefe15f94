use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use tradewind_web::Notice;
use tradewind_web::documents::Event;

use super::letters::{Facts, Letters, Wants};
use super::mail::{Mail, Mailer};
use super::queue::Queue;
use super::secret;
use super::sign::signature;
use super::webhook::{Effort, Webhook};

/// What a receiver does with a call.
#[derive(Clone, Copy)]
enum Answer {
    Status(u16),
    /// It never answers.
    Hang,
    Close,
}

/// A receiver that answers one call after another, the last answer again and again; and what it
/// was sent.
fn receiver(answers: &'static [Answer]) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
    let (said, heard) = channel();
    std::thread::spawn(move || {
        let mut hanging = Vec::new();
        for call in 0.. {
            let mut stream = listener.accept().unwrap().0;
            if said.send(request(&mut stream)).is_err() {
                return;
            }
            match answers[call.min(answers.len() - 1)] {
                Answer::Status(code) => {
                    let more = "Location: http://127.0.0.1:1/\r\nConnection: close";
                    let head =
                        format!("HTTP/1.1 {code} X\r\n{more}\r\nContent-Length: 2\r\n\r\nok");
                    stream.write_all(head.as_bytes()).unwrap();
                }
                Answer::Hang => hanging.push(stream),
                Answer::Close => drop(stream),
            }
        }
    });
    (url, heard)
}

fn request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4_096];
    loop {
        let read = stream.read(&mut bytes).unwrap();
        text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
        if read == 0 || (text.contains("\r\n\r\n") && text.ends_with('}')) {
            return text;
        }
    }
}

fn notice(seq: u64) -> Arc<Notice> {
    let event = Event { seq, kind: "over".to_owned(), job: Some(7), ..Event::default() };
    let text = serde_json::to_string(&event).unwrap();
    Arc::new(Notice { seq, place: 1, kind: event.kind, job: event.job, text })
}

const EFFORT: Effort =
    Effort { timeout: Duration::from_secs(20), tries: 3, pause: Duration::from_millis(5) };

/// What arrives if two events are delivered by so many calls, and how long it takes.
fn deliver(answers: &'static [Answer], calls: usize) -> (Vec<String>, Duration) {
    deliver_with(EFFORT, answers, calls)
}

fn deliver_with(
    effort: Effort,
    answers: &'static [Answer],
    calls: usize,
) -> (Vec<String>, Duration) {
    let (url, heard) = receiver(answers);
    let (queue, begun) = (Arc::new(Queue::new("h", 10)), Instant::now());
    for seq in [310, 311] {
        queue.push(notice(seq));
    }
    let webhook = Webhook::new(url, Some(b"secret".to_vec()), effort);
    let teller = Arc::clone(&queue);
    let thread = std::thread::spawn(move || webhook.run(&teller));
    let wait = |_| heard.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut found: Vec<String> = (0..calls).map(wait).collect();
    let took = begun.elapsed();
    // Time for one call more than there should be.
    std::thread::sleep(effort.pause * 20);
    queue.close();
    thread.join().unwrap();
    found.extend(heard.try_iter());
    (found, took)
}

fn ids(calls: &[String]) -> Vec<&str> {
    let id = |call: &'_ String| call.find("x-tradewind-delivery: ").unwrap() + 22;
    calls.iter().map(|call| call[id(call)..].lines().next().unwrap()).collect()
}

#[test]
fn a_call_has_the_event_its_number_and_a_signature() {
    let (calls, _) = deliver(&[Answer::Status(200)], 2);
    let (head, body) = calls[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hook?key=1 HTTP/1.1\r\n"), "{head}");
    assert_eq!(body, r#"{"seq":310,"at":0,"kind":"over","job":7}"#);
    let expected = [
        "content-type: application/json",
        "x-tradewind-event: over",
        "x-tradewind-delivery: 310.1",
        &format!("x-tradewind-signature: {}", signature(b"secret", body.as_bytes())),
    ];
    for line in expected {
        assert!(head.lines().any(|it| it == line), "{line} in {head}");
    }
    assert_eq!(ids(&calls), ["310.1", "311.1"]);
}

#[test]
fn failures_are_tried_again_and_given_up() {
    use Answer::{Close, Status};
    let check = |answers, expected: &[&str]| {
        assert_eq!(ids(&deliver(answers, expected.len()).0), expected);
    };
    check(&[Status(500), Status(200)], &["310.1", "310.1", "311.1"]);
    check(&[Close, Status(429), Status(204)], &["310.1", "310.1", "310.1", "311.1"]);
    check(&[Close], &["310.1", "310.1", "310.1", "311.1", "311.1", "311.1"]);
    // What is wrong with the call will be wrong again; and redirects are not followed.
    check(&[Status(400)], &["310.1", "311.1"]);
    check(&[Status(307)], &["310.1", "311.1"]);
}

#[test]
fn a_receiver_that_hangs_costs_so_much_time_and_no_more() {
    let effort = Effort { timeout: Duration::from_secs(2), ..EFFORT };
    let (calls, took) = deliver_with(effort, &[Answer::Hang, Answer::Status(200)], 3);
    assert_eq!(ids(&calls), ["310.1", "310.1", "311.1"]);
    assert!(took >= effort.timeout && took < Duration::from_secs(30), "{took:?}");
}

#[test]
fn an_end_does_not_wait_for_pauses() {
    let (url, heard) = receiver(&[Answer::Close]);
    let queue = Queue::new("h", 10);
    queue.push(notice(310));
    queue.close();
    let effort = Effort { pause: Duration::from_secs(3_600), ..EFFORT };
    Webhook::new(url, None, effort).run(&queue);
    let calls: Vec<String> = heard.try_iter().collect();
    assert_eq!(ids(&calls), ["310.1"]);
    assert!(!calls[0].contains("signature"));
}

#[test]
fn a_full_queue_drops_the_oldest() {
    let queue = Queue::new("h", 2);
    (1..=5).for_each(|it| queue.push(it));
    assert_eq!((queue.dropped(), queue.dropped(), queue.len()), (3, 0, 2));
    queue.close();
    assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(4), Some(5), None]);
}

#[test]
fn signatures_are_those_of_rfc_4231() {
    let of = |key: &[u8], text: &str| signature(key, text.as_bytes());
    let known = [
        (
            vec![0x0b; 20],
            "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe".to_vec(),
            "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            vec![0xaa; 131],
            "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
    ];
    for (key, text, digits) in known {
        assert_eq!(of(&key, text), format!("sha256={digits}"));
    }
}

#[test]
fn a_secret_ends_before_its_line_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let path = path.to_str().unwrap();
    assert!(secret(path).is_err());
    std::fs::write(path, "\r\n").unwrap();
    assert!(secret(path).is_err());
    std::fs::write(path, " a b \r\n").unwrap();
    assert_eq!(secret(path).unwrap(), b" a b ");
}

fn mail() -> Mail {
    let lines = vec![("Job", "7".to_owned()), ("Name", "wave\n\nfalse ü".to_owned())];
    let subject = "job 7 (wave\nBcc: eve ü)".to_owned();
    Mail { to: "ana".to_owned(), subject, at: 1_800_000_020, lines }
}

/// A command that is this script.
fn mailer(folder: &Path, script: &str) -> Mailer {
    let path = folder.join("mail.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    let command = ["/bin/sh", path.to_str().unwrap(), "$HOME; x"].map(str::to_owned).to_vec();
    Mailer { command, patience: Duration::from_secs(20), zone: TimeZone::UTC }
}

#[test]
fn the_command_gets_the_mail_and_its_arguments_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let script = format!("(echo \"$1\"; cat) > {}", out.display());
    mailer(folder.path(), &script).send(&mail()).unwrap();
    let expected = "$HOME; x\nTo: ana\nSubject: job 7 (wave Bcc: eve ?)\n\
        Date: Fri, 15 Jan 2027 08:00:20 +0000\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n\
        Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n\
        Job:       7\nName:      wave  false ü\n";
    assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
}

#[test]
fn no_mail_goes_to_what_is_no_plain_address() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mailer = mailer(folder.path(), &format!("cat >> {}", out.display()));
    for to in ["ana\r\nBcc: eve", "a@b, c@d", "|/bin/sh", "/tmp/file", "-oQ/tmp"] {
        let refused = mailer.send(&Mail { to: to.to_owned(), ..mail() }).unwrap_err();
        assert!(refused.contains("not one plain address"), "{refused}");
    }
    assert!(!out.exists());
}

#[test]
fn a_command_that_fails_or_hangs_or_is_not_there_is_an_error_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let failed = mailer(folder.path(), "exit 3").send(&mail()).unwrap_err();
    assert!(failed.contains("exit status: 3"), "{failed}");
    let out = folder.path().join("late");
    let script = format!("(sleep 3; echo > {}) & sleep 60", out.display());
    let begun = Instant::now();
    let patience = Duration::from_millis(300);
    let hung = Mailer { patience, ..mailer(folder.path(), &script) };
    let failed = hung.send(&mail()).unwrap_err();
    assert!(failed.contains("more than 0.3 s"), "{failed}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    let none = Mailer { command: vec!["/no/such".to_owned()], ..mailer(folder.path(), "") };
    let queue = Queue::new("h", 1);
    queue.push(mail());
    queue.close();
    none.run(&queue);
    assert!(none.send(&mail()).unwrap_err().contains("`/no/such`"));
    // What the command has started ended with it.
    std::thread::sleep(Duration::from_millis(3_200));
    assert!(!out.exists());
}

fn facts(attempt: u32, wants: Wants) -> Facts {
    Facts {
        job: 7,
        to: "ana@site.example".to_owned(),
        name: "wave".to_owned(),
        user: "ana".to_owned(),
        pools: vec!["alpha/fast".to_owned(), "beta".to_owned()],
        attempt,
        submitted: 1_800_000_000,
        started: Some(1_800_000_020),
        // Its site was silent until 80.
        ended: Some(1_800_000_075),
        paid: "1.5".to_owned(),
        reason: Some("exit code 3".to_owned()),
        wants,
    }
}

fn event(kind: &str, state: Option<&str>) -> Event {
    let (kind, state) = (kind.to_owned(), state.map(str::to_owned));
    Event { at: 1_800_000_080, kind, state, ..Event::default() }
}

#[test]
fn mails_are_those_that_the_user_wants() {
    let all = [false, true]
        .map(|begin| [false, true].map(|end| [false, true].map(|fail| Wants { begin, end, fail })));
    for wants in all.into_iter().flatten().flatten() {
        let mut letters = Letters::new(TimeZone::UTC);
        let mut sent = |kind: &str, state: Option<&str>, attempt: u32| {
            letters.mail(&event(kind, state), &facts(attempt, wants)).is_some()
        };
        assert_eq!(sent("running", None, 1), wants.begin);
        assert!(!sent("running", None, 1), "another part of the same attempt");
        assert_eq!(sent("running", None, 2), wants.begin);
        assert_eq!(sent("over", Some("COMPLETED"), 2), wants.end);
        for state in ["FAILED", "CANCELLED", "TIMEOUT"] {
            assert_eq!(sent("over", Some(state), 2), wants.fail);
        }
    }
}

#[test]
fn a_mail_says_how_the_job_ended() {
    let mut letters = Letters::new(TimeZone::UTC);
    let wants = Wants { begin: true, end: true, fail: true };
    let mail = letters.mail(&event("over", Some("FAILED")), &facts(1, wants)).unwrap();
    assert_eq!(mail.to, "ana@site.example");
    assert_eq!(mail.subject, "Tradewind: job 7 (wave): FAILED");
    let text = mail.text(&TimeZone::UTC);
    let expected = "Job:       7\nName:      wave\nUser:      ana\nState:     FAILED\n\
        Reason:    exit code 3\nWhere:     alpha/fast, beta\n\
        Submitted: Fri, 15 Jan 2027 08:00:00 +0000\nStarted:   Fri, 15 Jan 2027 08:00:20 +0000\n\
        Ended:     Fri, 15 Jan 2027 08:01:15 +0000\nPaid:      1.5 credits\n";
    assert_eq!(text.split_once("\n\n").unwrap().1, expected);
}
