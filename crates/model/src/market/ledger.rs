//! What jobs owe and owners earn.

use crate::{Money, Place, Pools, Price, Share, Span, TimeMode};

/// What `work` seconds of the reference node cost at `place`: Σ price × nodes × length, at most
/// [`Money::MAX`].
pub fn cost(pools: &Pools, place: &Place, processors: u32, work: Span) -> Money {
    place.shares(processors).map(|share| pools.charge(share, work)).sum()
}

/// Money on its way from users to owners. What is held at a start is settled or returned; the
/// three sums say where all of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Of running jobs: what they are expected to cost.
    pub(super) held: i128,
    /// What users paid.
    pub(super) paid: i128,
    /// By site: what its owner earned.
    pub(super) income: Vec<i128>,
}

impl Ledger {
    pub(super) fn new(sites: usize) -> Ledger {
        Ledger { held: 0, paid: 0, income: vec![0; sites] }
    }

    /// Micro-credits held for running jobs.
    pub fn held(&self) -> i128 {
        self.held
    }

    /// Micro-credits that users have paid.
    pub fn paid(&self) -> i128 {
        self.paid
    }

    /// Micro-credits that each site's owner has earned.
    pub fn income(&self) -> &[i128] {
        &self.income
    }

    pub(super) fn hold(&mut self, amount: Money) {
        self.held += i128::from(amount.0);
    }

    pub(super) fn release(&mut self, amount: Money) {
        self.held -= i128::from(amount.0);
    }

    pub(super) fn settle(&mut self, site: usize, amount: Money) {
        self.paid += i128::from(amount.0);
        self.income[site] += i128::from(amount.0);
    }

    /// Whether users paid what owners earned, and no credits are held without a job.
    pub(super) fn balances(&self, held_by_running: i128) -> bool {
        self.held == held_by_running && self.paid == self.income.iter().sum::<i128>()
    }
}

impl Price {
    /// What so many nodes cost for `span`, at most [`Money::MAX`].
    pub fn of(self, nodes: u32, span: Span) -> Money {
        match self.0 {
            0 => Money::ZERO,
            _ => (self * Span(span.0.saturating_mul(i64::from(nodes)))).min(Money::MAX),
        }
    }
}

impl Pools {
    /// What a share costs for `work` seconds of the reference node.
    fn charge(&self, share: Share, work: Span) -> Money {
        let pool = self.pool(share.pool);
        pool.price.of(share.nodes, pool.length_in(TimeMode::WORK, work))
    }
}
