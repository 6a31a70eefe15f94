//! A cluster under Grid Engine, through its own commands.
//!
//! A pool is a queue, or some hosts of one; its nodes are units of so many slots. A task is one
//! job whose name is the task's tag: numbers of jobs start anew when the cluster is set up anew,
//! names do not. What a job has done stands in the task's folder, written by its own script, since
//! Grid Engine forgets a job as soon as it is over; its accounting, which comes some seconds late,
//! is the second witness, for jobs that could not write.
//!
//! | module | what |
//! |---|---|
//! | `settings` | what is configured |
//! | `words` | what is said to Grid Engine |
//! | `replies` | what it answers |
//! | `cluster` | both, with errors |
//! | `pools` | what is free |
//! | `fate` | what has become of a task |
//! | `hand_in` | submissions |
//! | `follow` | a survey's tasks, and what is still to be done for them |
//! | `asides` | advance reservations |
//! | `doctor` | whether all is well |

mod asides;
mod cluster;
mod doctor;
mod fate;
mod follow;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hand_in;
mod pools;
mod replies;
mod settings;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Instant;

use self::cluster::Cluster;
use self::follow::Missing;
use self::replies::{Job, Reservation, Status};
pub use self::settings::{Mode, Pool, Settings, Unit};
use super::local::records::now;
use super::managed::accounts::account_of;
use super::managed::requests::Requests;
use super::managed::spool::{Spool, Taken};
use super::managed::tickets::{Ended, Ticket, Tickets};
use super::managed::tool::Call;
use super::{
    Aside, Exit, Finding, Go, Order, PoolSetup, PoolSurvey, Reading, Site, SiteError, Survey, Tag,
};

/// Stands for the account in folders' names.
const USER: &str = "{user}";

/// A Grid Engine site; see the module.
#[derive(Debug)]
pub struct GridEngine {
    settings: Settings,
    setups: Vec<PoolSetup>,
    tickets: Tickets,
    /// Whose reservations are ours.
    markets: BTreeSet<String>,
    missing: BTreeMap<Tag, Missing>,
    /// Since when tasks are asked to stop.
    stopping: BTreeMap<Tag, Instant>,
    /// Slots of a unit by pool, as the cluster said last.
    units: Vec<Option<u32>>,
    /// The account that runs our own commands, once it is known.
    own_account: Option<String>,
}

impl GridEngine {
    /// Opens the site's folder; the cluster is not asked.
    ///
    /// # Errors
    /// If the folder cannot be used, another adapter uses it, or a file in it is damaged.
    pub fn open(settings: Settings) -> io::Result<GridEngine> {
        let tickets = Tickets::open(&settings.folder)?;
        let markets = tickets.iter().map(|(tag, _)| tag.market.clone()).collect();
        let setups = settings.pools.iter().map(|pool| pool.setup.clone()).collect();
        Ok(GridEngine {
            settings,
            setups,
            tickets,
            markets,
            missing: BTreeMap::new(),
            stopping: BTreeMap::new(),
            units: Vec::new(),
            own_account: None,
        })
    }

