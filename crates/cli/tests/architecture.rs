//! The floors of the house: who may depend on whom.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its metadata has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What each of our crates may use of ours, outside tests.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("tradewind-model", &[]),
    ("tradewind-sched", &["tradewind-model"]),
    ("tradewind-sim", &["tradewind-model", "tradewind-sched"]),
    ("tradewind-io", &["tradewind-model"]),
    ("tradewind-lab", &["tradewind-io", "tradewind-model", "tradewind-sched", "tradewind-sim"]),
    (
        "tradewind",
        &["tradewind-io", "tradewind-lab", "tradewind-model", "tradewind-sched", "tradewind-sim"],
    ),
    (
        "tradewind-reference",
        &["tradewind-io", "tradewind-model", "tradewind-sched", "tradewind-sim"],
    ),
];

/// Names that betray a runtime, a network or a database.
const FOREIGN: [&str; 9] =
    ["tokio", "async-std", "hyper", "reqwest", "axum", "rusqlite", "sqlx", "postgres", "openssl"];

/// The platform of the compiler: packages for others need not be there.
fn platform() -> String {
    let said = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// Direct dependencies of each package as they are built, without those of tests and build
/// scripts and without features that are off.
fn direct() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"])
        .arg(platform())
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

#[test]
fn no_runtime_network_or_database_is_linked() {
    let direct = direct();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec!["tradewind"];
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(direct.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    for foreign in FOREIGN {
        assert!(!reached.contains(foreign), "{foreign} is linked");
    }
    assert!(!reached.contains("highs"), "the MIP solver is a yardstick, not a part");
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
