//! A cluster under a manager of its own, as a [`Site`]: tasks are submitted, withdrawn, recalled,
//! forgotten and judged here, and nodes reserved, once for all managers.
//!
//! A job is known by its mark and account, never by the manager's number, which is used again. What
//! was submitted is known from tickets of our own, since managers forget what has ended and may lose
//! what they have acknowledged; what runs writes its end down itself. Lists are kept between two
//! looks, and what tasks say is told on top of the last look. [`Site::survey`] always asks for all.
//!
//! | module | what |
//! |---|---|
//! | `manager` | what a manager provides |
//! | `base` | what both use |
//! | `submit`, `staging`, `withdraw`, `reserve` | what is done for the market |
//! | `survey`, `turn`, `rhythm` | when the manager is asked, for what, and what follows |
//! | `judge`, `heard` | what to say of a task |
//! | `terms` | what is left of earlier terms of ownership |
//! | `limits` | limits that jobs meet |
//! | `trial`, `doctor` | whether all is well |

mod base;
pub(in crate::site) mod doctor;
mod heard;
pub(in crate::site) mod judge;
mod limits;
pub(in crate::site) mod manager;
#[cfg(test)]
mod minimal;
pub(in crate::site) mod missing;
mod reserve;
mod rhythm;
mod staging;
mod submit;
mod survey;
mod terms;
mod trial;
mod turn;
mod withdraw;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_io::submission::signal::Warning;
use tradewind_model::Time;

pub(in crate::site) use self::base::{Base, USER};
pub use self::base::{ManagedSettings, Ownership};
pub(in crate::site) use self::manager::Manager;
pub(in crate::site) use self::rhythm::SurveyPart;
use super::news::Listeners;
use super::requests::Requests;
use super::spool::Spool;
use super::tickets::Ticket;
use super::tool::Tool;
use crate::site::clock;
use crate::site::queued::{EndedJob, ForgottenJobs};
use crate::site::{
    Aside, Demand, Excerpt, Finding, Go, Order, PoolSetup, Reading, Site, SiteError, Stream,
    Survey, Tag, Turn, Wake,
};

/// A site under the manager `M`; see the module.
#[derive(Debug)]
pub(in crate::site) struct Driver<M: Manager> {
    base: Base,
    manager: M,
    last: survey::LastAsked,
    rhythm: rhythm::Rhythm,
    known: turn::KnownCluster<M::Job>,
    listeners: Listeners,
    terms: terms::SpoolTerms,
    caps: limits::MetLimits,
    staging: staging::Stager,
    /// Of tasks that were forgotten, the latest last.
    written: VecDeque<PastOutput>,
}

impl<M: Manager> Driver<M> {
    /// Opens the site's folder. The cluster itself is not asked.
    ///
    /// # Errors
    /// If the folder cannot be used, another adapter uses it, or a file in it is damaged.
    pub(in crate::site) fn open(
        settings: ManagedSettings,
        manager: M,
        owned: Option<Ownership>,
    ) -> io::Result<Driver<M>> {
        let base = Base::open(settings, owned)?;
        let cluster = &base.cluster;
        let min = Duration::from_secs(u64::try_from(cluster.survey_every.0).unwrap_or(1));
        let budget = (cluster.requests_at_rest, cluster.requests_busy);
        Ok(Driver {
            rhythm: rhythm::Rhythm::of(budget, min, M::PARTS),
            base,
            manager,
            last: survey::LastAsked::default(),
            known: turn::KnownCluster::default(),
            listeners: Listeners::default(),
            terms: terms::SpoolTerms::default(),
            caps: limits::MetLimits::default(),
            staging: staging::Stager::default(),
            written: VecDeque::new(),
        })
    }
}

/// Tasks that were forgotten, of which it is still known where they wrote.
const WRITTEN: usize = 2_000;

/// Where a task wrote: its output is asked for when it has been over for long.
#[derive(Debug)]
struct PastOutput {
    tag: Tag,
    account: String,
    spool: String,
    output: String,
    error: Option<String>,
}

impl PastOutput {
    fn of(tag: &Tag, ticket: &Ticket) -> PastOutput {
        let Ticket { account, spool, output, error, .. } = ticket.clone();
        PastOutput { tag: tag.clone(), account, spool, output, error }
    }

    fn reading(&self, tool: &Tool, wanted: &Excerpt) -> Reading {
        let error = self.error.as_ref().filter(|_| wanted.stream == Stream::Error);
        let spool = Spool { tool, account: &self.account, path: &self.spool };
        spool.reading(error.unwrap_or(&self.output), wanted)
    }
}

