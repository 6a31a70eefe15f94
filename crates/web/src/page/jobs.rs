//! The list of jobs.

use std::collections::BTreeMap;

use askama::Template;
use askama::filters::Safe;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Job, Phase};
use tradewind_model::Span;

use super::bulk::BulkResult;
use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{self, Credits};
use crate::extract::Selection;
use crate::views::status::{Moment, StatusGroup, group};
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
    /// Only those with nodes of this site.
    #[serde(default)]
    site: String,
    /// Only those that this project pays.
    #[serde(default)]
    project: String,
    /// `hour`, `day` or `week`: only those that were submitted since then.
    #[serde(default)]
    since: String,
    /// Only those of the array with this first job.
    #[serde(default)]
    array: String,
    /// `each`: the jobs of an array are not folded into a row.
    #[serde(default)]
    arrays: String,
    /// What was done to several jobs.
    #[serde(default)]
    did: String,
    /// One of [`COLUMNS`]; with `-` before it, the other way round.
    #[serde(default)]
    sort: String,
    /// Number of the page, from 1.
    #[serde(default)]
    page: usize,
}

/// The value of `arrays` for a row for each job.
const EACH: &str = "each";
/// Values of `since`, their names, and seconds.
const SINCE: [(&str, &str, i64); 4] = [
    ("", "any time", 0),
    ("hour", "the last hour", 3_600),
    ("day", "the last day", 86_400),
    ("week", "the last week", 604_800),
];

/// What may be shown: value and name.
const SHOWS: [(&str, &str); 10] = [
    ("active", "Active"),
    ("waiting", "Waiting"),
    ("held", "Held"),
    ("booked", "Booked"),
    ("running", "Running"),
    ("unknown", "Unknown"),
    ("away", "At peers"),
    ("failed", "Failed"),
    ("over", "Finished"),
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
    /// Something is wrong with such jobs.
    fn is_warning(&self) -> bool {
        ["failed", "unknown"].contains(&self.show)
    }

    fn is_alarm(&self) -> bool {
        self.is_warning() && self.count > 0
    }

    /// Lists of jobs at peers are there if there is any, or if one is looked at.
    fn is_offered(&self, shown: &str) -> bool {
        !["unknown", "away"].contains(&self.show) || self.count > 0 || self.show == shown
    }

    fn grouped(&self) -> String {
        words::grouped(self.count)
    }
}

/// A row of the list: a job, or several jobs of an array.
#[derive(Debug)]
struct ListRow {
    /// The job; of an array, the first one in this order.
    job: documents::Job,
    folded: Option<Folded>,
}

/// The jobs of an array in one row.
#[derive(Debug)]
struct Folded {
    /// The array's first job.
    first: u64,
    /// As in `sweep[0-499]`.
    title: String,
    /// How many are in each state.
    states: Vec<(&'static str, usize)>,
    nodes: u32,
    cost: Credits,
    is_over: bool,
}

/// A page of the list.
#[derive(Debug)]
struct JobListPage {
    jobs: Vec<ListRow>,
    /// The first one's place, from 1; 0 of none.
    first: usize,
    /// Rows, in all.
    rows: usize,
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
    sites: Vec<String>,
    did: Option<BulkResult>,
}

impl Jobs {
    /// The address of the same list, but for one thing.
    fn with(&self, change: impl FnOnce(&mut JobsQuery)) -> String {
        let mut which = self.which.clone();
        which.page = 1;
        which.did.clear();
        change(&mut which);
        which.address()
    }

    fn shown(&self, show: &str) -> String {
        self.with(|it| show.clone_into(&mut it.show))
    }

    /// This very list.
    fn here(&self) -> String {
        let page = self.which.page;
        self.with(|it| it.page = page)
    }

    /// The jobs of an array, each in a row.
    fn unfolded(&self, first: &u64) -> String {
        self.with(|it| it.array = first.to_string())
    }

    /// Whether rows stand for several jobs.
    fn is_folded(&self) -> bool {
        self.found.rows != self.found.count
    }

    /// Whether there is a row whose jobs can be changed.
    fn has_open(&self) -> bool {
        let is_open = |row: &ListRow| match &row.folded {
            Some(array) => !array.is_over,
            None => row.job.ended.is_none(),
        };
        self.found.jobs.iter().any(is_open)
    }

    /// How many rows, in words.
    fn rows(&self) -> String {
        match self.found.rows {
            1 => "1 row".to_owned(),
            rows => format!("{} rows", words::grouped(rows)),
        }
    }

