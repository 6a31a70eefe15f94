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
//! | `words` | what is said to Grid Engine |
//! | `replies` | what it answers |
//! | `cluster` | both, with errors |
//! | `pools` | what is free |
//! | `fate` | what has become of a task |
//! | `follow` | a survey's tasks, and what is still to be done for them |
//! | `asides` | advance reservations |
//! | `doctor` | whether all is well |

mod asides;
mod cluster;
mod doctor;
mod fate;
mod follow;
mod pools;
mod replies;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::cluster::Cluster;
use self::follow::Missing;
use self::replies::{Instance, Job, Reservation, Status};
use super::local::records::now;
use super::local::sheet;
use super::managed::accounts::Accounts;
use super::managed::bundle::{Bundle, Paths};
use super::managed::spool::Spool;
use super::managed::tickets::{Ended, Ending, Ticket, Tickets};
use super::managed::tool::Tool;
use super::{Aside, Finding, Go, Order, PoolSetup, PoolSurvey, Site, SiteError, Survey, Tag};

/// Stands for the account in folders' names.
const USER: &str = "{user}";

/// What a Grid Engine site is made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the adapter keeps what it must not forget; made if need be.
    pub folder: PathBuf,
    /// Runs the cluster's commands.
    pub tool: Tool,
    /// Whose account is whose.
    pub accounts: Accounts,
    /// Where tasks run that do not say where, and from where relative paths count; `{user}` stands
    /// for the account.
    pub directory: String,
    /// The folder of tasks' folders, seen by the nodes and where our commands run; `{user}` stands
    /// for the account, who must be able to write there.
    pub spool: String,
    /// How nodes are held for jobs.
    pub mode: Mode,
    /// Its pools.
    pub pools: Vec<Pool>,
    /// Words for every `qsub`, such as `-P` and a project.
    pub options: Vec<String>,
    /// From `SIGTERM` to `SIGKILL` at a task's limit.
    pub grace: Duration,
    /// So long a task may be unknown to the manager before it counts as lost.
    pub patience: Duration,
}

impl Settings {
    /// What `grace` is if nobody says otherwise.
    pub const GRACE: Duration = Duration::from_secs(5);
    /// What `patience` is if nobody says otherwise: accounting is written every 15 s.
    pub const PATIENCE: Duration = Duration::from_secs(45);
}

/// How nodes are held for jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Not at all: a job is handed in with its start, and may find its nodes taken.
    Begin,
    /// By an advance reservation for each job.
    Reservation,
}

/// A queue, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// As the market knows it.
    pub setup: PoolSetup,
    /// The cluster queue.
    pub queue: String,
    /// Its hosts that belong to the pool, with domain or without; empty: all.
    pub hosts: Vec<String>,
    /// The parallel environment for more than one slot; `None`: one slot is all that a job can have.
    pub environment: Option<String>,
    /// What a node of the pool is.
    pub unit: Unit,
}

/// What the market calls a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// So many slots of one host, at least 1. Tasks share hosts.
    Slots(u32),
    /// A host, with so many slots: all that it has.
    Host(u32),
}

impl Pool {
    /// Slots of a unit, at least 1.
    fn slots(&self) -> u32 {
        let (Unit::Slots(slots) | Unit::Host(slots)) = self.unit;
        slots.max(1)
    }

    fn has(&self, instance: &Instance) -> bool {
        let host = instance.host();
        let short = host.split('.').next().unwrap_or(host);
        let named = self.hosts.iter().any(|one| one == host || one == short);
        instance.queue() == self.queue && (self.hosts.is_empty() || named)
    }

    /// Whether a job that asks for this queue (`QUEUE`, or `QUEUE@HOST`) may wait for our nodes.
    fn asks(&self, queue: &str) -> bool {
        queue.split('@').next() == Some(self.queue.as_str())
    }

