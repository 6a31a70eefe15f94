//! What no transcript shows: pipes, files, repetition.

use std::process::{Command, Stdio};

use assert_cmd::Command as Checked;

const BATCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/good.in/batch.toml");

fn tradewind(args: &[&str]) -> Checked {
    let mut command = Checked::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(args);
    command
}

fn stdout(args: &[&str]) -> Vec<u8> {
    tradewind(args).assert().success().get_output().stdout.clone()
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for format in ["table", "json", "csv"] {
        for command in [
            vec!["plan", BATCH],
            vec!["quote", BATCH, "--job", "render"],
            vec!["explain", BATCH, "--job", "fold"],
        ] {
            let args = [command.as_slice(), &["--format", format]].concat();
            let once = stdout(&args);
            assert!(!once.is_empty());
            assert_eq!(once, stdout(&args), "{args:?}");
        }
    }
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    let text = std::fs::read(BATCH).unwrap();
    let piped = tradewind(&["plan", "-", "--format", "csv"]).write_stdin(text).assert().success();
    assert_eq!(piped.get_output().stdout, stdout(&["plan", BATCH, "--format", "csv"]));
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for args in
        [vec!["plan", BATCH], vec!["plan", BATCH, "--format", "json"], vec!["--help"], vec!["man"]]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tradewind"))
            .args(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn charts_are_written_whole_and_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    for (name, head) in [("a.svg", b"<svg".as_slice()), ("a.PNG", b"\x89PNG")] {
        let path = folder.path().join(name);
        let args = ["plan", BATCH, "--chart", path.to_str().unwrap()];
        stdout(&args);
        let first = std::fs::read(&path).unwrap();
        assert!(first.starts_with(head));
        stdout(&args);
        assert_eq!(first, std::fs::read(&path).unwrap());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left there");
}

#[cfg(unix)]
#[test]
fn devices_and_links_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("link.svg"), folder.path().join("target.svg"));
    std::fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    stdout(&["plan", BATCH, "--chart", link.to_str().unwrap()]);
    assert!(link.is_symlink());
    assert!(std::fs::read(&target).unwrap().starts_with(b"<svg"));
    let both = stdout(&["plan", BATCH, "--alternatives", "/dev/stdout", "--format", "csv"]);
    assert!(both.starts_with(b"{\n  \"jobs\""));
}

#[test]
fn a_chart_that_cannot_be_written_is_an_error_of_data() {
    let args = ["plan", BATCH, "--chart", "/no/such/folder/a.svg"];
    let output = tradewind(&args).assert().code(3).get_output().clone();
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/folder/a.svg"));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let plain = tradewind(&["plan", BATCH]).assert().success().get_output().stdout.clone();
    assert!(!plain.contains(&0x1b));
    let mut forced = tradewind(&["plan", BATCH]);
    let coloured = forced.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR").assert().success();
    assert!(coloured.get_output().stdout.contains(&0x1b));
    let mut refused = tradewind(&["plan", "no-such-file"]);
    let stderr = refused.env("NO_COLOR", "1").assert().code(3).get_output().stderr.clone();
    assert!(!stderr.contains(&0x1b));
}

#[test]
fn quiet_says_errors_only() {
    let args = ["plan", BATCH, "--max-alternatives", "1"];
    let loud = tradewind(&args).assert().success().get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&loud).contains("--max-alternatives"));
    let quiet = tradewind(&[&args[..], &["-q"]].concat()).assert().success();
    assert!(quiet.get_output().stderr.is_empty());
    let wrong = tradewind(&["plan", "no-such-file", "-q"]).assert().code(3);
    assert!(!wrong.get_output().stderr.is_empty());
}

#[test]
fn the_seed_is_printed_where_one_is_used() {
    let seed_of = |args: &[&str]| {
        let output = tradewind(args).assert().success().get_output().clone();
        String::from_utf8_lossy(&output.stderr).contains("seed: 7")
    };
    assert!(seed_of(&["plan", BATCH, "--variant", "paper", "--seed", "7"]));
    assert!(seed_of(&["plan", BATCH, "--variant", "paper", "--seed", "7", "--quiet"]));
    assert!(!seed_of(&["plan", BATCH, "--seed", "7"]));
}

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        "snapshot",
        "generate",
        "simulate",
        "forecast",
        "quote",
        "explain",
        "plan",
        "combine",
        "completions",
        "man",
    ] {
        let help = String::from_utf8(stdout(&[command, "--help"])).unwrap();
        assert!(help.contains("Examples:") && help.contains("tradewind "), "{command}");
        let page = String::from_utf8(stdout(&["man", command])).unwrap();
        assert!(page.contains(".TH"), "{command}");
    }
    assert!(String::from_utf8(stdout(&["man", "generate", "from"])).unwrap().contains("weeks"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout(&["completions", shell]).len() > 1_000);
    }
}

/// Sessions in the README are what the program prints now.
#[test]
fn the_readme_tells_the_truth() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let sessions: Vec<&str> = readme.split("```console\n$ tradewind ").skip(1).collect();
    assert!(!sessions.is_empty());
    for session in sessions {
        let (arguments, rest) = session.split_once('\n').unwrap();
        let expected = rest.split("```").next().unwrap();
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let mut command = tradewind(&arguments);
        let output = command.current_dir(root).env("LC_ALL", "C.UTF-8").assert().success();
        assert_eq!(String::from_utf8_lossy(&output.get_output().stdout), expected);
    }
}

/// The whole document is there also when the answer is no.
#[test]
fn json_is_whole_and_exact() {
    let read = |args: &[&str], code: i32| -> serde_json::Value {
        let output = tradewind(args).assert().code(code).get_output().stdout.clone();
        serde_json::from_slice(&output).unwrap()
    };
    let plan = read(&["plan", BATCH, "--format", "json"], 0);
    let render = &plan["jobs"][0];
    assert!(render["alternatives"].as_array().unwrap().contains(&render["window"]));
    assert_eq!(render["window"]["cost"].to_string(), "28.2");
    assert_eq!(plan["jobs"][3]["postponed"]["reason"], "budget-short");
    assert_eq!(plan["totals"]["placed"], 3);
    let quote = read(&["quote", BATCH, "--job", "fold", "--format", "json"], 4);
    assert_eq!(quote["quotes"].as_array().unwrap().len(), 5);
    assert!(quote["quotes"][0]["window"].is_null());
    let explain = read(&["explain", BATCH, "--job", "fold", "--format", "json"], 0);
    assert_eq!(explain["relaxations"][0]["by"].to_string(), "20.9");
    let hopeless = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/good.in/hopeless.json");
    let alternatives = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/good.in/alternatives.json");
    let refused = read(&["combine", alternatives, "--time-limit", "60", "--format", "json"], 4);
    assert!(refused["chosen"].is_null() && refused["reason"].is_string());
    let none = read(&["plan", hopeless, "--format", "json"], 4);
    assert_eq!(none["totals"]["placed"], 0);
}

/// The picture in `docs/reference/plan.md` is the plan of the README.
#[test]
fn the_picture_of_the_plan_is_current() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("batch.svg");
    let args = ["plan", "examples/batch.toml", "--chart", path.to_str().unwrap()];
    tradewind(&args).current_dir(root).assert().success();
    let committed = std::fs::read_to_string(format!("{root}/docs/images/batch.svg")).unwrap();
    assert!(
        committed == std::fs::read_to_string(path).unwrap(),
        "draw docs/images/batch.svg again"
    );
}
