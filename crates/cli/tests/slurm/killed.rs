//! The daemon dies at one moment, exactly: beside `sbatch`, before it or after it. What it runs
//! its commands with kills it on request.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks, micro};

/// Stands before every command of the site. If there is a file `before` or `after` beside it, the
/// next submission kills its parent, the daemon: before Slurm gets it, or when Slurm
/// has accepted it and the market does not know yet. `sprung` says that all is done.
const PREFIX: &str = r#"#!/bin/sh
at=${0%/*}
case " $* " in
*" sbatch "*) ;;
*) exec "$@" ;;
esac
if mv "$at/before" "$at/armed" 2>/dev/null; then
    kill -KILL "$PPID"
elif mv "$at/after" "$at/armed" 2>/dev/null; then
    "$@"
    code=$?
    kill -KILL "$PPID"
else
    exec "$@"
fi
echo "$code" >"$at/armed"
mv "$at/armed" "$at/sprung"
"#;

struct Stage {
    alpha: Cluster,
    folder: tempfile::TempDir,
    market: Market,
}

impl Stage {
    fn new() -> Stage {
        let alpha = Cluster::start(&Plan::of("alpha", 2));
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("prefix");
        std::fs::write(&prefix, PREFIX).unwrap();
        std::fs::set_permissions(&prefix, PermissionsExt::from_mode(0o755)).unwrap();
        let offer = Offer::new(&alpha, "alpha", 2, "1").with(&format!("command = [{prefix:?}]"));
        let market = Market::start("", &[offer]);
        Stage { alpha, folder, market }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What Slurm has of the market's jobs, over or not.
    fn handed_in(&self) -> Vec<String> {
        let all = self.alpha.say(&["squeue", "-h", "-t", "all", "-o", "%k"]);
        all.lines().filter(|mark| mark.starts_with("tw-")).map(str::to_owned).collect()
    }
}

/// What the site's folder says of the only task: whether Slurm has taken it.
fn is_taken(market: &Market) -> bool {
    let text = read(&market.path("state").join("sites/alpha/tickets"));
    let line = text.lines().last().unwrap_or_default();
    let ticket: serde_json::Value = serde_json::from_str(line).unwrap();
    ticket["is_taken"].as_bool().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Kills the daemon `when` it hands a job in that Slurm then has `there` times, and starts it
/// again.
fn killed(when: &str, there: usize) {
    let stage = Stage::new();
    let market = &stage.market;
    std::fs::write(stage.file(when), "").unwrap();
    let line = marks(&market.work(), "ran", "sleep 2");
    // Whether it got its number or not: with the key it is the same job.
    let work = market.work();
    let words = ["submit", "--parsable", "--key", "k", "--time", "0:30", "--on-lost", "fail"];
    let words = [&words[..], &["--chdir", &work, "--wrap", &line]].concat();
    drop(market.run(&words));
    market.until("it is killed", || stage.file("sprung").exists());
    market.until_down();
    assert_eq!((stage.handed_in().len(), is_taken(market)), (there, false));
    let code = read(&stage.file("sprung"));
    assert_eq!(code.trim(), if there == 0 { "" } else { "0" }, "how `sbatch` ended");

    market.up();
    let number: u64 = market.text(&words).trim().parse().unwrap();
    let job = market.until_state(number, "COMPLETED");
    let shown = || format!("{job:#}\n{}", market.log());
    assert_eq!(job["restarts"], 0, "{}", shown());
    assert_eq!(stage.handed_in().len(), 1, "never submitted twice: {}", shown());
    assert_eq!(market.written("marks"), "ran\n", "{}", shown());
    let jobs = market.all_over();
    assert_eq!(jobs.len(), 1);
    assert!(micro(&job["paid"]) > 0, "{}", shown());
    market.check_money(&jobs);
}

#[test]
fn killed_between_sbatch_and_its_journal() {
    killed("after", 1);
}

#[test]
fn killed_before_sbatch() {
    killed("before", 0);
}
