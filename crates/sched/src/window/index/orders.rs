//! Nodes in orders that no request changes: by price and speed.

use std::sync::{Arc, OnceLock};

use tradewind_model::{Grid, NodeId, Performance, Price, Request, Span, TimeMode, Times};

/// Fractions of a rate's key have so many bits.
const FRACTION: u32 = 32;

/// What nodes are to be ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderBy {
    /// What a task costs.
    Cost,
    /// How long a task takes.
    Length,
}

/// Key and node.
type Keyed = (u64, u32);

/// In rising order.
type KeyedNodes = Vec<Keyed>;

/// The nodes of a grid in three orders, from which those by cost and by length follow for every
/// request. Each is made when it is first needed, in O(n log n) for n nodes.
#[derive(Debug)]
pub(super) struct NodeOrders {
    /// Price by performance, rounded down: cost where times are work.
    by_rate: OnceLock<KeyedNodes>,
    /// The price: cost where times are of the clock.
    by_price: OnceLock<KeyedNodes>,
    /// How much slower than the fastest that there may be.
    by_speed: OnceLock<KeyedNodes>,
    /// By node: what length and cost follow from.
    facts: Arc<[NodeFacts]>,
    /// If only some nodes are in the orders: all, and which.
    some_of: Option<(Arc<NodeOrders>, Vec<bool>)>,
}

/// What a task's length and cost on a node follow from: small, so that many stay in a cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeFacts {
    pub(super) price: Price,
    pub(super) performance: Performance,
    pub(super) times: Times,
}

impl NodeOrders {
    pub(super) fn new(grid: &Grid) -> NodeOrders {
        let facts = grid.nodes().iter().map(|node| NodeFacts {
            price: node.price,
            performance: node.performance,
            times: node.times,
        });
        NodeOrders {
            by_rate: OnceLock::new(),
            by_price: OnceLock::new(),
            by_speed: OnceLock::new(),
            facts: facts.collect(),
            some_of: None,
        }
    }

    /// Only the nodes for which `keep`, by node, is true. O(n) for each order, when it is first needed.
    pub(super) fn only(self: &Arc<NodeOrders>, keep: Vec<bool>) -> NodeOrders {
        NodeOrders {
            by_rate: OnceLock::new(),
            by_price: OnceLock::new(),
            by_speed: OnceLock::new(),
            facts: Arc::clone(&self.facts),
            some_of: Some((Arc::clone(self), keep)),
        }
    }

    /// The nodes by `key`: those of all that are kept, if `order` has all in this order.
    fn sorted(
        &self,
        order: impl Fn(&NodeOrders) -> &[Keyed],
        key: impl Fn(&NodeFacts) -> u64,
    ) -> KeyedNodes {
        if let Some((all, keep)) = &self.some_of {
            return order(all).iter().filter(|it| keep[it.1 as usize]).copied().collect();
        }
        let mut order: KeyedNodes = self.facts.iter().map(key).zip(0..).collect();
        order.sort_unstable();
        order
    }

    fn by_rate(&self) -> &[Keyed] {
        let rate = |it: &NodeFacts| {
            let speed = u128::from(it.performance.thousandths());
            let rate = (u128::from(it.price.0.unsigned_abs()) << FRACTION) / speed;
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        self.by_rate.get_or_init(|| self.sorted(NodeOrders::by_rate, rate))
    }

    fn by_price(&self) -> &[Keyed] {
        let price = |it: &NodeFacts| it.price.0.unsigned_abs();
        self.by_price.get_or_init(|| self.sorted(NodeOrders::by_price, price))
    }

    fn by_speed(&self) -> &[Keyed] {
        let slowness = |it: &NodeFacts| u64::from(u32::MAX - it.performance.thousandths());
        self.by_speed.get_or_init(|| self.sorted(NodeOrders::by_speed, slowness))
    }

    pub(super) fn facts(&self, node: NodeId) -> &NodeFacts {
        &self.facts[node.0 as usize]
    }

    /// The orders of nodes whose times are work and of those whose times are of the clock. If the
    /// owner says which, each node is in both.
    fn of(&self, times: TimeMode, by: OrderBy) -> (&[Keyed], &[Keyed]) {
        let of_work = || if by == OrderBy::Cost { self.by_rate() } else { self.by_speed() };
        match times {
            TimeMode::Fixed(Times::Work) => (of_work(), &[]),
            TimeMode::Fixed(Times::Wall) => (&[], self.by_price()),
            TimeMode::Owner => (of_work(), self.by_price()),
        }
    }

    /// All nodes in rising order of a lower bound of what a task of `request` costs on them, or of
    /// how long it takes.
    pub(super) fn walk<'o>(
        &'o self,
        request: &Request,
        by: OrderBy,
    ) -> impl Iterator<Item = (i64, NodeId)> + 'o {
        let (works, walls) = self.of(request.times, by);
        let bounds = TaskBounds { work: request.work, by };
        let is_mixed = request.times == TimeMode::Owner;
        let counted = move |node: u32, times| !is_mixed || self.facts[node as usize].times == times;
        let mut works = works.iter().filter(move |it| counted(it.1, Times::Work)).peekable();
        let mut walls = walls.iter().filter(move |it| counted(it.1, Times::Wall)).peekable();
        std::iter::from_fn(move || {
            let of_work = works.peek().map(|it| bounds.of_work(it.0));
            let of_wall = walls.peek().map(|it| bounds.of_wall(it.0));
            match (of_work, of_wall) {
                (Some(one), other) if other.is_none_or(|other| one <= other) => {
                    works.next().map(|it| (one, NodeId(it.1)))
                }
                (_, Some(other)) => walls.next().map(|it| (other, NodeId(it.1))),
                (_, None) => None,
            }
        })
    }

    /// At most so many nodes have a bound of at most `limit`. O(log n).
    pub(super) fn count(&self, request: &Request, by: OrderBy, limit: i128) -> usize {
        let (works, walls) = self.of(request.times, by);
        let bounds = TaskBounds { work: request.work, by };
        let works = works.partition_point(|it| i128::from(bounds.of_work(it.0)) <= limit);
        works + walls.partition_point(|it| i128::from(bounds.of_wall(it.0)) <= limit)
    }
}

/// The lower bounds that belong to keys; they rise with them.
#[derive(Clone, Copy)]
struct TaskBounds {
    work: Span,
    by: OrderBy,
}

impl TaskBounds {
    fn of_work(self, key: u64) -> i64 {
        let scaled = self.work.0.saturating_mul(1_000).unsigned_abs();
        match self.by {
            // At least work × price / performance.
            OrderBy::Cost => {
                let cost = (u128::from(key) * u128::from(scaled)) >> FRACTION;
                i64::try_from(cost).unwrap_or(i64::MAX)
            }
            OrderBy::Length => {
                let speed = u64::from(u32::MAX) - key;
                scaled.div_ceil(speed.max(1)).max(1) as i64
            }
        }
    }

    fn of_wall(self, price: u64) -> i64 {
        let length = self.work.0.max(1);
        match self.by {
            OrderBy::Cost => length.saturating_mul(price as i64),
            OrderBy::Length => length,
        }
    }
}
