//! The market's state as a scene for the timeline.

use tradewind_daemon::live::state::{Finish, Job, Part, Phase, State, Why};
use tradewind_model::{Share, Span};

use crate::api::Planned;
use crate::timeline::{Kind, Lane, Scene, Task};
use crate::views::{jobs::pool_name, words};

/// All that is known of who had, has and is to have nodes. Linear in it.
pub(crate) fn scene(state: &State, planned: &[Planned]) -> Scene {
    let pools = state.market.pools().iter();
    let pools = pools.map(|(_, pool)| Lane { name: pool.name.clone(), nodes: pool.nodes });
    let mut tasks: Vec<Task> = Vec::new();
    tasks.extend(closures(state));
    tasks.extend(state.jobs.values().flat_map(|job| parts(state, job)));
    tasks.extend(planned.iter().flat_map(|planned| expected(state, planned)));
    Scene { pools: pools.collect(), tasks }
}

fn closures(state: &State) -> impl Iterator<Item = Task> {
    state.closures.iter().filter_map(|(why, id)| {
        let (what, _) = state.market.closure_state(*id)?;
        let job = match why {
            Why::Booked(_, job) => state.jobs.get(job),
            _ => None,
        };
        let (kind, label) = match why {
            Why::Local(_, name) => (Kind::Local, format!("the owner's {name}")),
            Why::Stray(_, tag) => (Kind::Local, format!("unknown task {tag}")),
            Why::Down(_) => (Kind::Down, "not working".to_owned()),
            Why::Withheld(..) => (Kind::Withheld, "not offered".to_owned()),
            Why::Booked(_, number) => (Kind::Booked, job.map_or_else(|| number.to_string(), title)),
        };
        Some(Task {
            pool: what.pool.index(),
            nodes: what.nodes,
            names: Vec::new(),
            start: what.from.0,
            end: what.until.0,
            kind,
            job: job.map(|job| job.number),
            user: job.map(|job| job.user.clone()),
            label,
        })
    })
}

fn title(job: &Job) -> String {
    format!("{} {}", job.number, job.submission.name)
}

fn parts(state: &State, job: &Job) -> impl Iterator<Item = Task> {
    let shown = matches!(job.phase, Phase::Running | Phase::Over(_));
    let parts = job.parts.iter().filter(move |_| shown);
    parts.filter_map(|part| task(state, job, part))
}

fn task(state: &State, job: &Job, part: &Part) -> Option<Task> {
    let start = part.since.or(job.started)?;
    let ended = part.exit.as_ref().map(|(at, _)| *at);
    let (kind, end) = match (&job.phase, ended) {
        (Phase::Over(finish), at) => (of(finish), at.or(job.ended)?),
        (_, Some(at)) => (Kind::Done, at),
        (_, None) => {
            let end = (start + part.limit).max(state.now() + Span(1));
            (if part.since.is_some() { Kind::Running } else { Kind::Starting }, end)
        }
    };
    // What never ran, or for less than a second, is seen all the same.
    let end = end.max(start + Span(1));
    Some(Task {
        pool: part.pool.index(),
        nodes: part.nodes,
        names: part.names.clone(),
        start: start.0,
        end: end.0,
        kind,
        job: Some(job.number),
        user: Some(job.user.clone()),
        label: title(job),
    })
}

fn of(finish: &Finish) -> Kind {
    match words::finished(finish) {
        "COMPLETED" => Kind::Done,
        "CANCELLED" => Kind::Cancelled,
        _ => Kind::Failed,
    }
}

fn expected(state: &State, planned: &Planned) -> Vec<Task> {
    let number = state.numbers.get(&planned.job);
    let job = number.and_then(|number| state.jobs.get(number));
    let Some(job) = job.filter(|job| job.phase == Phase::Waiting) else { return Vec::new() };
    let start = planned.start.max(state.now());
    let length = |share: &Share| {
        let estimate = state.market.demand(planned.job).map_or(Span(1), |demand| demand.estimate);
        state.market.pools().pool(share.pool).length_of(estimate).max(Span(1))
    };
    let of = |share: Share| Task {
        pool: share.pool.index(),
        nodes: share.nodes,
        names: Vec::new(),
        start: start.0,
        end: (start + length(&share)).0,
        kind: Kind::Expected,
        job: Some(job.number),
        user: Some(job.user.clone()),
        label: format!("{} on {}", title(job), pool_name(state, share.pool)),
    };
    planned.place.shares(job.submission.tasks).map(of).collect()
}
