//! What a study says: numbers, claims, gains and a figure.

use tradewind_io::chart::{self, Chart, Picture, PngError};

use crate::tally::{Estimate, Tally};
use crate::verdict::{Ceiling, Verdict, judge};

/// A number that a paper prints.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// What it is, in a few words.
    pub name: &'static str,
    /// As printed.
    pub value: f64,
    /// Digits after the point, as printed.
    pub decimals: u8,
    /// Its unit; empty for counts and ratios.
    pub unit: &'static str,
    /// Where it stands: `figure 4 (a)`, `section 5`.
    pub place: &'static str,
    /// The likely cause, for when it is not reproduced: one sentence.
    pub cause: &'static str,
    /// What is misprinted there, if anything.
    pub erratum: Option<&'static str>,
    /// How the run gives it.
    pub measured: fn(&Tally) -> Estimate,
    /// What kind of proof it can be.
    pub kind: Evidence,
}

/// What agreement with a published number proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// That it is reproduced.
    Measured,
    /// Nothing: it calibrated a parameter, which [`Published::cause`] names.
    Fitted,
    /// A trend at best: it is a wall-clock time.
    Clock,
}

impl Published {
    /// Beside what `tally` says.
    pub fn against(&'static self, tally: &Tally) -> Number {
        let measured = (self.measured)(tally);
        let slack = 0.5 * 0.1f64.powi(self.decimals.into());
        let judged = |ceiling| judge(self.value, slack, &measured, ceiling);
        let verdict = match self.kind {
            Evidence::Measured => judged(Ceiling::Open),
            Evidence::Clock => judged(Ceiling::Trend),
            Evidence::Fitted => Verdict::Fitted,
        };
        let wide = || {
            let (count, half) = (measured.count, measured.half_width());
            format!("Too few observations ({count}) to tell: the interval is ± {half:.2}.")
        };
        let why = match verdict {
            Verdict::Reproduced => None,
            Verdict::Inconclusive => Some(wide()),
            _ => Some(self.cause.to_owned()).filter(|cause| !cause.is_empty()),
        };
        Number { published: self, measured, verdict, why }
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
    /// Measured over published; not finite for a published zero.
    pub fn ratio(&self) -> f64 {
        self.measured.mean / self.published.value
    }
}

/// A sentence of a paper that can be true or not.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The sentence, in our words.
    pub text: &'static str,
    /// Whether it holds.
    pub verdict: Verdict,
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

    /// With a verdict of its own.
    pub fn new(text: &'static str, verdict: Verdict, measured: String) -> Claim {
        let why = match verdict {
            Verdict::Inconclusive => Some("Too few observations to tell.".to_owned()),
            _ => None,
        };
        Claim { text, verdict, measured, why }
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
    pub name: &'static str,
    /// What is counted, with its unit.
    pub measure: &'static str,
    /// The paper's algorithm.
    pub paper: Estimate,
    /// Ours.
    pub ours: Estimate,
    /// Ours over the paper's, paired case by case.
    pub ratio: Estimate,
}

/// A picture like the paper's.
#[derive(Debug, Clone)]
pub enum Figure {
    /// Curves, bars or points.
    Picture(Box<Picture>),
    /// A plan.
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
    /// The figure, drawn anew.
    pub figure: Option<Figure>,
    /// What a reader should know, a sentence each.
    pub notes: Vec<String>,
}
