//! What a trade settles at, between what the queue wants and what the job can pay.
//!
//! Bids and asks say who trades where; this says what it costs. The **reserve** is the price that
//! the owner has posted, the **limit** what the job can pay, both per node and second. Unless the
//! list price is paid whatever a job is worth, there is no trade where the limit is below the reserve, so a price
//! between the two leaves neither side worse off than without the trade.

use tradewind_model::{Money, Performance, Price, Ratio, Span, Terms};

use super::price;
use super::settings::DispatchSettings;
use super::valuation::{self, BidFactor};

/// How prices are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clearing {
    /// The posted price, if a job with a value is worth it; jobs need none.
    Posted,
    /// The posted price, whatever the job is worth: the paper's.
    List,
    /// The buyer's limit: owners get all that there is to gain.
    Bid,
    /// One price per cycle for all that trade in it, per second of a reference processor.
    Uniform,
    /// Each trade's own: the reserve and `k` of the way to the limit (M. Satterthwaite and
    /// S. Williams, Bilateral trade with the sealed bid k-double auction, 1989).
    K,
}

impl Clearing {
    /// All, with their names on the command line.
    pub const ALL: [(Clearing, &'static str); 5] = [
        (Clearing::Posted, "posted"),
        (Clearing::List, "list"),
        (Clearing::Bid, "bid"),
        (Clearing::Uniform, "uniform"),
        (Clearing::K, "k"),
    ];

    /// Whether the price is found between reserves and limits, so that jobs need a limit.
    pub fn divides_the_gain(self) -> bool {
        matches!(self, Clearing::Bid | Clearing::Uniform | Clearing::K)
    }
}

/// A number from 0 to 1, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction {
    thousandths: u16,
}

impl Fraction {
    /// Nothing of it.
    pub const NONE: Fraction = Fraction { thousandths: 0 };
    /// Half of the difference between ask and bid.
    pub const HALF: Fraction = Fraction { thousandths: 500 };
    /// All of it.
    pub const ALL: Fraction = Fraction { thousandths: 1_000 };

    /// So many thousandths; `None` above 1,000.
    pub const fn from_thousandths(thousandths: u16) -> Option<Fraction> {
        match thousandths {
            0..=1_000 => Some(Fraction { thousandths }),
            _ => None,
        }
    }

    /// The number in thousandths.
    pub fn thousandths(self) -> u16 {
        self.thousandths
    }

    /// So far from the first to the second, rounded down.
    fn between(self, from: i128, to: i128) -> i128 {
        from + ((to - from) * i128::from(self.thousandths)).div_euclid(1_000)
    }
}

/// What a job can pay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purse {
    /// In all: its budget, and where it matters what it is worth.
    pub(super) whole: Money,
    /// What it bids for all of it, if the gate compares that with the bare price.
    pub(super) bids: Money,
    /// Per node and second: its own cap.
    pub(super) each: Price,
}

impl Purse {
    /// Its worth counts unless the list price is paid whatever a job is worth, and at the gate of
    /// bids per unit, there as part of the bid.
    pub(super) fn of(terms: &Terms, settings: &DispatchSettings) -> Purse {
        let worth = price::value(terms);
        let pays = worth.filter(|_| settings.clearing != Clearing::List);
        let bids = worth.filter(|_| settings.gate_wants_worth());
        let factor = BidFactor::new(settings.ratio, terms.bid_factor);
        let bids = bids.map_or(Money(i64::MAX), |worth| valuation::money(factor.of(worth)));
        let limits = terms.budget.into_iter().chain(pays);
        let whole = limits.min().unwrap_or(Money(i64::MAX));
        Purse { whole, bids, each: terms.max_price.unwrap_or(Price(i64::MAX)) }
    }

    /// The most in all, for so many for so long in a queue whose asks have the factor `ask`.
    pub(super) fn most(&self, processors: u32, length: Span, ask: Ratio) -> Money {
        let bids = i128::from(self.bids.0) * 1_000 / i128::from(ask.thousandths());
        let bids = Money(i64::try_from(bids).unwrap_or(i64::MAX));
        self.whole.min(bids).min(self.each.of(processors, length))
    }

    /// The most per node and second for so many for so long, rounded down, in a queue whose asks
    /// have the factor `ask`. Just the prices up to it can be paid.
    pub(super) fn limit(&self, processors: u32, length: Span, ask: Ratio) -> Price {
        let seconds = (i128::from(processors) * i128::from(length.0)).max(1);
        let asked = seconds.saturating_mul(i128::from(ask.thousandths()));
        let max = (i128::from(self.whole.0) / seconds).min(i128::from(self.bids.0) * 1_000 / asked);
        Price(i64::try_from(max).unwrap_or(i64::MAX)).min(self.each)
    }
}

/// What one trade may settle at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) reserve: Price,
    pub(super) limit: Price,
    pub(super) performance: Performance,
}

/// Parts of a micro-credit, in prices of the reference processor.
const PARTS: i128 = 1_000_000;

