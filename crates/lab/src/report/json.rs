//! The document for programs.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Report, Sensitivity, StudyResult};
use crate::findings::{Claim, Gain, Number};
use crate::tally::Estimate;

/// `{"seed", "studies": [{"id", "numbers", "claims", …}], …}`.
pub fn json(report: &Report) -> Value {
    json!({
        "seed": report.seed,
        "command": report.command,
        "version": report.version,
        "size": report.size.name(),
        "studies": report.results.iter().map(study).collect::<Vec<_>>(),
        "sensitivity": report.sensitivity.iter().map(sensitivity).collect::<Vec<_>>(),
    })
}

fn study(result: &StudyResult) -> Value {
    let (study, findings) = (result.study, &result.findings);
    let parameters = study.experiment.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "value": result.case.value(parameter).to_string(),
            "default": parameter.default().to_string(),
            "meaning": parameter.meaning,
            "stated": parameter.stated,
        })
    });
    json!({
        "id": study.id,
        "title": study.title,
        "numbers": findings.numbers.iter().map(NumberDoc::new).collect::<Vec<_>>(),
        "claims": findings.claims.iter().map(ClaimDoc::new).collect::<Vec<_>>(),
        "gains": findings.gains.iter().map(gain).collect::<Vec<_>>(),
        "notes": findings.notes,
        "experiment": study.experiment.id,
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

#[derive(Serialize)]
struct NumberDoc<'a> {
    name: &'a str,
    published: f64,
    measured: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    ratio: Option<f64>,
    verdict: &'a str,
    /// `measured` and `clock` are evidence, all else is none.
    evidence: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    chose: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    unit: &'a str,
    place: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    erratum: Option<&'a str>,
}

impl<'a> NumberDoc<'a> {
    fn new(number: &'a Number) -> NumberDoc<'a> {
        let (of, measured) = (number.published, &number.measured);
        NumberDoc {
            name: &of.name,
            published: of.value,
            measured: finite(measured.mean),
            low: finite(measured.low),
            high: finite(measured.high),
            ratio: finite(number.ratio()),
            verdict: number.verdict.name(),
            evidence: of.kind.name(),
            chose: &of.chose,
            why: number.why.as_deref(),
            unit: &of.unit,
            place: &of.place,
            erratum: of.erratum.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ClaimDoc<'a> {
    text: &'a str,
    verdict: &'a str,
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    measured: &'a str,
}

impl<'a> ClaimDoc<'a> {
    fn new(claim: &'a Claim) -> ClaimDoc<'a> {
        let (why, measured) = (claim.why.as_deref(), claim.measured.as_str());
        let (verdict, evidence) = (claim.verdict.name(), claim.kind.name());
        ClaimDoc { text: claim.text, verdict, evidence, why, measured }
    }
}

fn gain(gain: &Gain) -> Value {
    json!({
        "name": gain.name,
        "measure": gain.measure,
        "paper": estimate(&gain.paper),
        "ours": estimate(&gain.ours),
        "ratio": estimate(&gain.ratio),
    })
}

fn estimate(of: &Estimate) -> Value {
    json!({"mean": finite(of.mean), "low": finite(of.low), "high": finite(of.high)})
}

fn sensitivity(of: &Sensitivity) -> Value {
    let row = |row: &super::Swept| {
        let numbers = row.numbers.iter().map(|number| {
            json!({
                "name": number.published.name,
                "measured": finite(number.measured.mean),
                "low": finite(number.measured.low),
                "high": finite(number.measured.high),
                "verdict": number.verdict.name(),
            })
        });
        json!({
            "parameter": row.changed.map(|(parameter, _)| parameter.name),
            "value": row.changed.map(|(_, value)| value.to_string()),
            "numbers": numbers.collect::<Vec<_>>(),
        })
    };
    json!({"experiment": of.experiment.id, "rows": of.rows.iter().map(row).collect::<Vec<_>>()})
}

/// JSON knows no infinities.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