    fn cluster(&self) -> Cluster<'_> {
        Cluster(&self.settings.tool)
    }

    fn spool<'a>(&'a self, ticket: &'a Ticket) -> Spool<'a> {
        Spool { tool: &self.settings.tool, account: &ticket.account, path: &ticket.spool }
    }

    fn pool(&self, name: &str) -> Option<usize> {
        self.settings.pools.iter().position(|pool| pool.setup.name == name)
    }

    /// The account of a user; nobody's jobs run as ourselves unless that was set up.
    fn account(&mut self, user: &str) -> Result<String, SiteError> {
        let site = &self.settings.tool.site;
        let account = account_of(&self.settings.accounts, site, user);
        let account = account.map_err(SiteError::Refused)?.to_owned();
        if !self.settings.tool.users.words.is_empty() || self.own_account()? == account {
            return Ok(account);
        }
        Err(SiteError::Refused(format!(
            "{user:?} has the account {account:?} at {}, and jobs there run as the account of its \
             `command`: the site's owner must set `user_command`, such as \
             [\"sudo\", \"-n\", \"-u\", \"{{user}}\"]",
            self.settings.tool.site
        )))
    }

    fn own_account(&mut self) -> Result<String, SiteError> {
        if let Some(own) = &self.own_account {
            return Ok(own.clone());
        }
        let answer = self.settings.tool.must(&Call::ours(&["id", "-un"]))?;
        let own = answer.text().trim().to_owned();
        self.own_account = Some(own.clone());
        Ok(own)
    }

    /// Queues and jobs, now.
    fn status(&mut self) -> Result<Status, SiteError> {
        let status = self.cluster().status()?;
        self.units = self.settings.pools.iter().map(|pool| pool.slots(&status)).collect();
        Ok(status)
    }

    /// Slots of a unit of the pool at this place.
    fn unit(&mut self, place: usize) -> Result<u32, SiteError> {
        if let Some(Unit::Slots(slots)) = self.settings.pools.get(place).map(|pool| pool.unit) {
            return Ok(slots.max(1));
        }
        if self.units.get(place).is_none_or(Option::is_none) {
            self.status()?;
        }
        self.units.get(place).copied().flatten().ok_or_else(|| {
            let queue = self.settings.pools.get(place).map_or("", |pool| pool.queue.as_str());
            SiteError::Unknown(format!("the queue {queue:?} has none of the pool's hosts"))
        })
    }

    /// What is free, and what others have.
    fn pools_now(&self, status: &Status) -> Result<Vec<PoolSurvey>, SiteError> {
        let now = now();
        let own: BTreeSet<(String, &str)> = self
            .tickets
            .iter()
            .map(|(tag, ticket)| (words::job_name(tag), ticket.account.as_str()))
            .collect();
        let is_own = |job: &&Job| own.contains(&(job.name.clone(), job.owner.as_str()));
        let theirs: Vec<&Job> = status.jobs.iter().filter(|job| !is_own(job)).collect();
        let is_theirs = |one: &Reservation| {
            !one.state.contains('d') && !words::is_reservation_of(&one.name, &self.markets)
        };
        let mut reservations = self.cluster().reservations(is_theirs)?;
        reservations.retain(is_theirs);
        let running = theirs.iter().filter(|job| job.is_placed());
        let numbers = running.map(|job| job.id.split('.').next().unwrap_or_default());
        let inside = match reservations.iter().any(|one| one.from <= now) {
            true => self.cluster().details(numbers)?.reservation,
            false => BTreeMap::new(),
        };
        let others = pools::Others {
            jobs: &theirs,
            reservations: &reservations.iter().collect::<Vec<_>>(),
            inside: &inside,
            now,
        };
        Ok(pools::look(&self.settings.pools, status, &others))
    }

    fn change(&mut self, tag: &Tag, how: impl FnOnce(&mut Ticket)) -> Result<(), SiteError> {
        self.tickets.change(tag, how).map_err(unknown)
    }

    /// A task that has its nodes is told to stop; one that has none never will.
    fn stop(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.change(tag, |ticket| ticket.is_withdrawn = true)?;
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        let (account, name) = (ticket.account.clone(), words::job_name(tag));
        match self.spool(ticket).claim(tag)? {
            Some(trace) if trace.end.is_none() => self.spool(ticket).stop(tag),
            Some(_) => Ok(()),
            None => self.never_begins(tag, &account, &name),
        }
    }

    /// The folder of the task is ours.
    fn never_begins(&mut self, tag: &Tag, account: &str, name: &str) -> Result<(), SiteError> {
        let ended = Ended::before_it_began(now(), &Exit::Withdrawn);
        self.change(tag, |ticket| {
            ticket.is_withdrawn = true;
            ticket.ended = Some(ended);
        })?;
        if let Err(error) = self.cluster().delete(account, name) {
            tracing::warn!(%error, "a withdrawn job waits on; it would do nothing");
        }
        Ok(())
    }

    /// Takes the task back, unless its script has made its folder before.
    fn take_back(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.change(tag, |ticket| ticket.is_recalled = true)?;
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        let (account, name) = (ticket.account.clone(), words::job_name(tag));
        let is_ours = match self.spool(ticket).take_back(tag)? {
            Taken::Back => true,
            Taken::TooLate => {
                self.change(tag, |ticket| ticket.is_recalled = false)?;
                return Err(SiteError::Begun);
            }
            Taken::Unclear => {
                let status = self.status()?;
                let mut jobs = status.jobs.iter();
                let job = jobs.find(|job| job.name == name && job.owner == account);
                job.is_some_and(|job| !job.is_placed())
            }
        };
        match is_ours {
            true => self.never_begins(tag, &account, &name),
            false => Err(SiteError::Unknown(format!("{tag} may have just begun"))),
        }
    }

    /// Nothing is left of it here and, if the cluster answers, there.
    fn clear(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        self.spool(ticket).clear(std::slice::from_ref(tag))?;
        self.tickets.remove(std::slice::from_ref(tag)).map_err(unknown)
    }
}

