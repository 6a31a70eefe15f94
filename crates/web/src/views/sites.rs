//! Sites as documents.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_daemon::engine::Gauges;
use tradewind_daemon::live::outages::owners;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{State, Why};
use tradewind_daemon::live::{Live, RESOURCES};
use tradewind_model::{LicenceId, OwnersFirst, PoolId, SiteId};

use super::jobs::quantile;
use super::{failures, starts};
use tradewind_io::links::bandwidth_text;

use crate::documents::{Credits, Delay, Licence, Link, OwnersQueue, Pool, Site, SiteList};

/// All sites, with what is wrong with their pools: they are public.
pub(crate) fn list_now(live: &Live) -> SiteList {
    let mut list = list(live.state());
    let pools = list.sites.iter_mut().flat_map(|site| &mut site.pools);
    let problems: BTreeMap<String, String> = live
        .state()
        .market
        .pools()
        .iter()
        .filter_map(|(id, pool)| Some((pool.name.clone(), live.problem(id)?.to_owned())))
        .collect();
    for pool in pools {
        pool.problem = problems.get(&pool.name).cloned();
    }
    for (site, place) in list.sites.iter_mut().zip(0..) {
        site.queue = live.owners_queue(SiteId(place)).map(queue);
    }
    list
}

/// All sites: they are public.
pub(crate) fn list(state: &State) -> SiteList {
    let pools = state.market.pools();
    let sites = pools.sites().iter().enumerate().map(|(place, site)| {
        let id = SiteId(place as u32);
        let own = pools.iter().filter(|(_, pool)| pool.site == id);
        let health = state.site_health(id);
        Site {
            name: site.name.clone(),
            owner: state.owners().get(place).cloned().unwrap_or_default(),
            state: health.state.into(),
            since: Some(health.since.0).filter(|since| *since > 0),
            reason: failures::reason_for_all(&health),
            requests_per_minute: None,
            requests: BTreeMap::new(),
            away_since: state.away_since(id).map(|at| at.0),
            pools: own.map(|(id, _)| pool(state, id)).collect(),
            queue: None,
            delay: delay(state, id),
            start_ranges: starts::score(&state.range_score_at(id)),
        }
    });
    SiteList { sites: sites.collect(), licences: licences(state), links: links(state) }
}

fn links(state: &State) -> Vec<Link> {
    let links = state.market.pools().links().map_or(&[][..], |links| links.as_slice());
    let one = |link: &tradewind_model::Link| Link {
        between: link.between.clone(),
        bandwidth: bandwidth_text(link.bandwidth),
    };
    links.iter().map(one).collect()
}

fn licences(state: &State) -> Vec<Licence> {
    let pools = state.market.pools();
    let one = |(id, it): (LicenceId, &tradewind_model::Licence)| Licence {
        name: it.name.clone(),
        count: it.count,
        free: state.market.free_licences(id),
        price: Credits(it.price.0.into()),
        site: pools.sites()[pools.licence_owner(id).0 as usize].name.clone(),
    };
    (0..).map(LicenceId).zip(pools.licences()).map(one).collect()
}

/// With the sites' own words, for those who manage them: they name accounts, paths and commands.
pub(crate) fn for_reader(mut list: SiteList, state: &State, actor: &Actor) -> SiteList {
    for (site, place) in list.sites.iter_mut().zip(0..) {
        let health = state.site_health(SiteId(place));
        let own_words = failures::own_words(&site.name, &health.reason);
        site.reason = own_words.filter(|_| actor.may_manage(&site.owner)).or(site.reason.take());
    }
    list
}

