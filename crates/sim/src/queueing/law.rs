//! Laws of service times, and their moments in closed form.

use super::error::{BadParameter, QueueingError};
use super::moments::{Infinite, Moment, Moments};

/// The law of a time above 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Law {
    /// Always the same.
    Deterministic {
        /// That time; 0 is allowed.
        value: f64,
    },
    /// Chance to last longer than x: exp(−x / mean).
    Exponential {
        /// Mean of the distribution.
        mean: f64,
    },
    /// Chance to last longer than x: exp(−(x / scale)^shape).
    Weibull {
        /// Often α (paper 003) or k.
        shape: f64,
        /// Often β (paper 003) or λ.
        scale: f64,
    },
    /// Mean shape × scale; a whole shape is Erlang's law of so many phases.
    Gamma {
        /// Shape parameter, often called k.
        shape: f64,
        /// The mean of a phase.
        scale: f64,
    },
    /// One of several exponential times.
    Hyperexponential {
        /// Chances, which sum to 1, and means.
        branches: Vec<(f64, f64)>,
    },
    /// Anything between two times, equally likely.
    Uniform {
        /// Shortest time.
        low: f64,
        /// Longest time.
        high: f64,
    },
    /// The logarithm is normal.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Chance to last longer than x: (scale / x)^shape from `scale` on.
    Pareto {
        /// The tail: the heavier, the less.
        shape: f64,
        /// The shortest time.
        scale: f64,
    },
    /// One of these, equally likely: run times of a log.
    Empirical {
        /// At least one.
        values: Vec<f64>,
    },
}

impl Law {
    /// Erlang's law of so many phases with this mean.
    pub fn erlang(phases: u32, mean: f64) -> Law {
        let shape = f64::from(phases);
        Law::Gamma { shape, scale: mean / shape }
    }

