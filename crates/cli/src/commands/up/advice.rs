//! Looking ahead for users of the live market: the production policies, carried on in virtual
//! time from a copy of it.

use std::sync::Arc;

use tradewind_daemon::live::state::Booking;
use tradewind_daemon::live::{RESOURCES, Refusal, RefusalKind};
use tradewind_io::scenario::criterion_name;
use tradewind_model::{
    Criterion, Demand, Energy, Horizon, JobId, Market, Money, Node, Place, PoolId, Price, Reason,
    Share, Span, Time, Window,
};
use tradewind_sched::explain::{self, Change};
use tradewind_sched::free::{FreeTime, Taken};
use tradewind_sched::quote::{self, Quote};
use tradewind_sched::window::{Found, Proof, Search};
use tradewind_sim::fork::{Forecast, Limits, Outcome, Stopped};
use tradewind_web::documents::{
    Explanation, Fate, JobChange, LookedAt, Offer, Relaxation, Totals, WhatIf, WhatIfQuestion,
};
use tradewind_web::{
    Advisor, MarketView, Plan, Proposal, Quoted, ReplayResult, Watch, Week, offer, sentence,
};

use super::planner::Plans;
use super::planner::draft::{Head, dead, forecast_of, head, working};
use super::{policies, trials};
use crate::client::words::length;
use crate::policy::PolicySpec;

/// How far windows are looked for.
const HORIZON: Span = Span(30 * 86_400);
/// What offers are best by, beside the criteria of every quote, where nodes say what they consume.
const ENERGY: &str = "energy";
const CARBON: &str = "carbon";
/// Windows that stand by if a job's own is lost.
const FALL_BACKS: usize = 3;

/// Advises by the kept plan of the queue, and by simulation.
#[derive(Debug, Default)]
pub(crate) struct SimulationAdvisor {
    pub(crate) plans: Arc<Plans>,
}

impl Advisor for SimulationAdvisor {
    fn quote(&self, view: &MarketView, demand: &Demand, watch: &Watch) -> Result<Quoted, Refusal> {
        let kept = self.plans.plan(view, watch)?;
        let taken: Vec<Taken> = kept.taken(&view.market).collect();
        let free = free(&view.market, demand, &taken)?;
        let proposals = proposals(&view.market, demand, &free, watch)?;
        Ok(Quoted { proposals, queue: kept.queue })
    }

    fn quote_instead(
        &self,
        view: &MarketView,
        job: JobId,
        demand: &Demand,
        watch: &Watch,
    ) -> Result<Vec<Proposal>, Refusal> {
        let kept = self.plans.plan(view, watch)?;
        let taken: Vec<Taken> = kept.taken_by_others(&view.market, job).collect();
        let free = free(&view.market, demand, &taken)?;
        proposals(&view.market, demand, &free, watch)
    }

    fn whatif(
        &self,
        view: &MarketView,
        question: &WhatIfQuestion,
        watch: &Watch,
    ) -> Result<WhatIf, Refusal> {
        let horizon = question.horizon.map_or(Limits::HORIZON, Span);
        let before = policies::read(&view.policy)?;
        let after = match &question.policy {
            Some(policy) => policies::read(policy)?,
            None => before.clone(),
        };
        let mut head = head(view, &before);
        let of = view.market.queue().len() as u64;
        let carry = |view: &MarketView, head: &Head, policy: &PolicySpec| {
            let forecast = forecast_of(view, head, policy, horizon, &mut || watch.flow())?;
            match forecast.stopped {
                Stopped::Watcher => Err(stopped()),
                _ => Ok(forecast),
            }
        };
        let looked_at = Some(LookedAt { jobs: head.first.len() as u64, of });
        let as_it_is = carry(view, &head, &before)?;
        let as_asked = match question.without_job {
            None => carry(view, &head, &after)?,
            Some(number) => {
                let (market, job) = without(view, number)?;
                head.first.retain(|other| *other != job);
                head.rest.retain(|other| *other != job);
                carry(&MarketView { market, ..view.clone() }, &head, &after)?
            }
        };
        Ok(WhatIf { looked_at, ..difference(view, after.text().to_owned(), &as_it_is, &as_asked) })
    }

    fn replay_with_prices(
        &self,
        view: &MarketView,
        week: &Week,
        asked: &[(Time, PoolId, Price)],
        watch: &Watch,
    ) -> Result<ReplayResult, Refusal> {
        trials::replay_with_prices(view, week, asked, watch)
    }

