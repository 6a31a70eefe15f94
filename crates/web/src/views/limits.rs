//! Time limits by pool: what they are, how they are counted, and who said so.

use tradewind_daemon::live::state::{Job, Phase, State};
use tradewind_daemon::live::times::{CountingReason, counted};
use tradewind_io::submission::TimeLimit;
use tradewind_model::{self as model, Demand, Pool, Span};

use crate::documents::{Limit, Times, TimesBy};

/// What a limit on nodes of the pool is in work at performance 1, if that is another number of
/// seconds.
pub(crate) fn work(pool: &Pool, limit: Span) -> Option<i64> {
    let thousandths = i128::from(pool.performance.thousandths());
    let work = i128::from(limit.0) * thousandths / 1_000;
    i64::try_from(work).ok().filter(|work| *work != limit.0)
}

/// What a job that asks for this counts in the pool.
pub(crate) fn times(demand: &Demand, pool: &Pool) -> Times {
    of(demand.mode().at(pool.times))
}

fn of(times: model::Times) -> Times {
    match times {
        model::Times::Wall => Times::Wall,
        model::Times::Work => Times::Work,
    }
}

/// The job's limits where it runs or ran; while it waits, in all pools that it could run in.
/// Pools in which it is the same stand together.
pub(crate) fn limits(state: &State, job: &Job) -> Vec<Limit> {
    let pools = state.market.pools();
    let mut all = Vec::new();
    for part in job.parts() {
        let pool = pools.pool(part.pool);
        put(&mut all, limit(&job.submission.time, pool, part.run_limit()));
    }
    if !all.is_empty() || matches!(job.phase(), Phase::Over(_)) {
        return all;
    }
    let Some(demand) = job.id().and_then(|id| state.market.demand(id)) else { return all };
    for pool in pools.as_slice().iter().filter(|pool| pool.suits(demand)) {
        put(&mut all, limit(&job.submission.time, pool, pool.run_length_of(demand)));
    }
    all
}

fn limit(asked: &TimeLimit, pool: &Pool, limit: Span) -> Limit {
    let (times, reason) = counted(asked, owner(asked, pool, limit));
    Limit {
        limit: limit.0,
        times: of(times),
        by: by(reason),
        work: match (times, asked) {
            // Exact, also where the limit was rounded.
            (
                model::Times::Work,
                TimeLimit::One { limit: work, .. } | TimeLimit::Reference(work),
            ) => Some(work.0).filter(|work| *work != limit.0),
            _ => work(pool, limit),
        },
        pools: vec![pool.name.clone()],
    }
}

/// What the owner said when the limit was set, as far as that can be seen: it may have changed.
fn owner(asked: &TimeLimit, pool: &Pool, limit: Span) -> model::Times {
    let TimeLimit::One { limit: asked, .. } = asked else { return pool.times };
    let [wall, work] = [model::Times::Wall, model::Times::Work]
        .map(|times| times.length_of(*asked, pool.performance) == limit);
    match (wall, work) {
        (true, false) => model::Times::Wall,
        (false, true) => model::Times::Work,
        _ => pool.times,
    }
}

fn by(reason: CountingReason) -> TimesBy {
    match reason {
        CountingReason::Job => TimesBy::Job,
        CountingReason::Project => TimesBy::Project,
        CountingReason::Owner => TimesBy::Owner,
        CountingReason::Default => TimesBy::Default,
        CountingReason::Earlier => TimesBy::EarlierRelease,
        CountingReason::Class => TimesBy::Class,
    }
}

fn put(all: &mut Vec<Limit>, new: Limit) {
    let same = |it: &&mut Limit| {
        (it.limit, it.times, it.by, it.work) == (new.limit, new.times, new.by, new.work)
    };
    match all.iter_mut().find(same) {
        Some(known) => known.pools.extend(new.pools),
        None => all.push(new),
    }
}
