//! How tasks are submitted.

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tradewind_io::settings::cluster::Mode;

use super::base::unwritten;
use super::manager::{Manager, SubmitAnswer, TaskSubmission};
use super::{Driver, USER, find};
use crate::site::clock::now;
use crate::site::limits::Holds;
use crate::site::local::sheet::refusal;
use crate::site::managed::bundle::{Paths, TaskScript, ahead, near};
use crate::site::managed::news::bells;
use crate::site::managed::stage::data_words;
use crate::site::managed::tickets::{Ticket, stamp};
use crate::site::{Order, SiteError};

/// So many submissions are under way at once.
const HANDS: usize = 4;

impl<M: Manager> Driver<M> {
    /// Submits tasks, several at once, unless they were submitted before; the answers in their
    /// order.
    pub(super) fn take_in(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        let own: Vec<Cow<'_, Order>> = orders.iter().map(|it| self.without_staging(it)).collect();
        self.bring_files(orders);
        let mut answers: Vec<Result<(), SiteError>> = vec![Ok(()); orders.len()];
        let mut answer = |place: usize, with: Result<(), SiteError>| {
            if let Some(answer) = answers.get_mut(place) {
                *answer = with;
            }
        };
        let (mut ready, mut jobs) = (Vec::new(), None);
        for (place, order) in own.iter().enumerate() {
            match self.prepare(place, order, &mut jobs) {
                Ok(one) => ready.extend(one),
                Err(wrong) => answer(place, Err(wrong)),
            }
        }
        let tickets = ready.iter().map(|one| (one.order.tag.clone(), one.ticket.clone()));
        if let Err(error) = self.base.tickets.put(tickets.collect()) {
            ready.iter().for_each(|one| answer(one.place, Err(unwritten(&error))));
            return answers;
        }
        self.base.markets.extend(ready.iter().map(|one| one.order.tag.market.clone()));
        self.listen();
        let (mut taken, mut refused) = (Vec::new(), Vec::new());
        for (one, (said, cap)) in ready.iter().zip(self.submit_each(&ready)) {
            if let Some(cap) = cap {
                self.caps.caught.catch(&one.order.tag, cap);
            }
            match &said {
                Ok(()) => taken.push(one.order.tag.clone()),
                Err(SiteError::Refused(_) | SiteError::Capped(_)) => {
                    refused.push(one.order.tag.clone());
                }
                Err(_) => {}
            }
            answer(one.place, said);
        }
        if !refused.is_empty() {
            self.rhythm.distrust();
        }
        let taken = self.base.tickets.change_each(&taken, |_, ticket| ticket.is_taken = true);
        if let Err(error) = taken.and_then(|()| self.base.tickets.remove(&refused)) {
            let own = ready.iter().map(|one| one.place);
            own.for_each(|place| answer(place, Err(unwritten(&error))));
        }
        answers
    }

