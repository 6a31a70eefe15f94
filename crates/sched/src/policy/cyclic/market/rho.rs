//! ρ by time and load: AMP's derived budgets are ρ times the market value (paper 001, section 6;
//! 002), and an administration sets ρ for the hour and for how busy the grid is.

use tradewind_model::{Market, Rho, Span, Time};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// ρ of those cycles that take place in some hours or under some load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RhoRule {
    /// From when to when of a day on the market's clock, past midnight if the first is later; always
    /// if `None`, or if both are the same.
    pub hours: Option<(Span, Span)>,
    /// From which part of all nodes that jobs or outages hold on, in thousandths; 0 is always.
    pub load: u32,
    /// The factor of derived budgets.
    pub rho: Rho,
}

impl RhoRule {
    fn holds(&self, now: Time, load: u32) -> bool {
        let hour = now.0.rem_euclid(DAY);
        let in_hours = self.hours.is_none_or(|(from, until)| match from < until {
            true => (from.0..until.0).contains(&hour),
            false => hour >= from.0 || hour < until.0,
        });
        in_hours && load >= self.load
    }
}

/// ρ of a cycle now: the first rule that holds, else the usual one.
pub(super) fn rho(rules: &[RhoRule], usual: Rho, market: &Market, now: Time) -> Rho {
    if rules.is_empty() {
        return usual;
    }
    let all = u64::from(market.processors().max(1));
    let held = u64::from(market.processors() - market.free());
    of(rules, usual, now, (held * 1_000 / all) as u32)
}

fn of(rules: &[RhoRule], usual: Rho, now: Time, load: u32) -> Rho {
    rules.iter().find(|rule| rule.holds(now, load)).map_or(usual, |rule| rule.rho)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_holds_counts() {
        let rho = |thousandths| Rho::from_thousandths(thousandths).unwrap();
        let hour = |hour: i64| Span(hour * 3_600);
        let rules = [
            RhoRule { hours: None, load: 900, rho: rho(500) },
            RhoRule { hours: Some((hour(18), hour(8))), load: 0, rho: rho(800) },
        ];
        let at = |hours: i64, load| of(&rules, rho(1_000), Time(hours * 3_600), load);
        assert_eq!([at(12, 899), at(12, 900), at(20, 1_000)], [rho(1_000), rho(500), rho(500)]);
        assert_eq!(
            [at(18, 0), at(23, 0), at(24 + 7, 0), at(8, 0)].map(Rho::thousandths),
            [800, 800, 800, 1_000]
        );
    }
}
