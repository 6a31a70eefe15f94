//! Words that may not come back, with what to write instead: one vocabulary, in plain technical
//! English. `docs/glossary.md` has the terms.

use std::path::{Path, PathBuf};

use crate::{ends, files, root};

/// What is checked: files, and folders. Of Markdown the text is checked, of sources the comments,
/// the sentences in string literals and the names of tests, of templates the text of the page.
const CHECKED: [&str; 22] = [
    "docs",
    "README.md",
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "crates/campaign",
    "crates/cli",
    "crates/daemon",
    "crates/io",
    "crates/lab/src",
    "crates/lab/tests",
    "crates/model",
    "crates/postgres",
    "crates/python",
    "crates/reference",
    "crates/sched",
    "crates/sim",
    "crates/swf",
    "crates/web",
    "examples",
];

/// Below those, what is not checked yet.
const UNCHECKED: [&str; 4] = [
    "crates/cli/tests/words",
    "crates/daemon/src/site/gridengine",
    "crates/daemon/src/site/managed",
    "crates/daemon/src/site/slurm",
];

/// Written by programs, with messages of the program in it.
const GENERATED: [&str; 1] = ["docs/explanation/reproduction.md"];

/// A file that may have a phrase, for what follows.
const EXCEPTIONS: [(&str, &str, &str); 3] = [
    ("crates/lab/src/papers/metascheduling/parameters.rs", "the least", "quotes a paper"),
    ("crates/lab/tests/double_auction.rs", "the least", "quotes a paper"),
    ("crates/cli/tests/slurm/wrong.rs", "handed in", "messages of a folder that is not checked"),
];

/// A phrase, and what to write instead. Phrases match whole words, in any case.
const FORBIDDEN: [(&str, &str); 64] = [
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
    ("starts at last", "is never starved"),
    ("someone", "a user, a person, a program"),
    ("anyone", "any user"),
    ("everyone", "all users"),
    ("what becomes of", "what happens to"),
    ("what became of", "what happened to"),
    ("told apart", "distinguished"),
    ("who decides", "the policy"),
    ("hears of", "learns of, gets"),
    ("hear of", "learn of, get"),
    ("heard of", "learned of, got"),
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

/// The sentences among the string literals of a line: what is between quotes and has a space.
fn sentences(line: &str) -> String {
    let line = line.replace("'\"'", " ").replace("\\\"", " ");
    let strings = line.split('"').skip(1).step_by(2);
    strings.filter(|text| text.contains(' ')).collect::<Vec<_>>().join(" … ")
}

/// What a page shows of a line of a template: all but tags and what is computed.
fn shown(line: &str) -> String {
    let mut text = line.to_owned();
    for (open, close) in [("{%", "%}"), ("{{", "}}"), ("<", ">")] {
        while let Some(start) = text.find(open) {
            let end = text[start..].find(close).map_or(text.len(), |at| start + at + close.len());
            text.replace_range(start..end, " ");
        }
    }
    text
}

/// The lines of Markdown outside fenced code.
fn of_page(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence {
            found.push((at + 1, unquoted(line)));
        }
    }
    found
}

/// The comments, sentences and names of tests in a source.
fn of_source(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_test = false;
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let is_comment = ["//", "/*", "* "].iter().any(|mark| start.starts_with(mark));
        let text = match (is_comment, start.strip_prefix("fn ")) {
            (true, _) => unquoted(line),
            (false, Some(name)) if is_test => {
                name.split('(').next().unwrap_or("").replace('_', " ")
            }
            (false, _) => unquoted(&sentences(line)),
        };
        is_test = start.starts_with("#[test]") || start.starts_with("#[tokio::test");
        found.push((at + 1, text));
    }
    found
}

/// The lines of a file that are language, in lower case.
fn language(path: &Path, text: &str) -> Vec<(usize, String)> {
    match path.extension().map(|ending| ending.to_string_lossy()).as_deref() {
        Some("md") => of_page(text),
        Some("html") => {
            text.lines().enumerate().map(|(at, line)| (at + 1, unquoted(&shown(line)))).collect()
        }
        _ => of_source(text),
    }
}

fn is_checked(path: &PathBuf) -> bool {
    let is_below = |folder: &&str| path.starts_with(folder);
    ends(path, &["md", "rs", "html", "js"])
        && CHECKED.iter().any(&is_below)
        && !UNCHECKED.iter().any(is_below)
        && !GENERATED.iter().any(|generated| path == Path::new(generated))
}

fn is_excepted(path: &Path, phrase: &str) -> bool {
    EXCEPTIONS.iter().any(|(file, needed, _)| path == Path::new(file) && *needed == phrase)
}

#[test]
fn no_forbidden_words() {
    let mut found = Vec::new();
    for path in files().iter().filter(|path| is_checked(path)) {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        for (number, line) in language(path, &text) {
            for (phrase, instead) in FORBIDDEN {
                if has(&line, phrase) && !is_excepted(path, phrase) {
                    found.push(format!("{}:{number}: {phrase} → {instead}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn hits(path: &Path, text: &str) -> Vec<usize> {
    let is_hit = |line: &str| FORBIDDEN.iter().any(|(phrase, _)| has(line, phrase));
    let all = language(path, text).into_iter();
    all.filter(|(_, line)| is_hit(line)).map(|(number, _)| number).collect()
}

#[test]
fn forbidden_words_are_found_where_they_are_language() {
    let page = Path::new("page.md");
    let text = "Nobody waits.\n```\nnobody\n```\n`nobody` [x](anew.md)\nbe anew-ish\n";
    assert_eq!(hits(page, text), [1]);
    let source = "let nobody = 1; // fine\n// Nobody.\nf(\"nobody\", \"nobody waits\");\n\
                  #[test]\nfn nobody_waits() {\nfn nobody_else() {";
    assert_eq!(hits(Path::new("x.rs"), source), [2, 3, 5]);
    let template = "<p class=\"nobody\">{{ nobody }} waits</p>\n<p>nobody waits</p>";
    assert_eq!(hits(Path::new("x.html"), template), [2]);
}
