//! The files of data: all of them can be read and worked out, and they say what
//! `docs/explanation/reproduction.md` says.
#![expect(clippy::disallowed_methods, reason = "the page is a file")]
#![expect(clippy::expect_used, reason = "a test without its data has failed")]

use tradewind_lab::report::{claim_cells, gain_cells, number_cells};
use tradewind_lab::{Case, Findings, Size, Study, Tally, studies};

fn all() -> &'static [Study] {
    studies().expect("files of data that can be read")
}

/// What the study says where next to nothing was counted: only that its log is there.
fn of_nothing(study: &'static Study, size: Size, logs: &[&str]) -> Findings {
    let mut tally = Tally::default();
    logs.iter().for_each(|series| tally.add(series, 1.0));
    let case = Case::new(study.experiment, 1, size);
    study.findings(&case, &tally).expect("formulas that can be worked out")
}

/// What experiments count if their log is there.
const LOGS: [&str; 4] = ["dam/all", "widest", "log/hybrid/response", "logs"];

#[test]
fn all_formulas_can_be_worked_out() {
    for study in all() {
        for (size, logs) in [(Size::Quick, &LOGS[..]), (Size::Full, &LOGS[..]), (Size::Full, &[])] {
            let findings = of_nothing(study, size, logs);
            assert!(!findings.notes.iter().any(String::is_empty), "{}", study.id);
        }
    }
}

/// A study's part of the page.
fn section<'a>(page: &'a str, study: &Study) -> &'a str {
    let head = format!("\n## {}\n\n{}.\n", study.id, study.title);
    let (_, rest) = page.split_once(&head).expect(&head);
    rest.split("\n## ").next().unwrap_or(rest)
}

/// Rows of the first table that begins with `head`, without its rule.
fn rows<'a>(section: &'a str, head: &str) -> Vec<&'a str> {
    let lines = section.lines().skip_while(|line| !line.starts_with(head));
    lines.skip(2).take_while(|line| line.starts_with('|')).collect()
}

/// Row by row: the first cells that do not depend on the run.
#[track_caller]
fn same(study: &Study, rows: &[&str], wanted: &[Vec<String>]) {
    assert_eq!(rows.len(), wanted.len(), "{}", study.id);
    for (row, cells) in rows.iter().zip(wanted) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let begin = format!("| {} |", cells.join(" | "));
        assert!(row.starts_with(&begin), "{}: {begin} is not {row}", study.id);
    }
}

#[test]
fn the_page_has_been_made_of_these_data() {
    const PAGE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/reproduction.md");
    let page = std::fs::read_to_string(PAGE).expect(PAGE);
    for study in all() {
        let (findings, section) = (of_nothing(study, Size::Full, &LOGS), section(&page, study));
        let numbers = findings.numbers.iter().map(|number| {
            let [name, published, ..] = number_cells(number);
            vec![name, number.published.place.clone(), published]
        });
        same(study, &rows(section, "| number |"), &numbers.collect::<Vec<_>>());
        let claims = findings.claims.iter().map(|claim| claim_cells(claim)[..1].to_vec());
        same(study, &rows(section, "| claim |"), &claims.collect::<Vec<_>>());
        let gains = findings.gains.iter().map(|gain| gain_cells(gain)[..2].to_vec());
        same(study, &rows(section, "| beyond the paper |"), &gains.collect::<Vec<_>>());
        for number in &findings.numbers {
            let erratum = number.published.erratum.iter();
            for text in
                erratum.map(|text| format!("- Erratum: {}. {text}\n", number.published.name))
            {
                assert!(section.contains(&text), "{}: {text}", study.id);
            }
        }
        assert_eq!(findings.figure.is_some(), section.contains("\n!["), "{}", study.id);
    }
}
