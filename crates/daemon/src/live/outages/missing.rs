//! Nodes that are missing: owners' tasks, dead nodes, hours that are not offered, bookings.

use std::collections::BTreeMap;

use tradewind_model::{Cause, Outage, PoolId, SiteId, Span, Time};
use tradewind_sched::free::Taken;
use tradewind_sched::policy::availability::expected_end_by_limit;
use tradewind_sched::policy::evaluate::PoolReport;

use crate::live::input::Withheld;
use crate::live::record::OutageRecord;
use crate::live::state::{BookedPart, Job, Quote, State, Why};
use crate::live::{ApplyError, Live};
use crate::site::{Seen, Survey, Tag};

/// Dead nodes are expected back after this, and then again.
const REPAIR: Span = Span(24 * 3_600);
impl Live {
    /// The owner's load as it is now, and as it will be by jobs that wait.
    pub(in crate::live) fn local_load(
        &mut self,
        at: Time,
        site: SiteId,
        survey: &Survey,
    ) -> Result<(), ApplyError> {
        let mut wanted = self.state.missing(at, site, survey);
        self.use_reclaimed(at, &wanted)?;
        self.note_limits(site, survey);
        wanted.extend(self.load_to_come(at, site, survey, &wanted)?);
        let here = |why: &Why| {
            let is_kept = matches!(why, Why::Withheld(..) | Why::Booked(..) | Why::Reclaimed(..));
            !is_kept && self.state.site_of(why.pool()) == site
        };
        let known: Vec<Why> =
            self.state.outages.open.keys().filter(|why| here(why)).cloned().collect();
        if self.state.is_counted_on(site) {
            return self.replace(at, known, wanted);
        }
        let (away, others): (Vec<Why>, Vec<Why>) = known.into_iter().partition(Why::is_uncounted);
        if !self.is_known(at, &others, &wanted) {
            // What is new needs the nodes that are not counted on.
            self.replace(at, away, BTreeMap::new())?;
            self.replace(at, others, wanted)?;
        }
        self.count_on_nothing(at, site)
    }

    /// Whether `known` says the same as `wanted`.
    fn is_known(&self, at: Time, known: &[Why], wanted: &BTreeMap<Why, Outage>) -> bool {
        let same = |why: &Why| match (self.state.outage_of(why), wanted.get(why)) {
            (Some(now), Some(then)) => is_same(at, &now, then),
            _ => false,
        };
        known.len() == wanted.len() && known.iter().all(same)
    }

    /// Remembers when the owners' tasks at the site are over by their limits.
    fn note_limits(&mut self, site: SiteId, survey: &Survey) {
        let state = &self.state;
        self.limits_of_tasks.retain(|(pool, _), _| state.site_of(*pool) != site);
        for (pool, seen) in state.pools_of(site).into_iter().zip(&survey.pools) {
            let limits = seen.local.iter().map(|(name, task)| ((pool, name.clone()), task.until));
            self.limits_of_tasks.extend(limits);
        }
    }

    /// Owners' tasks that should be over by now: until the next survey they are expected to end as
    /// jobs do that exceed their limits.
    pub(in crate::live) fn extend_overdue(&mut self, at: Time) -> Result<(), ApplyError> {
        let mut wanted = BTreeMap::new();
        for why in self.state.outages.open.keys() {
            let Why::Local(pool, name) = why else { continue };
            let Some(what) = self.state.outage_of(why).filter(|what| what.until <= at) else {
                continue;
            };
            let limit = self.limits_of_tasks.get(&(*pool, name.clone())).copied();
            let until = expected_end_by_limit(limit.unwrap_or(what.until).min(at), at);
            wanted.insert(why.clone(), Outage { until, ..what });
        }
        match wanted.is_empty() {
            true => Ok(()),
            false => self.replace(at, wanted.keys().cloned().collect(), wanted),
        }
    }

    /// What owners withhold from now on.
    pub(in crate::live) fn withhold(
        &mut self,
        at: Time,
        withheld: &[Withheld],
    ) -> Result<(), ApplyError> {
        let kind = |why: &&Why| matches!(why, Why::Withheld(..));
        let known: Vec<Why> = self.state.outages.open.keys().filter(kind).cloned().collect();
        let cause = Cause::Withheld;
        let what = |it: &Withheld| Outage {
            pool: it.pool,
            nodes: it.nodes,
            from: it.from,
            until: it.until,
            cause,
        };
        let wanted = withheld.iter().map(|it| (Why::Withheld(it.pool, it.from), what(it)));
        let wanted = wanted.filter(|(_, what)| what.until > at).collect();
        self.replace(at, known, wanted)
    }

