//! Grids without a centre, from the command line.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");
const EIGHT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/eight-sites.toml");

/// The log's home is too small for many of its jobs.
const UNEQUAL: &str = "[[site]]\nname = 'a'\nlog = 'small'\npool = [{ name = 'a', nodes = 4 }]\n\
                       [[site]]\nname = 'b'\npool = [{ name = 'b', nodes = 32 }]\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn simulate(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.args(["simulate", "--check", "--out"]).arg(self.path("runs")).args(args);
        command.output().unwrap()
    }

    fn unequal(&self, args: &[&str]) -> Output {
        let grid = self.path("grid.toml");
        std::fs::write(&grid, UNEQUAL).unwrap();
        self.simulate(&[&[LOG, "--grid", grid.to_str().unwrap()], args].concat())
    }

    /// The runs of the campaign that was just run.
    fn runs(&self) -> Vec<Value> {
        let text = std::fs::read(self.path("runs").join("summary.json")).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        match document.get("runs") {
            Some(runs) => runs.as_array().unwrap().clone(),
            None => vec![document],
        }
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn number(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or(f64::NAN)
}

const MODEL: [&str; 6] =
    ["--model", "exponential[procs=64,request=exact,jobs=300]", "--grid", EIGHT, "--load", "0.9"];

#[test]
fn the_papers_grid_with_its_controls() {
    let folder = Folder::new();
    let policies = "multi-queue,multi-queue[migrate=off],easy-sites,easy-sites[migrate=off],\
                    conservative-sites,fcfs-sites[order=sjf],easy[spread=site]";
    let output = folder.simulate(&[&MODEL[..], &["--policy", policies]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let runs = folder.runs();
    for run in &runs {
        assert_eq!((number(run, "jobs"), number(run, "refused")), (300.0, 0.0), "{run}");
        assert!(number(run, "site_backfill_ratio") > 0.0, "{run}");
        assert!(number(run, "mean_width_slowdown_small_long") > 0.0, "{run}");
    }
    let [hybrid, alone, easy, easy_alone, ..] = &runs[..] else { unreachable!() };
    for run in [hybrid, easy] {
        let (migrations, jobs) = (number(run, "migrations"), number(run, "jobs_away"));
        assert!(migrations > 10.0 && migrations == jobs, "each moves once: {run}");
        assert!(number(run, "messages_per_job") > 1.0);
    }
    for run in [alone, easy_alone] {
        assert_eq!((number(run, "jobs_away"), run.get("messages")), (0.0, None));
    }
    assert!(number(hybrid, "mean_wait_s") < number(alone, "mean_wait_s"));
}

#[test]
fn faults_are_drawn_from_the_runs_seed() {
    let folder = Folder::new();
    let policy = "multi-queue[loss=0.3,doubles=0.3,late=0.5,lateness=30s,latency=0s..9s,\
                  discover=2,rounds=4,cut=6h..12h,choose=start,horizon=10m,hops=2]";
    let messages = |seed: &str| {
        let rest = ["--policy", policy, "--seeds", seed, "--force"];
        let output = folder.simulate(&[&MODEL[..], &rest].concat());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains(&format!("seeds: {seed}")), "{}", said(&output));
        let run = folder.runs().remove(0);
        assert_eq!(number(&run, "jobs"), 300.0);
        assert!(number(&run, "messages_lost") > 0.0);
        number(&run, "messages")
    };
    let first = messages("1");
    assert_eq!(first, messages("1"));
    assert_ne!(first, messages("2"));
}

#[test]
fn jobs_that_do_not_fit_at_home_move_or_are_refused() {
    let folder = Folder::new();
    let output = folder.unequal(&["--policy", "multi-queue,multi-queue[migrate=off],easy-sites"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let runs = folder.runs();
    let refused = |run: usize| runs[run]["refusals"].as_object().unwrap();
    assert!(refused(0).is_empty() && number(&runs[0], "jobs_away") > 50.0, "{}", runs[0]);
    assert!(refused(1)["wider-than-queues"].as_u64().unwrap() > 50, "{}", runs[1]);
    assert!(refused(2).is_empty(), "{}", runs[2]);
}

#[test]
fn a_cut_that_never_heals_strands_jobs_and_loses_no_other_run() {
    let folder = Folder::new();
    let output = folder.unequal(&["--policy", "multi-queue[cut=0..],multi-queue[cut=0..1d]"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("of the jobs wait for ever, as the network is cut for ever"), "{said}");
    assert!(said.contains("hint: let the cut end: `cut=1d..2d`"), "{said}");
    assert!(said.contains("1 of 2 runs failed; the others are kept"), "{said}");
    assert_eq!(folder.runs().len(), 1);
}

#[test]
fn a_log_is_dealt_over_the_sites() {
    let folder = Folder::new();
    let jobs = |homes: &str| {
        let options = ["--homes", homes, "--policy", "easy-sites[migrate=off]", "--force"];
        let output = folder.simulate(&[&[LOG, "--grid", EIGHT], &options[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        std::fs::read_to_string(folder.path("runs").join("jobs.csv")).unwrap()
    };
    let all: Vec<String> = ["log", "dealt", "nodes", "users"].map(jobs).to_vec();
    for (at, one) in all.iter().enumerate() {
        assert!(all[..at].iter().all(|other| other != one), "{at}");
    }
    let lone = folder.simulate(&[LOG, "--homes", "dealt", "--policy", "easy", "--force"]);
    assert_eq!(lone.status.code(), Some(2), "{}", said(&lone));
}

#[test]
fn a_site_alone_asks_no_other() {
    let folder = Folder::new();
    let output = folder.simulate(&[LOG, "--policy", "multi-queue,easy-sites,easy"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let note = "note: small: one site, so no other site can take a job of `multi-queue`\n";
    assert!(said(&output).contains(note), "{}", said(&output));
    let jobs = |name: &str| {
        std::fs::read_to_string(folder.path("runs").join(name).join("jobs.csv")).unwrap()
    };
    assert_eq!(jobs("easy-sites"), jobs("easy"));
    assert_ne!(jobs("multi-queue"), jobs("easy"));
}
