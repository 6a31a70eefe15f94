//! Policies of the user's own, over lines of JSON.
#![expect(clippy::unwrap_used, reason = "a test that cannot read what was written has failed")]

use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn simulate(out: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(["simulate", "examples/small.swf", "--out"]).arg(out).args(args);
    command.current_dir(ROOT).assert()
}

/// What is said about a command that fails.
fn refused(policy: &str) -> String {
    refused_within("60s", policy)
}

fn refused_within(timeout: &str, policy: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy-cmd", policy, "--policy-timeout", timeout];
    let said = simulate(folder.path(), &args).code(3);
    String::from_utf8_lossy(&said.get_output().stderr).into_owned()
}

/// A command that greets, and then says the same again and again.
fn again(answer: &str) -> String {
    format!(r#"echo '{{"protocol":1}}'; yes '{answer}'"#)
}

/// Python 3 is not needed to build or to use the program: without it there is nothing to test.
fn python() -> bool {
    std::process::Command::new("python3").arg("--version").output().is_ok()
}

#[test]
fn the_example_starts_every_job_when_ours_does() {
    if !python() {
        return;
    }
    for policy in ["fcfs", "easy"] {
        let folder = tempfile::tempdir().unwrap();
        let command = format!("python3 examples/policy.py {policy}");
        simulate(folder.path(), &["--policy", policy, "--policy-cmd", &command]).success();
        let [theirs, ours] = ["command", policy]
            .map(|name| std::fs::read(folder.path().join(name).join("jobs.csv")).unwrap());
        assert_eq!(theirs, ours, "{policy}");
    }
}

#[test]
fn the_example_has_a_rule_of_its_own() {
    if !python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let args = ["--policy-cmd", "python3 examples/policy.py smallest-first"];
    simulate(folder.path(), &args).success();
    assert!(folder.path().join("jobs.csv").exists());
}

#[test]
fn a_command_that_ends_is_named() {
    assert!(refused("true").contains("it ended (exit status: 0) without an answer"));
    assert!(refused("exit 7").contains("it ended (exit status: 7) without an answer"));
    assert!(refused("no-such-command").contains("127"));
    let later = refused(r#"echo '{"protocol":1}'; read grid; read pass"#);
    assert!(later.contains("its answer at 2261: it ended"), "{later}");
}

#[test]
fn nonsense_is_shown() {
    let said = refused("echo hello");
    assert!(said.contains("its greeting is wrong") && said.contains("`hello`"), "{said}");
    let said = refused(&again(r#"{"strat":[]}"#));
    assert!(said.contains("unknown field `strat`"), "{said}");
    assert!(refused(r#"echo '{"protocol":2}'"#).contains("speaks protocol 2"));
}

#[test]
fn a_command_that_does_not_answer_is_ended_with_all_it_started() {
    let began = Instant::now();
    // A span that no other process on this machine sleeps.
    let sleep = format!("sleep 62.{}", std::process::id());
    let script = format!(r#"echo '{{"protocol":1}}'; sleep 61 | {sleep}"#);
    let said = refused_within("3s", &script);
    assert!(said.contains("no answer within 3 s"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(50));
    let listed = std::process::Command::new("ps").args(["-eo", "args"]).output();
    let listed = listed.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    assert!(!listed.unwrap_or_default().lines().any(|line| line == sleep));
}

#[test]
fn what_cannot_be_started_is_named_with_the_logs_number() {
    let said = refused(&again(r#"{"start":[{"job":7}]}"#));
    assert!(said.contains("at 2261") && said.contains("job 7 is number 8 in the log"), "{said}");
    let said = refused(&again(r#"{"start":[{"job":0,"pool":4}]}"#));
    assert!(said.contains("job 0 cannot be placed"), "{said}");
    let said = refused(&again(r#"{"start":[{"job":900}]}"#));
    assert!(said.contains("there are 200 jobs"), "{said}");
    // Whatever is submitted starts at once: before long it does not fit.
    let greedy = r#"echo '{"protocol":1}'; read grid; n=0
        while read pass; do case $pass in
            *submitted*) echo "{\"start\":[{\"job\":$n}]}"; n=$((n + 1));;
            *) echo '{}';;
        esac; done"#;
    let said = refused(greedy);
    assert!(said.contains("nodes, and ") && said.contains("in the log"), "{said}");
}

#[test]
fn a_policy_that_does_nothing_is_stuck() {
    assert!(refused(&again("{}")).contains("200 jobs waiting for ever"));
}

#[test]
fn a_broken_promise_is_noticed() {
    if !python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.py");
    let text = std::fs::read_to_string(Path::new(ROOT).join("examples/policy.py")).unwrap();
    std::fs::write(
        &policy,
        text.replace(r#""protocol": 1"#, r#""protocol": 1, "promise": "order""#),
    )
    .unwrap();
    let command = |rule: &str| format!("python3 '{}' {rule}", policy.display());
    simulate(&folder.path().join("a"), &["--policy-cmd", &command("fcfs")]).success();
    simulate(&folder.path().join("b"), &["--policy-cmd", &command("easy")]).code(3);
}

#[test]
fn it_stands_beside_the_policies_of_a_campaign_file() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["campaign.toml", "out"].map(|name| folder.path().join(name));
    let log = Path::new(ROOT).join("examples/small.swf");
    let text = format!("policies = [\"easy\"]\nworkload = [{{log = ['{}']}}]\n", log.display());
    std::fs::write(&file, text).unwrap();
    let run = |policy: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
        command.arg("simulate").arg(&file).arg("--out").arg(&out);
        command.args(["--threads", "2", "--policy-cmd", policy]).assert()
    };
    // The other runs are kept, and a command that has changed is another campaign.
    run("true").code(3);
    assert!(out.join("easy/jobs.csv").exists() && !out.join("command/jobs.csv").exists());
    run("false").code(2);
}

#[test]
fn jobs_may_be_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = r#"echo '{"protocol":1}'; read grid; n=0
        while read pass; do case $pass in
            *submitted*) echo "{\"refuse\":[{\"job\":$n}]}"; n=$((n + 1));;
            *) echo '{}';;
        esac; done"#;
    simulate(folder.path(), &["--policy-cmd", refuse]).success();
    let csv = std::fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    assert_eq!(csv.lines().filter(|line| line.contains("REJECTED")).count(), 200);
}
