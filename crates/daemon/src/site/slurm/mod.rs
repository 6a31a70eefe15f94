//! A site that is a cluster under Slurm, driven through its command-line tools.
//!
//! Every job's comment is its task's tag; Slurm's own numbers are used again after a crash of its
//! controller and identify nothing. What was handed in is known from tickets of our own, since
//! Slurm forgets what has ended, and its controller may lose what it has acknowledged; what runs
//! writes its end down itself (see [`managed`](super::managed)). Slurm's lists are kept between two
//! looks: nodes and reservations are asked for rarely, and what tasks say (see
//! [`news`](super::managed::news)) is told on top of the last look. A [`Site::survey`] always asks
//! for everything.

mod aside;
mod brief;
mod caps;
mod conf;
mod doctor;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hand_in;
mod heard;
pub(in crate::site) mod hostlist;
mod limits;
mod listing;
mod moment;
pub(in crate::site) mod munge;
mod nodes;
mod pools;
mod recall;
mod rhythm;
mod submit;
mod surveys;
mod tasks;
#[cfg(test)]
mod tests;
mod trial;
mod versions;
mod watch;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_io::settings::cluster::{Cluster, Members};

use self::listing::Job;
use self::nodes::Node;
use super::local::records::now;
use super::managed::accounts::account_of;
use super::managed::news::Listeners;
use super::managed::requests::Requests;
use super::managed::spool::Spool;
use super::managed::tickets::{Ended, Ticket, Tickets};
use super::managed::tool::{Answer, Call, Tool, Who};
use super::{
    Aside, Demand, Exit, Finding, Go, Order, PoolSetup, Reading, Site, SiteError, Survey, Tag,
    Turn, Wake,
};

/// What `sbatch` and its like say if the controller did not answer.
const NO_ANSWER: [&str; 9] = [
    "Unable to contact",
    "timed out",
    "Connection refused",
    "connect failure",
    "Communication connection failure",
    "Zero Bytes were transmitted",
    "Unexpected message received",
    "in standby mode",
    "temporarily un",
];

/// Lists all jobs, ended ones among them: newer versions leave those out unless they are asked for.
const WHOLE_LIST: [&str; 3] = ["squeue", "--json", "--states=all"];
/// Lists all nodes, also of hidden partitions.
const NODE_LIST: [&str; 5] = ["scontrol", "--all", "--oneliner", "show", "nodes"];

/// What a Slurm site is made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The site's name, for errors.
    pub name: String,
    /// Where tickets are kept; made if need be.
    pub folder: PathBuf,
    /// How the cluster is reached.
    pub cluster: Cluster,
    /// Its pools, and which nodes each of them has.
    pub pools: Vec<(PoolSetup, Members)>,
}

/// A Slurm site; see the module.
#[derive(Debug)]
pub struct Slurm {
    name: String,
    cluster: Cluster,
    pools: Vec<PoolSetup>,
    members: Vec<Members>,
    tool: Tool,
    tickets: Tickets,
    /// The account that runs our own commands, once it is known.
    own_account: Option<String>,
    /// As they were last listed.
    nodes: Vec<Node>,
    /// Words in Slurm's answers that are not known, each said once in the log.
    unknown: BTreeSet<String>,
    last: surveys::Last,
    rhythm: rhythm::Rhythm,
    known: watch::Known,
    listeners: Listeners,
    caps: limits::Known,
}

impl Slurm {
    /// Opens the site's folder. The cluster itself is not asked.
    ///
    /// # Errors
    /// If the folder cannot be used, another adapter uses it, or a file in it is damaged.
    pub fn open(settings: Settings) -> io::Result<Slurm> {
        let Settings { name, folder, cluster, pools } = settings;
        let tickets = Tickets::open(&folder)?;
        let (pools, members) = pools.into_iter().unzip();
        let tool = Tool::of(&name, &cluster);
        let min = Duration::from_secs(u64::try_from(cluster.survey_every.0).unwrap_or(1));
        Ok(Slurm {
            rhythm: rhythm::Rhythm::of(cluster.requests_at_rest, cluster.requests_busy, min),
            name,
            cluster,
            pools,
            members,
            tool,
            tickets,
            own_account: None,
            nodes: Vec::new(),
            unknown: BTreeSet::new(),
            last: surveys::Last::default(),
            known: watch::Known::default(),
            listeners: Listeners::default(),
            caps: limits::Known::default(),
        })
    }

