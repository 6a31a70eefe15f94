//! A site's turns: what tasks say is heard at once, and the manager is asked when something is due or
//! was not heard of.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tradewind_model::{Span, Time};

use super::Driver;
use super::heard::{Word, word};
use super::judge::{by_mark, find};
use super::manager::Manager;
use super::rhythm::Need;
use crate::site::clock::now;
use crate::site::managed::news::NewsPlace;
use crate::site::managed::spool::{Spool, Trace};
use crate::site::managed::tickets::{Ticket, TicketEnd};
use crate::site::{Demand, Seen, SiteError, Survey, Tag, Turn};

/// A task that is due begins within this time, or the manager is asked why it did not.
const LATE: Span = Span(2);
/// The manager knows of an end, or of a withdrawal, so long after it.
const KNOWN: Span = Span(1);
/// A task that should be over is asked after so much later.
const OVERDUE: Span = Span(5);
/// Folders of tasks whose bells nobody hears are looked into so often.
const UNHEARD: Duration = Duration::from_secs(2);

/// What is known of the cluster between two looks.
#[derive(Debug)]
pub(super) struct KnownCluster<J> {
    /// As they were last listed, and when that was asked for.
    pub jobs: Vec<J>,
    pub listed: Time,
    /// What was last said of the site, with all that was heard since.
    pub survey: Option<Survey>,
    /// The last look was not answered.
    pub is_away: bool,
    /// Tasks of which the manager must say something, and from when on it can.
    pub awaited: BTreeMap<Tag, Time>,
    /// Tasks that have their nodes and begin later.
    early: BTreeMap<Tag, (String, Trace)>,
    /// When folders of a place were last looked into because nobody hears their bells.
    looked: BTreeMap<NewsPlace, Instant>,
    /// A list that was made for a withdrawal, and when.
    pub extra: Option<(Instant, Vec<J>)>,
    /// Since when tasks that run are told to stop.
    pub stopping: BTreeMap<Tag, Instant>,
    pub demand: Demand,
    /// When the last turn was.
    turned: Time,
}

impl<J> Default for KnownCluster<J> {
    fn default() -> KnownCluster<J> {
        KnownCluster {
            jobs: Vec::new(),
            listed: Time::default(),
            survey: None,
            is_away: false,
            awaited: BTreeMap::new(),
            early: BTreeMap::new(),
            looked: BTreeMap::new(),
            extra: None,
            stopping: BTreeMap::new(),
            demand: Demand::default(),
            turned: Time::default(),
        }
    }
}

impl<J> KnownCluster<J> {
    /// What was last said of a task.
    pub(super) fn seen(&self, tag: &Tag) -> Option<&Seen> {
        self.survey.as_ref()?.tasks.get(tag)
    }
}

fn place(tag: &Tag, ticket: &Ticket) -> NewsPlace {
    NewsPlace {
        account: ticket.account.clone(),
        spool: ticket.spool.clone(),
        market: tag.market.clone(),
    }
}

fn is_open(ticket: &Ticket) -> bool {
    ticket.ended.is_none() && !ticket.is_forgotten
}

/// When the task is to have its nodes.
fn expected(ticket: &Ticket, now: Time) -> Time {
    start(ticket, now).max(handed_in(ticket, now))
}

/// Its start; long ago if it was meant by a clock that has been set back since.
fn start(ticket: &Ticket, now: Time) -> Time {
    Time(ticket.start_at(now).max(0))
}

/// When it was submitted; long ago if that lies ahead, because the clock has been set back since.
fn handed_in(ticket: &Ticket, now: Time) -> Time {
    let at = Time(ticket.handed_in / 1_000_000);
    if at > now { Time(0) } else { at }
}

