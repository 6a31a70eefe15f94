//! One page that needs nothing from elsewhere.

use askama::Template;
use tradewind_io::report::data_address;

use super::markdown::experiments;
use super::words::{self, RULE};
use super::{Report, StudyResult};
use crate::experiment::Experiment;

/// The page as HTML. All text is escaped; figures are inside. The same report gives the same
/// bytes.
pub fn html(report: &Report) -> String {
    let page = Page {
        style: include_str!("style.css"),
        introduction: words::introduction(report),
        summary: words::summary(report),
        rule: &RULE,
        studies: report.results.iter().map(StudyView::new).collect(),
        experiments: experiments(report).into_iter().map(|it| View::new(report, it)).collect(),
        version: &report.version,
        command: &report.command,
    };
    // Writing to memory fails only where a value cannot be written; text always can.
    page.render().unwrap_or_default() + "\n"
}

#[derive(Template)]
#[template(path = "report/page.html")]
struct Page<'a> {
    style: &'static str,
    introduction: Vec<String>,
    summary: Vec<String>,
    rule: &'a [(&'static str, &'static str)],
    studies: Vec<StudyView<'a>>,
    experiments: Vec<View<'a>>,
    version: &'a str,
    command: &'a str,
}

struct StudyView<'a> {
    result: &'a StudyResult,
    /// The figure as an address; empty if there is none.
    figure: String,
    numbers: Vec<NumberView>,
    claims: Vec<[String; 3]>,
    gains: Vec<[String; 5]>,
    reasons: Vec<String>,
}

struct NumberView {
    place: &'static str,
    cells: [String; 5],
}

struct View<'a> {
    of: &'a Experiment,
    /// Name, value here, meaning, what the paper says.
    parameters: Vec<[String; 4]>,
    sensitivity: Vec<[String; 3]>,
}

impl<'a> StudyView<'a> {
    fn new(result: &'a StudyResult) -> StudyView<'a> {
        let findings = &result.findings;
        let number = |number: &crate::Number| NumberView {
            place: &number.published.place,
            cells: words::number_cells(number),
        };
        let figure = findings.figure.as_ref().map(|figure| data_address(&figure.svg()));
        StudyView {
            result,
            figure: figure.unwrap_or_default(),
            numbers: findings.numbers.iter().map(number).collect(),
            claims: findings.claims.iter().map(words::claim_cells).collect(),
            gains: findings.gains.iter().map(words::gain_cells).collect(),
            reasons: words::reasons(findings),
        }
    }
}

impl<'a> View<'a> {
    fn new(report: &Report, of: &'a Experiment) -> View<'a> {
        let mine = report.results.iter().find(|result| result.study.experiment.id == of.id);
        let parameter = |parameter: &&crate::Parameter| {
            let value = mine.map_or(parameter.default(), |result| result.case.value(parameter));
            let stated = words::stated(of, parameter);
            [parameter.name, &value.to_string(), parameter.meaning, &stated].map(str::to_owned)
        };
        let swept = report.sensitivity.iter().find(|swept| swept.experiment.id == of.id);
        View {
            of,
            parameters: of.parameters.iter().map(parameter).collect(),
            sensitivity: swept.map(words::sensitivity_table).unwrap_or_default(),
        }
    }
}