impl Range {
    /// The reserve and `k` of the way to the limit, rounded down.
    pub(super) fn at(self, k: Fraction) -> Price {
        let price = k.between(i128::from(self.reserve.0), i128::from(self.limit.0));
        Price(i64::try_from(price).unwrap_or(self.reserve.0))
    }

    fn of_reference(self, price: Price) -> i128 {
        i128::from(price.0) * 1_000 * PARTS / i128::from(self.performance.thousandths())
    }

    /// A price of the reference processor here, rounded down, but neither above the limit nor below
    /// the reserve.
    fn nearest_to(self, price: i128) -> Price {
        let here = price * i128::from(self.performance.thousandths()) / (1_000 * PARTS);
        let here = here.clamp(i128::from(self.reserve.0), i128::from(self.limit.0));
        Price(i64::try_from(here).unwrap_or(self.reserve.0))
    }
}

/// Prices of a cycle's trades in their order: `k` of the way from the highest reserve to the lowest
/// limit, per second of a reference processor.
///
/// Slots are not one good: a job may trade in a cheap queue although it could not pay what another
/// pays in a dear one, and then no price suits both. A job that the price does not suit pays the
/// nearest that does. O(trades).
pub(super) fn uniform(trades: &[Range], k: Fraction) -> Vec<Price> {
    let reserve = trades.iter().map(|trade| trade.of_reference(trade.reserve)).max();
    let limit = trades.iter().map(|trade| trade.of_reference(trade.limit)).min();
    let price = reserve.zip(limit).map_or(0, |(reserve, limit)| k.between(reserve, limit));
    trades.iter().map(|trade| trade.nearest_to(price)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(reserve: i64, limit: i64, thousandths: u32) -> Range {
        let performance = Performance::from_thousandths(thousandths).unwrap();
        Range { reserve: Price(reserve), limit: Price(limit), performance }
    }

    #[test]
    fn the_gain_is_divided_by_k() {
        let at = |k| range(10, 21, 1_000).at(Fraction::from_thousandths(k).unwrap());
        assert_eq!([at(0), at(500), at(999), at(1_000)].map(|it| it.0), [10, 15, 20, 21]);
        assert_eq!(Fraction::from_thousandths(1_001), None);
        assert_eq!(range(0, i64::MAX, 1).at(Fraction::ALL), Price(i64::MAX));
    }

    #[test]
    fn a_uniform_price_is_at_the_margin() {
        // Per reference second: 10 to 30, 12 to 20, 8 to 40.
        let trades = [range(10, 30, 1_000), range(24, 40, 2_000), range(4, 20, 500)];
        let prices = |k| uniform(&trades, k).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(prices(Fraction::HALF), [16, 32, 8]);
        assert_eq!(prices(Fraction::NONE), [12, 24, 6]);
        assert_eq!(prices(Fraction::ALL), [20, 40, 10]);
        // No price suits both.
        let apart = [range(10, 12, 1_000), range(30, 50, 1_000)];
        assert_eq!(uniform(&apart, Fraction::HALF), [Price(12), Price(30)]);
        assert_eq!(uniform(&[], Fraction::HALF), []);
    }

    proptest! {
        #[test]
        fn what_can_be_paid_is_what_is_not_above_the_limit(
            purse in 0i64..10_000, processors in 1u32..20, length in 1i64..60, price in 0i64..400,
            factor in 1u32..3_000,
        ) {
            let (whole, length) = (Money(purse), Span(length));
            let payable = Price(price).of(processors, length) <= whole;
            let bids = Money(i64::MAX);
            let purse = Purse { whole, bids, each: Price(i64::MAX) };
            prop_assert_eq!(payable, Price(price) <= purse.limit(processors, length, Ratio::ONE));
            // A bid of the purse in a queue that asks for so many thousandths of its price.
            let purse = Purse { whole: bids, bids: whole, ..purse };
            let asked = i128::from(Price(price).of(processors, length).0) * i128::from(factor);
            let factor = Ratio::from_thousandths(factor).unwrap();
            let reached = asked <= i128::from(whole.0) * 1_000;
            prop_assert_eq!(reached, Price(price) <= purse.limit(processors, length, factor));
        }

        #[test]
        fn prices_are_between_reserve_and_limit(
            trades in prop::collection::vec((0i64..100, 0i64..100, 1u32..5_000), 0..6), k in 0u16..=1_000,
        ) {
            let k = Fraction::from_thousandths(k).unwrap();
            let trades: Vec<Range> =
                trades.iter().map(|&(low, more, speed)| range(low, low + more, speed)).collect();
            let prices = uniform(&trades, k);
            prop_assert_eq!(prices.len(), trades.len());
            for (trade, price) in trades.iter().zip(prices) {
                prop_assert!(trade.reserve <= price && price <= trade.limit);
                prop_assert!(trade.reserve <= trade.at(k) && trade.at(k) <= trade.limit);
            }
            // Alone, both ways are the same but for rounding.
            for trade in &trades {
                let alone = uniform(&[*trade], k)[0];
                prop_assert!((alone.0 - trade.at(k).0).abs() <= 1, "{alone:?} {:?}", trade.at(k));
            }
        }
    }
}
