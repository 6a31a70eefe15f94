//! Sites that fail: what pages, lists and events say of them, and of the jobs that they touch.

use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::site_health::{Health, SiteState, public_reason};
use tradewind_daemon::live::state::{Job, JobHold, Part, Phase, State, Why};
use tradewind_model::{PoolId, SiteId};

use super::words::moment;
use crate::documents::SiteFailure;

/// The reason of jobs that wait for a site that fails, as lists show it.
pub(crate) const REASON: &str = "SiteNotAvailable";

/// The reason for a reader who does not manage the site: its own words name accounts, commands and
/// paths.
pub(crate) fn reason_for_all(health: &Health) -> Option<String> {
    match health.state {
        SiteState::Up => None,
        SiteState::Joining | SiteState::PartlyDrained | SiteState::Drained => {
            Some(health.reason.clone())
        }
        SiteState::Refusing => Some("it refuses all jobs".to_owned()),
        SiteState::NeverReached | SiteState::Lost | SiteState::Hanging => {
            Some(public_reason(&health.reason))
        }
    }
    .filter(|reason| !reason.is_empty())
}

/// What a site says itself, for readers who manage it and see its name beside that; nothing if it
/// says nothing.
pub(crate) fn own_words(site: &str, said: &str) -> Option<String> {
    let said = said.strip_prefix(&format!("site {site}: ")).unwrap_or(said);
    Some(said.to_owned()).filter(|it| !it.is_empty())
}

/// `gamma, lost since 2026-11-23T01:24:00+00:00: Connection timed out`.
pub(crate) fn sentence(site: &str, health: &Health) -> String {
    let reason = reason_for_all(health).map(|why| format!(": {why}")).unwrap_or_default();
    match health.state {
        SiteState::Joining => format!("{site}, {}", health.state.words().trim_end_matches(',')),
        state => format!("{site}, {} since {}{reason}", state.words(), moment(health.since)),
    }
}

/// The name of a site.
pub(crate) fn name(state: &State, site: SiteId) -> &str {
    state.market.pools().sites().get(site.0 as usize).map_or("", |site| &site.name)
}

/// Sites that fail and concern the reader: those that lack some nodes only concern the people who
/// manage them, and those whose jobs wait for these nodes.
pub(crate) fn of_reader(
    state: &State,
    actor: &Actor,
) -> impl Iterator<Item = (SiteId, Health, Manages)> {
    let sites = (0..state.market.pools().sites().len() as u32).map(SiteId);
    let known = sites.map(move |site| {
        let owner = state.owners().get(site.0 as usize).map_or("", String::as_str);
        let manages = if actor.may_manage(owner) { Manages::Yes } else { Manages::No };
        (site, state.site_health(site), manages)
    });
    known.filter(|(site, health, manages)| {
        let is_partial = health.state == SiteState::PartlyDrained;
        let concerns =
            || *manages == Manages::Yes || !jobs_touched(state, *site, &actor.user).is_empty();
        health.state.is_failure() && (!is_partial || concerns())
    })
}

/// Whether the reader manages the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manages {
    /// An administrator, or its owner.
    Yes,
    /// Any other user.
    No,
}

/// Sites that fail and keep the job from its start or its end, with what that means for it.
pub(crate) fn of_job(state: &State, job: &Job) -> Vec<SiteFailure> {
    match job.phase() {
        Phase::Running => running(state, job),
        Phase::Waiting => waiting(state, job),
        Phase::Held(JobHold::Booked) => booked(state, job),
        Phase::Held(_) | Phase::Handing | Phase::Away | Phase::Over(_) => Vec::new(),
    }
}

/// Sites that are not there for the job: they do not answer, or take no jobs.
fn is_missing(state: &State, site: SiteId) -> bool {
    let known = state.site_state(site);
    !known.answers() || matches!(known, SiteState::Refusing | SiteState::Drained)
}

fn failure(state: &State, site: SiteId, health: &Health, say: &str) -> SiteFailure {
    let name = name(state, site);
    SiteFailure {
        site: name.to_owned(),
        state: health.state.into(),
        since: health.since.0,
        reason: reason_for_all(health),
        message: format!("{} {}", say, sentence(name, health)),
    }
}

