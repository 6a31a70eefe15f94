//! `tradewind init` writes configurations that `doctor` and `up` take.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

fn tradewind(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    command.args(args).env_remove("XDG_STATE_HOME").env("HOME", home).current_dir(home);
    command.stdin(std::process::Stdio::null());
    command
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// A folder with programs of these names that print what a cluster prints.
fn programs(home: &Path, all: &[(&str, &str)]) -> String {
    let folder = home.join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, body) in all {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_local_site_is_checked_and_runs() {
    let home = tempfile::tempdir().unwrap();
    let args = ["init", "--kind", "local", "--name", "here", "--nodes", "3", "--price", "0.5"];
    let out = tradewind(home.path(), &args).output().unwrap();
    assert!(out.status.success(), "{}", said(&out));
    assert_eq!(out.stdout, b"tradewind.toml\n");
    let text = std::fs::read_to_string(home.path().join("tradewind.toml")).unwrap();
    for line in ["name = \"here\"", "kind = \"local\"", "  nodes = 3", "  price = 0.5"] {
        assert!(text.lines().any(|it| it.split(" #").next().unwrap().trim_end() == line), "{text}");
    }
    let doctor = ["doctor", "--config", "tradewind.toml", "--state", "state"];
    let out = tradewind(home.path(), &doctor).output().unwrap();
    assert!(out.status.success(), "{}{}", said(&out), String::from_utf8_lossy(&out.stdout));
    // What is there stays, unless it is to be replaced.
    let again = |more: &[&str]| {
        tradewind(home.path(), &[&["init", "--yes"], more].concat()).output().unwrap()
    };
    let out = again(&[]);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("`tradewind.toml` is there already"), "{}", said(&out));
    assert_eq!(std::fs::read_to_string(home.path().join("tradewind.toml")).unwrap(), text);
    assert!(again(&["--force"]).status.success());
    assert_ne!(std::fs::read_to_string(home.path().join("tradewind.toml")).unwrap(), text);
}

#[test]
fn a_cluster_has_a_pool_for_each_partition() {
    let home = tempfile::tempdir().unwrap();
    let list = "printf 'main|4\\ndebug|1\\nmain|2\\n'";
    // The last word is the command for the other side.
    let ssh =
        "for last; do :; done; echo \"$@\" >>ssh.log; echo 'Welcome | to alpha'; sh -c \"$last\"";
    let path = programs(home.path(), &[("sinfo", list), ("ssh", ssh)]);
    for (kind, more, wanted) in [
        ("slurm", &[][..], "kind = \"slurm\""),
        ("ssh", &["--ssh", "grid@login"][..], "ssh = \"grid@login\""),
        ("shadow", &["--ssh", "login"][..], "mode = \"observe\""),
        ("shadow", &[][..], "mode = \"observe\""),
    ] {
        let args = [&["init", "--force", "--kind", kind][..], more].concat();
        let out = tradewind(home.path(), &args).env("PATH", &path).output().unwrap();
        assert!(out.status.success(), "{kind}: {}", said(&out));
        let text = std::fs::read_to_string(home.path().join("tradewind.toml")).unwrap();
        assert!(text.contains(wanted), "{text}");
        for line in ["  name = \"alpha-main\"", "  nodes = 6", "  partition = \"debug\""] {
            assert!(text.lines().any(|it| it == line), "{text}");
        }
        if kind == "ssh" {
            assert!(text.contains("accounts = { \"*\" = \"grid\" }"), "{text}");
        }
    }
    let asked = std::fs::read_to_string(home.path().join("ssh.log")).unwrap();
    assert!(asked.contains("-o BatchMode=yes -- grid@login sinfo"), "{asked}");
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let home = tempfile::tempdir().unwrap();
    let refuses = "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1";
    let path = programs(home.path(), &[("sinfo", refuses)]);
    for (args, wanted) in [
        (&["--kind", "slurm"][..], "`sinfo` failed: slurm_load_partitions: Unable to contact"),
        (&["--kind", "ssh"], "`--ssh` is missing"),
        (&["--kind", "ssh", "--ssh", "-oProxyCommand=touch x"], "`--ssh`: write USER@HOST"),
        (&["--kind", "local", "--ssh", "login"], "`--ssh` is for the kinds"),
        (&["--name", "a b"], "`a b` as name of the site"),
        (&["--price=-1"], "`-1` as credits"),
        (&["--owner", "x\ny"], "as user whom its income belongs to"),
    ] {
        let all = [&["init"][..], args].concat();
        let out = tradewind(home.path(), &all).env("PATH", &path).output().unwrap();
        assert!(!out.status.success() && said(&out).contains(wanted), "{args:?}: {}", said(&out));
        assert!(!home.path().join("tradewind.toml").exists(), "{args:?}");
    }
}
