//! The owners' own load, which is there first (paper 000, sections 5 and 6.1).

use tradewind_model::{Cause, Horizon, NodeId, Outage, PoolId, Slot, Span, Time, random};

use super::draws::{Draws, wide};
use crate::outage::AnnouncedOutage;

/// Local tasks on each node, period by period. A node's load in a period is drawn by the
/// hypergeometric distribution: from an urn of 2·`steps` balls, half of them marked, `steps` are
/// drawn; k marked ones mean k / `steps` of the way from the minimum to the greatest load. The
/// paper gives the law and the range only; the urn is ours.
///
/// Tasks of drawn lengths fill the load (the last one is cut), in drawn order; the idle time
/// around them is cut at drawn points. Tasks of one node never overlap, and none crosses the end
/// of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalLoad {
    /// The minimum and the greatest share of a period that is taken, in thousandths.
    pub share: (u32, u32),
    /// How many steps lie between them; 0: always the minimum.
    pub steps: u32,
    /// The shortest and the longest task.
    pub lengths: (Span, Span),
    /// How long a load stays: the whole horizon of a cycle in the paper.
    pub period: Span,
}

impl Default for LocalLoad {
    /// 10 to 50 % of 600 s in steps of a tenth, tasks of 40 to 150 s. The paper does not give the
    /// lengths; these fit its figures best.
    fn default() -> LocalLoad {
        LocalLoad { share: (100, 500), steps: 4, lengths: (Span(40), Span(150)), period: Span(600) }
    }
}

impl LocalLoad {
    /// As many tasks as [`draw`](Self::draw) may make: each period is filled with the shortest ones,
    /// and has one that is cut.
    pub fn at_most(&self, nodes: u32, horizon: Span) -> u64 {
        let whole = |span: Span| u64::try_from(span.0).unwrap_or(0);
        let periods = whole(horizon).div_ceil(whole(self.period).max(1));
        let busy = whole(horizon).saturating_mul(u64::from(self.share.1)) / 1_000;
        let each = (busy / whole(self.lengths.0).max(1)).saturating_add(periods);
        each.saturating_mul(u64::from(nodes))
    }

    /// The busy spans of `nodes` nodes within the horizon, in order of node and start. A longer
    /// horizon begins with the same ones, if it is a whole number of periods longer.
    pub fn draw(&self, seed: u64, nodes: u32, horizon: Horizon) -> Vec<Slot> {
        let streams = (0..nodes).map(|node| Draws::of(seed, "load", u64::from(node)));
        self.all(streams, horizon)
    }

    /// The same as outages of a pool's nodes, in order of node and start; other pools have other
    /// loads. An owner's tasks are announced when their period begins, as in the cycles of paper
    /// 000, where the local schedules of an interval are known in advance.
    ///
    /// There is an outage per task: choose lengths and a period that suit a long horizon.
    pub fn outages(
        &self,
        seed: u64,
        (pool, nodes): (PoolId, u32),
        horizon: Horizon,
    ) -> Vec<AnnouncedOutage> {
        let noun = format!("load-{}", pool.0);
        let streams = (0..nodes).map(|node| Draws::of(seed, &noun, u64::from(node)));
        let period = self.period.0.max(1);
        let outage = |task: Slot| {
            let announced = horizon.start + Span((task.start - horizon.start).0 / period * period);
            let (from, until) = (task.start, task.end);
            AnnouncedOutage {
                announced,
                what: Outage { pool, nodes: 1, from, until, cause: Cause::Local },
            }
        };
        self.all(streams, horizon).into_iter().map(outage).collect()
    }

    /// Every node's tasks, each node from its own stream.
    fn all(&self, streams: impl Iterator<Item = Draws>, horizon: Horizon) -> Vec<Slot> {
        let mut busy = Vec::new();
        for (node, mut draws) in (0..).map(NodeId).zip(streams) {
            let mut from = horizon.start;
            while from < horizon.end {
                let end = (from + Span(self.period.0.max(1))).min(horizon.end);
                self.fill(&mut draws, Horizon { start: from, end }, node, &mut busy);
                from = end;
            }
        }
        busy
    }

