//! The committed JSON Schema of campaigns accepts what the reader accepts, and refuses what it can.
#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::path::Path;

use serde_json::{Value, json};
use tradewind_io::campaign::{self, Checks};
use tradewind_io::input::Input;

fn schema() -> jsonschema::Validator {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/campaign.schema.json");
    let text = std::fs::read_to_string(path).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn good() -> Value {
    json!({
        "title": "x",
        "workload": [
            {"name": "a", "log": ["a.swf"], "procs": 4, "from": 0, "to": "2d"},
            {"log": ["b.swf.gz", "c.swf"], "from": "-1h", "users": 9, "squeeze": 1000},
            {"model": "lublin[jobs=9]", "procs": 64}
        ],
        "policies": ["easy", "fcfs"],
        "semantics": ["textbook"], "overruns": ["kill", "extend"], "estimates": ["exact"],
        "loads": [0.7, 1], "seeds": "1..10",
        "trim": {"warm-up": "1d", "cool-down": 60},
        "outputs": ["summary", "jobs", "schedule", "parquet", "swf"]
    })
}

/// Whether the schema and the reader take the document.
fn verdicts(schema: &jsonschema::Validator, document: &Value) -> (bool, bool) {
    let input = Input::new("x.json", document.to_string());
    let checks =
        Checks { policy: &|_| None, model: &|_| None, moldable: &|_| None, preemptible: &|_| None };
    (schema.is_valid(document), campaign::parse(&input, checks).is_ok())
}

#[test]
fn good_documents_pass_both() {
    let schema = schema();
    let mut document = good();
    assert_eq!(verdicts(&schema, &document), (true, true));
    document["seeds"] = json!(7);
    document["trim"] = json!({});
    document["loads"] = Value::Null;
    assert_eq!(verdicts(&schema, &document), (true, true));
    let min = json!({"workload": [{"log": ["a.swf"]}], "policies": ["easy"]});
    assert_eq!(verdicts(&schema, &min), (true, true));
}

#[test]
fn bad_documents_fail_both() {
    let schema = schema();
    for (pointer, value) in [
        ("/workload", json!([])),
        ("/workload/0", json!("a.swf")),
        ("/workload/0/log", json!([])),
        ("/workload/0/log", json!("a.swf")),
        ("/workload/0/log/0", json!(" ")),
        ("/workload/0/name", json!("a/b")),
        ("/workload/0/name", json!(".a")),
        ("/workload/0/procs", json!(0)),
        ("/workload/1/squeeze", json!(0)),
        ("/workload/0/from", json!("soon")),
        ("/workload/0/model", json!("lublin")),
        ("/workload/1/users", json!(0)),
        ("/workload/2/model", json!(3)),
        ("/workload/2/procs", Value::Null),
        ("/workload/2/users", json!(3)),
        ("/policies", json!([])),
        ("/policies", json!("easy")),
        ("/policies/1", json!("easy")),
        ("/policies/1", json!(3)),
        ("/semantics/0", json!("alea")),
        ("/overruns", json!("kill")),
        ("/estimates", json!([])),
        ("/loads/0", json!(0)),
        ("/loads/0", json!("0.7")),
        ("/loads/0", json!(11)),
        ("/seeds", json!("a..b")),
        ("/seeds", json!(-1)),
        ("/trim", json!(3)),
        ("/trim/warm-up", json!("-5m")),
        ("/outputs/0", json!("everything")),
    ] {
        let mut document = good();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap() {
            Value::Object(fields) => drop(fields.insert(key.to_owned(), value.clone())),
            list => list[key.parse::<usize>().unwrap()] = value.clone(),
        }
        assert_eq!(verdicts(&schema, &document), (false, false), "{pointer} = {value}");
    }
    for (pointer, key) in [("", "policy"), ("/workload/0", "logs"), ("/trim", "warm_up")] {
        let mut document = good();
        document.pointer_mut(pointer).unwrap()[key] = json!(1);
        assert_eq!(verdicts(&schema, &document), (false, false), "{pointer}/{key}");
    }
}