impl<M: Manager> Driver<M> {
    /// See [`Site::turn`](crate::site::Site::turn).
    pub(super) fn take_turn(&mut self) -> Turn {
        self.listen();
        self.known.turned = now();
        let heard = self.hear().unwrap_or_else(|wrong| {
            tracing::warn!(%wrong, "to be tried again");
            false
        });
        let heard = heard | self.caps.forget_faded();
        self.release_listed();
        let need = self.need(now()).0;
        let at = Instant::now();
        if self.rhythm.next(need).is_none_or(|next| next <= at) {
            if self.is_late() {
                // Its nodes may be gone, or reserved by others.
                self.rhythm.distrust();
            }
            let parts = self.rhythm.choice(need, at);
            return Turn::Looked(self.look(&parts));
        }
        match heard && !self.known.is_away {
            true => self.picture().map_or(Turn::Nothing, Turn::Heard),
            false => Turn::Nothing,
        }
    }

    /// When the next turn is wanted.
    pub(super) fn next_turn(&self) -> Instant {
        let (now, at) = (now(), Instant::now());
        let (need, later) = self.need(now);
        let mut next = self.rhythm.next(need).unwrap_or(at);
        next = self.caps.faded().map_or(next, |faded| next.min(faded));
        let after = |time: Time| {
            let seconds = u64::try_from(time.0 - now.0).unwrap_or(0);
            at + Duration::from_secs(seconds)
        };
        for (time, need) in later {
            let budget = need.and_then(|need| self.rhythm.next(need)).unwrap_or(at);
            next = next.min(after(time).max(budget));
        }
        match self.unheard().next() {
            Some((_, since)) => next.min(since.map_or(at, |since| since + UNHEARD)),
            None => next,
        }
    }

    /// Sees to it that all tasks' bells are heard.
    pub(super) fn listen(&mut self) {
        if !self.listeners.is_on() {
            return;
        }
        let open = self.base.tickets.iter().filter(|(_, ticket)| is_open(ticket));
        let places: BTreeSet<NewsPlace> = open.map(|(tag, ticket)| place(tag, ticket)).collect();
        places.iter().for_each(|place| self.listeners.listen(&self.base.tool, place));
        self.listeners.sweep();
        self.known.looked.retain(|place, _| places.contains(place));
    }

    /// Places of open tasks whose bells nobody hears, and when their folders were last looked into.
    fn unheard(&self) -> impl Iterator<Item = (NewsPlace, Option<Instant>)> {
        let open = self.base.tickets.iter().filter(|(_, ticket)| is_open(ticket));
        let all: BTreeSet<NewsPlace> = open.map(|(tag, ticket)| place(tag, ticket)).collect();
        let is_on = self.listeners.is_on();
        let deaf = all.into_iter().filter(move |place| is_on && !self.listeners.hears(place));
        deaf.map(|place| {
            let looked = self.known.looked.get(&place).copied();
            (place, looked)
        })
    }

    /// Takes in what tasks have said; whether it is new.
    fn hear(&mut self) -> Result<bool, SiteError> {
        let mut news = self.listeners.take();
        let is_due = |at: &Option<Instant>| at.is_none_or(|at| at.elapsed() >= UNHEARD);
        let unheard: Vec<NewsPlace> =
            self.unheard().filter(|(_, at)| is_due(at)).map(|(place, _)| place).collect();
        for place in unheard {
            self.known.looked.insert(place.clone(), Instant::now());
            news.begun.insert(place);
        }
        for place in &news.begun {
            let of_it = |(tag, ticket): &(&Tag, &Ticket)| {
                is_open(ticket)
                    && (&ticket.account, &ticket.spool) == (&place.account, &place.spool)
                    && tag.market == place.market
            };
            let tags: Vec<Tag> =
                self.base.tickets.iter().filter(of_it).map(|(tag, _)| tag.clone()).collect();
            let spool =
                Spool { tool: &self.base.tool, account: &place.account, path: &place.spool };
            if tags.is_empty() {
                continue;
            }
            // One account that cannot be used is no reason to lose what others said.
            match spool.look(&tags) {
                Ok(found) => {
                    let found = found.into_iter();
                    news.traces.extend(found.map(|(tag, it)| (tag, (place.account.clone(), it))));
                }
                Err(wrong) => tracing::debug!(%wrong, "to be tried again"),
            }
        }
        let at = now().0;
        let is_time =
            |tag: &Tag| self.base.tickets.get(tag).is_none_or(|it| it.start_at(Time(at)) <= at);
        let due: Vec<Tag> = self.known.early.keys().filter(|tag| is_time(tag)).cloned().collect();
        for tag in due {
            if let Some(early) = self.known.early.remove(&tag) {
                news.traces.entry(tag).or_insert(early);
            }
        }
        self.take_words(news.traces)
    }

