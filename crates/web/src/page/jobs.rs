//! The list of jobs.

use std::cmp::Ordering;

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Job, Phase, State as Books};

use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents;
use crate::extract::Selection;
use crate::views::{self, words as states};

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
    /// One of [`COLUMNS`]; with `-` before it, the other way round.
    #[serde(default)]
    sort: String,
    /// Number of the page, from 1.
    #[serde(default)]
    page: usize,
}

/// What may be shown: value and name.
const SHOWS: [(&str, &str); 6] = [
    ("active", "Active"),
    ("waiting", "Waiting"),
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

    fn ago(&self, at: &i64) -> Safe<String> {
        words::ago(at, &self.shell.now)
    }

    /// How long it has run so far, if it does.
    fn ran(&self, job: &documents::Job) -> Option<Safe<String>> {
        let now = self.shell.now;
        let began = job.started.filter(|start| *start <= now && job.ended.is_none());
        began.map(|start| words::lasting(&start, &now))
    }

    fn is_filtered(&self) -> bool {
        !self.which.find.is_empty() || !self.which.user.is_empty()
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
        self.page = self.page.max(1);
        self
    }

    fn address(&self) -> String {
        let encoded = |text: &str| {
            let encoded = askama::filters::urlencode_strict(text);
            encoded.map(|it| it.to_string()).unwrap_or_default()
        };
        let JobsQuery { show, find, user, sort, page } = self;
        let mut address = format!("/jobs?show={show}&sort={sort}");
        for (name, value) in [("find", find), ("user", user)] {
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
    let found = context.look(move |live| list(live.state(), &caller.actor, &wanted)).await?;
    page(&Jobs { shell, which, found })
}

/// O(n log n) for n jobs.
fn list(state: &Books, actor: &Actor, which: &JobsQuery) -> JobListPage {
    let find = which.find.trim().to_lowercase();
    let fits = |job: &&Job| {
        actor.may_act_for(&job.user)
            && (which.user.is_empty() || which.user == job.user)
            && (find.is_empty()
                || job.submission.name.to_lowercase().contains(&find)
                || job.number.to_string() == find)
    };
    let mut chips: Vec<Chip> =
        SHOWS.iter().map(|(show, name)| Chip { show, name, count: 0 }).collect();
    let mut all: Vec<&Job> = Vec::new();
    for job in state.jobs.values().filter(fits) {
        for chip in chips.iter_mut().filter(|chip| is_shown(state, job, chip.show)) {
            chip.count += 1;
        }
        if is_shown(state, job, &which.show) {
            all.push(job);
        }
    }
    let (column, backwards) = match which.sort.strip_prefix('-') {
        Some(column) => (column, true),
        None => (which.sort.as_str(), false),
    };
    all.sort_by(|a, b| {
        let order = compare(state, column, a, b).then(a.number.cmp(&b.number));
        if backwards { order.reverse() } else { order }
    });
    let first = (which.page - 1).saturating_mul(PAGE);
    let jobs: Vec<_> =
        all.iter().skip(first).take(PAGE).map(|job| views::jobs::line(state, job)).collect();
    let first = if jobs.is_empty() { 0 } else { first + 1 };
    JobListPage { jobs, first, count: all.len(), chips }
}

fn compare(state: &Books, column: &str, a: &Job, b: &Job) -> Ordering {
    let start = |job: &Job| states::started(job).or(job.expected).map_or(i64::MAX, |at| at.0);
    let end = |job: &Job| job.ended().map_or(i64::MAX, |at| at.0);
    match column {
        "name" => a.submission.name.cmp(&b.submission.name),
        "user" => a.user.cmp(&b.user),
        "state" => states::state(state, a).cmp(states::state(state, b)),
        "nodes" => a.nodes().cmp(&b.nodes()),
        "submitted" => a.submitted.cmp(&b.submitted),
        "start" => start(a).cmp(&start(b)),
        "end" => end(a).cmp(&end(b)),
        "credits" => a.paid.cmp(&b.paid),
        _ => a.number.cmp(&b.number),
    }
}

fn is_shown(state: &Books, job: &Job, show: &str) -> bool {
    let over = matches!(job.phase(), Phase::Over(_));
    match show {
        "waiting" => matches!(job.phase(), Phase::Waiting | Phase::Held(_)),
        "running" => job.phase() == Phase::Running,
        "failed" => over && !["COMPLETED", "CANCELLED"].contains(&states::state(state, job)),
        "over" => over,
        "all" => true,
        _ => !over,
    }
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
