//! Requests, and whether they are granted.

use std::sync::Arc;

use tradewind_io::submission::{Conditions, Submission, When};
use tradewind_model::{Demand, Money, Pools, Time};

use super::answer::{Refusal, RefusalKind, Reply, StepResult, refused};
use super::bodies::check_environment;
use super::input::{Ask, Unknown};
use super::jobs::dependencies::check_dependencies;
use super::money::Account;
use super::peers::may_travel;
use super::projects::ProjectEdit;
use super::rights::{Actor, Role};
use super::state::{Finish, Happening, Job, JobHold, Phase, Quote};
use super::tokens::{NewToken, Rotation};
use super::{ApplyError, Live, times};
use crate::live::record::{JobRecord, LedgerRecord, OfferRecord, Record, SiteRecord};
use crate::live::state::jobs::redact;

/// For whom a quote is accepted.
pub(super) struct Taker<'a> {
    /// A user's name.
    pub(super) user: &'a str,
    /// Who pays.
    pub(super) payer: Account,
    /// The most that is paid, if the market pays the rest.
    pub(super) most: Option<Money>,
}

impl Live {
    pub(super) fn ask(&mut self, at: Time, actor: &Actor, ask: Ask) -> StepResult {
        match ask {
            Ask::Letters { market, sent, letters } => {
                let heard = self.letters(at, actor, (&market, sent), &letters)?;
                Ok(heard.map(|()| Reply::Done))
            }
            Ask::Report { market, wanted } => {
                Ok(self.report(at, actor, &market, &wanted)?.map(Reply::Reports))
            }
            _ if actor.role == Role::Peer => {
                refused(RefusalKind::Forbidden, "a peer may exchange jobs, and do nothing else", "")
            }
            Ask::Submit { submission, key, quote } => {
                self.submit(at, actor, &submission, key.as_ref(), quote)
            }
            Ask::Cancel { job } => self.cancel(at, actor, job),
            Ask::Hold { job } => self.hold_job(at, actor, job),
            Ask::Requeue { job } => self.requeue(at, actor, job),
            Ask::Reclaim(wanted) => self.reclaim(at, actor, &wanted),
            Ask::Release { job } => self.release_job(at, actor, job),
            Ask::Change { job, change } => self.change_job(at, actor, job, &change),
            Ask::Update { job, on_breach, quote } => {
                self.update_job(at, actor, job, (on_breach, quote))
            }
            Ask::Keep { quote } => self.keep(at, actor, quote),
            Ask::Tariff { pool, text } => {
                let Some(found) = self.state.market.pools().as_slice().get(pool.index()) else {
                    return refused(RefusalKind::Unknown, "there is no such pool", "see `sites`");
                };
                if !actor.may_manage(&self.state.sites.owners[found.site.0 as usize]) {
                    return refused(
                        RefusalKind::Forbidden,
                        "only its owner sets a pool's prices",
                        "",
                    );
                }
                self.put(at, SiteRecord::Tariff { pool, text })?;
                Ok(Ok(Reply::Done))
            }
            Ask::Import { rows } => Ok(self.import(at, actor, &rows)?.map(Reply::Changes)),
            Ask::Expel { token } => self.expel(at, actor, token),
            Ask::Project { project, wish } => {
                Ok(self.wish(at, actor, &project, wish)?.map(|()| Reply::Done))
            }
            Ask::Rotate { token, hash, grace, expiry } => {
                self.rotate(at, actor, token, &Rotation { hash, grace, expiry })
            }
            _ if actor.role != Role::Administrator => {
                refused(RefusalKind::Forbidden, "only an administrator may do this", "")
            }
            Ask::Move { from, to, amount, note, unknown } => {
                if let Err(refusal) = self.may_be_moved(&from, &to, amount, unknown) {
                    return Ok(Err(refusal));
                }
                self.make_known(at, actor, &to)?;
                self.transfer(at, from, to, amount, note)
            }
            Ask::Admit { user, role, hash, note, terms } => {
                if let Err(refusal) = self.settings.admits(&user, role) {
                    return Ok(Err(refusal));
                }
                let new = NewToken { user, role, hash, note };
                self.admit(at, new, terms)
            }
            Ask::Policy { policy } => self.switch(at, &policy),
            Ask::Budget { holder, limits } => self.limit_power(at, holder, limits),
            Ask::SettleAway { job, outcome } => self.settle_by_hand(at, actor, job, outcome),
        }
    }

