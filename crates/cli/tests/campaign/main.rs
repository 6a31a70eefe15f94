//! Campaigns from end to end: many runs, interrupted and resumed, in shards, with bad logs.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

mod folders;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

fn log() -> String {
    format!("{EXAMPLES}/small.swf")
}

fn tradewind(args: &[&str]) -> Output {
    std::process::Command::new(PROGRAM).args(args).output().unwrap()
}

fn simulate(out: &Path, args: &[&str]) -> Output {
    tradewind(&[&["simulate", "--out", out.to_str().unwrap()], args].concat())
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_owned();
                    found.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
    }
    found
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Two policies by two estimates at two loads.
const EIGHT: [&str; 6] =
    ["--policy", "fcfs,easy", "--estimate", "requested,exact", "--load", "0.6,0.9"];

fn eight(out: &Path, more: &[&str]) -> Output {
    simulate(out, &[&[log().as_str()], EIGHT.as_slice(), more].concat())
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let [one, four] = ["1", "4"].map(|threads| folder.path().join(threads));
    let printed = [&one, &four].map(|out| {
        let threads = out.file_name().unwrap().to_str().unwrap();
        let output = eight(out, &["--threads", threads, "--check"]);
        assert_eq!(code(&output), 0, "{}", said(&output));
        output.stdout
    });
    assert_eq!(printed[0], printed[1]);
    assert_eq!(files(&one), files(&four));
    assert!(one.join("easy/estimate=exact/load=0.9/jobs.csv").exists());
    assert_eq!(json(&one.join("summary.json"))["runs"].as_array().unwrap().len(), 8);
}

#[test]
fn a_campaign_file_says_the_same_as_options() {
    let folder = tempfile::tempdir().unwrap();
    let [by_file, by_options] = ["a", "b"].map(|name| folder.path().join(name));
    let file = format!("{EXAMPLES}/campaign.toml");
    assert_eq!(code(&simulate(&by_file, &[&file])), 0);
    let options = ["--policy", "fcfs,easy,conservative", "--estimate", "requested,exact"];
    let more = ["--load", "0.7,0.9", "--warm-up", "6h", "--cool-down", "6h"];
    let log = log();
    assert_eq!(code(&simulate(&by_options, &[&[log.as_str()][..], &options, &more].concat())), 0);
    let [mut a, mut b] = [files(&by_file), files(&by_options)];
    // The title is all that differs.
    let record = Path::new("campaign.json");
    assert!(a.remove(record).is_some() && b.remove(record).is_some());
    assert_eq!(a, b);
    let wrong = simulate(&by_file, &[&file, "--policy", "easy"]);
    assert_eq!(code(&wrong), 2);
    assert!(said(&wrong).contains("`--policy` stands beside the campaign file"));
    let with_page = folder.path().join("c");
    assert_eq!(code(&simulate(&with_page, &[&file, "--report"])), 0);
    assert!(with_page.join("report.html").exists());
}

#[test]
fn an_unknown_policy_in_a_file_is_found_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let text = "policies = ['easy',\n 'conservatve']\nseeds = 'x'\n[[workload]]\nlog = ['a.swf']\n";
    std::fs::write(&file, text).unwrap();
    let refused = simulate(&folder.path().join("out"), &["--campaign", file.to_str().unwrap()]);
    assert_eq!(code(&refused), 2);
    let said = said(&refused);
    assert!(said.contains("c.toml:2: policies[1]: there is no policy `conservatve`"), "{said}");
    assert!(said.contains("did you mean `conservative`?"), "{said}");
    assert!(said.contains("c.toml:3: seeds: "), "{said}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_second_time_goes_on_with_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs");
    let first = eight(&out, &[]);
    let whole = files(&out);
    std::fs::remove_file(out.join("easy/estimate=exact/load=0.9/done.json")).unwrap();
    std::fs::remove_dir_all(out.join("fcfs/estimate=exact")).unwrap();
    let again = eight(&out, &[]);
    assert_eq!((code(&again), &again.stdout), (0, &first.stdout));
    assert!(said(&again).contains("5 of 8 runs were there already"), "{}", said(&again));
    assert_eq!(files(&out), whole);
    // What is there is not run again: it would mend this.
    let jobs = out.join("easy/estimate=requested/load=0.6/jobs.csv");
    std::fs::write(&jobs, "changed").unwrap();
    assert!(said(&eight(&out, &[])).contains("8 of 8"));
    assert_eq!(std::fs::read(&jobs).unwrap(), b"changed");
    assert_eq!(code(&eight(&out, &["--force"])), 0);
    assert_eq!(files(&out), whole);
}

