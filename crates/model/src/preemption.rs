//! Jobs whose nodes may be taken away for those who come first, and what is left of their work.
//!
//! A site gives such a job notice, and takes its nodes at the end of that time. The job waits again in
//! its old place, and asks for what is left: [`RunCut`] says how much of a run counts.

use crate::{Demand, Money, Performance, Place, Pools, Share, SiteId, Span, Time, Times};

/// When a job writes down how far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checkpoint {
    /// It does not: each run begins from the start.
    #[default]
    Never,
    /// So often, in seconds of the clock since the work of the run began; at least 1 s.
    Every(Span),
    /// When it is given notice. Without time for that it keeps nothing.
    OnNotice,
}

/// A job whose nodes may be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preemptible {
    /// What it keeps.
    pub checkpoint: Checkpoint,
    /// How long a run takes to go on from what was kept, counted as the job's estimate is.
    pub restart: Span,
    /// What earlier runs have left to the present one, counted as the estimate is. If there is
    /// anything, the estimate is that of the rest, [`Preemptible::restart`] included.
    pub kept: Span,
}

/// How a site takes nodes back from preemptible jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preemption {
    /// How long before.
    pub notice: Span,
    /// What such a job pays less, in thousandths of the list price.
    pub discount: u32,
}

impl Preemption {
    /// Nothing is left to pay.
    pub const FREE: u32 = 1_000;

    /// A price or an amount after the discount, rounded down.
    pub fn reduced(self, amount: i64) -> i64 {
        let left = i128::from(Self::FREE - self.discount.min(Self::FREE));
        (i128::from(amount) * left / i128::from(Self::FREE)) as i64
    }
}

/// A running job was told that its nodes will be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// When it was told.
    pub given: Time,
    /// When it leaves its nodes at the latest.
    pub leaves: Time,
}

/// What counts of a run that ends before its job is done. Times of the clock, from the start of the
/// run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunCut {
    /// For so long its data was brought, and it went on from what was kept before.
    pub restart: Span,
    /// So much of what it did after that is kept; if none is, the restart is lost, too.
    pub useful: Span,
    /// The same, counted as the job's estimate is.
    pub progress: Span,
}

impl RunCut {
    /// For how long the nodes are paid: without progress, not at all.
    pub fn paid(&self) -> Span {
        match self.progress > Span::ZERO {
            true => self.restart + self.useful,
            false => Span::ZERO,
        }
    }
}

impl Pools {
    /// The same pools, whose sites take nodes back like this; by site. Sites beyond the end have no
    /// notice and no discount.
    pub fn with_preemption(mut self, of: Vec<Preemption>) -> Pools {
        let any = of.iter().any(|it| *it != Preemption::default());
        self.preemption = any.then(|| of.into());
        self
    }

    /// How a site takes nodes back.
    pub fn preemption(&self, site: SiteId) -> Preemption {
        let of = self.preemption.as_ref().and_then(|of| of.get(site.0 as usize));
        of.copied().unwrap_or_default()
    }

    /// The longest notice among the sites of a place.
    pub fn notice(&self, place: &Place, processors: u32) -> Span {
        let notice = |pool| self.preemption(self.pool(pool).site).notice;
        place.shares(processors).map(|share| notice(share.pool)).max().unwrap_or_default()
    }
}

/// The most work that a task does in `length` of the clock.
fn work_done(times: Times, performance: Performance, length: Span) -> Span {
    match times {
        Times::Wall => length,
        Times::Work => {
            let done = i128::from(length.0) * i128::from(performance.thousandths()) / 1_000;
            Span(i64::try_from(done).unwrap_or(Span::MAX.0))
        }
    }
}

impl Demand {
    /// Whether its nodes may be taken away.
    pub fn is_preemptible(&self) -> bool {
        self.terms().preemptible.is_some()
    }

    /// What would count of a run in this place, since `start`, that ends at `end` before the job is
    /// done. The slowest of its pools decides. Nothing of a job of several shapes.
    pub fn cut(
        &self,
        pools: &Pools,
        place: &Place,
        (start, end): (Time, Time),
        notice: Option<Notice>,
    ) -> RunCut {
        let Some(terms) = self.terms().preemptible.filter(|_| !self.is_moldable()) else {
            return RunCut::default();
        };
        let (mode, shares) = (self.mode(), || place.shares(self.processors));
        let again = if terms.kept > Span::ZERO { terms.restart } else { Span::ZERO };
        let before_work = |share: Share| {
            let pool = pools.pool(share.pool);
            pool.length_in(mode, again) + self.stage_in(pool.site)
        };
        let restart = shares().map(before_work).max().unwrap_or_default();
        let until = |at: Time| Span(((at - start).0 - restart.0).max(0));
        let useful = match (terms.checkpoint, notice) {
            (Checkpoint::Every(interval), _) => {
                let interval = interval.0.max(1);
                Span(until(end).0 / interval * interval)
            }
            (Checkpoint::OnNotice, Some(Notice { given, leaves }))
                if given < leaves && leaves <= end =>
            {
                until(given)
            }
            _ => Span::ZERO,
        };
        let done = |pool| {
            let pool = pools.pool(pool);
            work_done(mode.at(pool.times), pool.performance, useful)
        };
        let progress = shares().map(|share| done(share.pool)).min().unwrap_or_default();
        RunCut { restart: restart.min(end - start), useful, progress }
    }

