//! Records as events, and which users may see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_daemon::engine::{CommittedRecord, EngineStopped};
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::record::{
    AccessRecord, JobRecord, LedgerRecord, MarketRecord, OfferRecord, OutageRecord, PeerRecord,
    SiteRecord, TaskRecord,
};
use tradewind_daemon::live::site_health::{Health, SiteState};
use tradewind_daemon::live::state::{BreachReason, State, Why};
use tradewind_daemon::live::{Live, Record};
use tradewind_daemon::site::Seen;
use tradewind_model::{Command, JobId, Outage, Place, PoolId, Reason, SiteId, Time};

use super::projects;
use crate::context::Context;
use crate::documents::Event;
use crate::feed::{Audience, Entry};
use crate::views::promises::{self, Names};
use crate::views::{failures, words};

/// What must be remembered to describe records: they name jobs and pools by number.
#[derive(Debug)]
pub(super) struct EventEncoder {
    jobs: BTreeMap<u64, KnownJob>,
    /// By site: its name and owner.
    sites: Vec<(String, String)>,
    /// By pool: its name and site.
    pools: Vec<(String, usize)>,
    /// By pool: its nodes.
    sizes: Vec<u32>,
    closures: BTreeMap<Why, Outage>,
    /// By site that fails: its state, as events have it.
    failing: BTreeMap<u32, SiteState>,
}

#[derive(Debug, Clone)]
struct KnownJob {
    user: String,
    name: Arc<str>,
    nodes: u32,
    /// Nodes that its submission asks for.
    asked: u32,
    submitted: Time,
    began: bool,
}

impl EventEncoder {
    /// What is to be known now, and the row up to which that is so.
    pub(super) fn new(context: &Context) -> Result<(EventEncoder, u64), EngineStopped> {
        let gauges = Arc::clone(context.market.gauges());
        context.market.look(move |live: &Live| (EventEncoder::of(live.state()), gauges.last_row()))
    }

    fn of(state: &State) -> EventEncoder {
        let pools = state.market.pools();
        let jobs = state.jobs.values().map(|job| {
            let known = KnownJob {
                user: job.user.clone(),
                name: job.submission.name.as_str().into(),
                nodes: job.nodes(),
                asked: job.submission.tasks,
                submitted: job.submitted,
                began: job.began().is_some(),
            };
            (job.number, known)
        });
        let sites = pools.sites().iter().zip(state.owners());
        let closures = state.outages().iter();
        EventEncoder {
            jobs: jobs.collect(),
            sites: sites.map(|(site, owner)| (site.name.clone(), owner.clone())).collect(),
            pools: pools.iter().map(|(_, it)| (it.name.clone(), it.site.0 as usize)).collect(),
            sizes: pools.iter().map(|(_, it)| it.nodes).collect(),
            failing: (0..pools.sites().len() as u32)
                .map(|site| (site, state.site_health(SiteId(site)).state))
                .filter(|(_, state)| state.is_failure())
                .collect(),
            closures: closures
                .filter_map(|(why, id)| Some((why.clone(), state.market.closure_state(*id)?.0)))
                .collect(),
        }
    }

