//! Peers as documents.

use tradewind_daemon::live::Live;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Job, Phase};

use crate::clock::present;
use crate::documents::{Credits, Peer, PeerList};

/// All peers that were ever configured. Linear in the jobs that are kept.
pub(crate) fn list(live: &Live, actor: &Actor) -> PeerList {
    let state = live.state();
    let is_administrator = actor.role == Role::Administrator;
    let count =
        |suits: &dyn Fn(&Job) -> bool| state.jobs.values().filter(|job| suits(job)).count() as u64;
    let peers = state.peers.directory.iter().map(|(&peer, known)| {
        let contact = live.contact(peer);
        let went = |job: &Job, phase: Phase<'_>| {
            job.phase() == phase && job.away().is_some_and(|away| away.peer == peer)
        };
        let came = |job: &Job| {
            let from = job.origin.as_ref().is_some_and(|origin| origin.peer == peer);
            from && !matches!(job.phase(), Phase::Over(_))
        };
        let balance = state.accounts().balance(&Account::Peer(known.name.clone()));
        let standing = known.standing.unwrap_or_default();
        let limits = live.settings().peer_limits.get(&known.name).copied().unwrap_or_default();
        let at_peer = |job: &&Job| {
            matches!(job.phase(), Phase::Away | Phase::Handing)
                && job.away().is_some_and(|away| away.peer == peer)
        };
        let held = state.jobs.values().filter(at_peer);
        let held: i128 = held.map(|job| state.accounts().balance(&Account::Held(job.number))).sum();
        let silent = known.silent.map(|since| (false, since));
        let contact = silent.or(contact);
        Peer {
            held: Credits(held),
            standing: standing.score(present(state)),
            min_standing: limits.min_standing,
            kept: standing.kept,
            broken: standing.broken,
            checks_right: known.checks.map_or(0, |checks| checks.right),
            checks_wrong: known.checks.map_or(0, |checks| checks.wrong),
            last_check: known.checks.filter(|_| is_administrator).map(|checks| checks.job),
            name: known.name.clone(),
            market: known.market.clone(),
            configured: live.settings().peers.contains(&known.name),
            reachable: contact.map(|(there, _)| there),
            since: known.removed.or(contact.map(|(_, since)| since)).map(|since| since.0),
            jobs_there: count(&|job| went(job, Phase::Away)),
            jobs_here: count(&came),
            in_doubt: count(&|job| went(job, Phase::Handing)),
            balance: is_administrator.then_some(Credits(balance)),
        }
    });
    PeerList { peers: peers.collect(), searches: live.searches() as u64, receipt_key: None }
}
