//! Models of jobs by name, with parameters by name: what a command line or a file can say.

use super::{DrawnJob, Gamma, Lublin, Poisson, RunLaw};

/// What [`JobModel::named`] knows.
pub const JOB_MODELS: [&str; 5] =
    ["lublin", "lublin-interactive", "lublin-mixed", "weibull", "exponential"];

/// A model of a stream of jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JobModel {
    /// `lublin` (batch jobs), `lublin-interactive`, `lublin-mixed`.
    Lublin(Lublin),
    /// `weibull`, `exponential`.
    Poisson(Poisson),
}

/// Why a parameter cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The model has none of this name.
    #[error("the model has no such parameter")]
    Unknown,
    /// Shapes, scales, means and gaps are above 0.
    #[error("must be above 0 and at most {}", Domain::MAX)]
    NotPositive,
    /// Shares are from 0 to 1.
    #[error("must be from 0 to 1")]
    NotAShare,
    /// Not even a number.
    #[error("must be a number within ±{}", Domain::MAX)]
    NotFinite,
}

/// What values make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Domain {
    Positive,
    Share,
    Any,
}

impl Domain {
    /// More than any sensible parameter.
    const MAX: i64 = 1_000_000_000;

    fn check(self, value: f64) -> Result<(), ParameterError> {
        let small = value.abs() <= Self::MAX as f64;
        match self {
            Domain::Positive if !(small && value > 0.0) => Err(ParameterError::NotPositive),
            Domain::Share if !(0.0..=1.0).contains(&value) => Err(ParameterError::NotAShare),
            Domain::Any if !small => Err(ParameterError::NotFinite),
            _ => Ok(()),
        }
    }
}

impl JobModel {
    /// The model of this name, with its published parameters, for a machine of so many
    /// processors; `None` if there is no such model.
    pub fn named(name: &str, processors: u32) -> Option<JobModel> {
        let poisson =
            |model: Poisson| JobModel::Poisson(Poisson { widths: (1, processors.max(1)), ..model });
        Some(match name {
            "lublin" => JobModel::Lublin(Lublin::batch(processors)),
            "lublin-interactive" => JobModel::Lublin(Lublin::interactive(processors)),
            "lublin-mixed" => JobModel::Lublin(Lublin::mixed(processors)),
            "weibull" => poisson(Poisson::weibull()),
            "exponential" => poisson(Poisson::exponential()),
            _ => return None,
        })
    }

    /// Gives one parameter another value.
    ///
    /// # Errors
    /// There is no such parameter, or the value makes no sense for it; nothing is changed then.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ParameterError> {
        let mut all = self.table();
        let found = all.iter_mut().find(|(own, ..)| *own == name);
        let (_, parameter, domain) = found.ok_or(ParameterError::Unknown)?;
        domain.check(value)?;
        **parameter = value;
        Ok(())
    }

    /// All parameters, in the order of the documentation.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut copy = *self;
        copy.table().into_iter().map(|(name, value, _)| (name, *value)).collect()
    }

    /// The first `jobs` jobs; see the models.
    pub fn draw(&self, seed: u64, jobs: usize) -> Vec<DrawnJob> {
        match self {
            JobModel::Lublin(model) => model.draw(seed, jobs),
            JobModel::Poisson(model) => model.draw(seed, jobs),
        }
    }

    fn table(&mut self) -> Vec<(&'static str, &mut f64, Domain)> {
        use Domain::Positive;
        match self {
            JobModel::Lublin(model) => lublin(model),
            JobModel::Poisson(Poisson { gap_s, runs, .. }) => match runs {
                RunLaw::Weibull { shape, scale_s } => vec![
                    ("shape", shape, Positive),
                    ("scale", scale_s, Positive),
                    ("gap", gap_s, Positive),
                ],
                RunLaw::Exponential { mean_s } => {
                    vec![("mean", mean_s, Positive), ("gap", gap_s, Positive)]
                }
            },
        }
    }
}

fn lublin(model: &mut Lublin) -> Vec<(&'static str, &mut f64, Domain)> {
    use Domain::{Any, Positive, Share};
    let Lublin { widths, runs, arrivals } = model;
    let Gamma { shape: short_shape, scale: short_scale } = &mut runs.short;
    let Gamma { shape: long_shape, scale: long_scale } = &mut runs.long;
    let Gamma { shape: gap_shape, scale: gap_scale } = &mut arrivals.gap;
    let Gamma { shape: day_shape, scale: day_scale } = &mut arrivals.day;
    vec![
        ("serial", &mut widths.serial, Share),
        ("power-of-two", &mut widths.power_of_two, Share),
        ("low", &mut widths.low, Any),
        ("medium", &mut widths.medium, Any),
        ("high", &mut widths.high, Any),
        ("low-share", &mut widths.low_share, Share),
        ("short-shape", short_shape, Positive),
        ("short-scale", short_scale, Positive),
        ("long-shape", long_shape, Positive),
        ("long-scale", long_scale, Positive),
        ("slope", &mut runs.slope, Any),
        ("offset", &mut runs.offset, Any),
        ("gap-shape", gap_shape, Positive),
        ("gap-scale", gap_scale, Positive),
        ("rush", &mut arrivals.rush, Positive),
        ("day-shape", day_shape, Positive),
        ("day-scale", day_scale, Positive),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_has_its_published_value_and_can_be_set() {
        for name in JOB_MODELS {
            let model = JobModel::named(name, 128).unwrap();
            for (parameter, value) in model.parameters() {
                let mut other = model;
                other.set(parameter, value / 2.0).unwrap();
                let changed: Vec<_> = model
                    .parameters()
                    .into_iter()
                    .filter(|it| !other.parameters().contains(it))
                    .collect();
                assert_eq!(changed, [(parameter, value)], "{name}");
            }
            assert!(model.draw(1, 20).iter().all(|job| job.processors <= 128));
        }
        assert_eq!(JobModel::named("lublin99", 128), None);
        let batch = JobModel::named("lublin", 128).unwrap().parameters();
        assert_eq!(
            batch[2..6],
            [("low", 1.2), ("medium", 5.0), ("high", 7.0), ("low-share", 0.875)]
        );
    }

    #[test]
    fn senseless_values_are_refused() {
        let mut model = JobModel::named("lublin", 64).unwrap();
        assert_eq!(model.set("serials", 0.1), Err(ParameterError::Unknown));
        assert_eq!(model.set("serial", 1.1), Err(ParameterError::NotAShare));
        assert_eq!(model.set("serial", f64::NAN), Err(ParameterError::NotAShare));
        assert_eq!(model.set("gap-scale", 0.0), Err(ParameterError::NotPositive));
        assert_eq!(model.set("slope", f64::INFINITY), Err(ParameterError::NotFinite));
        assert_eq!(model, JobModel::named("lublin", 64).unwrap());
    }

    /// Loops that draw again, and the clock, end whatever the parameters are.
    #[test]
    fn extreme_values_end() {
        let model = JobModel::named("lublin", 64).unwrap();
        for (parameter, _) in model.parameters() {
            for value in [1e-9, 1.0, 50.0, 1e9] {
                let mut extreme = model;
                if extreme.set(parameter, value).is_ok() {
                    assert_eq!(extreme.draw(1, 3).len(), 3, "{parameter} = {value}");
                }
            }
        }
    }
}
