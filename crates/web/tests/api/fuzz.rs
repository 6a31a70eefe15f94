//! Requests made of the API's own description, right and wrong, from all users. Each answer is one
//! that the description has, none is a mistake of ours, and whatever is refused has changed
//! nothing. A longer run: `TRADEWIND_FUZZ_CASES=100000`; another one: `TRADEWIND_FUZZ_SEED=7`.

use serde_json::{Value, json};
use tradewind_model::random;

use crate::contract;
use crate::stage::Stage;

/// A number below the one that is given.
type Draw<'a> = dyn FnMut(usize) -> usize + 'a;

const USERS: [&str; 6] = ["root", "root", "olga", "ana", "bob", "nobody"];
/// Parts of paths and of queries.
const WORDS: [&str; 22] = [
    "1",
    "2",
    "3",
    "4",
    "99",
    "0",
    "-1",
    "1.5",
    "18446744073709551615",
    "18446744073709551616",
    "x",
    "y",
    "alpha",
    "user:ana",
    "bank",
    "held:1",
    "%00",
    "%ff",
    "..%2f..%2fetc",
    "%F0%9F%90%9F",
    "PENDING,RUNNING",
    "%22%3E%3Cscript%3E",
];
/// What stands where something else belongs.
fn odd(draw: &mut Draw<'_>) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("a\u{0}b"),
        json!("../../etc/passwd"),
        json!("$(touch /tmp/x)\n;`id`"),
        json!("\u{202e}\u{1f41f}"),
        json!("9".repeat(400)),
        json!("x".repeat(70_000)),
        json!([]),
        json!([null]),
        json!({}),
        json!({"": {"": []}}),
        json!([[[[[[[[1]]]]]]]]),
    ];
    all[draw(all.len())].clone()
}

/// An operation of the description.
struct Operation {
    method: String,
    path: String,
    name: String,
    queries: Vec<String>,
    headers: Vec<String>,
    /// Documents that it takes.
    examples: Vec<Value>,
}

fn operations() -> Vec<Operation> {
    let paths = contract::description()["paths"].as_object().unwrap();
    let mut all = Vec::new();
    for (path, methods) in paths {
        for (method, it) in methods.as_object().unwrap() {
            let none = vec![];
            let parameters = it["parameters"].as_array().unwrap_or(&none);
            let named = |place: &str| {
                let there = parameters.iter().filter(|parameter| parameter["in"] == place);
                there.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
            };
            let schema = &it["requestBody"]["content"]["application/json"]["schema"];
            let name = it["operationId"].as_str().unwrap().to_owned();
            // A stream has no end, and the stage's advisor explains nothing.
            if !["stream_events", "explain_job"].contains(&name.as_str()) {
                all.push(Operation {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    name,
                    queries: named("query"),
                    headers: named("header"),
                    examples: examples(contract::resolve(schema)),
                });
            }
        }
    }
    all
}

fn examples(schema: &'static Value) -> Vec<Value> {
    match schema["oneOf"].as_array() {
        Some(all) => all.iter().flat_map(|it| examples(contract::resolve(it))).collect(),
        None => vec![schema["example"].clone()].into_iter().filter(|it| !it.is_null()).collect(),
    }
}

/// A request on its way.
#[derive(Debug)]
struct Request {
    user: &'static str,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn request(operation: &Operation, draw: &mut Draw<'_>) -> Request {
    let path = format!("{}{}", path(operation, draw), query(operation, draw));
    let headers = headers(operation, draw);
    let method = match draw(25) {
        0 => ["PATCH", "PUT", "POST", "DELETE", "GET"][draw(5)].to_owned(),
        _ => operation.method.clone(),
    };
    let user = USERS[draw(USERS.len())];
    Request { user, method, path, headers, body: body(operation, draw) }
}

fn path(operation: &Operation, draw: &mut Draw<'_>) -> String {
    let mut parts = Vec::new();
    for part in operation.path.split('/') {
        let mut word = WORDS[draw(WORDS.len())].to_owned();
        // Callers keep their access.
        if ["revoke_token", "rotate_token"].contains(&operation.name.as_str()) && word.len() == 1 {
            word.push_str("00");
        }
        match part {
            "{site}" if draw(4) > 0 => parts.push("alpha".to_owned()),
            "{pool}" if draw(4) > 0 => parts.push("x".to_owned()),
            _ if part.starts_with('{') => parts.push(word),
            _ => parts.push(part.to_owned()),
        }
    }
    parts.join("/")
}

fn query(operation: &Operation, draw: &mut Draw<'_>) -> String {
    let mut fields = Vec::new();
    for name in &operation.queries {
        // No request waits for long.
        let words: &[&str] = if name == "seconds" { &["0", "0", "61", "-1", "x"] } else { &WORDS };
        if name == "seconds" || draw(3) == 0 {
            fields.push(format!("{name}={}", words[draw(words.len())]));
        }
    }
    if draw(20) == 0 {
        fields.push("colour=red".to_owned());
    }
    if fields.is_empty() { String::new() } else { format!("?{}", fields.join("&")) }
}

