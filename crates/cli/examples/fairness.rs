//! What one user at full rate does to another: times of the second user's requests, alone and
//! beside each kind of load, in one run.
//!
//! `cargo run --example fairness -- PROGRAM [SECONDS [ROW…]]` starts `PROGRAM up` in a folder of its
//! own. Each row measures the second user alone and beside the load, five times in turns of so many
//! seconds each (8 if left out: shorter turns have too few requests for a p99). Rows are named by a
//! part of their names; without any, all are measured.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it prints a table")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Wrong = Box<dyn std::error::Error + Send + Sync>;

/// What the second user asks for, in turn.
const ASKED: [&str; 4] = ["submission", "quote", "what-if", "event"];
/// How often the second user is alone, and beside the load.
const TURNS: u64 = 5;
/// Connections of the load.
const CROWD: usize = 6;

/// A kept connection of one user.
struct Client {
    stream: BufReader<TcpStream>,
    to: SocketAddr,
    token: String,
}

impl Client {
    fn new(to: SocketAddr, token: &str) -> Result<Client, Wrong> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Client { stream: BufReader::new(stream), to, token: token.to_owned() })
    }

    fn head(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, usize), Wrong> {
        let (token, length) = (&self.token, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(head.as_bytes())?;
        let (mut status, mut length, mut line) = (0, 0, String::new());
        while line != "\r\n" {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err("the connection was closed".into());
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse()?;
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        Ok((status, length))
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> Result<(u16, String), Wrong> {
        let (status, length) = self.head(method, path, body)?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body)?))
    }

    /// The same again and again, until it is over; on a new connection where the old one closed.
    fn hammer(mut self, path: &str, body: &str, over: &AtomicBool, sent: &AtomicU64) {
        while !over.load(Ordering::Relaxed) {
            sent.fetch_add(1, Ordering::Relaxed);
            if self.send("POST", path, body).is_err()
                && let Ok(again) = Client::new(self.to, &self.token)
            {
                self = again;
            }
        }
    }
}

/// A daemon in a folder of its own.
struct Daemon {
    child: Child,
    address: SocketAddr,
    root: String,
}

impl Daemon {
    fn start(program: &str, folder: &Path) -> Result<Daemon, Wrong> {
        let mut child = Command::new(program)
            .args([
                "up",
                "--shared-account",
                "--listen",
                "127.0.0.1:0",
                "--log",
                "error",
                "--state",
            ])
            .arg(folder)
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("there is no output")?;
        let mut url = String::new();
        BufReader::new(out).read_line(&mut url)?;
        let address = url.trim().trim_start_matches("http://").parse()?;
        let root = std::fs::read_to_string(folder.join("admin.token"))?.trim().to_owned();
        Ok(Daemon { child, address, root })
    }

