//! Looking ahead for users of the live market: the production policies, carried on in virtual
//! time from a copy of it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tradewind_daemon::live::state::Booking;
use tradewind_daemon::live::{Kind, RESOURCES, Refusal};
use tradewind_io::scenario::criterion_name;
use tradewind_model::{
    Cause, Closure, Demand, Horizon, JobId, Market, Money, PoolId, Price, Share, Span, Time, Window,
};
use tradewind_sched::explain::{self, Change};
use tradewind_sched::free::{FreeTime, Taken};
use tradewind_sched::quote::{self, Quote};
use tradewind_sched::window::{Proof, Search};
use tradewind_sim::fork::{self, Beliefs, Clash, Forecast, Limits, Outcome, Runs};
use tradewind_web::documents::{
    Explanation, Fate, JobChange, Offer, Relaxation, Totals, WhatIf, WhatIfQuestion,
};
use tradewind_web::{Advisor, Lived, MarketView, Planned, Proposal, Week, moment, offer, sentence};

use super::policies::words;
use super::trials;
use crate::client::words::length;
use crate::policy;

/// How long a forecast may take: what it found by then has to do.
const PATIENCE: Duration = Duration::from_secs(8);
/// How far windows are looked for.
const HORIZON: Span = Span(30 * 86_400);
/// Draws of policies that draw, as in the live market.
const SEED: u64 = 1;
/// Windows that stand by if a job's own is lost.
const FALL_BACKS: usize = 3;

/// Advises by simulation.
#[derive(Debug)]
pub(crate) struct Lookout;

impl Advisor for Lookout {
    fn quote(&self, view: &MarketView, demand: &Demand) -> Result<Vec<Proposal>, Refusal> {
        let taken = reserved(view)?;
        let free = free(&view.market, demand, &taken)?;
        let quotes = quotes(&free, demand);
        Ok(quotes.into_iter().map(|quote| proposal(&view.market, demand, &free, quote)).collect())
    }

    fn whatif(&self, view: &MarketView, question: &WhatIfQuestion) -> Result<WhatIf, Refusal> {
        let horizon = question.horizon.map_or(Limits::HORIZON, Span);
        let after = question.policy.clone().unwrap_or_else(|| view.policy.clone());
        let as_it_is = forecast(&view.market, &view.policy, horizon)?;
        let as_asked = match question.without_job {
            None => forecast(&view.market, &after, horizon)?,
            Some(number) => forecast(&without(view, number)?, &after, horizon)?,
        };
        Ok(difference(view, after, &as_it_is, &as_asked))
    }

    fn relive(
        &self,
        view: &MarketView,
        week: &Week,
        asked: &[(Time, PoolId, Price)],
    ) -> Result<Lived, Refusal> {
        trials::relive(view, week, asked)
    }

    fn plan(&self, view: &MarketView) -> Result<Vec<Planned>, Refusal> {
        let forecast = forecast(&view.market, &view.policy, Limits::HORIZON)?;
        let waits = |job: &JobId| view.market.demand(*job).is_some();
        let jobs = forecast.jobs.keys().copied().filter(waits);
        let planned = jobs.filter_map(|job| {
            let Runs { start, end, place, .. } = expected(&view.market, &forecast, job)?.clone();
            Some(Planned { job, start, end, place })
        });
        Ok(planned.collect())
    }

    fn explain(&self, view: &MarketView, job: JobId) -> Result<Explanation, Refusal> {
        let unknown = || Refusal::new(Kind::Unknown, "the job does not wait in the queue", "");
        let demand = view.market.demand(job).ok_or_else(unknown)?;
        let forecast = forecast(&view.market, &view.policy, Limits::HORIZON)?;
        let own = expected(&view.market, &forecast, job);
        // What all others take; the job itself is to be placed.
        let others = without_job(&view.market, job)?;
        let others = self::forecast(&others, &view.policy, Limits::HORIZON)?;
        let taken: Vec<Taken> = others.taken().collect();
        let free = free(&view.market, demand, &taken)?;
        let request = demand.request();
        let snapshot = &free.snapshot;
        let search = Search::best(request.criterion.clone());
        let told = explain::explain(&snapshot.grid, &snapshot.slots, &request, &search);
        let proposals = quotes(&free, demand).into_iter();
        let proposals = proposals.map(|quote| proposal(&view.market, demand, &free, quote));
        let fall_backs = fall_backs(view, demand, proposals);
        let (reason, message) = match (&told.answer, own) {
            (Err(reason), _) => {
                let down = not_working(&view.market, demand).unwrap_or_default();
                (Some(reason.code().to_owned()), format!("{}{down}", sentence(reason)))
            }
            (Ok(_), Some(runs)) => {
                (None, format!("it is expected to start at {}", moment(runs.start)))
            }
            (Ok(_), None) => (None, "it waits for jobs before it".to_owned()),
        };
        Ok(Explanation {
            job: view.numbers.get(&job).copied().unwrap_or_default(),
            reason,
            message,
            expected_start: own.map(|runs| runs.start.0),
            ahead: Some(view.market.queue().take_while(|other| *other < job).count() as u64),
            relaxations: told.relaxations.iter().map(relaxation).collect(),
            fall_backs,
            fair_share: fair_share(view, demand),
        })
    }
}

