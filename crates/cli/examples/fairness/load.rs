//! The first user: six connections with one kind of request, as fast as answers come.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::client::{Client, job};

/// Connections of the load.
pub(crate) const CROWD: usize = 6;

/// The rows of the table.
pub(crate) const KINDS: [&str; 9] = [
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

/// Whether the load is on, and what has come of it.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    on: AtomicBool,
    over: AtomicBool,
    /// Threads that wait until it is on.
    resting: AtomicUsize,
    /// Requests, or connections.
    pub(crate) sent: AtomicU64,
}

impl Switch {
    pub(crate) fn turn_on(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    /// Turns it off, and waits until every thread rests.
    pub(crate) fn turn_off(&self, threads: usize) {
        self.on.store(false, Ordering::Relaxed);
        let begun = Instant::now();
        while self.resting.load(Ordering::Relaxed) < threads
            && begun.elapsed() < Duration::from_secs(30)
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed)
    }

    /// Waits until it is on; whether it will be.
    fn wait(&self) -> bool {
        self.resting.fetch_add(1, Ordering::Relaxed);
        while !self.on.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.resting.fetch_sub(1, Ordering::Relaxed);
        !self.over.load(Ordering::Relaxed)
    }
}

/// One of the load's threads.
pub(crate) fn run(kind: &str, to: SocketAddr, token: &str, switch: &Switch) {
    // It stands for other machines: what it computes itself must not count.
    tradewind_daemon::priority::lower();
    match kind {
        "submissions" => hammer(to, token, "/v1/jobs", &job("first", 4), switch),
        "7 MB submissions" => hammer(to, token, "/v1/jobs", &job("first", 350_000), switch),
        "3 MB scripts" => hammer(to, token, "/v1/jobs", &script(), switch),
        "quotes" => {
            let body = job("first", 0).replace(r#","held":true"#, "");
            hammer(to, token, "/v1/quotes", &body, switch);
        }
        "what-ifs" => hammer(to, token, "/v1/whatif", r#"{"policy":"css"}"#, switch),
        "wrong tokens" => {
            let wrong = format!("tw_{}", "a".repeat(40));
            hammer(to, &wrong, "/v1/jobs", "{}", switch);
        }
        "event streams" => streams(to, token, switch),
        _ => idle(to, switch),
    }
}

/// Of many different bytes: neither the disk nor a compressor gets them for nothing.
fn script() -> String {
    let line = |i: usize| format!("{}\\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let script: String = (0..150_000).map(line).collect();
    format!(
        r##"{{"name":"first","script":"#!/bin/sh\n{script}","nodes":1,"time":60,"held":true}}"##
    )
}

/// The same again and again; on a new connection where the old one was closed.
fn hammer(to: SocketAddr, token: &str, path: &str, body: &str, switch: &Switch) {
    let Ok(mut client) = Client::new(to, token) else { return };
    while switch.wait() {
        while switch.is_on() {
            switch.sent.fetch_add(1, Ordering::Relaxed);
            if client.send("POST", path, body).is_err()
                && let Ok(again) = client.again()
            {
                client = again;
            }
        }
    }
}

/// 300 streams, closed and opened again.
fn streams(to: SocketAddr, token: &str, switch: &Switch) {
    while switch.wait() {
        let mut held = Vec::new();
        while switch.is_on() {
            let stream = Client::new(to, token)
                .and_then(|mut it| it.head("GET", "/v1/events", "").map(|_| it));
            switch.sent.fetch_add(1, Ordering::Relaxed);
            held.extend(stream);
            if held.len() > 300 / CROWD {
                held.clear();
            }
        }
    }
}

/// 1,000 connections, and 50 new ones each second.
fn idle(to: SocketAddr, switch: &Switch) {
    while switch.wait() {
        let mut held = VecDeque::new();
        while switch.is_on() {
            held.extend(TcpStream::connect(to));
            switch.sent.fetch_add(1, Ordering::Relaxed);
            if held.len() > 1_000 / CROWD {
                held.pop_front();
                std::thread::sleep(Duration::from_millis(20 * CROWD as u64));
            }
        }
    }
}