    /// Puts `wanted` in the place of `known`; what is the same as before stays.
    pub(super) fn replace(
        &mut self,
        at: Time,
        known: Vec<Why>,
        mut wanted: BTreeMap<Why, Outage>,
    ) -> Result<(), ApplyError> {
        for why in known {
            let same = match (self.state.outage_of(&why), wanted.get(&why)) {
                (Some(now), Some(then)) => is_same(at, &now, then),
                _ => false,
            };
            match same {
                true => drop(wanted.remove(&why)),
                false => self.put(at, OutageRecord::Reopened { why })?,
            }
        }
        for (why, what) in wanted {
            self.put(at, OutageRecord::Announced { what, why })?;
        }
        self.close_due(at)
    }

    /// Takes away the nodes that are gone by now; a job that has not begun is taken back for the
    /// owner's.
    pub(in crate::live) fn close_due(&mut self, at: Time) -> Result<(), ApplyError> {
        let due = |(why, what): &(Why, Outage)| {
            what.from <= at && !matches!(why, Why::Booked(..) | Why::AwayLater(_))
        };
        let open: Vec<(Why, Outage)> = self.state.not_begun().into_iter().filter(due).collect();
        for (why, what) in open {
            let strict = !matches!(why, Why::Withheld(..));
            if strict {
                self.make_room(at, &what)?;
            }
            if self.state.market.free_in(what.pool) >= what.nodes {
                self.put(at, OutageRecord::Closed { why })?;
            }
        }
        Ok(())
    }

    /// Takes jobs back that have not begun, the last ones first, until enough nodes are or will be
    /// free. One that stands in the queue of its site stays there: it only has no nodes.
    pub(in crate::live) fn make_room(&mut self, at: Time, what: &Outage) -> Result<(), ApplyError> {
        let mut room = self.state.market.free_in(what.pool);
        let mut idle = self.state.not_begun_in(what.pool);
        idle.retain(|(number, nodes)| {
            let stopping = !self.runs_on(*number);
            room += if stopping { *nodes } else { 0 };
            !stopping
        });
        for (job, nodes) in idle {
            if room >= what.nodes {
                return Ok(());
            }
            room += nodes;
            match self.keeps_its_place(job, what.pool) {
                true => self.back_in_line(at, job, what.pool)?,
                false => self.take_back(at, job)?,
            }
        }
        Ok(())
    }

    /// The nodes of the job's booked window are not kept free any more, if it has one.
    pub(in crate::live) fn call_off(&mut self, at: Time, job: u64) -> Result<(), ApplyError> {
        let own = |why: &&Why| matches!(why, Why::Booked(_, of) if *of == job);
        let booked: Vec<Why> = self.state.outages.open.keys().filter(own).cloned().collect();
        for why in booked {
            self.put(at, OutageRecord::Reopened { why })?;
        }
        Ok(())
    }
}

/// Whether what is known says the same as what is seen now.
fn is_same(at: Time, known: &Outage, seen: &Outage) -> bool {
    let begun = known.from <= at && seen.from <= at;
    known.nodes == seen.nodes && (begun || known.from == seen.from) && known.until == seen.until
}

impl State {
    pub(in crate::live) fn outage_of(&self, why: &Why) -> Option<Outage> {
        let id = self.outages.open.get(why)?;
        self.market.closure_state(*id).map(|(what, _)| what)
    }

    /// Outages that have been announced and have not begun.
    fn not_begun(&self) -> Vec<(Why, Outage)> {
        let of = |(why, id): (&Why, &tradewind_model::OutageId)| {
            let (what, begun) = self.market.closure_state(*id)?;
            (!begun).then(|| (why.clone(), what))
        };
        self.outages.open.iter().filter_map(of).collect()
    }

    /// Jobs that have nodes in the pool and have not begun anywhere, the last started first: and
    /// how many nodes.
    pub(in crate::live) fn not_begun_in(&self, pool: PoolId) -> Vec<(u64, u32)> {
        let here = self.market.running().filter(|job| job.nodes_in(pool) > 0);
        let with_job = here.filter_map(|running| {
            let job = self.jobs.get(self.jobs.numbers.get(&running.job)?)?;
            Some((job, running.nodes_in(pool)))
        });
        let idle = with_job.filter(|(job, _)| job.began().is_none() && !self.has_begun(job));
        let mut idle: Vec<_> = idle.collect();
        idle.sort_unstable_by_key(|(job, _)| std::cmp::Reverse((job.started(), job.number)));
        idle.into_iter().map(|(job, nodes)| (job.number, nodes)).collect()
    }

