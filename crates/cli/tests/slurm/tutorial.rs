//! The tutorial, typed as it stands.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::market::PROGRAM;

const PAGE: &str = include_str!("../../../../docs/tutorials/two-slurm-clusters.md");
/// The clusters' ports: away from those that other tests are given.
const PORT: &str = "29000";
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// All that the page has readers type, in its order.
fn typed() -> String {
    let blocks = PAGE.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut script = "set -eum\n".to_owned();
    for block in blocks {
        for line in block.lines() {
            let _ = writeln!(script, "{line}");
            // "When it has printed its address".
            if line.starts_with("tradewind up") {
                script.push_str("until tradewind sites >/dev/null 2>&1; do sleep 0.2; done\n");
                script.push_str("until tradewind sites --format csv | grep -q 'elm,up,4,4'; do sleep 0.2; done\n");
            }
        }
    }
    script
}

/// A folder with what the tutorial uses of the repository, and the program on the path.
fn place() -> TempDir {
    let folder = TempDir::new().unwrap();
    let tree = Path::new(TREE).canonicalize().unwrap();
    for name in ["scripts", "examples"] {
        symlink(tree.join(name), folder.path().join(name)).unwrap();
    }
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    symlink(PROGRAM, folder.path().join("bin/tradewind")).unwrap();
    folder
}

#[test]
fn the_tutorial_works_as_it_stands() {
    let folder = place();
    let path = format!("{}/bin:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("timeout");
    command.args(["--kill-after=20", "240", "bash", "-c", &typed()]);
    command.current_dir(folder.path()).env("PATH", path).env("PORT", PORT);
    command.env_remove("XDG_STATE_HOME").stdin(Stdio::null());
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let shown = format!("{out}\n{err}");
    if !output.status.success() {
        let mut stop = Command::new("scripts/clusters.sh");
        let _ = stop.arg("stop").current_dir(folder.path()).output();
        panic!("{shown}");
    }
    for sign in [
        "alpha  good     a job runs in pool oak",
        "beta   good     a job runs in pool elm",
        "Submitted batch job 1",
        "state           COMPLETED",
        "start skew ",
        "part 0 of 2 at alpha began",
        "part 1 of 2 at beta began",
        "task 2 of 3 here",
        "proved             true",
    ] {
        assert!(out.contains(sign), "no {sign:?} in\n{shown}");
    }
    assert!(!out.contains("  bad  "), "{shown}");
}
