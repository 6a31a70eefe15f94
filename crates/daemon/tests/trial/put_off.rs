//! Jobs that wait in the owners' queues of sites, and the checker for how long the market puts them
//! off: nothing of it is forgotten, whatever happens to the daemon.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
use tradewind_daemon::live::sites::OwnerJobKey;
use tradewind_daemon::live::{Input, LineSettings, Live, State};
use tradewind_daemon::site::Site as _;
use tradewind_daemon::site::queued::QueuedJob;
use tradewind_model::{SiteId, Span, Time};
use tradewind_sched::policy::owners::JobDelay;

use crate::checks::{Check, broken};
use crate::world::World;

/// In a quarter of the worlds each: at neither site, at one of them, at both.
pub(crate) fn in_line(seed: u64) -> BTreeMap<String, LineSettings> {
    let names: &[&str] = [&[][..], &["a"], &["b"], &["a", "b"]][(seed % 4) as usize];
    names.iter().map(|name| ((*name).to_owned(), LineSettings::default())).collect()
}

/// A site's owners submit a job; or one of their waiting jobs leaves the queue.
pub(crate) fn submit(world: &mut World, site: usize) {
    let pools = world.sites[site].pools().len();
    let (pool, nodes) = (world.rng.random_range(0..pools), world.rng.random_range(1..4));
    let (number, limit) = (world.rng.random_range(0..1_000_000), world.rng.random_range(10..200));
    let leaves = world.rng.random_range(0..6usize);
    let queue = &mut world.owners_queues[site];
    match leaves < queue.len() {
        true => drop(queue.remove(leaves)),
        false => queue.push(QueuedJob::of(&format!("o{number}"), pool, nodes, Span(limit))),
    }
    world.sites[site].set_queue(queue.clone());
}

/// A waiting job: for how long it was put off until the last survey, and whether it is from then on.
type Counted = (Span, bool);

/// How long waiting jobs were put off, counted from one survey to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct PutOffCheck {
    /// By site: its last survey, and what was counted until then.
    sites: BTreeMap<SiteId, (Time, BTreeMap<OwnerJobKey, Counted>)>,
    /// The longest of a job.
    pub(crate) longest: Span,
}

fn until(delay: JobDelay, now: Time) -> Span {
    delay.since.map_or(delay.sum, |since| delay.sum + (now - since))
}

/// The site of a survey that answered, and the jobs that wait there.
pub(crate) fn surveyed(input: &Input) -> Option<(SiteId, BTreeSet<OwnerJobKey>)> {
    match input {
        Input::Surveyed { site, survey: Ok(survey) } => {
            let queue = survey.queue.iter().map(|job| (job.name.clone(), job.tasks));
            Some((*site, queue.collect()))
        }
        _ => None,
    }
}

impl PutOffCheck {
    /// Whether the state says what was counted.
    pub(crate) fn fits(&self, state: &State) -> bool {
        let none = BTreeMap::new();
        self.sites.iter().all(|(site, (last, counted))| {
            let said = state.put_off_at(*site).map_or(&none, |said| &said.jobs);
            said.keys().all(|job| counted.contains_key(job))
                && counted.iter().all(|(job, (sum, grows))| {
                    let it = said.get(job).copied().unwrap_or_default();
                    *sum == until(it, *last) && *grows == it.since.is_some()
                })
        })
    }

    /// The market took a survey in: what it says of its waiting jobs must be what was counted.
    pub(crate) fn took(
        &mut self,
        live: &Live,
        (site, waits): (SiteId, BTreeSet<OwnerJobKey>),
    ) -> Check {
        let now = live.state().now();
        // One that makes no sense counts for nothing.
        let Some(queue) = live.owners_queue(site).filter(|queue| queue.at == now) else {
            return Ok(());
        };
        let names = queue.jobs.iter().map(|(job, _)| (job.name.clone(), job.tasks));
        if names.collect::<BTreeSet<_>>() != waits {
            return Ok(());
        }
        let (last, known) = self.sites.remove(&site).unwrap_or((now, BTreeMap::new()));
        let said = live.state().put_off_at(site);
        let mut counted = BTreeMap::new();
        for job in waits {
            let it = said.and_then(|said| said.jobs.get(&job)).copied().unwrap_or_default();
            let (before, grew) = known.get(&job).copied().unwrap_or((Span::ZERO, false));
            let sum = if grew { before + (now - last) } else { before };
            let is = until(it, now);
            if is != sum {
                let what = format!("{job:?} of the owners was put off for {sum}, not for {is}");
                return broken("put-off", what);
            }
            self.longest = self.longest.max(sum);
            counted.insert(job, (sum, it.since.is_some()));
        }
        self.sites.insert(site, (now, counted));
        Ok(())
    }
}
