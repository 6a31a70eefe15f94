//! What is printed.

use serde_json::json;
use tradewind_lab::report::{self, Report as Findings, StudyResult};
use tradewind_lab::{Parameter, Study, Verdict, experiments, studies};

use super::files;
use crate::cli::Format;
use crate::exit::Failure;
use crate::output;
use crate::tables::{Column, Side, table};

/// What there is.
pub(super) fn list(format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::print(&list_table()),
        Format::Json => output::json(&list_json()),
        Format::Csv => {
            let row = |study: &Study| {
                [study.id, study.title, study.experiment.id].map(str::to_owned).to_vec()
            };
            let header = ["study", "title", "experiment"].map(str::to_owned).to_vec();
            let rows: Vec<_> = std::iter::once(header).chain(studies().map(row)).collect();
            output::print(&output::csv(&rows)?)
        }
    }
}

fn list_table() -> String {
    let columns = [("STUDY", Side::Left), ("EXPERIMENT", Side::Left), ("TITLE", Side::Left)];
    let row =
        |study: &Study| [study.id, study.experiment.id, study.title].map(str::to_owned).to_vec();
    let mut text = table(&columns, studies().map(row).collect());
    let columns: [Column; 3] =
        [("PARAMETER", Side::Left), ("DEFAULT", Side::Right), ("MEANING", Side::Left)];
    for experiment in experiments(&studies().collect::<Vec<_>>()) {
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

fn list_json() -> serde_json::Value {
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
    json!({"studies": studies().map(study).collect::<Vec<_>>()})
}

/// The results.
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
        let rows = report::sensitivity_table(sensitivity);
        text.push_str(&table(&columns, rows.into_iter().map(|row| row.to_vec()).collect()));
        text.push('\n');
    }
    text.push_str(&counts(findings));
    text
}

fn study(text: &mut String, StudyResult { study, findings, .. }: &StudyResult) {
    text.push_str(&format!("{}: {}\n", study.id, study.title));
    if !findings.numbers.is_empty() {
        let columns: [Column; 5] = [
            ("NUMBER", Side::Left),
            ("PUBLISHED", Side::Right),
            ("MEASURED", Side::Right),
            ("RATIO", Side::Right),
            ("VERDICT", Side::Left),
        ];
        let row = |number: &tradewind_lab::Number| {
            vec![
                number.published.name.to_owned(),
                report::published(number.published),
                report::measured(number),
                report::ratio(number),
                number.verdict.name().to_owned(),
            ]
        };
        text.push_str(&table(&columns, findings.numbers.iter().map(row).collect()));
    }
    if !findings.claims.is_empty() {
        let columns = [("CLAIM", Side::Left), ("SEEN", Side::Left), ("VERDICT", Side::Left)];
        let row = |claim: &tradewind_lab::Claim| {
            vec![claim.text.to_owned(), claim.measured.clone(), claim.verdict.name().to_owned()]
        };
        text.push_str(&table(&columns, findings.claims.iter().map(row).collect()));
    }
    if !findings.gains.is_empty() {
        let columns: [Column; 5] = [
            ("BEYOND THE PAPER", Side::Left),
            ("MEASURE", Side::Left),
            ("PAPER'S", Side::Right),
            ("OURS", Side::Right),
            ("RATIO", Side::Right),
        ];
        let rows = findings.gains.iter().map(|gain| report::gain_cells(gain).to_vec()).collect();
        text.push_str(&table(&columns, rows));
    }
    for note in report::reasons(findings) {
        text.push_str(&format!("  {note}\n"));
    }
    text.push('\n');
}

/// One line: how many numbers and claims have which verdict.
fn counts(findings: &Findings) -> String {
    let counts = findings.counts();
    let part = |of: fn(&(Verdict, usize, usize)) -> usize| {
        let some = counts.iter().filter(|count| of(count) > 0);
        let words: Vec<String> =
            some.map(|count| format!("{} {}", of(count), count.0.name())).collect();
        let all: usize = counts.iter().map(of).sum();
        (all, words.join(", "))
    };
    let (numbers, of_numbers) = part(|count| count.1);
    let (claims, of_claims) = part(|count| count.2);
    let mut text = format!("{numbers} numbers: {of_numbers}\n");
    if claims > 0 {
        text.push_str(&format!("{claims} claims: {of_claims}\n"));
    }
    text
}