impl Site for GridEngine {
    fn pools(&self) -> &[PoolSetup] {
        &self.setups
    }

    fn lists_by(&self) -> Option<&'static str> {
        Some("qstat -f")
    }

    fn requests(&self) -> Option<Arc<Requests>> {
        Some(Arc::clone(&self.settings.tool.requests))
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        let status = self.status()?;
        // After the status: a job that it lacks has written its end by now.
        let traces = self.traces()?;
        let pools = self.pools_now(&status)?;
        let (tasks, began, placed) = self.follow(&status, &traces)?;
        let held = self.held(&status, &tasks);
        self.tidy(&status);
        Ok(Survey { pools, tasks, began, placed, held, ..Survey::default() })
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        let is_done =
            |ticket: &Ticket| ticket.is_taken || ticket.is_withdrawn || ticket.ended.is_some();
        match self.tickets.get(&order.tag).is_some_and(is_done) || self.tickets.is_gone(&order.tag)
        {
            true => Ok(()),
            false => self.hand_in(order),
        }
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        match self.tickets.get(tag).map(|ticket| ticket.ended.is_some()) {
            None => self.tickets.ban(tag).map_err(unknown),
            Some(true) => Ok(()),
            Some(false) => self.stop(tag),
        }
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        match self.tickets.get(tag).map(|ticket| ticket.ended.is_some()) {
            None => self.tickets.ban(tag).map_err(unknown),
            Some(true) => Ok(()),
            Some(false) => self.take_back(tag),
        }
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        if ticket.ended.is_none() {
            return Err(SiteError::Refused(format!("{tag} has not ended")));
        }
        self.tickets.forget(std::slice::from_ref(tag)).map_err(unknown)?;
        // If the cluster does not answer now, the next survey tries again.
        if let Err(error) = self.clear(tag) {
            tracing::debug!(%error, "what is left of a task stays for now");
        }
        Ok(())
    }

    fn set_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        self.markets.insert(market.to_owned());
        match self.settings.mode {
            Mode::Begin => Ok(Vec::new()),
            Mode::Reservation => self.reserve(market, wanted),
        }
    }

    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        match self.tickets.get(tag) {
            Some(ticket) if ticket.ended.is_none() => self.spool(ticket).go(tag, go),
            _ => Ok(()),
        }
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        self.reading(tag, max)?.run()
    }

    fn reading(&mut self, tag: &Tag, max: usize) -> Result<Reading, SiteError> {
        match self.tickets.get(tag) {
            Some(ticket) => Ok(self.spool(ticket).reading(&ticket.output, max)),
            None => Err(SiteError::Refused(format!("{tag} is not known here"))),
        }
    }

    fn doctor(&mut self) -> Vec<Finding> {
        doctor::look(&self.settings)
    }
}

fn unknown(error: impl std::fmt::Display) -> SiteError {
    SiteError::Unknown(error.to_string())
}