/// Where the job's user stands among all users, if the policy puts jobs in the order of fair
/// shares: whoever has used least comes first.
fn fair_share(view: &MarketView, demand: &Demand) -> Option<String> {
    let half_life = policy::half_life(&view.policy)?;
    let user = demand.terms().user;
    let name = view.users.get(usize::try_from(user).ok()?)?;
    let used = |user: i64| view.used.get(&user).copied().unwrap_or(0);
    let own = used(user);
    let users = view.users.len();
    let before = (0..users as i64).filter(|other| used(*other) < own).count();
    let all: u64 = view.used.values().fold(0, |sum, used| sum.saturating_add(*used));
    Some(format!(
        "{name} is number {} of {users} users, with {own} of all {all} processor-seconds used \
         lately, of which half are forgotten every {}; who has used least comes first",
        before + 1,
        length(half_life.0)
    ))
}

/// The market carried on under a policy, for as long as there is patience.
fn forecast(market: &Market, policy: &str, horizon: Span) -> Result<Forecast, Refusal> {
    let made = policy::live(policy, market.pools(), SEED);
    let mut made = made.map_err(|wrong| {
        Refusal::new(Kind::Invalid, words(&wrong), "`tradewind simulate --help` names policies")
    })?;
    let begin = Instant::now();
    let mut watch = |_| match begin.elapsed() < PATIENCE {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let limits = Limits { horizon, ..Limits::default() };
    // Nobody loses nodes to hours or to an owner's load here, but to nodes that break.
    let beliefs = Beliefs { clash: Clash::Waits, ..Beliefs::default() };
    let done = fork::fork(market, &mut *made, &beliefs, limits, &mut watch);
    done.map_err(|wrong| Refusal::new(Kind::Conflict, wrong.to_string(), "ask again"))
}

/// When jobs that wait are expected to start.
pub(crate) fn starts(market: &Market, policy: &str) -> Vec<(JobId, Time)> {
    let Ok(forecast) = forecast(market, policy, Limits::HORIZON) else { return Vec::new() };
    let waiting = market.queue();
    waiting.filter_map(|job| Some((job, expected(market, &forecast, job)?.start))).collect()
}

/// When and where a waiting job is expected to run; `None`: nobody knows. A forecast has nodes that
/// do not work come back after a day: what needs them is not expected at all.
fn expected<'f>(market: &Market, forecast: &'f Forecast, job: JobId) -> Option<&'f Runs> {
    let runs = forecast.jobs.get(&job)?.runs()?;
    let processors = market.demand(job)?.processors;
    let mut shares = runs.place.shares(processors);
    shares.all(|share| share.nodes <= working(market, share.pool)).then_some(runs)
}

/// Nodes of the pool that work, whoever has them.
fn working(market: &Market, pool: PoolId) -> u32 {
    let here = dead(market).filter(|what| what.pool == pool).map(|what| what.nodes);
    market.pools().pool(pool).nodes.saturating_sub(here.sum())
}

/// Which nodes do not work of pools that suit the job, for the end of a sentence.
fn not_working(market: &Market, demand: &Demand) -> Option<String> {
    let suits = market.pools().iter().filter(|(_, pool)| pool.suits(demand));
    let down = suits.filter_map(|(id, pool)| {
        let down = pool.nodes - working(market, id);
        (down > 0).then(|| format!("{down} of {} nodes of {}", pool.nodes, pool.name))
    });
    let down: Vec<String> = down.collect();
    (!down.is_empty()).then(|| format!("; down: {}", down.join(", ")))
}

/// Nodes that do not work.
fn dead(market: &Market) -> impl Iterator<Item = Closure> {
    let closures = market.closures().map(|(_, what)| what);
    closures.filter(|what| matches!(what.cause, Cause::Failure(_)))
}

