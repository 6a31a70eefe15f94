//! Jobs of others that wait at a site, as its own manager orders them: what a look ahead needs.
//!
//! Plain data. It comes from people and from managers, so everything is bounded: how many jobs,
//! how long each may run, how many tasks an array has, and how many jobs one waits for.

mod circle;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

use super::Tag;

/// Waiting jobs that a survey lists, at most, by rank. The others are only counted.
pub const MAX_QUEUED: usize = 2_000;
/// The longest limit that a waiting job is listed with: one without a limit, or with an absurd one,
/// is expected to run for thirty days.
pub const MAX_LIMIT: Span = Span(30 * 24 * 3_600);
/// Tasks of one array that still wait, at most; more are counted as so many.
pub const MAX_TASKS: u32 = 100_000;
/// Jobs that one waits for, at most; more are left out.
pub const MAX_DEPENDENCIES: usize = 16;
/// Bytes of a name that a manager gives, at most.
pub const MAX_NAME: usize = 200;

/// A job of others that waits: of the owner, or of any other user who submits to the site itself.
/// Tasks of this market are never among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedJob {
    /// The site's own name of it, such as `1234`; unique at the site. An array is one entry.
    pub name: String,
    /// The pools that it may use, by their place in the site's setup, in ascending order and never
    /// empty. It uses one of them.
    pub pools: Vec<usize>,
    /// Nodes of a pool that it needs at least, as the market counts them (a node, so many
    /// processors, or an accelerator); at least 1.
    pub nodes: u32,
    /// Processors of all its nodes together; 0: not known.
    pub processors: u32,
    /// How long it may run, from 1 second to [`MAX_LIMIT`].
    pub limit: Span,
    /// Its limit was longer, or there is none: it may run longer than `limit`.
    pub is_capped: bool,
    /// Its place in the site's order, from 0: the manager looks at it before those of higher rank.
    pub rank: u32,
    /// The number by which the manager orders jobs (higher first), if it shows it.
    pub priority: Option<u64>,
    /// Whose it is, if that is shown.
    pub user: Option<String>,
    /// Which account or project pays, if that is shown.
    pub account: Option<String>,
    /// When it was submitted; 0: not known.
    pub submitted: Time,
    /// It does not start before; `None`: it may start at once.
    pub earliest: Option<Time>,
    /// What it waits for besides nodes.
    pub blocked: Blocked,
    /// How many such jobs it stands for: the tasks of its array that still wait; from 1 to
    /// [`MAX_TASKS`].
    pub tasks: u32,
    /// How many tasks of its array may run at the same time; `None`: all.
    pub at_once: Option<u32>,
    /// When the manager itself expects it to start (an array: its first task), if it says so. It is
    /// usually known for the first jobs of the queue only, and changes with every job that ends early.
    pub expected: Option<Time>,
    /// Whether the manager keeps nodes free for it when its turn comes; if not, jobs behind it start
    /// as long as it does not fit, however wide it is. Only where [`QueueRule::on_request`].
    pub reserves: bool,
}

impl QueuedJob {
    /// One that waits for nothing but nodes of one pool, and of which nothing else is known. Its
    /// limit is capped.
    pub fn of(name: &str, pool: usize, nodes: u32, limit: Span) -> QueuedJob {
        let (limit, is_capped) = limit_of(Some(limit));
        QueuedJob {
            name: name_of(name),
            pools: vec![pool],
            nodes: nodes.max(1),
            processors: 0,
            limit,
            is_capped,
            rank: 0,
            priority: None,
            user: None,
            account: None,
            submitted: Time(0),
            earliest: None,
            blocked: Blocked::Eligible,
            tasks: 1,
            at_once: None,
            expected: None,
            reserves: true,
        }
    }
}

/// A job of others that is over, as far as the manager still lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedJob {
    /// As it was submitted.
    pub job: QueuedJob,
    /// When it had its nodes.
    pub start: Time,
    /// Until when.
    pub end: Time,
}

/// Jobs of others that ended in a time of which the manager lists them no more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgottenJobs {
    /// Those that the accounting knows.
    pub found: Vec<EndedJob>,
    /// Seconds of that time of which it is not known which jobs there were.
    pub unwatched: Span,
}

