//! The market's state as a scene for the timeline.

use tradewind_daemon::live::site_health::SiteState;
use tradewind_daemon::live::state::{BookedPart, Finish, Happening, Job, Part, Phase, State, Why};
use tradewind_daemon::site::Exit;
use tradewind_model::{Money, Place, PoolId, Price, Share, SiteId, Span, Time};

use crate::api::Planned;
use crate::timeline::{Kind, Lane, Scene, Task};
use crate::views::jobs::{self, pool_name};
use crate::views::status::{Moment, own_costs};
use crate::views::words;

/// The most rows of a peer: more of our jobs than that are drawn over each other.
const PEER_ROWS: u32 = 256;

/// All that is known of who had, has and is to have nodes. Linear in it.
pub(crate) fn scene(moment: &Moment<'_>, planned: &[Planned]) -> Scene {
    let state = moment.state;
    let pools = state.market.pools().iter().map(|(id, pool)| Lane {
        name: pool.name.clone(),
        nodes: pool.nodes,
        price: Some(state.market.price_now(id).0),
        away: failing_since(state, pool.site),
    });
    let mut scene = Scene { pools: pools.collect(), tasks: Vec::new() };
    scene.tasks.extend(closures(state));
    scene.tasks.extend(missed(state));
    scene.tasks.extend(state.jobs.values().flat_map(|job| parts(moment, job)));
    scene.tasks.extend(state.jobs.values().flat_map(|job| set_back(moment, job)));
    scene.tasks.extend(planned.iter().flat_map(|planned| expected(moment, planned)));
    scene.tasks.extend(state.jobs.values().filter_map(|job| in_line(moment, job)));
    elsewhere(moment, &mut scene);
    scene
}

/// A job that waits in the queue of a site, where its turn is expected. The load that is announced there
/// has its nodes, too, together with those of the owners' jobs before it: where both are more than
/// there are, they are drawn over each other.
fn in_line(moment: &Moment<'_>, job: &Job) -> Option<Task> {
    let part = job.parts().first().filter(|_| moment.state.is_lined(job))?;
    let start = moment.start_of(job)?;
    let why = words::reason(moment.state, job).map(|(_, text)| text).unwrap_or_default();
    let share = Share { pool: part.pool, nodes: part.nodes };
    let cost = Some(job.own_share(part.price.of(part.nodes, part.limit)).0);
    let span = (start, start + part.limit);
    Some(Task { why, price: Some(part.price.0), cost, ..of_job(job, share, span, Kind::Expected) })
}

/// Since when the site is not counted on.
fn failing_since(state: &State, site: SiteId) -> Option<i64> {
    let health = state.site_health(site);
    let is_shown = health.state.is_failure() && health.state != SiteState::PartlyDrained;
    is_shown.then_some(health.since.0)
}

/// Nodes that are or will be missing.
fn closures(state: &State) -> impl Iterator<Item = Task> {
    // What is in use there is drawn as it is.
    let shown = state.outages().iter().filter(|(why, _)| !matches!(why, Why::AwayLater(_)));
    shown.filter_map(|(why, id)| {
        let (what, _) = state.market.closure_state(*id)?;
        Some(missing(state, why, what.nodes, (what.from, what.until)))
    })
}

/// Nodes that were missing recently. What was kept free for a job is among its parts.
fn missed(state: &State) -> impl Iterator<Item = Task> {
    let past = state.past().outages.iter().filter(|it| !matches!(it.why, Why::Booked(..)));
    past.map(|it| missing(state, &it.why, it.nodes, (it.from, it.until)))
}

fn missing(state: &State, why: &Why, nodes: u32, (start, end): (Time, Time)) -> Task {
    let job = match why {
        Why::Booked(_, job) => state.jobs.get(job),
        _ => None,
    };
    let (kind, label, text) = match why {
        Why::Local(_, name) => (Kind::Local, name.clone(), "the owner’s own task"),
        Why::Stray(_, tag) => (Kind::Local, tag.to_string(), "a task that no books know"),
        Why::Queued(..) => {
            (Kind::Local, String::new(), "the owner’s jobs that wait are expected to start here")
        }
        Why::Down(_) => (Kind::Down, String::new(), "these nodes do not work"),
        Why::Away(_) | Why::AwayLater(_) => {
            (Kind::Down, String::new(), "the site fails: nothing is planned here")
        }
        Why::Withheld(..) => {
            (Kind::Withheld, String::new(), "the owner does not offer these nodes then")
        }
        Why::Reclaimed(..) => {
            (Kind::Withheld, String::new(), "the owner has taken these nodes back")
        }
        Why::Booked(_, number) => {
            let label = job.map_or_else(|| number.to_string(), title);
            (Kind::Booked, label, "a quote was accepted: its nodes are kept free")
        }
    };
    Task {
        pool: why.pool().index(),
        nodes,
        names: Vec::new(),
        start: start.0,
        end: end.0,
        kind,
        job: job.map(|job| job.number),
        user: job.map(|job| job.user.clone()),
        label,
        why: text.to_owned(),
        price: job.and_then(|job| booked_in(job, why.pool())).map(|(price, _)| price.0),
        cost: job.and_then(|job| booked_in(job, why.pool())).map(|(_, cost)| cost.0),
    }
}

