//! What jobs keep that lose their nodes, worked out from the events alone.

use std::collections::BTreeMap;

use tradewind_model::{
    Checkpoint, Event, JobId, Market, PoolId, Preemptible, Span, Time, TimeMode, Times,
};

/// A preemptible job.
#[derive(Debug)]
struct CutJob {
    terms: Preemptible,
    mode: TimeMode,
    tasks: u32,
    /// All that is done, counted as its estimate is.
    done: i64,
    /// Of its present run.
    start: Time,
    /// How long its data came before its work began.
    staged: Span,
    pools: Vec<PoolId>,
    told: Option<(Time, Time)>,
}

/// What is left of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KeptPart {
    /// Seconds from its start that are paid.
    pub(super) paid: i64,
    pub(super) progress: i64,
}

/// All preemptible jobs.
#[derive(Debug, Default)]
pub(super) struct Cuts(BTreeMap<JobId, CutJob>);

impl CutJob {
    fn length(&self, market: &Market, pool: PoolId, span: i64) -> i64 {
        let pool = market.pools().pool(pool);
        match self.mode.at(pool.times) {
            Times::Wall => span,
            Times::Work => pool.performance.length_of(Span(span)).0,
        }
    }

    /// The most work that takes no longer than this anywhere.
    fn work(&self, market: &Market, length: i64) -> i64 {
        let in_pool = |pool: &PoolId| {
            let pool = market.pools().pool(*pool);
            match self.mode.at(pool.times) {
                Times::Wall => length,
                Times::Work => length * i64::from(pool.performance.thousandths()) / 1_000,
            }
        };
        self.pools.iter().map(in_pool).min().unwrap_or(0)
    }

    fn kept(&self, market: &Market) -> KeptPart {
        let again = |pool: &PoolId| self.length(market, *pool, self.terms.restart.0);
        let again = self.pools.iter().map(again).max().filter(|_| self.done > 0).unwrap_or(0);
        let again = again + self.staged.0;
        let since = |at: Time| ((at - self.start).0 - again).max(0);
        let useful = match (self.terms.checkpoint, self.told) {
            (Checkpoint::Every(interval), _) => {
                let mut written = 0;
                while written + interval.0.max(1) <= since(market.now()) {
                    written += interval.0.max(1);
                }
                written
            }
            (Checkpoint::OnNotice, Some((told, leaves)))
                if leaves == market.now() && told < leaves =>
            {
                since(told)
            }
            _ => 0,
        };
        let progress = self.work(market, useful);
        KeptPart { paid: if progress > 0 { again + useful } else { 0 }, progress }
    }
}

impl Cuts {
    /// Follows the event; what is left of the run that it ends, if it interrupts a preemptible job.
    pub(super) fn follow(&mut self, market: &Market, event: &Event) -> Option<KeptPart> {
        match event {
            Event::Submitted { job, demand } if !demand.is_moldable() => {
                let terms = demand.terms().preemptible?;
                let (mode, tasks, start) = (demand.mode(), demand.processors, market.now());
                let (done, pools, told) = (0, Vec::new(), None);
                let staged = Span::ZERO;
                let entry = CutJob { terms, mode, tasks, done, start, staged, pools, told };
                self.0.insert(*job, entry);
            }
            Event::Started { job, place } => {
                let of = self.0.get_mut(job)?;
                of.pools = place.shares(of.tasks).map(|share| share.pool).collect();
                let site = |pool: &PoolId| market.pools().pool(*pool).site;
                let stage_in = |pool| market.demand(*job).map(|demand| demand.stage_in(site(pool)));
                of.staged = of.pools.iter().filter_map(stage_in).max().unwrap_or_default();
                (of.start, of.told) = (market.now(), None);
            }
            Event::Noticed { job, leaves } => {
                let of = self.0.get_mut(job)?;
                of.told = Some((of.told.map_or(market.now(), |(told, _)| told), *leaves));
            }
            Event::Interrupted { job } => {
                let of = self.0.get_mut(job).filter(|of| !of.pools.is_empty())?;
                let kept = of.kept(market);
                of.done += kept.progress;
                of.pools.clear();
                return Some(kept);
            }
            Event::Ended { job } => _ = self.0.remove(job),
            _ => {}
        }
        None
    }

    /// The job's nodes may be taken.
    pub(super) fn has(&self, job: JobId) -> bool {
        self.0.contains_key(&job)
    }
}
