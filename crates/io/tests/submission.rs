//! The pages, schemas and examples of job scripts and of `tradewind.toml` say what the readers do.
#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::collections::BTreeMap;
use std::path::Path;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tradewind_io::input::Input;
use tradewind_io::settings;
use tradewind_io::submission::options::{OPTIONS, OptionSpec, Owner, Support};
use tradewind_io::submission::{Work, document, script};
use tradewind_model::Time;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn schema(path: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(&read(path)).unwrap()).unwrap()
}

#[test]
fn the_page_lists_every_option_as_it_is() {
    let page = read("docs/reference/submit.md");
    let rows = |head: &str| -> Vec<String> {
        let table = page.split_once(head).unwrap().1;
        let rows = table.lines().skip_while(|line| !line.starts_with('|')).skip(2);
        rows.take_while(|line| line.starts_with('|')).map(str::to_owned).collect()
    };
    let of = |owner: Owner| -> Vec<String> {
        OPTIONS.iter().filter(|it| it.owner == owner).map(OptionSpec::row).collect()
    };
    assert_eq!(rows("## Options of sbatch"), of(Owner::Slurm));
    assert_eq!(rows("## Tradewind's options"), of(Owner::Tradewind));
    let kinds = [Support::Honoured, Support::PassedThrough, Support::Refused];
    let counts = kinds.map(|kind| OPTIONS.iter().filter(|it| it.kind == kind).count());
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}

#[test]
fn the_pages_script_is_read() {
    let page = read("docs/reference/submit.md");
    let text = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let work = Work::Script { text: text.to_owned(), arguments: Vec::new() };
    let around = script::Around { now: Time(0), zone: &TimeZone::UTC, variables: &BTreeMap::new() };
    let (it, warnings) = script::parse("heat.sh", Some(work), &[], &around).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    assert_eq!((it.name.as_str(), it.tasks), ("heat", 2));
    assert!(schema("docs/schemas/submission.schema.json").is_valid(&document::value(&it)));
}

fn job() -> Value {
    json!({
        "name": "heat", "script": "#!/bin/sh\n./heat\n", "arguments": ["a"], "nodes": 2,
        "time": {"fast": "10m", "slow": 1800}, "min_performance": 1.5, "max_price": 0.000001,
        "budget": 12.5, "value": 40, "earliest_start": 10, "deadline": "2d", "minimize": "cost",
        "priority": -3, "attributes": {"gpu": true, "memory": 1.5, "arch": ["x", "y"]},
        "sites": ["alpha"], "partitions": ["alpha-fast"], "project": "climate",
        "directory": "/data", "output": "out-%j", "error": "err", "input": "in",
        "open_mode": "append", "environment": {"A": "b"},
        "after": [{"when": "afterok", "job": 7}], "array": "0-9:2,20%4", "held": true,
        "on_lost": "rerun", "on_breach": "hold", "gather": "90s", "mail": {"to": "ana", "end": true}, "comment": "x", "quote": 7,
        "passed_through": [{"option": "qos", "value": "high"}]
    })
}

/// Whether the schema and the reader take the document.
fn verdicts(schema: &jsonschema::Validator, it: &Value) -> (bool, bool) {
    let input = Input::new("x.json", it.to_string());
    (schema.is_valid(it), document::parse(&input).is_ok())
}