#[test]
fn results_of_another_campaign_are_overwritten_with_force_only() {
    let folder = tempfile::tempdir().unwrap();
    let (out, log) = (folder.path().join("runs"), folder.path().join("log.swf"));
    std::fs::copy(self::log(), &log).unwrap();
    let log = log.to_str().unwrap();
    assert_eq!(code(&simulate(&out, &[log, "--policy", "easy"])), 0);
    let other = simulate(&out, &[log, "--policy", "fcfs"]);
    assert_eq!(code(&other), 2);
    assert!(said(&other).contains("policies: [\"easy\"], now [\"fcfs\"]"), "{}", said(&other));
    assert_eq!(json(&out.join("summary.json"))["policy"], "easy");
    assert_eq!(code(&simulate(&out, &[log, "--policy", "fcfs", "--force"])), 0);
    assert_eq!(json(&out.join("summary.json"))["policy"], "fcfs");
    let text = std::fs::read_to_string(log).unwrap();
    std::fs::write(log, text.replace("; Note", "; note")).unwrap();
    let changed = simulate(&out, &[log, "--policy", "fcfs"]);
    assert_eq!(code(&changed), 2);
    assert!(said(&changed).contains("`log.swf` has changed"), "{}", said(&changed));

    // As if it had been stopped.
    let out = folder.path().join("two");
    assert_eq!(code(&simulate(&out, &[log, "--policy", "easy,fcfs"])), 0);
    std::fs::remove_file(out.join("fcfs/done.json")).unwrap();
    let refused = simulate(&out, &[log, "--policy", "sjf", "--procs", "70"]);
    assert_eq!(code(&refused), 2);
    let what = "policies: [\"easy\",\"fcfs\"], now [\"sjf\"]";
    assert!(said(&refused).contains(&format!("procs: none, now 70; {what}")), "{}", said(&refused));
    assert!(said(&refused).contains("--force"), "{}", said(&refused));
    assert!(!out.join("jobs.csv").exists());
    assert_eq!(code(&simulate(&out, &[log, "--policy", "sjf", "--force"])), 0);
    assert_eq!(json(&out.join("summary.json"))["policy"], "sjf");
}

#[test]
fn what_a_hint_says_can_be_done_in_the_same_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (out, log) = (folder.path().join("run"), folder.path().join("log.swf"));
    let text =
        "1 0 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n2 -1 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n";
    std::fs::write(&log, text).unwrap();
    let log = log.to_str().unwrap();
    let failed = simulate(&out, &[log, "--policy", "easy"]);
    assert_eq!(code(&failed), 3);
    assert!(said(&failed).contains("`--procs N`"), "{}", said(&failed));
    let mended = simulate(&out, &[log, "--policy", "easy", "--procs", "4"]);
    assert_eq!(code(&mended), 0, "{}", said(&mended));
    assert!(said(&mended).starts_with("note: 1 job can never run: no submit time\n"));
}

#[test]
fn a_file_is_no_folder_for_results() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    for out in [file.clone(), file.join("below")] {
        let refused = simulate(&out, &[&log(), "--policy", "easy"]);
        assert_eq!(code(&refused), 3);
        assert!(said(&refused).contains("failed to make the folder"), "{}", said(&refused));
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
}

