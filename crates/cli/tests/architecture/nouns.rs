//! One name, one thing: no two types of a crate have the same name.

use std::collections::BTreeMap;
use std::path::Path;

use super::modules::{Module, Modules};

/// Names that stand for more than one type of a crate, and why. This list may only become shorter.
const KNOWN: [(&str, &str); 1] = [
    // The arguments of the command that the module is; clap's derive asks for a type for each.
    ("cli", "Args"),
];

/// The name that a line declares, if it declares a type. Types of traits are no declarations.
fn declared(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => item,
    };
    let item = item.strip_prefix("unsafe ").unwrap_or(item);
    let (kind, rest) = item.split_once(' ')?;
    let declares = match kind {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => line.starts_with(item) || line.starts_with("pub"),
        _ => false,
    };
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
    (declares && rest.starts_with(|it: char| it.is_uppercase())).then(|| &rest[..end])
}

/// Names that are declared more than once, with the modules that declare them.
fn homonyms(modules: &Modules) -> BTreeMap<&str, Vec<&Module>> {
    let mut all: BTreeMap<&str, Vec<&Module>> = BTreeMap::new();
    for (module, text) in modules.texts() {
        for name in text.lines().filter_map(declared) {
            all.entry(name).or_default().push(module);
        }
    }
    all.retain(|_, places| places.len() > 1);
    all
}

#[test]
fn no_name_of_a_type_stands_for_two_things_in_a_crate() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut known = KNOWN.to_vec();
    let mut new = String::new();
    for entry in crates.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let krate = path.file_name().unwrap().to_str().unwrap();
        for (name, places) in homonyms(&Modules::below(&path.join("src"))) {
            let listed = known.iter().position(|it| *it == (krate, name));
            if listed.map(|at| known.swap_remove(at)).is_none() {
                let places: Vec<_> = places.iter().map(|it| it.join("/")).collect();
                new += &format!("{krate}: {name} in {}\n", places.join(", "));
            }
        }
    }
    assert!(new.is_empty(), "names that stand for two things; say in each which it is:\n{new}");
    assert!(known.is_empty(), "these are gone, take them off the list: {known:?}");
}

#[test]
fn names_that_are_declared_twice_are_found() {
    let files = [
        (
            "a.rs",
            "pub(crate) struct Job<'a> {\n}\nimpl Site for Job {\n    type Error = Fault;\n}\n",
        ),
        (
            "b.rs",
            "/// A struct Job.\nenum Job {\n}\nimpl Site for Job {\n    type Error = Fault;\n}\n",
        ),
        (
            "c.rs",
            "pub type Pair = (Job, Job);\n#[cfg(test)]\nmod tests {\n    type Pair = ();\n}\n",
        ),
        ("tests.rs", "struct Job;\nstruct Pair;\n"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let modules = Modules::of(files.into_iter());
    let (a, b) = (vec!["a".to_owned()], vec!["b".to_owned()]);
    assert_eq!(homonyms(&modules), BTreeMap::from([("Job", vec![&a, &b])]));
}