    /// The same demand, of which so much is done: what [`Demand::cut`] of its next run needs to know.
    pub fn with_kept(&self, kept: Span) -> Demand {
        let Some(before) = self.terms().preemptible else { return self.clone() };
        let preemptible = Some(Preemptible { kept, ..before });
        let terms = crate::Terms { preemptible, ..self.terms().clone() };
        Demand { terms: Some(std::sync::Arc::new(terms)), ..self.clone() }
    }

    /// What the job asks for once so much more of it is done.
    pub(crate) fn after(&self, progress: Span) -> Option<Demand> {
        let before = self.terms().preemptible.filter(|_| progress > Span::ZERO)?;
        let again = if before.kept > Span::ZERO { Span::ZERO } else { before.restart };
        let rest = |span: Span| Span((span.0 - progress.0).max(1)) + again;
        let preemptible = Some(Preemptible { kept: before.kept + progress, ..before });
        let terms = crate::Terms { preemptible, ..self.terms().clone() };
        Some(Demand {
            estimate: rest(self.estimate),
            correction: self.correction.map(rest),
            expected: self.expected.map(rest),
            terms: Some(std::sync::Arc::new(terms)),
            ..self.clone()
        })
    }
}

/// What a site asks of a preemptible job, and of the others.
pub(crate) fn amount(preemption: Option<Preemption>, amount: Money) -> Money {
    preemption.map_or(amount, |it| Money(it.reduced(amount.0)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{PoolId, Terms, TimeMode};

    fn demand(checkpoint: Checkpoint, (restart, kept): (i64, i64), times: TimeMode) -> Demand {
        let preemptible =
            Some(Preemptible { checkpoint, restart: Span(restart), kept: Span(kept) });
        let terms = Some(Arc::new(Terms { preemptible, times, ..Terms::NONE }));
        Demand { terms, ..Demand::new(2, Span(1_000)) }
    }

    fn cut(demand: &Demand, end: i64, notice: Option<(i64, i64)>) -> (i64, i64, i64) {
        let half = Performance::from_thousandths(500).unwrap();
        let pool = crate::Pool { performance: half, ..Pools::cluster(4).as_slice()[0].clone() };
        let pools = Pools::new(Pools::cluster(1).sites().to_vec(), vec![pool]).unwrap();
        let notice =
            notice.map(|(given, leaves)| Notice { given: Time(given), leaves: Time(leaves) });
        let cut = demand.cut(&pools, &Place::Pool(PoolId(0)), (Time(100), Time(end)), notice);
        (cut.restart.0, cut.useful.0, cut.progress.0)
    }

    #[test]
    fn what_counts_of_a_run_is_what_was_written_down() {
        let every = demand(Checkpoint::Every(Span(60)), (10, 0), TimeMode::WORK);
        assert_eq!(cut(&every, 100 + 59, None), (0, 0, 0));
        assert_eq!(cut(&every, 100 + 130, None), (0, 120, 60), "half as fast");
        let again = demand(Checkpoint::Every(Span(60)), (10, 5), TimeMode::WORK);
        assert_eq!(cut(&again, 100 + 79, None), (20, 0, 0));
        assert_eq!(cut(&again, 100 + 80, None), (20, 60, 30));
        assert_eq!(cut(&again, 100 + 7, None), (7, 0, 0));
        let told = demand(Checkpoint::OnNotice, (10, 0), TimeMode::WALL);
        assert_eq!(cut(&told, 250, Some((200, 250))), (0, 100, 100));
        assert_eq!(cut(&told, 220, Some((200, 250))), (0, 0, 0), "it broke before");
        assert_eq!(cut(&told, 250, Some((250, 250))), (0, 0, 0), "no time to write");
        assert_eq!(cut(&told, 250, None), (0, 0, 0));
        let never = demand(Checkpoint::Never, (10, 0), TimeMode::WALL);
        assert_eq!(cut(&never, 900, Some((800, 900))), (0, 0, 0));
    }

    #[test]
    fn a_job_asks_for_the_rest_and_one_restart() {
        let first = demand(Checkpoint::Every(Span(60)), (10, 0), TimeMode::WORK);
        assert_eq!(first.after(Span::ZERO), None);
        let second = first.after(Span(300)).unwrap();
        assert_eq!(
            (second.estimate, second.terms().preemptible.unwrap().kept),
            (Span(710), Span(300))
        );
        let third = second.after(Span(700)).unwrap();
        assert_eq!(
            (third.estimate, third.terms().preemptible.unwrap().kept),
            (Span(10), Span(1_000))
        );
        assert_eq!(Demand::new(1, Span(5)).after(Span(1)), None);
    }

    #[test]
    fn a_discount_is_rounded_down() {
        let half = Preemption { discount: 500, ..Preemption::default() };
        assert_eq!([half.reduced(7), half.reduced(0)], [3, 0]);
        assert_eq!(Preemption { discount: 1_000, ..half }.reduced(7), 0);
        assert_eq!(Preemption::default().reduced(7), 7);
    }
}