#[test]
fn a_bad_log_loses_no_other_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs");
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(log(), at("good.swf")).unwrap();
    std::fs::write(at("bad.swf"), "; MaxProcs: 4\n1 2 3\n").unwrap();
    let file = "policies = ['fcfs', 'easy']\n[[workload]]\nlog = ['bad.swf']\n\
                [[workload]]\nlog = ['none.swf']\n[[workload]]\nlog = ['good.swf']\n";
    std::fs::write(at("c.toml"), file).unwrap();
    let file = at("c.toml");
    let run = || simulate(&out, &[file.to_str().unwrap(), "--format", "json"]);
    let output = run();
    assert_eq!(code(&output), 3, "{}", said(&output));
    let said = said(&output);
    assert_eq!(said.matches("3 fields instead of 18").count(), 1, "{said}");
    assert!(said.contains("none.swf: no such file"), "{said}");
    assert!(said.contains("4 of 6 runs failed; the others are kept"), "{said}");
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed.as_array().unwrap().len(), 2);
    let missing = json(&out.join("summary.json"))["missing"].clone();
    assert_eq!(missing.as_array().unwrap().len(), 4);
    assert!(out.join("easy/log=good/jobs.csv").exists());
    // Corrected logs join in; what was done stays done.
    for name in ["bad.swf", "none.swf"] {
        std::fs::copy(log(), at(name)).unwrap();
    }
    let output = run();
    assert_eq!(code(&output), 0, "{}", self::said(&output));
    assert!(self::said(&output).contains("2 of 6 runs were there already"));
    assert_eq!(json(&out.join("summary.json"))["missing"], Value::Array(vec![]));
}

#[test]
fn shards_merge_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let seeds = ["--seeds", "1..2"];
    let whole = eight(&at("whole"), &seeds);
    assert!(said(&whole).contains("seeds: 1..2"));
    for shard in ["1/3", "2/3", "3/3"] {
        let (one, shared) = (at(&shard[..1]), at("shared"));
        for out in [one, shared] {
            let output = eight(&out, &[&seeds[..], &["--shard", shard]].concat());
            assert_eq!(code(&output), 0, "{}", said(&output));
            assert!(!out.join("summary.json").exists());
        }
    }
    let paths = ["1", "2", "3", "merged", "shared"].map(|name| at(name).display().to_string());
    let [one, two, three, merged, shared] = paths.each_ref().map(String::as_str);
    let partial = tradewind(&["merge", one, three, "--out", merged]);
    assert_eq!(code(&partial), 1);
    assert!(said(&partial).contains("5 of 16 runs are missing"), "{}", said(&partial));
    for merge in [
        tradewind(&["merge", one, two, three, merged, "--out", merged]),
        tradewind(&["merge", shared, "--out", shared]),
    ] {
        assert_eq!((code(&merge), &merge.stdout), (0, &whole.stdout), "{}", said(&merge));
    }
    assert_eq!(files(&at("merged")), files(&at("whole")));
    assert_eq!(files(&at("shared")), files(&at("whole")));
}

/// A report is made of what runs left, wherever and whenever they were done.
#[test]
fn reports_of_shards_and_of_stopped_campaigns_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let log = log();
    let run = |out: &Path, more: &[&str]| {
        let args = [log.as_str(), "--policy", "fcfs,easy[depth=4]", "--seeds", "1", "--report"];
        let output = simulate(out, &[&args[..], more].concat());
        assert_eq!(code(&output), 0, "{}", said(&output));
    };
    run(&at("whole"), &[]);
    for shard in ["1/2", "2/2"] {
        run(&at("shared"), &["--shard", shard]);
    }
    assert!(!at("shared/report.html").exists());
    let shared = at("shared").display().to_string();
    assert_eq!(code(&tradewind(&["merge", &shared, "--out", &shared])), 0);
    assert_eq!(files(&at("shared")), files(&at("whole")));
    std::fs::remove_file(at("shared/fcfs/done.json")).unwrap();
    run(&at("shared"), &[]);
    assert_eq!(files(&at("shared")), files(&at("whole")));
    for file in ["waits.svg", "waits.png", "comparison.svg", "comparison.png", "fcfs/gantt.png"] {
        assert!(at("whole").join(file).exists(), "{file}");
    }
    let page = std::fs::read_to_string(at("whole/report.html")).unwrap();
    assert!(page.contains("tradewind simulate small.swf --policy"), "{page}");
    assert!(page.contains("./fcfs/gantt.svg") && page.contains("./summary.json"));
    let one = simulate(&at("one"), &[&log, "--policy", "easy", "--outputs", "report"]);
    assert_eq!(code(&one), 0, "{}", said(&one));
    assert!(at("one/report.html").exists() && at("one/utilisation.svg").exists());
}

