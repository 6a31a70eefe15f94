//! `tradewind generate sacct`: from the accounting of Slurm to a replay.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/sacct/samples/recorded-26.05.txt");
/// When the first job of the model is submitted, in seconds since 1970.
const FIRST: i64 = 1_772_323_200;

fn tradewind(folder: &Path, words: &[&str]) -> Output {
    tradewind_with(folder, words, &[])
}

fn tradewind_with(folder: &Path, words: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(words).current_dir(folder).env("TZ", "UTC");
    command.envs(environment.iter().copied());
    command.output().unwrap()
}

fn good(folder: &Path, words: &[&str]) -> String {
    let output = tradewind(folder, words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Columns of a log's lines.
fn jobs(log: &str) -> Vec<Vec<i64>> {
    let lines = log.lines().filter(|line| !line.starts_with(';'));
    lines.map(|line| line.split_whitespace().map(|it| it.parse().unwrap()).collect()).collect()
}

/// A log as `sacct` would print it, with nodes of four CPUs; the last job first.
fn rows(log: &str) -> String {
    let mut text =
        "JobID|Submit|Eligible|Start|End|ElapsedRaw|Timelimit|NNodes|NCPUS|ReqCPUS|ReqMem|\
                    ReqTRES|AllocTRES|State|User|Account|Partition|QOS|NodeList|JobName\n"
            .to_owned();
    for job in jobs(log).iter().rev() {
        let (number, submit, wait, run) = (job[0], FIRST + job[1], job[2].max(0), job[3]);
        let (cpus, limit) = (job[4].max(job[7]), job[8]);
        let (start, nodes) = (submit + wait, (cpus + 3) / 4);
        let limit = format!(
            "{}-{:02}:{:02}:{:02}",
            limit / 86_400,
            limit / 3_600 % 24,
            limit / 60 % 60,
            limit % 60
        );
        let _ = writeln!(
            text,
            "{number}|{submit}|{submit}|{start}|{}|{run}|{limit}|{nodes}|{cpus}|{cpus}|4G|\
             cpu={cpus}|cpu={cpus}|COMPLETED|user{}|account|main|normal|n[1-{nodes}]|job|with pipe",
            start + run,
            job[11]
        );
    }
    text
}

/// When each job starts, by its number, from its first submission on.
fn starts(folder: &Path) -> BTreeMap<i64, (i64, i64)> {
    let csv = std::fs::read_to_string(folder.join("jobs.csv")).unwrap();
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| header.iter().position(|it| *it == name).unwrap();
    let seconds = |text: &str| text.split('.').next().unwrap().parse::<i64>().unwrap();
    let mut all = BTreeMap::new();
    for line in lines {
        let values: Vec<&str> = line.split(',').collect();
        let (submit, start) = (values[place("submission_time")], values[place("starting_time")]);
        let number = seconds(values[place("job_id")]);
        all.insert(number, (seconds(submit), seconds(start)));
    }
    let first = all.values().map(|(submit, _)| *submit).min().unwrap();
    all.values_mut()
        .for_each(|(submit, start)| (*submit, *start) = (*submit - first, *start - first));
    all
}

/// A program `sacct` in a folder of its own; the `PATH` with it.
fn program(folder: &Path, script: &str) -> String {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let file = bin.join("sacct");
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_log_that_went_through_sacct_has_the_same_schedules() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path();
    let model = ["generate", "lublin", "--jobs", "400", "--procs", "64", "--offered", "1.1"];
    good(folder, &[&model[..], &["--seed", "3", "-o", "model.swf"]].concat());
    let replay = ["simulate", "model.swf", "--policy", "fcfs", "--outputs", "swf", "--out", "real"];
    good(folder, &replay);
    let real = std::fs::read_dir(folder.join("real")).unwrap().flatten().map(|it| it.path());
    let real = real.into_iter().find(|it| it.extension().is_some_and(|end| end == "swf")).unwrap();
    let rows = rows(&std::fs::read_to_string(real).unwrap());
    std::fs::write(folder.join("rows.txt"), &rows).unwrap();
    // As a file and from a program, as seconds.
    good(folder, &["generate", "sacct", "rows.txt", "-o", "file.swf", "--grid", "grid.toml"]);
    let script = format!(
        "[ \"$SLURM_TIME_FORMAT\" = %s ] || exit 9\necho \"$@\" >asked\ncat '{}'",
        folder.join("rows.txt").display()
    );
    let path = program(folder, &script);
    let call =
        ["generate", "sacct", "--from", "2026-03-01", "--to", "2026-04-01", "--cluster", "alpha"];
    let output = tradewind_with(folder, &[&call[..], &["-o", "-"]].concat(), &[("PATH", &path)]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(output.stdout, std::fs::read(folder.join("file.swf")).unwrap());
    let asked = std::fs::read_to_string(folder.join("asked")).unwrap();
    let expected = "--allusers --allocations --duplicates --parsable2 --starttime 2026-03-01 \
                    --endtime 2026-04-01 --format JobID,";
    assert!(asked.starts_with(expected) && asked.ends_with("--clusters alpha\n"), "{asked}");
    let grid = std::fs::read_to_string(folder.join("grid.toml")).unwrap();
    assert!(grid.contains("nodes = 64\n"), "{grid}");
    for policy in ["fcfs", "easy", "conservative"] {
        let (one, other) = (format!("model-{policy}"), format!("sacct-{policy}"));
        good(folder, &["simulate", "model.swf", "--policy", policy, "--out", &one]);
        let words = ["simulate", "file.swf", "--grid", "grid.toml", "--policy", policy, "--out"];
        good(folder, &[&words[..], &[&other]].concat());
        let (one, other) = (starts(&folder.join(one)), starts(&folder.join(other)));
        assert_eq!(one.len(), 400);
        assert!(one.values().any(|(submit, start)| start > submit), "some job waits");
        assert_eq!(one, other, "{policy}");
    }
}

#[test]
fn names_are_for_their_owner_only_and_no_other_file_has_them() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path();
    // An older file that others may read.
    std::fs::write(folder.join("names.csv"), "").unwrap();
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.join("names.csv"), open).unwrap();
    let words = ["generate", "sacct", RECORDED, "-o", "log.swf.gz", "--grid", "grid.toml"];
    good(folder, &[&words[..], &["--names", "names.csv"]].concat());
    let mode = folder.join("names.csv").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names = std::fs::read_to_string(folder.join("names.csv")).unwrap();
    assert!(names.contains("account,2,physics\n"), "{names}");
    assert!(std::fs::read(folder.join("log.swf.gz")).unwrap().starts_with(b"\x1f\x8b"));
    let log = good(folder, &["generate", "from", "log.swf.gz"]);
    let grid = std::fs::read_to_string(folder.join("grid.toml")).unwrap();
    for name in ["root", "climate", "physics", "alpha", "main", "urgent"] {
        assert!(!log.contains(name) && !grid.contains(name), "{name}");
    }
    good(
        folder,
        &["simulate", "log.swf.gz", "--grid", "grid.toml", "--policy", "easy", "--out", "run"],
    );
}

#[test]
fn what_sacct_cannot_do_is_said() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path();
    let call = ["generate", "sacct", "--from", "2026-03-01", "--to", "now", "-o", "x.swf"];
    let nothing = folder.join("empty");
    std::fs::create_dir(&nothing).unwrap();
    let output = tradewind_with(folder, &call, &[("PATH", nothing.to_str().unwrap())]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("there is no program `sacct` here"), "{}", said(&output));
    let path = program(folder, "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    let output = tradewind_with(folder, &call, &[("PATH", &path)]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("accounting needs slurmdbd"), "{}", said(&output));
    // Its own child holds the pipe open.
    let path = program(folder, "echo 'JobID|Submit'; sleep 600 & sleep 600");
    let late = [&call[..], &["--timeout", "1"]].concat();
    let output = tradewind_with(folder, &late, &[("PATH", &path)]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("`sacct` did not end within 1 s"), "{}", said(&output));
    assert!(!folder.join("x.swf").exists());
}

#[test]
fn arguments_and_files_that_make_no_sense_are_refused() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path();
    for words in [
        &["generate", "sacct"][..],
        &["generate", "sacct", "x", "--from", "2026-01-01", "--to", "now"],
        &["generate", "sacct", "--from", "2026-01-01"],
        &["generate", "sacct", "--from=--help", "--to", "now"],
        &["generate", "sacct", "x", "--timezone", "Mars/Base"],
    ] {
        let output = tradewind(folder, words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
    }
    let output = tradewind(folder, &["generate", "sacct", "missing.txt"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    std::fs::write(
        folder.join("waiting.txt"),
        "JobID|Submit|Start|End|NCPUS|Timelimit|State|User|\
        Account|Partition\n1|2026-03-05T10:00:00|Unknown|Unknown|1|1:00|PENDING|u|a|p\n",
    )
    .unwrap();
    let output = tradewind(folder, &["generate", "sacct", "waiting.txt"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("no job ran"), "{}", said(&output));
}