    /// Writes ends down, and changes the picture.
    fn take_words(&mut self, traces: BTreeMap<Tag, (String, Trace)>) -> Result<bool, SiteError> {
        let (mut ends, mut seen, mut began) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let at = now();
        let marked = by_mark(&self.known.jobs);
        let mut early = BTreeMap::new();
        for (tag, (account, trace)) in traces {
            let own = |ticket: &&Ticket| is_open(ticket) && ticket.account == account;
            let Some(ticket) = self.base.tickets.get(&tag).filter(own) else { continue };
            let trace = self.with_nodes(&tag, trace);
            let job = find::<M>(&marked, ticket);
            began.extend(trace.began.map(|began| (tag.clone(), began)));
            match word::<M>(ticket, job, self.known.seen(&tag), &trace, at) {
                Word::Is(Seen::Ended { since, at, exit }) => {
                    let nodes = trace.here.map(|here| here.nodes).unwrap_or_default();
                    let since = since.map(|since| since.0);
                    let ended = TicketEnd { since, at: at.0, began: trace.began, exit, nodes };
                    self.caps.fade(account);
                    ends.insert(tag, ended);
                }
                Word::Is(other) => drop(seen.insert(tag, other)),
                Word::AskManager => drop(self.known.awaited.entry(tag).or_insert(at + KNOWN)),
                Word::NotYet => drop(early.insert(tag, (account, trace))),
                Word::Nothing => {}
            }
        }
        self.known.early.extend(early);
        self.write_ends(&ends)?;
        ends.keys().for_each(|tag| self.take_files_away(tag));
        let is_new = !(ends.is_empty() && seen.is_empty() && began.is_empty());
        if let Some(survey) = &mut self.known.survey {
            survey.tasks.extend(seen);
            survey.began.extend(began);
        }
        Ok(is_new)
    }

    /// All that is known, in the picture of the last look.
    pub(super) fn picture(&mut self) -> Option<Survey> {
        let mut survey = self.known.survey.take()?;
        survey.lingering = self.caps.lingering();
        let is_known = |tag: &Tag| match self.base.tickets.get(tag) {
            Some(ticket) => !ticket.is_forgotten,
            None => !self.base.tickets.is_gone(tag),
        };
        survey.tasks.retain(|tag, _| is_known(tag));
        survey.began.retain(|tag, _| is_known(tag));
        survey.placed.retain(|tag, _| is_known(tag));
        // Those that were submitted since.
        let open = self.base.tickets.iter().filter(|(_, ticket)| is_open(ticket));
        for (tag, _) in open.filter(|(_, ticket)| ticket.is_taken) {
            survey.tasks.entry(tag.clone()).or_insert(Seen::Waiting);
        }
        self.tell_ends(&mut survey);
        self.known.survey = Some(survey.clone());
        Some(survey)
    }

    /// A task that was heard of keeps the beginning that was told then: the manager's may be a second
    /// before it.
    pub(super) fn steady(&self, tag: &Tag, ticket: &Ticket, seen: Seen) -> Seen {
        let Some(Seen::Running { since: first, .. }) = self.known.seen(tag) else { return seen };
        match seen {
            _ if ticket.waits_there() || !M::KEEPS_ENDED => seen,
            Seen::Running { nodes, .. } => Seen::Running { since: *first, nodes },
            Seen::Ended { since: Some(_), at, exit } => {
                Seen::Ended { since: Some(*first), at: at.max(*first), exit }
            }
            other => other,
        }
    }

