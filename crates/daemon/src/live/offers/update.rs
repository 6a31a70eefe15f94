//! What a user may still choose for a job that accepted an offer.

use tradewind_io::submission::OnBreach;
use tradewind_model::Time;

use crate::live::answer::{Refusal, RefusalKind, Reply, StepResult, refused};
use crate::live::asks::Taker;
use crate::live::record::{JobRecord, OfferRecord};
use crate::live::rights::Actor;
use crate::live::state::jobs::Promise;
use crate::live::state::{Job, JobHold, Phase};
use crate::live::{ApplyError, Live};

impl Live {
    /// Changes what happens if the job's offer is not kept, or accepts another offer for a job whose
    /// offer was not.
    pub(in crate::live) fn update_job(
        &mut self,
        at: Time,
        actor: &Actor,
        number: u64,
        (on_breach, quote): (Option<OnBreach>, Option<u64>),
    ) -> StepResult {
        if let Err(refusal) = self.find(actor, number) {
            return Ok(Err(refusal));
        }
        if let Some(then) = on_breach {
            let job = self.state.jobs.get(&number);
            if job.and_then(Job::open_promise).is_none() {
                let message = format!("job {number} has no accepted offer that is still open");
                let hint = "after a breach: `release`, `cancel`, or `update --quote`";
                return refused(RefusalKind::Conflict, message, hint);
            }
            self.put(at, OfferRecord::OnBreach { job: number, then })?;
        }
        match quote {
            Some(quote) => self.book_again(at, actor, number, quote),
            None => Ok(Ok(Reply::Done)),
        }
    }

    /// The job takes the window of another quote. It pays no more than it was promised first.
    fn book_again(&mut self, at: Time, actor: &Actor, number: u64, quote: u64) -> StepResult {
        if let Err(refusal) = self.may_book_again(actor, number, quote) {
            return Ok(Err(refusal));
        }
        let Some(job) = self.state.jobs.get(&number) else {
            return Err(ApplyError::Job(number));
        };
        let payer = job.payer();
        if job.phase() == Phase::Waiting {
            self.put(at, JobRecord::Left { job: number, hold: JobHold::Breached })?;
        }
        self.index.short.remove(&number);
        self.book(at, number, quote)?;
        self.recheck_funds(at, |own| *own == payer)?;
        Ok(Ok(Reply::Done))
    }

    fn may_book_again(&self, actor: &Actor, number: u64, quote: u64) -> Result<(), Refusal> {
        let conflict =
            |message: String, hint: &str| Err(Refusal::new(RefusalKind::Conflict, message, hint));
        let Some(job) = self.state.jobs.get(&number) else {
            return conflict(format!("job {number} is not there"), "");
        };
        let waits = matches!(job.phase(), Phase::Waiting | Phase::Held(_));
        let is_unplaced = job.phase() == Phase::Held(&JobHold::Window);
        if !waits || !(is_unplaced || job.promise().is_some_and(Promise::is_breached)) {
            let message = format!("job {number} does not wait after an offer that was not kept");
            return conflict(message, "`submit --quote` accepts a quote for a new job");
        }
        let tasks = self.state.offers.quotes.get(&quote).map(|it| it.tasks);
        let chosen = self.chosen_of(None, &job.user, &job.submission, tasks)?;
        let taker = Taker { user: &job.user, payer: job.payer(), most: job.still_pays() };
        self.may_take(actor, (quote, taker), &chosen.demand, &job.submission)
    }
}
