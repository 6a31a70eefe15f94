//! What holds when: prices, offers and policies by hours and by load.
//!
//! Pure functions of a moment and a zone; nothing here looks at a clock.

#[cfg(test)]
mod tests;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use tradewind_model::{Price, Series, Span, Time};

use super::{Hours, Market, Pool};

/// Days in which every weekly rule begins or ends at least once, also if a change of clocks
/// skips one of its hours.
const DAYS: i64 = 16;
/// After so long the hours of a week come again.
const WEEK: Span = Span(7 * 86_400);

/// Rules in order: the first whose hours and load hold counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule<T> {
    /// In the order of the file.
    pub rules: Vec<Rule<T>>,
}

impl<T> Default for Schedule<T> {
    fn default() -> Schedule<T> {
        Schedule { rules: Vec::new() }
    }
}

/// What holds at some hours and loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<T> {
    /// On the zone's clock.
    pub hours: Hours,
    /// The part of nodes that are in use.
    pub load: LoadRange,
    /// The value while the rule applies.
    pub value: T,
}

/// Loads in thousandths, `from` included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadRange {
    /// Lowest load in the range.
    pub from: u32,
    /// Less than; `None`: however high.
    pub below: Option<u32>,
}

impl LoadRange {
    /// Whatever the load is.
    pub const ANY: LoadRange = LoadRange { from: 0, below: None };

    /// As in a configuration: `>=0.75`, `<0.5` or `0.5-0.75`; nothing if all loads are.
    pub fn text(self) -> String {
        let share = |it: u32| {
            let digits = format!("{}.{:03}", it / 1_000, it % 1_000);
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match (self.from, self.below) {
            (0, None) => String::new(),
            (from, None) => format!(">={}", share(from)),
            (0, Some(below)) => format!("<{}", share(below)),
            (from, Some(below)) => format!("{}-{}", share(from), share(below)),
        }
    }

    /// Whether `thousandths` is among them.
    pub fn holds(self, thousandths: u32) -> bool {
        thousandths >= self.from && self.below.is_none_or(|below| thousandths < below)
    }
}

/// Nodes that are not offered from one moment until another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withheld {
    /// First second.
    pub from: Time,
    /// First second behind it.
    pub until: Time,
    /// How many, at least 1.
    pub nodes: u32,
}

/// The civil time of `at`.
fn civil(at: Time, zone: &TimeZone) -> DateTime {
    // Beyond the calendar nothing is planned: any of its moments will do.
    let moment = Timestamp::from_second(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    zone.to_datetime(moment)
}

impl<T> Schedule<T> {
    /// What holds at `at` under a load in thousandths, if a rule does.
    pub fn at(&self, at: Time, load: u32, zone: &TimeZone) -> Option<&T> {
        let civil = civil(at, zone);
        let holds = |rule: &&Rule<T>| rule.load.holds(load) && rule.hours.hold(civil);
        self.rules.iter().find(holds).map(|rule| &rule.value)
    }

    /// The next moment after `at` at which the hours of some rule begin or end; `None` if none
    /// ever does. Linear in the rules, times a few weeks of days.
    pub fn next_change(&self, at: Time, zone: &TimeZone) -> Option<Time> {
        let holding = |at: Time| -> Vec<bool> {
            let civil = civil(at, zone);
            self.rules.iter().map(|rule| rule.hours.hold(civil)).collect()
        };
        let now = holding(at);
        let mut moments = self.moments(at, zone);
        moments.sort_unstable();
        moments.into_iter().find(|&moment| moment > at && holding(moment) != now)
    }

    /// All moments of the next weeks at which hours might begin or end, in no order: the edges of
    /// every day, each as before and as after a change of clocks, and the changes themselves.
    fn moments(&self, at: Time, zone: &TimeZone) -> Vec<Time> {
        let time = |it: Timestamp| Time(it.as_second());
        let mut edges: Vec<u16> = self.rules.iter().flat_map(|rule| rule.hours.edges()).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut moments = Vec::new();
        let today = civil(at, zone).date();
        for day in (-1..=DAYS).filter_map(|days| today.checked_add(days.days()).ok()) {
            for edge in &edges {
                let civil = day.at((edge / 60) as i8, (edge % 60) as i8, 0, 0);
                let ambiguous = zone.to_ambiguous_timestamp(civil);
                moments.extend(ambiguous.earlier().ok().map(time));
                moments.extend(ambiguous.later().ok().map(time));
            }
        }
        let begin = Timestamp::from_second(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
        let last = at.0 + DAYS * 86_400;
        let changes = zone.following(begin).map(|change| time(change.timestamp()));
        moments.extend(changes.take_while(|change| change.0 <= last));
        moments
    }
}

impl Market {
    /// The policy that decides at `at` under a load in thousandths.
    pub fn policy_at(&self, at: Time, load: u32, zone: &TimeZone) -> &str {
        self.rules.at(at, load, zone).unwrap_or(&self.policy)
    }
}

impl Pool {
    /// What a node costs per second at `at`, if `load` thousandths of the pool are in use.
    pub fn price_at(&self, at: Time, load: u32, zone: &TimeZone) -> Price {
        self.prices.at(at, load, zone).copied().unwrap_or(self.price)
    }

    /// The price by the hours of the week from `from` on while the load stays, again and again every
    /// week; `None` if it is one price, or beyond [`Series::MAX`]. A change of clocks after the first
    /// week is not in it.
    pub fn weekly_prices(&self, from: Time, load: u32, zone: &TimeZone) -> Option<Series> {
        let mut moments = self.prices.moments(from, zone);
        moments.retain(|at| from < *at && *at < from + WEEK);
        moments.sort_unstable();
        let mut steps = vec![(from, self.price_at(from, load, zone).0)];
        for at in moments {
            let price = self.price_at(at, load, zone).0;
            if steps.last().is_some_and(|(_, last)| *last != price) {
                steps.push((at, price));
            }
        }
        let series = Series::new(&steps).ok().filter(|_| steps.len() > 1)?;
        series.repeated(WEEK).ok()
    }

    /// The nodes that are offered at `at`: the part of them that holds then, rounded down.
    pub fn offered_at(&self, at: Time, zone: &TimeZone) -> u32 {
        if self.offers.rules.is_empty() {
            return self.nodes;
        }
        let share = self.offers.at(at, 0, zone).copied().unwrap_or(0);
        (u64::from(self.nodes) * u64::from(share.min(1_000)) / 1_000) as u32
    }

    /// The next moment after `at` at which price or offer may change by the clock.
    pub fn next_change(&self, at: Time, zone: &TimeZone) -> Option<Time> {
        let both = [self.prices.next_change(at, zone), self.offers.next_change(at, zone)];
        both.into_iter().flatten().min()
    }

    /// What is not offered within `[from, until)`: ascending, apart from each other or of
    /// different sizes.
    pub fn withheld(&self, from: Time, until: Time, zone: &TimeZone) -> Vec<Withheld> {
        let mut all: Vec<Withheld> = Vec::new();
        let mut at = from;
        while at < until {
            let next = self.offers.next_change(at, zone).unwrap_or(until).min(until);
            let nodes = self.nodes - self.offered_at(at, zone);
            match all.last_mut() {
                Some(last) if last.until == at && last.nodes == nodes => last.until = next,
                _ if nodes > 0 => all.push(Withheld { from: at, until: next, nodes }),
                _ => {}
            }
            at = next;
        }
        all
    }
}