    fn plan(&self) -> Option<Arc<Plan>> {
        self.plans.last().map(|kept| kept.shown())
    }

    fn explain(
        &self,
        view: &MarketView,
        job: JobId,
        watch: &Watch,
    ) -> Result<Explanation, Refusal> {
        let unknown =
            || Refusal::new(RefusalKind::Unknown, "the job does not wait in the queue", "");
        let demand = view.market.demand(job).ok_or_else(unknown)?;
        let kept = self.plans.plan(view, watch)?;
        // What all others take; the job itself is to be placed.
        let taken: Vec<Taken> = kept.taken_by_others(&view.market, job).collect();
        let told = told(view, demand, &taken, watch)?;
        Ok(Explanation {
            job: view.numbers.get(&job).copied().unwrap_or_default(),
            ahead: Some(view.market.queue().take_while(|other| *other < job).count() as u64),
            fair_share: fair_share(view, demand),
            queue: Some(kept.queue),
            ..told
        })
    }

    fn explain_window(
        &self,
        view: &MarketView,
        demand: &Demand,
        watch: &Watch,
    ) -> Result<Explanation, Refusal> {
        let kept = self.plans.plan(view, watch)?;
        let taken: Vec<Taken> = kept.taken(&view.market).collect();
        let told = told(view, demand, &taken, watch)?;
        let message = match told.reason {
            Some(_) => told.message,
            None => {
                "there is a window for all of its groups, which is about to be booked".to_owned()
            }
        };
        Ok(Explanation { message, queue: Some(kept.queue), ..told })
    }
}

/// What a job that asks for this could get beside what is taken, or why it can get nothing.
fn told(
    view: &MarketView,
    demand: &Demand,
    taken: &[Taken],
    watch: &Watch,
) -> Result<Explanation, Refusal> {
    let free = free(&view.market, demand, taken)?;
    let request = demand.request();
    let snapshot = &free.snapshot;
    let search = Search::best(request.criterion.clone());
    let (grid, slots) = (&snapshot.grid, &snapshot.slots);
    let mut going = || watch.flow();
    let told = explain::explain_while(grid, slots, &request, &search, &mut going);
    let told = told.map_err(|explain::Stopped| stopped())?;
    let proposals = quotes(&free, demand, watch)?.into_iter();
    let proposals = proposals.map(|quote| proposal(&view.market, demand, &free, quote));
    let fall_backs = fall_backs(view, demand, proposals);
    let (reason, message) = match &told.answer {
        Err(reason) => {
            let down = not_working(&view.market, demand).unwrap_or_default();
            (Some(reason.code().to_owned()), format!("{}{down}", sentence(reason)))
        }
        Ok(_) => (None, "it waits for jobs before it".to_owned()),
    };
    Ok(Explanation {
        job: 0,
        reason,
        message,
        // The API has it of the plan.
        expected_start: None,
        expectation: None,
        advice: None,
        ahead: None,
        relaxations: told.relaxations.iter().map(relaxation).collect(),
        fall_backs,
        fair_share: None,
        queue: None,
    })
}