    fn submit(
        &mut self,
        at: Time,
        actor: &Actor,
        submission: &Arc<Submission>,
        key: Option<&String>,
        quote: Option<u64>,
    ) -> StepResult {
        let submission = &self.settings.counted(submission);
        match self.submitted_before(actor, key, submission) {
            Ok(None) => {}
            Ok(Some(known)) => return Ok(Ok(Reply::Jobs(known))),
            Err(refusal) => return Ok(Err(refusal)),
        }
        let count = submission.array.as_ref().map_or(1, |array| array.indices.len());
        if let Err(refusal) = self.may_submit(at, actor, submission, count, quote) {
            return Ok(Err(refusal));
        }
        let payer = submission.project.clone().map(Account::Project);
        let payer = payer.unwrap_or_else(|| Account::User(actor.user.clone()));
        if let Account::User(_) = payer {
            self.welcome(at, payer.clone())?;
        }
        let first = self.state.jobs.last + 1;
        let mut numbers = Vec::with_capacity(count);
        for place in 0..count {
            let index = submission.array.as_ref().and_then(|it| it.indices.get(place)).copied();
            let job = first + place as u64;
            let record = match index {
                // The first one's submission is all of theirs.
                Some(index) if place > 0 => Record::Job(JobRecord::Element { job, first, index }),
                _ => Record::Job(JobRecord::Submitted {
                    job,
                    user: actor.user.clone(),
                    submission: Arc::clone(submission),
                    array: index.map(|index| (first, index)),
                    key: key.cloned(),
                }),
            };
            self.put(at, record)?;
            self.count_in(job);
            match quote {
                Some(quote) => self.book(at, job, quote)?,
                None if submission.held => {
                    self.put(at, JobRecord::Held { job, hold: JobHold::User })?;
                }
                None => self.enqueue(at, job)?,
            }
            numbers.push(job);
        }
        if quote.is_some() {
            // What is promised now others cannot spend.
            self.recheck_funds(at, |own| *own == payer)?;
        }
        Ok(Ok(Reply::Jobs(numbers)))
    }

    /// The jobs of an earlier submission of the same name, which must be the same in all else.
    fn submitted_before(
        &self,
        actor: &Actor,
        key: Option<&String>,
        submission: &Submission,
    ) -> Result<Option<Vec<u64>>, Refusal> {
        let known =
            key.and_then(|key| self.state.jobs.keys.get(&(actor.user.clone(), key.clone())));
        let Some(&first) = known else { return Ok(None) };
        let known = self.state.jobs.get(&first);
        let is_updated =
            |job: &Job| job.history.iter().any(|(_, it)| matches!(it, Happening::Updated(_)));
        let is_other = |job: &Job| match job.redacted() {
            // What else its user has changed since is no other submission.
            hash if is_updated(job) => {
                let known = hash.unwrap_or_else(|| redact::hash_of(&job.submission));
                known != redact::hash_of(submission)
            }
            None => !is_again(&job.submission, submission),
            Some(hash) => {
                hash != redact::hash_of(submission)
                    || !is_again(&job.submission, &redact::bare(submission))
            }
        };
        if known.is_some_and(is_other) {
            let message = format!("job {first} has this key, and is another submission");
            let hint = "use another key for another job; the same one sends the same job again";
            return Err(Refusal::new(RefusalKind::Conflict, message, hint));
        }
        let jobs = self.state.jobs.range(first..).map(|(_, job)| job);
        let same = jobs.take_while(|job| {
            job.number == first || job.array.is_some_and(|(leader, _)| leader == first)
        });
        Ok(Some(same.map(|job| job.number).collect()))
    }

    fn may_submit(
        &self,
        at: Time,
        actor: &Actor,
        submission: &Submission,
        count: usize,
        quote: Option<u64>,
    ) -> Result<(), Refusal> {
        check_environment(submission, &self.settings)?;
        self.index.active.may_come(&actor.user, count, submission, &self.settings)?;
        self.may_spend(&actor.user, submission.project.as_deref())?;
        check_dependencies(submission.after.len(), count)?;
        let demand = self.may_be_asked(at, (actor, &actor.user), submission, quote)?;
        match quote.zip(demand) {
            None => Ok(()),
            Some(_)
                if submission.array.is_some()
                    || !submission.after.is_empty()
                    || submission.held =>
            {
                let message = "a quote is for one job that may start at once";
                Err(Refusal::new(RefusalKind::Conflict, message, "ask for a new quote"))
            }
            Some((number, demand)) => {
                let payer = submission.project.clone().map(Account::Project);
                let payer = payer.unwrap_or_else(|| Account::User(actor.user.clone()));
                let taker = Taker { user: &actor.user, payer, most: None };
                self.may_take(actor, (number, taker), &demand, submission)
            }
        }
    }