/// More jobs that are over are not listed: the last ones count.
pub const MAX_ENDED: usize = 10_000;

/// What a waiting job waits for besides nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocked {
    /// Nothing: it starts when its turn comes and nodes are free.
    Eligible,
    /// Other jobs must end first: their names at the site, as far as they are shown, at most
    /// [`MAX_DEPENDENCIES`]. They may be over, unknown, or wait for this job in turn: never follow
    /// them without a bound.
    Dependency(Vec<String>),
    /// A person holds it.
    Held,
    /// It asked not to start before this moment.
    BeginTime(Time),
    /// A limit of its user, account or QOS, in the manager's word.
    Limit(String),
    /// It runs inside this reservation, whose nodes are counted as taken already.
    Reservation(String),
    /// Another reason, in the manager's word.
    Other(String),
}

impl Blocked {
    /// Whether it starts by itself once nodes are free (perhaps not before some moment).
    pub fn is_eligible(&self) -> bool {
        matches!(self, Blocked::Eligible | Blocked::BeginTime(_))
    }
}

/// How a site's own scheduler goes through its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueRule {
    /// So many waiting jobs get a planned start, which jobs behind them may not delay; 0: only
    /// the order counts, and no job starts before another one that waits for the same nodes.
    pub depth: u32,
    /// Such planned starts are given on request only ([`QueuedJob::reserves`]): to the first `depth`
    /// jobs that ask. All others start in order where they fit, also with a depth of 0.
    pub on_request: bool,
    /// How far ahead it plans.
    pub window: Span,
    /// How often it plans; starts may be so much later than nodes are free.
    pub interval: Span,
    /// Whether priorities may change while jobs wait (age, fair share), so that ranks may, too.
    pub changes_order: bool,
}

/// Where a task of the market waits in its site's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPlace {
    /// How many entries of others the manager looks at before it.
    pub rank: u32,
    /// The number by which the manager orders jobs (higher first), if it shows it.
    pub priority: Option<u64>,
}

/// By what a manager orders a waiting job: its group (the lowest first), priority and submission.
pub(in crate::site) type OrderKey = (u32, Option<u64>, Time);

/// All waiting jobs of a site.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitingJobs {
    /// In order of rank, at most [`MAX_QUEUED`].
    pub jobs: Vec<QueuedJob>,
    /// How many entries were left out.
    pub beyond: u32,
    /// What is not known of it, a sentence each, without a period.
    pub notes: Vec<String>,
    /// Tasks of the market that wait among them.
    pub own: BTreeMap<Tag, OwnPlace>,
}

impl WaitingJobs {
    /// The same, of a manager that orders jobs by priority, with places for tasks of the market. Of
    /// equals, jobs of others come first.
    pub(in crate::site) fn with_own(
        jobs: Vec<(u32, QueuedJob)>,
        own: Vec<(Tag, OrderKey)>,
    ) -> WaitingJobs {
        let order = |(group, priority, at): OrderKey| (group, Reverse(priority), at);
        let mut keys: Vec<_> =
            jobs.iter().map(|(group, job)| order((*group, job.priority, job.submitted))).collect();
        keys.sort_unstable();
        let place = |(tag, key): (Tag, OrderKey)| {
            let before = keys.partition_point(|it| *it <= order(key));
            let rank = u32::try_from(before).unwrap_or(u32::MAX);
            (tag, OwnPlace { rank, priority: key.1 })
        };
        let own = own.into_iter().map(place).collect();
        WaitingJobs { own, ..WaitingJobs::by_priority(jobs) }
    }

    /// Puts jobs in order and keeps the first: by `order` (the lowest first), then by priority (the
    /// highest first), by submission, and as they come. Ranks are set here.
    pub fn of(jobs: Vec<(u32, QueuedJob)>) -> WaitingJobs {
        let mut jobs = jobs;
        jobs.sort_by(|(one, a), (other, b)| {
            one.cmp(other).then(b.priority.cmp(&a.priority)).then(a.submitted.cmp(&b.submitted))
        });
        let beyond = u32::try_from(jobs.len().saturating_sub(MAX_QUEUED)).unwrap_or(u32::MAX);
        let ranked = (0..).zip(jobs).take(MAX_QUEUED);
        let jobs: Vec<QueuedJob> =
            ranked.map(|(rank, (_, job))| QueuedJob { rank, ..job }).collect();
        let mut queue = WaitingJobs { jobs, beyond, ..WaitingJobs::default() };
        queue.note();
        queue
    }

