//! What was found, as JSON, CSV and pages.

mod csv;
mod html;
mod json;
mod markdown;
mod numbers;
mod words;

use crate::case::{Case, Parameter, Size, Value};
use crate::data::Study;
use crate::experiment::Experiment;
use crate::findings::{Evidence, Findings, Published};
use crate::tally::Estimate;
use crate::verdict::Verdict;

pub use csv::{HEADER as CSV_HEADER, SENSITIVITY_HEADER, rows, sensitivity_rows};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use words::{claim_cells, gain_cells, number_cells, reasons, sensitivity_table, summary};

/// Some studies, run.
#[derive(Debug, Clone)]
pub struct Report {
    /// Version of the program.
    pub version: String,
    /// The command that repeats it.
    pub command: String,
    /// Of all studies.
    pub seed: u64,
    /// How much was run.
    pub size: Size,
    /// What was set other than by default: names and values.
    pub settings: Vec<(String, String)>,
    /// In the order in which they were asked for.
    pub results: Vec<StudyResult>,
    /// How the numbers move with the parameters; empty unless that was asked for.
    pub sensitivity: Vec<Sensitivity>,
}

/// A study with what it found.
#[derive(Debug, Clone)]
pub struct StudyResult {
    /// The study that was run.
    pub study: &'static Study,
    /// What it was run with.
    pub case: Case,
    /// The outcome.
    pub findings: Findings,
}

/// An experiment at quick size with one parameter after the other at other values than ours.
#[derive(Debug, Clone)]
pub struct Sensitivity {
    /// The experiment whose parameters vary.
    pub experiment: &'static Experiment,
    /// The first is ours.
    pub rows: Vec<Swept>,
}

/// One row of it.
#[derive(Debug, Clone)]
pub struct Swept {
    /// What was changed, and to what; `None`: nothing.
    pub changed: Option<(&'static Parameter, Value)>,
    /// Every published number of the experiment's studies once.
    pub numbers: Vec<SweptNumber>,
    /// Every claim of the experiment's studies.
    pub claims: Vec<(&'static str, Verdict)>,
}

/// A number of it.
#[derive(Debug, Clone, Copy)]
pub struct SweptNumber {
    /// What the paper prints.
    pub published: &'static Published,
    /// What the run gave.
    pub measured: Estimate,
    /// How well they agree.
    pub verdict: Verdict,
}

impl Report {
    /// How many numbers and how many claims that are evidence have each verdict, best first.
    pub fn counts(&self) -> Vec<(Verdict, usize, usize)> {
        let numbers = |verdict| self.numbers().filter(|it| *it == (verdict, true)).count();
        let claims = |verdict| self.claims().filter(|it| *it == (verdict, true)).count();
        Verdict::ALL.map(|verdict| (verdict, numbers(verdict), claims(verdict))).to_vec()
    }

    /// How many numbers and how many claims are no evidence, by why they are none.
    pub fn others(&self) -> Vec<(Evidence, usize, usize)> {
        let findings = || self.results.iter().map(|result| &result.findings);
        let numbers =
            |kind| findings().flat_map(|f| &f.numbers).filter(move |it| it.published.kind == kind);
        let claims = |kind| findings().flat_map(|f| &f.claims).filter(move |it| it.kind == kind);
        let others = Evidence::ALL.into_iter().filter(|kind| !kind.is_evidence());
        others.map(|kind| (kind, numbers(kind).count(), claims(kind).count())).collect()
    }

    fn numbers(&self) -> impl Iterator<Item = (Verdict, bool)> {
        let numbers = self.results.iter().flat_map(|result| &result.findings.numbers);
        numbers.map(|number| (number.verdict, number.published.kind.is_evidence()))
    }

    fn claims(&self) -> impl Iterator<Item = (Verdict, bool)> {
        let claims = self.results.iter().flat_map(|result| &result.findings.claims);
        claims.map(|claim| (claim.verdict, claim.kind.is_evidence()))
    }
}

impl Sensitivity {
    /// The row of `changed` from what `results` of the experiment's studies say.
    pub fn row(changed: Option<(&'static Parameter, Value)>, results: &[Findings]) -> Swept {
        let mut numbers: Vec<SweptNumber> = Vec::new();
        for number in results.iter().flat_map(|findings| &findings.numbers) {
            if numbers.iter().all(|known| known.published.name != number.published.name) {
                let (published, measured) = (number.published, number.measured);
                numbers.push(SweptNumber { published, measured, verdict: number.verdict });
            }
        }
        let claims = results.iter().flat_map(|findings| &findings.claims);
        let claims = claims.map(|claim| (claim.text, claim.verdict)).collect();
        Swept { changed, numbers, claims }
    }
}

impl Swept {
    /// `rho=0.8`, or `as it is`.
    pub fn name(&self) -> String {
        match self.changed {
            Some((parameter, value)) => format!("{}={value}", parameter.name),
            None => "as it is".to_owned(),
        }
    }

    /// How many numbers are within 5 % of what was published, whatever their intervals.
    pub fn near(&self) -> usize {
        self.numbers.iter().filter(|number| number.distance() <= crate::verdict::TOLERANCE).count()
    }

    /// The number that moved furthest from `other`, and by what part.
    pub fn furthest(&self, other: &Swept) -> Option<(&SweptNumber, f64)> {
        let moved = |(ours, theirs): (&SweptNumber, &SweptNumber)| {
            ours.measured.mean / theirs.measured.mean - 1.0
        };
        let pairs = self.numbers.iter().zip(&other.numbers);
        let moves = pairs.map(|pair| (pair.0, moved(pair))).filter(|pair| pair.1.is_finite());
        moves.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
    }

    /// The claims that have another verdict than in `other`, with both: theirs, then ours.
    pub fn turned(&self, other: &Swept) -> Vec<(&'static str, Verdict, Verdict)> {
        let pairs = self.claims.iter().zip(&other.claims);
        let turned = pairs.filter(|((text, ours), (same, theirs))| text == same && ours != theirs);
        turned.map(|((text, ours), (_, theirs))| (*text, *theirs, *ours)).collect()
    }
}

impl SweptNumber {
    fn distance(&self) -> f64 {
        (self.measured.mean / self.published.value - 1.0).abs()
    }
}
