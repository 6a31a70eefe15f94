//! Reservations: for a task, in the mode that asks for them, and for nodes promised to a job.
//!
//! Making one is an atomic check-and-reserve; by its name it is known when it is asked for again.

use std::collections::BTreeMap;

use tradewind_io::settings::cluster::{Members, Mode};
use tradewind_model::{Span, Time};

use super::{Slurm, hand_in, is_unanswered, listing, moment};
use crate::site::local::records::now;
use crate::site::managed::accounts::account_of;
use crate::site::managed::bundle::near;
use crate::site::managed::tool::Call;
use crate::site::{Aside, Order, PoolSetup, SiteError};

/// What `scontrol` says if there is a reservation of the name already.
const DUPLICATE: &str = "Duplicate reservation name";
/// The name of the reservation that keeps nodes of a pool for a job.
pub(super) fn name(market: &str, job: u64, pool: &str) -> String {
    format!("tw-{}-{job}-{}", word(market), word(pool))
}

/// What a name may be made of.
fn word(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    text.chars().map(plain).collect()
}

/// Whether this is the [`name`] for some job of any market, or of this one.
pub(super) fn is_name(text: &str, market: Option<&str>, pools: &[PoolSetup]) -> bool {
    let is_of = |pool: &PoolSetup| {
        let head = text.strip_suffix(&format!("-{}", word(&pool.name)))?.strip_prefix("tw-")?;
        let (of, job) = head.rsplit_once('-')?;
        job.parse::<u64>().ok().filter(|_| market.is_none_or(|market| word(market) == of))
    };
    pools.iter().any(|pool| is_of(pool).is_some())
}

/// Whether a reservation has not begun, and is for another moment than is wanted now: the system's
/// clock was set since it was made.
fn is_moved(start: Time, wanted: Time, now: Time) -> bool {
    start > now && (start - wanted.max(now)).0.abs() > MOVED.0
}

/// Reservations begin on whole minutes, some of them.
const MOVED: Span = Span(90);

/// A reservation to be made.
struct Wish<'a> {
    name: String,
    account: &'a str,
    nodes: u32,
    from: Time,
    minutes: i64,
}

impl Slurm {
    /// Reserves for an order, unless that was done when its nodes were set aside; the name of the
    /// reservation.
    pub(super) fn reserve_for(
        &self,
        order: &Order,
        pool: usize,
        account: &str,
    ) -> Result<String, SiteError> {
        let name = match order.aside {
            true => name(&order.tag.market, order.tag.job, &order.pool),
            false => order.tag.to_string(),
        };
        let wish = Wish {
            name: name.clone(),
            account,
            nodes: order.nodes,
            // What waits on its nodes for a start that is near must have them by then.
            from: near(order, now()).map_or(order.start, |_| now()),
            minutes: hand_in::minutes(order, now()),
        };
        self.reserve(&wish, pool).map(|()| name)
    }