    fn token(&self, user: &str) -> Result<String, Wrong> {
        let body = format!(r#"{{"user":"{user}","role":"user","note":""}}"#);
        let (status, told) =
            Client::new(self.address, &self.root)?.send("POST", "/v1/tokens", &body)?;
        let value: serde_json::Value = serde_json::from_str(&told)?;
        let token = value["token"].as_str().ok_or_else(|| format!("{status}: {told}"))?;
        Ok(token.to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A job that is held, with so many variables.
fn job(name: &str, variables: usize) -> String {
    let variable = |i: usize| format!(r#""V{i}":"{}""#, "x".repeat(8));
    let all: Vec<String> = (0..variables).map(variable).collect();
    format!(
        r#"{{"name":"{name}","command":["true"],"nodes":1,"time":60,"held":true,"environment":{{{}}}}}"#,
        all.join(",")
    )
}

/// The second user.
struct Second {
    client: Client,
    stream: Client,
    /// Answers other than good ones.
    refused: u64,
}

impl Second {
    fn new(to: SocketAddr, token: &str) -> Result<Second, Wrong> {
        let mut stream = Client::new(to, token)?;
        let (status, _) = stream.head("GET", "/v1/events", "")?;
        match status {
            200 => Ok(Second { client: Client::new(to, token)?, stream, refused: 0 }),
            _ => Err(format!("no stream of events: {status}").into()),
        }
    }

    /// Milliseconds of one request of each kind, or less if it was refused.
    fn ask(&mut self, kind: usize) -> Result<f64, Wrong> {
        let (path, body) = match kind {
            1 => ("/v1/quotes", job("q", 0).replace(r#","held":true"#, "")),
            2 => ("/v1/whatif", r#"{"policy":"easy","horizon":3600}"#.to_owned()),
            _ => ("/v1/jobs", job("second", 4)),
        };
        let begin = Instant::now();
        let (status, told) = self.client.send("POST", path, &body)?;
        if status >= 400 {
            self.refused += 1;
            if self.refused == 1 {
                eprintln!("  {path}: {status} {told}");
            }
        }
        let answered = begin.elapsed();
        let mut line = String::new();
        // Every submission is an event of the stream, too.
        while matches!(kind, 0 | 3) && status < 400 && !line.starts_with("event: submitted") {
            line.clear();
            self.stream.stream.read_line(&mut line)?;
        }
        let took = if kind == 3 { begin.elapsed() } else { answered };
        Ok(took.as_secs_f64() * 1e3)
    }

    /// By kind, the times of `seconds`.
    fn measure(&mut self, seconds: u64) -> Result<[Vec<f64>; 4], Wrong> {
        let mut all: [Vec<f64>; 4] = Default::default();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(seconds) {
            for (kind, times) in all.iter_mut().enumerate() {
                times.push(self.ask(kind)?);
                // A user who has other things to do.
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(all)
    }
}

/// Adds times to others of the same kind, in order.
fn join(all: &mut [Vec<f64>; 4], more: [Vec<f64>; 4]) {
    for (times, more) in all.iter_mut().zip(more) {
        times.extend(more);
        times.sort_by(f64::total_cmp);
    }
}

fn at(times: &[f64], share: usize) -> f64 {
    times
        .get((times.len() * share / 100).min(times.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

/// One kind of load, until it is over.
fn load(kind: &str, to: SocketAddr, token: &str, over: &AtomicBool, sent: &AtomicU64) {
    let Ok(client) = Client::new(to, token) else { return };
    match kind {
        "submissions" => client.hammer("/v1/jobs", &job("first", 4), over, sent),
        "3 MB scripts" => {
            // Of many different bytes: neither the disk nor a compressor gets them for nothing.
            let line = |i: usize| format!("{}\\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let script: String = (0..150_000).map(line).collect();
            let body = format!(
                r##"{{"name":"first","script":"#!/bin/sh\n{script}","nodes":1,"time":60,"held":true}}"##
            );
            client.hammer("/v1/jobs", &body, over, sent);
        }
        "7 MB submissions" => client.hammer("/v1/jobs", &job("first", 350_000), over, sent),
        "quotes" => {
            let body = job("first", 0).replace(r#","held":true"#, "");
            client.hammer("/v1/quotes", &body, over, sent);
        }
        "what-ifs" => client.hammer("/v1/whatif", r#"{"policy":"css"}"#, over, sent),
        "wrong tokens" => {
            let wrong = format!("tw_{}", "a".repeat(40));
            let Ok(client) = Client::new(to, &wrong) else { return };
            client.hammer("/v1/jobs", "{}", over, sent);
        }
        "event streams" => {
            let mut held = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let stream = Client::new(to, token)
                    .and_then(|mut it| it.head("GET", "/v1/events", "").map(|_| it));
                sent.fetch_add(1, Ordering::Relaxed);
                held.extend(stream);
                if held.len() > 300 / CROWD {
                    held.clear();
                }
            }
        }
        _ => {
            // 1,000 connections, and 50 new ones each second.
            let mut held = std::collections::VecDeque::new();
            while !over.load(Ordering::Relaxed) {
                held.extend(TcpStream::connect(to));
                sent.fetch_add(1, Ordering::Relaxed);
                if held.len() > 1_000 / CROWD {
                    held.pop_front();
                    std::thread::sleep(Duration::from_millis(20 * CROWD as u64));
                }
            }
        }
    }
}

/// The second user alone and beside one kind of load, as a row of the table.
fn row(
    kind: &str,
    to: SocketAddr,
    first: &str,
    second: &mut Second,
    seconds: u64,
) -> Result<String, Wrong> {
    let sent = AtomicU64::new(0);
    let (mut alone, mut beside): ([Vec<f64>; 4], [Vec<f64>; 4]) = Default::default();
    second.refused = 0;
    // In turns, so that what else the machine does is in both.
    for _ in 0..TURNS {
        join(&mut alone, second.measure(seconds)?);
        let over = AtomicBool::new(false);
        let measured = std::thread::scope(|scope| {
            for _ in (0..CROWD).filter(|_| kind != "nothing") {
                let (over, sent) = (&over, &sent);
                scope.spawn(move || {
                    // It stands for other machines: what it computes itself must not count.
                    tradewind_daemon::priority::lower();
                    load(kind, to, first, over, sent);
                });
            }
            std::thread::sleep(Duration::from_millis(500));
            let measured = second.measure(seconds);
            over.store(true, Ordering::Relaxed);
            measured
        })?;
        join(&mut beside, measured);
    }
    let cell = |(alone, beside): (&Vec<f64>, &Vec<f64>)| {
        let of = |share| (at(alone, share), at(beside, share));
        let told = |(a, b): (f64, f64)| format!("{a:.1} → {b:.1} ({:.1})", b / a.max(0.001));
        format!("{}; {}", told(of(50)), told(of(99)))
    };
    let cells: Vec<String> = alone.iter().zip(&beside).map(cell).collect();
    let rate = sent.load(Ordering::Relaxed) / (TURNS * seconds).max(1);
    Ok(format!("| {kind} | {rate} | {} |", cells.join(" | ")))
}

fn main() -> Result<(), Wrong> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("which program? PROGRAM [SECONDS]")?;
    let seconds: u64 = words.next().map_or(Ok(8), |it| it.parse())?;
    let folder = std::env::temp_dir().join(format!("tradewind-fairness-{}", std::process::id()));
    let daemon = Daemon::start(&program, &folder)?;
    let (first, second) = (daemon.token("first")?, daemon.token("second")?);
    let mut second = Second::new(daemon.address, &second)?;
    second.measure(1)?;
    println!(
        "| beside | load, requests/s | {} |",
        ASKED.map(|it| format!("{it}: p50, p99 alone → beside, ms (ratio)")).join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(ASKED.len()));
    let kinds = [
        "nothing",
        "submissions",
        "7 MB submissions",
        "3 MB scripts",
        "quotes",
        "what-ifs",
        "event streams",
        "idle connections",
        "wrong tokens",
    ];
    let rows: Vec<String> = words.collect();
    let is_asked = |kind: &&str| rows.is_empty() || rows.iter().any(|row| kind.contains(&**row));
    for kind in kinds.into_iter().filter(is_asked) {
        println!("{}", row(kind, daemon.address, &first, &mut second, seconds)?);
        if second.refused > 0 {
            println!("{} requests of the second user were refused", second.refused);
        }
    }
    drop(daemon);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