#[test]
fn the_schema_of_jobs_takes_what_the_reader_takes() {
    let schema = schema("docs/schemas/submission.schema.json");
    assert_eq!(verdicts(&schema, &job()), (true, true));
    let plain = json!({"name": "x", "command": ["/bin/true"], "nodes": 1, "time": 60});
    assert_eq!(verdicts(&schema, &plain), (true, true));
    let shaped = json!({
        "name": "x", "command": ["/bin/true"], "nodes": 1, "max_nodes": 4, "ntasks": 8,
        "ntasks_per_node": 4, "cpus_per_task": 2, "time": 60,
        "after": [{"when": "singleton"}, {"when": "aftercorr", "job": 3}]
    });
    assert_eq!(verdicts(&schema, &shaped), (true, true));
    let tasks = json!({"name": "x", "command": ["/bin/true"], "ntasks": 8, "time": 60});
    assert_eq!(verdicts(&schema, &tasks), (true, true));
    let groups = json!([
        {"nodes": 1, "time": "1h", "min_performance": 2, "attributes": {"gpu": true}},
        {"nodes": 3, "time": 600}
    ]);
    let grouped = json!({"name": "x", "command": ["/bin/true"], "groups": groups});
    assert_eq!(verdicts(&schema, &grouped), (true, true));
    for (key, value) in [
        ("groups", json!([{"nodes": 1, "time": 60}])),
        ("groups", json!([{"nodes": 1, "time": 60}, {"nodes": 1}])),
        ("groups", json!([{"nodes": 1, "time": 60}, {"nodes": 1, "time": 60, "work": 60}])),
        ("nodes", json!(4)),
        ("time", json!(60)),
        ("array", json!("0-3")),
        ("shapes", json!("4x1h,2x2h")),
    ] {
        let mut it = grouped.clone();
        it[key] = value.clone();
        assert_eq!(verdicts(&schema, &it), (false, false), "{key} = {value}");
    }
    let max = json!({"name": "x", "command": ["/bin/true"], "max_nodes": 8, "time": 60});
    assert_eq!(verdicts(&schema, &max), (false, false));
    for (key, value) in [
        ("ntasks", json!(0)),
        ("cpus_per_task", json!("2")),
        ("ntasks_per_node", json!(1.5)),
        ("after", json!([{"when": "singleton", "job": 1}])),
        ("name", json!("")),
        ("name", json!("x".repeat(129))),
        ("script", json!("echo")),
        ("command", json!(["x"])),
        ("nodes", json!(0)),
        ("time", json!(0)),
        ("time", json!({})),
        ("time", json!({"fast": 0})),
        ("time", json!("soon")),
        ("min_performance", json!(0)),
        ("budget", json!(-1)),
        ("earliest_start", json!(1.5)),
        ("minimize", json!("costs")),
        ("priority", json!("high")),
        ("attributes", json!({"a": ["one"]})),
        ("sites", json!(["a b"])),
        ("partitions", json!("a")),
        ("open_mode", json!("add")),
        ("environment", json!({"1": "x"})),
        ("environment", json!({"A": 1})),
        ("after", json!([{"when": "later", "job": 1}])),
        ("after", json!([{"when": "afterok"}])),
        ("array", json!("a")),
        ("held", json!("yes")),
        ("on_lost", json!("cry")),
        ("on_breach", json!("cry")),
        ("mail", json!({"to": 1})),
        ("passed_through", json!([{"option": "qos"}])),
        ("stay_home", json!("no")),
        ("quote", json!("q")),
        ("quote", json!(0)),
        ("color", json!(1)),
    ] {
        let mut it = job();
        it[key] = value.clone();
        assert_eq!(verdicts(&schema, &it), (false, false), "{key} = {value}");
    }
}

#[test]
fn the_schema_of_settings_takes_what_the_reader_takes() {
    let schema = schema("docs/schemas/tradewind.schema.json");
    let page = read("docs/reference/tradewind-toml.md");
    let excerpt = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let peer = "[market]\nchoose = 'load'\n[[peers]]\nname = 'a'\nurl = 'https://a.example'\n\
                token_file = 't'\nreceipt_key = 'ed25519:AAAA'";
    for text in [read("examples/tradewind.toml").as_str(), excerpt, "# nothing\n", peer] {
        let (_, warnings) = settings::parse(&Input::new("tradewind.toml", text)).unwrap();
        assert!(warnings.is_empty(), "{warnings}");
        assert!(schema.is_valid(&Value::Object(toml::from_str(text).unwrap())));
    }
    for text in [
        "[market]\npolcy = 'x'",
        "[market]\nchoose = 'best'",
        "[market]\nrules = [{ hours = 'Mon' }]",
        "[listen]\nkey = 'x'",
        "[limits]\nbody = 0",
        "[money]\nnew_user_grant = -1",
        "[notify]\nwebhooks = ['ftp://x']",
        "site = [{ name = 'a', kind = 'pbs', pool = [{ name = 'p', nodes = 1 }] }]",
        "site = [{ name = 'a', kind = 'local', pool = [] }]",
        "site = [{ name = 'a', kind = 'local', pool = [{ name = 'p', nodes = 0 }] }]",
        "peers = [{ name = 'a', url = 'https://a.example' }]",
    ] {
        let document = Value::Object(toml::from_str(text).unwrap());
        assert!(!schema.is_valid(&document), "{text}");
        assert!(settings::parse(&Input::new("tradewind.toml", text)).is_err(), "{text}");
    }
}

#[test]
fn the_example_shows_every_table() {
    let text = read("examples/tradewind.toml");
    let it = settings::parse(&Input::new("tradewind.toml", text)).unwrap().0;
    assert_eq!((it.sites.len(), it.peers.len(), it.market.rules.rules.len()), (2, 1, 1));
    let fast = &it.sites[0].pools[0];
    let zone = it.zone.unwrap();
    let moment = |text: &str| {
        let civil: jiff::civil::DateTime = text.parse().unwrap();
        Time(civil.to_zoned(zone.clone()).unwrap().timestamp().as_second())
    };
    let (day, night) = (moment("2026-03-30T12:00"), moment("2026-03-30T23:00"));
    assert_eq!((fast.offered_at(day, &zone), fast.offered_at(night, &zone)), (2, 4));
    assert_eq!(fast.price_at(day, 0, &zone).0, 1_500_000);
    assert_eq!(fast.price_at(day, 750, &zone).0, 3_000_000);
    assert_eq!(it.sites[0].pools[1].price_at(night, 0, &zone).0, 125);
}
