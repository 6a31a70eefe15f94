//! From a log to a plan.

use assert_cmd::Command;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");

fn tradewind(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(args);
    command
}

fn snapshot(more: &[&str]) -> Command {
    let args = ["snapshot", LOG, "--at", "middle", "--horizon", "12h", "--seed", "7"];
    tradewind(&[&args[..], more].concat())
}

#[test]
fn a_moment_of_a_log_is_planned_through_a_pipe() {
    let moment = snapshot(&["--batch", "arrivals", "--arrivals", "12"]).assert().success();
    let scenario = moment.get_output().stdout.clone();
    let said = String::from_utf8_lossy(&moment.get_output().stderr).into_owned();
    assert!(said.contains("seed: 7") && said.contains("note: "), "{said}");
    let plan =
        tradewind(&["plan", "-", "--format", "json"]).write_stdin(scenario).assert().success();
    let plan: serde_json::Value = serde_json::from_slice(&plan.get_output().stdout).unwrap();
    assert_eq!(plan["jobs"].as_array().unwrap().len(), 12);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let once = snapshot(&[]).assert().success().get_output().stdout.clone();
    assert_eq!(once, snapshot(&[]).assert().success().get_output().stdout);
    let args = ["snapshot", LOG, "--at", "middle", "--horizon", "12h", "--seed", "8"];
    assert_ne!(once, tradewind(&args).assert().success().get_output().stdout);
}

#[test]
fn a_snapshot_in_a_file_is_the_one_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("moment.json");
    let written = snapshot(&["-o", path.to_str().unwrap()]).assert().success();
    assert!(written.get_output().stdout.is_empty());
    let printed = snapshot(&[]).assert().success().get_output().stdout.clone();
    assert_eq!(std::fs::read(&path).unwrap(), printed);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left there");
}

#[test]
fn bad_moments_and_bad_logs_are_refused_with_a_reason() {
    let refused = |args: &[&str], input: &str, code: i32| {
        let mut command = tradewind(args);
        let output = command.write_stdin(input.to_owned()).assert().code(code).get_output().clone();
        assert!(output.stdout.is_empty());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let tail = ["--horizon", "1h", "--seed", "1"];
    let with = |log: &'static str, at: &'static str| {
        [&["snapshot", log, "--at", at][..], &tail[..]].concat()
    };
    let outside = refused(&with(LOG, "9999d"), "", 3);
    assert!(outside.contains("outside the log") && outside.contains("hint:"), "{outside}");
    let short = refused(&with("-", "0"), "1 0 0 10 4 -1 -1 4 20 -1 1 1 1 -1 1 1 -1\n", 3);
    assert!(short.contains("-:1: ") && short.contains("17 fields"), "{short}");
    assert!(refused(&with("-", "0"), "", 3).contains("error: -"));
    refused(&with(LOG, "soon"), "", 2);
    let seedless = refused(&["snapshot", LOG, "--at", "0", "--horizon", "1h"], "", 2);
    assert!(seedless.contains("--seed"), "{seedless}");
}
