//! The committed JSON Schema accepts what the reader accepts, and refuses what it can.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::path::Path;

use serde_json::{Value, json};
use tradewind_io::input::Input;
use tradewind_io::scenario;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read_to_string(root().join("docs/schemas/scenario.schema.json")).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn good() -> Value {
    json!({
        "title": "x", "notes": ["a"],
        "horizon": {"start": 0, "end": "10m"},
        "sites": [{"name": "s", "watts": {"idle": 90, "busy": 250.5}, "carbon": 412.5,
                   "energy_price": [[0, 0.12], ["1h", 0.2]]}],
        "nodes": [{"name": "a", "site": "s", "performance": 2.5, "price": 0.000001, "host": "h",
                   "attributes": {"gpu": true, "gb": 4.5, "os": "x"}}, {"name": "b", "watts": 300}],
        "licences": [{"name": "l", "count": 9, "price": 0.001,
                      "busy": [{"start": 0, "end": "5m", "count": 8}]}, {"name": "m", "count": 1}],
        "links": [{"between": ["s", "store"], "bandwidth": "2.5 Gbit/s"}],
        "slots": [{"node": "a", "start": 0, "end": 150}],
        "jobs": [{"name": "j", "nodes": 2, "work": "1-00:00:00", "min_performance": 1,
                  "max_price": 10, "budget": 800, "deadline": "24h", "earliest_start": 0,
                  "minimize": "sum:gb", "priority": -3, "attributes": {"gpu": true},
                  "licences": {"l": 4, "m": 1},
                  "data": {"input": "1.5 TB", "from": "store", "output": "20M", "to": "s"}},
                 {"name": "k", "nodes": 1, "work": 80, "budget": null}],
        "policy": {"objective": "min-time", "measure": "runtime", "time_limit": "auto",
                   "budget_limit": 7.25, "rho": 0.8,
                   "order": ["carbon", "idleness", "most:sum:gb"],
                   "limits": {"energy": 2.5, "finish": "2h", "sum:gb": 4}}
    })
}

/// Whether the schema and the reader take the document.
fn verdicts(schema: &jsonschema::Validator, document: &Value) -> (bool, bool) {
    let text = document.to_string();
    (schema.is_valid(document), scenario::parse(&Input::new("x.json", text)).is_ok())
}

#[test]
fn good_documents_pass_both() {
    let schema = schema();
    let mut document = good();
    assert_eq!(verdicts(&schema, &document), (true, true));
    document["slots"] = Value::Null;
    document["busy"] = json!([]);
    document["policy"] = json!({"time_limit": "2h", "budget_limit": "auto"});
    assert_eq!(verdicts(&schema, &document), (true, true));
    let batch = std::fs::read_to_string(root().join("examples/batch.json")).unwrap();
    assert_eq!(verdicts(&schema, &serde_json::from_str(&batch).unwrap()), (true, true));
}

#[test]
fn bad_documents_fail_both() {
    let schema = schema();
    for (pointer, value) in [
        ("/horizon", Value::Null),
        ("/horizon/end", json!("soon")),
        ("/nodes", json!([])),
        ("/jobs", json!([])),
        ("/nodes/0/price", json!(-1)),
        ("/nodes/0/performance", json!(0)),
        ("/nodes/0/name", json!(" ")),
        ("/nodes/0/attributes/gb", json!([1])),
        ("/slots/0/start", Value::Null),
        ("/slots/0/node", json!(7)),
        ("/jobs/0/nodes", json!(0)),
        ("/jobs/0/nodes", json!(1.5)),
        ("/jobs/0/work", json!(0)),
        ("/jobs/0/work", json!("-5m")),
        ("/jobs/0/budget", json!("NaN")),
        ("/jobs/0/minimize", json!("fast")),
        ("/jobs/0/priority", json!("high")),
        ("/policy/objective", json!("max-fun")),
        ("/policy/rho", json!(1.5)),
        ("/policy/rho", json!(0)),
        ("/policy/order", json!(["green"])),
        ("/policy/order", json!([3])),
        ("/policy/limits/energy", json!(-1)),
        ("/policy/limits", json!({"green": 1})),
        ("/sites/0/watts/busy", json!(-1)),
        ("/sites/0/watts", json!("much")),
        ("/sites/0/carbon", json!(-1)),
        ("/sites/0/carbon", json!(true)),
        ("/sites/0/energy_price", json!([[0]])),
        ("/sites/0/energy_price", json!([])),
        ("/nodes/1/watts", json!(-5)),
        ("/licences/0/count", json!(0)),
        ("/licences/0/count", json!(16_777_217)),
        ("/licences/0/price", json!(-1)),
        ("/licences/0/name", json!(" ")),
        ("/licences/0/busy/0/count", json!(0)),
        ("/licences/0/busy/0/end", Value::Null),
        ("/licences/0/busy", json!(3)),
        ("/jobs/0/licences/l", json!(0)),
        ("/jobs/0/licences/l", json!(1.5)),
        ("/jobs/0/licences", json!(["l"])),
        ("/links/0/bandwidth", json!("2 GB/s")),
        ("/links/0/bandwidth", json!(2)),
        ("/links/0/between", json!(["s"])),
        ("/links/0/between", json!(["s", ""])),
        ("/jobs/0/data/input", json!("1.5")),
        ("/jobs/0/data/output", json!(7)),
        ("/jobs/0/data", json!("1 TB")),
    ] {
        let mut document = good();
        *document.pointer_mut(pointer).unwrap() = value.clone();
        assert_eq!(verdicts(&schema, &document), (false, false), "{pointer} = {value}");
    }
    for (pointer, key) in [
        ("", "x"),
        ("/jobs/0", "budgett"),
        ("/nodes/0", "cost"),
        ("/policy", "x"),
        ("/licences/1", "node"),
        ("/links/0", "latency"),
        ("/jobs/0/data", "at"),
    ] {
        let mut document = good();
        document.pointer_mut(pointer).unwrap()[key] = json!(1);
        assert_eq!(verdicts(&schema, &document), (false, false), "{pointer}/{key}");
    }
    let mut both = good();
    both["busy"] = json!([]);
    assert_eq!(verdicts(&schema, &both), (false, false));
}