    /// As `-q` wants it.
    fn queues(&self) -> String {
        match self.hosts.is_empty() {
            true => self.queue.clone(),
            false => {
                let all = self.hosts.iter().map(|host| format!("{}@{host}", self.queue));
                all.collect::<Vec<_>>().join(",")
            }
        }
    }
}

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

    /// The account of a user.
    fn account(&self, user: &str) -> Result<String, String> {
        self.settings.accounts.of(&self.settings.tool.site, user).map(str::to_owned)
    }

    /// What is free, and what others have.
    fn pools_now(&self, status: &Status) -> Result<Vec<PoolSurvey>, SiteError> {
        let now = now();
        let names: BTreeSet<String> =
            self.tickets.iter().map(|(tag, _)| words::job_name(tag)).collect();
        let theirs: Vec<&Job> =
            status.jobs.iter().filter(|job| !names.contains(&job.name)).collect();
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

    /// Why it cannot be run here, or its pool and account.
    fn check(&self, order: &Order) -> Result<(usize, String), String> {
        let pool = self.pool(&order.pool);
        let (place, pool) = pool
            .and_then(|place| Some((place, self.settings.pools.get(place)?)))
            .ok_or_else(|| format!("there is no pool {:?}", order.pool))?;
        let most = pool.setup.nodes;
        if order.nodes == 0 || order.nodes > most {
            return Err(format!("{} nodes: pool {:?} has {most}", order.nodes, order.pool));
        }
        if order.nodes.saturating_mul(pool.slots()) > 1 && pool.environment.is_none() {
            return Err(format!(
                "{} nodes: pool {:?} has no parallel environment",
                order.nodes, order.pool
            ));
        }
        if let Some(name) = words::unmet(order) {
            return Err(format!("{name:?} means nothing to Grid Engine: leave it out"));
        }
        if let Some(why) = sheet::refusal(order) {
            return Err(why);
        }
        // The longest name of a folder; the manager takes any.
        if words::job_name(&order.tag).len() > 200 {
            return Err("the market's name is too long".to_owned());
        }
        Ok((place, self.account(&order.user)?))
    }

    /// The ticket of a task that is about to be handed in.
    fn ticket(&self, order: &Order, account: &str, paths: &Paths) -> Ticket {
        Ticket {
            tag: order.tag.to_string(),
            account: account.to_owned(),
            pool: order.pool.clone(),
            nodes: order.nodes,
            handed_in: now().0,
            start: order.start.0,
            limit: order.limit.0,
            gather: order.gather.map(|span| span.0),
            output: paths.output.clone(),
            spool: self.settings.spool.replace(USER, account),
            is_taken: false,
            is_withdrawn: false,
            ended: None,
            is_forgotten: false,
        }
    }

    /// Hands it in. Before it does so again it looks whether the first time went well.
    fn hand_in(&mut self, order: &Order) -> Result<(), SiteError> {
        let (place, account) = self.check(order).map_err(SiteError::Refused)?;
        let paths = Paths::of(order, &self.settings.directory.replace(USER, &account));
        if let Some(known) = self.tickets.get(&order.tag) {
            if self.is_there(&order.tag, known)? {
                return self.change(&order.tag, |ticket| ticket.is_taken = true);
            }
        } else {
            let ticket = self.ticket(order, &account, &paths);
            self.tickets.put(&order.tag, ticket).map_err(unknown)?;
            self.markets.insert(order.tag.market.clone());
        }
        match self.send(order, place, &account, &paths) {
            Ok(()) => self.change(&order.tag, |ticket| ticket.is_taken = true),
            Err(SiteError::Refused(why)) => {
                self.tickets.remove(&order.tag).map_err(unknown)?;
                Err(SiteError::Refused(why))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a submission that was not answered has arrived.
    fn is_there(&self, tag: &Tag, ticket: &Ticket) -> Result<bool, SiteError> {
        let name = words::job_name(tag);
        if self.cluster().status()?.jobs.iter().any(|job| job.name == name) {
            return Ok(true);
        }
        Ok(!self.spool(ticket).look(std::slice::from_ref(tag))?.is_empty())
    }

    fn send(
        &self,
        order: &Order,
        place: usize,
        account: &str,
        paths: &Paths,
    ) -> Result<(), SiteError> {
        let Some(pool) = self.settings.pools.get(place) else { return Ok(()) };
        let reserved = match order.aside {
            true => self.reservation_of(&order.tag, place)?,
            false => None,
        };
        let mut limit = words::hard_limit(order, self.settings.grace);
        if let Some(reserved) = &reserved {
            // A job that might outlive its reservation is refused.
            limit = limit.min(reserved.until - reserved.from);
        }
        let words = words::qsub(&words::Submission {
            order,
            pool,
            limit,
            begin: (order.start > now()).then_some(order.start),
            reservation: reserved.as_ref().map(|one| one.id.as_str()),
            options: &self.settings.options,
        });
        let bundle = Bundle {
            order,
            variables: &order.variables,
            paths,
            spool: &self.settings.spool.replace(USER, account),
            grace: self.settings.grace,
            words: &words::WORDS,
        };
        let script = bundle.script().replacen('\n', &format!("\n{}", words::CODES), 1);
        self.cluster().submit(account, words, &script)
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
            None => {
                let ended =
                    Ended { since: None, at: now().0, began: None, exit: Ending::Withdrawn };
                self.change(tag, |ticket| ticket.ended = Some(ended))?;
                if let Err(error) = self.cluster().delete(&account, &name) {
                    tracing::warn!(%error, "a withdrawn job waits on; it would do nothing");
                }
                Ok(())
            }
        }
    }

    /// Nothing is left of it here and, if the cluster answers, there.
    fn clear(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        self.spool(ticket).clear(std::slice::from_ref(tag))?;
        self.tickets.remove(tag).map_err(unknown)
    }
}

impl Site for GridEngine {
    fn pools(&self) -> &[PoolSetup] {
        &self.setups
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        let status = self.cluster().status()?;
        // After the status: a job that it lacks has written its end by now.
        let traces = self.traces()?;
        let pools = self.pools_now(&status)?;
        let (tasks, began) = self.follow(&status, &traces)?;
        self.tidy(&status);
        Ok(Survey { pools, tasks, began })
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        let is_done = |ticket: &Ticket| ticket.is_taken || ticket.ended.is_some();
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

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        if ticket.ended.is_none() {
            return Err(SiteError::Refused(format!("{tag} has not ended")));
        }
        self.tickets.ban(tag).map_err(unknown)?;
        self.change(tag, |ticket| ticket.is_forgotten = true)?;
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

    fn output(&mut self, tag: &Tag, most: usize) -> Result<Vec<u8>, SiteError> {
        match self.tickets.get(tag) {
            Some(ticket) => self.spool(ticket).tail(&ticket.output, most),
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
