//! The committed JSON Schema of grid files accepts what the reader accepts, and refuses what it
//! can.
#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::path::Path;

use serde_json::{Value, json};
use tradewind_io::grid;
use tradewind_io::input::Input;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn schema() -> jsonschema::Validator {
    let text = read("docs/schemas/grid.schema.json");
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn good() -> Value {
    json!({
        "title": "x",
        "site": [{
            "name": "alpha", "log": "kth", "watts": 250, "memory": "1.5 GiB", "carbon": [[0, 400], ["1h", 80.5]],
            "energy_price": 0.2,
            "pool": [{"name": "a", "nodes": 4, "performance": 2.5, "price": 0.000001,
                      "attributes": {"gpu": true}},
                     {"name": "b", "nodes": 1, "max_time": "2h", "memory": "512M",
                      "watts": {"idle": 60, "busy": 120.5}},
                     {"name": "c", "nodes": 12, "queues": "1:2:3", "price": [4.5, 9.5],
                      "min_processors": 1, "max_processors": 64},
                     {"name": "d", "nodes": 12, "queue": [
                         {"name": "short", "nodes": 4, "max_time": 60}, {"nodes": 8}]},
                     {"name": "e", "nodes": 12, "queue": [{}, {"share": 2, "max_processors": 3}]}],
            "price": [0, 2],
            "local": [{"pool": "a", "nodes": 2, "from": -5, "until": "2d", "repeat": "7d",
                       "announced": "1d"}],
            "maintenance": [{"pool": "b", "from": 0, "until": 10, "notice": 0}],
            "failures": {"mtbf": "300d", "shape": 0.75, "repair": 60,
                         "repair_law": "lognormal", "repair_sigma": 1.5, "burst": [1, 4]},
            "load": {"share": [0.1, 0.5], "steps": 4, "task": ["15m", 7200], "period": "1d"},
            "owners": [{"log": "logs/own.swf.gz", "policy": "easy[depth=4]", "pool": "c",
                        "tested": 500, "horizon": "1d", "overrun": "extend",
                        "wider": "drop", "from": 0, "to": "30d", "start": -5},
                       {"log": "x.swf", "policy": "fcfs", "pool": "b"}]
        }],
        "outage": [{"pool": "a", "nodes": 1, "node": 3, "from": 0, "until": 1, "notice": "1h"},
                   {"pool": "a", "from": 0, "until": 1, "cause": "local"}]
    })
}

/// Whether the schema and the reader take the document.
fn verdicts(schema: &jsonschema::Validator, document: &Value) -> (bool, bool) {
    let input = Input::new("x.json", document.to_string());
    (schema.is_valid(document), grid::parse(&input).is_ok())
}

#[test]
fn good_documents_pass_both() {
    let schema = schema();
    assert_eq!(verdicts(&schema, &good()), (true, true));
    let plain = json!({"site": [{"name": "a", "pool": [{"name": "a", "nodes": 1}], "load": {}}]});
    assert_eq!(verdicts(&schema, &plain), (true, true));
    for example in [
        "examples/grid.toml",
        "examples/edg.toml",
        "examples/owners.toml",
        "examples/preemptible.toml",
    ] {
        let example = read(example);
        assert!(grid::parse(&Input::new("grid.toml", example.clone())).is_ok());
        let document = Value::Object(toml::from_str(&example).unwrap());
        assert_eq!(verdicts(&schema, &document), (true, true));
    }
    // The page's own example.
    let page = read("docs/reference/grid.md");
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let document = Value::Object(toml::from_str(text).unwrap());
    assert_eq!(verdicts(&schema, &document), (true, true));
}

#[test]
fn bad_documents_fail_both() {
    let schema = schema();
    for (pointer, value) in [
        ("/site", json!([])),
        ("/site/0/name", json!(" ")),
        ("/site/0/pool", json!([])),
        ("/site/0/pool/0/nodes", json!(0)),
        ("/site/0/memory", json!(4)),
        ("/site/0/memory", json!("4")),
        ("/site/0/pool/1/memory", json!("much")),
        ("/site/0/pool/0/performance", json!(0)),
        ("/site/0/pool/0/price", json!(-1)),
        ("/site/0/price", json!([1])),
        ("/site/0/pool/2/price", json!([1, -1])),
        ("/site/0/pool/2/queues", json!("1:x")),
        ("/site/0/pool/2/queues", json!("")),
        ("/site/0/pool/2/queue", json!([{}])),
        ("/site/0/pool/2/min_processors", json!(0)),
        ("/site/0/pool/3/queue", json!([])),
        ("/site/0/pool/3/queue/0/nodes", json!(0)),
        ("/site/0/pool/3/queue/0/share", json!(1)),
        ("/site/0/pool/4/queue/1/share", json!(0)),
        ("/site/0/pool/4/queue/1/max_time", json!("x")),
        ("/site/0/local/0/from", Value::Null),
        ("/site/0/local/0/until", json!("soon")),
        ("/site/0/local/0/repeat", json!(0)),
        ("/site/0/maintenance/0/notice", json!(-1)),
        ("/site/0/failures/mtbf", json!(0)),
        ("/site/0/failures/shape", json!(0)),
        ("/site/0/failures/repair_law", json!("uniform")),
        ("/site/0/failures/burst", json!([1])),
        ("/site/0/load/share", json!([0.1, 1.5])),
        ("/site/0/load/task", json!([0, 5])),
        ("/site/0/load/steps", json!(-1)),
        ("/site/0/owners/0/log", Value::Null),
        ("/site/0/owners/0/log", json!(" ")),
        ("/site/0/owners/0/policy", Value::Null),
        ("/site/0/owners/0/tested", json!(0)),
        ("/site/0/owners/0/horizon", json!(0)),
        ("/site/0/owners/0/horizon", json!(31_622_401)),
        ("/site/0/owners/0/overrun", json!("run")),
        ("/site/0/owners/0/wider", json!("keep")),
        ("/site/0/owners/0/start", json!("soon")),
        ("/site/0/watts", json!({"idle": 5})),
        ("/site/0/carbon", json!([[0]])),
        ("/site/0/energy_price", json!(-1)),
        ("/site/0/pool/1/watts", json!(true)),
        ("/outage/1/cause", json!("rust")),
        ("/outage/0/node", json!(-1)),
        ("/outage/0/nodes", json!(1.5)),
    ] {
        let mut document = good();
        let (table, key) = pointer.rsplit_once('/').unwrap();
        document.pointer_mut(table).unwrap()[key] = value.clone();
        assert_eq!(verdicts(&schema, &document), (false, false), "{pointer} = {value}");
    }
    for pointer in [
        "",
        "/site/0",
        "/site/0/pool/0",
        "/site/0/pool/3/queue/0",
        "/site/0/local/0",
        "/site/0/load",
        "/site/0/owners/1",
        "/outage/0",
    ] {
        let mut document = good();
        document.pointer_mut(pointer).unwrap()["x"] = json!(1);
        assert_eq!(verdicts(&schema, &document), (false, false), "{pointer}/x");
    }
}
