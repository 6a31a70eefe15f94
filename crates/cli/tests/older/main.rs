//! Today's program and that of an earlier release at one market, in turn: `make test-older` builds the
//! earlier one and says where it is in `TRADEWIND_OLDER`.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot run has failed")]

mod file;
mod rolling;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A program of a release.
#[derive(Debug, Clone)]
struct Program(PathBuf);

/// A market by the folder of a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Market<'a>(&'a Path);

/// A running daemon.
struct Daemon {
    child: Option<Child>,
    url: String,
}

impl Program {
    fn today() -> Program {
        Program(env!("CARGO_BIN_EXE_tradewind").into())
    }

    fn older() -> Program {
        let place = std::env::var_os("TRADEWIND_OLDER");
        Program(place.expect("`make test-older` builds the earlier release").into())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.0);
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN", "PGPASSWORD", "PGPASSFILE", "PGUSER"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command().args(words).output().unwrap()
    }

    fn text(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{words:?}: {said}");
        String::from_utf8(ended.stdout).unwrap()
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[words, &["--format", "json"]].concat())).unwrap()
    }

    fn up(&self, config: &Path, state: &Path) -> Command {
        let mut command = self.command();
        command.args(["up", "--quiet", "--listen", "127.0.0.1:0", "--config"]).arg(config);
        command.arg("--state").arg(state);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts a daemon, which answers.
    fn start(&self, config: &Path, state: &Path) -> Daemon {
        let mut child = self.up(config, state).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let mut daemon = Daemon { child: Some(child), url: url.trim().to_owned() };
        assert!(!url.is_empty(), "it did not start: {}", daemon.end("KILL"));
        daemon
    }

    /// What a start that is refused says.
    fn refused(&self, config: &Path, state: &Path) -> String {
        let ended = self.up(config, state).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(!ended.status.success() && !said.contains("panicked"), "{said}");
        said
    }
}

impl Daemon {
    fn stop(mut self) -> String {
        self.end("TERM")
    }

    /// What it said on standard error.
    fn end(&mut self, signal: &str) -> String {
        let Some(mut child) = self.child.take() else { return String::new() };
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        child.wait().unwrap();
        said
    }
}

impl Drop for Daemon {
    #[expect(
        clippy::print_stderr,
        reason = "what a daemon said is needed to see why a test failed"
    )]
    fn drop(&mut self) {
        let said = self.end("KILL");
        if thread::panicking() {
            eprintln!("{} said: {said}", self.url);
        }
    }
}

impl Market<'_> {
    /// More words of a command that asks this market.
    fn ask(self, words: &[&str], program: &Program) -> Value {
        let state = self.0.to_str().unwrap();
        let (command, rest) = words.split_at(1);
        program.json(&[command, &["--state", state], rest].concat())
    }

    /// Fills the market: two jobs run until it was said of others when they will start; one is held,
    /// one cancelled, a project pays for one. `journal`: where it is, for `journal export`.
    fn fill(self, program: &Program, journal: &[&str]) {
        let state = self.0.to_str().unwrap();
        // Jobs do not see the state folder.
        let gate = self.0.with_file_name("gate");
        let wait = format!("until [ -e {} ]; do sleep 0.1; done", gate.display());
        let submit = |more: &[&str]| {
            program.text(&[&["submit", "--state", state, "--time", "10"], more].concat());
        };
        program.text(&["project", "create", "flow", "--state", state]);
        program.text(&["project", "add", "flow", "admin", "--state", state]);
        program.text(&["grant", "project:flow", "5000", "--state", state]);
        for _ in 0..2 {
            submit(&["--wrap", &wait]);
        }
        for name in ["fit-1", "fit-2", "draw", "sum"] {
            for _ in 0..4 {
                submit(&["--job-name", name, "--", "true"]);
            }
        }
        submit(&["--account", "flow", "--", "true"]);
        submit(&["--array", "1-3", "--wrap", "exit $SLURM_ARRAY_TASK_ID"]);
        submit(&["--hold", "--", "true"]);
        submit(&["--job-name", "never", "--hold", "--", "true"]);
        program.text(&["cancel", "24", "--state", state]);
        until("starts are forecast", || kinds(program, journal).iter().any(|it| it == "forecast"));
        fs::write(gate, "").unwrap();
        self.settled(program, 1);
    }

    /// Waits until only this many jobs are not over.
    fn settled(self, program: &Program, left: usize) {
        until("all jobs are over", || list(&self.ask(&["jobs"], program)).len() == left);
    }

    /// All jobs and all postings.
    fn books(self, program: &Program) -> (Vec<Value>, Value) {
        let jobs = list(&self.ask(&["jobs", "--all"], program));
        (jobs, self.ask(&["ledger"], program)["postings"].clone())
    }
}

fn list(listed: &Value) -> Vec<Value> {
    listed.as_array().or_else(|| listed["jobs"].as_array()).unwrap().clone()
}

/// Whether a later release says all that an earlier one said; it may say more.
fn says(later: &Value, earlier: &Value) -> bool {
    match (later, earlier) {
        (Value::Object(later), Value::Object(earlier)) => {
            let has = |(name, it): (&String, &Value)| later.get(name).is_some_and(|l| says(l, it));
            earlier.iter().all(has)
        }
        (Value::Array(later), Value::Array(earlier)) => {
            later.len() == earlier.len() && later.iter().zip(earlier).all(|(l, e)| says(l, e))
        }
        (later, earlier) => later == earlier,
    }
}

/// Waits for a condition, for minutes at most.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(180), "not so in time: {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Writes a configuration with one local site of two nodes.
fn configure(file: &Path, more: &str) {
    let site = "[[site]]\nname = \"alpha\"\nkind = \"local\"\n\
                pool = [{ name = \"alpha\", nodes = 2, price = 1 }]\n";
    fs::write(file, format!("{more}\n[market]\nestimates = \"learned\"\n\n{site}")).unwrap();
}

/// What the journal's rows are of, by `journal export`.
fn kinds(program: &Program, place: &[&str]) -> Vec<String> {
    let rows = program.text(&[&["journal", "export"], place].concat());
    let row = |line: &str| -> Option<String> {
        let row: Value = serde_json::from_str(line).unwrap();
        row["body"].as_object()?.keys().next().cloned()
    };
    rows.lines().filter_map(row).collect()
}
