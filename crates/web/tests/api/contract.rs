//! Every answer that a test gets is held against the API's own description.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use serde_json::{Value, json};
use tradewind_web::openapi;

pub(crate) fn description() -> &'static Value {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    DESCRIPTION.get_or_init(|| serde_json::from_str(&openapi::text()).unwrap())
}

/// The path as the description has it.
fn template(path: &str) -> Option<&'static str> {
    let path = path.split('?').next().unwrap();
    let same = |template: &&String| {
        let (wanted, found) = (template.split('/'), path.split('/'));
        wanted.clone().count() == found.clone().count()
            && wanted.zip(found).all(|(wanted, found)| wanted.starts_with('{') || wanted == found)
    };
    description()["paths"].as_object().unwrap().keys().find(same).map(String::as_str)
}

pub(crate) fn resolve(value: &'static Value) -> &'static Value {
    match value["$ref"].as_str() {
        Some(path) => description().pointer(path.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

/// Fails if the description does not allow the answer.
pub(crate) fn check(method: &str, path: &str, status: u16, body: &Value) {
    let Some(template) = template(path) else {
        assert_eq!(status, 404, "{path} is not described");
        return;
    };
    let operation = &description()["paths"][template][method.to_lowercase()];
    if operation.is_null() {
        assert_eq!(status, 405, "{method} {path} is not described");
        return;
    }
    let answers = &operation["responses"];
    let named = &answers[status.to_string()];
    let answer = if named.is_null() { &answers["default"] } else { named };
    assert!(!answer.is_null(), "{method} {template}: {status} is not described");
    let schema = &resolve(answer)["content"]["application/json"]["schema"];
    if schema.is_null() {
        return;
    }
    static VALIDATORS: Mutex<BTreeMap<String, jsonschema::Validator>> = Mutex::new(BTreeMap::new());
    let mut validators = VALIDATORS.lock().unwrap();
    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
        let whole = json!({"allOf": [schema], "components": description()["components"]});
        jsonschema::validator_for(&whole).unwrap()
    });
    let wrong: Vec<String> =
        validator.iter_errors(body).map(|it| format!("{}: {it}", it.instance_path())).collect();
    drop(validators);
    assert!(wrong.is_empty(), "{method} {path} {status}: {wrong:?}\n{body}");
}

#[test]
fn examples_are_what_their_schemas_say() {
    let schemas = description()["components"]["schemas"].as_object().unwrap();
    let mut examples = 0;
    for (name, schema) in schemas {
        let example = &schema["example"];
        if example.is_null() {
            continue;
        }
        examples += 1;
        let reference = format!("#/components/schemas/{name}");
        let whole = json!({"$ref": reference, "components": description()["components"]});
        let validator = jsonschema::validator_for(&whole).unwrap();
        let wrong: Vec<String> = validator.iter_errors(example).map(|it| it.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
    assert!(examples > 25, "{examples}");
}

#[test]
fn operations_have_names_of_their_own() {
    let paths = description()["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|path| path.as_object().unwrap().values());
    let names: Vec<&str> = operations.filter_map(|it| it["operationId"].as_str()).collect();
    let different: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!((names.len(), different.len()), (56, 56));
}
