//! Bids and asks per node and second: valuation without the paper's zero asks.
//!
//! In the paper's amounts an ask is zero wherever no job waits or nothing runs, so the cheapest and
//! the most expensive empty queue are alike, and any bid passes the gate. A bid of 100,000 credits
//! for one node and a second is that of 100,000 credits for a thousand nodes and a day. Here both
//! sides are micro-credits per second of a reference processor, rounded down: a job offers what it
//! could pay for one, and a queue asks what it wants for one, and more where it is loaded.
//!
//! Age and urgency make up for load, and for nothing else: the gate also excludes jobs worth
//! less than the bare price (`Purse`). So an idle queue takes all jobs that wait for it, no job
//! waits without success, and no job is served at a loss because it has waited long enough.

use tradewind_model::{Money, Performance, Price, Ratio, Span};

use super::valuation::BidFactor;

/// What bids and asks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Valuation {
    /// The paper's amounts, of whole jobs and whole waits.
    Paper,
    /// Per second of a reference processor.
    Unit,
}

impl Valuation {
    /// Both, with their names on the command line.
    pub const ALL: [(Valuation, &'static str); 2] =
        [(Valuation::Paper, "paper"), (Valuation::Unit, "unit")];
}

/// H_i · v/(n·e) · (1 + age/(d − t)): the value of each of `size`, processors and seconds on the
/// reference node, and more the nearer the deadline and the longer the job has waited. `when` is
/// d − t, counted as a second at least, and the age t − s.
pub(super) fn bid(value: Money, factor: BidFactor, size: (u32, Span), when: (Span, Span)) -> i128 {
    let (left, waited) = (i128::from(when.0.0.max(1)), i128::from(when.1.0));
    let seconds = i128::from(size.0) * i128::from(size.1.0.max(1));
    let scaled = factor.scale(value).saturating_mul(left + waited);
    scaled / seconds.saturating_mul(BidFactor::WHOLE * left)
}

/// O_k · c/f · (1 + l) · (1 + w/τ): what the queue wants for a second of a reference processor, twice
/// as much if it is full, and as much again for every `wait.1` of the wait `wait.0`. `load` is how
/// many of how many processors are occupied. Never zero for a priced queue but by rounding.
pub(super) fn ask(
    factor: Ratio,
    price: Price,
    performance: Performance,
    wait: (Span, Span),
    load: (i64, u32),
) -> i128 {
    let (occupied, nodes) = (i128::from(load.0), i128::from(load.1.max(1)));
    let (wait, tau) = (i128::from(wait.0.0), i128::from(wait.1.0.max(1)));
    let parts = i128::from(factor.thousandths()) * (nodes + occupied);
    let scaled = i128::from(price.0).saturating_mul(parts);
    let whole = i128::from(performance.thousandths()) * nodes * tau;
    scaled.saturating_mul(tau.saturating_add(wait)) / whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bids_are_per_processor_and_second() {
        let bid = |credits, size: (u32, i64), left, waited| {
            let when = (Span(left), Span(waited));
            let one = BidFactor::new(Ratio::ONE, None);
            super::bid(Money::credits(credits), one, (size.0, Span(size.1)), when)
        };
        let credits = |credits| i128::from(Money::credits(credits).0);
        assert_eq!(bid(100, (5, 10), 50, 0), credits(2));
        assert_eq!(bid(100, (5, 10), 50, 25), credits(3));
        assert_eq!(bid(100, (5, 10), 50, 100), credits(6));
        assert_eq!(bid(100, (1, 0), 0, 1), credits(200), "late, and no time at all");
        assert_eq!(bid(1, (1_000, 2_001), 9, 0), 0, "rounded down");
        let size = (u32::MAX, Span::MAX);
        let one = BidFactor::new(Ratio::ONE, None);
        assert!(super::bid(Money::MAX, one, size, (Span::MAX, Span::MAX)) >= 0);
    }

    #[test]
    fn asks_are_never_zero_where_there_is_a_price() {
        let ask = |credits, thousandths, wait, load| {
            let performance = Performance::from_thousandths(thousandths).unwrap();
            let price = Price::credits(credits);
            super::ask(Ratio::ONE, price, performance, (Span(wait), Span(60)), load)
        };
        let credits = |credits| i128::from(Money::credits(credits).0);
        assert_eq!(ask(3, 1_000, 0, (0, 4)), credits(3));
        assert_eq!(ask(3, 1_500, 0, (0, 4)), credits(2));
        assert_eq!(ask(4, 1_000, 0, (2, 4)), credits(6));
        assert_eq!(ask(4, 1_000, 30, (4, 4)), credits(12));
        assert_eq!(ask(0, 1_000, 30, (4, 4)), 0);
        assert!(ask(1 << 40, 1, 1 << 60, (1 << 24, 1 << 24)) > 0);
    }
}
