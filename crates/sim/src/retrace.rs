//! The proof that a live scheduler is the simulator's: what a policy got and what it
//! answered, gone through again.
//!
//! A recorded journal becomes [`Step`]s. [`Retrace`] applies them to a market, asks a policy of the
//! same kind at every pass and compares its answers with the recorded ones. A caller that has the
//! whole record calls [`retrace`]; one that reads it piece by piece calls [`Retrace::step`].

use std::sync::Arc;

use tradewind_model::{Command, Event, JobId, Market, MarketError, Pools, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::autonomous::Arrival;

/// A policy takes over: at the start of a record, and wherever the live process began again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Began<P> {
    /// Which, in whatever words the caller's factory understands.
    pub policy: P,
    /// The grid from here on, if it has changed; see [`Market::regrid`].
    pub pools: Option<Arc<Pools>>,
}

/// What was recorded of one moment, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<P> {
    /// The moment in simulated or market time.
    pub at: Time,
    /// A policy takes over: at its first pass it gets [`Market::history`] as of then, and
    /// nothing else.
    pub began: Option<Began<P>>,
    /// What happened, beside the effects of commands.
    pub events: Vec<Event>,
    /// What the policy answered when it was then asked: perhaps nothing. `None`: it was not asked,
    /// and the events are for its next pass.
    pub commands: Option<Vec<Command>>,
}

/// The policy answers otherwise than recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The moment in simulated or market time.
    pub at: Time,
    /// The number of commands that agree, before the first that does not.
    pub agree: usize,
    /// What was recorded.
    pub expected: Vec<Command>,
    /// What the policy answers now.
    pub found: Vec<Command>,
}

/// Why a record is not confirmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetraceError {
    /// The first pass with another answer.
    #[error("step {step}, at {}: the answers agree in {} commands, then differ", .what.at, .what.agree)]
    Differs {
        /// Index of the step.
        step: u64,
        /// How the replay differs from the journal.
        what: Box<Difference>,
    },
    /// What was recorded cannot have happened.
    #[error("step {step}, at {at}: {error}")]
    Market {
        /// Index of the step.
        step: u64,
        /// The moment in simulated or market time.
        at: Time,
        /// What the market reported.
        error: MarketError,
    },
    /// The policy that took over cannot be made for this market.
    #[error("step {step}, at {at}: {why}")]
    Policy {
        /// Index of the step.
        step: u64,
        /// The moment in simulated or market time.
        at: Time,
        /// What `make` says.
        why: String,
    },
    /// A pass, and no policy has begun.
    #[error("step {step}: a pass before any policy began")]
    Nobody {
        /// Index of the step.
        step: u64,
    },
}

/// A record that is gone through; see the module's text.
pub struct Retrace<P, F> {
    market: Market,
    make: F,
    policy: Option<Box<dyn Policy>>,
    /// Whether the policy has not been asked yet.
    fresh: bool,
    /// Events that the policy has not got yet.
    events: Vec<Event>,
    commands: Vec<Command>,
    steps: u64,
    passes: u64,
    policies: std::marker::PhantomData<fn(P)>,
}

impl<P, F: FnMut(&P, &Market) -> Result<Box<dyn Policy>, String>> Retrace<P, F> {
    /// Begins with the market that the record begins with. `make` makes the policies, and calls
    /// [`Policy::resume`] where the live process did; it may fail, since a damaged record may name
    /// pools that a policy cannot plan on.
    pub fn new(market: Market, make: F) -> Retrace<P, F> {
        Retrace {
            market,
            make,
            policy: None,
            fresh: true,
            events: Vec::new(),
            commands: Vec::new(),
            steps: 0,
            passes: 0,
            policies: std::marker::PhantomData,
        }
    }