/// What waiting jobs are expected to take: whoever asks for a quote comes after them.
fn reserved(view: &MarketView) -> Result<Vec<Taken>, Refusal> {
    Ok(forecast(&view.market, &view.policy, HORIZON)?.taken().collect())
}

fn free(market: &Market, demand: &Demand, taken: &[Taken]) -> Result<FreeTime, Refusal> {
    let horizon = Horizon { start: market.now(), end: market.now() + HORIZON };
    // Nobody knows when nodes that do not work will be back.
    let away = dead(market).map(|what| Taken {
        share: Share { pool: what.pool, nodes: what.nodes },
        from: what.until,
        until: horizon.end,
    });
    let taken: Vec<Taken> = taken.iter().copied().chain(away).collect();
    let free = FreeTime::new(market, demand, &taken, horizon);
    free.map_err(|wrong| Refusal::new(Kind::Conflict, wrong.to_string(), ""))
}

fn quotes(free: &FreeTime, demand: &Demand) -> Vec<Quote> {
    let snapshot = &free.snapshot;
    let request = demand.request();
    quote::quotes(&snapshot.grid, &snapshot.slots, &request, Search::DEFAULT_WORK_LIMIT)
}

fn proposal(market: &Market, demand: &Demand, free: &FreeTime, quote: Quote) -> Proposal {
    let exact = quote.answer.as_ref().is_ok_and(|found| matches!(found.proof, Proof::Exact));
    let answer = quote.answer.map(|found| booking(market, demand, free, &found.window));
    Proposal { criterion: criterion_name(&quote.criterion), exact, answer }
}

fn booking(market: &Market, demand: &Demand, free: &FreeTime, window: &Window) -> (Booking, Money) {
    let (place, start) = (free.place(window), window.start());
    let (mut ends, mut prices) = (Vec::new(), Vec::new());
    for share in place.shares(demand.processors) {
        let pool = market.pools().pool(share.pool);
        ends.push(start + pool.length_of(demand));
        prices.push(pool.price);
    }
    (Booking { start, ends, place, prices }, window.cost())
}

/// The first few of the proposals that differ.
fn fall_backs(
    view: &MarketView,
    demand: &Demand,
    proposals: impl Iterator<Item = Proposal>,
) -> Vec<Offer> {
    let mut seen: Vec<Booking> = Vec::new();
    let mut offers = Vec::new();
    for Proposal { criterion, exact, answer } in proposals {
        let Ok((booking, cost)) = answer else { continue };
        if seen.contains(&booking) || offers.len() == FALL_BACKS {
            continue;
        }
        let pools = view.market.pools();
        offers.push(offer(pools, demand, (criterion, exact), &booking, cost));
        seen.push(booking);
    }
    offers
}

fn relaxation(it: &explain::Relaxation) -> Relaxation {
    let by = match &it.change {
        Change::Budget(more) => more.to_string(),
        Change::MaxPrice(more) => more.to_string(),
        Change::Deadline(later) => format!("{later}s"),
        Change::EarliestStart(earlier) => format!("-{earlier}s"),
        Change::MinPerformance(less) => format!("-{}.{:03}", less / 1_000, less % 1_000),
        Change::Tasks(fewer) => format!("-{fewer}"),
        Change::Attribute(name) => return without_attribute(name, it),
    };
    let limit = it.change.limit().to_owned();
    Relaxation { limit, by, start: it.window.start().0, cost: it.window.cost().into() }
}

/// Some attributes stand for other words of the submission.
fn without_attribute(name: &str, it: &explain::Relaxation) -> Relaxation {
    let (limit, by) = match name {
        "site" => ("sites", "naming none".to_owned()),
        "pool" => ("pools", "naming none".to_owned()),
        RESOURCES => ("passed_through", "asking for less memory or fewer resources".to_owned()),
        other => ("attributes", format!("without {other}")),
    };
    let (start, cost) = (it.window.start().0, it.window.cost().into());
    Relaxation { limit: limit.to_owned(), by, start, cost }
}

/// The market as if the job had never been submitted.
fn without(view: &MarketView, number: u64) -> Result<Market, Refusal> {
    let id = view.numbers.iter().find(|(_, job)| **job == number).map(|(id, _)| *id);
    let id = id.ok_or_else(|| {
        Refusal::new(Kind::Unknown, format!("job {number} neither waits nor runs"), "see `jobs`")
    })?;
    without_job(&view.market, id)
}