fn running(state: &State, job: &Job) -> Vec<SiteFailure> {
    let mut found: Vec<SiteFailure> = Vec::new();
    for part in job.parts().iter().filter(|part| part.exit.is_none()) {
        let site = state.site_of(part.pool);
        // One that answers says itself what happened to the job.
        let answers = state.site_state(site).answers();
        if answers || found.iter().any(|it| it.site == name(state, site)) {
            continue;
        }
        let health = state.site_health(site);
        let failure = failure(state, site, &health, meaning(job, part));
        let more = consequence(state, job, part);
        found.push(SiteFailure { message: format!("{}{more}", failure.message), ..failure });
    }
    found
}

/// What it means for the job that the part's site does not answer.
fn meaning(job: &Job, part: &Part) -> &'static str {
    match (job.began(), part.since) {
        (Some(_), Some(_)) => "it runs, as far as is known, at",
        _ if job.cancelled_by.is_some() => "to end, it waits for",
        _ => "it waits for",
    }
}

fn consequence(state: &State, job: &Job, part: &Part) -> &'static str {
    let is_other =
        |it: &Part| it.exit.is_none() && state.site_of(it.pool) != state.site_of(part.pool);
    let has_others = job.parts().iter().any(is_other);
    match (job.began(), has_others) {
        (Some(_), _) => "; how it ended is known once the site answers",
        (None, true) if job.cancelled_by.is_none() => {
            "; its nodes at other sites are given back if that takes too long"
        }
        (None, _) => "; whether it began there is known once the site answers",
    }
}

/// A job that waits, and has too few nodes without the sites that fail.
fn waiting(state: &State, job: &Job) -> Vec<SiteFailure> {
    let Some(demand) = job.id().and_then(|id| state.market.demand(id)) else { return Vec::new() };
    let (mut there, mut missing) = (0, Vec::new());
    for (id, pool) in state.market.pools().iter().filter(|(_, pool)| pool.suits(demand)) {
        let up = if is_missing(state, pool.site) { 0 } else { pool.nodes - down(state, id) };
        there += up;
        if up < pool.nodes && !missing.contains(&pool.site) {
            missing.push(pool.site);
        }
        // Asked of each job that waits: what is beyond its nodes says no more.
        if there >= demand.processors {
            return Vec::new();
        }
    }
    let known = missing.into_iter().map(|site| (site, state.site_health(site)));
    let failing = known.filter(|(_, health)| health.state != SiteState::Up);
    failing.map(|(site, health)| failure(state, site, &health, "it waits for")).collect()
}

/// Nodes of the pool that are down or drained, at most all.
fn down(state: &State, id: PoolId) -> u32 {
    let known = state.outages().get(&Why::Down(id));
    let what = known.and_then(|closure| state.market.closure_state(*closure));
    what.map_or(0, |(what, _)| what.nodes).min(state.market.pools().pool(id).nodes)
}

/// A job whose reserved window is at a site that fails.
fn booked(state: &State, job: &Job) -> Vec<SiteFailure> {
    let Some(booking) = &job.booking else { return Vec::new() };
    let mut sites: Vec<SiteId> =
        booking.place.shares(job.nodes()).map(|share| state.site_of(share.pool)).collect();
    sites.dedup();
    let missing = sites.into_iter().filter(|site| is_missing(state, *site));
    let of = |site| failure(state, site, &state.site_health(site), "its window is at");
    missing.map(of).collect()
}

/// Jobs of the user that are touched by the site's failure, by number.
pub(crate) fn jobs_touched(state: &State, site: SiteId, user: &str) -> Vec<u64> {
    touched(state, name(state, site), Some(user))
}

/// Jobs of all users that are touched by the failure of the site of this name, by number.
pub fn jobs_touched_by(state: &State, site: &str) -> Vec<u64> {
    touched(state, site, None)
}

fn touched(state: &State, site: &str, user: Option<&str>) -> Vec<u64> {
    let jobs = state.jobs.values().filter(|job| !matches!(job.phase(), Phase::Over(_)));
    let jobs = jobs.filter(|job| user.is_none_or(|user| job.user == user));
    let touched = jobs.filter(|job| of_job(state, job).iter().any(|it| it.site == site));
    touched.map(|job| job.number).collect()
}