    /// Whether a site has said that the job has begun, though no survey has shown that.
    fn has_begun(&self, job: &Job) -> bool {
        let mut tags = (0..job.parts().len()).map(|part| job.tag(&self.name, part));
        tags.any(|tag| self.tasks.get(&tag).is_some_and(|task| task.begun.is_some()))
    }

    /// All that a survey says is missing.
    pub(in crate::live) fn missing(
        &self,
        at: Time,
        site: SiteId,
        survey: &Survey,
    ) -> BTreeMap<Why, Outage> {
        let mut missing = BTreeMap::new();
        let pools = self.market.pools().iter().filter(|(_, pool)| pool.site == site);
        for ((id, pool), seen) in pools.zip(&survey.pools) {
            let mut add = |why: Why, nodes: u32, from: Time, until: Time, cause: Cause| {
                let nodes = nodes.min(pool.nodes);
                if nodes > 0 {
                    missing.insert(why, Outage { pool: id, nodes, from, until, cause });
                }
            };
            let down = pool.nodes.saturating_sub(seen.up);
            add(Why::Down(id), down, at, at + REPAIR, Cause::Failure(0));
            for (name, task) in &seen.local {
                let why = match Tag::parse(name).filter(|tag| !self.tasks.contains_key(tag)) {
                    Some(tag) => Why::Stray(id, tag),
                    None => Why::Local(id, name.clone()),
                };
                let until = expected_end_by_limit(task.until, at);
                add(why, task.nodes, task.from, until, Cause::Local);
            }
        }
        for (tag, pool, nodes) in self.strays(site, survey) {
            let outage = Outage { pool, nodes, from: at, until: at + REPAIR, cause: Cause::Local };
            missing.insert(Why::Stray(pool, tag), outage);
        }
        // A dead node stays dead until it is seen again: its time does not start again each time.
        for (why, outage) in &mut missing {
            if let (Why::Down(_) | Why::Stray(..), Some(known)) = (why, self.outage_of(why))
                && known.until > at
            {
                outage.until = known.until;
            }
        }
        missing
    }

    /// Tasks that run under a tag that the books do not know: of a journal that was lost, say. Those
    /// that the site lists as load of a pool are there already.
    fn strays(&self, site: SiteId, survey: &Survey) -> Vec<(Tag, PoolId, u32)> {
        let first = self.market.pools().iter().find(|(_, pool)| pool.site == site);
        let Some((pool, found)) = first else { return Vec::new() };
        let max = found.nodes;
        let is_listed = |tag: &Tag| {
            let name = tag.to_string();
            survey.pools.iter().any(|pool| pool.local.contains_key(&name))
        };
        let stray = |(tag, seen): (&Tag, &Seen)| match seen {
            Seen::Running { nodes, .. } if !self.tasks.contains_key(tag) && !is_listed(tag) => {
                Some((tag.clone(), pool, (nodes.len() as u32).clamp(1, max)))
            }
            _ => None,
        };
        survey.tasks.iter().filter_map(stray).collect()
    }

    /// Whether a quote's nodes are still free, at its prices; if not, what has changed.
    pub(in crate::live) fn stands(&self, quote: &Quote) -> Result<(), String> {
        let booking = &quote.booking;
        let now = self.now();
        let free = PoolReport::of(&self.market);
        if quote.expires < now {
            return Err(format!("quote {} expired at {}", quote.number, quote.expires));
        }
        for BookedPart { share, end, price, .. } in booking.needs(quote.tasks) {
            let pool = self.market.pools().pool(share.pool);
            let length = end - booking.start;
            let asks = self.market.pools().asked(share.pool, booking.start, length);
            if asks > price {
                let name = &pool.name;
                return Err(format!("{name} asks {asks} now, and asked {price} then"));
            }
            // A window that has begun meanwhile begins now, and is as long.
            let late = booking.late_by(now);
            let (from, until) = (booking.start + late, end + late);
            let wanted = Taken { share, from, until, memory: 0 };
            if from < until && !free.fits(&wanted) {
                let name = &pool.name;
                return Err(format!("{name} has not enough free nodes any more at that time"));
            }
        }
        Ok(())
    }
}
