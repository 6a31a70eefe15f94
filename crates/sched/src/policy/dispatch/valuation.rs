//! What jobs bid and queues ask (paper 003, equations 1 and 2; our reading).
//!
//! Demand/Supply is a factor of both sides and cancels wherever a bid meets an ask, so neither has
//! it unless that is asked for ([`Factor`]). Amounts are whole micro-credits, rounded down. They say which job comes first and whether
//! the gate opens; they are not paid.

use tradewind_model::{Money, Price, Ratio, Span};

/// H_i: what the value of a job is multiplied by, for all jobs and for this one, in millionths.
#[derive(Debug, Clone, Copy)]
pub(super) struct BidFactor(i128);

impl BidFactor {
    /// So many of them are 1.
    pub(super) const WHOLE: i128 = 1_000_000;

    /// `all` is H/O of the market, `own` the job's.
    pub(super) fn new(all: Ratio, own: Option<Ratio>) -> BidFactor {
        let own = own.unwrap_or(Ratio::ONE).thousandths();
        BidFactor(i128::from(all.thousandths()) * i128::from(own))
    }

    /// The amount times the factor, in millionths of a micro-credit.
    pub(super) fn scale(self, amount: Money) -> i128 {
        i128::from(amount.0).saturating_mul(self.0)
    }

    /// The same in micro-credits, rounded down.
    pub(super) fn of(self, amount: Money) -> i128 {
        self.scale(amount) / BidFactor::WHOLE
    }
}

/// H_i · v/(d − t) · (t + 1 − s) (equation 2): `left` is d − t, counted as a second at least;
/// `waited` is t − s.
pub(super) fn bid(value: Money, factor: BidFactor, left: Span, waited: Span) -> i128 {
    let patience = i128::from(waited.0) + 1;
    factor.scale(value).saturating_mul(patience) / (BidFactor::WHOLE * i128::from(left.0.max(1)))
}

/// O_k · w · c · l (equation 1): the queue's `factor`, its `wait` until there is room, the `price`
/// of a node and second, and the load, which is so many of so many nodes.
pub(super) fn ask(factor: Ratio, wait: Span, price: Price, load: (i64, u32)) -> i128 {
    let priced = i128::from(wait.0).saturating_mul(i128::from(price.0));
    let priced = priced.saturating_mul(i128::from(factor.thousandths()));
    priced.saturating_mul(i128::from(load.0)) / (1_000 * i128::from(load.1.max(1)))
}

/// Demand/Supply of a cycle: processors that waiting jobs want over processors that are free, each
/// counted as one at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Factor {
    demand: i128,
    supply: i128,
}

impl Factor {
    /// Of no effect.
    pub(super) const ONE: Factor = Factor { demand: 1, supply: 1 };

    pub(super) fn new(demand: i64, supply: i64) -> Factor {
        Factor { demand: i128::from(demand.max(1)), supply: i128::from(supply.max(1)) }
    }

    /// An amount of a bid or an ask as it is compared: the supply, which all share, stays a
    /// denominator, so that nothing is rounded.
    pub(super) fn weigh(self, amount: i128) -> i128 {
        amount.saturating_mul(self.demand)
    }

    /// A weighed amount as it is shown, rounded down.
    pub(super) fn told(self, weighed: i128) -> i128 {
        weighed.div_euclid(self.supply)
    }
}

/// As far as an amount can be written down.
pub(super) fn money(amount: i128) -> Money {
    let max = i128::from(Money::MAX.0);
    Money(i64::try_from(amount.clamp(-max, max)).unwrap_or(Money::MAX.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bids_grow_with_value_urgency_and_waiting() {
        let ratio = BidFactor::new(Ratio::ONE, None);
        let value = Money::credits(100);
        assert_eq!(bid(value, ratio, Span(50), Span(0)), i128::from(Money::credits(2).0));
        assert_eq!(bid(value, ratio, Span(40), Span(9)), i128::from(Money::credits(25).0));
        assert_eq!(bid(Money(7), ratio, Span(4), Span(0)), 1, "rounded down");
        let half = Ratio::from_thousandths(500).unwrap();
        let factor = BidFactor::new(half, None);
        assert_eq!(bid(value, factor, Span(50), Span(0)), i128::from(Money::credits(1).0));
        let factor = BidFactor::new(half, Some(half));
        assert_eq!(bid(value, factor, Span(50), Span(0)), i128::from(Money::credits(1).0 / 2));
        assert_eq!(bid(value, ratio, Span(0), Span(0)), i128::from(value.0), "late");
        let most = Ratio::from_thousandths(u32::MAX).unwrap();
        assert!(bid(Money::MAX, BidFactor::new(most, Some(most)), Span(1), Span::MAX) > 0);
    }

    #[test]
    fn asks_are_zero_where_no_job_waits_or_nothing_is_occupied() {
        let price = Price::credits(3);
        let one = Ratio::ONE;
        assert_eq!(ask(one, Span(0), price, (4, 4)), 0);
        assert_eq!(ask(one, Span(10), price, (0, 4)), 0);
        assert_eq!(ask(one, Span(10), price, (2, 4)), i128::from(Money::credits(15).0));
        let double = Ratio::from_thousandths(2_000).unwrap();
        assert_eq!(ask(double, Span(10), price, (2, 4)), i128::from(Money::credits(30).0));
        assert_eq!(ask(one, Span(1), Price(1), (2, 3)), 0, "rounded down");
        assert_eq!(money(ask(one, Span::MAX, Price(i64::MAX), (1 << 24, 1))), Money::MAX);
    }
}
