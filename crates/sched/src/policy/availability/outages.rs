//! Outages: nodes that are missing, or will be.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Outage, OutageId, Time};

use super::capacity::Taken;
use super::overrun::missing_time;

#[derive(Debug, Clone, Copy)]
struct KnownOutage {
    what: Outage,
    /// Whether the nodes are gone.
    begun: bool,
    /// What is taken for it.
    taken: Taken,
}

/// Outages that are not over, as they are believed in.
///
/// An owner may be done sooner than announced, or later, or begin at another moment; see
/// [`missing_time`].
#[derive(Debug, Clone, Default)]
pub(super) struct Outages {
    all: BTreeMap<OutageId, KnownOutage>,
    /// Of those that have begun: when their nodes are expected back.
    due: BTreeSet<(Time, OutageId)>,
}

impl Outages {
    /// Whether no node is missing, now or later.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Nodes will be missing; what to take.
    pub(super) fn announced(&mut self, id: OutageId, what: Outage, now: Time) -> Taken {
        let (from, until) = missing_time(&what, false, now);
        let taken = Taken::new(what.pool, what.nodes, from, until);
        self.all.insert(id, KnownOutage { what, begun: false, taken });
        taken
    }

    /// They are gone; what to take besides, if they went before their time.
    pub(super) fn closed(&mut self, id: OutageId, now: Time) -> Option<Taken> {
        let outage = self.all.get_mut(&id)?;
        outage.begun = true;
        self.due.insert((outage.taken.until, id));
        let early = Taken { from: now, until: outage.taken.from, ..outage.taken };
        outage.taken.from = outage.taken.from.min(now);
        (early.from < early.until).then_some(early)
    }

    /// They are back; what to give, if that is sooner than expected. `None`: the outage is not
    /// known.
    pub(super) fn reopened(&mut self, id: OutageId, now: Time) -> Option<Option<Taken>> {
        let KnownOutage { taken, .. } = self.all.remove(&id)?;
        self.due.remove(&(taken.until, id));
        let left = Taken { from: taken.from.max(now), ..taken };
        Some((left.from < left.until).then_some(left))
    }

    /// When the first nodes are expected back that are gone.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(until, _)| *until)
    }

    /// When the first outage would end that was announced and has not begun: its nodes are
    /// expected to be missing until then, and no event says that they are available after all.
    pub(super) fn next_unsaid_end(&self, now: Time) -> Option<Time> {
        let quiet = self.all.values().filter(|outage| !outage.begun);
        quiet.map(|outage| outage.taken.until).filter(|until| *until > now).min()
    }

    /// Works all of them out again; what to take.
    pub(super) fn renew(&mut self, now: Time) -> impl Iterator<Item = Taken> + '_ {
        self.due.clear();
        let Outages { all, due } = self;
        all.iter_mut().map(move |(id, outage)| {
            outage.renew(now);
            if outage.begun {
                due.insert((outage.taken.until, *id));
            }
            outage.taken
        })
    }
}

impl KnownOutage {
    fn renew(&mut self, now: Time) {
        (self.taken.from, self.taken.until) = missing_time(&self.what, self.begun, now);
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::{Cause, PoolId};

    use super::*;

    const ID: OutageId = OutageId(0);

    fn announced(from: i64, until: i64, now: i64) -> Outages {
        let (from, until) = (Time(from), Time(until));
        let what = Outage { pool: PoolId(0), nodes: 2, from, until, cause: Cause::Local };
        let mut outages = Outages::default();
        outages.announced(ID, what, Time(now));
        outages
    }

    fn times(taken: Taken) -> (i64, i64) {
        (taken.from.0, taken.until.0)
    }

    #[test]
    fn an_outage_that_overruns_is_expected_to_last_twice_as_long() {
        let mut outages = announced(10, 20, 0);
        assert!(outages.closed(ID, Time(10)).is_none());
        assert_eq!(outages.next_due(), Some(Time(20)));
        assert_eq!(outages.renew(Time(20)).map(times).collect::<Vec<_>>(), [(20, 30)]);
        assert_eq!(outages.next_due(), Some(Time(30)));
        assert_eq!(outages.renew(Time(35)).map(times).collect::<Vec<_>>(), [(35, 50)]);
        let left = outages.reopened(ID, Time(36)).unwrap();
        assert_eq!(left.map(times), Some((36, 50)));
        assert!(outages.is_empty() && outages.next_due().is_none());
    }

    #[test]
    fn an_outage_may_begin_early_and_one_that_does_not_begin_is_still_expected() {
        let mut outages = announced(10, 20, 0);
        assert_eq!(outages.closed(ID, Time(4)).map(times), Some((4, 10)));
        assert_eq!(outages.reopened(ID, Time(6)).unwrap().map(times), Some((6, 20)));
        let mut never = announced(10, 20, 0);
        assert_eq!(never.next_due(), None);
        assert!(never.renew(Time(25)).all(|taken| taken.from >= taken.until));
        never.closed(ID, Time(26));
        assert_eq!(never.next_due(), Some(Time(20)), "late, but gone");
    }
}
