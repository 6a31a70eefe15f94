//! The documentation is a book: every page is in its contents, and every link leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::{commands, ends, files, help, root};

/// Headings that a page's table of contents holds on one screen.
const HEADINGS: usize = 25;
/// Written by `tradewind reproduce`: a heading for each study.
const TABLES: &str = "docs/explanation/reproduction.md";

fn read(page: &Path) -> String {
    std::fs::read_to_string(root().join(page)).unwrap()
}

/// All Markdown files, with paths from the root.
fn pages() -> Vec<PathBuf> {
    files().into_iter().filter(|path| ends(path, &["md"])).collect()
}

/// The lines outside fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn headings(text: &str) -> Vec<&str> {
    let heading =
        |line: &&str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    prose(text).filter(heading).map(|line| line.trim_start_matches('#').trim()).collect()
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let text = heading.split("](").next().unwrap_or_default();
    text.to_lowercase().chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a page: of its headings, numbered where they repeat, and those set by hand.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times = BTreeMap::new();
    let mut found = BTreeSet::new();
    for heading in headings(text) {
        let slug = slug(heading);
        let seen: &mut usize = times.entry(slug.clone()).or_default();
        found.insert(if *seen == 0 { slug } else { format!("{slug}-{seen}") });
        *seen += 1;
    }
    let by_hand = text.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    found.extend(by_hand.map(str::to_owned));
    found
}

/// `a/b/../c` as `a/c`.
fn tidy_path(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => (),
            other => path.push(other),
        }
        path
    })
}

/// The targets of a page's links, as written.
fn links(text: &str) -> Vec<String> {
    let lines: Vec<&str> = prose(text).collect();
    let text = lines.join("\n");
    let targets = text.split("](").skip(1).filter_map(|part| part.split(')').next());
    targets.filter(|target| !target.starts_with("http")).map(str::to_owned).collect()
}

/// What is wrong with a link of a page, if anything.
fn broken(page: &Path, link: &str) -> Option<String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => page.to_owned(),
        file => tidy_path(&page.parent()?.join(file)),
    };
    if !root().join(&target).exists() {
        return Some(format!("{}: there is no file {link}", page.display()));
    }
    let missing = !anchor.is_empty() && !anchors(&read(&target)).contains(anchor);
    missing.then(|| format!("{}: there is no anchor {link}", page.display()))
}

#[test]
fn every_link_and_anchor_exists() {
    let wrong: Vec<String> = pages()
        .iter()
        .flat_map(|page| links(&read(page)).into_iter().filter_map(|link| broken(page, &link)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_summary_once() {
    let mut listed = links(&read(Path::new("docs/SUMMARY.md")));
    // Headings without a page of their own.
    listed.retain(|link| !link.is_empty());
    listed.sort();
    let own = |path: PathBuf| path.strip_prefix("docs").ok().map(|path| path.display().to_string());
    let mut all: Vec<String> = pages().into_iter().filter_map(own).collect();
    all.retain(|page| page != "SUMMARY.md");
    all.sort();
    assert_eq!(listed, all);
}

#[test]
fn tables_of_contents_fit_on_a_screen() {
    let long: Vec<String> = pages()
        .iter()
        .filter(|page| page.starts_with("docs") && !page.ends_with("SUMMARY.md"))
        .filter(|page| page.as_path() != Path::new(TABLES))
        .map(|page| (page, headings(&read(page)).len()))
        .filter(|(_, count)| *count > HEADINGS)
        .map(|(page, count)| format!("{}: {count} headings", page.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The terms of each table of the glossary, with their anchors.
fn terms(glossary: &str) -> Vec<Vec<(String, String)>> {
    let row = |line: &str| -> Option<(String, String)> {
        let (anchor, rest) = line.strip_prefix("| <a id=\"")?.split_once("\"></a>")?;
        Some((anchor.to_owned(), rest.split(" | ").next()?.to_owned()))
    };
    let tables = glossary.split("\n## ").skip(1);
    tables.map(|table| table.lines().filter_map(row).collect()).collect()
}

#[test]
fn the_glossary_is_sorted_and_names_each_term_once() {
    let tables = terms(&read(Path::new("docs/glossary.md")));
    let all: Vec<&(String, String)> = tables.iter().flatten().collect();
    assert!(all.len() > 90, "{}", all.len());
    for table in &tables {
        let names: Vec<String> = table.iter().map(|(_, term)| term.to_lowercase()).collect();
        assert!(names.is_sorted(), "{names:?}");
    }
    for at in [0, 1] {
        let of = |pair: &&(String, String)| if at == 0 { pair.0.clone() } else { pair.1.clone() };
        let distinct: BTreeSet<String> = all.iter().map(of).collect();
        assert_eq!(distinct.len(), all.len(), "an anchor or a term stands there twice");
    }
}

/// What a page between these lines has is the command's help.
const BEGIN: &str = "<!-- help: made by `HELP=overwrite cargo test -p tradewind --test tidy` -->\n";
const END: &str = "<!-- /help -->\n";

/// Sections of the help that are the same for many commands; `client.md` and `index.md` have them.
const COMMON: [&str; 2] = ["Market:", "Output:"];

/// The help of a command without sections that all have, as a block of code.
fn block(command: &str) -> String {
    let text = help(&[command]);
    let mut kept: Vec<&str> = Vec::new();
    let mut common = false;
    for line in text.lines() {
        if !line.is_empty() && !line.starts_with(' ') {
            common = COMMON.contains(&line);
        }
        if !common {
            kept.push(line.trim_end());
        }
    }
    format!("\n```\n{}\n```\n\n", kept.join("\n").trim_end())
}

#[test]
fn pages_made_of_the_help_have_it_as_it_is() {
    let mut made = 0;
    for command in commands(&[]) {
        let page = format!("docs/reference/{command}.md");
        let text = read(Path::new(&page));
        let Some((head, rest)) = text.split_once(BEGIN) else { continue };
        let (old, tail) = rest.split_once(END).expect(&page);
        let new = block(&command);
        made += 1;
        if std::env::var("HELP").is_ok_and(|value| value == "overwrite") {
            let whole = format!("{head}{BEGIN}{new}{END}{tail}");
            std::fs::write(root().join(&page), whole).unwrap();
        } else {
            assert_eq!(old, new, "{page}: run this test with HELP=overwrite, and commit the page");
        }
    }
    assert!(made >= 10, "{made}");
}
