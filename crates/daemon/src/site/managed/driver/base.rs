//! What the driver and its manager both use: how the cluster is configured and reached, and what
//! is written down of its tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use tradewind_model::Span;

use tradewind_io::settings::cluster::{Cluster, Members};

use crate::site::clock::now;
use crate::site::limits::Limits;
use crate::site::managed::accounts::account_of;
use crate::site::managed::gate::Gate;
use crate::site::managed::spool::Spool;
use crate::site::managed::stage::StagedFiles;
use crate::site::managed::tickets::{Ticket, Tickets};
use crate::site::managed::tool::{Call, Tool};
use crate::site::notes::Notes;
use crate::site::{PoolSetup, SiteError, Tag};

/// Stands for the account in folders' names.
pub(in crate::site) const USER: &str = "{user}";

/// What a site under a manager is made of.
#[derive(Debug, Clone)]
pub struct ManagedSettings {
    /// The site's name, for errors.
    pub name: String,
    /// Where tickets are kept; made if need be.
    pub folder: PathBuf,
    /// How the cluster is reached.
    pub cluster: Cluster,
    /// Its pools, and which nodes each of them has.
    pub pools: Vec<(PoolSetup, Members)>,
}

/// The term of ownership for which a site is opened.
#[derive(Debug)]
pub struct Ownership {
    /// Whose tasks are at the site.
    pub market: String,
    /// Orders of an earlier one are refused by the site.
    pub epoch: u64,
    /// Whether the [`Fence`](crate::site::fence::Fence) of the site's folder was raised for it. If not,
    /// one daemon at a time has the folder, by its lock.
    pub is_fenced: bool,
    /// Where other daemons of the market find what must be remembered of the site; `None`: in the
    /// site's folder, and nowhere else.
    pub notes: Option<Box<dyn Notes>>,
}

/// See the module.
#[derive(Debug)]
pub(in crate::site) struct Base {
    pub name: String,
    pub cluster: Cluster,
    pub pools: Vec<PoolSetup>,
    /// Which nodes each pool has, in the order of `pools`.
    pub members: Vec<Members>,
    pub tool: Tool,
    pub tickets: Tickets,
    /// The markets whose adapter this is: their tasks and reservations here are ours.
    pub markets: BTreeSet<String>,
    /// The account that runs our own commands, once it is known.
    own_account: OnceLock<String>,
}

impl Base {
    /// Opens the site's folder; the cluster is not asked.
    pub(super) fn open(settings: ManagedSettings, owned: Option<Ownership>) -> io::Result<Base> {
        let ManagedSettings { name, folder, cluster, pools } = settings;
        let gate = |it: &Ownership| Gate::new(&it.market, &name, &cluster.spool, it.epoch);
        let gate = owned.as_ref().map(gate);
        let own = owned.as_ref().map(|it| it.market.clone());
        let epoch = owned.as_ref().filter(|it| it.is_fenced).map(|it| it.epoch);
        let tickets = Tickets::open(&folder, epoch, owned.and_then(|it| it.notes))?;
        let (pools, members) = pools.into_iter().unzip();
        Ok(Base {
            tool: Tool { gate, ..Tool::of(&name, &cluster) },
            markets: tickets.iter().map(|(tag, _)| tag.market.clone()).chain(own).collect(),
            name,
            cluster,
            pools,
            members,
            tickets,
            own_account: OnceLock::new(),
        })
    }

    /// The place of the pool.
    pub(in crate::site) fn pool(&self, name: &str) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == name)
    }

    /// From `SIGTERM` to `SIGKILL`.
    pub(in crate::site) fn grace(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.cluster.grace.0).unwrap_or(0))
    }

    /// The Unix account of a user. No job runs as the account of our own commands unless that was
    /// configured.
    pub(in crate::site) fn account(&self, user: &str) -> Result<String, SiteError> {
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

    pub(in crate::site) fn own_account(&self) -> Result<String, SiteError> {
        if let Some(own) = self.own_account.get() {
            return Ok(own.clone());
        }
        let answer = self.tool.must(&Call::ours(&["id", "-un"]))?;
        Ok(self.own_account.get_or_init(|| answer.text().trim().to_owned()).clone())
    }

    /// What is known of a site's limits without asking its manager: whose accounts its jobs may use.
    pub(in crate::site) fn own_limits(&self) -> Limits {
        let alone = self.cluster.user_command.is_empty();
        Limits {
            accounts: Some(self.cluster.accounts.clone()),
            only: alone.then(|| self.own_account().ok()).flatten(),
            ..Limits::default()
        }
    }

    pub(in crate::site) fn spool<'a>(&'a self, ticket: &'a Ticket) -> Spool<'a> {
        Spool { tool: &self.tool, account: &ticket.account, path: &ticket.spool }
    }

    /// A task's files, with its account and directory and the words of its data.
    pub(super) fn files(
        &self,
        tag: &Tag,
        (account, directory): (String, String),
        data: BTreeMap<String, String>,
    ) -> StagedFiles {
        StagedFiles { tool: self.tool.clone(), account, tag: tag.clone(), directory, data }
    }

    /// The same with time enough for commands that are expected to take so long.
    pub(super) fn patiently(&self, files: StagedFiles, expected: Span) -> StagedFiles {
        let expected = Duration::from_secs(expected.0.unsigned_abs());
        files.within(self.tool.timeout + expected.saturating_mul(2))
    }

    /// An answer that is none.
    pub(in crate::site) fn misread(&self, command: &str, wrong: &str) -> SiteError {
        self.tool.misread(command, wrong)
    }

    /// How far the cluster's clock is ahead of ours, seconds.
    pub(in crate::site) fn clock_apart(&self) -> Result<i64, SiteError> {
        let began = now().0;
        let answer = self.tool.must(&Call::ours(&["date", "+%s"]))?;
        let theirs = answer.text().trim().parse::<i64>();
        let theirs = theirs.map_err(|wrong| self.misread("date +%s", &wrong.to_string()))?;
        Ok(if theirs < began { theirs - began } else { (theirs - now().0).max(0) })
    }

    pub(super) fn change(
        &mut self,
        tag: &Tag,
        how: impl FnOnce(&mut Ticket),
    ) -> Result<(), SiteError> {
        self.tickets.change(tag, how).map_err(|error| unwritten(&error))
    }
}

pub(super) fn unwritten(error: &io::Error) -> SiteError {
    SiteError::Unknown(error.to_string())
}
