//! What a study says: numbers, claims, gains and a figure.

use serde::Deserialize;
use tradewind_io::chart::{self, Chart, Picture, PngError};

use crate::data::Formula;
use crate::tally::Estimate;
use crate::verdict::{Ceiling, Verdict, judge};

/// A number that a paper prints.
#[derive(Debug, Clone)]
pub struct Published {
    /// What it is, in a few words.
    pub name: String,
    /// Value as printed in the paper.
    pub value: f64,
    /// Digits after the point, as printed.
    pub decimals: u8,
    /// Its unit; empty for counts and ratios.
    pub unit: String,
    /// Where it stands: `figure 4 (a)`, `section 5`.
    pub place: String,
    /// The likely cause, for when it is not reproduced: one sentence.
    pub cause: String,
    /// What is misprinted there, if anything.
    pub erratum: Option<String>,
    /// How the run gives it.
    pub(crate) measured: Formula,
    /// What kind of proof it can be.
    pub kind: Evidence,
    /// The parameters that were chosen by it.
    pub chose: Vec<String>,
    /// The names of the printed numbers that it is the product of, as far as they are printed.
    pub(crate) product_of: Vec<String>,
}

/// What agreement with a published number proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// That it is reproduced.
    #[default]
    Measured,
    /// Nothing: it calibrated a parameter, which [`Published::chose`] names, or an example.
    Fitted,
    /// A trend at best: it is a wall-clock time.
    Clock,
    /// That the log is the paper's: it counts jobs of a log and depends on no algorithm.
    Count,
    /// That the set-up is the paper's: it is drawn from what the paper states.
    Input,
    /// Nothing more than the numbers that it is computed from.
    Derived,
    /// Nothing more than the same measured number elsewhere.
    Repeated,
    /// Nothing about a paper: it is a claim of ours.
    Ours,
}

impl Evidence {
    /// All of them.
    pub const ALL: [Evidence; 8] = [
        Evidence::Measured,
        Evidence::Clock,
        Evidence::Fitted,
        Evidence::Count,
        Evidence::Input,
        Evidence::Derived,
        Evidence::Repeated,
        Evidence::Ours,
    ];

    /// Whether agreement says anything about what the paper describes.
    pub fn is_evidence(self) -> bool {
        matches!(self, Evidence::Measured | Evidence::Clock)
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Measured => "measured",
            Evidence::Clock => "clock",
            Evidence::Fitted => "fitted",
            Evidence::Count => "count",
            Evidence::Input => "input",
            Evidence::Derived => "derived",
            Evidence::Repeated => "repeated",
            Evidence::Ours => "ours",
        }
    }

    /// Why it does not count, behind a verdict; nothing where it does, or the verdict says it.
    pub fn remark(self) -> &'static str {
        match self {
            Evidence::Measured | Evidence::Clock | Evidence::Fitted => "",
            Evidence::Count => "count of the log",
            Evidence::Input => "input",
            Evidence::Derived => "derived",
            Evidence::Repeated => "repeated",
            Evidence::Ours => "ours",
        }
    }
}

/// A published number beside a measured one.
#[derive(Debug, Clone)]
pub struct Number {
    /// What the paper prints.
    pub published: &'static Published,
    /// What the run gave.
    pub measured: Estimate,
    /// How well they agree.
    pub verdict: Verdict,
    /// The likely cause; always there unless it is reproduced.
    pub why: Option<String>,
}

impl Number {
    /// What the paper prints beside what was measured.
    pub(crate) fn new(published: &'static Published, measured: Estimate) -> Number {
        let slack = 0.5 * 0.1f64.powi(published.decimals.into());
        let judged = |ceiling| judge(published.value, slack, &measured, ceiling);
        let verdict = match published.kind {
            Evidence::Clock => judged(Ceiling::Trend),
            Evidence::Fitted => Verdict::Fitted,
            _ => judged(Ceiling::Open),
        };
        let wide = || {
            let (count, half) = (measured.count, measured.half_width());
            format!("Too few observations ({count}) to tell: the interval is ± {half:.2}.")
        };
        let why = match verdict {
            Verdict::Reproduced => None,
            Verdict::Inconclusive => Some(wide()),
            Verdict::Fitted => Some(fitted(&published.chose, &published.cause)),
            _ => Some(published.cause.clone()).filter(|cause| !cause.is_empty()),
        };
        Number { published, measured, verdict, why }
    }

