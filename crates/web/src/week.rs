//! Last week, to be lived again under other prices: its jobs, its prices, and the nodes that were
//! missing.

use tradewind_daemon::live::Live;
use tradewind_daemon::live::recent_history::PastOutage;
use tradewind_daemon::live::state::{Finish, Happening, Job, Part, Phase, State, Why};
use tradewind_model::{Cause, Demand, Outage, PoolId, Price, Span, Time, Times};

use crate::views::trends;

/// Last week, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Week {
    /// When it began: seven days ago, or when the market did, or what is known of it does.
    pub from: Time,
    /// The moment of now.
    pub until: Time,
    /// Jobs that joined the queue and ran, were refused or wait still. Others are left out: they
    /// were cancelled before they began, are held, or went to a peer.
    pub jobs: Vec<PastJob>,
    /// Nodes that were missing, are missing, or will be. A booked window is not: its job is among
    /// the jobs, and comes when it came.
    pub missing: Vec<Missing>,
    /// What pools cost, from when on, in the order of time; all that are known from the beginning.
    pub asked: Vec<(Time, PoolId, Price)>,
    /// What jobs really had.
    pub real: ReplayResult,
}

/// A job of that week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastJob {
    /// When it last joined the queue; the week's beginning, if that was before.
    pub submit: Time,
    /// What it asked for.
    pub demand: Demand,
    /// How long it ran within the week, counted like its estimate; that, if it has not ended.
    pub run: Span,
}

/// Nodes that were missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// When the market learned of it, as far as is known: hours that owners withhold are planned
    /// ahead, and of all else the beginning is known.
    pub announced: Time,
    /// What. Its end is the real one.
    pub what: Outage,
}

/// What jobs had of a week, or would have had.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplayResult {
    /// Use of nodes by jobs.
    pub had: Vec<PoolUse>,
    /// How many of the week's jobs began.
    pub ran: u32,
}

/// Nodes that a job had in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolUse {
    /// Id of the pool.
    pub pool: PoolId,
    /// Number of nodes.
    pub nodes: u32,
    /// What it paid for each, per second.
    pub price: Price,
    /// First second.
    pub from: Time,
    /// First second after it.
    pub until: Time,
}

/// What a pool had of a week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Earned {
    /// Income in micro-credits.
    pub income: i128,
    /// Occupied node-seconds.
    pub used: i64,
}

/// Other prices for a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// So many hundredths of what it asked at each moment.
    Part(i64),
    /// The same all the time.
    Flat(Price),
}

impl Week {
    /// The last week of this market. Linear in its jobs, and as [`State::recent_outages`].
    pub fn of(live: &Live) -> Week {
        let state = live.state();
        let until = state.now();
        let from = trends::known(state).max(until - live.settings().keep).min(until);
        let mut week = Week {
            from,
            until,
            jobs: Vec::new(),
            missing: Vec::new(),
            asked: Vec::new(),
            real: ReplayResult::default(),
        };
        for job in state.jobs.values().filter(|job| counts(job)) {
            week.add(live, job);
        }
        let gone = state.recent_outages(until);
        week.missing = gone.iter().filter_map(|gone| missing(state, from, gone)).collect();
        week.missing.extend(planned(state, from));
        week.asked = asked(state, (from, until));
        week
    }

    /// Puts the job down, unless it was over before, or is for nodes that are not there any more.
    fn add(&mut self, live: &Live, job: &Job) {
        let Ok(demand) = live.wish_of(&job.user, &job.submission) else { return };
        if demand.processors > live.state().market.processors() {
            return;
        }
        let joined = job.history.iter().rfind(|(_, what)| *what == Happening::Queued);
        let Some((joined, _)) = joined else { return };
        if job.ended().is_some_and(|ended| ended <= self.from) {
            return;
        }
        let ran = |part: &Part| {
            let (end, _) = part.exit.as_ref()?;
            let pool = live.state().market.pools().pool(part.pool);
            let length = *end - job.works_since(part)?.max(self.from);
            let thousandths = match demand.mode().at(pool.times) {
                Times::Wall => 1_000,
                Times::Work => i64::from(pool.performance.thousandths()),
            };
            // Rounded down: on a node that is no slower than the reference it is as long again.
            Some(length.0.max(0) * thousandths / 1_000)
        };
        let run = job.parts().iter().map(ran).collect::<Option<Vec<_>>>();
        let run = run.and_then(|all| all.into_iter().max()).map_or(demand.estimate, Span);
        let run = run.max(Span(1)).min(demand.estimate);
        self.jobs.push(PastJob { submit: (*joined).max(self.from), demand, run });
        self.real.ran += u32::from(job.began().is_some());
        let had = job.parts().iter().filter_map(|part| had(job, part, self.until));
        self.real.had.extend(had);
    }