    /// Goes on by one step: applies what happened, then asks the policy and applies what it says.
    /// The cost is the policy's own, O(log n) per event beside it.
    ///
    /// # Errors
    /// The first pass with another answer, or what cannot have happened; nothing may be made of
    /// the rest then.
    pub fn step(&mut self, step: &Step<P>) -> Result<(), RetraceError> {
        let (at, index) = (step.at, self.steps);
        let wrong = |error| RetraceError::Market { step: index, at, error };
        self.market.pass_to(at).map_err(wrong)?;
        if let Some(began) = &step.began {
            self.begin(at, began)?;
        }
        for event in &step.events {
            self.market.apply(event).map_err(wrong)?;
        }
        self.events.extend_from_slice(&step.events);
        if let Some(expected) = &step.commands {
            self.pass(at, expected)?;
        }
        self.steps += 1;
        Ok(())
    }

    fn begin(&mut self, at: Time, began: &Began<P>) -> Result<(), RetraceError> {
        let step = self.steps;
        if let Some(pools) = &began.pools {
            let regridded = self.market.regrid(Arc::clone(pools));
            regridded.map_err(|error| RetraceError::Market { step, at, error })?;
        }
        let made = (self.make)(&began.policy, &self.market);
        self.policy = Some(made.map_err(|why| RetraceError::Policy { step, at, why })?);
        self.fresh = true;
        Ok(())
    }

    fn pass(&mut self, at: Time, expected: &[Command]) -> Result<(), RetraceError> {
        let step = self.steps;
        let policy = self.policy.as_mut().ok_or(RetraceError::Nobody { step })?;
        self.commands.clear();
        if std::mem::take(&mut self.fresh) {
            self.events = self.market.history();
        }
        policy.decide(&self.market, &self.events, &mut self.commands);
        self.events.clear();
        self.passes += 1;
        if self.commands != expected {
            let agree = self.commands.iter().zip(expected).take_while(|(one, two)| one == two);
            let agree = agree.count();
            let (expected, found) = (expected.to_vec(), std::mem::take(&mut self.commands));
            let what = Box::new(Difference { at, agree, expected, found });
            return Err(RetraceError::Differs { step, what });
        }
        for command in &self.commands {
            let Some(event) = effect(&self.market, command) else { continue };
            let wrong = |error| RetraceError::Market { step, at, error };
            self.market.apply(&event).map_err(wrong)?;
        }
        Ok(())
    }

    /// The job that the next step submits has come like this: for policies with an
    /// [`Exchange`](tradewind_sched::policy::Exchange).
    pub fn arrives(&mut self, job: JobId, arrival: Arrival) {
        if let Some(exchange) = self.policy.as_mut().and_then(|policy| policy.exchange_mut()) {
            exchange.arrives(job, arrival);
        }
    }

    /// Passes compared so far.
    pub fn passes(&self) -> u64 {
        self.passes
    }

    /// The market after the last step: its [`Market::state`] is to be that of the live one.
    pub fn market(&self) -> &Market {
        &self.market
    }
}

/// What follows from a command in the market, if anything does.
fn effect(market: &Market, command: &Command) -> Option<Event> {
    match command {
        Command::Preempt { job } => {
            let run = market.run_of(*job)?;
            let notice = market.pools().notice(run.place, run.demand.processors);
            Some(Event::Noticed { job: *job, leaves: market.now() + notice })
        }
        Command::Trade { job, trade } => {
            Some(Event::Traded { job: *job, trade: Arc::clone(trade) })
        }
        Command::Start { job, place } => Some(Event::Started { job: *job, place: place.clone() }),
        Command::Refuse { job, .. } => Some(Event::Refused { job: *job }),
        Command::Wake { .. } => None,
    }
}

/// What a confirmed record leaves.
#[derive(Debug, Clone)]
pub struct Retraced {
    /// Number of passes compared.
    pub passes: u64,
    /// The market after the last step.
    pub market: Market,
}

/// Goes through a whole record.
///
/// # Errors
/// As [`Retrace::step`].
pub fn retrace<'a, P: 'a>(
    market: Market,
    make: impl FnMut(&P, &Market) -> Result<Box<dyn Policy>, String>,
    steps: impl IntoIterator<Item = &'a Step<P>>,
) -> Result<Retraced, RetraceError> {
    let mut retrace = Retrace::new(market, make);
    steps.into_iter().try_for_each(|step| retrace.step(step))?;
    Ok(Retraced { passes: retrace.passes, market: retrace.market })
}