    fn first_page(&self) -> String {
        self.with(|_| {})
    }

    fn previous(&self) -> Option<String> {
        (self.which.page > 1).then(|| self.with(|it| it.page = self.which.page - 1))
    }

    fn next(&self) -> Option<String> {
        (self.last() < self.found.rows).then(|| self.with(|it| it.page = self.which.page + 1))
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
        match self.found.count {
            1 => "1 job".to_owned(),
            count => format!("{} jobs", words::grouped(count)),
        }
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

    /// Nothing was paid for it so far, and nothing is held.
    fn costs_nothing(&self, job: &documents::Job) -> bool {
        job.ended.is_none() && job.cost_so_far.0 == 0 && job.cost_at_most.is_none()
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

    /// Whether the filters that are folded say anything.
    fn is_filtered_more(&self) -> bool {
        let JobsQuery { user, site, project, since, arrays, .. } = &self.which;
        self.is_recent() || [user, site, project, since, arrays].iter().any(|it| !it.is_empty())
    }

    fn is_filtered(&self) -> bool {
        let JobsQuery { find, user, site, project, since, array, .. } = &self.which;
        let said = [find, user, site, project, since, array];
        self.is_recent() || said.iter().any(|it| !it.is_empty())
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
        if !SINCE.iter().any(|(value, ..)| *value == self.since) {
            self.since.clear();
        }
        self.page = self.page.max(1);
        self
    }

    fn address(&self) -> String {
        let encoded = |text: &str| {
            let encoded = askama::filters::urlencode_strict(text);
            encoded.map(|it| it.to_string()).unwrap_or_default()
        };
        let JobsQuery { show, find, user, ended, sort, page, .. } = self;
        let mut address = format!("/jobs?show={show}&sort={sort}");
        let said = [
            ("find", find),
            ("user", user),
            ("ended", ended),
            ("site", &self.site),
            ("project", &self.project),
            ("since", &self.since),
            ("array", &self.array),
            ("arrays", &self.arrays),
        ];
        for (name, value) in said {
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
    let look = context.see(move |_, moment| {
        let sites = moment.state.market.pools().sites().iter().map(|site| site.name.clone());
        let peers = moment.state.peers.directory.values().map(|peer| format!("@{}", peer.name));
        (list(moment, &caller.actor, &wanted), sites.chain(peers).collect())
    });
    let (found, sites) = look.await?;
    let did = BulkResult::of(&which.did);
    page(&Jobs { shell, which, found, sites, did })
}

/// O(n log n) for n jobs.
fn list(moment: &Moment<'_>, actor: &Actor, which: &JobsQuery) -> JobListPage {
    let state = moment.state;
    let find = which.find.trim().to_lowercase();
    let fits = |job: &&Job| {
        actor.may_act_for(&job.user)
            && (which.user.is_empty() || which.user == job.user)
            && (which.ended.is_empty() || ended_lately(moment, job))
            && fits_more(moment, which, job)
            && (find.is_empty()
                || title(job).to_lowercase().contains(&find)
                || job.number.to_string() == find)
    };
    let mut chips: Vec<Chip> =
        SHOWS.iter().map(|(show, name)| Chip { show, name, count: 0 }).collect();
    let mut all: Vec<&Job> = Vec::new();
    for job in state.jobs.values().filter(fits) {
        let group = group(state, job);
        for chip in chips.iter_mut().filter(|chip| is_shown(job, group, chip.show)) {
            chip.count += 1;
        }
        if is_shown(job, group, &which.show) {
            all.push(job);
        }
    }
    let (column, backwards) = match which.sort.strip_prefix('-') {
        Some(column) => (column, true),
        None => (which.sort.as_str(), false),
    };
    let mut all: Vec<(SortKey<'_>, &Job)> =
        all.into_iter().map(|job| (sort_key(moment, column, job), job)).collect();
    all.sort_unstable_by(|(a, one), (b, other)| {
        let order = a.cmp(b).then(one.number.cmp(&other.number));
        if backwards { order.reverse() } else { order }
    });
    let first = (which.page - 1).saturating_mul(PAGE);
    let count = all.len();
    let groups = groups(all.into_iter().map(|(_, job)| job), which);
    let rows = groups.iter().skip(first).take(PAGE);
    let jobs: Vec<ListRow> = rows.filter_map(|group| row(moment, group)).collect();
    let first = if jobs.is_empty() { 0 } else { first + 1 };
    JobListPage { jobs, first, rows: groups.len(), count, chips }
}

/// Whether the job is of the site, the project, the time and the array that were asked for.
fn fits_more(moment: &Moment<'_>, which: &JobsQuery, job: &Job) -> bool {
    let span = SINCE.iter().find(|(value, ..)| *value == which.since).map_or(0, |it| it.2);
    let project = job.submission.project.as_deref().unwrap_or_default();
    (which.site.is_empty() || views::jobs::is_at(moment.state, job, &which.site))
        && (which.project.is_empty() || project == which.project)
        && (span == 0 || job.submitted >= moment.now - Span(span))
        && (which.array.is_empty()
            || job.array.is_some_and(|(first, _)| first.to_string() == which.array))
}

/// The jobs of an array together, where the first of them stands.
fn groups<'a>(all: impl Iterator<Item = &'a Job>, which: &JobsQuery) -> Vec<Vec<&'a Job>> {
    let folds = which.arrays != EACH && which.array.is_empty();
    let mut groups: Vec<Vec<&Job>> = Vec::new();
    let mut places = BTreeMap::new();
    for job in all {
        let place = job
            .array
            .filter(|_| folds)
            .map(|(first, _)| *places.entry(first).or_insert(groups.len()));
        match place.and_then(|place| groups.get_mut(place)) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups
}

fn row(moment: &Moment<'_>, group: &[&Job]) -> Option<ListRow> {
    let (first, rest) = group.split_first()?;
    let job = views::jobs::line(moment, first);
    let array = first.array.filter(|_| !rest.is_empty());
    let folded = array.map(|(array, _)| {
        let mut states = BTreeMap::new();
        for job in group {
            *states.entry(moment.status(job).state).or_insert(0) += 1;
        }
        let indices = group.iter().filter_map(|job| job.array.map(|(_, index)| index));
        let ends = (indices.clone().min().unwrap_or(0), indices.max().unwrap_or(0));
        Folded {
            first: array,
            title: format!("{}[{}-{}]", first.submission.name, ends.0, ends.1),
            states: states.into_iter().collect(),
            nodes: group.iter().map(|job| job.nodes()).sum(),
            cost: Credits(group.iter().map(|job| moment.status(job).cost_so_far.0).sum()),
            is_over: group.iter().all(|job| job.ended().is_some()),
        }
    });
    Some(ListRow { job, folded })
}

/// What a job is sorted by: a number, a text, the place in its array. The others are the same in all
/// jobs.
type SortKey<'a> = (i128, &'a str, Option<(u64, u32)>);

fn sort_key<'a>(moment: &Moment<'_>, column: &str, job: &'a Job) -> SortKey<'a> {
    let status = || moment.status(job);
    let number = match column {
        "name" => return (0, &job.submission.name, job.array),
        "user" => return (0, &job.user, None),
        "state" => return (0, status().state, None),
        "nodes" => i128::from(job.nodes()),
        "submitted" => i128::from(job.submitted.0),
        "start" => {
            let status = status();
            let expected = status.expected_start.map(|it| it.at);
            i128::from(status.started.map(|at| at.0).or(expected).unwrap_or(i64::MAX))
        }
        "end" => i128::from(job.ended().map_or(i64::MAX, |at| at.0)),
        "credits" => status().cost_so_far.0,
        _ => i128::from(job.number),
    };
    (number, "", None)
}

/// Whether the list that is called `show` has the job, which is of this group.
fn is_shown(job: &Job, group: StatusGroup, show: &str) -> bool {
    match show {
        "waiting" => group == StatusGroup::Waiting,
        "held" => group == StatusGroup::Held,
        "booked" => group == StatusGroup::Booked,
        "running" => group == StatusGroup::Running,
        "unknown" => group == StatusGroup::Unknown,
        "away" => matches!(job.phase(), Phase::Away | Phase::Handing),
        "failed" => match job.phase() {
            Phase::Over(finish) => !["COMPLETED", "CANCELLED"].contains(&states::finished(finish)),
            _ => false,
        },
        "over" => group == StatusGroup::Over,
        "all" => true,
        _ => group != StatusGroup::Over,
    }
}

fn ended_lately(moment: &Moment<'_>, job: &Job) -> bool {
    job.ended().is_some_and(|at| at >= moment.now - LATELY)
}

/// Whether the job, which is over, failed in the last day.
pub(super) fn failed_lately(moment: &Moment<'_>, job: &Job) -> bool {
    ended_lately(moment, job) && is_shown(job, StatusGroup::Over, "failed")
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
