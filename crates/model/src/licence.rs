//! What is counted across clusters and no node: licences of software, tokens of a service.

use std::sync::Arc;

use crate::{Money, Price, Span};

/// A licence's place among all of its market or scenario, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LicenceId(pub u32);

impl LicenceId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thing of which jobs take some along, wherever they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Licence {
    /// Unique among all licences.
    pub name: String,
    /// How many there are, at least 1.
    pub count: u32,
    /// Per licence and second.
    pub price: Price,
}

/// So many of one licence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LicenceShare {
    /// Id of the licence.
    pub licence: LicenceId,
    /// How many, at least 1.
    pub count: u32,
}

/// What a job takes along from its start until its last task has ended: ascending by licence, each
/// once. `None`: nothing, as most jobs.
pub type LicenceShares = Option<Arc<[LicenceShare]>>;

/// What the shares cost in one second together, in micro-credits. Panics if a licence is not there.
pub fn licences_per_second(licences: &[Licence], shares: &[LicenceShare]) -> i128 {
    let of = |share: &LicenceShare| {
        i128::from(licences[share.licence.index()].price.0) * i128::from(share.count)
    };
    shares.iter().map(of).sum()
}

/// What the shares cost for so long, at most [`Money::MAX`].
pub fn licences_cost(licences: &[Licence], shares: &[LicenceShare], span: Span) -> Money {
    let amount = licences_per_second(licences, shares).saturating_mul(i128::from(span.0.max(0)));
    Money(amount.min(i128::from(Money::MAX.0)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cost_by_number_and_second() {
        let licence =
            |name: &str, price| Licence { name: name.into(), count: 9, price: Price(price) };
        let all = [licence("abaqus", 5), licence("token", 0), licence("matlab", 100)];
        let share = |licence, count| LicenceShare { licence: LicenceId(licence), count };
        let shares = [share(0, 3), share(1, 8), share(2, 1)];
        assert_eq!(licences_per_second(&all, &shares), 115);
        assert_eq!(licences_cost(&all, &shares, Span(60)), Money(6_900));
        assert_eq!(licences_cost(&all, &[share(2, 1)], Span(i64::MAX / 50)), Money::MAX);
    }
}
