//! The list of jobs.

use std::cmp::Ordering;

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Job, Phase};
use tradewind_model::Span;

use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents;
use crate::extract::Selection;
use crate::views::status::{Group, Moment, group};
use crate::views::{self, jobs::title, words as states};

/// The value of `ended` for jobs that ended in the last day.
const DAY: &str = "day";
/// That day.
const LATELY: Span = Span(86_400);
/// Jobs on a page.
const PAGE: usize = 100;

/// Which jobs, in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct JobsQuery {
    /// One of [`SHOWS`].
    #[serde(default)]
    show: String,
    /// A part of the name, or a number.
    #[serde(default)]
    find: String,
    /// Only those of this user.
    #[serde(default)]
    user: String,
    /// `day`: only those that ended in the last day.
    #[serde(default)]
    ended: String,
    /// One of [`COLUMNS`]; with `-` before it, the other way round.
    #[serde(default)]
    sort: String,
    /// Number of the page, from 1.
    #[serde(default)]
    page: usize,
}

/// What may be shown: value and name.
const SHOWS: [(&str, &str); 8] = [
    ("active", "Active"),
    ("waiting", "Waiting"),
    ("held", "Held"),
    ("booked", "Booked"),
    ("running", "Running"),
    ("failed", "Failed"),
    ("over", "Over"),
    ("all", "All"),
];

/// Columns that the list may be sorted by: value and name.
const COLUMNS: [(&str, &str); 9] = [
    ("job", "Job"),
    ("name", "Name"),
    ("user", "User"),
    ("state", "State"),
    ("nodes", "Nodes"),
    ("submitted", "Submitted"),
    ("start", "Start"),
    ("end", "End"),
    ("credits", "Credits"),
];

/// What is shown, how many of it there are, and whether that is what is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chip {
    show: &'static str,
    name: &'static str,
    count: usize,
}

impl Chip {
    fn grouped(&self) -> String {
        words::grouped(self.count)
    }
}

/// A page of the list.
#[derive(Debug)]
struct JobListPage {
    jobs: Vec<documents::Job>,
    /// The first one's place, from 1; 0 of none.
    first: usize,
    /// Jobs that fit, in all.
    count: usize,
    chips: Vec<Chip>,
}

#[derive(Template)]
#[template(path = "page/jobs.html")]
struct Jobs {
    shell: Shell,
    which: JobsQuery,
    found: JobListPage,
}

impl Jobs {
    /// The address of the same list, but for one thing.
    fn with(&self, change: impl FnOnce(&mut JobsQuery)) -> String {
        let mut which = self.which.clone();
        which.page = 1;
        change(&mut which);
        which.address()
    }

    fn shown(&self, show: &str) -> String {
        self.with(|it| show.clone_into(&mut it.show))
    }

    fn first_page(&self) -> String {
        self.with(|_| {})
    }

    fn previous(&self) -> Option<String> {
        (self.which.page > 1).then(|| self.with(|it| it.page = self.which.page - 1))
    }

    fn next(&self) -> Option<String> {
        (self.last() < self.found.count).then(|| self.with(|it| it.page = self.which.page + 1))
    }

    fn is_number(&self, column: &str) -> bool {
        ["nodes", "credits"].contains(&column)
    }

    /// The arrow in the column's head.
    fn arrow(&self, column: &str) -> &'static str {
        match self.direction(column) {
            "" => "",
            direction if direction.contains("asc") => " ▲",
            _ => " ▼",
        }
    }

    fn all(&self) -> String {
        words::grouped(self.found.count)
    }

    /// Sorted by the column; once more: the other way round.
    fn sorted(&self, column: &str) -> String {
        let again = self.which.sort == column;
        self.with(|it| it.sort = if again { format!("-{column}") } else { column.to_owned() })
    }

    /// For the column's head.
    fn direction(&self, column: &str) -> &'static str {
        let sort = self.which.sort.as_str();
        match sort.strip_prefix('-') {
            Some(of) if of == column => " aria-sort=\"descending\"",
            None if sort == column => " aria-sort=\"ascending\"",
            _ => "",
        }
    }

    fn last(&self) -> usize {
        (self.found.first + self.found.jobs.len()).saturating_sub(1)
    }

    fn coming(&self, at: &i64) -> Safe<String> {
        words::coming(at, &self.shell.now)
    }

    /// How long it has run so far, if it does.
    fn ran(&self, job: &documents::Job) -> Option<Safe<String>> {
        let now = self.shell.now;
        let began = job.started.filter(|start| *start <= now && job.ended.is_none());
        began.map(|start| words::lasting(&start, &now))
    }

    /// Only jobs that ended in the last day.
    fn is_recent(&self) -> bool {
        self.which.ended == DAY
    }

    fn is_filtered(&self) -> bool {
        !self.which.find.is_empty() || !self.which.user.is_empty() || self.is_recent()
    }
}

impl JobsQuery {
    fn clean(mut self) -> JobsQuery {
        if !SHOWS.iter().any(|(value, _)| *value == self.show) {
            "active".clone_into(&mut self.show);
        }
        let column = self.sort.strip_prefix('-').unwrap_or(&self.sort);
        if !COLUMNS.iter().any(|(value, _)| *value == column) {
            "-job".clone_into(&mut self.sort);
        }
        if self.ended != DAY {
            self.ended.clear();
        }
        self.page = self.page.max(1);
        self
    }

