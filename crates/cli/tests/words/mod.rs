//! Words that may not come back, with what to write instead: one vocabulary, in plain technical
//! English. `docs/glossary.md` has the terms.

use std::path::{Path, PathBuf};

use crate::{ends, files, root};

/// What is checked: files, and folders. Of Markdown the text is checked, of sources the comments,
/// the sentences in string literals and the names of tests, of templates the text of the page.
const CHECKED: [&str; 18] = [
    "docs",
    "README.md",
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "crates/cli",
    "crates/daemon",
    "crates/io",
    "crates/lab/src",
    "crates/lab/tests",
    "crates/model",
    "crates/reference",
    "crates/sched",
    "crates/sim",
    "crates/web",
    "examples",
];

/// Below those, what is not checked yet.
const UNCHECKED: [&str; 7] = [
    "crates/daemon/src/live",
    "crates/daemon/src/site/gridengine",
    "crates/daemon/src/site/managed",
    "crates/daemon/src/site/slurm",
    "crates/sched/src/policy/gridfill",
    "crates/sched/src/policy/local",
    "crates/sim/src/federation",
];

/// Written by programs, with messages of the program in it.
const GENERATED: [&str; 1] = ["docs/explanation/reproduction.md"];

/// A file that may have a phrase, for what follows.
const EXCEPTIONS: [(&str, &str, &str); 0] = [];

/// A phrase, and what to write instead. Phrases match whole words, in any case.
const FORBIDDEN: [(&str, &str); 53] = [
    ("nobody", "no user, no site, none"),
    ("somebody", "a user, a person, a program"),
    ("anybody", "any user"),
    ("everybody", "all users"),
    ("whoever", "a user who, a job that"),
    ("whomever", "the user whom"),
    ("anew", "again"),
    ("lately", "recently"),
    ("hand in", "submit"),
    ("hands in", "submits"),
    ("handed in", "submitted"),
    ("handing in", "submitting"),
    ("let go", "release"),
    ("lets go", "releases"),
    ("letting go", "releasing"),
    ("to be had", "available"),
    ("be had", "be available"),
    ("slip", "time out at the start barrier"),
    ("slips", "start barrier timeouts"),
    ("slipped", "timed out at the start barrier"),
    ("closed door", "without access"),
    ("of their own accord", "without a request"),
    ("rooms of their own", "a cache of their own"),
    ("room of its own", "a cache of its own"),
    ("letter themselves", "draw their own text"),
    ("lives in", "is in"),
    ("live in", "are in"),
    ("lives at", "is at"),
    ("gone on with", "resumed"),
    ("outlive", "exceed the estimate"),
    ("outlives", "exceeds its estimate"),
    ("outlived", "exceeded"),
    ("in vain", "without result"),
    ("come in", "get access"),
    ("comes in", "gets access, arrives"),
    ("let in", "admit"),
    ("lets in", "admits"),
    ("keeps out", "excludes"),
    ("keep out", "exclude"),
    ("made-up", "generated"),
    ("the least", "the minimum, the lowest, the smallest"),
    ("is told", "is notified, reads"),
    ("are told", "are notified, read"),
    ("tells of", "reports"),
    ("mended", "corrected, repaired"),
    ("closure", "outage"),
    ("closures", "outages"),
    ("dearer", "more expensive"),
    ("dearest", "most expensive"),
    ("handed over", "passed on, submitted"),
    ("rivals", "baselines, other policies"),
    ("schedule for themselves", "are autonomous"),
    ("start at last", "are never starved"),
];

/// A line without what is quoted from programs: code between back-ticks, targets of links, URLs.
fn unquoted(line: &str) -> String {
    let prose: Vec<&str> = line.split('`').step_by(2).collect();
    let joined = prose.join(" ");
    let mut parts = joined.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push(' ');
        text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    text.to_lowercase()
}

/// Whether the text has the phrase as whole words.
fn has(text: &str, phrase: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-');
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !inside(before) && !inside(after)
    })
}

/// The lines of a file that are language: of Markdown those outside fenced code, of sources the
/// comments.
fn language(path: &Path, text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let fence = start.starts_with("```");
        fenced ^= fence;
        let counts = match ends(path, &["md"]) {
            true => !fenced && !fence,
            false => start.starts_with("//"),
        };
        if counts {
            found.push((at + 1, unquoted(line)));
        }
    }
    found
}

fn is_checked(path: &PathBuf) -> bool {
    ends(path, &["md", "rs"])
        && CHECKED.iter().any(|checked| path.starts_with(checked))
        && !GENERATED.iter().any(|generated| path == Path::new(generated))
}

#[test]
fn no_forbidden_words() {
    let mut found = Vec::new();
    for path in files().iter().filter(|path| is_checked(path)) {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        for (number, line) in language(path, &text) {
            for (phrase, instead) in FORBIDDEN {
                if has(&line, phrase) {
                    found.push(format!("{}:{number}: {phrase} → {instead}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn forbidden_words_are_found_where_they_are_language() {
    let page = Path::new("page.md");
    let text = "Nobody waits.\n```\nnobody\n```\n`nobody` [x](anew.md)\nbe anew-ish\n";
    let hits: Vec<usize> = language(page, text)
        .iter()
        .filter(|(_, line)| FORBIDDEN.iter().any(|(phrase, _)| has(line, phrase)))
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(hits, [1]);
    let source = language(Path::new("x.rs"), "let nobody = 1; // fine\n// Nobody.\n");
    assert_eq!(source.len(), 1);
    assert!(has(&source[0].1, "nobody"));
}
