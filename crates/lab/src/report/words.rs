//! Cells and sentences that the terminal and the pages share.

use std::collections::{BTreeMap, BTreeSet};

use super::numbers::{estimate, grouped, measured, published, ratio};
use super::{Report, Sensitivity, Swept};
use crate::case::{Case, Parameter};
use crate::experiment::Experiment;
use crate::findings::{Claim, Evidence, Findings, Gain, Number};
use crate::verdict::Verdict;

/// Name, published, measured, ratio, verdict.
pub fn number_cells(number: &Number) -> [String; 5] {
    [
        number.published.name.clone(),
        published(number.published),
        measured(number),
        ratio(number),
        verdict(number.verdict, number.published.kind),
    ]
}

/// What is claimed, what was seen, verdict.
pub fn claim_cells(claim: &Claim) -> [String; 3] {
    [claim.text.to_owned(), claim.measured.clone(), verdict(claim.verdict, claim.kind)]
}

/// The verdict, and in brackets why it does not count.
fn verdict(verdict: Verdict, kind: Evidence) -> String {
    match kind.remark() {
        "" => verdict.name().to_owned(),
        remark => format!("{} ({remark})", verdict.name()),
    }
}

/// Name, measure, the paper's, ours, and the ratio.
pub fn gain_cells(gain: &Gain) -> [String; 5] {
    let places = if gain.paper.mean.abs() < 10.0 { 3 } else { 2 };
    [
        gain.name.clone(),
        gain.measure.clone(),
        grouped(gain.paper.mean, places),
        grouped(gain.ours.mean, places),
        estimate(&gain.ratio, 4),
    ]
}

/// Misprints, why numbers and claims are not reproduced, and notes: a sentence or two each. What
/// has one cause stands together.
pub fn reasons(findings: &Findings) -> Vec<String> {
    let mut all = Vec::new();
    for number in &findings.numbers {
        let name = &number.published.name;
        let erratum = number.published.erratum.as_ref();
        all.extend(erratum.map(|text| format!("Erratum: {name}. {text}")));
    }
    let mut causes: Vec<(&str, Vec<&str>)> = Vec::new();
    let numbers =
        findings.numbers.iter().map(|number| (number.published.name.as_str(), &number.why));
    let claims = findings.claims.iter().map(|claim| (claim.text, &claim.why));
    for (name, why) in numbers.chain(claims) {
        let Some(why) = why else { continue };
        match causes.iter_mut().find(|(cause, _)| cause == why) {
            Some((_, names)) => names.push(name),
            None => causes.push((why, vec![name])),
        }
    }
    all.extend(causes.iter().map(|(cause, names)| format!("Why: {}. {cause}", names.join("; "))));
    all.extend(findings.notes.iter().cloned());
    all
}

/// What the paper says of a parameter, and by which results it was chosen.
pub(super) fn stated(experiment: &Experiment, parameter: &Parameter) -> String {
    let stated = parameter.stated.unwrap_or("not stated");
    let mine = crate::data::studies().unwrap_or_default().iter();
    let mine = mine.filter(|study| study.experiment.id == experiment.id);
    let mut names: Vec<&str> = mine.flat_map(|study| study.chosen_by(parameter.name)).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    match names.as_slice() {
        [] => stated.to_owned(),
        names => format!("{stated}; chosen by: {}", names.join("; ")),
    }
}

/// A row per change: what was changed, how many numbers are within 5 % of the published ones,
/// which number moved most from ours, and which claims have another verdict.
pub fn sensitivity_table(of: &Sensitivity) -> Vec<[String; 3]> {
    let Some(ours) = of.rows.first() else { return Vec::new() };
    let row = |swept: &Swept| {
        let near = match swept.numbers.len() {
            0 => String::new(),
            all => format!("{} of {all}", swept.near()),
        };
        let moved = match (swept.changed, swept.furthest(ours)) {
            (Some(_), Some((_, part))) if part.abs() < 0.000_5 => "nothing".to_owned(),
            (Some(_), Some((number, part))) => {
                let sign = if part > 0.0 { "+" } else { "" };
                format!("{}: {sign}{} %", number.published.name, grouped(100.0 * part, 1))
            }
            _ => String::new(),
        };
        let turned = swept
            .turned(ours)
            .into_iter()
            .map(|(text, from, to)| format!("\"{text}\" is {} (was {})", to.name(), from.name()));
        let moved = Some(moved).filter(|moved| !moved.is_empty());
        let moved = moved.into_iter().chain(turned).collect::<Vec<String>>().join("; ");
        [swept.name(), near, moved]
    };
    of.rows.iter().map(row).collect()
}