/// The price of a job's booked window in that pool, and what the job pays for its nodes there at most.
fn booked_in(job: &Job, pool: PoolId) -> Option<(Price, Money)> {
    let booking = job.booking.as_ref()?;
    let parts = booking.parts(job.nodes());
    let cost = |part: &BookedPart| part.price.of(part.share.nodes, part.end - booking.start);
    let costs = own_costs(job, parts.iter().map(cost));
    let here = || parts.iter().zip(&costs).filter(|(part, _)| part.share.pool == pool);
    Some((here().next()?.0.price, here().map(|(_, cost)| *cost).sum()))
}

fn title(job: &Job) -> String {
    format!("{} {}", job.number, jobs::title(job))
}

/// What a job's tasks have in common.
fn of_job(job: &Job, share: Share, (start, end): (Time, Time), kind: Kind) -> Task {
    Task {
        pool: share.pool.index(),
        nodes: share.nodes,
        names: Vec::new(),
        start: start.0,
        // What never ran, or for less than a second, is seen all the same.
        end: end.max(start + Span(1)).0,
        kind,
        job: Some(job.number),
        user: Some(job.user.clone()),
        label: title(job),
        why: String::new(),
        price: None,
        cost: None,
    }
}

fn parts(moment: &Moment<'_>, job: &Job) -> impl Iterator<Item = Task> {
    let shown = matches!(job.phase(), Phase::Running | Phase::Over(_));
    // One that waits in the queue of a site has no nodes yet.
    let shown = shown && !moment.state.is_lined(job);
    let parts = job.parts().iter().filter(move |_| shown);
    parts.filter_map(|part| task(moment, job, part))
}

fn task(moment: &Moment<'_>, job: &Job, part: &Part) -> Option<Task> {
    let state = moment.state;
    let start = part.since.or(job.started())?;
    let ended = part.exit.as_ref().map(|(at, _)| *at);
    let (kind, end) = match (job.phase(), ended) {
        (Phase::Over(finish), at) => (of(finish), at.or(job.ended())?),
        (_, Some(at)) => (ended_as(part), at),
        (_, None) => {
            let end = (start + part.limit).max(moment.now + Span(1));
            let works = job.works_since(part).is_some();
            (if works { Kind::Running } else { Kind::Starting }, end)
        }
    };
    let share = Share { pool: part.pool, nodes: part.nodes };
    let is_over = matches!(job.phase(), Phase::Over(_));
    let why = match kind {
        _ if part.exit.is_some() && !is_over => {
            part.exit.as_ref().map(|(_, exit)| words::exit(exit)).unwrap_or_default()
        }
        Kind::Running if job.in_window() => {
            "in the window that it booked, until its limit".to_owned()
        }
        Kind::Running => "until its limit, or sooner".to_owned(),
        Kind::Starting => match words::reason(state, job) {
            Some((_, text)) => text,
            None => "its nodes are its own; its work has not begun".to_owned(),
        },
        Kind::Done => "it ended with exit code 0".to_owned(),
        _ => words::reason(state, job).map(|(_, text)| text).unwrap_or_default(),
    };
    let cost = Some(moment.own_part_cost(job, part).0);
    let (names, price) = (part.names.clone(), Some(part.price.0));
    Some(Task { names, price, cost, why, ..of_job(job, share, (start, end), kind) })
}

/// How a part is drawn that has ended before its job.
fn ended_as(part: &Part) -> Kind {
    match part.exit.as_ref().map(|(_, exit)| exit) {
        Some(exit) if exit.is_good() => Kind::Done,
        Some(Exit::Withdrawn | Exit::Refused(_) | Exit::NotStarted(_)) => Kind::Cancelled,
        _ => Kind::Failed,
    }
}