    /// A product is no better than the worst of its printed factors: totals may agree because
    /// misfits cancel.
    pub(crate) fn limit_by(&mut self, others: &[Number]) {
        let is_factor = |other: &&Number| {
            let name = &other.published.name;
            self.published.product_of.contains(name) && other.verdict > self.verdict
        };
        let misfits: Vec<&Number> = others.iter().filter(is_factor).collect();
        let Some(worst) = misfits.iter().map(|other| other.verdict).max() else { return };
        let said = |of: &&Number| format!("{} is {:.3} of it", of.published.name, of.ratio());
        let said: Vec<String> = misfits.iter().map(said).collect();
        let why = "It is near the published number because misfits of its factors cancel";
        self.why = Some(format!("{why}: {}.", said.join(", ")));
        self.verdict = worst;
    }

    /// Measured over published; not finite for a published zero.
    pub fn ratio(&self) -> f64 {
        self.measured.mean / self.published.value
    }
}

/// What was chosen by something, and what else is to be said.
pub(crate) fn fitted(chose: &[String], cause: &str) -> String {
    let names: Vec<String> = chose.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => cause.to_owned(),
        [one] => format!("It chose the parameter {one}. {cause}").trim_end().to_owned(),
        all => format!("It chose the parameters {}. {cause}", all.join(", ")).trim_end().to_owned(),
    }
}

/// A sentence of a paper that can be true or not.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The sentence, in our words.
    pub text: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What kind of proof it can be.
    pub kind: Evidence,
    /// What was seen, with its numbers.
    pub measured: String,
    /// The likely cause; always there unless it holds.
    pub why: Option<String>,
}

impl Claim {
    /// Something is more than another in the mean: `difference` is above 0.
    pub fn positive(text: &'static str, difference: Estimate, measured: String) -> Claim {
        let verdict = match difference {
            Estimate { low, .. } if low > 0.0 => Verdict::Reproduced,
            Estimate { high, .. } if high <= 0.0 => Verdict::NotReproduced,
            _ => Verdict::Inconclusive,
        };
        Claim::new(text, verdict, measured)
    }

    /// Something holds in every single case; `trend` if in 95 % of them.
    pub fn always(text: &'static str, share: Estimate, measured: String) -> Claim {
        let verdict = match share.mean {
            1.0 => Verdict::Reproduced,
            0.95.. => Verdict::Trend,
            mean if mean.is_nan() => Verdict::Inconclusive,
            _ => Verdict::NotReproduced,
        };
        Claim::new(text, verdict, measured)
    }

    /// Something is more than another in each of several cases: all of these differences are above
    /// 0. It holds in the main if it surely does in most cases, and surely does not in one at most.
    pub fn everywhere(text: &'static str, cases: &[(String, Estimate)], measured: &str) -> Claim {
        let count = |of: fn(&Estimate) -> bool| cases.iter().filter(|case| of(&case.1)).count();
        let (holds, fails) = (count(|of| of.low > 0.0), count(|of| of.high <= 0.0));
        let verdict = if holds == cases.len() && holds > 0 {
            Verdict::Reproduced
        } else if 2 * holds > cases.len() && fails <= 1 {
            Verdict::Trend
        } else if fails == 0 {
            Verdict::Inconclusive
        } else {
            Verdict::NotReproduced
        };
        let open = cases.iter().filter(|case| case.1.low <= 0.0).map(|case| case.0.as_str());
        let open: Vec<&str> = open.collect();
        let measured = match open.len() {
            0 => measured.to_owned(),
            all if all == cases.len() => format!("{measured}; nowhere for sure"),
            _ => format!("{measured}; not, or not surely: {}", open.join(", ")),
        };
        Claim::new(text, verdict, measured)
    }

