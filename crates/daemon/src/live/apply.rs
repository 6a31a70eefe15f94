//! The only writer of the state.

mod books;

use std::collections::VecDeque;
use std::sync::Arc;

use tradewind_model::{
    Outage, OutageId, Command, Event, JobId, Market, MarketError, Money, Place, PoolId, Price,
    SiteId, Span, Time,
};

use super::money::{Account, Motive};
use super::record::Record;
use super::state::{
    Finish, Happening, Hold, Job, Known, Part, Phase, Setback, State, Task, Wanted, Why,
};
use crate::site::{Exit, Tag};

/// Why a record cannot follow from the state: a journal that is damaged, or a mistake of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The market says no.
    #[error(transparent)]
    Market(#[from] MarketError),
    /// A job that is not there, or cannot do this in its phase.
    #[error("job {0} cannot do this in its phase")]
    Job(u64),
    /// A task that is not there.
    #[error("there is no task {0}")]
    Task(String),
    /// Something else that is not there, or there already.
    #[error("{0}")]
    Other(&'static str),
}

impl State {
    /// Makes one change at `at`. Logarithmic in what is kept, linear in what the record names.
    ///
    /// # Errors
    /// If it cannot follow from the state, which is then of no use any more: whoever replays a
    /// journal stops there.
    pub fn apply(&mut self, at: Time, record: &Record) -> Result<(), ApplyError> {
        self.market.pass_to(at)?;
        match record {
            Record::Created { market } => self.name.clone_from(market),
            Record::Gridded { pools, owners } => {
                match self.is_gridded() {
                    true => self.market.regrid(Arc::clone(pools))?,
                    false => self.market = Market::new(Arc::clone(pools), at),
                }
                self.owners.clone_from(owners);
                for (id, pool) in pools.iter() {
                    self.past.priced(at, id, pool.price);
                }
            }
            Record::Began { policy, .. } => self.policy.clone_from(policy),
            Record::Decided { commands } => {
                commands.iter().try_for_each(|command| self.decided(command))?;
            }
            Record::Announced { what, why } => self.announce(*what, why)?,
            Record::Closed { why } => self.closure(why, |closure| Event::Closed { closure })?,
            Record::Reopened { why } => self.reopen(at, why)?,
            Record::Priced { pool, price } => {
                self.market.apply(&Event::Priced { pool: *pool, price: *price })?;
                self.past.priced(at, *pool, *price);
            }
            Record::Tariff { pool, text: Some(text) } => {
                self.tariffs.insert(*pool, text.clone());
            }
            Record::Tariff { pool, text: None } => {
                self.tariffs.remove(pool);
            }
            Record::Moved { from, to, amount, note } => {
                let motive = Motive::Grant(note.clone());
                self.accounts.post(at, from.clone(), to.clone(), *amount, motive);
            }
            Record::Project { project, change } => self.apply_to_project(project, change)?,
            Record::Rules { version } => self.rules = Some(*version),
            Record::Reached { site, away } => self.reached(*site, *away),
            Record::Clock { lead } => self.lead = Some(*lead),
            Record::Skipped { job } => self.last_job = self.last_job.max(*job),
            Record::Acknowledged { .. }
            | Record::Declined { .. }
            | Record::Withdrawn { .. }
            | Record::Saw { .. }
            | Record::Resumed { .. }
            | Record::Unbegun { .. }
            | Record::HeldThere { .. }
            | Record::Forgot { .. } => self.apply_to_task(record)?,
            Record::Admitted { .. }
            | Record::Expelled { .. }
            | Record::TokenExpires { .. }
            | Record::TokenRotated { .. }
            | Record::TokenSignedIn { .. } => self.apply_to_token(record)?,
            Record::Quoted { .. } | Record::Taken { .. } => self.apply_to_quote(record)?,
            Record::Peered { .. }
            | Record::Negotiated { .. }
            | Record::Heard { .. }
            | Record::CameBack { .. } => self.apply_to_peers(record)?,
            Record::BarrierReached { .. }
            | Record::Went { .. }
            | Record::BarrierTimedOut { .. }
            | Record::Launched { .. } => self.apply_to_rendezvous(record)?,
            _ => self.apply_to_job(record)?,
        }
        Ok(())
    }

    fn apply_to_job(&mut self, record: &Record) -> Result<(), ApplyError> {
        match record {
            Record::Submitted { .. } => self.submit(record)?,
            Record::Element { job, first, index } => {
                self.submit(&self.element(*job, *first, *index)?)?;
            }
            Record::Held { job, hold } => self.hold(*job, hold)?,
            Record::Joined { job, demand, processors } => {
                let id = JobId(self.market.submitted());
                self.held(*job)?;
                self.job(*job)?.is_as_wide_as(demand.processors, *processors);
                self.market.apply(&Event::Submitted { job: id, demand: demand.clone() })?;
                self.numbers.insert(id, *job);
                self.enter(*job, id)?;
            }
            Record::Started { job } => self.start_booked(*job)?,
            Record::Chose { job, choice } => self.chose(*job, choice)?,
            Record::Expected { starts } => {
                for (job, start) in starts {
                    let job = self.job(*job)?;
                    job.expected = job.expected.or(Some(*start));
                }
            }
            Record::Left { job, hold } => {
                let id = self.waiting(*job)?;
                self.market.apply(&Event::Cancelled { job: id })?;
                self.numbers.remove(&id);
                self.job(*job)?.id = None;
                self.hold(*job, hold)?;
            }
            Record::Released { job, pool } => {
                let id = self.running(*job)?;
                self.market.apply(&Event::Released { job: id, pool: *pool })?;
            }
            Record::Settled { job } => {
                self.running(*job)?;
                self.settle(*job)?;
            }
            Record::Interrupted { job, setback } => self.interrupt(*job, setback)?,
            Record::Stopping { job } => self.stop_tasks(*job)?,
            Record::Recalling { job } => self.recall_tasks(*job)?,
            Record::Cancelling { job, by } => self.cancelling(*job, by)?,
            Record::Ended { job, finish } => self.end(*job, finish)?,
            Record::Unkept { job, site, why } => {
                self.note(*job, Happening::Unkept(SiteId(*site), why.clone()))?;
            }
            Record::Dropped { job } => {
                let gone = self.jobs.remove(job).ok_or(ApplyError::Job(*job))?;
                if let Some(key) = gone.key {
                    self.keys.remove(&(gone.user, key));
                }
                if let Some(origin) = gone.origin {
                    self.peers.taken.remove(&(origin.peer, origin.transfer));
                }
            }
            _ => return Err(ApplyError::Other("a record of another kind")),
        }
        Ok(())
    }

    pub(super) fn job(&mut self, number: u64) -> Result<&mut Job, ApplyError> {
        self.jobs.get_mut(&number).ok_or(ApplyError::Job(number))
    }

    fn held(&mut self, number: u64) -> Result<(), ApplyError> {
        match self.job(number)?.phase {
            Phase::Held(_) => Ok(()),
            _ => Err(ApplyError::Job(number)),
        }
    }

    fn waiting(&mut self, number: u64) -> Result<JobId, ApplyError> {
        let job = self.job(number)?;
        let id = job.id.filter(|_| job.phase == Phase::Waiting);
        id.ok_or(ApplyError::Job(number))
    }

    pub(super) fn running(&mut self, number: u64) -> Result<JobId, ApplyError> {
        let job = self.job(number)?;
        let id = job.id.filter(|_| job.phase == Phase::Running);
        id.ok_or(ApplyError::Job(number))
    }

    pub(super) fn note(&mut self, number: u64, what: Happening) -> Result<(), ApplyError> {
        let at = self.now();
        let job = self.job(number)?;
        job.history.push_back((at, what));
        if job.history.len() > Job::KEPT {
            job.history.remove(1); // the submission stays
        }
        Ok(())
    }

    /// The submission that a further job of an array stands for.
    fn element(&self, job: u64, first: u64, index: u32) -> Result<Record, ApplyError> {
        let leader = self.jobs.get(&first).ok_or(ApplyError::Job(first))?;
        let (user, submission) = (leader.user.clone(), Arc::clone(&leader.submission));
        Ok(Record::Submitted { job, user, submission, array: Some((first, index)), key: None })
    }

    fn submit(&mut self, record: &Record) -> Result<(), ApplyError> {
        let Record::Submitted { job, user, submission, array, key } = record else {
            return Err(ApplyError::Other("not a submission"));
        };
        if *job != self.last_job + 1 {
            return Err(ApplyError::Job(*job));
        }
        self.last_job = *job;
        if !self.users.contains(user) {
            self.users.push(user.clone());
        }
        if let Some(key) = key {
            self.keys.insert((user.clone(), key.clone()), *job);
        }
        let new = Job {
            number: *job,
            user: user.clone(),
            submission: Arc::clone(submission),
            array: *array,
            key: key.clone(),
            submitted: self.now(),
            phase: Phase::Held(Hold::User),
            id: None,
            attempt: 0,
            parts: Vec::new(),
            expected: None,
            capped: None,
            started: None,
            ended: None,
            paid: Money::ZERO,
            cancelled_by: None,
            booking: None,
            in_window: false,
            choice: None,
            rendezvous: None,
            apart: None,
            history: VecDeque::new(),
            width: None,
            processors: None,
            origin: None,
            away: None,
        };
        self.jobs.insert(*job, new);
        self.note(*job, Happening::Submitted)
    }

    fn hold(&mut self, number: u64, hold: &Hold) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        if !matches!(job.phase, Phase::Waiting | Phase::Held(_)) {
            return Err(ApplyError::Job(number));
        }
        job.phase = Phase::Held(hold.clone());
        self.note(number, Happening::Held(hold.clone()))
    }

    fn enter(&mut self, number: u64, id: JobId) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        job.id = Some(id);
        job.phase = Phase::Waiting;
        self.note(number, Happening::Queued)
    }

    fn decided(&mut self, command: &Command) -> Result<(), ApplyError> {
        match command {
            Command::Trade { job, trade } => {
                self.market.apply(&Event::Traded { job: *job, trade: Arc::clone(trade) })?;
            }
            Command::Start { job, place } => {
                let number = self.number(*job)?;
                self.market.apply(&Event::Started { job: *job, place: place.clone() })?;
                let prices = self.prices(*job, place)?;
                self.begin(number, place, &prices)?;
            }
            Command::Refuse { job, reason } => {
                let number = self.number(*job)?;
                self.market.apply(&Event::Refused { job: *job })?;
                self.over(number, &Finish::Refused(reason.clone()))?;
            }
            Command::Wake { .. } => {}
        }
        Ok(())
    }

    fn number(&self, id: JobId) -> Result<u64, ApplyError> {
        self.numbers.get(&id).copied().ok_or(ApplyError::Other("a job that the books do not know"))
    }

    /// What the job pays in each share of its place: what it agreed on, or else the price of now.
    fn prices(&self, id: JobId, place: &Place) -> Result<Vec<Price>, ApplyError> {
        let demand = self.market.demand(id).ok_or(ApplyError::Other("a job without a demand"))?;
        let agreed = self.market.trade(id);
        let price = |pool: PoolId| {
            let agreed = agreed.filter(|trade| trade.pool == pool);
            agreed.map_or(self.market.pools().pool(pool).price, |trade| trade.price)
        };
        Ok(place.shares(demand.processors).map(|share| price(share.pool)).collect())
    }

    fn start_booked(&mut self, number: u64) -> Result<(), ApplyError> {
        let id = self.waiting(number)?;
        let booking = self.job(number)?.booking.clone().ok_or(ApplyError::Job(number))?;
        self.market.apply(&Event::Started { job: id, place: booking.place.clone() })?;
        self.begin(number, &booking.place, &booking.prices)?;
        self.job(number)?.in_window = true;
        Ok(())
    }

    /// The job has its nodes: what it may cost is held, and sites are to be told.
    fn begin(&mut self, number: u64, place: &Place, prices: &[Price]) -> Result<(), ApplyError> {
        let (at, name) = (self.now(), self.name.clone());
        let id = self.job(number)?.id.ok_or(ApplyError::Job(number))?;
        let demand = self.market.demand(id).cloned().ok_or(ApplyError::Job(number))?;
        let mut parts = Vec::new();
        for (share, price) in place.shares(demand.processors).zip(prices) {
            let limit = self.market.pools().pool(share.pool).length_of(&demand);
            let (pool, nodes, price) = (share.pool, share.nodes, *price);
            let names = Vec::new();
            parts.push(Part { pool, nodes, price, limit, names, since: None, exit: None });
        }
        let job = self.job(number)?;
        job.phase = Phase::Running;
        job.started = Some(at);
        job.choice = None;
        job.rendezvous = job.rendezvous_of(parts.len());
        job.parts = parts;
        let tags: Vec<(Tag, PoolId)> =
            (0..job.parts.len()).map(|part| (job.tag(&name, part), job.parts[part].pool)).collect();
        let (payer, hold) = (job.payer(), job.max());
        for (tag, pool) in tags {
            let (wanted, known) = (Wanted::Run, Known::Nothing);
            let task = Task { pool, wanted, known, go: None, begun: None, held: None };
            self.tasks.insert(tag, task);
        }
        // Nobody owes: who has too little is about to give the nodes back.
        if hold <= Money::ZERO || self.accounts.balance(&payer) >= i128::from(hold.0) {
            self.accounts.post(at, payer, Account::Held(number), hold, Motive::Hold(number));
        }
        self.note(number, Happening::Planned(place.clone()))
    }

    /// The tasks of the job's present attempt.
    pub(super) fn stop_tasks(&mut self, number: u64) -> Result<(), ApplyError> {
        let name = self.name.clone();
        let job = self.job(number)?;
        let tags: Vec<Tag> = (0..job.parts.len()).map(|part| job.tag(&name, part)).collect();
        for tag in tags {
            if let Some(task) = self.tasks.get_mut(&tag) {
                task.wanted = Wanted::Stop;
            }
        }
        Ok(())
    }

    /// The tasks of the job's present attempt that are to run, or that their sites have declined.
    fn recall_tasks(&mut self, number: u64) -> Result<(), ApplyError> {
        let name = self.name.clone();
        let job = self.job(number)?;
        let tags: Vec<Tag> = (0..job.parts.len()).map(|part| job.tag(&name, part)).collect();
        for tag in tags {
            let Some(task) = self.tasks.get_mut(&tag) else { continue };
            if task.wanted == Wanted::Run || matches!(task.known, Known::Declined(_)) {
                task.wanted = Wanted::Recall;
            }
        }
        Ok(())
    }

    fn drop_tasks(&mut self, number: u64) -> Result<(), ApplyError> {
        let name = self.name.clone();
        let job = self.job(number)?;
        let tags: Vec<Tag> = (0..job.parts.len()).map(|part| job.tag(&name, part)).collect();
        for tag in tags {
            self.tasks.remove(&tag);
        }
        Ok(())
    }

    fn interrupt(&mut self, number: u64, setback: &Setback) -> Result<(), ApplyError> {
        let id = self.running(number)?;
        self.market.apply(&Event::Interrupted { job: id })?;
        match setback {
            // Decided and set back at once: no site has heard of it.
            Setback::Funds => self.drop_tasks(number)?,
            _ => self.stop_tasks(number)?,
        }
        self.refund(number)?;
        if let Setback::BarrierTimedOut(pool, _) = setback {
            self.learn_slip(number, *pool)?;
        }
        let job = self.job(number)?;
        job.phase = Phase::Waiting;
        job.attempt += 1;
        if let Setback::Capped(..) = setback {
            job.capped = Some(job.capped.unwrap_or(0).saturating_add(1));
        }
        job.parts.clear();
        job.started = None;
        (job.rendezvous, job.apart) = (None, None);
        job.in_window = false;
        self.note(number, Happening::Setback(setback.clone()))
    }

    fn cancelling(&mut self, number: u64, by: &str) -> Result<(), ApplyError> {
        match self.job(number)?.phase {
            // Whoever has it is told, as soon as that is known.
            Phase::Handing | Phase::Away => {}
            _ => drop(self.running(number)?),
        }
        self.stop_tasks(number)?;
        self.job(number)?.cancelled_by = Some(by.to_owned());
        self.note(number, Happening::Cancelling(by.to_owned()))
    }

    fn end(&mut self, number: u64, finish: &Finish) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        let job_is_own = job.origin.is_none();
        match (job.phase.clone(), job.id) {
            (Phase::Running, Some(id)) => {
                self.market.apply(&Event::Ended { job: id })?;
                // A job that is lost here may run again at home: it pays once.
                if job_is_own || *finish != Finish::NodeFail {
                    self.settle(number)?;
                }
                self.refund(number)?;
                self.learn(number)?;
            }
            (Phase::Waiting, Some(id)) => self.market.apply(&Event::Cancelled { job: id })?,
            (Phase::Held(_), _) => {}
            (Phase::Away, _) => {
                self.pay_peer(number)?;
                self.refund(number)?;
            }
            _ => return Err(ApplyError::Job(number)),
        }
        self.over(number, finish)
    }

    fn over(&mut self, number: u64, finish: &Finish) -> Result<(), ApplyError> {
        let at = self.now();
        let job = self.job(number)?;
        // It ended when its last part did, whenever that was seen.
        let last = job.parts.iter().filter_map(|part| part.exit.as_ref()).map(|(at, _)| *at).max();
        let ran = job.phase == Phase::Running;
        job.phase = Phase::Over(finish.clone());
        job.ended = Some(last.filter(|_| ran).map_or(at, |last| last.min(at)));
        if let Some(id) = job.id {
            self.numbers.remove(&id);
        }
        self.note(number, Happening::Over(finish.clone()))
    }

    /// Owners get what was used: from the moment at which a part's work ran until it ended, at
    /// most for its limit.
    fn settle(&mut self, number: u64) -> Result<(), ApplyError> {
        let (at, rules) = (self.now(), self.rules);
        let job = self.job(number)?;
        let seconds = |part: &Part| job.charged(part, at, rules);
        let used = |part: &Part| (part.pool, part.nodes, part.price, seconds(part));
        let used: Vec<(PoolId, u32, Price, Span)> = job.parts.iter().map(used).collect();
        for (pool, nodes, price, time) in used {
            let amount = price.of(nodes, time);
            let site = self.site_of(pool);
            let owner = Account::Owner(self.market.pools().sites()[site.0 as usize].name.clone());
            self.count_used(number, &owner, (nodes, time), amount)?;
            self.accounts.post(at, Account::Held(number), owner, amount, Motive::Settle(number));
            self.job(number)?.paid += amount;
            self.count_spent(number, amount)?;
        }
        Ok(())
    }

    /// What is still held goes back.
    pub(super) fn refund(&mut self, number: u64) -> Result<(), ApplyError> {
        let (at, account) = (self.now(), Account::Held(number));
        let payer = self.job(number)?.payer();
        let rest = i64::try_from(self.accounts.balance(&account)).unwrap_or(i64::MAX);
        if rest > 0 {
            self.accounts.post(at, account, payer, Money(rest), Motive::Refund(number));
        }
        self.accounts.close(number);
        Ok(())
    }

    /// How much later than expected the job began, for its first part's site.
    fn learn(&mut self, number: u64) -> Result<(), ApplyError> {
        let job = self.job(number)?;
        let (Some(since), Some(expected)) = (job.began(), job.expected) else { return Ok(()) };
        let Some(pool) = job.parts.first().map(|part| part.pool) else { return Ok(()) };
        let site = self.site_of(pool);
        self.remember_slip(site, (since - expected).0);
        Ok(())
    }

    pub(super) fn remember_slip(&mut self, site: SiteId, seconds: i64) {
        let slips = self.slips.entry(site).or_default();
        slips.push_back(seconds);
        if slips.len() > State::SLIPS {
            slips.pop_front();
        }
    }

    /// As many slips of a site are remembered.
    pub const SLIPS: usize = 256;

    fn announce(&mut self, what: Outage, why: &Why) -> Result<(), ApplyError> {
        if self.closures.contains_key(why) {
            return Err(ApplyError::Other("announced twice"));
        }
        let closure = OutageId(self.market.announced());
        self.market.apply(&Event::Announced { closure, what })?;
        self.closures.insert(why.clone(), closure);
        Ok(())
    }

    fn closure(&mut self, why: &Why, event: impl Fn(OutageId) -> Event) -> Result<(), ApplyError> {
        let closure = self.closures.get(why).ok_or(ApplyError::Other("a closure that is not there"))?;
        Ok(self.market.apply(&event(*closure))?)
    }

    fn reached(&mut self, site: u32, away: Option<Time>) {
        let site = SiteId(site);
        match away {
            Some(since) => self.away.insert(site, since),
            None => self.away.remove(&site),
        };
    }
}

impl Exit {
    /// Whether the task did what it was to do.
    pub fn is_good(&self) -> bool {
        *self == Exit::Code(0)
    }
}
