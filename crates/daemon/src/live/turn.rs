//! One turn of the market: an input is taken, decisions are written down as records and applied, and
//! what sites are to be told follows from the state ([`Live::orders`]).

use std::cell::OnceCell;

use tradewind_model::{Command, Span, Time};
use tradewind_sched::negotiation::{Negotiator, Peer};

use super::peers::PeerMessage;
use super::state::Phase;
use super::{ApplyError, Input, Live, Refusal, Reply};
use crate::live::record::{JobRecord, MarketRecord, Record};

/// What is said to a request.
type Response = Result<Reply, Refusal>;

/// What a step came to.
#[derive(Debug)]
pub struct Step {
    /// To be written down, all or none.
    pub records: Vec<Record>,
    /// For the one who asked, once they are.
    pub answer: Option<Response>,
    /// For peers, once they are. They may be lost.
    pub letters: Vec<(Peer, PeerMessage)>,
}

impl Live {
    /// Takes one input in. `at` below the state's moment counts as that: clocks may step back.
    ///
    /// # Errors
    /// A mistake of ours: the state must be made again of what is written down.
    pub fn step(&mut self, at: Time, input: Input) -> Result<Step, ApplyError> {
        let at = at.max(self.state.now());
        let answer = self.take_in(at, input)?;
        self.mind_promises(at)?;
        self.mind_searches(at)?;
        Ok(self.done(answer))
    }

    /// What the input means: decisions are records, and what is asked is answered.
    fn take_in(&mut self, at: Time, input: Input) -> Result<Option<Response>, ApplyError> {
        match input {
            Input::Asked { actor, ask } => return self.ask(at, &actor, ask).map(Some),
            Input::Tick => self.tick(at)?,
            Input::Clock { lead } => self.put(at, MarketRecord::Clock { lead })?,
            Input::Surveyed { site, survey } => self.surveyed(at, site, survey)?,
            Input::Answered { tag, act, answer } => self.answered(at, &tag, act, answer)?,
            Input::Terms { prices, rates, withheld } => {
                self.prices(at, &prices, &rates)?;
                self.withhold(at, &withheld)?;
            }
            Input::Electricity { power } => self.electricity(at, power)?,
            Input::Forecast { starts } => self.forecast(at, starts)?,
            Input::Contact { peer, there } => self.note_contact(at, peer, there)?,
            Input::Reported { peer, reports, outputs } => {
                self.outputs = outputs;
                self.reported(at, peer, &reports)?;
            }
            Input::SetAside { site, denied } => self.set_aside(at, site, denied)?,
        }
        Ok(None)
    }

    /// Whether the policy has news, or wants to be asked by now.
    pub fn is_due(&self, at: Time) -> bool {
        self.fresh || !self.unseen.is_empty() || self.wake.is_some_and(|wake| wake <= at)
    }

    /// Asks the policy once, if that is due.
    ///
    /// # Errors
    /// If the policy asked for what cannot be: the state must be made again of what is written down.
    pub fn plan(&mut self, at: Time) -> Result<Step, ApplyError> {
        let at = at.max(self.state.now());
        if self.is_due(at) {
            self.decide(at)?;
        }
        self.mind_lines(at)?;
        self.mind_searches(at)?;
        self.seek(at)?;
        Ok(self.done(None))
    }

    fn decide(&mut self, at: Time) -> Result<(), ApplyError> {
        self.count_on_no_failed_site(at)?;
        self.take_grouped_out(at)?;
        let commands = self.ask_policy(at)?;
        self.follow(at, commands)?;
        self.take_wishes();
        Ok(())
    }

    /// What a policy tells those who negotiate holds once it has decided: so it decides before.
    pub(super) fn decide_before_talks(&mut self, at: Time) -> Result<(), ApplyError> {
        let exchange = self.policy.exchange();
        let is_due = exchange.is_some_and(|exchange| self.is_due(at) || exchange.is_due(at));
        if is_due { self.decide(at) } else { Ok(()) }
    }

