//! House rules that no compiler checks.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the tree has failed")]

mod book;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

const LINES_MOST: usize = 600;

/// Words that have no place in the tree, taken apart so that this file passes.
const BANNED: [(&str, &str); 7] = [
    ("TO", "DO"),
    ("FIX", "ME"),
    ("XX", "X:"),
    ("HA", "CK"),
    ("#[al", "low("),
    ("/ho", "me/"),
    ("lorem ", "ipsum"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All text files of the repository, by their paths from the root.
fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            let name = entry.file_name().to_string_lossy().into_owned();
            if ["target", ".git", "bench-out"].contains(&name.as_str()) {
                continue;
            }
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

fn ends(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|e| endings.contains(&e.to_string_lossy().as_ref()))
}

#[test]
fn source_files_are_short() {
    let mut long = Vec::new();
    for path in files().into_iter().filter(|path| ends(path, &["rs"])) {
        let lines = std::fs::read_to_string(root().join(&path)).unwrap().lines().count();
        if lines >= LINES_MOST {
            long.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn no_banned_words() {
    let mut found = Vec::new();
    for path in files().into_iter().filter(|path| ends(path, &["rs", "md", "toml", "sh"])) {
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        for (number, line) in text.lines().enumerate() {
            for (head, tail) in BANNED {
                if line.contains(&format!("{head}{tail}")) {
                    found.push(format!("{}:{}: {line}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_source_file_says_what_it_is() {
    let is_source = |path: &PathBuf| ends(path, &["rs"]) && !path.ends_with("tests.rs");
    let silent: Vec<String> = files()
        .into_iter()
        .filter(is_source)
        .filter(|path| {
            let text = std::fs::read_to_string(root().join(path)).unwrap();
            !text.starts_with("//!") && !path.to_string_lossy().contains("/tests/")
        })
        .map(|path| path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "no module comment: {silent:?}");
}

/// What `tradewind COMMAND… --help` prints.
fn help(commands: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tradewind"));
    let help = program.args(commands).arg("--help").output().unwrap();
    String::from_utf8(help.stdout).unwrap()
}

/// The commands that the help of a command lists.
fn commands(of: &[&str]) -> Vec<String> {
    let text = help(of);
    let heads = ["Commands:", "Live market:", "Planning and simulation:"];
    text.lines()
        .skip_while(|line| !heads.contains(line))
        .take_while(|line| *line != "Options:")
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_has_a_page_with_its_options() {
    let all = commands(&[]);
    assert!(all.len() >= 7, "{all:?}");
    let index = std::fs::read_to_string(root().join("docs/index.md")).unwrap();
    for command in all {
        let page = format!("docs/reference/{command}.md");
        let text = std::fs::read_to_string(root().join(&page)).expect(&page);
        assert!(
            index.contains(&format!("(reference/{command}.md)")),
            "{command} is not in docs/index.md"
        );
        let mut named = options(&[&command]);
        for below in commands(&[&command]) {
            named.extend(options(&[&command, &below]));
            named.push(format!("`{below}`"));
        }
        for option in named {
            assert!(text.contains(&option), "{page} does not name {option}");
        }
    }
}

/// The long options of a command, without those of every command.
fn options(of: &[&str]) -> Vec<String> {
    let text = help(of);
    let common = ["--format", "--quiet", "--verbose", "--help", "--version"];
    let option = |line: &str| {
        let start = line.trim_start();
        let at = start.starts_with('-').then(|| start.find("--")).flatten()?;
        let name = start[at..].split([' ', ',', '<', '=', '[', '.']).next()?;
        (!common.contains(&name)).then(|| name.to_owned())
    };
    text.lines().take_while(|line| *line != "Examples:").filter_map(option).collect()
}

/// A row after a blank line is no row: a table is rows without a gap, and its second one the rule.
#[test]
fn tables_have_no_gaps() {
    let is_row = |line: &str| line.starts_with('|');
    let mut torn = Vec::new();
    for path in files().into_iter().filter(|path| ends(path, &["md"])) {
        let text = std::fs::read_to_string(root().join(&path)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let begins = is_row(line) && (at == 0 || !is_row(lines[at - 1]));
            if begins && !lines.get(at + 1).is_some_and(|next| next.starts_with("|-")) {
                torn.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert!(torn.is_empty(), "no table begins at {}", torn.join(", "));
}
