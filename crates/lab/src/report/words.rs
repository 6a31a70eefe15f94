//! Cells and sentences that the terminal and the pages share.

use super::numbers::{estimate, grouped};
use super::{Sensitivity, Swept};
use crate::findings::{Findings, Gain};

/// Name, measure, the paper's, ours, and the ratio.
pub fn gain_cells(gain: &Gain) -> [String; 5] {
    let places = if gain.paper.mean.abs() < 10.0 { 3 } else { 2 };
    [
        gain.name.to_owned(),
        gain.measure.to_owned(),
        grouped(gain.paper.mean, places),
        grouped(gain.ours.mean, places),
        estimate(&gain.ratio, 3),
    ]
}

/// Why numbers and claims are not reproduced, misprints, and notes: a sentence each.
pub fn reasons(findings: &Findings) -> Vec<String> {
    let mut all = Vec::new();
    for number in &findings.numbers {
        let name = number.published.name;
        all.extend(number.published.erratum.map(|text| format!("misprint: {name}: {text}")));
        all.extend(number.why.as_ref().map(|why| format!("why: {name}: {why}")));
    }
    for claim in &findings.claims {
        all.extend(claim.why.as_ref().map(|why| format!("why: {}: {why}", claim.text)));
    }
    all.extend(findings.notes.iter().map(|note| format!("note: {note}")));
    all
}

/// A row per change: what was changed, how many numbers are within 5 % of the published ones,
/// and which number moved most from ours.
pub fn sensitivity_table(of: &Sensitivity) -> Vec<[String; 3]> {
    let Some(ours) = of.rows.first() else { return Vec::new() };
    let row = |swept: &Swept| {
        let near = format!("{} of {}", swept.near(), swept.numbers.len());
        let moved = match (swept.changed, swept.furthest(ours)) {
            (Some(_), Some((number, part))) => {
                format!("{}: {}{} %", number.published.name, sign(part), grouped(100.0 * part, 1))
            }
            _ => String::new(),
        };
        [swept.name(), near, moved]
    };
    of.rows.iter().map(row).collect()
}

fn sign(value: f64) -> &'static str {
    if value > 0.0 { "+" } else { "" }
}
