//! The pages say of the papers' claims and numbers what the reproduction says, and its headline
//! counts what its tables have.
#![expect(clippy::disallowed_methods, reason = "pages are files")]
#![expect(clippy::expect_used, reason = "a test without its pages has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tradewind_lab::studies;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
const REPRODUCTION: &str = "explanation/reproduction.md";

fn read(path: &Path) -> String {
    let name = path.display().to_string();
    std::fs::read_to_string(path).expect(&name)
}

fn reproduction() -> String {
    read(&Path::new(DOCS).join(REPRODUCTION))
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{1}");
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// Rows of all tables of a page whose header begins with `head`.
fn rows(page: &str, head: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        inside = line.starts_with('|') && (inside || line.starts_with(head));
        if inside && !line.starts_with(head) && !line.starts_with("|---") {
            rows.push(cells(line));
        }
    }
    rows
}

/// A study's part of the reproduction.
fn section(page: &str, id: &str) -> String {
    let head = format!("\n## {id}\n");
    let (_, rest) = page.split_once(&head).expect(&head);
    rest.split("\n## ").next().unwrap_or(rest).to_owned()
}

/// By study and text: the verdicts of claims, and the measured values and verdicts of numbers.
fn said() -> BTreeMap<(String, String), (String, String)> {
    let page = reproduction();
    let mut said = BTreeMap::new();
    for study in studies().expect("files of data that can be read") {
        let section = section(&page, &study.id);
        for row in rows(&section, "| claim |") {
            said.insert((study.id.clone(), row[0].clone()), (String::new(), row[2].clone()));
        }
        for row in rows(&section, "| number |") {
            said.insert((study.id.clone(), row[0].clone()), (row[3].clone(), row[5].clone()));
        }
    }
    said
}

fn pages() -> Vec<PathBuf> {
    let mut pages = vec![Path::new(DOCS).join("../README.md")];
    for folder in ["explanation", "reference", "tutorials", "how-to"] {
        let files = std::fs::read_dir(Path::new(DOCS).join(folder)).expect(folder);
        pages.extend(files.map(|file| file.expect(folder).path()));
    }
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages.retain(|path| !path.ends_with(REPRODUCTION));
    pages
}

/// The study that a cell links to: `[003-text](reproduction.md#003-text)`.
fn linked(cell: &str) -> String {
    cell.trim_start_matches('[').split(']').next().unwrap_or_default().to_owned()
}

#[test]
fn every_page_gives_the_verdict_of_the_reproduction() {
    let said = said();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for path in pages() {
        let (page, name) = (read(&path), path.display().to_string());
        for row in rows(&page, "| claim of the paper |") {
            let (text, study, verdict) = (&row[0], linked(&row[1]), &row[2]);
            let wanted = said.get(&(study.clone(), text.clone()));
            let wanted = wanted.map(|(_, verdict)| verdict);
            assert_eq!(wanted, Some(verdict), "{name}: {study}: {text}");
            *found.entry(study[..3].to_owned()).or_default() += 1;
        }
        for row in rows(&page, "| number of the paper |") {
            let (text, study, measured, verdict) = (&row[0], linked(&row[1]), &row[3], &row[4]);
            let wanted = said.get(&(study.clone(), text.clone()));
            let both = (measured.clone(), verdict.clone());
            assert_eq!(wanted, Some(&both), "{name}: {study}: {text}");
        }
        // Another table of claims would be one that nothing compares.
        let others = rows(&page, "| claim |");
        assert!(others.is_empty(), "{name}: a table of claims without their studies");
    }
    for paper in ["003", "004"] {
        assert!(found.get(paper).is_some_and(|count| *count >= 5), "{paper}: {found:?}");
    }
}

#[test]
fn the_headline_counts_the_tables_and_only_evidence() {
    let page = reproduction();
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for study in studies().expect("files of data that can be read") {
        let section = section(&page, &study.id);
        for (noun, head, verdict) in [("numbers", "| number |", 5), ("claims", "| claim |", 2)] {
            for row in rows(&section, head) {
                let plain = !row[verdict].contains('(') && row[verdict] != "fitted";
                *counts.entry((noun, plain)).or_default() += 1;
            }
        }
    }
    for noun in ["numbers", "claims"] {
        let line = format!("- {} {noun} that are evidence: ", counts[&(noun, true)]);
        assert!(page.contains(&line), "{line}");
        let line = format!("- {} {noun} that are no evidence: ", counts[&(noun, false)]);
        assert!(page.contains(&line), "{line}");
    }
}

#[test]
fn what_parameters_were_chosen_by_is_fitted_on_the_page() {
    let page = reproduction();
    for study in studies().expect("files of data that can be read") {
        let section = section(&page, &study.id);
        for parameter in study.experiment.parameters {
            for name in study.chosen_by(parameter.name) {
                let row = section.lines().find(|line| line.starts_with(&format!("| {name} |")));
                let row = row.expect(name);
                assert!(row.ends_with("| fitted |"), "{}: {row}", study.id);
                assert!(section.contains(&format!("`{}`", parameter.name)), "{name}");
            }
        }
    }
}

/// The numbered parts of the papers: letters before the number, and the last number.
const PARTS: [(&str, &[(&str, u32)]); 5] = [
    ("000", &[("Algorithm", 2), ("Table", 3), ("Figure", 9), ("", 9)]),
    ("001", &[("Figure", 6), ("", 3)]),
    ("002", &[("Figure", 16)]),
    ("003", &[("Algorithm", 1), ("Table", 1), ("Figure", 7), ("", 27)]),
    ("004", &[("Table", 1), ("Figure", 11), ("", 14)]),
];

/// What a cell names: `Figures 2–3` is Figure 2 and Figure 3, `(3)–(7)` are equations.
fn named(cell: &str) -> Vec<(String, u32)> {
    let kind: String = cell.chars().take_while(char::is_ascii_alphabetic).collect();
    let kind = kind.trim_end_matches('s').to_owned();
    let number = |text: &str| -> Option<u32> {
        match text.trim_matches(['(', ')', ' ']) {
            "I" => Some(1),
            digits => digits.parse().ok(),
        }
    };
    let rest = cell.trim_start_matches(|it: char| it.is_ascii_alphabetic());
    let mut ends = rest.split('\u{2013}').map(number);
    match (ends.next().flatten(), ends.next().flatten()) {
        (Some(first), last) => {
            (first..=last.unwrap_or(first)).map(|it| (kind.clone(), it)).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn the_index_has_every_numbered_part_of_the_papers_once() {
    let page = read(&Path::new(DOCS).join("explanation/paper-index.md"));
    let mut listed: BTreeMap<(String, String, u32), usize> = BTreeMap::new();
    for row in rows(&page, "| paper | part |") {
        let states = ["implemented", "corrected", "study", "drawing"];
        assert!(states.contains(&row[3].as_str()), "{row:?}");
        assert!(row[3] != "study" || row[4].contains("](reproduction.md#"), "{row:?}");
        for (kind, number) in named(&row[1]) {
            *listed.entry((row[0].clone(), kind, number)).or_default() += 1;
        }
    }
    for (paper, kinds) in PARTS {
        for (kind, last) in kinds {
            for number in 1..=*last {
                let key = (paper.to_owned(), (*kind).to_owned(), number);
                assert_eq!(listed.remove(&key), Some(1), "{key:?}");
            }
        }
    }
    listed.retain(|(_, kind, _), _| kind != "Section");
    assert!(listed.is_empty(), "the papers have no {listed:?}");
}
