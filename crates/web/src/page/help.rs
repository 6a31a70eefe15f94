//! Help: the terms of the glossary, as the documentation has them, and the keys.

use std::sync::OnceLock;

use askama::Template;
use axum::extract::State;

use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;

/// The documentation's own page.
const GLOSSARY: &str = include_str!("../../../../docs/glossary.md");
/// Parts of the glossary that readers of pages need.
const PARTS: [&str; 4] = ["Jobs", "Sites and nodes", "Money", "The live market"];

/// A term with its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    part: &'static str,
    name: String,
    meaning: String,
}

#[derive(Template)]
#[template(path = "page/help.html")]
struct Help {
    shell: Shell,
    terms: &'static [Term],
}

impl Help {
    fn parts() -> [&'static str; 4] {
        PARTS
    }
}

pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> PageResult {
    static TERMS: OnceLock<Vec<Term>> = OnceLock::new();
    let shell = Shell::new(&context, &caller, "Help").await?;
    page(&Help { shell, terms: TERMS.get_or_init(|| terms(GLOSSARY)) })
}

/// The terms of a glossary in Markdown: tables under headings, a term in the first column and its
/// meaning in the second.
fn terms(text: &str) -> Vec<Term> {
    let mut part = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            part = PARTS.into_iter().find(|it| *it == title);
        }
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(part), Some(name), Some(meaning)) = (part, cells.next(), cells.next()) else {
            continue;
        };
        if let Some((_, name)) = name.split_once("</a>") {
            found.push(Term { part, name: plain(name), meaning: plain(meaning) });
        }
    }
    found
}

/// Without the marks of Markdown: emphasis, code and targets of links.
fn plain(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, behind)) = rest.split_once("](") {
        out.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    out.push_str(rest);
    out.replace(['`', '*', '['], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_from_the_glossary() {
        let found = terms(GLOSSARY);
        for part in PARTS {
            assert!(found.iter().any(|it| it.part == part), "{part} has no terms");
        }
        let pool = found.iter().find(|it| it.name == "pool").unwrap();
        assert!(pool.meaning.starts_with("The nodes of one site that are alike"), "{pool:?}");
        let marks = |it: &&Term| it.meaning.contains(['[', '`', '<']) || it.meaning.is_empty();
        assert_eq!(found.iter().find(marks), None);
        assert_eq!(plain("a [link](to#it) of *two* `kinds`"), "a link of two kinds");
    }
}
