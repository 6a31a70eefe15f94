//! How wide jobs are, and how long jobs of each width run.

use std::collections::BTreeMap;

use super::error::{BadParameter, QueueingError};
use super::law::Law;
use super::moments::Moments;

/// The law of widths.
#[derive(Debug, Clone, PartialEq)]
pub enum Widths {
    /// From one width to another, all equally likely.
    Uniform {
        /// Width of the narrowest job.
        low: u32,
        /// Width of the widest job.
        high: u32,
    },
    /// The logarithm is uniform: width w has a share in proportion to ln((w + 1) / w).
    LogUniform {
        /// Width of the narrowest job.
        low: u32,
        /// Width of the widest job.
        high: u32,
    },
    /// Widths and their chances, which sum to 1.
    Table(Vec<(u32, f64)>),
}

/// The jobs of one width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Width {
    /// Number of processors.
    pub width: u32,
    /// The chance that a job has them.
    pub share: f64,
    /// How long such jobs run.
    pub runs: Moments,
}

/// All that arrives.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix {
    /// By width, ascending; shares above 0 that sum to 1.
    widths: Vec<Width>,
    /// Of all jobs.
    runs: Moments,
}

impl Mix {
    /// Jobs whose run time does not depend on the width, as the paper has them.
    ///
    /// # Errors
    /// Widths or chances that make no sense.
    pub fn alike(widths: &Widths, runs: Moments) -> Result<Mix, BadParameter> {
        let with_runs = |(width, share)| Width { width, share, runs };
        let widths: Vec<Width> = widths.shares()?.into_iter().map(with_runs).collect();
        match widths.is_empty() {
            true => Err(BadParameter::None("widths")),
            false => Ok(Mix { widths, runs }),
        }
    }

    /// Recorded jobs, by width and run time: each width has run times of its own. O(n log n).
    ///
    /// # Errors
    /// No jobs, a width of 0, or run times that make no sense.
    #[expect(clippy::cast_precision_loss, reason = "no log has 2^53 jobs")]
    pub fn recorded(jobs: &[(u32, f64)]) -> Result<Mix, QueueingError> {
        let mut by_width: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (width, run) in jobs {
            by_width.entry(*width).or_default().push(*run);
        }
        let mut widths = Vec::with_capacity(by_width.len());
        for (width, values) in by_width {
            let share = values.len() as f64 / jobs.len() as f64;
            let runs = Law::Empirical { values }.moments()?;
            widths.push(Width { width: at_least_one(width, width)?, share, runs });
        }
        let runs = Moments::mixed(widths.iter().map(|width| (width.share, &width.runs)));
        Ok(Mix { runs: runs.ok_or(BadParameter::NoJobs)?, widths })
    }

    /// The same jobs, with the run times of all for those of each width.
    pub fn mingled(&self) -> Mix {
        let runs = self.runs;
        let widths = self.widths.iter().map(|width| Width { runs, ..*width }).collect();
        Mix { widths, runs }
    }

    /// By width, ascending; never empty.
    pub fn widths(&self) -> &[Width] {
        &self.widths
    }

    /// Run times of all jobs.
    pub fn runs(&self) -> &Moments {
        &self.runs
    }

    /// The widest job.
    pub fn widest(&self) -> u32 {
        self.widths.last().map_or(0, |width| width.width)
    }

    /// The jobs wider than `above` and up to `upto`: their share of all, and their run times if
    /// there are any. O(widths).
    pub(super) fn between(&self, above: u32, upto: u32) -> (f64, Option<Moments>) {
        let first = self.widths.partition_point(|width| width.width <= above);
        let last = self.widths.partition_point(|width| width.width <= upto);
        let among = &self.widths[first..last.max(first)];
        let share = among.iter().map(|width| width.share).sum();
        (share, Moments::mixed(among.iter().map(|width| (width.share, &width.runs))))
    }
}

impl Widths {
    /// Widths of a chance above 0, ascending.
    fn shares(&self) -> Result<Vec<(u32, f64)>, BadParameter> {
        match self {
            Widths::Uniform { low, high } => {
                let share = 1.0 / f64::from(at_least_one(*low, *high)? - low + 1);
                Ok((*low..=*high).map(|width| (width, share)).collect())
            }
            Widths::LogUniform { low, high } => {
                at_least_one(*low, *high)?;
                let log = |width: u32| libm::log(f64::from(width));
                let all = libm::log(f64::from(*high) + 1.0) - log(*low);
                let share = |width: u32| (width, libm::log1p(1.0 / f64::from(width)) / all);
                Ok((*low..=*high).map(share).collect())
            }
            Widths::Table(rows) => table(rows),
        }
    }
}

fn table(rows: &[(u32, f64)]) -> Result<Vec<(u32, f64)>, BadParameter> {
    let shares: Vec<f64> = rows.iter().map(|row| row.1).collect();
    shares_sum_to_one("widths", &shares)?;
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.0);
    for pair in rows.windows(2) {
        if pair[0].0 == pair[1].0 {
            return Err(BadParameter::WidthTwice(pair[0].0));
        }
    }
    for (width, _) in &rows {
        at_least_one(*width, *width)?;
    }
    rows.retain(|row| row.1 > 0.0);
    Ok(rows)
}

/// More widths than any machine has.
const WIDEST: u32 = 1 << 24;

/// `high`, if the two are a range of widths.
fn at_least_one(low: u32, high: u32) -> Result<u32, BadParameter> {
    match low >= 1 && low <= high && high <= WIDEST {
        true => Ok(high),
        false => Err(BadParameter::Widths { low, high }),
    }
}

/// Chances must be all there is, but for what decimals lose.
pub(super) fn shares_sum_to_one(of: &'static str, shares: &[f64]) -> Result<(), BadParameter> {
    const LOST: f64 = 1e-6;
    if shares.is_empty() {
        return Err(BadParameter::None(of));
    }
    if let Some(share) = shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
        return Err(BadParameter::Share { of, share: *share });
    }
    let sum: f64 = shares.iter().sum();
    match (sum - 1.0).abs() <= LOST {
        true => Ok(()),
        false => Err(BadParameter::Shares { of, sum }),
    }
}
