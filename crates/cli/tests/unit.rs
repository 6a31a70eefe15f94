//! The service unit: what systemd thinks of its exposure, with and without the drop-in for users'
//! accounts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

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
    let drop_ins = ["tradewind-accounts.conf", "tradewind-sudo.conf", "tradewind-namespaces.conf"];
    for drop_in in [None].into_iter().chain(drop_ins.map(Some)) {
        let folder = tempfile::tempdir().unwrap();
        let unit = unit(folder.path(), drop_in);
        match exposure(&unit) {
            Some(tenths) => assert!(tenths <= 30, "{drop_in:?}: {tenths} tenths"),
            None => eprintln!("no systemd-analyze here: only the directives are looked at"),
        }
    }
}

/// What no score shows, or not enough of it.
const MATTERS: [&str; 20] = [
    "UMask=0077",
    "StateDirectoryMode=0700",
    "MemoryMax=75%",
    "TasksMax=16384",
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=",
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    "PrivateDevices=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "RestrictNamespaces=yes",
    "RestrictSUIDSGID=yes",
    "SystemCallFilter=@system-service",
    "OOMPolicy=continue",
    "Delegate=cpu memory",
    "DelegateSubgroup=daemon",
    // Or else nothing can be written to the cgroups that are delegated.
    "ProtectControlGroups=no",
    // What ends or empties running jobs when the daemon stops must not be there.
    "KillMode=process",
    "User=tradewind",
];

/// Which of these lines a unit lacks.
fn missing(unit: &str) -> Vec<&'static str> {
    MATTERS.into_iter().filter(|line| !unit.lines().any(|it| it == *line)).collect()
}

/// The unit as it was before it had a sandbox is found by both checks, and so is each line that is
/// taken out.
#[test]
fn a_unit_without_its_sandbox_is_found() {
    let text = fs::read_to_string(packaging("tradewind.service")).unwrap();
    for line in MATTERS {
        let less: Vec<&str> = text.lines().filter(|it| *it != line).collect();
        assert_eq!(missing(&less.join("\n")), [line]);
    }
    let (service, rest) = text.split_once("NoNewPrivileges=yes\n").unwrap();
    let (_, install) = rest.split_once("[Install]").unwrap();
    let bare = format!("{service}[Install]{install}");
    let bare: Vec<&str> = bare.lines().filter(|it| !it.starts_with("UMask")).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tradewind.service");
    fs::write(&path, bare.join("\n")).unwrap();
    if let Some(tenths) = exposure(&path) {
        assert!(tenths > 80, "{tenths} tenths");
    }
}

#[test]
fn it_says_what_matters() {
    let unit = fs::read_to_string(packaging("tradewind.service")).unwrap();
    assert_eq!(missing(&unit), [""; 0]);
    assert!(!unit.contains("PrivateTmp=yes") && !unit.contains("RemoveIPC=yes"));
    let accounts = fs::read_to_string(packaging("tradewind-accounts.conf")).unwrap();
    let needed = "CAP_SETUID CAP_SETGID CAP_KILL";
    for key in ["CapabilityBoundingSet", "AmbientCapabilities"] {
        assert!(accounts.lines().any(|it| it == format!("{key}={needed}")), "{key}");
    }
    // Each of them covers a part of /proc, and then the kernel refuses jobs one of their own.
    let namespaces = fs::read_to_string(packaging("tradewind-namespaces.conf")).unwrap();
    for key in ["ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname"] {
        assert!(namespaces.lines().any(|it| it == format!("{key}=no")), "{key}");
    }
}

/// systemd would not start it again: it takes an end by `SIGHUP` for a success.
#[test]
fn a_hang_up_does_not_end_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let heard = || {
        let mut text = [0; 64];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    let mut up = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    up.args(["up", "--listen", "127.0.0.1:0", "--state"]).arg(folder.path().join("state"));
    up.env("NOTIFY_SOCKET", &path).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut up = up.spawn().unwrap();
    let mut lines = BufReader::new(up.stderr.take().unwrap()).lines();
    assert_eq!(heard(), "READY=1");
    let pid = Pid::from_raw(up.id().cast_signed()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    // It says so, or its output ends because it has ended.
    let said = lines.by_ref().map_while(Result::ok).find(|line| line.contains("SIGHUP"));
    assert!(said.is_some(), "it has ended: {:?}", up.wait());
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(heard(), "STOPPING=1");
    let _ = lines.count();
    assert!(up.wait().unwrap().success());
}