/// `46 numbers that are evidence: 30 reproduced, 2 trend`, the same of claims, and what is no
/// evidence.
pub fn summary(report: &Report) -> Vec<String> {
    let counts = report.counts();
    let line = |noun: &str, of: fn(&(Verdict, usize, usize)) -> usize| {
        let some = counts.iter().filter(|count| of(count) > 0);
        let words: Vec<String> =
            some.map(|count| format!("{} {}", of(count), count.0.name())).collect();
        let all: usize = counts.iter().map(of).sum();
        (all > 0).then(|| format!("{all} {noun} that are evidence: {}", words.join(", ")))
    };
    let mut lines: Vec<String> =
        [line("numbers", |count| count.1), line("claims", |count| count.2)]
            .into_iter()
            .flatten()
            .collect();
    let others = report.others();
    let other = |noun: &str, of: fn(&(Evidence, usize, usize)) -> usize| {
        let some = others.iter().filter(|count| of(count) > 0);
        let words: Vec<String> =
            some.map(|count| format!("{} {}", of(count), not_counted(count.0))).collect();
        let all: usize = others.iter().map(of).sum();
        (all > 0).then(|| format!("{all} {noun} that are no evidence: {}", words.join(", ")))
    };
    lines.extend(
        [other("numbers", |count| count.1), other("claims", |count| count.2)].into_iter().flatten(),
    );
    lines
}

/// What it is instead of evidence.
fn not_counted(kind: Evidence) -> &'static str {
    match kind {
        Evidence::Fitted => "fitted",
        Evidence::Count => "counts of a log",
        Evidence::Input => "inputs",
        Evidence::Derived => "computed from others",
        Evidence::Repeated => "that stand elsewhere",
        Evidence::Ours => "of ours",
        Evidence::Measured | Evidence::Clock => "",
    }
}

/// What a reader of a page should know first.
pub(super) fn introduction(report: &Report) -> Vec<String> {
    let settings = report.settings.iter().map(|(name, value)| format!("{name} = {value}"));
    let settings: Vec<String> = settings.collect();
    let mut lines = vec![format!(
        "Tradewind {}, seed {}, {} size.",
        report.version,
        report.seed,
        report.size.name()
    )];
    if !settings.is_empty() {
        lines.push(format!("Set other than by default: {}.", settings.join(", ")));
    }
    lines.extend(logs(report));
    lines
}

/// Which logs were replayed, and which would have been.
fn logs(report: &Report) -> Vec<String> {
    let cases = || report.results.iter().map(|result| &result.case);
    let there: BTreeMap<&str, &str> = cases().flat_map(Case::logs).collect();
    let wanted = report.results.iter().flat_map(|result| result.study.experiment.logs);
    let missing: BTreeSet<&str> =
        wanted.copied().filter(|name| !there.contains_key(name)).collect();
    let listed: Vec<String> =
        there.iter().map(|(name, sha256)| format!("{name} (SHA-256 {sha256})")).collect();
    let missing: Vec<&str> = missing.into_iter().collect();
    let mut lines = Vec::new();
    if !listed.is_empty() {
        lines
            .push(format!("Logs of the Parallel Workloads Archive in DIR: {}.", listed.join(", ")));
    }
    if !missing.is_empty() {
        lines.push(format!(
            "Not there, so that nothing is known of what they are replayed for: {}; `--logs DIR` \
             says where they are.",
            missing.join(", ")
        ));
    }
    lines
}

/// The rule behind the verdicts, a line each.
pub(super) const RULE: [(&str, &str); 6] = [
    ("reproduced", "within 5 % of the published number, with an interval of at most ± 5 % of it"),
    (
        "fitted",
        "a parameter was chosen by the number, or an example built to meet it: it proves nothing",
    ),
    ("trend", "same sign and within a factor of two; wall-clock times are never more than this"),
    ("inconclusive", "the 95 % interval is too wide to tell"),
    ("not reproduced", "anything else"),
    (
        "… (in brackets)",
        "no evidence, and not counted above: a count of the log, an input (drawn from what the paper states), derived (computed from other printed numbers; a total is no better than its factors), repeated (the same measured number or claim stands elsewhere), ours (no claim of the paper)",
    ),
];