/// The same with what the engine counts beside the state.
pub(crate) fn counted(mut list: SiteList, gauges: &Gauges, actor: &Actor) -> SiteList {
    let (looks, requests) = (gauges.looks(), gauges.requests());
    for (place, site) in list.sites.iter_mut().enumerate() {
        let id = SiteId(place as u32);
        if let Some(look) = looks.get(&id) {
            // The journal knows better, unless an earlier release has written it.
            site.since = site.since.or_else(|| look.answered.then_some(look.since));
            // The last words are the best.
            let fails = site.away_since.is_some() && actor.may_manage(&site.owner);
            let said = look.wrong.as_deref().filter(|_| fails);
            let said = said.and_then(|it| failures::own_words(&site.name, it));
            site.reason = said.or(site.reason.take());
        }
        if let Some(kinds) = requests.get(&id) {
            let recent = kinds.iter().filter(|(_, count)| count.minute > 0);
            site.requests = recent.map(|(kind, count)| (kind.clone(), count.minute)).collect();
            site.requests_per_minute = Some(site.requests.values().sum());
        }
    }
    list
}

/// What is not known of the waiting jobs of owners at these sites, each with the site's name.
pub(crate) fn unknown(live: &Live, named: &BTreeSet<String>) -> Vec<String> {
    let sites = (0..).zip(live.state().market.pools().sites());
    let asked = sites.filter(|(_, site)| named.contains(&site.name));
    let notes = asked.flat_map(|(place, site)| {
        let notes = live.owners_queue(SiteId(place)).map(|queue| queue.notes.as_slice());
        notes.unwrap_or_default().iter().map(move |note| format!("{}: {note}", site.name))
    });
    notes.collect()
}

fn queue(queue: &owners::OwnersQueue) -> OwnersQueue {
    OwnersQueue {
        jobs: (queue.jobs.len() as u32).saturating_add(queue.beyond),
        foreseen: queue.foreseen() as u32,
        unknown: queue.notes.clone(),
        max_delay: Some(queue.bound.max_delay.0).filter(|most| *most < OwnersFirst::NO_BOUND.0),
        longest_delay: queue.bound.longest.0,
        at_bound: queue.bound.reached as u32,
    }
}

fn delay(state: &State, site: SiteId) -> Option<Delay> {
    let mut delays: Vec<i64> = state.delays_at(site).collect();
    delays.sort_unstable();
    let [p10, p50, p90] = [10, 50, 90].map(|percent| quantile(&delays, percent));
    Some(Delay { p10: p10?, p50: p50?, p90: p90?, samples: delays.len() as u32 })
}

fn pool(state: &State, id: PoolId) -> Pool {
    let it = state.market.pools().pool(id);
    let (mut down, mut local, mut withheld, mut booked) = (0, 0, 0, 0);
    let mut free = state.market.free_in(id);
    for (why, closure) in state.outages().iter().filter(|(why, _)| why.pool() == id) {
        let Some((what, begun)) = state.market.closure_state(*closure) else { continue };
        // One that is due begins once all its nodes are free; those that are free are not
        // available.
        let kept = if what.from <= state.now() { what.nodes.min(free) } else { 0 };
        let nodes = if begun { what.nodes } else { kept };
        free -= if begun { 0 } else { kept };
        match why {
            Why::Down(_) | Why::Away(_) => down += nodes,
            Why::Local(..) | Why::Stray(..) | Why::Queued(..) => local += nodes,
            Why::Withheld(..) | Why::Reclaimed(..) => withheld += nodes,
            Why::Booked(..) => booked += nodes,
            // It never begins.
            Why::AwayLater(_) => {}
        }
    }
    let gone = [down, local, withheld, booked, free].iter().sum();
    let attributes = it
        .attributes
        .iter()
        .filter(|(name, _)| !["site", "pool", RESOURCES].contains(&name.as_str()));
    Pool {
        name: it.name.clone(),
        nodes: it.nodes,
        performance: it.performance.into(),
        price: state.market.price_now(id).into(),
        down,
        local,
        withheld,
        booked,
        ours: it.nodes.saturating_sub(gone),
        free,
        problem: None,
        attributes: attributes.map(|(name, value)| (name.clone(), value.to_string())).collect(),
    }
}