/// Where the job's user stands among all users, if the policy puts jobs in the order of fair
/// shares: the user who has used least comes first.
fn fair_share(view: &MarketView, demand: &Demand) -> Option<String> {
    let half_life = PolicySpec::parse(&view.policy).ok()?.half_life()?;
    let user = demand.terms().user;
    let name = view.users.get(usize::try_from(user).ok()?)?;
    let used = |user: i64| view.used.get(&user).copied().unwrap_or(0);
    let own = used(user);
    let users = view.users.len();
    let before = (0..users as i64).filter(|other| used(*other) < own).count();
    let all: u64 = view.used.values().fold(0, |sum, used| sum.saturating_add(*used));
    Some(format!(
        "{name} is number {} of {users} users, with {own} of all {all} processor-seconds used \
         recently, of which half are forgotten every {}; the user who has used least comes first",
        before + 1,
        length(half_life.0)
    ))
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

/// The client has gone, or the time is over: the caller says which.
fn stopped() -> Refusal {
    Refusal::new(RefusalKind::Unavailable, "the search was stopped", "try again in a second")
}

fn free(market: &Market, demand: &Demand, taken: &[Taken]) -> Result<FreeTime, Refusal> {
    let horizon = Horizon { start: market.now(), end: market.now() + HORIZON };
    // It is unknown when nodes that do not work will be back.
    let away = dead(market).map(|what| Taken {
        share: Share { pool: what.pool, nodes: what.nodes },
        from: what.until,
        until: horizon.end,
        memory: 0,
    });
    let taken: Vec<Taken> = taken.iter().copied().chain(away).collect();
    let free = FreeTime::new(market, demand, &taken, horizon);
    free.map_err(|wrong| Refusal::new(RefusalKind::Conflict, wrong.to_string(), ""))
}

fn quotes(free: &FreeTime, demand: &Demand, watch: &Watch) -> Result<Vec<Quote>, Refusal> {
    let snapshot = &free.snapshot;
    let request = demand.request();
    let (grid, slots) = (&snapshot.grid, &snapshot.slots);
    let limit = Search::DEFAULT_WORK_LIMIT;
    let found = quote::quotes_while(grid, slots, &request, limit, &mut || watch.flow());
    found.ok_or_else(stopped)
}

/// The best window by each criterion; by energy and carbon, too, where all nodes say what they consume.
fn proposals(
    market: &Market,
    demand: &Demand,
    free: &FreeTime,
    watch: &Watch,
) -> Result<Vec<Proposal>, Refusal> {
    let own = |quote| proposal(market, demand, free, quote);
    let mut all: Vec<Proposal> = quotes(free, demand, watch)?.into_iter().map(own).collect();
    let (grid, slots) = (&free.snapshot.grid, &free.snapshot.slots);
    let has_watts = |node: &Node| node.attributes.contains_key(Energy::BUSY);
    let Some(power) = grid.power().filter(|_| grid.nodes().iter().all(has_watts)) else {
        return Ok(all);
    };
    let (request, limit) = (demand.request(), Search::DEFAULT_WORK_LIMIT);
    if !all.iter().any(|it| it.criterion == ENERGY) {
        let answer = quote::least_energy(grid, slots, &request, limit);
        all.push(powered(market, demand, free, (ENERGY, answer)));
    }
    if power.sites.iter().any(|site| site.carbon.is_some()) {
        if watch.flow().is_break() {
            return Err(stopped());
        }
        let answer = quote::least_carbon(grid, slots, &request, limit);
        all.push(powered(market, demand, free, (CARBON, answer)));
    }
    Ok(all)
}

fn powered(
    market: &Market,
    demand: &Demand,
    free: &FreeTime,
    (criterion, answer): (&str, Result<Found, Reason>),
) -> Proposal {
    let exact = answer.as_ref().is_ok_and(|found| matches!(found.proof, Proof::Exact));
    let answer = answer.map(|found| booking(market, demand, free, &found.window));
    Proposal { criterion: criterion.to_owned(), exact, answer }
}

fn proposal(market: &Market, demand: &Demand, free: &FreeTime, quote: Quote) -> Proposal {
    let exact = quote.answer.as_ref().is_ok_and(|found| matches!(found.proof, Proof::Exact));
    let answer = quote.answer.map(|found| booking(market, demand, free, &found.window));
    let criterion = match &quote.criterion {
        Criterion::Sum(attribute) if attribute == Energy::BUSY => ENERGY.to_owned(),
        criterion => criterion_name(criterion),
    };
    Proposal { criterion, exact, answer }
}

fn booking(market: &Market, demand: &Demand, free: &FreeTime, window: &Window) -> (Booking, Money) {
    if demand.terms().groups.is_some() {
        let parts = free.groups(window).into_iter();
        let parts = parts.map(|(group, share, length)| (u32::from(group), share, length));
        let price = |pool, length| market.pools().asked(pool, window.start(), length);
        let booking = Booking::of_groups(window.start(), parts, price);
        let cost = booking.max(0) + window.licences_cost();
        return (booking, cost);
    }
    let (mut place, start) = (free.place(window), window.start());
    let width = u32::try_from(window.tasks().len()).unwrap_or(u32::MAX);
    let shape = demand.in_shape(width);
    if shape.is_some() {
        place = Place::counted(place.shares(width).collect());
    }
    let demand = shape.as_ref().unwrap_or(demand);
    let (mut ends, mut prices) = (Vec::new(), Vec::new());
    for share in place.shares(demand.processors) {
        let length = market.pools().pool(share.pool).length_of(demand);
        ends.push(start + length);
        prices.push(market.pools().asked(share.pool, start, length));
    }
    let booking = Booking { start, ends, place, prices, groups: None };
    let cost = booking.max(demand.processors) + window.licences_cost();
    (booking, cost)
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
        Change::Spread => "nodes at several sites".to_owned(),
        Change::Data => "without its data".to_owned(),
        Change::Need(resource, less) => format!("-{}", resource.show(*less)),
        Change::Licences { fewer, .. } => format!("-{fewer}"),
        Change::InGroup(_, change) => {
            let of_group = explain::Relaxation { change: (**change).clone(), ..it.clone() };
            let limit = it.change.limit().into_owned();
            return Relaxation { limit, ..relaxation(&of_group) };
        }
    };
    let limit = it.change.limit().into_owned();
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

/// The market as if the job had never been submitted, and the job.
fn without(view: &MarketView, number: u64) -> Result<(Market, JobId), Refusal> {
    let id = view.numbers.iter().find(|(_, job)| **job == number).map(|(id, _)| *id);
    let id = id.ok_or_else(|| {
        Refusal::new(
            RefusalKind::Unknown,
            format!("job {number} neither waits nor runs"),
            "see `jobs`",
        )
    })?;
    Ok((without_job(&view.market, id)?, id))
}

fn without_job(market: &Market, job: JobId) -> Result<Market, Refusal> {
    let mut state = market.state();
    state.jobs.retain(|other| other.job != job);
    let restored = Market::restore(state);
    restored.map_err(|wrong| Refusal::new(RefusalKind::Conflict, wrong.to_string(), ""))
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
        looked_at: None,
    }
}

