//! Why there is no answer.

use std::fmt;

use super::moments::Infinite;

/// Why a formula has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QueueingError {
    /// More arrives than can be served: queues grow for ever.
    #[error(transparent)]
    Unstable(#[from] Unstable),
    /// A mean that the formula needs is infinite.
    #[error(transparent)]
    Infinite(#[from] Infinite),
    /// What was asked makes no sense.
    #[error(transparent)]
    Bad(#[from] BadParameter),
}

/// Where jobs queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A single server.
    Server,
    /// A single server with priorities, where the classes up to this one (from 0) are too much.
    Class(usize),
    /// Several servers of one queue.
    Servers(u32),
    /// The valuation of a network, where the classes up to this one (from 0) are too much.
    Valuation(usize),
    /// The sites of a network, each as one server.
    Sites(u32),
    /// The partition of this index of a site.
    Partition(usize),
    /// The fullest of the best partitions.
    BestPartitions(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Server => to.write_str("the server"),
            Place::Class(0) => to.write_str("the server, with class 1 alone,"),
            Place::Class(index) => write!(to, "the server, with classes 1 to {},", index + 1),
            Place::Servers(1) => to.write_str("the server"),
            Place::Servers(count) => write!(to, "each of {count} servers"),
            Place::Valuation(index) => {
                write!(to, "the valuation, with classes 1 to {},", index + 1)
            }
            Place::Sites(1) => to.write_str("the site, taken for one server,"),
            Place::Sites(count) => write!(to, "each of {count} sites, taken for one server,"),
            Place::Partition(index) => write!(to, "partition {}", index + 1),
            Place::BestPartitions(1) => to.write_str("the partition"),
            Place::BestPartitions(count) => {
                write!(to, "the fullest of {count} partitions, however they are cut,")
            }
        }
    }
}

/// A station whose queue grows for ever.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unstable {
    /// The overloaded station.
    pub place: Place,
    /// Work that arrives per time and server: 1 or more.
    pub load: f64,
    /// All else alike, it is stable below this rate of arrivals.
    pub rate_below: f64,
    /// All else alike, it is stable from so many servers on, where that would help.
    pub servers_from: Option<u64>,
}

impl std::error::Error for Unstable {}

impl fmt::Display for Unstable {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unstable { place, load, rate_below, servers_from } = self;
        write!(
            to,
            "{place} would have a load of {load:.4}, and queues grow for ever from 1 on; stable \
             below a rate of {rate_below:.6}"
        )?;
        match servers_from {
            Some(count) => write!(to, ", or with {count} of them"),
            None => Ok(()),
        }
    }
}

/// What makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadParameter {
    /// Rates are finite and above 0.
    #[error("a rate of {0}: rates are above 0")]
    Rate(f64),
    /// There are no servers.
    #[error("no servers: at least 1 is needed")]
    NoServers,
    /// No classes, no branches, no widths.
    #[error("no {0}: at least one is needed")]
    None(&'static str),
    /// A chance below 0 or above 1.
    #[error("a share of {share} among {of}: shares are from 0 to 1")]
    Share {
        /// Name of the parameter.
        of: &'static str,
        /// The share as given.
        share: f64,
    },
    /// Chances that are not all there is.
    #[error("the shares of {of} sum to {sum}, not to 1")]
    Shares {
        /// Name of the parameter.
        of: &'static str,
        /// Sum of the shares.
        sum: f64,
    },
    /// A law's parameter.
    #[error("{name} = {value} makes no sense for {law}")]
    Law {
        /// `a Weibull law`.
        law: &'static str,
        /// The parameter's name.
        name: &'static str,
        /// What it was to be.
        value: f64,
    },
    /// Moments that floats cannot hold.
    #[error("the moments of {law} with these parameters are beyond the range of numbers")]
    OutOfRange {
        /// `a Weibull law`.
        law: &'static str,
    },
    /// A log without usable jobs.
    #[error("there are no jobs with a run time and processors")]
    NoJobs,
    /// A width of 0, or a range of widths that is empty.
    #[error("widths from {low} to {high}: they are from 1 on, in order")]
    Widths {
        /// Width of the narrowest job.
        low: u32,
        /// Width of the widest job.
        high: u32,
    },
    /// A width given twice.
    #[error("the width {0} is given twice")]
    WidthTwice(u32),
    /// Partitions grow from each to the next.
    #[error("partitions of {sizes:?} processors: each must be larger than the one before")]
    NotIncreasing {
        /// The sizes as given.
        sizes: Vec<u32>,
    },
    /// Partitions are the site.
    #[error("the partitions have {sum} processors, the site has {processors}")]
    Sum {
        /// Of the partitions.
        sum: u64,
        /// Of the site.
        processors: u32,
    },
    /// A job that fits no partition.
    #[error("jobs of {widest} processors fit no partition: the largest has {largest}")]
    TooWide {
        /// The widest job.
        widest: u32,
        /// The largest partition.
        largest: u32,
    },
    /// Too many partitions for the site.
    #[error(
        "{processors} processors cannot be cut into {queues} partitions, each larger than the one \
         before, the last with {widest} for the widest job: at most {max} can be"
    )]
    TooManyQueues {
        /// Number of queues requested.
        queues: u32,
        /// Of the site.
        processors: u32,
        /// The widest job.
        widest: u32,
        /// As many as there can be.
        max: u32,
    },
    /// More cuts than can be searched for the best.
    #[error("the best cut would need {states} numbers to be kept, more than {max}")]
    TooManyCuts {
        /// Of the search.
        states: usize,
        /// The largest permitted number.
        max: usize,
    },
}

impl QueueingError {
    /// Whether the question made sense, but has no finite answer.
    pub fn is_infeasible(&self) -> bool {
        matches!(self, QueueingError::Unstable(_) | QueueingError::Infinite(_))
    }
}

/// A rate that makes sense.
pub(super) fn checked_rate(rate: f64) -> Result<f64, BadParameter> {
    match rate.is_finite() && rate > 0.0 {
        true => Ok(rate),
        false => Err(BadParameter::Rate(rate)),
    }
}