    /// There is no count to decide it.
    pub(crate) fn unknown(text: &'static str, measured: &str, why: Option<&str>) -> Claim {
        let claim = Claim::new(text, Verdict::Inconclusive, measured.to_owned());
        Claim { why: why.map(str::to_owned).or(claim.why), ..claim }
    }

    /// With a verdict of its own.
    pub fn new(text: &'static str, verdict: Verdict, measured: String) -> Claim {
        let why = match verdict {
            Verdict::Inconclusive => Some("Too few observations to tell.".to_owned()),
            _ => None,
        };
        Claim { text, verdict, kind: Evidence::Measured, measured, why }
    }

    /// As another kind of proof.
    #[must_use]
    pub(crate) fn of_kind(self, kind: Evidence) -> Claim {
        Claim { kind, ..self }
    }

    /// The likely cause, for when it does not hold.
    #[must_use]
    pub fn because(mut self, cause: &str) -> Claim {
        if matches!(self.verdict, Verdict::Trend | Verdict::NotReproduced | Verdict::Fitted) {
            self.why = Some(cause.to_owned());
        }
        self
    }
}

/// What ours gives beyond the paper's algorithm, on the same cases.
#[derive(Debug, Clone)]
pub struct Gain {
    /// What is put in place of what.
    pub name: String,
    /// What is counted, with its unit.
    pub measure: String,
    /// The paper's algorithm.
    pub paper: Estimate,
    /// Estimate from the runs here.
    pub ours: Estimate,
    /// Ours over the paper's, paired case by case.
    pub ratio: Estimate,
}

/// A picture like the paper's.
#[derive(Debug, Clone)]
pub enum Figure {
    /// Curves, bars or points.
    Picture(Box<Picture>),
    /// A plan, drawn as a chart.
    Plan(Box<Chart>),
}

impl Figure {
    /// As an SVG document.
    pub fn svg(&self) -> String {
        match self {
            Figure::Picture(picture) => picture.svg(),
            Figure::Plan(chart) => chart::svg(chart),
        }
    }

    /// As a PNG.
    ///
    /// # Errors
    /// [`PngError`], as of the picture.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        match self {
            Figure::Picture(picture) => picture.png(),
            Figure::Plan(plan) => chart::png(plan),
        }
    }
}

/// All that a study says.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Every number that the paper prints there.
    pub numbers: Vec<Number>,
    /// What it claims there.
    pub claims: Vec<Claim>,
    /// What ours adds.
    pub gains: Vec<Gain>,
    /// The figure, drawn again.
    pub figure: Option<Figure>,
    /// What a reader should know, a sentence each.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(intervals: &[(f64, f64)]) -> Verdict {
        let case = |&(low, high): &(f64, f64)| {
            let mean = f64::midpoint(low, high);
            (format!("{low}"), Estimate { mean, low, high, count: 9 })
        };
        let cases: Vec<(String, Estimate)> = intervals.iter().map(case).collect();
        Claim::everywhere("it is so", &cases, "seen").because("Why.").verdict
    }

    #[test]
    fn many_cases_make_one_verdict() {
        const YES: (f64, f64) = (1.0, 2.0);
        const NO: (f64, f64) = (-2.0, -1.0);
        const OPEN: (f64, f64) = (-1.0, 2.0);
        assert_eq!(verdict(&[YES, YES]), Verdict::Reproduced);
        assert_eq!(verdict(&[YES, YES, OPEN]), Verdict::Trend);
        assert_eq!(verdict(&[YES, YES, NO]), Verdict::Trend);
        assert_eq!(verdict(&[YES, YES, YES, NO, NO]), Verdict::NotReproduced);
        assert_eq!(verdict(&[YES, NO]), Verdict::NotReproduced);
        assert_eq!(verdict(&[YES, OPEN]), Verdict::Inconclusive);
        assert_eq!(verdict(&[OPEN, OPEN, NO]), Verdict::NotReproduced);
        assert_eq!(verdict(&[]), Verdict::Inconclusive);
    }
}
