//! The second user: submits, quotes, asks a what-if and waits for an event in turn.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::Wrong;
use crate::client::{Client, job};

/// What is asked for, in turn.
pub(crate) const ASKED: [&str; 4] = ["submission", "quote", "what-if", "event"];

/// By kind, milliseconds.
pub(crate) type Times = [Vec<f64>; ASKED.len()];

/// Between two requests: a user who has other things to do.
const REST: Duration = Duration::from_millis(2);

/// The second user.
pub(crate) struct Second {
    client: Client,
    stream: Client,
    /// Answers other than good ones.
    pub(crate) refused: u64,
}

impl Second {
    pub(crate) fn new(to: SocketAddr, token: &str) -> Result<Second, Wrong> {
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
            if self.stream.stream.read_line(&mut line)? == 0 {
                return Err("the stream of events has ended".into());
            }
        }
        let took = if kind == 3 { begin.elapsed() } else { answered };
        Ok(took.as_secs_f64() * 1e3)
    }

    /// The times of one slice.
    pub(crate) fn measure(&mut self, slice: Duration) -> Result<Times, Wrong> {
        let mut all = Times::default();
        let begin = Instant::now();
        while begin.elapsed() < slice {
            for (kind, times) in all.iter_mut().enumerate() {
                times.push(self.ask(kind)?);
                std::thread::sleep(REST);
            }
        }
        Ok(all)
    }
}