    /// The same, of a manager that orders jobs by priority: says so if some priorities are not shown.
    pub fn by_priority(jobs: Vec<(u32, QueuedJob)>) -> WaitingJobs {
        let mut queue = WaitingJobs::of(jobs);
        let hidden = queue.jobs.iter().filter(|job| job.priority.is_none()).count();
        if hidden > 0 {
            queue.notes.push(format!(
                "the priorities of {hidden} waiting jobs are not shown: those jobs come last, in the \
                 order of their submission"
            ));
        }
        queue
    }

    /// Says what is not known of it.
    fn note(&mut self) {
        let capped = self.jobs.iter().filter(|job| job.is_capped).count();
        if capped > 0 {
            let days = MAX_LIMIT.0 / (24 * 3_600);
            self.notes.push(format!(
                "{capped} waiting jobs have no time limit, or one of more than {days} days: each is \
                 expected to run for {days} days"
            ));
        }
        let circle = circle::count(&self.jobs);
        if circle > 0 {
            self.notes.push(format!(
                "{circle} waiting jobs wait for each other, and never start as they are"
            ));
        }
        if self.beyond > 0 {
            let (beyond, listed) = (self.beyond, self.jobs.len());
            self.notes.push(format!(
                "only the first {listed} waiting jobs are looked at; {beyond} are left out"
            ));
        }
    }
}

/// Tasks of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::site) struct ArrayTasks {
    /// How many wait, from 1 to [`MAX_TASKS`].
    pub waiting: u32,
    /// How many may run at the same time; `None`: all.
    pub at_once: Option<u32>,
    /// The list was cut: there are more.
    pub is_cut: bool,
}

/// How managers list the tasks of an array that wait: `1-1000%7`, `0-10:2`, `1,3,7-19,...`. One task if it is no array.
pub(in crate::site) fn tasks(text: &str) -> ArrayTasks {
    let (list, at_once) = match text.split_once('%') {
        Some((list, at_once)) => (list, at_once.trim().parse().ok().filter(|it| *it > 0)),
        None => (text, None),
    };
    let counts = list.split(',').map(str::trim).filter_map(count);
    let waiting = counts.fold(0_u32, u32::saturating_add).clamp(1, MAX_TASKS);
    ArrayTasks { waiting, at_once, is_cut: list.contains("...") }
}

/// Tasks of `7`, `7-19` or `0-10:2`.
fn count(part: &str) -> Option<u32> {
    let (range, step) = match part.split_once(':') {
        Some((range, step)) => (range, step.parse::<u32>().ok()?.max(1)),
        None => (part, 1),
    };
    let (low, high) = range.split_once('-').unwrap_or((range, range));
    let (low, high) = (low.parse::<u32>().ok()?, high.parse::<u32>().ok()?);
    Some((high.checked_sub(low)? / step).saturating_add(1))
}

/// A limit as it is listed, and whether it was capped; `None`: there is no limit, or it is not known.
pub fn limit_of(limit: Option<Span>) -> (Span, bool) {
    match limit {
        Some(limit) if limit <= MAX_LIMIT => (limit.max(Span(1)), false),
        _ => (MAX_LIMIT, true),
    }
}

/// A name as long as names may be.
pub fn name_of(text: &str) -> String {
    let end =
        text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= MAX_NAME);
    text.get(..end.last().unwrap_or(0)).unwrap_or_default().to_owned()
}

