//! The floors of the house: who may depend on whom.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its metadata has failed")]

mod cycles;
mod modules;
mod nouns;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What each of our crates may use of ours, outside tests.
const ALLOWED: [(&str, &[&str]); 14] = [
    ("tradewind-model", &[]),
    // Its targets are tests.
    ("tradewind-fuzz", &[]),
    ("tradewind-swf", &["tradewind-model"]),
    ("tradewind-sched", &["tradewind-model"]),
    ("tradewind-sim", &["tradewind-model", "tradewind-sched"]),
    ("tradewind-io", &["tradewind-model", "tradewind-swf"]),
    (
        "tradewind-campaign",
        &["tradewind-io", "tradewind-model", "tradewind-sched", "tradewind-sim"],
    ),
    (
        "tradewind-python",
        &[
            "tradewind-campaign",
            "tradewind-io",
            "tradewind-model",
            "tradewind-sched",
            "tradewind-sim",
        ],
    ),
    ("tradewind-lab", &["tradewind-io", "tradewind-model", "tradewind-sched", "tradewind-sim"]),
    ("tradewind-daemon", &["tradewind-io", "tradewind-model", "tradewind-sched"]),
    ("tradewind-postgres", &["tradewind-daemon"]),
    ("tradewind-web", &["tradewind-daemon", "tradewind-io", "tradewind-model", "tradewind-sched"]),
    (
        "tradewind",
        &[
            "tradewind-campaign",
            "tradewind-daemon",
            "tradewind-io",
            "tradewind-lab",
            "tradewind-model",
            "tradewind-postgres",
            "tradewind-sched",
            "tradewind-sim",
            "tradewind-web",
        ],
    ),
    (
        "tradewind-reference",
        &[
            "tradewind-campaign",
            "tradewind-io",
            "tradewind-model",
            "tradewind-sched",
            "tradewind-sim",
        ],
    ),
];

/// Names that betray a runtime or a network: for the web and the command only.
const NETWORK: [&str; 7] = ["tokio", "async-std", "hyper", "reqwest", "axum", "ureq", "openssl"];
/// Names that betray a database: for the daemon and those above it.
const DATABASE: [&str; 3] = ["rusqlite", "sqlx", "postgres"];

/// The platform of the compiler: packages for others need not be there.
fn platform() -> String {
    let said = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// Direct dependencies of each package as they are built by default.
fn direct() -> BTreeMap<String, BTreeSet<String>> {
    direct_with(&[])
}

/// Direct dependencies of each package as they are built with these options, without those of
/// tests and build scripts and without features that are off.
fn direct_with(options: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"])
        .arg(platform())
        .args(options)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let all: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = list(&all["packages"]);
    let names: BTreeMap<String, String> =
        packages.iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let linked = |dependency: &Value| {
        let kinds = list(&dependency["dep_kinds"]);
        let normal = kinds.iter().any(|kind| kind["kind"].is_null());
        normal.then(|| names[&text(&dependency["pkg"])].clone())
    };
    let of = |node: &Value| list(&node["deps"]).iter().filter_map(linked).collect();
    let nodes = list(&all["resolve"]["nodes"]);
    nodes.iter().map(|node| (names[&text(&node["id"])].clone(), of(node))).collect()
}

#[test]
fn each_floor_sees_only_those_below() {
    let direct = direct();
    for (name, allowed) in ALLOWED {
        let ours = direct[name].iter().filter(|other| other.starts_with("tradewind"));
        for other in ours {
            assert!(allowed.contains(&other.as_str()), "{name} must not depend on {other}");
        }
    }
    let ours = direct.keys().filter(|name| name.starts_with("tradewind"));
    assert_eq!(ours.count(), ALLOWED.len(), "a crate is missing in this test's list");
}

/// All that is linked below a package.
fn reached<'a>(
    direct: &'a BTreeMap<String, BTreeSet<String>>,
    package: &'a str,
) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![package]);
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(direct.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}

#[test]
fn a_daemon_is_built_without_the_lab() {
    assert!(reached(&direct(), "tradewind").contains("tradewind-lab"));
    let without = direct_with(&["--no-default-features"]);
    assert!(!reached(&without, "tradewind").contains("tradewind-lab"));
}

#[test]
fn networks_and_databases_stay_above_the_floors_that_need_none() {
    let direct = direct();
    let absent = |package: &str, names: &[&str]| {
        let reached = reached(&direct, package);
        for name in names {
            assert!(!reached.contains(name), "{package} links {name}");
        }
    };
    for package in
        ["tradewind-model", "tradewind-sched", "tradewind-sim", "tradewind-swf", "tradewind-io"]
    {
        absent(package, &NETWORK);
        absent(package, &DATABASE);
    }
    for package in ["tradewind-campaign", "tradewind-python"] {
        absent(package, &NETWORK);
        absent(package, &DATABASE);
    }
    absent("tradewind-lab", &DATABASE);
    absent("tradewind-daemon", &NETWORK);
    absent("tradewind", &["highs", "openssl", "aws-lc-sys"]);
}

#[test]
fn the_model_and_the_decisions_know_no_format() {
    let direct = direct();
    for name in ["tradewind-model", "tradewind-sched", "tradewind-sim"] {
        for format in ["serde", "serde_json", "toml", "csv", "clap"] {
            assert!(!direct[name].contains(format), "{name} must not depend on {format}");
        }
    }
}
