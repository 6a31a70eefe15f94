//! One page of Markdown, with the figures beside it.

use super::words::{self, RULE};
use super::{Report, Sensitivity, StudyResult};
use crate::case::Parameter;
use crate::experiment::Experiment;

/// The page; `figures` is the folder of the figures from the page's own on: `ID.svg` in it.
pub fn markdown(report: &Report, figures: &str) -> String {
    let mut page = String::from("# The papers' numbers, measured again\n\n");
    for line in words::introduction(report) {
        page.push_str(&format!("{line}\n\n"));
    }
    page.push_str(&format!("To repeat it: `{}`.\n\n", report.command));
    page.push_str(&bullets(&words::summary(report)));
    page.push_str("\n| verdict | when |\n|---|---|\n");
    for (verdict, when) in RULE {
        page.push_str(&row(&[&format!("`{verdict}`"), when]));
    }
    page.push_str("\nMeasured numbers are means with half of their 95 % interval. A claim is `reproduced` if it holds, `trend` if it holds in the main.\n");
    for result in &report.results {
        study(&mut page, result, figures);
    }
    page.push_str(
        "\n# Assumptions\n\nWhat the papers leave open, and how far the numbers hang on it.\n",
    );
    for experiment in experiments(report) {
        assumptions(&mut page, report, experiment);
    }
    page
}

/// Those with parameters, each once, in the order of the results.
pub(super) fn experiments(report: &Report) -> Vec<&'static Experiment> {
    let studies: Vec<_> = report.results.iter().map(|result| result.study).collect();
    let all = crate::data::experiments(&studies).into_iter();
    all.filter(|experiment| !experiment.parameters.is_empty()).collect()
}

fn study(page: &mut String, result: &StudyResult, figures: &str) {
    let (study, findings) = (result.study, &result.findings);
    page.push_str(&format!("\n## {}\n\n{}.\n", study.id, study.title));
    if findings.figure.is_some() {
        page.push_str(&format!("\n![{}]({figures}/{}.svg)\n", study.title, study.id));
    }
    if !findings.numbers.is_empty() {
        page.push_str("\n| number | where | published | measured | ratio | verdict |\n");
        page.push_str("|---|---|---:|---:|---:|---|\n");
        for number in &findings.numbers {
            let [name, published, measured, ratio, verdict] = words::number_cells(number);
            let place = &number.published.place;
            page.push_str(&row(&[&name, place, &published, &measured, &ratio, &verdict]));
        }
    }
    if !findings.claims.is_empty() {
        page.push_str("\n| claim | seen | verdict |\n|---|---|---|\n");
        for claim in &findings.claims {
            let cells = words::claim_cells(claim);
            page.push_str(&row(&cells.each_ref().map(String::as_str)));
        }
    }
    if !findings.gains.is_empty() {
        page.push_str("\n| beyond the paper | measure | paper's | ours | ratio |\n");
        page.push_str("|---|---|---:|---:|---:|\n");
        for gain in &findings.gains {
            let cells = words::gain_cells(gain);
            page.push_str(&row(&cells.each_ref().map(String::as_str)));
        }
    }
    let reasons = words::reasons(findings);
    if !reasons.is_empty() {
        page.push_str(&format!("\n{}", bullets(&reasons)));
    }
}

fn assumptions(page: &mut String, report: &Report, experiment: &Experiment) {
    page.push_str(&format!("\n## `{}`\n\nEach part {}.\n", experiment.id, experiment.summary));
    let mine = report.results.iter().find(|result| result.study.experiment.id == experiment.id);
    let value = |parameter: &Parameter| {
        mine.map_or(parameter.default(), |result| result.case.value(parameter)).to_string()
    };
    page.push_str("\n| parameter | here | meaning | the paper says |\n|---|---:|---|---|\n");
    for parameter in experiment.parameters {
        let stated = words::stated(experiment, parameter);
        let (name, here) = (format!("`{}`", parameter.name), value(parameter));
        page.push_str(&row(&[&name, &here, parameter.meaning, &stated]));
    }
    let swept = report.sensitivity.iter().find(|swept| swept.experiment.id == experiment.id);
    if let Some(swept) = swept {
        sensitivity(page, swept);
    }
}

fn sensitivity(page: &mut String, swept: &Sensitivity) {
    page.push_str("\nAt quick size, one value after the other:\n");
    page.push_str("\n| changed | within 5 % of published | most moved |\n|---|---:|---|\n");
    for cells in words::sensitivity_table(swept) {
        page.push_str(&row(&cells.each_ref().map(String::as_str)));
    }
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn bullets(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}
