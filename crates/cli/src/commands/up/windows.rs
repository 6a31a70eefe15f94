//! Windows for jobs whose tasks differ: looked for and booked in the background, job by job, until
//! each has one. Such a job takes the best window by its own criterion behind the jobs that wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_daemon::engine::{EngineStopped, Handle};
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::Quote;
use tradewind_daemon::live::{Ask, Live, Refusal, RefusalKind, Reply};
use tradewind_io::scenario::criterion_name;
use tradewind_model::{Demand, Span};
use tradewind_web::{Advisor, MarketView, Watch};

use super::advice::SimulationAdvisor;
use super::planner::Plans;
use crate::background::Background;

/// How often it is looked whether jobs wait for windows.
const LOOK: Duration = Duration::from_millis(500);
/// After a search without a window the next one comes so much later, and twice as much each time.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Windows begin so long after the moment at which they are looked for, or later.
const AHEAD: Span = Span(2);
/// How long a search may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// A window that was found must be booked within this.
const VALID: Span = Span(60);
/// Jobs that are looked at in one round.
const AT_ONCE: usize = 16;

/// Starts to look.
///
/// # Errors
/// If there is no thread for it.
pub(super) fn start(market: Handle, plans: Arc<Plans>) -> std::io::Result<Background> {
    let advisor = SimulationAdvisor { plans };
    let mut seeker = Seeker { market, advisor, pauses: BTreeMap::new() };
    Background::start("windows", move |flag| flag.repeat(LOOK, || seeker.round()))
}

/// When a job is looked at next, and how long the pause before that is.
type Pause = (Instant, Duration);

struct Seeker {
    market: Handle,
    advisor: SimulationAdvisor,
    /// By job, of those for which there was no window.
    pauses: BTreeMap<u64, Pause>,
}

impl Seeker {
    fn round(&mut self) -> Result<(), EngineStopped> {
        let jobs = self.market.look(Live::unplaced)?;
        self.pauses.retain(|job, _| jobs.iter().any(|(other, _)| other == job));
        let now = Instant::now();
        let is_due = |job: &u64| self.pauses.get(job).is_none_or(|(at, _)| *at <= now);
        let due: Vec<(u64, String)> =
            jobs.into_iter().filter(|(job, _)| is_due(job)).take(AT_ONCE).collect();
        for (job, user) in due {
            if let Err(refusal) = self.place(job, user)? {
                let pause = self.pauses.get(&job).map_or(FIRST_PAUSE, |(_, pause)| *pause * 2);
                let pause = pause.min(LONGEST_PAUSE);
                self.pauses.insert(job, (Instant::now() + pause, pause));
                tracing::debug!(job, why = refusal.message, "no window is booked");
            }
        }
        Ok(())
    }

    /// Books the best window of now for the job.
    fn place(&self, job: u64, user: String) -> Result<Result<(), Refusal>, EngineStopped> {
        let look = move |live: &Live| {
            let demand = live.unplaced_demand(job)?;
            Ok((demand, MarketView::of(live, AHEAD)))
        };
        let (demand, view) = match self.market.look(look)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let found = self.best(&view, &demand);
        Ok(found.and_then(|quote| self.book(job, user, quote)))
    }

    fn best(&self, view: &MarketView, demand: &Demand) -> Result<Quote, Refusal> {
        let quoted = self.advisor.quote(view, demand, &Watch::new(PATIENCE))?;
        let own = criterion_name(&demand.terms().criterion);
        let mut proposals = quoted.proposals.into_iter();
        let best = proposals.find(|it| it.criterion == own);
        let none = |message: String| Refusal::new(RefusalKind::Conflict, message, "");
        let best = best.ok_or_else(|| none(format!("no search by {own}")))?;
        let (booking, cost) = best.answer.map_err(|reason| none(reason.to_string()))?;
        let expires = view.market.now() - view.lead + VALID;
        Ok(Quote {
            number: 0,
            user: String::new(),
            tasks: demand.processors,
            work: demand.estimate,
            times: demand.mode(),
            booking,
            cost,
            expires,
            slack: None,
        })
    }

    fn book(&self, job: u64, user: String, quote: Quote) -> Result<(), Refusal> {
        let actor = Actor { user, role: Role::User };
        let Reply::Number(quote) = self.market.ask(actor.clone(), Ask::Keep { quote })? else {
            let message = "the market said nothing";
            return Err(Refusal::new(RefusalKind::Unavailable, message, ""));
        };
        let ask = Ask::Update { job, on_breach: None, quote: Some(quote) };
        self.market.ask(actor, ask).map(drop)
    }
}