#[test]
fn what_does_not_fit_is_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let path = |name: &str| at(name).display().to_string();
    eight(&at("a"), &["--shard", "1/2"]);
    eight(&at("b"), &["--shard", "2/2", "--warm-up", "1h"]);
    let merge = |names: [&str; 2]| {
        tradewind(&["merge", &path(names[0]), &path(names[1]), "--out", &path("out")])
    };
    let other = merge(["a", "b"]);
    assert_eq!(code(&other), 3);
    assert!(said(&other).contains("trim: [0,0], now [3600,0]"), "{}", said(&other));
    assert_eq!(code(&merge(["a", "nowhere"])), 3);
    eight(&at("c"), &["--shard", "1/2"]);
    let changed = at("c/fcfs/estimate=exact/load=0.6/jobs.csv");
    std::fs::write(changed, "by hand").unwrap();
    let conflict = merge(["a", "c"]);
    assert_eq!(code(&conflict), 3);
    assert!(said(&conflict).contains("differs between"), "{}", said(&conflict));
}

#[test]
fn replications_have_intervals() {
    let folder = tempfile::tempdir().unwrap();
    let output = simulate(folder.path(), &[&log(), "--policy", "fcfs,easy", "--seeds", "5..7"]);
    assert!(said(&output).contains("nothing in this campaign is random"), "{}", said(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    assert_eq!(table.lines().count(), 3, "{table}");
    let document = json(&folder.path().join("summary.json"));
    assert_eq!(document["runs"].as_array().unwrap().len(), 6);
    let cell = &document["replications"][1];
    assert_eq!((&cell["policy"], &cell["runs"]), (&"easy".into(), &3.into()));
    assert_eq!(cell["metrics"]["mean_wait_s"]["mean"], document["runs"][3]["mean_wait_s"]);
    assert_eq!(cell["metrics"]["mean_wait_s"]["half_width"], 0.0);
    let csv = std::fs::read_to_string(folder.path().join("replications.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3);
    assert!(folder.path().join("easy/seed=7/jobs.csv").exists());
}

#[test]
fn trimming_is_for_metrics_only() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|name| folder.path().join(name));
    let log = log();
    simulate(&whole, &[&log, "--policy", "easy"]);
    simulate(&cut, &[&log, "--policy", "easy", "--warm-up", "1d", "--cool-down", "12h"]);
    let [jobs, fewer] = [&whole, &cut].map(|out| json(&out.join("summary.json"))["jobs"].clone());
    assert!(fewer.as_u64().unwrap() < jobs.as_u64().unwrap());
    let csv = |out: &Path| std::fs::read(out.join("jobs.csv")).unwrap();
    assert_eq!(csv(&whole), csv(&cut));
    let nothing = folder.path().join("nothing");
    let nothing = simulate(&nothing, &[&log, "--policy", "easy", "--warm-up", "99d"]);
    assert_eq!(code(&nothing), 3);
    assert!(said(&nothing).contains("leave no job to count"));
}

#[test]
fn several_logs_share_a_machine_and_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.swf");
    std::fs::copy(log(), &other).unwrap();
    let out = folder.path().join("out");
    let output = simulate(&out, &[&log(), other.to_str().unwrap(), "--policy", "easy", "--check"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let csv = std::fs::read_to_string(out.join("jobs.csv")).unwrap();
    assert_eq!(csv.lines().count(), 401);
    assert!(csv.contains("\nsmall!7,small,7,") && csv.contains("\nother!7,other,7,"));
    assert!(said(&output).contains("64 processors"), "{}", said(&output));
    let twice = simulate(&folder.path().join("twice"), &[&log(), &log(), "--policy", "easy"]);
    assert_eq!(code(&twice), 2);
}

#[test]
fn a_slice_of_a_log_is_what_was_submitted_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name);
    let log = log();
    let count = |name: &str, args: &[&str]| {
        let args = [&[log.as_str(), "--policy", "easy"], args].concat();
        assert_eq!(code(&simulate(&out(name), &args)), 0);
        json(&out(name).join("summary.json"))["jobs"].as_u64().unwrap()
    };
    assert_eq!(count("a", &["--to", "1d"]) + count("b", &["--from", "1d"]), 200);
    let none = simulate(&out("c"), &[&log, "--policy", "easy", "--from", "900d"]);
    assert_eq!(code(&none), 3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let log = log();
    for args in [
        &["--policy", "easy", "--seeds", "3..1"][..],
        &["--policy", "easy", "--shard", "0/4"],
        &["--policy", "easy", "--threads", "0"],
        &["--policy", "easy", "--load", "0.7,0.7"],
        &["--policy", "easy", "--load", "-1"],
        &["--policy", "easy", "--from", "9", "--to", "9"],
        &["--policy", "easy", "--semantics", "textbook,pyss", "--overrun", "extend"],
        &["-", "-", "--policy", "easy"],
        &[],
    ] {
        let output = simulate(&folder.path().join("out"), &[&[log.as_str()], args].concat());
        assert_eq!(code(&output), 2, "{args:?}: {}", said(&output));
    }
    assert!(!folder.path().join("out").exists());
    let both = ["--policy", "easy", "--semantics", "textbook,pyss", "--overrun", "kill,extend"];
    let output = simulate(&folder.path().join("both"), &[&[log.as_str()], &both[..]].concat());
    assert!(said(&output).contains("combinations left out: 1;"), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 4);
}

#[cfg(unix)]
#[test]
fn an_interrupted_campaign_keeps_what_is_done_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (out, whole) = (folder.path().join("runs"), folder.path().join("whole"));
    let log = log();
    let args = [log.as_str(), "--policy", "easy,conservative", "--seeds", "1..150"];
    let mut child = std::process::Command::new(PROGRAM)
        .args(["simulate", "--out", out.to_str().unwrap(), "--threads", "2"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !out.join("easy/seed=3/done.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let signal = ["-INT", &child.id().to_string()];
    assert!(std::process::Command::new("kill").args(signal).status().unwrap().success());
    let stopped = child.wait_with_output().unwrap();
    assert_eq!(code(&stopped), 130, "{}", said(&stopped));
    assert!(said(&stopped).contains("the same command resumes the rest"), "{}", said(&stopped));
    assert!(stopped.stdout.is_empty());
    let again = simulate(&out, &args);
    assert_eq!(code(&again), 0, "{}", said(&again));
    assert!(said(&again).contains("of 300 runs were there already"), "{}", said(&again));
    assert_eq!(simulate(&whole, &args).stdout, again.stdout);
    assert_eq!(files(&out), files(&whole));
}

#[test]
fn models_draw_by_seed_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let model = ["--model", "weibull[jobs=150,users=5]", "--procs", "64", "--policy", "easy"];
    let three = simulate(&at("three"), &[&model[..], &["--seeds", "1..3", "--check"]].concat());
    assert_eq!(code(&three), 0, "{}", said(&three));
    assert!(!said(&three).contains("nothing in this campaign is random"));
    let cell = json(&at("three/summary.json"))["replications"][0].clone();
    assert_eq!(cell["metrics"]["jobs"]["mean"], 150.0);
    assert!(cell["metrics"]["mean_wait_s"]["half_width"].as_f64().unwrap() > 0.0);
    // Without a seed it is 1, and the same jobs.
    let one = simulate(&at("one"), &model);
    assert!(said(&one).contains("seeds: 1\n"), "{}", said(&one));
    let jobs = |folder: &str| std::fs::read(at(folder).join("jobs.csv")).unwrap();
    assert_eq!(jobs("one"), jobs("three/easy/seed=1"));
    assert_ne!(jobs("one"), jobs("three/easy/seed=2"));
    for (args, what) in [
        (["--model", "weibul", "--procs", "64"], "did you mean `weibull`?"),
        (["--model", "weibull[jobs=0]", "--procs", "64"], "`jobs` is a number from 1"),
    ] {
        let wrong = simulate(&at("wrong"), &[&args[..], &["--policy", "easy"]].concat());
        assert_eq!(code(&wrong), 2);
        assert!(said(&wrong).contains(what), "{}", said(&wrong));
    }
    assert_eq!(code(&simulate(&at("wrong"), &["--model", "lublin", "--policy", "easy"])), 2);
}

#[test]
fn users_drawn_again_make_other_logs() {
    let folder = tempfile::tempdir().unwrap();
    let log = log();
    let args = [log.as_str(), "--policy", "easy", "--users", "12", "--seeds", "1..2", "--check"];
    assert_eq!(code(&simulate(folder.path(), &args)), 0);
    let jobs =
        |seed: u8| std::fs::read(folder.path().join(format!("easy/seed={seed}/jobs.csv"))).unwrap();
    assert_ne!(jobs(1), jobs(2));
}

#[test]
fn each_output_is_written_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let log = log();
    let names = |name: &str, args: &[&str]| {
        let out = folder.path().join(name);
        let args = [&[log.as_str(), "--policy", "easy", "--procs", "16"], args].concat();
        assert_eq!(code(&simulate(&out, &args)), 0);
        let own = ["campaign.json", "done.json", "summary.csv", "summary.json"];
        let names = files(&out).into_keys().map(|path| path.display().to_string());
        names.filter(|name| !own.contains(&name.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(names("a", &[]), ["jobs.csv", "refused.csv", "schedule.csv", "schedule.json"]);
    assert!(names("b", &["--outputs", "summary"]).is_empty());
    assert_eq!(names("c", &["--outputs", "swf", "--parquet"]), ["jobs.parquet", "schedule.swf"]);
    let rows = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
    // A reason for each job that did not run.
    let rejected = rows("a/jobs.csv").matches(",REJECTED,").count();
    let reasons = rows("a/refused.csv");
    assert_eq!(reasons.matches(",,wider-than-grid,wider than the machine\n").count(), rejected);
    assert_eq!(reasons.lines().count(), 1 + rejected);
    // The replay as a log: waits and widths as in jobs.csv.
    let csv = rows("a/jobs.csv");
    let waits: Vec<String> = csv
        .lines()
        .skip(1)
        .map(|line| match line.split(',').nth(11) {
            Some("") | None => "-1".to_owned(),
            Some(wait) => wait.strip_suffix(".000000").unwrap().to_owned(),
        })
        .collect();
    let swf = rows("c/schedule.swf");
    let replayed: Vec<&str> = swf
        .lines()
        .filter(|line| !line.starts_with(';'))
        .map(|line| line.split_whitespace().nth(2).unwrap())
        .collect();
    assert_eq!(waits, replayed);
    assert!(swf.contains("; MaxProcs: 16"));
}

#[test]
fn pictures_and_pages_of_grids_say_what_the_summary_says() {
    let folder = tempfile::tempdir().unwrap();
    let (out, side) = (folder.path().join("runs"), folder.path().join("side.toml"));
    std::fs::write(&side, "[model]\n").unwrap();
    let (grid, log) = (format!("{EXAMPLES}/grid.toml"), log());
    let files = ["--grid", grid.as_str(), "--side", side.to_str().unwrap(), "--report"];
    let output = simulate(&out, &[&[&log, "--policy", "easy,bsf"][..], &files].concat());
    assert_eq!(code(&output), 0, "{}", said(&output));
    let text = |path: &str| std::fs::read_to_string(out.join(path)).unwrap();
    let page = text("report.html");
    let command =
        "tradewind simulate small.swf --grid grid.toml --side side.toml --policy easy,bsf";
    assert!(page.contains(command), "{page}");
    assert_eq!(page.matches("<img alt=\"\" src=\"data:image/svg+xml,%3Csvg").count(), 4);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for policy in ["easy", "bsf"] {
        let summary = json(&out.join(policy).join("summary.json"));
        let rows = text(&format!("{policy}/jobs.csv"));
        let rejected = rows.matches(",REJECTED,").count();
        assert_eq!(summary["jobs"].as_u64().unwrap() as usize + rejected, 200);
        assert!(rejected > 0, "nothing to tell apart");
        let line = table.lines().find(|line| line.starts_with(policy)).unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[1], summary["jobs"].to_string(), "{line}");
        assert_eq!(cells[2], rejected.to_string(), "{line}");
        let picture = text(&format!("{policy}/utilisation.svg"));
        let longest = format!("The longest queue: {} jobs", summary["max_queue_jobs"]);
        assert!(picture.contains(&longest), "{longest}");
        assert!(picture.contains(&format!(">{} jobs on ", summary["jobs"])));
    }
}

#[test]
fn a_log_without_a_site_and_seeds_of_policies_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let (out, grid, log) = (folder.path().join("run"), folder.path().join("grid.toml"), log());
    let sites = "[[site]]\nname = 'a'\nlog = 'other'\npool = [{ name = 'a', nodes = 64 }]\n";
    std::fs::write(&grid, sites).unwrap();
    let policy = "css[variant=paper,search=processor-time,seed=7]";
    let output = simulate(&out, &[&log, "--grid", grid.to_str().unwrap(), "--policy", policy]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(said(&output).contains("small: no site of the grid is for this log"));
    assert!(said(&output).contains(&format!("seeds: 7 in `{policy}`\n")), "{}", said(&output));
}
