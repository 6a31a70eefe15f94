//! Nodes that break, and are corrected.

use tradewind_model::{Cause, Horizon, Outage, PoolId, Span};

use super::draws::{Draws, wide};
use crate::outage::AnnouncedOutage;

/// Failures in a pool of like nodes. The times between them follow a Weibull law, of which shape
/// 1 is the exponential one; logs of large machines have shapes of 0.7 to 0.8, and repairs that
/// are nearly lognormal (Schroeder and Gibson, 2006).
///
/// A failure takes one node or several at once; which ones is drawn among all nodes of the pool,
/// each as likely. Policies learn of a failure when it happens, and then know when the nodes will
/// be back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureModel {
    /// Mean time between failures of one node.
    pub mtbf: Span,
    /// Of the Weibull law, in thousandths.
    pub shape: u32,
    /// How long the nodes are missing.
    pub repair: Repair,
    /// The fewest and the most nodes that break at once, each number as likely.
    pub burst: (u32, u32),
}

/// The law of repair times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// With this mean.
    Exponential(Span),
    /// With this mean; its logarithm has the standard deviation `sigma`, in thousandths.
    Lognormal {
        /// Mean time to repair.
        mean: Span,
        /// σ of the logarithm, in thousandths.
        sigma: u32,
    },
}

impl Default for FailureModel {
    /// A node breaks once a year, alone, at any time alike, and is corrected in four hours.
    fn default() -> FailureModel {
        let (year, repair) = (Span(365 * 86_400), Repair::Exponential(Span(4 * 3_600)));
        FailureModel { mtbf: year, shape: 1_000, repair, burst: (1, 1) }
    }
}

impl FailureModel {
    /// The most failures that are drawn for one pool: a limit against absurd parameters.
    pub const MAX: usize = 1_000_000;

    /// The failures of a pool of `nodes` nodes within the horizon, in their order. A longer
    /// horizon begins with the same ones. O(n) for n failures.
    pub fn draw(
        &self,
        seed: u64,
        pool: PoolId,
        nodes: u32,
        horizon: Horizon,
    ) -> Vec<AnnouncedOutage> {
        let stream = |noun: &str| Draws::new(seed, &format!("{noun}-{}", pool.0));
        let (mut gaps, mut repairs) = (stream("failure"), stream("repair"));
        let (mut places, mut bursts) = (stream("failed-node"), stream("burst"));
        let shape = f64::from(self.shape.max(1)) / 1_000.0;
        // The pool as a whole breaks as often as all its nodes together, burst by burst.
        let nodes = nodes.max(1);
        let fewest = self.burst.0.clamp(1, nodes);
        let burst = (fewest, self.burst.1.clamp(fewest, nodes));
        let together = f64::from(burst.0 + burst.1) / 2.0;
        let mean = self.mtbf.0 as f64 * together / f64::from(nodes);
        let scale = mean / libm::tgamma(1.0 + 1.0 / shape);
        let length = horizon.span().0 as f64;
        let (mut at, mut outages) = (gaps.weibull(shape, scale), Vec::new());
        while at < length && outages.len() < Self::MAX {
            let from = horizon.start + Span(at as i64);
            let together = bursts.within(wide(burst)) as u32;
            let first = places.within((0, i64::from(nodes - together))) as u32;
            let until = from + self.repair.draw(&mut repairs);
            let what = Outage { pool, nodes: together, from, until, cause: Cause::Failure(first) };
            outages.push(AnnouncedOutage { announced: from, what });
            at += gaps.weibull(shape, scale);
        }
        outages
    }
}

impl Repair {
    /// At least a second.
    fn draw(self, draws: &mut Draws) -> Span {
        let seconds = match self {
            Repair::Exponential(mean) => draws.exponential(mean.0 as f64),
            Repair::Lognormal { mean, sigma } => {
                let sigma = f64::from(sigma) / 1_000.0;
                let mu = libm::log((mean.0 as f64).max(1.0)) - sigma * sigma / 2.0;
                libm::exp(mu + sigma * draws.normal())
            }
        };
        Span((seconds.round() as i64).clamp(1, Span::MAX.0))
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Time;

    use super::*;

    const DAY: i64 = 86_400;

    fn horizon(days: i64) -> Horizon {
        Horizon { start: Time(1_000), end: Time(1_000 + days * DAY) }
    }

    fn drawn(faults: FailureModel) -> Vec<AnnouncedOutage> {
        faults.draw(5, PoolId(0), 100, horizon(2_000))
    }

    /// Failed nodes, and the mean repair.
    fn sums(outages: &[AnnouncedOutage]) -> (f64, f64) {
        let nodes: u32 = outages.iter().map(|it| it.what.nodes).sum();
        let repair: i64 = outages.iter().map(|it| (it.what.until - it.what.from).0).sum();
        (f64::from(nodes), repair as f64 / outages.len() as f64)
    }

    #[test]
    fn nodes_fail_as_often_and_for_as_long_as_they_should() {
        // 100 nodes over 2,000 days, each failing every 20 days: 10,000 nodes in all.
        let mean = Span(4 * 3_600);
        let lognormal = Repair::Lognormal { mean, sigma: 1_200 };
        let faults = FailureModel { mtbf: Span(20 * DAY), ..FailureModel::default() };
        for faults in [
            faults,
            FailureModel { shape: 700, ..faults },
            FailureModel { repair: lognormal, ..faults },
            FailureModel { burst: (1, 7), shape: 750, ..faults },
        ] {
            let outages = drawn(faults);
            let (nodes, repair) = sums(&outages);
            assert!((nodes - 10_000.0).abs() < 600.0, "{faults:?}: {nodes} nodes");
            assert!((repair / mean.0 as f64 - 1.0).abs() < 0.06, "{faults:?}: {repair} s");
            let far =
                |it: &AnnouncedOutage| it.what.cause != Cause::Failure(0) && it.what.nodes <= 7;
            assert!(outages.iter().filter(|it| far(it)).count() > outages.len() * 9 / 10);
        }
    }

    #[test]
    fn failures_are_in_order_within_the_pool_and_the_horizon() {
        let faults = FailureModel { mtbf: Span(DAY), burst: (2, 500), ..FailureModel::default() };
        let outages = faults.draw(1, PoolId(3), 4, horizon(50));
        assert!(outages.windows(2).all(|pair| pair[0].announced <= pair[1].announced));
        for AnnouncedOutage { announced, what } in &outages {
            assert!((1..=4).contains(&what.nodes) && what.pool == PoolId(3));
            assert!(*announced == what.from && what.from < horizon(50).end);
            assert!(matches!(what.cause, Cause::Failure(first) if first + what.nodes <= 4));
        }
        let longer = faults.draw(1, PoolId(3), 4, horizon(90));
        assert!(longer.starts_with(&outages) && longer.len() > outages.len());
        assert_ne!(faults.draw(2, PoolId(3), 4, horizon(50)), outages);
        assert_ne!(faults.draw(1, PoolId(2), 4, horizon(50)).len(), 0);
    }

    #[test]
    fn absurd_parameters_end() {
        let faults =
            FailureModel { mtbf: Span(0), shape: 0, burst: (9, 1), ..FailureModel::default() };
        assert!(faults.draw(1, PoolId(0), 3, horizon(1)).len() <= FailureModel::MAX);
    }
}