    /// What the pool had of it: only what lies within the week.
    pub fn earned(&self, lived: &ReplayResult, pool: PoolId) -> Earned {
        let mut earned = Earned::default();
        for had in lived.had.iter().filter(|had| had.pool == pool) {
            let span = self.within(had.from, had.until);
            earned.income += i128::from(had.price.of(had.nodes, span).0);
            earned.used += span.0 * i64::from(had.nodes);
        }
        earned
    }

    /// Node-seconds of the pool that its owner's own load had, and that were not there at all.
    pub(crate) fn missed(&self, pool: PoolId) -> (i64, i64) {
        let (mut owners, mut gone) = (0, 0);
        for Missing { what, .. } in self.missing.iter().filter(|it| it.what.pool == pool) {
            let seconds = self.within(what.from, what.until).0 * i64::from(what.nodes);
            match what.cause {
                Cause::Local => owners += seconds,
                _ => gone += seconds,
            }
        }
        (owners, gone)
    }

    /// Prices as they were, but for one pool.
    pub fn with(&self, pool: PoolId, other: Other) -> Vec<(Time, PoolId, Price)> {
        let price = |of: PoolId, price: Price| match other {
            _ if of != pool => price,
            Other::Part(part) => hundredths(price, part),
            Other::Flat(flat) => flat,
        };
        self.asked.iter().map(|&(at, of, asked)| (at, of, price(of, asked))).collect()
    }

    /// What the pool asked on average over time, rounded down.
    pub(crate) fn mean(&self, pool: PoolId) -> Price {
        let own: Vec<_> = self.asked.iter().filter(|(_, of, _)| *of == pool).collect();
        let ends = own.iter().skip(1).map(|(at, ..)| *at).chain([self.until]);
        let (mut sum, mut all) = (0_i128, 0_i128);
        for ((at, _, price), end) in own.iter().zip(ends) {
            let span = i128::from(self.within(*at, end).0);
            (sum, all) = (sum + span * i128::from(price.0), all + span);
        }
        let last = own.last().map_or(0, |(_, _, price)| price.0);
        Price(sum.checked_div(all).and_then(|mean| i64::try_from(mean).ok()).unwrap_or(last))
    }

    /// Length of the replayed time.
    pub(crate) fn length(&self) -> Span {
        self.until - self.from
    }

    fn within(&self, from: Time, until: Time) -> Span {
        Span((until.min(self.until) - from.max(self.from)).0.max(0))
    }
}

impl Earned {
    /// The part of so many node-seconds, in percent.
    pub(crate) fn share(&self, supply: i64) -> f64 {
        share(self.used, supply)
    }
}

/// Node-seconds of so many, in percent.
pub(crate) fn share(part: i64, supply: i64) -> f64 {
    part as f64 * 100.0 / supply.max(1) as f64
}

/// So many hundredths of the price, rounded down.
pub(crate) fn hundredths(price: Price, part: i64) -> Price {
    Price(price.0.saturating_mul(part) / 100)
}

fn counts(job: &Job) -> bool {
    match job.phase() {
        Phase::Waiting | Phase::Running => true,
        Phase::Over(Finish::Refused(_)) => true,
        Phase::Over(_) => job.began().is_some(),
        Phase::Held(_) | Phase::Handing | Phase::Away => false,
    }
}

/// The nodes on which the part's work ran, for as long as it pays.
fn had(job: &Job, part: &Part, until: Time) -> Option<PoolUse> {
    let from = job.works_since(part)?;
    let until = from + job.worked(part, until);
    let Part { pool, nodes, price, .. } = *part;
    Some(PoolUse { pool, nodes, price, from, until })
}

