//! What is printed.

use serde_json::json;
use tradewind_lab::report::{self, Report as Findings, StudyResult};
use tradewind_lab::{Parameter, Study, experiments};

use super::{files, studies};
use crate::exit::Failure;
use crate::options::Format;
use crate::output;
use crate::tables::{Column, Side, table};

/// What there is.
pub(super) fn list(format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::print(&list_table(studies()?)),
        Format::Json => output::json(&list_json(studies()?)),
        Format::Csv => {
            let row = |study: &Study| {
                [&study.id, &study.title, study.experiment.id].map(str::to_owned).to_vec()
            };
            let header = ["study", "title", "experiment"].map(str::to_owned).to_vec();
            let rows: Vec<_> = std::iter::once(header).chain(studies()?.iter().map(row)).collect();
            output::print(&output::csv(&rows)?)
        }
    }
}

fn list_table(studies: &'static [Study]) -> String {
    let columns = [("STUDY", Side::Left), ("EXPERIMENT", Side::Left), ("TITLE", Side::Left)];
    let row =
        |study: &Study| [&study.id, study.experiment.id, &study.title].map(str::to_owned).to_vec();
    let mut text = table(&columns, studies.iter().map(row).collect());
    let columns: [Column; 3] =
        [("PARAMETER", Side::Left), ("DEFAULT", Side::Right), ("MEANING", Side::Left)];
    for experiment in experiments(&studies.iter().collect::<Vec<_>>()) {
        let row = |parameter: &&Parameter| {
            let default = parameter.default().to_string();
            vec![parameter.name.to_owned(), default, parameter.meaning.to_owned()]
        };
        let rows = experiment.parameters.iter().map(row).collect();
        text.push_str(&format!("\n{}: {}\n", experiment.id, experiment.summary));
        text.push_str(&table(&columns, rows));
    }
    text
}

fn list_json(studies: &[Study]) -> serde_json::Value {
    let parameter = |parameter: &&Parameter| {
        json!({
            "name": parameter.name,
            "default": parameter.default().to_string(),
            "sweep": parameter.sweep().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "meaning": parameter.meaning,
            "stated": parameter.stated,
        })
    };
    let study = |study: &Study| {
        json!({
            "id": study.id,
            "title": study.title,
            "experiment": study.experiment.id,
            "logs": study.experiment.logs,
            "parameters": study.experiment.parameters.iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    json!({"studies": studies.iter().map(study).collect::<Vec<_>>()})
}

/// Prints the results in the chosen format.
pub(super) fn print(findings: &Findings, format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::print(&tables(findings)),
        Format::Json => output::json(&report::json(findings)),
        Format::Csv => output::print(&files::csv(findings)?),
    }
}

fn tables(findings: &Findings) -> String {
    let mut text = String::new();
    for result in &findings.results {
        study(&mut text, result);
    }
    for sensitivity in &findings.sensitivity {
        text.push_str(&format!("Sensitivity of {} (quick size)\n", sensitivity.experiment.id));
        let columns =
            [("CHANGED", Side::Left), ("WITHIN 5 %", Side::Right), ("MOST MOVED", Side::Left)];
        append(&mut text, &columns, report::sensitivity_table(sensitivity));
        text.push('\n');
    }
    text.push_str(&report::summary(findings).join("\n"));
    text.push('\n');
    text
}

fn study(text: &mut String, StudyResult { study, findings, .. }: &StudyResult) {
    text.push_str(&format!("{}: {}\n", study.id, study.title));
    let numbers: [Column; 5] = [
        ("NUMBER", Side::Left),
        ("PUBLISHED", Side::Right),
        ("MEASURED", Side::Right),
        ("RATIO", Side::Right),
        ("VERDICT", Side::Left),
    ];
    let gains: [Column; 5] = [
        ("BEYOND THE PAPER", Side::Left),
        ("MEASURE", Side::Left),
        ("PAPER'S", Side::Right),
        ("OURS", Side::Right),
        ("RATIO", Side::Right),
    ];
    let claims = [("CLAIM", Side::Left), ("SEEN", Side::Left), ("VERDICT", Side::Left)];
    append(text, &numbers, findings.numbers.iter().map(report::number_cells));
    append(text, &claims, findings.claims.iter().map(report::claim_cells));
    append(text, &gains, findings.gains.iter().map(report::gain_cells));
    for reason in report::reasons(findings) {
        text.push_str(&format!("  {reason}\n"));
    }
    text.push('\n');
}

/// A table, unless it has no rows.
fn append<const N: usize>(
    text: &mut String,
    columns: &[Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
) {
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.to_vec()).collect();
    if !rows.is_empty() {
        text.push_str(&table(columns, rows));
    }
}