/// A name that may be missing: managers write `(null)` and `N/A`.
pub fn shown(text: &str) -> Option<String> {
    let text = text.trim();
    let is_missing = ["", "(null)", "N/A", "None assigned"].contains(&text);
    (!is_missing).then(|| name_of(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: usize, priority: Option<u64>, submitted: i64) -> QueuedJob {
        let submitted = Time(submitted);
        QueuedJob { priority, submitted, ..QueuedJob::of(&name.to_string(), 0, 1, Span(60)) }
    }

    fn names(queue: &WaitingJobs) -> Vec<&str> {
        queue.jobs.iter().map(|job| job.name.as_str()).collect()
    }

    #[test]
    fn jobs_stand_in_the_order_of_their_manager() {
        let jobs = [(1, 3, Some(9), 5), (0, 4, Some(1), 7), (0, 5, None, 1), (0, 6, Some(1), 6)];
        let jobs = jobs.map(|(order, name, priority, at)| (order, job(name, priority, at)));
        let queue = WaitingJobs::by_priority(jobs.to_vec());
        assert_eq!(names(&queue), ["6", "4", "5", "3"]);
        assert_eq!(queue.jobs.iter().map(|job| job.rank).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(queue.notes.iter().any(|note| note.contains("priorities of 1 ")), "{queue:?}");
    }

    #[test]
    fn tasks_of_the_market_have_their_places() {
        let jobs = [(0, 3, Some(9), 5), (0, 4, Some(4), 7), (1, 5, Some(8), 1), (0, 6, None, 6)];
        let jobs = jobs.map(|(order, name, priority, at)| (order, job(name, priority, at)));
        let tag = |job| Tag { market: "m".to_owned(), job, attempt: 0, part: 0 };
        let own = [
            (tag(1), (0, Some(9), Time(4))),
            (tag(2), (0, Some(9), Time(5))),
            (tag(3), (0, Some(4), Time(6))),
            (tag(4), (0, None, Time(9))),
            (tag(5), (1, Some(99), Time(0))),
        ];
        let queue = WaitingJobs::with_own(jobs.to_vec(), own.to_vec());
        assert_eq!(names(&queue), ["3", "4", "6", "5"]);
        let ranks: Vec<u32> = queue.own.values().map(|place| place.rank).collect();
        assert_eq!(ranks, [0, 1, 1, 3, 3]);
        assert_eq!(queue.own[&tag(3)].priority, Some(4));
    }

    #[test]
    fn a_long_queue_is_cut_and_counted() {
        let jobs = (0..MAX_QUEUED + 30).map(|name| (0, job(name, Some(1), 0))).collect();
        let queue = WaitingJobs::of(jobs);
        assert_eq!((queue.jobs.len(), queue.beyond), (MAX_QUEUED, 30));
        assert_eq!(queue.jobs.last().map(|job| job.name.as_str()), Some("1999"), "the first stay");
        assert!(
            queue.notes.iter().any(|note| note.contains("30 are left out")),
            "{:?}",
            queue.notes
        );
    }

    #[test]
    fn tasks_of_arrays_are_counted() {
        let read = |text| {
            let ArrayTasks { waiting, at_once, is_cut } = tasks(text);
            (waiting, at_once, is_cut)
        };
        assert_eq!(read("1-1000%7"), (1_000, Some(7), false));
        assert_eq!(read("0-10:2"), (6, None, false));
        assert_eq!(read("1,3,7-19,22,..."), (16, None, true));
        assert_eq!(read("0-4000000000"), (MAX_TASKS, None, false));
        assert_eq!(read("0-4294967295,0-4294967295"), (MAX_TASKS, None, false));
        for none in ["N/A", "", "(null)", "9-1", "x-y%z", "-", ":", "%"] {
            assert_eq!(read(none), (1, None, false), "{none}");
        }
    }

    #[test]
    fn limits_and_names_are_bounded() {
        let year = Span(366 * 24 * 3_600);
        assert_eq!(limit_of(Some(Span(90))), (Span(90), false));
        assert_eq!(limit_of(Some(Span(0))), (Span(1), false));
        assert_eq!([limit_of(Some(year)), limit_of(None)], [(MAX_LIMIT, true); 2]);
        assert_eq!(name_of(&"ä".repeat(300)).len(), MAX_NAME);
        assert_eq!(
            (shown("ana"), shown("(null)"), shown(" N/A")),
            (Some("ana".into()), None, None)
        );
    }
}
