//! Reservations: for a task, in the mode that asks for them, and for nodes promised to a job.
//!
//! Making one is an atomic check-and-reserve; by its name it is known when it is asked for again.

use tradewind_io::settings::cluster::Members;
use tradewind_model::{Span, Time};

use super::listing::SlurmJob;
use super::{Controller, all_jobs, all_reservations, is_unanswered, listing, moment, sbatch};
use crate::site::clock::now;
use crate::site::managed::accounts::account_of;
use crate::site::managed::bundle::near;
use crate::site::managed::driver::Base;
use crate::site::managed::driver::manager::Reservation;
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
pub(super) fn is_moved(start: Time, wanted: Time, now: Time) -> bool {
    start > now && (start - wanted.max(now)).0.abs() > MOVED.0
}

/// Reservations begin on whole minutes, some of them.
const MOVED: Span = Span(90);

/// Whether a reservation was made for a task or a promise of ours.
pub(super) fn is_own(base: &Base, name: &str) -> bool {
    let of_a_task = base.tickets.iter().any(|(_, ticket)| ticket.tag == name);
    of_a_task || is_name(name, None, &base.pools)
}

/// A listed one, as the driver knows it.
pub(super) fn of_list(known: &listing::ListedReservation) -> Reservation {
    let listing::ListedReservation { name, start, end, nodes } = known;
    Reservation {
        id: name.clone(),
        name: name.clone(),
        owner: String::new(),
        from: *start,
        until: *end,
        size: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
    }
}

/// A reservation to be made.
struct ReservationWish<'a> {
    name: String,
    account: &'a str,
    nodes: u32,
    from: Time,
    minutes: i64,
}

impl Controller {
    /// Reserves for an order, unless that was done when its nodes were set aside; the name of the
    /// reservation.
    pub(super) fn reserve_for(
        &self,
        base: &Base,
        order: &Order,
        pool: usize,
        account: &str,
    ) -> Result<String, SiteError> {
        let name = match order.aside {
            true => name(&order.tag.market, order.tag.job, &order.pool),
            false => order.tag.to_string(),
        };
        let wish = ReservationWish {
            name: name.clone(),
            account,
            nodes: order.nodes,
            // What waits on its nodes for a start that is near must have them by then.
            from: near(order, now()).map_or(order.start, |_| now()),
            minutes: sbatch::minutes(order, now()),
        };
        self.reserve_as(base, &wish, pool).map(|()| name)
    }

    /// Makes a reservation unless there is one of the name.
    fn reserve_as(
        &self,
        base: &Base,
        wish: &ReservationWish<'_>,
        pool: usize,
    ) -> Result<(), SiteError> {
        let none = Members::default();
        let members = base.members.get(pool).unwrap_or(&none);
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
            Some(_) => add("Nodes", &self.free_hosts(base, wish, members)?),
            None => add("NodeCnt", &wish.nodes.to_string()),
        }
        if let Some(partition) = &members.partition {
            add("PartitionName", partition);
        }
        if !members.features.is_empty() && members.hosts.is_none() {
            add("Features", &members.features.join("&"));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let call = Call::ours(&words).order();
        let answer = base.tool.run(&call)?;
        if answer.is_good() || answer.err.contains(DUPLICATE) || has_reservation(base, &wish.name)?
        {
            return Ok(());
        }
        let why = base.tool.failure(&call, &answer);
        match is_unanswered(&answer.err) {
            true => Err(SiteError::Unknown(why)),
            false => Err(SiteError::Refused(format!("{}: {why}", answer.complaint()))),
        }
    }

    /// Nodes by name that no job and no reservation has in the wish's time, as Slurm lists it.
    fn free_hosts(
        &self,
        base: &Base,
        wish: &ReservationWish<'_>,
        members: &Members,
    ) -> Result<String, SiteError> {
        let until = wish.from.max(now()) + Span(wish.minutes * 60);
        let (reservations, jobs) = (all_reservations(base)?, all_jobs(base)?);
        let is_free = |name: &str| {
            let has = |nodes: &[String]| nodes.iter().any(|node| node == name);
            let is_used = jobs.iter().any(|job: &SlurmJob| {
                let end = if job.end == 0 { i64::MAX } else { job.end };
                job.has_nodes() && end > wish.from.0 && has(&job.nodes)
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

    /// Keeps nodes free for a job.
    pub(super) fn put_aside(
        &self,
        base: &Base,
        name: &str,
        aside: &Aside,
    ) -> Result<(), SiteError> {
        let account = account_of(&base.cluster.accounts, &base.name, &aside.user);
        let account = account.map_err(SiteError::Refused)?;
        let from = aside.from.max(now());
        let wish = ReservationWish {
            name: name.to_owned(),
            account,
            nodes: aside.nodes,
            from: aside.from,
            minutes: ((aside.until - from).0 + 59) / 60,
        };
        self.reserve_as(base, &wish, base.pool(&aside.pool).unwrap_or(usize::MAX))
    }
}

/// Whether there is a reservation of the name: asked again for the same, Slurm finds its nodes busy
/// with itself.
fn has_reservation(base: &Base, name: &str) -> Result<bool, SiteError> {
    Ok(all_reservations(base)?.iter().any(|it| it.name == name))
}

/// Deletes a reservation. One in which a job still runs stays, and ends by itself.
pub(super) fn give_back(base: &Base, name: &str) {
    let word = format!("ReservationName={name}");
    let deleted = base.tool.must(&Call::ours(&["scontrol", "delete", &word]).order());
    drop(deleted.inspect_err(|wrong| tracing::debug!(%wrong, "a reservation stays")));
}