    /// One node's tasks in one period.
    fn fill(&self, draws: &mut Draws, period: Horizon, node: NodeId, busy: &mut Vec<Slot>) {
        let length = period.span().0;
        let (min, max) = wide(self.share);
        let steps = i64::from(self.steps.max(1));
        let drawn = i64::from(draws.hypergeometric(self.steps));
        let share = min + (max - min) * drawn / steps;
        let load = (length * share / 1_000).clamp(0, length);
        let mut tasks = Vec::new();
        let mut taken = 0;
        while taken < load {
            let task = draws.within((self.lengths.0.0, self.lengths.1.0)).max(1);
            tasks.push(task.min(load - taken));
            taken += task;
        }
        // How much idle time lies before each task.
        let mut cuts: Vec<i64> = tasks.iter().map(|_| draws.within((0, length - load))).collect();
        cuts.sort_unstable();
        let mut before = 0;
        for (task, idle) in tasks.into_iter().zip(cuts) {
            let start = period.start + Span(idle + before);
            busy.push(Slot { start, end: start + Span(task), node });
            before += task;
        }
    }
}

/// The owner's own load on a pool as outages: each task is known from the beginning of its period.
/// See [`LocalLoad::draw`].
pub fn owners_load(
    load: &LocalLoad,
    seed: u64,
    (pool, nodes): (PoolId, u32),
    horizon: Horizon,
) -> Vec<AnnouncedOutage> {
    // Pools of one seed have loads of their own.
    let seed = random::within(&mut random::stream(seed, "owner", pool.0.into()), 0, i64::MAX);
    let period = load.period.0.max(1);
    let outage = |task: &Slot| {
        let (from, until, cause) = (task.start, task.end, Cause::Local);
        let into = (from - horizon.start).0.rem_euclid(period);
        let what = Outage { pool, nodes: 1, from, until, cause };
        AnnouncedOutage { announced: Time(from.0 - into), what }
    };
    load.draw(seed.unsigned_abs(), nodes, horizon).iter().map(outage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tradewind_model::Time;

    fn horizon(end: i64) -> Horizon {
        Horizon { start: Time(0), end: Time(end) }
    }

    #[test]
    fn loads_stay_in_their_range_and_tasks_apart() {
        let busy = LocalLoad::default().draw(3, 500, horizon(600));
        let mut loads = vec![0; 500];
        for pair in busy.windows(2).filter(|pair| pair[0].node == pair[1].node) {
            assert!(pair[0].end <= pair[1].start);
        }
        for task in &busy {
            assert!(task.start >= Time(0) && task.end <= Time(600) && task.span().0 > 0);
            assert!(task.span() <= Span(150));
            loads[task.node.0 as usize] += task.span().0;
        }
        let count = |load: i64| loads.iter().filter(|it| **it == load).count();
        let counts: Vec<usize> = [60, 120, 180, 240, 300].map(count).to_vec();
        assert_eq!(counts.iter().sum::<usize>(), 500, "every load is a step of a tenth");
        // C(4,k)² / C(8,4): 1, 16, 36, 16, 1 of 70.
        assert!(counts[2] > 210 && counts[2] < 305, "{counts:?}");
        assert!(counts[0] + counts[4] < 35, "{counts:?}");
    }

    #[test]
    fn a_long_stream_begins_with_the_short_one() {
        let load = LocalLoad::default();
        let long = load.draw(1, 3, horizon(6_000));
        let short = load.draw(1, 3, horizon(1_200));
        let begin: Vec<Slot> =
            long.iter().copied().filter(|task| task.start < Time(1_200)).collect();
        assert_eq!(begin, short);
        assert!(long.len() > 3 * short.len());
    }

    #[test]
    fn outages_are_announced_when_their_period_begins() {
        let load = LocalLoad::default();
        let of = |pool| load.outages(1, (PoolId(pool), 5), horizon(6_000));
        let outages = of(2);
        assert!(outages.len() > 5 * 10);
        for AnnouncedOutage { announced, what } in &outages {
            assert!(announced.0 % 600 == 0 && (0..600).contains(&(what.from - *announced).0));
            assert!(what.until <= *announced + Span(600) && what.nodes == 1);
        }
        let times = |pool| of(pool).iter().map(|outage| outage.what.from).collect::<Vec<_>>();
        assert_ne!(times(0), times(1));
    }

    #[test]
    fn extreme_parameters_do_no_harm() {
        let full = LocalLoad { share: (1_000, 5_000), ..LocalLoad::default() };
        let busy = full.draw(1, 1, horizon(100));
        assert_eq!(busy.iter().map(|task| task.span().0).sum::<i64>(), 100);
        let none = LocalLoad { share: (0, 0), steps: 0, ..LocalLoad::default() };
        assert_eq!(none.draw(1, 4, horizon(100)), []);
    }
}
