//! A site is cut off at a stated step of an order: before the command, or after it and before its
//! answer.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks, micro, tally};
use super::promise::{
    HEAD, accept, all_is_well, check, is_away, now, outcome, pause, quote, words,
};

/// Stands for Slurm's commands. A file `cut` beside it cuts the connection; `before-NAME` cuts it
/// when this command comes, `after-NAME` when it is done, with the options in it, and has not answered.
const WIRE: &str = r#"#!/bin/sh
here=${0%/*} name=${0##*/}
cut() { echo "$name: error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
[ ! -e "$here/cut" ] || cut
if [ -e "$here/before-$name" ]; then mv "$here/before-$name" "$here/cut"; cut; fi
export PATH='WHOLE'
if [ -e "$here/after-$name" ]; then
    "$name" $(cat "$here/after-$name") "$@" >/dev/null
    mv "$here/after-$name" "$here/cut"
    cut
fi
exec "$name" "$@"
"#;

/// The connection to alpha.
struct Wire(PathBuf);

impl Wire {
    fn new(alpha: &Cluster) -> (Wire, String) {
        let folder = alpha.path().join("wire");
        std::fs::create_dir(&folder).unwrap();
        let path = std::env::var("PATH").unwrap();
        let program = folder.join("program");
        std::fs::write(&program, WIRE.replace("WHOLE", &path)).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["sbatch", "scancel", "scontrol", "sdiag", "sinfo", "squeue"] {
            symlink("program", folder.join(name)).unwrap();
        }
        let path = format!("{}:{path}", folder.display());
        (Wire(folder), path)
    }

    /// Cuts it at this step: `before-NAME`, `after-NAME`, or `cut` for now.
    fn at(&self, step: &str) {
        self.at_with(step, "");
    }

    /// At `after-NAME`, whose command gets this option.
    fn at_with(&self, step: &str, option: &str) {
        std::fs::write(self.0.join(step), option).unwrap();
    }

    fn is_cut(&self) -> bool {
        self.0.join("cut").exists()
    }

    fn until_cut(&self, market: &Market, step: &str) {
        market.until(&format!("it is cut off {step}"), || self.is_cut());
    }

    fn mend(&self, market: &Market) {
        std::fs::remove_file(self.0.join("cut")).unwrap();
        market.until("alpha answers", || !is_away(market, "alpha"));
    }
}

/// Alpha is cheap and behind the wire, beta costs five times as much.
fn start(alpha: &Cluster, beta: &Cluster) -> (Market, Wire) {
    start_with(alpha, beta, "")
}

/// Alpha has a line of its own in the configuration.
fn start_with(alpha: &Cluster, beta: &Cluster, line: &str) -> (Market, Wire) {
    let (wire, path) = Wire::new(alpha);
    let lines = "timeout = \"4s\"\nsurvey_every = \"1s\"";
    let offer = |cluster, name, price| Offer::new(cluster, name, 2, price).with(lines);
    let mut first = Offer::new(alpha, "alpha", 2, "1").with(&format!("{lines}\n{line}"));
    first.environment.insert("PATH".to_owned(), path);
    (Market::start(HEAD, &[first, offer(beta, "beta", "5")]), wire)
}

/// A job with an accepted offer that begins so many seconds from now, and when that is.
fn accepted(market: &Market, mark: &str, run_ahead: (u32, i64)) -> (u64, i64) {
    let asked = words(market, 2, mark, run_ahead);
    let (id, start) = quote(market, &asked);
    (accept(market, &asked, &id), start)
}

/// It is not known whether Slurm has the task, or Slurm does not have it: for less than the slack,
/// and for longer.
#[test]
fn a_site_is_cut_off_at_the_submission_of_a_task() {
    let (alpha, beta) =
        (Cluster::start(&Plan::of("alpha", 2)), Cluster::start(&Plan::of("beta", 2)));
    let (market, wire) = start(&alpha, &beta);
    // `None`: Slurm may have begun it in time, and the market may have learned it from the task itself.
    for (step, is_long, expected) in [
        ("after-sbatch", false, Some("kept")),
        ("before-sbatch", true, Some("breached")),
        ("after-sbatch", true, None),
    ] {
        let mark = format!("{step}-{is_long}");
        let (job, start) = accepted(&market, &mark, (2, 8));
        wire.at(step);
        wire.until_cut(&market, step);
        if is_long {
            market.until("it is decided", || outcome(&market.job(job)) != "open");
        } else {
            pause(start + 4 - now());
        }
        let known = outcome(&market.job(job)).to_owned();
        // It is not known whether Slurm has it: it runs nowhere else until that is known.
        assert_eq!(market.pool("beta")["ours"], 0, "{mark}");
        println!("{mark}: {known}, {}", market.job(job)["sentence"]);
        wire.mend(&market);
        let told = check(&market, job, &mark, expected.unwrap_or(&known));
        let steps = told["history"].to_string();
        assert_eq!(steps.contains("its site did not answer"), step == "before-sbatch", "{told:#}");
    }
    all_is_well(&market);
}

/// The part at alpha is submitted without an answer, and so is its take-back.
#[test]
fn a_site_is_cut_off_when_a_part_is_taken_back() {
    let (alpha, beta) =
        (Cluster::start(&Plan::of("alpha", 2)), Cluster::start(&Plan::of("beta", 2)));
    let (market, wire) = start(&alpha, &beta);
    let asked = words(&market, 4, "wide", (1, 10));
    let (id, _) = quote(&market, &asked);
    let job = accept(&market, &asked, &id);
    // Slurm does not begin it: else the market may learn of that from the task itself.
    wire.at_with("after-sbatch", "--hold");
    wire.until_cut(&market, "after-sbatch");
    market.until("the breach is stated", || outcome(&market.job(job)) == "breached");
    market.until("beta's nodes are given back", || market.pool("beta")["ours"] == 0);
    wire.at("after-scancel");
    std::fs::remove_file(wire.0.join("cut")).unwrap();
    wire.until_cut(&market, "at the take-back");
    pause(3);
    assert_eq!(market.written("marks"), "", "it has not begun");
    wire.mend(&market);
    check(&market, job, "wide", "breached");
    all_is_well(&market);
}

/// What the job has paid, in node-seconds at alpha, at most.
fn cancelled(market: &Market, job: u64, mark: &str, most: i64) -> Value {
    market.until("it is over", || market.job(job).get("ended").is_some());
    let told = market.job(job);
    assert_eq!(told["state"], "CANCELLED", "{told:#}");
    let ran = tally(&market.written("marks")).get(mark).copied().unwrap_or(0);
    assert!(ran <= usize::from(most > 0), "{mark} ran {ran} times: {told:#}");
    let paid = micro(&told["paid"]);
    assert!((0..=most * 1_000_000).contains(&paid), "{paid}: {told:#}");
    assert_eq!(micro(&told["held"]), 0, "{told:#}");
    told
}

/// A user cancels while the site is cut off, or it is cut off at that.
#[test]
fn a_site_is_cut_off_at_a_cancel() {
    let (alpha, beta) =
        (Cluster::start(&Plan::of("alpha", 2)), Cluster::start(&Plan::of("beta", 2)));
    let (market, wire) = start(&alpha, &beta);
    let cancel = |job: u64| drop(market.text(&["cancel", &job.to_string()]));

    // Before its window: nothing was submitted, and nothing is.
    let (job, _) = accepted(&market, "early", (2, 60));
    wire.at("cut");
    market.until("it is known to be away", || is_away(&market, "alpha"));
    cancel(job);
    let told = cancelled(&market, job, "early", 0);
    assert_eq!(told["promise"]["outcome"], "void", "{told:#}");
    wire.mend(&market);

    // While it runs: it ends when the site is back, and pays for no more than it had.
    for step in ["cut", "before-scancel", "after-scancel"] {
        let (job, _) = accepted(&market, step, (28, 0));
        market.until_state(job, "RUNNING");
        market.until("its work has begun", || market.written("marks").contains(step));
        wire.at(step);
        if step == "cut" {
            market.until("it is known to be away", || is_away(&market, "alpha"));
        }
        cancel(job);
        wire.until_cut(&market, step);
        pause(3);
        let state = market.job(job)["state"].clone();
        assert!(state == "COMPLETING" || state == "CANCELLED", "{step}: {state}");
        wire.mend(&market);
        let told = cancelled(&market, job, step, 2 * 30);
        assert_eq!(told["promise"]["outcome"], "kept", "{told:#}");
        alpha.until("Slurm has nothing of it", |it| {
            it.say(&["squeue", "-h", "-o", "%i"]).trim().is_empty()
        });
    }
    all_is_well(&market);
}

/// An owner's job on both nodes of alpha that runs until the file is there.
fn owners_job(alpha: &Cluster, market: &Market, file: &str) {
    let file = market.path("work").join(file);
    let line = format!("until test -e {}; do sleep 0.2; done", file.display());
    let words = ["sbatch", "--exclusive", "--output=/dev/null", "--chdir=/", "--nodes=2"];
    alpha.say(&[&words[..], &["--time=5", "--wrap", &line]].concat());
}

/// Slurm begins it, or its user cancels it, while alpha does not answer.
#[test]
fn a_site_is_cut_off_while_a_job_waits_in_its_queue() {
    let (alpha, beta) =
        (Cluster::start(&Plan::of("alpha", 2)), Cluster::start(&Plan::of("beta", 2)));
    let (market, wire) = start_with(&alpha, &beta, "owners_queue = \"in-line\"");
    for (mark, expected) in [("lined", "COMPLETED"), ("left", "CANCELLED")] {
        owners_job(&alpha, &market, mark);
        market.until("it is seen", || market.pool("alpha")["local"] == 2);
        let line = marks(&market.work(), mark, "true");
        let asked = ["--sites", "alpha", "--nodes", "2", "--time", "1:00", "--wrap", &line];
        let job = market.submit(&asked);
        market.until_job(job, "its turn is known", |job| {
            job["reason"] == "SiteQueue" && job["expected_start"]["at"].is_i64()
        });
        market.until("Slurm has it", || {
            alpha.say(&["squeue", "--noheader", "--states=PD", "--format=%k"]).contains("tw-")
        });
        wire.at("cut");
        let told = market.until_job(job, "it is away", |job| job["reason"] == "SiteNotAvailable");
        // When its turn comes is not known any more.
        let stands = (&told["state"], told.get("expected_start"), told.get("started"));
        assert_eq!(stands, (&"PENDING".into(), None, None), "{told:#}");
        if expected == "CANCELLED" {
            market.text(&["cancel", &job.to_string()]);
            assert_eq!(market.job(job)["state"], "COMPLETING");
        } else {
            std::fs::write(market.path("work").join(mark), "").unwrap();
            market.until("it has run", || market.written("marks").contains(mark));
        }
        assert_eq!(market.pool("beta")["ours"], 0, "it may run at alpha");
        wire.mend(&market);
        let told = market.until_state(job, expected);
        assert_eq!(told["restarts"], 0, "{told:#}");
        std::fs::write(market.path("work").join(mark), "").unwrap();
        alpha.until("Slurm has nothing", |it| it.say(&["squeue", "-h"]).trim().is_empty());
    }
    assert_eq!(market.written("marks"), "lined\n");
    all_is_well(&market);
}

/// An owner's waiting job gets nodes back: the signal is not sent, or its sending is not confirmed.
#[test]
fn a_site_is_cut_off_when_nodes_go_back_to_their_owner() {
    let (alpha, beta) =
        (Cluster::start(&Plan::of("alpha", 2)), Cluster::start(&Plan::of("beta", 2)));
    let line = "preemption = { notice = \"5s\", discount = 0.5 }";
    let (market, wire) = start_with(&alpha, &beta, line);
    for step in ["before-scancel", "after-scancel"] {
        let run = "until test -e enough; do sleep 0.2; done";
        let line = marks(&market.work(), step, run);
        let place = ["--sites", "alpha", "--nodes", "2", "--preemptible", "--time", "10:00"];
        let job = market.submit(&[&place[..], &["--wrap", &line]].concat());
        market.until_state(job, "RUNNING");
        market.until("its work has begun", || market.written("marks").contains(step));
        wire.at(step);
        owners_job(&alpha, &market, step);
        wire.until_cut(&market, step);
        market.until("it is known to be away", || is_away(&market, "alpha"));
        let said = || market.log().matches("the site says no").count();
        let before = said();
        pause(8);
        assert_eq!(said(), before, "the log says once that it is away:\n{}", market.log());
        let told = market.job(job);
        assert_eq!((&told["state"], &told["restarts"]), (&"RUNNING".into(), &0.into()));
        wire.mend(&market);
        let told = market.until_job(job, "it waits again", |job| job["restarts"] == 1);
        let at = |what: &str| {
            let mut all = told["history"].as_array().unwrap().iter();
            all.find(|it| it["what"] == what).unwrap()["at"].as_i64().unwrap()
        };
        // Half a credit for each of two nodes and second, until its notice. That its work began was
        // learned a little later, and either moment may be at the end of its second.
        let paid = [at("began"), at("planned")].map(|from| (at("notice") - from) * 1_000_000);
        assert!((paid[0]..=paid[1] + 1_000_000).contains(&micro(&told["paid"])), "{told:#}");
        std::fs::write(market.path("work").join(step), "").unwrap();
        market.until("it runs again", || tally(&market.written("marks"))[step] == 2);
        std::fs::write(market.path("work/enough"), "").unwrap();
        market.until_state(job, "COMPLETED");
        std::fs::remove_file(market.path("work/enough")).unwrap();
    }
    all_is_well(&market);
}
