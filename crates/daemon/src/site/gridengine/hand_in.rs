//! Handing tasks in.

use super::replies::Job;
use super::{GridEngine, Mode, USER, now, unknown, words};
use crate::site::local::sheet;
use crate::site::managed::bundle::{TaskScript, Paths, ahead, near};
use crate::site::managed::stage::Stage;
use crate::site::managed::tickets::{Ticket, stamp};
use crate::site::{Order, SiteError, Tag};

impl GridEngine {
    /// What can be said against an order without asking the cluster; the place of its pool.
    fn check(&self, order: &Order) -> Result<usize, String> {
        let place = self.pool(&order.pool);
        let place = place.ok_or_else(|| format!("there is no pool {:?}", order.pool))?;
        let max = self.setups.get(place).map_or(0, |setup| setup.nodes);
        if order.nodes == 0 || order.nodes > max {
            return Err(format!("{} nodes: pool {:?} has {max}", order.nodes, order.pool));
        }
        if let Some(name) = words::unmet(order) {
            return Err(format!("{name:?} means nothing to Grid Engine: leave it out"));
        }
        // The longest name of a folder; the manager takes any.
        if words::job_name(&order.tag).len() > 200 {
            return Err("the market's name is too long".to_owned());
        }
        sheet::refusal(order).map_or(Ok(place), Err)
    }

    /// The ticket of a task that is about to be handed in.
    fn ticket(&self, order: &Order, account: &str, paths: &Paths) -> Ticket {
        Ticket {
            tag: order.tag.to_string(),
            account: account.to_owned(),
            pool: order.pool.clone(),
            nodes: order.nodes,
            handed_in: stamp(),
            start: order.start.0,
            limit: order.limit.0,
            gather: order.gather.map(|span| span.0),
            directory: paths.directory.clone(),
            output: paths.output.clone(),
            spool: self.settings.spool.replace(USER, account),
            is_held: false,
            is_preemptible: order.is_preemptible,
            was_held: false,
            is_taken: false,
            is_withdrawn: false,
            is_recalled: false,
            ended: None,
            is_forgotten: false,
        }
    }

    /// Hands it in. Before it does so again it looks whether the first time went well.
    pub(super) fn hand_in(&mut self, order: &Order) -> Result<(), SiteError> {
        let place = self.check(order).map_err(SiteError::Refused)?;
        let account = self.account(&order.user)?;
        let paths = Paths::of(order, &self.settings.directory.replace(USER, &account));
        if let Some(known) = self.tickets.get(&order.tag) {
            if self.is_there(&order.tag, known)? {
                return self.change(&order.tag, |ticket| ticket.is_taken = true);
            }
        } else {
            let ticket = self.ticket(order, &account, &paths);
            self.tickets.put(vec![(order.tag.clone(), ticket)]).map_err(unknown)?;
            self.markets.insert(order.tag.market.clone());
        }
        let slots = self.unit(place)?;
        let sent = self
            .stage(&order.tag, &self.settings.stage_in)
            .and_then(|()| self.send(order, (place, slots), &account, &paths));
        match sent {
            Ok(()) => self.change(&order.tag, |ticket| ticket.is_taken = true),
            Err(SiteError::Refused(why)) => {
                self.tickets.remove(std::slice::from_ref(&order.tag)).map_err(unknown)?;
                Err(SiteError::Refused(why))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a submission that was not answered has arrived.
    fn is_there(&self, tag: &Tag, ticket: &Ticket) -> Result<bool, SiteError> {
        let name = words::job_name(tag);
        let is_its = |job: &Job| job.name == name && job.owner == ticket.account;
        if self.cluster().status()?.jobs.iter().any(is_its) {
            return Ok(true);
        }
        Ok(!self.spool(ticket).look(std::slice::from_ref(tag))?.is_empty())
    }

    fn send(
        &self,
        order: &Order,
        (place, slots): (usize, u32),
        account: &str,
        paths: &Paths,
    ) -> Result<(), SiteError> {
        let Some(pool) = self.settings.pools.get(place) else { return Ok(()) };
        if order.nodes.saturating_mul(slots) > 1 && pool.environment.is_none() {
            let wanted = "its owner must add `options = { pe = \"…\" }`, a parallel environment";
            return Err(SiteError::Refused(format!("more than one slot: {wanted}")));
        }
        let reserved = match self.settings.mode {
            Mode::Reservation => self.reservation_for(order, place, slots, account)?,
            Mode::Begin => None,
        };
        let mut limit = words::hard_limit(order, self.settings.grace);
        if let Some(reserved) = &reserved {
            // A job that might outlive its reservation is refused.
            limit = limit.min(reserved.until - reserved.from);
        }
        let words = words::qsub(&words::Submission {
            order,
            pool,
            slots,
            limit,
            begin: ahead(order, now()),
            reservation: reserved.as_ref().map(|one| one.id.as_str()),
            options: &self.settings.options,
        });
        let bundle = TaskScript {
            order,
            variables: &order.variables,
            paths,
            spool: &self.settings.spool.replace(USER, account),
            bells: "",
            start: near(order, now()),
            grace: self.settings.grace,
            words: &words::WORDS,
        };
        let script = bundle.script().replacen('\n', &format!("\n{}", words::CODES), 1);
        self.cluster().submit(account, words, &script)
    }

    /// Brings a task's files, or takes them away.
    pub(super) fn stage(&self, tag: &Tag, commands: &[Vec<String>]) -> Result<(), SiteError> {
        let Some(ticket) = self.tickets.get(tag) else { return Ok(()) };
        let (account, directory) = (ticket.account.as_str(), ticket.directory.as_str());
        Stage { tool: &self.settings.tool, account, tag, directory }.run(commands)
    }
}