impl<M: Manager> Driver<M> {
    /// Whether anything was ever submitted from its folder and is not forgotten.
    pub(in crate::site) fn has_tickets(&self) -> bool {
        self.base.tickets.iter().next().is_some()
    }
}

/// The ticket's job.
fn find<'j, M: Manager>(jobs: &'j [M::Job], ticket: &Ticket) -> Option<&'j M::Job> {
    judge::find::<M>(&judge::by_mark(jobs), ticket)
}

impl<M: Manager> Site for Driver<M> {
    fn pools(&self) -> &[PoolSetup] {
        &self.base.pools
    }

    fn lists_by(&self) -> Option<&'static str> {
        Some(M::LISTS_BY)
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.look(M::PARTS)
    }

    fn ended(&mut self) -> Vec<EndedJob> {
        self.ended_jobs()
    }

    fn forgotten(&mut self, since: Time) -> ForgottenJobs {
        self.manager.forgotten(&self.base, since, clock::now())
    }

    fn attend(&mut self, wake: Wake) {
        self.listeners.begin(wake);
    }

    fn expect(&mut self, demand: Demand) {
        self.known.demand = demand;
    }

    fn due(&self) -> Option<Instant> {
        Some(self.next_turn())
    }

    fn turn(&mut self) -> Turn {
        self.take_turn()
    }

    fn requests(&self) -> Option<Arc<Requests>> {
        Some(Arc::clone(&self.base.tool.requests))
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        self.take_in(&[order]).pop().unwrap_or(Ok(()))
    }

    fn submit_all(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        self.take_in(orders)
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.call_off(tag)
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.take_back(tag)
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.forget_all(&[tag]).pop().unwrap_or(Ok(()))
    }

    fn forget_all(&mut self, tags: &[&Tag]) -> Vec<Result<(), SiteError>> {
        tags.iter().for_each(|tag| self.base.tickets.leave(tag));
        let tickets = &self.base.tickets;
        let has_ended = |tag: &&Tag| tickets.get(tag).is_some_and(|it| it.ended.is_some());
        let over: Vec<Tag> = tags.iter().copied().filter(has_ended).cloned().collect();
        for tag in &over {
            let past = tickets.get(tag).map(|ticket| PastOutput::of(tag, ticket));
            if self.written.len() == WRITTEN {
                self.written.pop_front();
            }
            self.written.extend(past);
        }
        let forgotten = self.base.tickets.forget(&over).map_err(|error| base::unwritten(&error));
        let answer = |tag: &&Tag| match self.base.tickets.get(tag) {
            None => Ok(()),
            Some(ticket) if ticket.ended.is_some() => forgotten.clone(),
            Some(_) => Err(SiteError::Refused(format!("{tag} has not ended"))),
        };
        tags.iter().map(answer).collect()
    }

    fn set_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        self.reserve(market, wanted)
    }

    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        let waits = |ticket: &&Ticket| ticket.gather.is_some() && ticket.ended.is_none();
        match self.base.tickets.get(tag).filter(waits) {
            Some(ticket) => self.base.spool(ticket).go(tag, go),
            None => Ok(()),
        }
    }

    fn notify(&mut self, tag: &Tag, signal: Option<Warning>) -> Result<(), SiteError> {
        self.tell(tag, signal)
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        Ok(self.reading(tag, &Excerpt::last(max))?.run()?.bytes)
    }

    fn reading(&mut self, tag: &Tag, wanted: &Excerpt) -> Result<Reading, SiteError> {
        let known = self.base.tickets.get(tag).filter(|ticket| !ticket.is_forgotten);
        if let Some(ticket) = known {
            return Ok(PastOutput::of(tag, ticket).reading(&self.base.tool, wanted));
        }
        match self.written.iter().find(|it| it.tag == *tag) {
            Some(past) => Ok(past.reading(&self.base.tool, wanted)),
            None => Err(SiteError::Refused(format!("{tag} is not known here any more"))),
        }
    }

    fn doctor(&mut self) -> Vec<Finding> {
        self.manager.doctor(&self.base)
    }

    fn trials(&self) -> Vec<String> {
        self.base.pools.iter().map(|pool| pool.name.clone()).collect()
    }

    fn trial(&mut self, pool: &str, patience: Duration) -> Finding {
        self.try_pool(pool, patience)
    }
}
