//! No cycles between files of different folders.
//!
//! Files that use each other are understood together. Within a folder that may be so; between
//! folders a reader should be able to stop at the border. A module may use its own submodules, and
//! they may use it: that is no cycle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::modules::{Module, Modules};

/// Each cycle between files of several folders: the folders, with the uses that make it.
fn cycles(modules: &Modules) -> BTreeMap<BTreeSet<String>, Vec<String>> {
    let uses = modules.uses();
    let reached = |from: &Module| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = open.pop() {
            let more = uses[&module].iter().filter(|it| reached.insert(**it));
            open.extend(more.map(|it| (**it).clone()));
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (*module, reached(module))).collect();
    let mut found = BTreeMap::new();
    for module in uses.keys() {
        let cycle = reached[module].iter().filter(|it| reached[*it].contains(module));
        let cycle: BTreeSet<&Module> = cycle.copied().collect();
        let folders: BTreeSet<String> = cycle.iter().map(|it| modules.folder(it)).collect();
        if folders.len() > 1 {
            let pairs =
                cycle.iter().flat_map(|one| uses[one].iter().map(move |other| (one, other)));
            let pairs = pairs.filter(|(_, other)| cycle.contains(*other));
            let shown =
                pairs.map(|(one, other)| format!("{} → {}", one.join("/"), other.join("/")));
            found.insert(folders, shown.collect());
        }
    }
    found
}

#[test]
fn files_of_different_folders_do_not_use_each_other_in_a_cycle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = String::new();
    for entry in crates.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        for (folders, uses) in cycles(&Modules::below(&path.join("src"))) {
            all += &format!("{name}: {folders:?}:\n    {}\n", uses.join("\n    "));
        }
    }
    assert!(all.is_empty(), "files of these folders use each other:\n{all}");
}

fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let found = cycles(&Modules::of(files)).into_keys();
    found.map(|folders| folders.into_iter().collect()).collect()
}

#[test]
fn cycles_between_folders_are_found() {
    let ring = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a/mod.rs", "mod one;\npub use one::One;\n"),
        ("a/one.rs", "use std::fmt;\nuse crate::{b::{self, Two as Second}};\n"),
        ("b/mod.rs", "mod two;\npub use two::Two;\n"),
        ("b/two.rs", "fn two() -> super::super::a::One {}\n"),
    ];
    assert_eq!(found(&ring), [["a", "b"]]);
    let mut comment = ring;
    comment[4].1 =
        "// crate::a::One\nfn two() {}\n\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n";
    assert_eq!(found(&comment), Vec::<Vec<String>>::new());
}

#[test]
fn a_module_and_its_parts_are_no_cycle() {
    let files = [
        ("main.rs", "mod a;\nfn main() { a::run(); }\n"),
        ("a/mod.rs", "mod one;\npub struct A;\npub fn run() { one::run(); }\n"),
        ("a/one.rs", "use super::A;\nuse super::two::Two;\n"),
        ("a/two.rs", "use super::one;\n"),
    ];
    assert_eq!(found(&files), Vec::<Vec<String>>::new());
}
