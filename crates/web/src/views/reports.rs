//! What users and sites did, as a document.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Finish, Happening, Job, Part, Phase, State};
use tradewind_model::{Consumption, SiteId, Time};

use super::accounts::owns;
use crate::clock::present;
use crate::documents::{
    Consumed, Credits, PeerReport, Report, SiteReport, TogetherReport, UserReport,
};

/// What users and sites did, by the jobs that are kept. Linear in these.
pub(crate) fn report(state: &State, actor: &Actor) -> Report {
    let from = state.jobs.values().map(|job| job.submitted).min();
    let mut users = BTreeMap::<&str, UserCount>::new();
    for job in state.jobs.values().filter(|job| actor.may_act_for(&job.user)) {
        count(state, job, users.entry(&job.user).or_default());
    }
    let users = users.into_iter().map(|(user, it)| UserReport {
        user: user.to_owned(),
        mean_wait: (it.started > 0).then(|| it.waits / it.started),
        consumed: Consumed::of(it.consumed),
        ..it.report
    });
    let sites = 0..state.market.pools().sites().len();
    Report {
        from: from.map(|at| at.0),
        until: present(state).0,
        users: users.collect(),
        sites: sites.map(|place| site(state, actor, place, from)).collect(),
        peers: peers(state, actor),
        together: skews(state, actor, |job| job.barrier().is_some()),
        apart: skews(state, actor, Job::begins_apart),
    }
}

/// What happened to jobs that were passed on, by peer.
fn peers(state: &State, actor: &Actor) -> Vec<PeerReport> {
    let mut peers = BTreeMap::<&str, PeerReport>::new();
    for job in state.jobs.values().filter(|job| actor.may_act_for(&job.user)) {
        let went = job.history.iter().filter_map(|(_, what)| match what {
            Happening::Handing(peer) => Some(peer.as_str()),
            _ => None,
        });
        for peer in went.collect::<BTreeSet<&str>>() {
            peers.entry(peer).or_default().jobs += 1;
        }
        for (_, what) in &job.history {
            if let Happening::Doubted(peer, _) = what {
                peers.entry(peer).or_default().broken += 1;
            }
        }
        if let Some(away) = job.away() {
            count_away(job, peers.entry(&away.name).or_default());
        }
    }
    let named = |(peer, it): (&str, PeerReport)| PeerReport { peer: peer.to_owned(), ..it };
    peers.into_iter().map(named).collect()
}

/// A job that is at the peer, or was there last.
fn count_away(job: &Job, to: &mut PeerReport) {
    match job.phase() {
        Phase::Handing | Phase::Away => to.active += 1,
        Phase::Over(Finish::Completed) => to.completed += 1,
        Phase::Over(Finish::NodeFail) => to.lost += 1,
        Phase::Over(_) => to.failed += 1,
        // It is here again.
        Phase::Held(_) | Phase::Waiting | Phase::Running => return,
    }
    if job.parts().is_empty() {
        to.paid = Credits(to.paid.0 + i128::from(job.paid.0));
    }
}

/// How far apart the parts of these jobs began.
fn skews(state: &State, actor: &Actor, of: fn(&Job) -> bool) -> Option<TogetherReport> {
    let jobs = state.jobs.values().filter(|job| actor.may_act_for(&job.user) && of(job));
    let skews: Vec<i64> = jobs.filter_map(Job::skew).collect();
    let (starts, max_skew_ms) = (skews.len() as u64, skews.iter().copied().max()?);
    let mean_skew_ms = skews.iter().sum::<i64>() as f64 / skews.len() as f64;
    Some(TogetherReport { starts, mean_skew_ms, max_skew_ms })
}

/// What a user's jobs come to so far.
#[derive(Default)]
struct UserCount {
    report: UserReport,
    /// Seconds of those that started.
    waits: i64,
    started: i64,
    consumed: Consumption,
}

fn count(state: &State, job: &Job, to: &mut UserCount) {
    let (now, report) = (present(state), &mut to.report);
    report.jobs += 1;
    match job.phase() {
        Phase::Over(Finish::Completed) => report.completed += 1,
        Phase::Over(_) => report.failed += 1,
        _ => report.active += 1,
    }
    if let Some(began) = job.began() {
        to.waits += (began - job.submitted).0;
        to.started += 1;
    }
    report.node_seconds += job.parts().iter().map(|part| ran(now, job, part)).sum::<i64>();
    report.spent = Credits(report.spent.0 + i128::from(job.paid.0));
    to.consumed += state.consumed_by(job, now);
}

/// Node-seconds that a part ran so far.
fn ran(now: Time, job: &Job, part: &Part) -> i64 {
    let until = part.exit.as_ref().map_or(now, |(at, _)| *at);
    job.works_since(part).map_or(0, |since| (until - since).0.max(0) * i64::from(part.nodes))
}

fn site(state: &State, actor: &Actor, place: usize, from: Option<Time>) -> SiteReport {
    let id = SiteId(place as u32);
    let pools = state.market.pools();
    let name = pools.sites()[place].name.clone();
    let parts = state.jobs.values().flat_map(|job| job.parts().iter().map(move |part| (job, part)));
    let here = |(job, part): &(&Job, &Part)| {
        state.site_of(part.pool) == id && job.works_since(part).is_some()
    };
    let (mut number, mut node_seconds, mut consumed) = (0, 0, Consumption::default());
    for (job, part) in parts.filter(here) {
        number += 1;
        node_seconds += ran(present(state), job, part);
        consumed += state.consumed_in_part(job, part, present(state));
    }
    let nodes: u32 = pools.as_slice().iter().filter(|it| it.site == id).map(|it| it.nodes).sum();
    let all = from.map(|from| (present(state) - from).0 * i64::from(nodes)).filter(|all| *all > 0);
    let seen = actor.role == Role::Administrator || owns(state, actor, &name);
    SiteReport {
        owner: state.owners().get(place).cloned().unwrap_or_default(),
        parts: number,
        node_seconds,
        utilisation: all.map(|all| node_seconds as f64 / all as f64),
        consumed: Consumed::of(consumed),
        earned: seen.then(|| Credits(state.accounts().balance(&Account::Owner(name.clone())))),
        site: name,
    }
}
