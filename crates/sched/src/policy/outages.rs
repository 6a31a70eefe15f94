//! Closures as one set of books believes in them.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Outage, OutageId, PoolId, Time};

use super::backfill::expected_span;

/// Nodes of a pool that are taken in a profile during `[from, until)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) pool: PoolId,
    pub(super) nodes: u32,
    pub(super) from: Time,
    pub(super) until: Time,
}

#[derive(Debug, Clone, Copy)]
struct Absence {
    what: Outage,
    /// Whether the nodes are gone.
    begun: bool,
    /// What the books have taken for it.
    taken: Taken,
}

/// Closures that are not over.
///
/// An owner may be done sooner than announced, or later, or begin at another moment. Nodes that are
/// gone are missing from now on, whatever was announced; if they should have been back by now, the
/// closure is expected to last for twice as long as believed so far, like jobs that outlive their
/// estimates.
#[derive(Debug, Clone, Default)]
pub(super) struct Outages {
    all: BTreeMap<OutageId, Absence>,
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
        let Outage { pool, nodes, from, until, .. } = what;
        let taken = Taken { pool, nodes, from: from.max(now), until };
        self.all.insert(id, Absence { what, begun: false, taken });
        taken
    }

    /// They are gone; what to take besides, if they went before their time.
    pub(super) fn closed(&mut self, id: OutageId, now: Time) -> Option<Taken> {
        let absence = self.all.get_mut(&id)?;
        absence.begun = true;
        self.due.insert((absence.taken.until, id));
        let early = Taken { from: now, until: absence.taken.from, ..absence.taken };
        absence.taken.from = absence.taken.from.min(now);
        (early.from < early.until).then_some(early)
    }

    /// They are back; what to give, if that is sooner than expected.
    pub(super) fn reopened(&mut self, id: OutageId, now: Time) -> Option<(PoolId, Option<Taken>)> {
        let Absence { taken, .. } = self.all.remove(&id)?;
        self.due.remove(&(taken.until, id));
        let left = Taken { from: taken.from.max(now), ..taken };
        Some((taken.pool, (left.from < left.until).then_some(left)))
    }

    /// When the first nodes are expected back that are gone.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.due.first().map(|(until, _)| *until)
    }

    /// When the first closure would end that was announced and has not begun: its nodes are
    /// reckoned with until then, and nobody says that they are there after all.
    pub(super) fn next_unsaid_end(&self, now: Time) -> Option<Time> {
        let quiet = self.all.values().filter(|absence| !absence.begun);
        quiet.map(|absence| absence.taken.until).filter(|until| *until > now).min()
    }

    /// Whether nodes are gone that should have been back by now.
    pub(super) fn overdue(&self, now: Time) -> bool {
        self.next_due().is_some_and(|until| until <= now)
    }

    /// Believes anew in one closure that is overdue; what to take.
    pub(super) fn extend_one(&mut self, now: Time) -> Option<Taken> {
        let (until, id) = self.due.first().copied().filter(|(until, _)| *until <= now)?;
        self.due.remove(&(until, id));
        let absence = self.all.get_mut(&id)?;
        absence.renew(now);
        self.due.insert((absence.taken.until, id));
        Some(absence.taken)
    }

    /// Believes anew in all of them; what to take.
    pub(super) fn anew(&mut self, now: Time) -> impl Iterator<Item = Taken> + '_ {
        self.due.clear();
        let Outages { all, due } = self;
        all.iter_mut().map(move |(id, absence)| {
            absence.renew(now);
            if absence.begun {
                due.insert((absence.taken.until, *id));
            }
            absence.taken
        })
    }
}

impl Absence {
    fn renew(&mut self, now: Time) {
        let Outage { from, until, .. } = self.what;
        (self.taken.from, self.taken.until) = match self.begun {
            true => (now, from + expected_span(until - from, now - from)),
            false => (from.max(now), until),
        };
    }
}

#[cfg(test)]
mod tests {
    use tradewind_model::Cause;

    use super::*;

    const ID: OutageId = OutageId(0);

    fn announced(from: i64, until: i64, now: i64) -> Outages {
        let (from, until) = (Time(from), Time(until));
        let what = Outage { pool: PoolId(0), nodes: 2, from, until, cause: Cause::Local };
        let mut absences = Outages::default();
        absences.announced(ID, what, Time(now));
        absences
    }

    fn times(taken: Taken) -> (i64, i64) {
        (taken.from.0, taken.until.0)
    }

    #[test]
    fn whoever_overstays_is_expected_to_need_twice_as_long() {
        let mut absences = announced(10, 20, 0);
        assert!(absences.closed(ID, Time(10)).is_none());
        assert!(!absences.overdue(Time(19)) && absences.extend_one(Time(19)).is_none());
        assert_eq!(absences.extend_one(Time(20)).map(times), Some((20, 30)));
        assert_eq!(absences.next_due(), Some(Time(30)));
        assert_eq!(absences.anew(Time(35)).map(times).collect::<Vec<_>>(), [(35, 50)]);
        let (_, left) = absences.reopened(ID, Time(36)).unwrap();
        assert_eq!(left.map(times), Some((36, 50)));
        assert!(absences.is_empty() && absences.next_due().is_none());
    }

    #[test]
    fn whoever_comes_early_is_there_at_once_and_whoever_does_not_come_stays_away() {
        let mut absences = announced(10, 20, 0);
        assert_eq!(absences.closed(ID, Time(4)).map(times), Some((4, 10)));
        assert_eq!(absences.reopened(ID, Time(6)).unwrap().1.map(times), Some((6, 20)));
        let mut never = announced(10, 20, 0);
        assert!(!never.overdue(Time(25)));
        assert!(never.anew(Time(25)).all(|taken| taken.from >= taken.until));
        never.closed(ID, Time(26));
        assert!(never.overdue(Time(26)), "late, but gone");
    }
}
