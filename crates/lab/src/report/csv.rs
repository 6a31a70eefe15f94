//! Rows for spreadsheets: numbers as they are, one line per result.

use super::{Report, Sensitivity};
use crate::findings::{Claim, Gain, Number};
use crate::tally::Estimate;

/// The columns of [`rows`].
pub const HEADER: [&str; 14] = [
    "study",
    "kind",
    "name",
    "place",
    "unit",
    "published",
    "measured",
    "low",
    "high",
    "ratio",
    "verdict",
    "why",
    "note",
    "evidence",
];

/// A row per number, claim and gain. Of a gain, `published` is what the paper's algorithm gives
/// in our run.
pub fn rows(report: &Report) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for result in &report.results {
        let id = &result.study.id;
        rows.extend(result.findings.numbers.iter().map(|one| number(id, one)));
        rows.extend(result.findings.claims.iter().map(|one| claim(id, one)));
        rows.extend(result.findings.gains.iter().map(|one| gain(id, one)));
    }
    rows
}

fn number(study: &str, number: &Number) -> Vec<String> {
    let of = number.published;
    let mut row = texts([study, "number", &of.name, &of.place, &of.unit]);
    row.push(of.value.to_string());
    row.extend(estimate(&number.measured));
    row.push(float(number.ratio()));
    row.push(number.verdict.name().to_owned());
    row.push(number.why.clone().unwrap_or_default());
    row.push(of.erratum.clone().unwrap_or_default());
    row.push(of.kind.name().to_owned());
    row
}

fn claim(study: &str, claim: &Claim) -> Vec<String> {
    let mut row = texts([study, "claim", claim.text, "", "", "", "", "", "", ""]);
    row.push(claim.verdict.name().to_owned());
    row.push(claim.why.clone().unwrap_or_default());
    row.push(claim.measured.clone());
    row.push(claim.kind.name().to_owned());
    row
}

fn gain(study: &str, gain: &Gain) -> Vec<String> {
    let mut row = texts([study, "gain", &gain.name, &gain.measure, ""]);
    row.push(float(gain.paper.mean));
    row.extend(estimate(&gain.ours));
    row.push(float(gain.ratio.mean));
    row.extend(texts(["", "", "", ""]));
    row
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn estimate(of: &Estimate) -> [String; 3] {
    [of.mean, of.low, of.high].map(float)
}

/// Empty for what is no number.
fn float(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// The columns of [`sensitivity_rows`].
pub const SENSITIVITY_HEADER: [&str; 9] =
    ["experiment", "parameter", "value", "name", "published", "measured", "low", "high", "verdict"];

/// A row per number and value of a parameter.
pub fn sensitivity_rows(of: &[Sensitivity]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for sensitivity in of {
        for swept in &sensitivity.rows {
            let (parameter, value) = match swept.changed {
                Some((parameter, value)) => (parameter.name, value.to_string()),
                None => ("", String::new()),
            };
            for number in &swept.numbers {
                let name = &number.published.name;
                let mut row = texts([sensitivity.experiment.id, parameter, &value, name]);
                row.push(number.published.value.to_string());
                row.extend(estimate(&number.measured));
                row.push(number.verdict.name().to_owned());
                rows.push(row);
            }
        }
    }
    rows
}