fn fate(outcome: &Outcome) -> Fate {
    match outcome {
        Outcome::Runs(runs) => Fate {
            start: Some(runs.start.0),
            ranges: None,
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
    use std::ops::ControlFlow;
    use std::time::Duration;

    use tradewind_io::settings::Settings;
    use tradewind_model::{Cause, Event, Outage, OutageId, Pools, Terms};

    use super::super::planner::draft::Draft;
    use super::*;

    fn view(market: Market, policy: &str) -> MarketView {
        MarketView {
            market,
            policy: policy.to_owned(),
            numbers: Default::default(),
            users: Vec::new(),
            used: Default::default(),
            lead: Span::ZERO,
        }
    }

    #[test]
    fn no_job_is_promised_nodes_that_do_not_work() {
        let mut market = Market::new(Pools::cluster(4).into(), Time(0));
        let (pool, closure, cause) = (PoolId(0), OutageId(0), Cause::Failure(0));
        let what = Outage { pool, nodes: 3, from: Time(0), until: Time(86_400), cause };
        let demand = |processors| Demand::new(processors, Span(60));
        let join =
            |job, processors| Event::Submitted { job: JobId(job), demand: demand(processors) };
        let dead = [Event::Announced { closure, what }, Event::Closed { closure }];
        for event in dead.into_iter().chain([join(0, 2), join(1, 1)]) {
            market.apply(&event).unwrap();
        }
        let view = view(market.clone(), "easy");
        let kept = Draft::make(&view, &mut || ControlFlow::Continue(())).unwrap().unwrap().kept;
        let start = |job| kept.expected(JobId(job)).map(|placed| placed.start);
        assert_eq!([0, 1].map(start), [None, Some(Time(0))]);
        let watch = Watch::new(Duration::MAX);
        let first = |processors| {
            let free = free(&market, &demand(processors), &[]).unwrap();
            let quotes = quotes(&free, &demand(processors), &watch).unwrap();
            quotes[0].answer.as_ref().ok().map(|found| found.window.start())
        };
        assert_eq!((first(1), first(2)), (Some(Time(0)), None));
    }

    #[test]
    fn fair_shares_name_the_users_place() {
        let pools = Arc::new(crate::sites::pools(&Settings::default()).unwrap());
        let view = |policy: &str| MarketView {
            users: ["ana", "ben", "cay"].map(str::to_owned).to_vec(),
            used: [(0, 300), (1, 100)].into(),
            ..view(Market::new(Arc::clone(&pools), Time(0)), policy)
        };
        let demand = |user: i64| Demand {
            terms: Some(Arc::new(Terms { user, ..Terms::default() })),
            ..Demand::new(1, Span(60))
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