    /// Its name in a sentence.
    fn name(&self) -> &'static str {
        match self {
            Law::Deterministic { .. } => "a constant",
            Law::Exponential { .. } => "an exponential law",
            Law::Weibull { .. } => "a Weibull law",
            Law::Gamma { .. } => "a gamma law",
            Law::Hyperexponential { .. } => "a hyperexponential law",
            Law::Uniform { .. } => "a uniform law",
            Law::Lognormal { .. } => "a lognormal law",
            Law::Pareto { .. } => "a Pareto law",
            Law::Empirical { .. } => "the recorded times",
        }
    }

    /// E(X), E(X²) and E(1/X): exact but for the rounding of floats. O(1), or O(values).
    ///
    /// # Errors
    /// A parameter that makes no sense, or E(X) infinite or beyond the range of floats.
    pub fn moments(&self) -> Result<Moments, QueueingError> {
        self.check()?;
        let moments = match self {
            Law::Deterministic { value } => self.constant(*value),
            Law::Exponential { mean } => Moments {
                mean: *mean,
                square: Ok(2.0 * mean * mean),
                inverse: self.infinite("its density does not vanish at 0"),
            },
            Law::Weibull { shape, scale } => self.weibull(*shape, *scale),
            Law::Gamma { shape, scale } => Moments {
                mean: shape * scale,
                square: Ok(shape * (shape + 1.0) * scale * scale),
                inverse: match *shape > 1.0 {
                    true => Ok(1.0 / (scale * (shape - 1.0))),
                    false => self.infinite("it is finite for shapes above 1 only"),
                },
            },
            Law::Hyperexponential { branches } => self.hyperexponential(branches),
            Law::Uniform { low, high } => self.uniform(*low, *high),
            Law::Lognormal { mu, sigma } => {
                let half = sigma * sigma / 2.0;
                Moments {
                    mean: libm::exp(mu + half),
                    square: Ok(libm::exp(2.0 * mu + 4.0 * half)),
                    inverse: Ok(libm::exp(half - mu)),
                }
            }
            Law::Pareto { shape, scale } => self.pareto(*shape, *scale)?,
            Law::Empirical { values } => self.empirical(values),
        };
        self.in_range(moments)
    }

    fn constant(&self, value: f64) -> Moments {
        let inverse = match value > 0.0 {
            true => Ok(1.0 / value),
            false => self.infinite("it is 0"),
        };
        Moments { mean: value, square: Ok(value * value), inverse }
    }

    fn weibull(&self, shape: f64, scale: f64) -> Moments {
        Moments {
            mean: scale * libm::tgamma(1.0 + 1.0 / shape),
            square: Ok(scale * scale * libm::tgamma(1.0 + 2.0 / shape)),
            inverse: match shape > 1.0 {
                true => Ok(libm::tgamma(1.0 - 1.0 / shape) / scale),
                false => self.infinite("it is finite for shapes above 1 only"),
            },
        }
    }

    fn hyperexponential(&self, branches: &[(f64, f64)]) -> Moments {
        Moments {
            mean: branches.iter().map(|(chance, mean)| chance * mean).sum(),
            square: Ok(branches.iter().map(|(chance, mean)| chance * 2.0 * mean * mean).sum()),
            inverse: self.infinite("its density does not vanish at 0"),
        }
    }

    fn uniform(&self, low: f64, high: f64) -> Moments {
        if low == high {
            return self.constant(low);
        }
        let inverse = match low > 0.0 {
            true => Ok(libm::log(high / low) / (high - low)),
            false => self.infinite("it begins at 0"),
        };
        let square = (low * low + low * high + high * high) / 3.0;
        Moments { mean: (low + high) / 2.0, square: Ok(square), inverse }
    }

    fn pareto(&self, shape: f64, scale: f64) -> Result<Moments, Infinite> {
        let finite = |moment, min: f64, why, value: f64| match shape > min {
            true => Ok(value),
            false => Err(Infinite { moment, law: self.name(), why }),
        };
        let mean = shape * scale / (shape - 1.0);
        let square = shape * scale * scale / (shape - 2.0);
        Ok(Moments {
            mean: finite(Moment::Mean, 1.0, "it is finite for shapes above 1 only", mean)?,
            square: finite(Moment::Square, 2.0, "it is finite for shapes above 2 only", square),
            inverse: Ok(shape / (scale * (shape + 1.0))),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "no log has 2^53 times")]
    fn empirical(&self, values: &[f64]) -> Moments {
        let mean = |of: fn(f64) -> f64| {
            values.iter().map(|value| of(*value)).sum::<f64>() / values.len() as f64
        };
        let inverse = match values.contains(&0.0) {
            true => self.infinite("one of them is 0"),
            false => Ok(mean(|value| 1.0 / value)),
        };
        Moments { mean: mean(|value| value), square: Ok(mean(|value| value * value)), inverse }
    }

    fn infinite(&self, why: &'static str) -> Result<f64, Infinite> {
        Err(Infinite { moment: Moment::Inverse, law: self.name(), why })
    }

    fn in_range(&self, moments: Moments) -> Result<Moments, QueueingError> {
        let fits =
            |moment: Result<f64, Infinite>| moment.is_ok_and(f64::is_finite) || moment.is_err();
        let all = moments.mean.is_finite() && fits(moments.square) && fits(moments.inverse);
        match all {
            true => Ok(moments),
            false => Err(BadParameter::OutOfRange { law: self.name() }.into()),
        }
    }

    /// Whether the parameters make sense.
    fn check(&self) -> Result<(), BadParameter> {
        let law = self.name();
        let at_least = |name, value: f64, min: f64| match value.is_finite() && value >= min {
            true => Ok(()),
            false => Err(BadParameter::Law { law, name, value }),
        };
        let above = |name, value: f64| at_least(name, value, f64::MIN_POSITIVE);
        match self {
            Law::Deterministic { value } => at_least("value", *value, 0.0),
            Law::Exponential { mean } => above("mean", *mean),
            Law::Weibull { shape, scale }
            | Law::Gamma { shape, scale }
            | Law::Pareto { shape, scale } => above("shape", *shape).and(above("scale", *scale)),
            Law::Hyperexponential { branches } => {
                let shares: Vec<f64> = branches.iter().map(|branch| branch.0).collect();
                super::mix::shares_sum_to_one("branches", &shares)?;
                branches.iter().try_for_each(|branch| above("mean", branch.1))
            }
            Law::Uniform { low, high } => {
                at_least("low", *low, 0.0)?;
                at_least("high", *high, low.max(f64::MIN_POSITIVE))
            }
            Law::Lognormal { mu, sigma } => {
                at_least("mu", *mu, f64::MIN).and(at_least("sigma", *sigma, 0.0))
            }
            Law::Empirical { values } if values.is_empty() => Err(BadParameter::NoJobs),
            Law::Empirical { values } => {
                values.iter().try_for_each(|value| at_least("value", *value, 0.0))
            }
        }
    }
}