    fn address(&self) -> String {
        let encoded = |text: &str| {
            let encoded = askama::filters::urlencode_strict(text);
            encoded.map(|it| it.to_string()).unwrap_or_default()
        };
        let JobsQuery { show, find, user, ended, sort, page } = self;
        let mut address = format!("/jobs?show={show}&sort={sort}");
        for (name, value) in [("find", find), ("user", user), ("ended", ended)] {
            if !value.is_empty() {
                address += &format!("&{name}={}", encoded(value));
            }
        }
        if *page > 1 {
            address += &format!("&page={page}");
        }
        address
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<JobsQuery>,
) -> PageResult {
    let which = which.clean();
    let shell = Shell::new(&context, &caller, "Jobs").await?;
    let wanted = which.clone();
    let found = context.see(move |_, moment| list(moment, &caller.actor, &wanted)).await?;
    page(&Jobs { shell, which, found })
}

/// O(n log n) for n jobs.
fn list(moment: &Moment<'_>, actor: &Actor, which: &JobsQuery) -> JobListPage {
    let state = moment.state;
    let find = which.find.trim().to_lowercase();
    let fits = |job: &&Job| {
        actor.may_act_for(&job.user)
            && (which.user.is_empty() || which.user == job.user)
            && (which.ended.is_empty() || ended_lately(moment, job))
            && (find.is_empty()
                || title(job).to_lowercase().contains(&find)
                || job.number.to_string() == find)
    };
    let mut chips: Vec<Chip> =
        SHOWS.iter().map(|(show, name)| Chip { show, name, count: 0 }).collect();
    let mut all: Vec<&Job> = Vec::new();
    for job in state.jobs.values().filter(fits) {
        for chip in chips.iter_mut().filter(|chip| is_shown(moment, job, chip.show)) {
            chip.count += 1;
        }
        if is_shown(moment, job, &which.show) {
            all.push(job);
        }
    }
    let (column, backwards) = match which.sort.strip_prefix('-') {
        Some(column) => (column, true),
        None => (which.sort.as_str(), false),
    };
    all.sort_by(|a, b| {
        let order = compare(moment, column, a, b).then(a.number.cmp(&b.number));
        if backwards { order.reverse() } else { order }
    });
    let first = (which.page - 1).saturating_mul(PAGE);
    let jobs: Vec<_> =
        all.iter().skip(first).take(PAGE).map(|job| views::jobs::line(moment, job)).collect();
    let first = if jobs.is_empty() { 0 } else { first + 1 };
    JobListPage { jobs, first, count: all.len(), chips }
}

fn compare(moment: &Moment<'_>, column: &str, a: &Job, b: &Job) -> Ordering {
    let status = |job: &Job| moment.status(job);
    let start = |job: &Job| {
        let status = status(job);
        let expected = status.expected_start.map(|it| it.at);
        status.started.map(|at| at.0).or(expected).unwrap_or(i64::MAX)
    };
    let end = |job: &Job| job.ended().map_or(i64::MAX, |at| at.0);
    match column {
        "name" => a.submission.name.cmp(&b.submission.name).then(a.array.cmp(&b.array)),
        "user" => a.user.cmp(&b.user),
        "state" => status(a).state.cmp(status(b).state),
        "nodes" => a.nodes().cmp(&b.nodes()),
        "submitted" => a.submitted.cmp(&b.submitted),
        "start" => start(a).cmp(&start(b)),
        "end" => end(a).cmp(&end(b)),
        "credits" => status(a).cost_so_far.cmp(&status(b).cost_so_far),
        _ => a.number.cmp(&b.number),
    }
}

/// Whether the list that is called `show` has the job.
fn is_shown(moment: &Moment<'_>, job: &Job, show: &str) -> bool {
    let group = group(moment.state, job);
    match show {
        "waiting" => group == Group::Waiting,
        "held" => group == Group::Held,
        "booked" => group == Group::Booked,
        "running" => group == Group::Running,
        "failed" => match job.phase() {
            Phase::Over(finish) => !["COMPLETED", "CANCELLED"].contains(&states::finished(finish)),
            _ => false,
        },
        "over" => group == Group::Over,
        "all" => true,
        _ => group != Group::Over,
    }
}

fn ended_lately(moment: &Moment<'_>, job: &Job) -> bool {
    job.ended().is_some_and(|at| at >= moment.now - LATELY)
}

/// The jobs of the list `show` that the reader may see; those that failed, of the last day.
pub(super) fn shown<'a>(
    moment: &'a Moment<'a>,
    actor: &'a Actor,
    show: &'a str,
) -> impl Iterator<Item = &'a Job> {
    let jobs = moment.state.jobs.values().filter(|job| actor.may_act_for(&job.user));
    jobs.filter(move |job| {
        is_shown(moment, job, show) && (show != "failed" || ended_lately(moment, job))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_clean_and_read_back() {
        let odd = JobsQuery { show: "x".to_owned(), sort: "-x".to_owned(), ..JobsQuery::default() };
        let clean = odd.clean();
        assert_eq!(clean.address(), "/jobs?show=active&sort=-job");
        let find = "a b&c".to_owned();
        let other = JobsQuery { find, page: 3, user: "ana".to_owned(), ..clean };
        assert_eq!(other.address(), "/jobs?show=active&sort=-job&find=a%20b%26c&user=ana&page=3");
    }
}
