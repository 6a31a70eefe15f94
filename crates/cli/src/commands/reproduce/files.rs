//! The files of a reproduction.

use std::path::Path;

use tradewind_lab::report::{
    CSV_HEADER, Report as Findings, SENSITIVITY_HEADER, html, json, markdown, rows,
    sensitivity_rows,
};

use super::super::simulate::store::make;
use crate::exit::{Exit, Failure};
use crate::output;

/// The document with all results, which says what made it.
const RESULTS: &str = "reproduction.json";

/// The folder of the figures, beside the pages.
const FIGURES: &str = "reproduction";

/// Finished results of another command or version are not overwritten.
pub(super) fn check(out: &Path, command: &str) -> Result<(), Failure> {
    let path = out.join(RESULTS);
    let Ok(text) = std::fs::read(&path) else { return Ok(()) };
    let there: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    if there["command"] == command && there["version"] == env!("CARGO_PKG_VERSION") {
        return Ok(());
    }
    let whose = there["command"].as_str().unwrap_or("another command");
    let message = format!("`{}` holds the results of `{whose}`", path.display());
    Err(Failure::usage(message).hint("use another folder, or `--force` to overwrite it"))
}

/// Writes everything into the folder `out`.
pub(super) fn write(out: &Path, findings: &Findings) -> Result<(), Failure> {
    let file = |name: &str, text: &str| output::write_file(&out.join(name), text.as_bytes());
    file(RESULTS, &format!("{:#}\n", json(findings)))?;
    file("reproduction.csv", &csv(findings)?)?;
    if !findings.sensitivity.is_empty() {
        let rows = sensitivity_rows(&findings.sensitivity);
        file("sensitivity.csv", &table(&SENSITIVITY_HEADER, rows)?)?;
    }
    file("reproduction.md", &markdown(findings, FIGURES))?;
    file("reproduction.html", &html(findings))?;
    make(&out.join(FIGURES))?;
    for result in &findings.results {
        let Some(figure) = &result.findings.figure else { continue };
        let id = &result.study.id;
        file(&format!("{FIGURES}/{id}.svg"), &figure.svg())?;
        let png = figure.png().map_err(|error| Failure {
            exit: Exit::Bug,
            ..Failure::data(format!("the figure of `{id}`: {error}"))
        })?;
        output::write_file(&out.join(FIGURES).join(format!("{id}.png")), &png)?;
    }
    Ok(())
}

/// What `--format csv` prints.
pub(super) fn csv(findings: &Findings) -> Result<String, Failure> {
    table(&CSV_HEADER, rows(findings))
}

fn table(header: &[&str], rows: Vec<Vec<String>>) -> Result<String, Failure> {
    let header = header.iter().map(|&name| name.to_owned()).collect();
    output::csv(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
}