fn of(finish: &Finish) -> Kind {
    match words::finished(finish) {
        "COMPLETED" => Kind::Done,
        "CANCELLED" => Kind::Cancelled,
        _ => Kind::Failed,
    }
}

/// Nodes that a job had and lost, as its history shows. Those of an end without another start are
/// left to its parts, if these say when it ran.
fn set_back(moment: &Moment<'_>, job: &Job) -> Vec<Task> {
    let state = moment.state;
    let mut lost: Vec<Task> = Vec::new();
    let mut had: Option<(&Place, Time)> = None;
    let mut before_last = 0;
    for (at, what) in &job.history {
        match what {
            Happening::Planned(place) => {
                had = Some((place, *at));
                before_last = lost.len();
            }
            Happening::Setback(why) => {
                let Some((place, since)) = had.take() else { continue };
                let why = words::set_back(why, |pool| pool_name(state, pool).to_owned());
                let shares = place.shares(job.nodes());
                lost.extend(shares.map(|share| Task {
                    why: why.clone(),
                    ..of_job(job, share, (since, *at), Kind::SetBack)
                }));
            }
            Happening::Over(_) if parts(moment, job).next().is_some() => lost.truncate(before_last),
            _ => {}
        }
    }
    lost
}

fn expected(moment: &Moment<'_>, planned: &Planned) -> Vec<Task> {
    let state = moment.state;
    let number = state.jobs.numbers.get(&planned.job);
    let job = number.and_then(|number| state.jobs.get(number));
    let Some(job) = job.filter(|job| job.phase() == Phase::Waiting) else { return Vec::new() };
    let Some(start) = moment.start_of(job) else { return Vec::new() };
    let demand = state.market.demand(planned.job);
    let why = words::reason(state, job).map(|(_, text)| text).unwrap_or_default();
    let pool = |share: &Share| state.market.pools().pool(share.pool);
    let length = |share: &Share| demand.map_or(Span(1), |demand| pool(share).length_of(demand));
    let shares: Vec<Share> = planned.place.shares(job.nodes()).collect();
    let price = |share: &Share| state.price_for(job, (planned.job, share.pool), start);
    let cost = |share: &Share| price(share).of(share.nodes, length(share));
    let costs = own_costs(job, shares.iter().map(cost));
    let of = |(share, cost): (&Share, Money)| {
        let span = (start, start + length(share));
        let (why, price) = (why.clone(), Some(price(share).0));
        Task { why, price, cost: Some(cost.0), ..of_job(job, *share, span, Kind::Expected) }
    };
    shares.iter().zip(costs).map(of).collect()
}

/// A lane for each peer that has jobs of ours, with a row per node that they ask for at once.
fn elsewhere(moment: &Moment<'_>, scene: &mut Scene) {
    let state = moment.state;
    let mut peers = std::collections::BTreeMap::<&str, Vec<Task>>::new();
    for job in state.jobs.values() {
        let Some(away) = job.away() else { continue };
        let Some(start) = words::started(job).filter(|_| job.parts().is_empty()) else {
            continue;
        };
        let end = job.ended().unwrap_or(moment.now + Span(60));
        let share = Share { pool: PoolId(0), nodes: job.nodes() };
        let why = format!("it was passed on to {}; when it ends is known there", away.name);
        let task = Task { why, ..of_job(job, share, (start, end), Kind::Away) };
        peers.entry(&away.name).or_default().push(task);
    }
    for (peer, tasks) in peers {
        let pool = scene.pools.len();
        let max = most_at_once(&tasks);
        let nodes = max.clamp(1, PEER_ROWS);
        let name = match max > nodes {
            true => format!("at {peer} ({nodes} of {max} nodes)"),
            false => format!("at {peer}"),
        };
        let away = state.peers.directory.values().find(|known| known.name == peer);
        let away = away.and_then(|known| known.removed.or(known.silent)).map(|since| since.0);
        scene.pools.push(Lane { name, nodes, price: None, away });
        scene.tasks.extend(tasks.into_iter().map(|task| Task { pool, ..task }));
    }
}

fn most_at_once(tasks: &[Task]) -> u32 {
    let begins = tasks.iter().map(|task| (task.start, i64::from(task.nodes)));
    let ends = tasks.iter().map(|task| (task.end, -i64::from(task.nodes)));
    let mut steps: Vec<(i64, i64)> = begins.chain(ends).collect();
    steps.sort_unstable();
    let mut held = 0;
    let levels = steps.into_iter().map(|(_, nodes)| {
        held += nodes;
        held
    });
    u32::try_from(levels.max().unwrap_or(0)).unwrap_or(u32::MAX)
}
