//! How a task is handed in.

use std::time::Duration;

use tradewind_io::settings::cluster::{Members, Mode};

use super::hand_in::{self, Begin, Terms};
use super::{Slurm, is_unanswered, pools, unwritten};
use crate::site::local::records::now;
use crate::site::local::sheet::refusal;
use crate::site::managed::bundle::{Bundle, Paths, Words};
use crate::site::managed::stage::Stage;
use crate::site::managed::tickets::{Ticket, stamp};
use crate::site::managed::tool::{Call, Who};
use crate::site::{Order, SiteError, Tag};

/// The largest script that Slurm takes, bytes, unless it is told otherwise.
const LARGEST: usize = 4_000_000;

/// How Slurm calls things on a node.
const WORDS: Words = Words {
    id: "echo \"$SLURM_JOB_ID\"",
    nodes: "{ scontrol show hostnames \"$SLURM_JOB_NODELIST\" 2>/dev/null || \
            echo \"$SLURM_JOB_NODELIST\"; }",
};

impl Slurm {
    /// Hands a task in unless it was.
    pub(super) fn take_in(&mut self, order: &Order) -> Result<(), SiteError> {
        let tag = &order.tag;
        if self.tickets.is_gone(tag) {
            return Ok(());
        }
        if let Some(ticket) = self.tickets.get(tag) {
            let is_over = ticket.is_taken || ticket.is_withdrawn || ticket.ended.is_some();
            if is_over || Slurm::find(&self.jobs()?, ticket).is_some() {
                return self.change(tag, |ticket| ticket.is_taken = true);
            }
            // It was never heard of: it is handed in again, and its folder keeps it from running
            // twice should the first submission turn up after all.
        }
        let pool = self.check(order)?;
        let account = self.account(&order.user)?;
        let home = self.cluster.directory.replace("{user}", &account);
        let paths = Paths::of(order, &home);
        let ticket = self.ticket(order, account, &paths);
        // Slurm sets what is called after it; the array is the market's.
        let is_ours = |name: &str| !name.starts_with("SLURM_") || name.starts_with("SLURM_ARRAY_");
        let variables = order.variables.clone().into_iter();
        let variables = variables.filter(|(name, _)| is_ours(name)).collect();
        let bundle = Bundle {
            order,
            variables: &variables,
            paths: &paths,
            spool: &ticket.spool,
            grace: Duration::from_secs(u64::try_from(self.cluster.grace.0).unwrap_or(0)),
            words: &WORDS,
        };
        let script = bundle.script();
        if script.len() > LARGEST {
            let why = format!("the script is too long: packed, {} bytes", script.len());
            return Err(SiteError::Refused(format!("{why}; Slurm takes {LARGEST}")));
        }
        self.tickets.put(tag, ticket).map_err(|error| unwritten(&error))?;
        let done = self.hand_in(order, pool, &script);
        if matches!(done, Err(SiteError::Refused(_))) {
            self.tickets.remove(tag).map_err(|error| unwritten(&error))?;
        }
        done
    }

    /// What can be said against an order without asking Slurm.
    fn check(&self, order: &Order) -> Result<usize, SiteError> {
        let refuse = |why: String| Err(SiteError::Refused(why));
        let Some(pool) = self.pool(&order.pool) else {
            return refuse(format!("there is no pool {:?}", order.pool));
        };
        let most = self.pools.get(pool).map_or(0, |pool| pool.nodes);
        if order.nodes == 0 || order.nodes > most {
            return refuse(format!("{} nodes: pool {:?} has {most}", order.nodes, order.pool));
        }
        match refusal(order) {
            Some(why) => refuse(why),
            None => Ok(pool),
        }
    }

    fn ticket(&self, order: &Order, account: String, paths: &Paths) -> Ticket {
        let spool = self.cluster.spool.replace("{user}", &account);
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
            spool,
            account,
            is_held: false,
            is_taken: false,
            is_withdrawn: false,
            ended: None,
            is_forgotten: false,
        }
    }

    /// Hands a task in whose ticket is written. What is refused leaves no ticket.
    fn hand_in(&mut self, order: &Order, pool: usize, script: &str) -> Result<(), SiteError> {
        self.stage(&order.tag, &self.cluster.stage_in)?;
        let begin = self.begin(order, pool)?;
        // Before Slurm hears of it: whoever finds the job knows that it is to be released.
        self.change(&order.tag, |ticket| ticket.is_held = begin == Begin::Held)?;
        let none = Members::default();
        let members = self.members.get(pool).unwrap_or(&none);
        let excluded = self.excluded(members);
        let terms = Terms {
            members,
            excluded: &excluded,
            unit: self.cluster.unit,
            options: &self.cluster.options,
            begin: &begin,
        };
        let Some(ticket) = self.tickets.get(&order.tag) else { return Ok(()) };
        let account = ticket.account.clone();
        let words = hand_in::words(order, &ticket.mark(), &terms);
        let call = Call { who: Who::User(&account), words, input: script.as_bytes() };
        let answer = self.tool.run(&call).map_err(SiteError::from)?;
        if answer.is_good() {
            return self.change(&order.tag, |ticket| ticket.is_taken = true);
        }
        let why = self.tool.failure(&call, &answer);
        if is_unanswered(&answer.err) || answer.code == Some(255) {
            return Err(SiteError::Unknown(why));
        }
        if let Begin::Within(name) = &begin
            && !order.aside
        {
            self.give_back(name);
        }
        Err(SiteError::Refused(why))
    }

    /// Brings a task's files, or takes them away.
    pub(super) fn stage(&self, tag: &Tag, commands: &[Vec<String>]) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        let (account, directory) = (ticket.account.as_str(), ticket.directory.as_str());
        Stage { tool: &self.tool, account, tag, directory }.run(commands)
    }

    /// Nodes of the pool's partition that are not its own: only where hosts are named.
    fn excluded(&self, members: &Members) -> Vec<String> {
        if members.hosts.is_none() {
            return Vec::new();
        }
        let whole = Members { hosts: None, ..members.clone() };
        let own: Vec<&str> =
            pools::belonging(&self.nodes, members).iter().map(|node| node.name.as_str()).collect();
        let all = pools::belonging(&self.nodes, &whole).into_iter();
        all.map(|node| node.name.clone()).filter(|name| !own.contains(&name.as_str())).collect()
    }

    /// How the order's start is kept.
    fn begin(&mut self, order: &Order, pool: usize) -> Result<Begin, SiteError> {
        let ahead = hand_in::ahead(order, now());
        match (self.cluster.mode, ahead) {
            (Mode::Reservation, _) => self.reserve_for(order, pool).map(Begin::Within),
            (_, None) => Ok(Begin::Now),
            (Mode::HoldRelease, Some(_)) => Ok(Begin::Held),
            (Mode::Begin, Some(seconds)) => Ok(Begin::After(seconds)),
        }
    }
}
