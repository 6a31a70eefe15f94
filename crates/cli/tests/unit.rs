//! The service unit: what systemd thinks of its exposure, with and without the drop-in for users'
//! accounts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// The unit, alone or with the drop-in, in a folder of its own.
fn unit(folder: &Path, drop_in: Option<&str>) -> PathBuf {
    let unit = folder.join("tradewind.service");
    fs::copy(packaging("tradewind.service"), &unit).unwrap();
    if let Some(name) = drop_in {
        let beside = folder.join("tradewind.service.d");
        fs::create_dir(&beside).unwrap();
        fs::copy(packaging(name), beside.join(name)).unwrap();
    }
    unit
}

/// From 0.0 (safe) to 10.0, in tenths; `None`: this machine has no such tool.
fn exposure(unit: &Path) -> Option<u32> {
    let mut analyze = Command::new("systemd-analyze");
    let said =
        analyze.args(["security", "--offline=true", "--no-pager"]).arg(unit).output().ok()?;
    let text = String::from_utf8(said.stdout).unwrap();
    let (_, level) = text.rsplit_once("tradewind.service: ").unwrap();
    let digits: String = level.chars().take_while(|c| *c != ' ').filter(|c| *c != '.').collect();
    Some(digits.parse().unwrap())
}

#[test]
fn it_is_little_exposed() {
    for drop_in in [None, Some("tradewind-accounts.conf"), Some("tradewind-namespaces.conf")] {
        let folder = tempfile::tempdir().unwrap();
        let unit = unit(folder.path(), drop_in);
        match exposure(&unit) {
            Some(tenths) => assert!(tenths <= 30, "{drop_in:?}: {tenths} tenths"),
            None => eprintln!("no systemd-analyze here: only the directives are looked at"),
        }
    }
}

#[test]
fn it_says_what_matters() {
    let unit = fs::read_to_string(packaging("tradewind.service")).unwrap();
    for line in [
        "UMask=0077",
        "StateDirectoryMode=0700",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        "SystemCallFilter=@system-service",
        "OOMPolicy=continue",
        "Delegate=cpu memory",
        "DelegateSubgroup=daemon",
        // Or else nothing can be written to the cgroups that are delegated.
        "ProtectControlGroups=no",
        // What ends or empties running jobs when the daemon stops must not be there.
        "KillMode=process",
    ] {
        assert!(unit.lines().any(|it| it == line), "{line}");
    }
    assert!(!unit.contains("PrivateTmp=yes") && !unit.contains("RemoveIPC=yes"));
    let accounts = fs::read_to_string(packaging("tradewind-accounts.conf")).unwrap();
    let needed = "CAP_SETUID CAP_SETGID CAP_KILL";
    for key in ["CapabilityBoundingSet", "AmbientCapabilities"] {
        assert!(accounts.lines().any(|it| it == format!("{key}={needed}")), "{key}");
    }
}