    fn pool(&self, name: &str) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == name)
    }

    /// Runs a command of ours that must end with 0.
    fn ours(&self, words: &[&str]) -> Result<Answer, SiteError> {
        self.tool.must(&Call::ours(words)).map_err(|wrong| match wrong {
            SiteError::Unknown(why) => SiteError::Unknown(conf::told(why)),
            other => other,
        })
    }

    /// The Unix account of a user; nobody's jobs ever run as ourselves unless that was set up.
    fn account(&mut self, user: &str) -> Result<String, SiteError> {
        let account = account_of(&self.cluster.accounts, &self.name, user);
        let account = account.map_err(SiteError::Refused)?.to_owned();
        if self.cluster.user_command.is_empty() {
            let own = self.own_account()?;
            if own != account {
                let site = &self.name;
                return Err(SiteError::Refused(format!(
                    "jobs at {site} run as {own:?}, and {user:?} has the account {account:?}: \
                     the site's owner must set `user_command`, such as \
                     [\"sudo\", \"-n\", \"-u\", \"{{user}}\"]"
                )));
            }
        }
        Ok(account)
    }

    fn own_account(&mut self) -> Result<String, SiteError> {
        if let Some(own) = &self.own_account {
            return Ok(own.clone());
        }
        let own = self.ours(&["id", "-un"])?.text().trim().to_owned();
        self.own_account = Some(own.clone());
        Ok(own)
    }

    fn spool<'a>(&'a self, ticket: &'a Ticket) -> Spool<'a> {
        Spool { tool: &self.tool, account: &ticket.account, path: &ticket.spool }
    }

    fn jobs(&self) -> Result<Vec<Job>, SiteError> {
        let answer = self.ours(&WHOLE_LIST)?;
        listing::jobs(&answer.out).map_err(|wrong| self.misread("squeue --json", &wrong))
    }

    /// All nodes that the cluster has.
    fn nodes_listed(&self) -> Result<Vec<Node>, SiteError> {
        let answer = self.ours(&NODE_LIST)?;
        nodes::nodes(&answer.text()).map_err(|wrong| self.misread("scontrol show nodes", &wrong))
    }

    /// The same without what [`brief::jobs`] leaves out.
    fn jobs_in_brief(&self) -> Result<Vec<Job>, SiteError> {
        let mark = format!("<{:016x}>", RandomState::new().build_hasher().finish());
        let format = brief::format(&mark);
        let words = ["squeue", "--noheader", "--states=all", "--format", &format];
        let answer = self.ours(&words)?;
        let jobs = brief::jobs(&answer.text(), &mark);
        jobs.map_err(|wrong| self.misread("squeue --format", &wrong))
    }

    fn misread(&self, command: &str, wrong: &str) -> SiteError {
        SiteError::Unknown(format!("site {}: `{command}`: {wrong}", self.name))
    }

    /// The job that Slurm has for the ticket.
    fn find<'j>(jobs: &'j [Job], ticket: &Ticket) -> Option<&'j Job> {
        let all = tasks::by_comment(jobs);
        let own = all.get(ticket.mark().as_str())?;
        own.iter().copied().find(|job| tasks::is_its(job, ticket))
    }

    fn change(&mut self, tag: &Tag, how: impl FnOnce(&mut Ticket)) -> Result<(), SiteError> {
        self.tickets.change(tag, how).map_err(|error| unwritten(&error))
    }

    fn end(&mut self, tag: &Tag, exit: &Exit) -> Result<(), SiteError> {
        let ended = Ended::before_it_began(now(), exit);
        self.change(tag, |ticket| ticket.ended = Some(ended))
    }

    /// A task that was withdrawn, and that Slurm does not know: either it never begins, or it
    /// hears that it is to stop.
    fn withdraw_unseen(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        match self.spool(ticket).claim(tag)? {
            None => self.end(tag, &Exit::Withdrawn),
            Some(trace) if trace.end.is_none() => self.spool(ticket).stop(tag),
            Some(_) => Ok(()),
        }
    }

    /// Stops a job of the ticket's account.
    fn cancel(&self, job: &Job, ticket: &Ticket) -> Result<(), SiteError> {
        let id = job.id.to_string();
        let call = Call::by(Who::User(&ticket.account), &["scancel", &id]);
        self.tool.must(&call).map(|_| ())
    }
}