fn without_job(market: &Market, job: JobId) -> Result<Market, Refusal> {
    let mut state = market.state();
    state.jobs.retain(|other| other.job != job);
    let restored = Market::restore(state);
    restored.map_err(|wrong| Refusal::new(Kind::Conflict, wrong.to_string(), ""))
}

fn difference(view: &MarketView, after: String, old: &Forecast, new: &Forecast) -> WhatIf {
    let (mut same, mut sooner, mut later) = (0, 0, 0);
    let mut changes = Vec::new();
    for (id, number) in &view.numbers {
        let (Some(before), Some(then)) = (old.jobs.get(id), new.jobs.get(id)) else { continue };
        if before == then {
            same += 1;
            continue;
        }
        let end = |outcome: &Outcome| outcome.runs().map_or(Time::MAX, |runs| runs.end);
        sooner += u32::from(end(then) < end(before));
        later += u32::from(end(then) > end(before));
        changes.push(JobChange { job: *number, before: fate(before), after: fate(then) });
    }
    WhatIf {
        before: view.policy.clone(),
        after,
        from: old.from.0,
        until: old.until.max(new.until).0,
        totals_before: totals(old),
        totals_after: totals(new),
        same,
        sooner,
        later,
        changes,
    }
}

fn fate(outcome: &Outcome) -> Fate {
    match outcome {
        Outcome::Runs(runs) => Fate {
            start: Some(runs.start.0),
            end: Some(runs.end.0),
            cost: Some(runs.cost.into()),
            refused: None,
        },
        Outcome::Refused { reason, .. } => {
            Fate { refused: Some(sentence(reason)), ..Fate::default() }
        }
        Outcome::Open { .. } => Fate::default(),
    }
}

fn totals(forecast: &Forecast) -> Totals {
    let of = &forecast.totals;
    Totals {
        started: of.started,
        refused: of.refused,
        open: of.open,
        mean_wait: of.mean_wait,
        makespan: of.makespan.0,
        income: Money(of.income.iter().sum::<i128>().try_into().unwrap_or(i64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tradewind_io::settings::Settings;
    use tradewind_model::{ClosureId, Event, Pools, Terms};

    use super::*;

    #[test]
    fn nobody_is_promised_nodes_that_do_not_work() {
        let mut market = Market::new(Pools::cluster(4).into(), Time(0));
        let (pool, closure, cause) = (PoolId(0), ClosureId(0), Cause::Failure(0));
        let what = Closure { pool, nodes: 3, from: Time(0), until: Time(86_400), cause };
        let demand = |processors| Demand { processors, estimate: Span(60), terms: None };
        let join =
            |job, processors| Event::Submitted { job: JobId(job), demand: demand(processors) };
        let dead = [Event::Announced { closure, what }, Event::Closed { closure }];
        for event in dead.into_iter().chain([join(0, 2), join(1, 1)]) {
            market.apply(&event).unwrap();
        }
        assert_eq!(starts(&market, "easy"), [(JobId(1), Time(0))]);
        let first = |processors| {
            let quotes =
                quotes(&free(&market, &demand(processors), &[]).unwrap(), &demand(processors));
            quotes[0].answer.as_ref().ok().map(|found| found.window.start())
        };
        assert_eq!((first(1), first(2)), (Some(Time(0)), None));
    }

    #[test]
    fn fair_shares_name_the_users_place() {
        let view = |policy: &str| MarketView {
            market: Market::new(crate::sites::pools(&Settings::default()).unwrap().into(), Time(0)),
            policy: policy.to_owned(),
            numbers: Default::default(),
            users: ["ana", "ben", "cay"].map(str::to_owned).to_vec(),
            used: [(0, 300), (1, 100)].into(),
            lead: Span::ZERO,
        };
        let demand = |user: i64| Demand {
            processors: 1,
            estimate: Span(60),
            terms: Some(Arc::new(Terms { user, ..Terms::default() })),
        };
        let fair = view("easy[order=fair-share,half-life=1d]");
        let said = |user| fair_share(&fair, &demand(user)).unwrap();
        assert!(said(0).starts_with("ana is number 3 of 3 users, with 300 of all 400 "));
        assert!(
            said(1).starts_with("ben is number 2 of 3 users") && said(1).contains("1-00:00:00")
        );
        assert!(said(2).starts_with("cay is number 1 of 3 users, with 0 of"), "{}", said(2));
        assert_eq!(fair_share(&view("easy"), &demand(0)), None);
        assert_eq!(fair_share(&fair, &demand(9)), None);
    }
}
