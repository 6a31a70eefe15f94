//! The example builds, runs under all checkers, and does what it says.

use assert_cmd::Command;

#[test]
fn it_replays_the_example_log() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../small.swf");
    let ran = Command::new(env!("CARGO_BIN_EXE_own-policy")).arg(log).assert().success();
    let said = String::from_utf8_lossy(&ran.get_output().stdout).into_owned();
    assert!(said.contains("jobs                           200\n"), "{said}");
    // Narrow jobs first: less than half of what first come, first served makes them wait.
    let wait = said.lines().find_map(|line| line.strip_prefix("mean wait")).map(str::trim);
    let wait: f64 = wait.and_then(|it| it.strip_suffix(" s")).map_or(0.0, |it| it.parse().unwrap());
    assert!(wait > 0.0 && wait < 3_470.0, "{said}");
}

#[test]
fn a_log_that_is_not_there_is_no_success() {
    Command::new(env!("CARGO_BIN_EXE_own-policy")).arg("no-such.swf").assert().failure();
}