    /// What is needed to submit a task; `None`: it was submitted before. `jobs` are the manager's,
    /// once they were asked for.
    fn prepare<'o>(
        &mut self,
        place: usize,
        order: &'o Order,
        jobs: &mut Option<Vec<M::Job>>,
    ) -> Result<Option<TaskSubmission<'o>>, SiteError> {
        if self.was_submitted(order, jobs)? {
            return Ok(None);
        }
        let pool = self.check(order)?;
        let account = self.base.account(&order.user)?;
        match self.manager.check(&self.base, order, pool) {
            Err(SiteError::Capped(why)) => {
                return Err(self.caps.caught.refuse(&order.tag, Holds::ForThisJob, why));
            }
            checked => checked?,
        }
        self.has_files(&order.tag)?;
        let home = self.base.cluster.directory.replace(USER, &account);
        let paths = Paths::of(order, &home);
        let ticket = self.ticket(order, account, &paths);
        let script = self.script(order, &paths, &ticket)?;
        Ok(Some(TaskSubmission { place, order, pool, ticket, script }))
    }

    /// Whether the task has arrived before. If that was never heard of, it is submitted again, and
    /// its folder keeps it from running twice should the first submission turn up after all.
    fn was_submitted(
        &mut self,
        order: &Order,
        jobs: &mut Option<Vec<M::Job>>,
    ) -> Result<bool, SiteError> {
        let tag = &order.tag;
        if self.base.tickets.is_gone(tag) {
            self.base.tickets.ask(tag);
            return Ok(true);
        }
        let Some(ticket) = self.base.tickets.get(tag) else { return Ok(false) };
        let mut is_known = ticket.is_taken || ticket.is_withdrawn || ticket.ended.is_some();
        if !is_known && jobs.is_none() {
            *jobs = Some(self.manager.jobs_in_brief(&self.base)?);
        }
        is_known = is_known || find::<M>(jobs.as_deref().unwrap_or_default(), ticket).is_some();
        // One that is over may be listed no more.
        if !is_known && !M::KEEPS_ENDED {
            is_known = !self.base.spool(ticket).look(std::slice::from_ref(tag))?.is_empty();
        }
        if is_known {
            self.base.change(tag, |ticket| ticket.is_taken = true)?;
        }
        Ok(is_known)
    }

    fn script(&self, order: &Order, paths: &Paths, ticket: &Ticket) -> Result<String, SiteError> {
        let variables = order.variables.clone().into_iter();
        let variables = variables.filter(|(name, _)| !M::sets_variable(name)).collect();
        let bundle = TaskScript {
            bells: &bells(&order.tag.market, &self.base.name),
            order,
            variables: &variables,
            paths,
            spool: &ticket.spool,
            start: near(order, now()),
            grace: self.base.grace(),
            words: self.manager.words(),
            gate: self.base.tool.gate.as_ref(),
        };
        self.manager.script(bundle.script())
    }

    /// Some at a time; the answers in their order.
    fn submit_each(&self, ready: &[TaskSubmission<'_>]) -> Vec<SubmitAnswer> {
        let next = AtomicUsize::new(0);
        let (base, manager) = (&self.base, &self.manager);
        let hand = || {
            let mut answers = Vec::new();
            while let Some(one) = ready.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push((one.place, manager.submit(base, one)));
            }
            answers
        };
        if ready.len() < 2 {
            return hand().into_iter().map(|(_, answer)| answer).collect();
        }
        let mut answers = thread::scope(|scope| {
            let hands: Vec<_> = (0..HANDS.min(ready.len())).map(|_| scope.spawn(hand)).collect();
            let joined =
                hands.into_iter().map(|hand| hand.join().unwrap_or_else(|it| resume_unwind(it)));
            joined.flatten().collect::<Vec<_>>()
        });
        answers.sort_by_key(|(place, _)| *place);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// What can be said against an order at any manager; the place of its pool.
    fn check(&self, order: &Order) -> Result<usize, SiteError> {
        let refuse = |why: String| Err(SiteError::Refused(why));
        let Some(pool) = self.base.pool(&order.pool) else {
            return refuse(format!("there is no pool {:?}", order.pool));
        };
        let max = self.base.pools.get(pool).map_or(0, |pool| pool.nodes);
        if order.nodes == 0 || order.nodes > max {
            return refuse(format!("{} nodes: pool {:?} has {max}", order.nodes, order.pool));
        }
        match refusal(order) {
            Some(why) => refuse(why),
            None => Ok(pool),
        }
    }

    fn ticket(&self, order: &Order, account: String, paths: &Paths) -> Ticket {
        let is_ahead = ahead(order, now()).is_some();
        // Before the manager hears of it: when the job is found, it is known that it must be
        // released.
        let is_held = self.base.cluster.mode == Mode::HoldRelease && is_ahead;
        let data = order.data.as_deref();
        Ticket {
            tag: order.tag.to_string(),
            pool: order.pool.clone(),
            nodes: order.nodes,
            handed_in: stamp(),
            start: order.start.0,
            limit: order.limit.0,
            gather: order.gather.map(|span| span.0),
            directory: paths.directory.clone(),
            output: paths.output.clone(),
            error: Some(paths.error.clone()).filter(|error| *error != paths.output),
            spool: self.base.cluster.spool.replace(USER, &account),
            account,
            data: data.map(|it| data_words(&it.data, &self.base.name)).unwrap_or_default(),
            staging: data.map_or(0, |it| it.times.stage_out.0),
            is_held,
            is_preemptible: order.is_preemptible,
            was_held: is_held,
            is_taken: false,
            is_withdrawn: false,
            is_recalled: false,
            ended: None,
            is_forgotten: false,
        }
    }
}
