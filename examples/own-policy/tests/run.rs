//! The example builds, runs under all checkers, and does what it says.

use assert_cmd::Command;

#[test]
fn it_replays_the_example_log() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../small.swf");
    let ran = Command::new(env!("CARGO_BIN_EXE_own-policy")).arg(log).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    let measure = |name: &str| -> f64 {
        let line = said.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(measure("jobs"), 200.0);
    // Narrow jobs first: less than half of what first come, first served makes them wait.
    let wait = measure("mean_wait_s");
    assert!(wait > 0.0 && wait < 3_470.0, "{said}");
}

#[test]
fn a_log_that_is_not_there_is_no_success() {
    Command::new(env!("CARGO_BIN_EXE_own-policy")).arg("no-such.swf").assert().failure();
}