/// `None`: it was over before the week, or was set aside for a job of the market.
fn missing(state: &State, from: Time, gone: &PastOutage) -> Option<Missing> {
    let cause = cause(&gone.why)?;
    let begin = gone.from.max(from);
    let announced = if cause == Cause::Withheld { from } else { begin };
    let until = match gone.until < state.now() {
        true => gone.until,
        // It goes on; the market's expectation is the best estimate.
        false => expected_end(state, &gone.why).map_or(gone.until, |end| end.max(gone.until)),
    };
    let (pool, nodes) = (gone.why.pool(), gone.nodes);
    let what = Outage { pool, nodes, from: begin, until, cause };
    (begin < until).then_some(Missing { announced, what })
}

fn cause(why: &Why) -> Option<Cause> {
    match why {
        Why::Local(..) | Why::Stray(..) => Some(Cause::Local),
        Why::Down(_) | Why::Away(_) => Some(Cause::Failure(0)),
        Why::Withheld(..) | Why::Reclaimed(..) => Some(Cause::Withheld),
        Why::Booked(..) | Why::Queued(..) | Why::AwayLater(_) => None,
    }
}

fn expected_end(state: &State, why: &Why) -> Option<Time> {
    let (what, _) = state.market.closure_state(*state.outages().get(why)?)?;
    Some(what.until)
}

/// Nodes that will be missing: jobs were planned around them.
fn planned(state: &State, announced: Time) -> impl Iterator<Item = Missing> {
    let now = state.now();
    state.outages().iter().filter_map(move |(why, id)| {
        cause(why)?;
        let (what, begun) = state.market.closure_state(*id)?;
        let what = Outage { from: what.from.max(now), ..what };
        (!begun && what.from < what.until).then_some(Missing { announced, what })
    })
}

fn asked(state: &State, (from, until): (Time, Time)) -> Vec<(Time, PoolId, Price)> {
    let mut all = Vec::new();
    for (pool, asked) in &state.past().prices {
        let known = asked.points.partition_point(|(at, _)| *at <= from);
        let points = asked.points.iter().skip(known.saturating_sub(1));
        let points = points.filter(|(at, _)| *at <= until);
        all.extend(points.map(|(at, price)| ((*at).max(from), *pool, *price)));
    }
    all.sort_by_key(|(at, pool, _)| (*at, *pool));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: PoolId = PoolId(0);
    const B: PoolId = PoolId(1);

    /// From 0 to 100; pool `A` costs 10 until 50 and 30 from then on, `B` 5.
    fn week() -> Week {
        let gone = |pool, nodes, from, until, cause| {
            let what = Outage { pool, nodes, from: Time(from), until: Time(until), cause };
            Missing { announced: Time(0), what }
        };
        let had = |pool, from, until| {
            let (nodes, price) = (2, Price(10));
            PoolUse { pool, nodes, price, from: Time(from), until: Time(until) }
        };
        Week {
            from: Time(0),
            until: Time(100),
            jobs: Vec::new(),
            missing: vec![
                gone(A, 3, 90, 200, Cause::Local),
                gone(A, 1, 0, 20, Cause::Failure(0)),
                gone(A, 1, 150, 200, Cause::Withheld),
                gone(B, 9, 0, 100, Cause::Local),
            ],
            asked: vec![(Time(0), A, Price(10)), (Time(0), B, Price(5)), (Time(50), A, Price(30))],
            real: ReplayResult {
                had: vec![had(A, -10, 20), had(A, 95, 300), had(B, 0, 100)],
                ran: 3,
            },
        }
    }

    #[test]
    fn only_what_lies_within_the_week_counts() {
        let week = week();
        assert_eq!(week.earned(&week.real, A), Earned { income: 500, used: 50 });
        assert_eq!(week.earned(&week.real, B), Earned { income: 2_000, used: 200 });
        assert_eq!((week.missed(A), week.missed(B)), ((30, 20), (900, 0)));
    }

    #[test]
    fn other_prices_are_parts_of_what_was_asked_at_each_moment() {
        let week = week();
        assert_eq!([A, B].map(|pool| week.mean(pool)), [Price(20), Price(5)]);
        let of = |other| week.with(A, other).into_iter().map(|it| it.2.0).collect::<Vec<_>>();
        assert_eq!(of(Other::Part(100)), [10, 5, 30]);
        assert_eq!(of(Other::Part(25)), [2, 5, 7], "rounded down");
        assert_eq!(of(Other::Flat(Price(9))), [9, 5, 9]);
    }
}