    /// What the policy says to what it has not seen.
    fn ask_policy(&mut self, at: Time) -> Result<Vec<Command>, ApplyError> {
        self.state.market.pass_to(at)?;
        let mut commands = Vec::new();
        let events = match self.fresh {
            true => {
                self.tell_all_arrivals();
                self.state.market.history()
            }
            false => std::mem::take(&mut self.unseen),
        };
        self.policy.decide(&self.state.market, &events, &mut commands);
        self.fresh = false;
        self.unseen.clear();
        self.wake = commands.iter().rev().find_map(|command| match command {
            Command::Wake { at: wake } if *wake > at => Some(*wake),
            _ => None,
        });
        Ok(commands)
    }

    /// Writes down what the policy decided, and what follows for the jobs that it decided on.
    fn follow(&mut self, at: Time, commands: Vec<Command>) -> Result<(), ApplyError> {
        let touched: Vec<u64> = commands.iter().filter_map(|it| self.number(it)).collect();
        let choices = self.choices(&commands);
        self.put(at, MarketRecord::Decided { commands })?;
        for (job, choice) in choices {
            self.put(at, JobRecord::Chose { job, choice })?;
        }
        self.decide_on(&touched);
        for &number in &touched {
            self.after_decision(at, number)?;
        }
        let payers = self.payers(&touched);
        match payers.is_empty() {
            true => Ok(()),
            false => self.recheck_funds(at, |payer| payers.contains(payer)),
        }
    }

    /// Makes a change, and keeps what the policy must learn of it.
    pub(super) fn put(&mut self, at: Time, record: impl Into<Record>) -> Result<(), ApplyError> {
        let record = record.into();
        let event = self.state.market_event(&record);
        self.tell_arrival(&record);
        self.remember_peers(&record);
        self.caps.heed(&record);
        self.state.apply(at, &record)?;
        if event.is_some() || matches!(record, Record::Market(MarketRecord::Decided { .. })) {
            self.outlook = OnceCell::new();
        }
        self.unseen.extend(event);
        self.out.push(record);
        Ok(())
    }

    /// What the step came to.
    pub(super) fn done(&mut self, answer: Option<Response>) -> Step {
        let records = std::mem::take(&mut self.out);
        Step { records, answer, letters: std::mem::take(&mut self.letters) }
    }

    fn number(&self, command: &Command) -> Option<u64> {
        match command {
            Command::Start { job, .. } | Command::Refuse { job, .. } => {
                self.state.jobs.numbers.get(job).copied()
            }
            Command::Preempt { .. } | Command::Trade { .. } | Command::Wake { .. } => None,
        }
    }

    /// A job that its payer cannot pay for gives its nodes back; a refused one is over.
    pub(super) fn after_decision(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        match job.phase() {
            Phase::Over(_) => self.is_over(at, number),
            Phase::Running => {
                if job.is_gathering() {
                    self.index.gathering.insert(number);
                }
                self.mind_price(at, number)?;
                self.mind_power(at, number)
            }
            _ => Ok(()),
        }
    }

    /// When something is to be done, though nothing happens.
    pub fn due(&self) -> Option<Time> {
        let booked = self.index.booked.first().map(|(start, _)| *start);
        let outages = self.state.market.outages();
        let now = self.state.now();
        let begins = outages.map(|(_, what)| what.from).filter(|from| *from > now).min();
        let gathered = self.next_deadline().map(|deadline| deadline + Span(1));
        let talks = self.negotiator.as_ref().and_then(Negotiator::due);
        let departs = self.travelling.first_key_value().map(|((at, _), _)| *at);
        let notice = self.index.notices.first().map(|(ends, _)| *ends);
        let all = [self.wake, booked, self.expiry, begins, gathered, talks, departs, notice];
        all.into_iter().flatten().min()
    }

    /// How long until the next thing that time brings, at most `max`.
    pub fn sleep(&self, at: Time, max: Span) -> Span {
        self.due().map_or(max, |due| Span((due - at).0.clamp(0, max.0)))
    }
}