    /// Whether such a job of the user may wait here: what it asks for, as far as that is known, and if
    /// any nodes here suit.
    pub(super) fn may_be_asked(
        &self,
        at: Time,
        (actor, user): (&Actor, &str),
        submission: &Submission,
        quote: Option<u64>,
    ) -> Result<Option<Demand>, Refusal> {
        self.may_wait(actor, submission)?;
        if submission.terms.deadline.is_some_and(|it| it + self.state.lead() <= at) {
            let message = "its deadline has passed: it could not be finished by then";
            let hint = "a deadline is the moment by which the job has ended; give one to come";
            return Err(Refusal::new(RefusalKind::Invalid, message, hint));
        }
        let promised =
            quote.and_then(|number| self.state.offers.quotes.get(&number)).map(|it| it.tasks);
        match self.chosen_of(None, user, submission, promised) {
            Ok(chosen) => Ok(Some(chosen.demand)),
            // Perhaps it needs fewer nodes than that: it is not known yet how large they are.
            Err(_) if quote.is_none() && self.may_be_smaller(submission) => Ok(None),
            // Perhaps a peer has nodes that suit.
            Err(_) if quote.is_none() && self.has_peers() && may_travel(submission) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// Whether it may wait for the jobs that it names. Users do not learn how jobs of others end, nor that
    /// they exist.
    fn may_wait(&self, actor: &Actor, submission: &Submission) -> Result<(), Refusal> {
        let own = |job: u64| {
            let job = self.state.jobs.get(&job);
            job.is_some_and(|job| actor.may_act_for(&job.user))
        };
        let mut named = submission.after.iter().filter(|it| it.when != When::Singleton);
        let Some(missing) = named.find(|it| !own(it.job)) else {
            return Ok(());
        };
        let message = format!("it is to wait for job {}, and you have no such job", missing.job);
        Err(Refusal::new(RefusalKind::Invalid, message, "jobs that ended long ago are gone"))
    }

    /// Whether the quote still stands.
    pub(super) fn may_take(
        &self,
        actor: &Actor,
        (number, taker): (u64, Taker<'_>),
        demand: &Demand,
        submission: &Submission,
    ) -> Result<(), Refusal> {
        let hint = "ask for a new quote";
        let conflict = |message: String| Err(Refusal::new(RefusalKind::Conflict, message, hint));
        let quote = self.state.offers.quotes.get(&number).filter(|it| actor.may_act_for(&it.user));
        let Some(quote) = quote else {
            let message = format!("there is no quote {number}, or it has expired");
            return Err(Refusal::new(RefusalKind::Unknown, message, hint));
        };
        if demand.terms().licences.is_some() {
            let message = "licences cannot be set aside for a window".to_owned();
            let hint = "submit the job without a quote";
            return Err(Refusal::new(RefusalKind::Conflict, message, hint));
        }
        // A window of a moldable job is for one of its shapes.
        let shape = demand.in_shape(quote.tasks);
        if !quote.is_for(shape.as_ref().unwrap_or(demand)) {
            let what = quote.subject();
            return conflict(format!("quote {number} is for {what}"));
        }
        let of_shape = shape.as_ref().unwrap_or(demand);
        if !quote.booking.lasts(of_shape, self.state.market.pools()) {
            return conflict(format!("quote {number} is too short for this data"));
        }
        if !quote.booking.serves(demand, self.state.market.pools()) {
            return conflict(format!("quote {number} is for other groups of tasks"));
        }
        let cost = taker.most.map_or(quote.cost, |most| quote.cost.min(most));
        if let Some(budget) = submission.terms.budget.filter(|budget| *budget < cost) {
            return conflict(format!("the job may cost {budget}, and the window costs {cost}"));
        }
        let Taker { user, payer, .. } = taker;
        let free = self.state.funds(&payer, self.settings.new_user_grant);
        let project = submission.project.as_deref();
        let free = self.state.within_limits(free, project, user);
        if free < i128::from(cost.0) {
            let free = Money(i64::try_from(free.max(0)).unwrap_or(i64::MAX));
            return conflict(format!("{payer} has {free} to spend, and the window costs {cost}"));
        }
        let whose = (user, project);
        if let Some(why) = self.state.window_over_budget(whose, &quote.booking, quote.tasks) {
            return conflict(why);
        }
        self.state.stands(quote).or_else(conflict)
    }

    /// Accepts the quote for the job: its nodes are set aside from now on.
    pub(super) fn book(&mut self, at: Time, job: u64, number: u64) -> Result<(), ApplyError> {
        let quote = self.state.offers.quotes.get(&number).cloned();
        let Quote { slack, .. } = quote.ok_or(ApplyError::Other("a quote is not there"))?;
        self.put(at, OfferRecord::Taken { quote: number, job: Some(job) })?;
        self.put(at, JobRecord::Held { job, hold: JobHold::Booked })?;
        self.keep_free(at, job)?;
        let booked = self.state.jobs.get(&job).and_then(|job| job.booking.as_ref());
        let start = booked.ok_or(ApplyError::Job(job))?.start;
        self.index.booked.insert((start, job));
        if slack.is_some() {
            self.index.promises.insert((start, job));
        }
        self.start_booked(at)
    }

    fn keep(&mut self, at: Time, actor: &Actor, quote: Quote) -> StepResult {
        let unbookable = self.unbookable();
        let is_in_line = |share: tradewind_model::Share| unbookable.contains(&share.pool);
        if quote.booking.place.shares(quote.tasks).any(is_in_line) {
            let message = "a start in the queue of a site is expected, and cannot be booked";
            return refused(RefusalKind::Conflict, message, "submit the job without a quote");
        }
        let number = self.state.offers.last + 1;
        let (user, expires) = (actor.user.clone(), quote.expires + self.state.lead());
        let slack = Some(self.slack_of(&quote.booking, quote.tasks));
        let quote = Quote { number, user, expires, slack, ..quote };
        self.put_quote(at, quote)?;
        Ok(Ok(Reply::Number(number)))
    }

    fn cancel(&mut self, at: Time, actor: &Actor, number: u64) -> StepResult {
        let phase = match self.find(actor, number) {
            Ok(phase) => phase,
            Err(refusal) => return Ok(Err(refusal)),
        };
        match phase {
            Phase::Over(_) => {
                return refused(RefusalKind::Conflict, format!("job {number} is over already"), "");
            }
            Phase::Running | Phase::Handing | Phase::Away => {
                self.put(at, JobRecord::Cancelling { job: number, by: actor.user.clone() })?;
                self.judge(at, number)?;
            }
            Phase::Waiting | Phase::Held(_) => self.finish(at, number, Finish::Cancelled)?,
        }
        Ok(Ok(Reply::Done))
    }

    pub(super) fn find(&self, actor: &Actor, number: u64) -> Result<Phase<'_>, Refusal> {
        let job = self.state.jobs.get(&number).filter(|job| actor.may_act_for(&job.user));
        let unknown = || {
            Refusal::new(
                RefusalKind::Unknown,
                format!("you have no job {number}"),
                "see `jobs --all`",
            )
        };
        job.map(Job::phase).ok_or_else(unknown)
    }

    fn hold_job(&mut self, at: Time, actor: &Actor, number: u64) -> StepResult {
        match self.find(actor, number) {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(Phase::Waiting) => {
                self.put(at, JobRecord::Left { job: number, hold: JobHold::User })?;
            }
            Ok(Phase::Held(hold)) if *hold != JobHold::Booked => {
                self.put(at, JobRecord::Held { job: number, hold: JobHold::User })?;
            }
            Ok(_) => {
                let message = format!("job {number} does not wait in the queue");
                return refused(RefusalKind::Conflict, message, "");
            }
        }
        Ok(Ok(Reply::Done))
    }

    /// The job stops where it runs, pays for what it has used, and waits in the queue again.
    fn requeue(&mut self, at: Time, actor: &Actor, number: u64) -> StepResult {
        let phase = match self.find(actor, number) {
            Ok(phase) => phase,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let Some(job) = self.state.jobs.get(&number) else { return Ok(Ok(Reply::Done)) };
        let (what, hint) = match phase {
            Phase::Running if job.cancelled_by.is_some() => ("is being cancelled", ""),
            // The market would pay for what the further runs cost beyond the offer.
            Phase::Running if job.still_pays().is_some() => {
                ("has an accepted offer, for one run", "cancel it, and submit it again")
            }
            Phase::Running if job.requeued_by().is_some() => return Ok(Ok(Reply::Done)),
            Phase::Running if job.began().is_some() => {
                let by = actor.user.clone();
                self.put(at, JobRecord::Requeueing { job: number, by })?;
                self.judge(at, number)?;
                return Ok(Ok(Reply::Done));
            }
            Phase::Over(_) => ("is over", "submit it again"),
            Phase::Handing | Phase::Away => ("is at a peer", "cancel it, and submit it again"),
            Phase::Running | Phase::Waiting | Phase::Held(_) => {
                ("has not begun", "it waits already")
            }
        };
        refused(RefusalKind::Conflict, format!("job {number} {what}: it cannot be requeued"), hint)
    }

    fn release_job(&mut self, at: Time, actor: &Actor, number: u64) -> StepResult {
        match self.find(actor, number) {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(Phase::Held(
                JobHold::User | JobHold::Lost | JobHold::Rejected(_) | JobHold::Breached,
            )) => {
                self.caps.pardon(number);
                self.enqueue(at, number)?;
            }
            Ok(_) => {
                let message = format!("job {number} is not held by its user");
                return refused(RefusalKind::Conflict, message, "");
            }
        }
        Ok(Ok(Reply::Done))
    }

    /// Moves what may be moved.
    fn transfer(
        &mut self,
        at: Time,
        from: Account,
        to: Account,
        amount: Money,
        note: String,
    ) -> StepResult {
        let (poorer, both) = (from.clone(), [from.clone(), to.clone()]);
        self.put(at, LedgerRecord::Moved { from, to, amount, note })?;
        for account in both {
            if let Account::Project(name) = account {
                self.recheck_budgets(at, &name)?;
            }
        }
        self.afford(at)?;
        self.recheck_funds(at, |payer| *payer == poorer)?;
        Ok(Ok(Reply::Done))
    }

    fn may_be_moved(
        &self,
        from: &Account,
        to: &Account,
        amount: Money,
        unknown: Unknown,
    ) -> Result<(), Refusal> {
        if amount <= Money::ZERO {
            return Err(Refusal::new(RefusalKind::Invalid, "the amount is not above 0", ""));
        }
        if [from, to].iter().any(|account| matches!(account, Account::Held(_))) {
            let message = "what is held for a job cannot be moved";
            return Err(Refusal::new(RefusalKind::Invalid, message, ""));
        }
        match self.state.may_receive(to) {
            Err(stranger) if unknown == Unknown::Refuse || !stranger.may_be_made => {
                return Err(stranger.refusal);
            }
            _ => {}
        }
        if *from != Account::Bank && self.state.ledger.accounts.balance(from) < i128::from(amount.0)
        {
            let message = format!("{from} has too little");
            return Err(Refusal::new(RefusalKind::Conflict, message, "see `ledger`"));
        }
        Ok(())
    }

    /// A project that is about to have money is there.
    fn make_known(&mut self, at: Time, actor: &Actor, account: &Account) -> Result<(), ApplyError> {
        let Account::Project(name) = account else { return Ok(()) };
        if self.state.ledger.projects.get(name).is_some() {
            return Ok(());
        }
        let (by, note) = (actor.user.clone(), String::new());
        self.change(at, name, ProjectEdit::Made { by, note, spent: Vec::new() })
    }

    /// Another policy begins.
    fn switch(&mut self, at: Time, policy: &str) -> StepResult {
        let pools: &Pools = self.state.market.pools();
        match self.maker.make(policy, pools) {
            Err(wrong) => refused(RefusalKind::Invalid, wrong, "`simulate --help` has all names"),
            Ok(made) => {
                let before = self.negotiation();
                self.policy = made;
                self.wishes.clear();
                self.go_on(at, policy)?;
                if self.negotiation() != before {
                    self.meet(at)?;
                }
                Ok(Ok(Reply::Done))
            }
        }
    }
}

/// Whether it is the same submission, sent again. Moments may differ: `now+1h` is later then.
fn is_again(known: &Submission, sent: &Submission) -> bool {
    let (earliest_start, deadline) = (known.terms.earliest_start, known.terms.deadline);
    let terms = Conditions { earliest_start, deadline, ..sent.terms.clone() };
    let time = times::as_known(&known.time, &sent.time);
    *known == Submission { terms, time, ..sent.clone() }
}
