//! What the formulas need to know of a random time.

/// One of the means that the formulas use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The mean, E(X).
    Mean,
    /// E(X²): waits need it.
    Square,
    /// E(1/X): slowdowns need it.
    Inverse,
}

impl Moment {
    /// As in formulas.
    pub fn symbol(self) -> &'static str {
        match self {
            Moment::Mean => "E(X)",
            Moment::Square => "E(X²)",
            Moment::Inverse => "E(1/X)",
        }
    }
}

/// A moment that is infinite, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} of {law} is infinite: {why}", .moment.symbol())]
pub struct Infinite {
    /// The moment that is infinite.
    pub moment: Moment,
    /// Of which law: `a Weibull law`.
    pub law: &'static str,
    /// For which reason.
    pub why: &'static str,
}

/// The moments of a time above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// The mean, E(X).
    pub mean: f64,
    /// The second moment, E(X²).
    pub square: Result<f64, Infinite>,
    /// The mean of the reciprocal, E(1/X).
    pub inverse: Result<f64, Infinite>,
}

impl Moments {
    /// The squared coefficient of variation, Var(X) / E(X)²: 0 for a constant, 1 for an
    /// exponential time.
    ///
    /// # Errors
    /// E(X²) is infinite.
    pub fn variation(&self) -> Result<f64, Infinite> {
        let square = self.square?;
        // What takes no time does not vary.
        Ok(if self.mean > 0.0 { square / (self.mean * self.mean) - 1.0 } else { 0.0 })
    }

    /// Of a time that is one of these, each with its share; shares need not sum to 1, but to more
    /// than 0. `None` if there are none.
    pub fn mixed<'a>(parts: impl IntoIterator<Item = (f64, &'a Moments)>) -> Option<Moments> {
        let mut all = 0.0;
        let mut sum = Moments { mean: 0.0, square: Ok(0.0), inverse: Ok(0.0) };
        for (share, part) in parts.into_iter().filter(|part| part.0 > 0.0) {
            all += share;
            sum.mean += share * part.mean;
            sum.square = added(sum.square, share, part.square);
            sum.inverse = added(sum.inverse, share, part.inverse);
        }
        let scaled = |moment: Result<f64, Infinite>| moment.map(|value| value / all);
        (all > 0.0).then(|| Moments {
            mean: sum.mean / all,
            square: scaled(sum.square),
            inverse: scaled(sum.inverse),
        })
    }
}

/// `sum` + `share` × `value`, if both are finite.
fn added(
    sum: Result<f64, Infinite>,
    share: f64,
    value: Result<f64, Infinite>,
) -> Result<f64, Infinite> {
    Ok(sum? + share * value?)
}