    fn pool(&self, pool: PoolId) -> String {
        self.pools.get(pool.index()).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn site(&self, site: usize) -> Option<String> {
        self.sites.get(site).map(|(name, _)| name.clone())
    }

    fn site_of(&self, pool: PoolId) -> Option<String> {
        self.pools.get(pool.index()).and_then(|(_, site)| self.site(*site))
    }

    fn place(&self, place: &Place, nodes: u32) -> Vec<String> {
        place.shares(nodes).map(|share| self.pool(share.pool)).collect()
    }

    fn submitted(&mut self, context: &Context, base: Event, job: u64, known: KnownJob) -> Entry {
        context.metrics.submissions.inc();
        let message = Some(known.name.to_string());
        self.jobs.insert(job, known);
        self.of_job(job, Event { kind: "submitted".to_owned(), message, ..base })
    }

    /// The events of a row.
    pub(super) fn tell(&mut self, context: &Context, news: &CommittedRecord) -> Vec<Entry> {
        let base = Event { seq: news.seq, at: news.at.0, ..Event::default() };
        match &news.record {
            Record::Market(MarketRecord::Decided { commands }) => {
                self.decided(context, &base, commands)
            }
            Record::Job(JobRecord::Submitted { job, user, submission, .. }) => {
                let known = KnownJob {
                    user: user.clone(),
                    name: submission.name.as_str().into(),
                    nodes: submission.tasks,
                    asked: submission.tasks,
                    submitted: news.at,
                    began: false,
                };
                vec![self.submitted(context, base, *job, known)]
            }
            Record::Job(JobRecord::Element { job, first, .. }) => {
                let Some(first) = self.jobs.get(first) else { return Vec::new() };
                let known = KnownJob {
                    nodes: first.asked,
                    submitted: news.at,
                    began: false,
                    ..first.clone()
                };
                vec![self.submitted(context, base, *job, known)]
            }
            Record::Job(JobRecord::Joined { job, demand, .. }) => {
                if let Some(known) = self.jobs.get_mut(job) {
                    known.nodes = demand.processors;
                }
                self.job_record(&news.record, &base).into_iter().collect()
            }
            Record::Job(JobRecord::Dropped { job }) => {
                let entry = self.of_job(*job, Event { kind: "dropped".to_owned(), ..base });
                self.jobs.remove(job);
                vec![entry]
            }
            Record::Task(TaskRecord::Saw { tag, seen: Seen::Running { .. } })
                if self.gathers(context, tag.job) =>
            {
                vec![self.of_job(tag.job, Event { kind: "arrived".to_owned(), ..base })]
            }
            Record::Task(TaskRecord::Saw { tag, seen }) => {
                if let Seen::Running { since, .. } | Seen::Ended { since: Some(since), .. } = seen {
                    self.observe(context, tag.job, *since);
                }
                self.saw(tag.job, seen, base).into_iter().collect()
            }
            Record::Job(JobRecord::Launched { job, began }) => {
                let skew = began.iter().max().zip(began.iter().min()).map_or(0, |(b, a)| b - a);
                let skews = match self.gathers(context, *job) {
                    true => &context.metrics.skews,
                    false => &context.metrics.skews_apart,
                };
                skews.observe(skew as f64 / 1_000.0);
                let message = Some(format!("start skew {skew} ms"));
                vec![self.of_job(*job, Event { kind: "launched".to_owned(), message, ..base })]
            }
            Record::Job(JobRecord::BarrierReached { job, at }) => {
                self.observe(context, *job, *at);
                let time = Some(at.0);
                vec![self.of_job(*job, Event { kind: "running".to_owned(), time, ..base })]
            }
            Record::Job(JobRecord::Expected { starts }) => {
                let of = |(job, start): &(u64, Time)| {
                    let time = Some(start.0);
                    self.of_job(*job, Event { kind: "expected".to_owned(), time, ..base.clone() })
                };
                starts.iter().map(of).collect()
            }
            Record::Market(MarketRecord::Gridded { .. })
            | Record::Market(MarketRecord::Created { .. }) => {
                if let Ok((fresh, _)) = EventEncoder::new(context) {
                    *self = fresh;
                }
                Vec::new()
            }
            record => {
                let told = self.job_record(record, &base);
                told.or_else(|| self.public_record(record, &base))
                    .or_else(|| self.other_record(context, record, &base))
                    .into_iter()
                    .collect()
            }
        }
    }

    fn of_job(&self, job: u64, event: Event) -> Entry {
        let user = self.jobs.get(&job).map(|known| known.user.clone());
        let audience = Audience::Users(user.iter().cloned().collect());
        Entry::new(&Event { job: Some(job), user, ..event }, audience)
    }

    /// Whether the job's parts begin together: what sites see of them is no beginning.
    fn gathers(&self, context: &Context, job: u64) -> bool {
        let wide = self.jobs.get(&job).is_some_and(|known| known.nodes > 1);
        let look = move |live: &Live| {
            live.state().jobs.get(&job).is_some_and(|job| job.barrier().is_some())
        };
        wide && context.market.look(look).unwrap_or(false)
    }

    /// How long jobs waited until they ran.
    fn observe(&mut self, context: &Context, job: u64, since: Time) {
        if let Some(known) = self.jobs.get_mut(&job).filter(|known| !known.began) {
            known.began = true;
            context.metrics.waits.observe((since - known.submitted).0.max(0) as f64);
        }
    }

    fn saw(&self, job: u64, seen: &Seen, base: Event) -> Option<Entry> {
        let event = match seen {
            Seen::Waiting => return None,
            Seen::Running { since, .. } => {
                Event { kind: "running".to_owned(), time: Some(since.0), ..base }
            }
            Seen::Ended { exit, .. } => {
                let message = Some(words::exit(exit));
                Event { kind: "part_over".to_owned(), message, ..base }
            }
        };
        Some(self.of_job(job, event))
    }

    fn decided(&self, context: &Context, base: &Event, commands: &[Command]) -> Vec<Entry> {
        let told: Vec<JobId> = commands.iter().filter_map(concerned).collect();
        if told.is_empty() {
            return Vec::new();
        }
        let numbers = context.market.look(move |live| numbers(live.state(), &told));
        let numbers = numbers.unwrap_or_default();
        let entry = |command: &Command| {
            let number = *numbers.get(&concerned(command)?)?;
            let event = match command {
                Command::Start { place, .. } => {
                    let nodes = self.jobs.get(&number).map_or(1, |known| known.nodes);
                    let pools = self.place(place, nodes);
                    Event { kind: "planned".to_owned(), pools, ..base.clone() }
                }
                Command::Refuse { reason, .. } => over(base, "CANCELLED", Some(reason)),
                _ => return None,
            };
            Some(self.of_job(number, event))
        };
        commands.iter().filter_map(entry).collect()
    }

    fn job_record(&self, record: &Record, base: &Event) -> Option<Entry> {
        let event = |kind: &str| Event { kind: kind.to_owned(), ..base.clone() };
        let (job, event) = match record {
            Record::Job(JobRecord::Held { job, hold })
            | Record::Job(JobRecord::Left { job, hold }) => {
                let (reason, message) = words::held(hold);
                let (reason, message) = (Some(reason.to_owned()), Some(message));
                (job, Event { reason, message, ..event("held") })
            }
            Record::Job(JobRecord::Joined { job, .. }) => (job, event("queued")),
            Record::Job(JobRecord::Started { job }) => (job, event("planned")),
            Record::Job(JobRecord::Lined { job, pool, .. }) => {
                let (pools, site) = (vec![self.pool(*pool)], self.site_of(*pool));
                (job, Event { pools, site, ..event("in_line") })
            }
            Record::Job(JobRecord::Interrupted { job, setback }) => {
                let message = Some(words::set_back(setback, |pool| self.pool(pool)));
                (job, Event { message, ..event("set_back") })
            }
            Record::Job(JobRecord::Cancelling { job, by }) => {
                let message = Some(format!("by {by}"));
                (job, Event { message, ..event("cancelling") })
            }
            Record::Job(JobRecord::Requeueing { job, by }) => {
                let message = Some(format!("by {by}"));
                (job, Event { message, ..event("requeueing") })
            }
            Record::Job(JobRecord::NoticeGiven { job, ends, why }) => {
                (job, Event { time: Some(ends.0), message: Some(why.clone()), ..event("notice") })
            }
            Record::Job(JobRecord::Updated { job, by, .. }) => {
                let message = Some(format!("by {by}"));
                (job, Event { message, ..event("updated") })
            }
            Record::Peer(PeerRecord::CameBack { job, why, .. }) => {
                (job, Event { message: Some(why.clone()), ..event("came_back") })
            }
            Record::Job(JobRecord::BarrierTimedOut { job, pool, why }) => {
                let (pools, site) = (vec![self.pool(*pool)], self.site_of(*pool));
                (job, Event { pools, site, message: Some(why.clone()), ..event("slipped") })
            }
            Record::Job(JobRecord::Unkept { job, site, why }) => {
                let site = self.site(*site as usize);
                let message = site.as_ref().map(|site| words::unkept(site, why));
                (job, Event { site, message, ..event("unkept") })
            }
            Record::Offer(OfferRecord::Kept { job, began }) => {
                (job, Event { time: Some(began.0), ..event("kept") })
            }
            Record::Offer(OfferRecord::Breached { job, why }) => {
                let message = Some(self.breach(why));
                (job, Event { message, ..event("breached") })
            }
            Record::Job(JobRecord::Ended { job, finish }) => {
                let state = Some(words::finished(finish).to_owned());
                (job, Event { state, ..event("over") })
            }
            _ => return None,
        };
        Some(self.of_job(*job, event))
    }

    fn breach(&self, why: &BreachReason) -> String {
        let names = Names {
            pool: &|pool| self.pool(pool),
            site: &|site| self.site(site.0 as usize).unwrap_or_default(),
            size: &|pool| self.sizes.get(pool.index()).copied().unwrap_or_default(),
        };
        promises::sentence(&names, why)
    }

    fn public_record(&mut self, record: &Record, base: &Event) -> Option<Entry> {
        let event = |kind: &str| Event { kind: kind.to_owned(), ..base.clone() };
        let event = match record {
            Record::Site(SiteRecord::Priced { pool, price }) => Event {
                pools: vec![self.pool(*pool)],
                site: self.site_of(*pool),
                amount: Some((*price).into()),
                ..event("priced")
            },
            Record::Site(SiteRecord::Tariff { pool, .. }) => {
                let pools = vec![self.pool(*pool)];
                Event { pools, site: self.site_of(*pool), ..event("tariff") }
            }
            Record::Outage(OutageRecord::Announced { what, why }) => {
                self.closures.insert(why.clone(), *what);
                return None;
            }
            Record::Outage(OutageRecord::Closed { why }) => self.missing(why, event("missing"))?,
            Record::Outage(OutageRecord::Reopened { why }) => {
                let event = self.missing(why, event("back"))?;
                self.closures.remove(why);
                Event { time: None, ..event }
            }
            Record::Market(MarketRecord::Began { policy, .. }) => {
                Event { message: Some(policy.clone()), ..event("policy") }
            }
            Record::Site(SiteRecord::Reached { site, away }) => {
                let kind = if away.is_some() { "site_away" } else { "site_back" };
                Event { site: self.site(*site as usize), ..event(kind) }
            }
            Record::Site(SiteRecord::Health { site, health }) => {
                self.site_state(*site, health, event("site_state"))?
            }
            _ => return None,
        };
        Some(Entry::new(&event, Audience::Everyone))
    }

    /// A site fails, fails otherwise, or does not fail any more. That a site is surveyed for the
    /// first time after a start is no event.
    fn site_state(&mut self, site: u32, health: &Health, event: Event) -> Option<Event> {
        let before = match health.state.is_failure() {
            true => self.failing.insert(site, health.state),
            false => Some(self.failing.remove(&site)?),
        };
        // A site that refuses jobs is tried again and again.
        if before == Some(SiteState::Refusing) && health.state == SiteState::Refusing {
            return None;
        }
        let name = self.site(site as usize);
        Some(Event {
            message: name.as_deref().map(|name| failures::sentence(name, health)),
            site: name,
            state: Some(health.state.name().to_owned()),
            time: Some(health.since.0),
            ..event
        })
    }

    fn missing(&self, why: &Why, event: Event) -> Option<Event> {
        let what = self.closures.get(why)?;
        let reason = match why {
            Why::Local(..) | Why::Stray(..) => "local",
            Why::Down(_) => "down",
            Why::Away(_) | Why::AwayLater(_) => "away",
            Why::Withheld(..) => "withheld",
            Why::Reclaimed(..) => "reclaimed",
            Why::Booked(..) => "booked",
            Why::Queued(..) => "queued",
        };
        Some(Event {
            site: self.site_of(what.pool),
            pools: vec![self.pool(what.pool)],
            nodes: Some(what.nodes),
            time: Some(what.until.0),
            reason: Some(reason.to_owned()),
            ..event
        })
    }

    fn other_record(&self, context: &Context, record: &Record, base: &Event) -> Option<Entry> {
        let event = |kind: &str| Event { kind: kind.to_owned(), ..base.clone() };
        let (event, audience) = match record {
            Record::Ledger(LedgerRecord::Moved { from, to, amount, note }) => {
                let message = Some(format!("{from} to {to}: {note}"));
                let audience = [from, to].into_iter().filter_map(|it| self.whose(it)).collect();
                (Event { amount: Some((*amount).into()), message, ..event("moved") }, audience)
            }
            Record::Offer(OfferRecord::Quoted { quote }) => {
                let message = Some(format!("quote {}", quote.number));
                let event = Event { message, amount: Some(quote.cost.into()), ..event("quoted") };
                (event, vec![quote.user.clone()])
            }
            Record::Ledger(LedgerRecord::Project { project, change }) => {
                projects::told(context, project, change, base)?
            }
            Record::Access(AccessRecord::Admitted { token, user, .. }) => {
                let (message, user) = (Some(format!("token {token}")), user.clone());
                (Event { message, user: Some(user.clone()), ..event("admitted") }, vec![user])
            }
            Record::Access(AccessRecord::Expelled { token }) => {
                let message = Some(format!("token {token}"));
                (Event { message, ..event("expelled") }, Vec::new())
            }
            Record::Access(AccessRecord::TokenRotated { token, .. }) => {
                let message = Some(format!("token {token}"));
                (Event { message, ..event("rotated") }, Vec::new())
            }
            Record::Offer(OfferRecord::Taken { quote, job }) => {
                let message = Some(format!("quote {quote}"));
                (Event { message, job: *job, ..event("quote_gone") }, Vec::new())
            }
            _ => return None,
        };
        Some(Entry::new(&event, Audience::Users(audience)))
    }

    /// Whose account it is, if it is a user's.
    fn whose(&self, account: &Account) -> Option<String> {
        match account {
            Account::User(name) => Some(name.clone()),
            Account::Owner(site) => {
                self.sites.iter().find(|(name, _)| name == site).map(|(_, owner)| owner.clone())
            }
            Account::Held(job) => self.jobs.get(job).map(|known| known.user.clone()),
            Account::Bank | Account::Project(_) | Account::Peer(_) => None,
        }
    }
}

fn over(base: &Event, state: &str, reason: Option<&Reason>) -> Event {
    Event {
        kind: "over".to_owned(),
        state: Some(state.to_owned()),
        reason: reason.map(|it| it.code().to_owned()),
        message: reason.map(ToString::to_string),
        ..base.clone()
    }
}

fn concerned(command: &Command) -> Option<JobId> {
    match command {
        Command::Start { job, .. } | Command::Refuse { job, .. } => Some(*job),
        Command::Preempt { .. } | Command::Trade { .. } | Command::Wake { .. } => None,
    }
}

/// The numbers of jobs: also of those that have just been refused, which is linear in all jobs.
fn numbers(state: &State, wanted: &[JobId]) -> BTreeMap<JobId, u64> {
    let found = wanted.iter().filter_map(|id| Some((*id, *state.jobs.numbers.get(id)?)));
    let mut found: BTreeMap<JobId, u64> = found.collect();
    if found.len() < wanted.len() {
        let missing: std::collections::BTreeSet<JobId> =
            wanted.iter().filter(|id| !found.contains_key(id)).copied().collect();
        let jobs = state.jobs.values().filter_map(|job| Some((job.id()?, job.number)));
        found.extend(jobs.filter(|(id, _)| missing.contains(id)));
    }
    found
}