    /// Releases held jobs whose time has come, by their numbers of the last list.
    fn release_listed(&mut self) {
        if self.known.is_away || !self.base.tickets.iter().any(|(_, it)| it.is_held && is_open(it))
        {
            return;
        }
        let jobs = std::mem::take(&mut self.known.jobs);
        let released = self.release(&by_mark(&jobs));
        if let Err(wrong) = released {
            tracing::warn!(%wrong, "to be tried again");
        }
        self.known.jobs = jobs;
    }

    /// How much depends on the next look now, and what comes later: when, and with which need; with
    /// none if the controller's lists do not matter for it.
    fn need(&self, now: Time) -> (Need, Vec<(Time, Option<Need>)>) {
        let mut need = match self.known.demand {
            Demand::Waiting => Need::Demand,
            Demand::Calm => Need::Rest,
        };
        let mut later = Vec::new();
        for (tag, ticket) in self.base.tickets.iter().filter(|(_, ticket)| is_open(ticket)) {
            if ticket.is_held || self.known.early.contains_key(tag) {
                later.push((start(ticket, now), None));
            }
            let Some(from) = self.asked_after(tag, ticket, now) else { continue };
            match (from <= now, self.known.listed < from) {
                (true, true) => need = Need::Urgent,
                (true, false) => need = need.max(Need::Demand),
                (false, _) => later.push((from, Some(Need::Urgent))),
            }
        }
        later.retain(|(time, need)| *time > if need.is_some() { now } else { self.known.turned });
        later.sort_unstable_by_key(|(time, _)| *time);
        later.truncate(8);
        (need, later)
    }

    /// Whether a task of ours should have its nodes by now, and has not.
    fn is_late(&self) -> bool {
        let now = now();
        self.base.tickets.iter().filter(|(_, it)| is_open(it) && it.is_taken).any(
            |(tag, ticket)| {
                let has_begun = matches!(self.known.seen(tag), Some(Seen::Running { .. }));
                let is_early = self.known.early.contains_key(tag);
                !has_begun && !is_early && expected(ticket, now) + LATE <= now
            },
        )
    }

    /// From when on the manager's word on a task is wanted; `None`: it does not matter.
    fn asked_after(&self, tag: &Tag, ticket: &Ticket, now: Time) -> Option<Time> {
        if let Some(from) = self.known.awaited.get(tag) {
            return Some(*from);
        }
        if ticket.is_withdrawn || !ticket.is_taken {
            return Some(Time(ticket.handed_in / 1_000_000) + KNOWN);
        }
        match self.known.seen(tag) {
            Some(Seen::Running { since, .. }) => {
                let grace = Span(self.base.cluster.grace.0 + ticket.gather.unwrap_or(0));
                Some(*since + Span(ticket.limit) + grace + OVERDUE)
            }
            _ if self.known.early.contains_key(tag) => None,
            // It is not listed yet, and is to be released by its number.
            _ if ticket.is_held => {
                let handed_in = handed_in(ticket, now) + KNOWN;
                let is_listed = self.known.listed >= handed_in;
                Some(if is_listed { start(ticket, now) + LATE } else { handed_in })
            }
            _ => Some(expected(ticket, now) + LATE),
        }
    }

    /// The manager's word on the task is wanted soon. A look that is due for it already is not put off.
    pub(super) fn await_word(&mut self, tag: &Tag) {
        let listed = self.known.listed;
        if self.known.awaited.get(tag).is_none_or(|from| *from <= listed) {
            self.known.awaited.insert(tag.clone(), now() + KNOWN);
        }
    }
}