/// Whether a complaint says that the controller did not answer: it may have done as asked.
fn is_unanswered(complaint: &str) -> bool {
    NO_ANSWER.iter().any(|sign| complaint.contains(sign))
}

fn unwritten(error: &io::Error) -> SiteError {
    SiteError::Unknown(error.to_string())
}

impl Site for Slurm {
    fn pools(&self) -> &[PoolSetup] {
        &self.pools
    }

    fn lists_by(&self) -> Option<&'static str> {
        Some("scontrol show nodes")
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.survey_now()
    }

    fn attend(&mut self, wake: Wake) {
        self.listeners.begin(wake);
    }

    fn expect(&mut self, demand: Demand) {
        self.expect_demand(demand);
    }

    fn due(&self) -> Option<Instant> {
        Some(self.next_turn())
    }

    fn turn(&mut self) -> Turn {
        self.take_turn()
    }

    fn requests(&self) -> Option<Arc<Requests>> {
        Some(Arc::clone(&self.tool.requests))
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        self.take_in(&[order]).pop().unwrap_or(Ok(()))
    }

    fn submit_all(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        self.take_in(orders)
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else {
            return self.tickets.ban(tag).map_err(|error| unwritten(&error));
        };
        if ticket.ended.is_some() || ticket.is_forgotten {
            return Ok(());
        }
        let job = self.job_to_cancel(tag)?;
        // Only from here on: what ended before it was withdrawn ended by itself.
        match job {
            Some(job) if job.waits() || job.holds_nodes() => {
                self.change(tag, |ticket| ticket.is_withdrawn = true)?;
                self.await_word(tag);
                let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
                self.cancel(&job, ticket)
            }
            Some(_) => {
                self.await_word(tag);
                Ok(())
            }
            None => {
                self.change(tag, |ticket| ticket.is_withdrawn = true)?;
                self.await_word(tag);
                self.withdraw_unseen(tag)
            }
        }
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.take_back(tag)
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.forget_all(&[tag]).pop().unwrap_or(Ok(()))
    }

    fn forget_all(&mut self, tags: &[&Tag]) -> Vec<Result<(), SiteError>> {
        let has_ended = |tag: &&Tag| self.tickets.get(tag).is_none_or(|it| it.ended.is_some());
        let known = |tag: &&Tag| self.tickets.get(tag).is_some();
        let over: Vec<Tag> =
            tags.iter().copied().filter(has_ended).filter(known).cloned().collect();
        let forgotten = self.tickets.forget(&over).map_err(|error| unwritten(&error));
        let answer = |tag: &&Tag| match self.tickets.get(tag) {
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
        self.keep_aside(market, wanted)
    }

    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        let waits = |ticket: &&Ticket| ticket.gather.is_some() && ticket.ended.is_none();
        match self.tickets.get(tag).filter(waits) {
            Some(ticket) => self.spool(ticket).go(tag, go),
            None => Ok(()),
        }
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        self.reading(tag, max)?.run()
    }

    fn reading(&mut self, tag: &Tag, max: usize) -> Result<Reading, SiteError> {
        match self.tickets.get(tag).filter(|ticket| !ticket.is_forgotten) {
            Some(ticket) => Ok(self.spool(ticket).reading(&ticket.output, max)),
            None => Err(SiteError::Refused(format!("{tag} is not known here"))),
        }
    }

    fn doctor(&mut self) -> Vec<Finding> {
        self.look_around()
    }

    fn trials(&self) -> Vec<String> {
        self.pools.iter().map(|pool| pool.name.clone()).collect()
    }

    fn trial(&mut self, pool: &str, patience: Duration) -> Finding {
        self.try_pool(pool, patience)
    }
}
