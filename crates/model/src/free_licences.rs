//! What is free of licences over time.

use std::sync::Arc;

use crate::{Grid, Horizon, Level, Licence, LicenceId, LicenceShare, Profile, Span, Time};

/// How many of each licence are free, as steps over time. Beside a
/// [`SlotList`](crate::SlotList), whose windows take theirs out of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FreeLicences {
    /// By licence.
    free: Vec<Profile>,
}

impl FreeLicences {
    /// All licences, free from `from` on.
    pub fn new(licences: &[Licence], from: Time) -> FreeLicences {
        let all = licences.iter().map(|licence| Profile::new(licence.count, from));
        FreeLicences { free: all.collect() }
    }

    /// What is free of each, by licence.
    pub fn of(free: Vec<Profile>) -> FreeLicences {
        FreeLicences { free }
    }

    /// Takes the share during `[start, end)`, whether so many are free or not. O(log n) for n
    /// steps. A licence that is not there is of no account.
    pub fn take(&mut self, share: LicenceShare, start: Time, end: Time) {
        if let Some(free) = self.free.get_mut(share.licence.index()) {
            free.take(share.count, start, end);
        }
    }

    /// The first licence of which more is taken at some moment than there is.
    pub fn overdrawn(&self) -> Option<LicenceId> {
        let is_short = |(_, free): &(u32, &Profile)| free.lowest() < 0;
        (0..).zip(&self.free).find(is_short).map(|(id, _)| LicenceId(id))
    }

    /// The first of the shares that is not free throughout `span` from `start` on. O(k log n) for
    /// k shares and n steps.
    pub fn lacking(
        &self,
        shares: &[LicenceShare],
        start: Time,
        span: Span,
    ) -> Option<LicenceShare> {
        let fits = |share: &LicenceShare| {
            let free = self.free.get(share.licence.index());
            free.is_some_and(|free| free.origin() <= start && free.fits(share.count, start, span))
        };
        shares.iter().find(|share| !fits(share)).copied()
    }

    /// The longest intervals `[start, end)` in which all of the shares are free, in order; the last
    /// may end at [`Time::INFINITY`]. None if a licence is not there. O(k · n) for k shares and n
    /// steps.
    pub fn intervals(&self, shares: &[LicenceShare]) -> Vec<(Time, Time)> {
        let mut all = vec![(Time(i64::MIN), Time::INFINITY)];
        for share in shares {
            let Some(free) = self.free.get(share.licence.index()) else { return Vec::new() };
            all = common(&all, &enough(free, share.count));
        }
        all
    }

    /// How many of the licence are free from its first moment on: the level then, and each moment
    /// at which it changes before `until`. Empty if it is not there.
    pub fn levels(&self, licence: LicenceId, until: Time) -> Vec<Level> {
        let mut levels = Vec::new();
        if let Some(free) = self.free.get(licence.index()) {
            free.levels(free.origin(), until, &mut levels);
        }
        levels
    }
}

/// The longest intervals in which so many are free.
fn enough(free: &Profile, count: u32) -> Vec<(Time, Time)> {
    let mut levels = Vec::new();
    free.levels(free.origin(), Time::INFINITY, &mut levels);
    let ends = levels.iter().skip(1).map(|level| level.at).chain([Time::INFINITY]);
    let mut all: Vec<(Time, Time)> = Vec::new();
    for (level, end) in levels.iter().zip(ends).filter(|(it, _)| it.free >= i64::from(count)) {
        match all.last_mut() {
            Some(last) if last.1 == level.at => last.1 = end,
            _ => all.push((level.at, end)),
        }
    }
    all
}

/// What lies in an interval of both.
fn common(one: &[(Time, Time)], other: &[(Time, Time)]) -> Vec<(Time, Time)> {
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while let (Some(a), Some(b)) = (one.get(i), other.get(j)) {
        let both = (a.0.max(b.0), a.1.min(b.1));
        if both.0 < both.1 {
            all.push(both);
        }
        match a.1 < b.1 {
            true => i += 1,
            false => j += 1,
        }
    }
    all
}

impl Grid {
    /// The same grid where jobs take licences along.
    #[must_use]
    pub fn with_licences(mut self, licences: Vec<Licence>) -> Grid {
        self.licences = (!licences.is_empty()).then(|| Arc::from(licences));
        self
    }

    /// All licences, by id.
    pub fn licences(&self) -> &[Licence] {
        self.licences.as_deref().unwrap_or_default()
    }

    /// What the shares cost in a second together, in micro-credits. Licences that are not there cost
    /// nothing, and no window has them.
    pub fn licences_per_second(&self, shares: &[LicenceShare]) -> i128 {
        let known = shares.iter().filter(|share| share.licence.index() < self.licences().len());
        let known: Vec<LicenceShare> = known.copied().collect();
        crate::licences_per_second(self.licences(), &known)
    }

    /// What all licences cost over the whole horizon together, in micro-credits.
    pub(crate) fn dearest_licences(&self, horizon: Horizon) -> i128 {
        let of = |it: &Licence| i128::from(it.price.0).saturating_mul(i128::from(it.count));
        let per_second = self.licences().iter().map(of).fold(0, i128::saturating_add);
        per_second.saturating_mul(i128::from(horizon.span().0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Price;

    fn share(licence: u32, count: u32) -> LicenceShare {
        LicenceShare { licence: LicenceId(licence), count }
    }

    fn free() -> FreeLicences {
        let licence = |count| Licence { name: format!("of {count}"), count, price: Price(0) };
        let mut free = FreeLicences::new(&[licence(4), licence(2)], Time(0));
        free.take(share(0, 1), Time(10), Time(30));
        free.take(share(0, 2), Time(20), Time(25));
        free.take(share(1, 2), Time(0), Time(5));
        free
    }

    #[test]
    fn intervals_are_those_in_which_all_shares_are_free() {
        let free = free();
        let spans = |shares: &[LicenceShare]| -> Vec<(i64, i64)> {
            free.intervals(shares).into_iter().map(|(start, end)| (start.0, end.0)).collect()
        };
        let ever = Time::INFINITY.0;
        assert_eq!(spans(&[share(0, 1)]), [(0, ever)]);
        assert_eq!(spans(&[share(0, 3)]), [(0, 20), (25, ever)]);
        assert_eq!(spans(&[share(0, 4)]), [(0, 10), (30, ever)]);
        assert_eq!(spans(&[share(0, 4), share(1, 1)]), [(5, 10), (30, ever)]);
        assert_eq!(spans(&[share(0, 5)]), []);
        assert_eq!(spans(&[share(2, 1)]), []);
    }

    #[test]
    fn what_is_lacking_is_named() {
        let mut free = free();
        assert_eq!(free.lacking(&[share(0, 3), share(1, 2)], Time(5), Span(15)), None);
        assert_eq!(free.lacking(&[share(0, 3)], Time(5), Span(16)), Some(share(0, 3)));
        assert_eq!(free.lacking(&[share(0, 1), share(1, 1)], Time(4), Span(1)), Some(share(1, 1)));
        assert_eq!(free.lacking(&[share(0, 1)], Time(-1), Span(1)), Some(share(0, 1)));
        assert_eq!(free.overdrawn(), None);
        free.take(share(1, 1), Time(4), Time(6));
        assert_eq!(free.overdrawn(), Some(LicenceId(1)));
    }
}