    /// Makes a reservation unless there is one of the name.
    fn reserve(&self, wish: &Wish<'_>, pool: usize) -> Result<(), SiteError> {
        let none = Members::default();
        let members = self.members.get(pool).unwrap_or(&none);
        // A start that has passed is refused.
        let start = match wish.from > now() {
            true => moment::show(wish.from),
            false => "now".to_owned(),
        };
        let mut words = vec!["scontrol".to_owned(), "create".to_owned(), "reservation".to_owned()];
        let mut add = |name: &str, value: &str| words.push(format!("{name}={value}"));
        add("ReservationName", &wish.name);
        add("StartTime", &start);
        add("Duration", &wish.minutes.max(1).to_string());
        add("Users", wish.account);
        match &members.hosts {
            // Slurm takes either names or a number of its own choice.
            Some(_) => add("Nodes", &self.free_hosts(wish, members)?),
            None => add("NodeCnt", &wish.nodes.to_string()),
        }
        if let Some(partition) = &members.partition {
            add("PartitionName", partition);
        }
        if !members.features.is_empty() && members.hosts.is_none() {
            add("Features", &members.features.join("&"));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let call = Call::ours(&words);
        let answer = self.tool.run(&call)?;
        if answer.is_good() || answer.err.contains(DUPLICATE) || self.has_reservation(&wish.name)? {
            return Ok(());
        }
        let why = self.tool.failure(&call, &answer);
        match is_unanswered(&answer.err) {
            true => Err(SiteError::Unknown(why)),
            false => Err(SiteError::Refused(format!("{}: {why}", answer.complaint()))),
        }
    }

    /// Whether there is a reservation of the name: asked again for the same, Slurm finds its nodes
    /// busy with itself.
    fn has_reservation(&self, name: &str) -> Result<bool, SiteError> {
        let answer = self.ours(&["scontrol", "-o", "show", "reservation"])?;
        let all = listing::reservations(&answer.text())
            .map_err(|wrong| self.misread("scontrol show reservation", &wrong))?;
        Ok(all.iter().any(|it| it.name == name))
    }

    /// Deletes a reservation. One in which a job still runs stays, and ends by itself.
    pub(super) fn give_back(&self, name: &str) {
        let word = format!("ReservationName={name}");
        let deleted = self.ours(&["scontrol", "delete", &word]);
        drop(deleted.inspect_err(|wrong| tracing::debug!(%wrong, "a reservation stays")));
    }

    /// Nodes by name that no job and no reservation has in the wish's time, as Slurm lists it.
    fn free_hosts(&self, wish: &Wish<'_>, members: &Members) -> Result<String, SiteError> {
        let until = wish.from.max(now()) + Span(wish.minutes * 60);
        let answer = self.ours(&["scontrol", "-o", "show", "reservation"])?;
        let reservations = listing::reservations(&answer.text())
            .map_err(|wrong| self.misread("scontrol show reservation", &wrong))?;
        let jobs = self.jobs()?;
        let is_free = |name: &str| {
            let has = |nodes: &[String]| nodes.iter().any(|node| node == name);
            let is_used = jobs.iter().any(|job| {
                let end = if job.end == 0 { i64::MAX } else { job.end };
                job.holds_nodes() && end > wish.from.0 && has(&job.nodes)
            });
            let is_reserved = reservations
                .iter()
                .any(|it| it.start < until && it.end > wish.from && has(&it.nodes));
            !is_used && !is_reserved
        };
        let all = super::pools::belonging(&self.nodes, members).into_iter();
        let free: Vec<&str> = all
            .filter(|node| node.is_up && is_free(&node.name))
            .map(|node| node.name.as_str())
            .take(usize::try_from(wish.nodes).unwrap_or(usize::MAX))
            .collect();
        match free.len() == usize::try_from(wish.nodes).unwrap_or(usize::MAX) {
            true => Ok(free.join(",")),
            false => Err(SiteError::Refused(format!(
                "{} nodes wanted, {} of the pool are free then",
                wish.nodes,
                free.len()
            ))),
        }
    }

    /// Makes the site's reservations be those that are wanted; see [`Site::set_aside`].
    ///
    /// [`Site::set_aside`]: crate::site::Site::set_aside
    pub(super) fn keep_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        if self.cluster.mode != Mode::Reservation {
            return Ok(Vec::new());
        }
        self.list_reservations()?;
        let there = self.known.reservations.clone();
        let names: BTreeMap<String, &Aside> =
            wanted.iter().map(|it| (name(market, it.job, &it.pool), it)).collect();
        for it in there.iter().filter(|it| !names.contains_key(&it.name)) {
            if is_name(&it.name, Some(market), &self.pools) {
                self.give_back(&it.name);
            }
        }
        let mut denied = Vec::new();
        for (name, aside) in names {
            let known = there.iter().find(|it| it.name == name);
            let is_moved = known.is_some_and(|it| is_moved(it.start, aside.from, now()));
            if known.is_some() && !is_moved || aside.until <= now() {
                continue;
            }
            if is_moved {
                self.give_back(&name);
            }
            match self.put_aside(name, aside) {
                Err(SiteError::Refused(why)) => denied.push((aside.job, why)),
                other => other?,
            }
        }
        Ok(denied)
    }

    fn put_aside(&self, name: String, aside: &Aside) -> Result<(), SiteError> {
        let pool = self
            .pool(&aside.pool)
            .ok_or_else(|| SiteError::Refused(format!("there is no pool {:?}", aside.pool)))?;
        let account = account_of(&self.cluster.accounts, &self.name, &aside.user);
        let account = account.map_err(SiteError::Refused)?;
        let from = aside.from.max(now());
        let minutes = ((aside.until - from).0 + 59) / 60;
        self.reserve(&Wish { name, account, nodes: aside.nodes, from: aside.from, minutes }, pool)
    }
}
