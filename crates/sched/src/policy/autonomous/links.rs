//! How long messages and jobs take between sites.

use tradewind_model::Span;

/// How long messages and jobs take when nothing goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links {
    /// The minimum and the longest time that a message takes, each second between as likely.
    pub latency: (Span, Span),
    /// Megabytes per second between any two sites, at least 1.
    pub bandwidth_mb: u64,
    /// Every job's data, in megabytes.
    pub base_mb: u64,
    /// More data for every processor of a job, in megabytes: logs name no data, and wide jobs
    /// bring more.
    pub per_processor_mb: u64,
}

impl Default for Links {
    /// Messages take a second; a job takes one more for each of its processors.
    fn default() -> Links {
        let latency = (Span(1), Span(1));
        Links { latency, bandwidth_mb: 10, base_mb: 0, per_processor_mb: 10 }
    }
}

impl Links {
    /// What a job of so many processors has to carry, in megabytes.
    pub fn data_mb(&self, processors: u32) -> u64 {
        self.base_mb.saturating_add(self.per_processor_mb.saturating_mul(u64::from(processors)))
    }

    /// How long so much data takes beside the latency, rounded up.
    pub fn travel(&self, data_mb: u64) -> Span {
        let seconds = data_mb.div_ceil(self.bandwidth_mb.max(1));
        Span(i64::try_from(seconds).unwrap_or(i64::MAX)).min(Span::MAX)
    }

    /// How long a job with so much data takes at the most, if nothing goes wrong.
    pub fn transfer(&self, data_mb: u64) -> Span {
        Span(self.latency.1.0 + self.travel(data_mb).0)
    }
}
