//! What jobs bid and queues ask (paper 003, equations 1 and 2; our reading).
//!
//! Demand/Supply is a factor of both sides and cancels wherever a bid meets an ask, so neither has
//! it unless that is asked for ([`Factor`]). Amounts are whole micro-credits, rounded down. They say which job comes first and whether
//! the gate opens; they are not paid.

use tradewind_model::{Money, Price, Span};

use super::settings::Ratio;

/// H/O · v/(d − t) · (t + 1 − s): `left` is d − t, counted as a second at least; `waited` is
/// t − s.
pub(super) fn bid(value: Money, ratio: Ratio, left: Span, waited: Span) -> i128 {
    let patience = i128::from(waited.0) + 1;
    let scaled = i128::from(value.0).saturating_mul(i128::from(ratio.thousandths()));
    scaled.saturating_mul(patience) / (1_000 * i128::from(left.0.max(1)))
}

/// w · c · l: `wait` until there is room, `price` of a node and second, and the load, which is
/// `occupied` of `nodes`.
pub(super) fn ask(wait: Span, price: Price, occupied: i64, nodes: u32) -> i128 {
    let priced = i128::from(wait.0).saturating_mul(i128::from(price.0));
    priced.saturating_mul(i128::from(occupied)) / i128::from(nodes.max(1))
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
        let ratio = Ratio::ONE;
        let value = Money::credits(100);
        assert_eq!(bid(value, ratio, Span(50), Span(0)), i128::from(Money::credits(2).0));
        assert_eq!(bid(value, ratio, Span(40), Span(9)), i128::from(Money::credits(25).0));
        assert_eq!(bid(Money(7), ratio, Span(4), Span(0)), 1, "rounded down");
        let half = Ratio::from_thousandths(500).unwrap();
        assert_eq!(bid(value, half, Span(50), Span(0)), i128::from(Money::credits(1).0));
        assert_eq!(bid(value, ratio, Span(0), Span(0)), i128::from(value.0), "late");
        assert!(
            bid(Money::MAX, Ratio::from_thousandths(u32::MAX).unwrap(), Span(1), Span::MAX) > 0
        );
    }

    #[test]
    fn asks_are_zero_where_no_job_waits_or_nothing_is_occupied() {
        let price = Price::credits(3);
        assert_eq!(ask(Span(0), price, 4, 4), 0);
        assert_eq!(ask(Span(10), price, 0, 4), 0);
        assert_eq!(ask(Span(10), price, 2, 4), i128::from(Money::credits(15).0));
        assert_eq!(ask(Span(1), Price(1), 2, 3), 0, "rounded down");
        assert_eq!(money(ask(Span::MAX, Price(i64::MAX), 1 << 24, 1)), Money::MAX);
    }
}