fn headers(operation: &Operation, draw: &mut Draw<'_>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for name in &operation.headers {
        let value = ["1", "x", "", "a key", "18446744073709551616"][draw(5)];
        if draw(2) == 0 {
            headers.push((name.clone(), value.to_owned()));
        }
    }
    if draw(12) == 0 {
        let kind = ["text/plain", "application/json; charset=utf-8", "*", ""][draw(4)];
        headers.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    headers
}

fn body(operation: &Operation, draw: &mut Draw<'_>) -> Vec<u8> {
    if operation.examples.is_empty() {
        return vec![];
    }
    let mut document = operation.examples[draw(operation.examples.len())].clone();
    for _ in 0..draw(4) {
        spoil(&mut document, draw);
    }
    let mut bytes = document.to_string().into_bytes();
    match draw(30) {
        0 => bytes.truncate(draw(bytes.len().max(1))),
        1 => {
            let place = draw(bytes.len().max(1));
            bytes.insert(place, draw(256) as u8);
        }
        2 => bytes.clear(),
        _ => {}
    }
    bytes
}

/// Changes one thing, at any depth.
fn spoil(value: &mut Value, draw: &mut Draw<'_>) {
    let below = match value {
        Value::Object(fields) if !fields.is_empty() => fields.len(),
        Value::Array(items) if !items.is_empty() => items.len(),
        _ => 0,
    };
    if below == 0 {
        *value = odd(draw);
        return;
    }
    let place = draw(below);
    match value {
        Value::Object(fields) => {
            let name = fields.keys().nth(place).cloned().unwrap();
            match draw(4) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert("surplus".to_owned(), odd(draw))),
                _ => spoil(&mut fields[&name], draw),
            }
        }
        Value::Array(items) => match draw(3) {
            0 => drop(items.remove(place)),
            1 => items.push(odd(draw)),
            _ => spoil(&mut items[place], draw),
        },
        _ => {}
    }
}

/// The status, and whether rows were written meanwhile.
fn send(stage: &Stage, it: &Request) -> (u16, String, bool) {
    let headers = it.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<(&str, &str)> = headers.collect();
    let rows = || stage.engine.handle.gauges().last_row();
    let before = rows();
    let (status, text) = stage.send(it.user, &it.method, &it.path, &headers, it.body.clone());
    (status, text, rows() != before)
}

/// Waits until nothing is written, for a while.
fn settle(stage: &Stage) {
    let rows = || stage.engine.handle.gauges().last_row();
    for _ in 0..100 {
        let before = rows();
        std::thread::sleep(std::time::Duration::from_millis(30));
        if rows() == before {
            return;
        }
    }
}

/// What must hold of every answer.
fn hold(stage: &Stage, it: &Request) -> u16 {
    let (status, text, mut wrote) = send(stage, it);
    let shown = String::from_utf8_lossy(&it.body[..it.body.len().min(300)]).into_owned();
    let shown = format!("{} {} {} {shown}", it.user, it.method, it.path);
    assert!(status < 500, "{shown}: {status} {text}");
    // What others asked for goes on meanwhile, and is written about: once is no proof.
    for _ in 0..5 {
        if wrote && status >= 400 {
            settle(stage);
            wrote = send(stage, it).2;
        }
    }
    assert!(!wrote || status < 400, "{shown}: refused with {status}, and something has changed");
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text.clone()));
    contract::check(&it.method, &it.path, status, &value);
    let made = status == 201 && it.path.starts_with("/v1/tokens");
    let known = stage.tokens.values().any(|secret| text.contains(secret));
    assert!(made || !known, "{shown}: a secret in {text}");
    status
}

#[test]
fn whatever_is_asked_the_api_keeps_its_word() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let cases = number("TRADEWIND_FUZZ_CASES").unwrap_or(2_000);
    let seed = number("TRADEWIND_FUZZ_SEED").unwrap_or(1);
    let stage = Stage::new();
    for nodes in [1, 2, 2, 1] {
        stage.submit("ana", nodes);
    }
    let operations = operations();
    let mut statuses = std::collections::BTreeMap::new();
    for case in 0..cases {
        let mut rng = random::stream(seed, "request", case);
        let mut draw = |below: usize| random::within(&mut rng, 0, below as i64 - 1) as usize;
        let operation = &operations[draw(operations.len())];
        let request = request(operation, &mut draw);
        *statuses.entry(hold(&stage, &request)).or_insert(0_u32) += 1;
    }
    // It is worth something only if much is refused, and much is not.
    for status in [200, 201, 400, 401, 403, 404, 405, 415, 422] {
        assert!(statuses.get(&status).is_some_and(|it| *it > 2), "{status}: {statuses:?}");
    }
    stage.stop();
}
