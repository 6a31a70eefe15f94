//! Asking the policy, and doing what it says.

use tradewind_model::{Command, Span, Time};

use super::state::Phase;
use super::{ApplyError, Live, Step};
use crate::live::record::{JobRecord, MarketRecord};
use tradewind_sched::negotiation::Negotiator;

impl Live {
    /// Whether the policy has news, or wants to be asked by now.
    pub fn is_due(&self, at: Time) -> bool {
        self.fresh || !self.unseen.is_empty() || self.wake.is_some_and(|wake| wake <= at)
    }

    /// Asks the policy once, if that is due.
    ///
    /// # Errors
    /// If the policy asked for what cannot be: the state must be made anew.
    pub fn plan(&mut self, at: Time) -> Result<Step, ApplyError> {
        let at = at.max(self.state.now());
        if self.is_due(at) {
            self.state.market.pass_to(at)?;
            let mut commands = Vec::new();
            let events = match self.fresh {
                true => self.state.market.history(),
                false => std::mem::take(&mut self.unseen),
            };
            self.policy.decide(&self.state.market, &events, &mut commands);
            self.fresh = false;
            self.unseen.clear();
            self.wake = commands.iter().rev().find_map(|command| match command {
                Command::Wake { at: wake } if *wake > at => Some(*wake),
                _ => None,
            });
            let touched: Vec<u64> = commands.iter().filter_map(|it| self.number(it)).collect();
            let choices = self.choices(&commands);
            self.put(at, MarketRecord::Decided { commands })?;
            for (job, choice) in choices {
                self.put(at, JobRecord::Chose { job, choice })?;
            }
            for &number in &touched {
                self.after_decision(at, number)?;
            }
            let payers = self.payers(&touched);
            if !payers.is_empty() {
                self.recheck_funds(at, |payer| payers.contains(payer))?;
            }
        }
        self.mind_searches(at)?;
        self.seek(at)?;
        Ok(self.done(None))
    }

    fn number(&self, command: &Command) -> Option<u64> {
        match command {
            Command::Start { job, .. } | Command::Refuse { job, .. } => {
                self.state.jobs.numbers.get(job).copied()
            }
            Command::Trade { .. } | Command::Wake { .. } => None,
        }
    }

    /// A job that its payer cannot pay for gives its nodes back; a refused one is over.
    pub(super) fn after_decision(&mut self, at: Time, number: u64) -> Result<(), ApplyError> {
        let Some(job) = self.state.jobs.get(&number) else { return Ok(()) };
        match job.phase {
            Phase::Over(_) => self.is_over(at, number),
            Phase::Running => {
                if job.is_gathering() {
                    self.gathering.insert(number);
                }
                self.mind_price(at, number)
            }
            _ => Ok(()),
        }
    }

    /// When something is to be done, though nothing happens.
    pub fn due(&self) -> Option<Time> {
        let booked = self.booked.first().map(|(start, _)| *start);
        let quotes = self.state.offers.quotes.values().map(|quote| quote.expires).min();
        let closures = self.state.market.outages();
        let now = self.state.now();
        let begins = closures.map(|(_, what)| what.from).filter(|from| *from > now).min();
        let gathered = self.next_deadline().map(|deadline| deadline + Span(1));
        let talks = self.negotiator.as_ref().and_then(Negotiator::due);
        [self.wake, booked, quotes, begins, gathered, talks].into_iter().flatten().min()
    }
}
