//! Observed clusters: how good forecasts were, how much was in use, and what other sites or times
//! would have saved.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;

use super::chart::{ChartTable, Figure, Frame, SHADES, StepLine, line_mark, lines};
use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{ObservedHour, ObservedSite, ObservedWaits, Shadow, StartErrors};
use crate::extract::Selection;
use crate::routes::shadow;

/// Seconds of an hour.
const HOUR: i64 = 3_600;

/// Whose users and projects are listed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ShadowQuery {
    /// Name of a cluster; empty: all.
    #[serde(default)]
    of: String,
}

#[derive(Template)]
#[template(path = "page/shadow.html")]
struct ShadowPage {
    shell: Shell,
    seen: Shadow,
    /// The cluster that was chosen; empty: all.
    of: String,
    figures: Vec<Figure>,
    errors: Vec<ErrorRow>,
    users: Vec<ObservedWaits>,
    projects: Vec<ObservedWaits>,
}

/// Our errors and those of the manager.
struct ErrorRow {
    name: String,
    ours: StartErrors,
    slurm: StartErrors,
}

impl ShadowPage {
    fn link(&self, site: &str) -> String {
        format!("/shadow?of={}", words::in_address(site))
    }

    fn share(&self, site: &ObservedSite) -> String {
        site.utilisation.map_or_else(|| "–".to_owned(), |it| format!("{:.1} %", it * 100.0))
    }

    fn name(&self, it: &ObservedWaits) -> String {
        it.name.clone().unwrap_or_else(|| "not shown by the cluster".to_owned())
    }

    fn span(&self, seconds: &Option<i64>) -> String {
        seconds.as_ref().map_or_else(|| "–".to_owned(), words::span)
    }

    /// Seconds that were saved, of so many jobs; nothing is known without jobs.
    fn saved(&self, seconds: &i64, examined: &u64) -> String {
        if *examined == 0 { "–".to_owned() } else { words::span(seconds) }
    }

    /// Time of which it is not known which jobs came and went.
    fn unwatched(&self, site: &ObservedSite) -> String {
        let seconds = i64::try_from(site.unwatched).unwrap_or(i64::MAX);
        if seconds == 0 { "–".to_owned() } else { words::span(&seconds) }
    }

    fn count(&self, jobs: &u64) -> String {
        words::grouped(usize::try_from(*jobs).unwrap_or(usize::MAX))
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(ShadowQuery { of }): Selection<ShadowQuery>,
) -> PageResult {
    let seen = shadow::document(&context, &caller).await?;
    let shell = Shell::new(&context, &caller, "Shadow").await?;
    let chosen = seen.sites.iter().find(|site| site.name == of);
    let (users, projects) = match chosen {
        Some(site) => (site.users.clone(), site.projects.clone()),
        None => (seen.users.clone(), seen.projects.clone()),
    };
    let of = chosen.map(|site| site.name.clone()).unwrap_or_default();
    let (figures, errors) = (figures(&seen.sites), errors(&seen));
    page(&ShadowPage { shell, seen, of, figures, errors, users, projects })
}

/// All clusters together, each by itself, and the fair comparison.
fn errors(seen: &Shadow) -> Vec<ErrorRow> {
    let row = |name: &str, ours, slurm| ErrorRow { name: name.to_owned(), ours, slurm };
    let mut rows = vec![
        row("Jobs with both forecasts, made at the same moment", seen.same.ours, seen.same.slurm),
        row("All jobs", seen.ours, seen.slurm),
    ];
    if seen.sites.len() > 1 {
        rows.extend(seen.sites.iter().map(|it| row(&it.name, it.ours, it.slurm)));
    }
    rows
}

/// Use and its value, hour by hour.
fn figures(sites: &[ObservedSite]) -> Vec<Figure> {
    let used = |it: &ObservedHour| {
        (it.up > 0).then(|| (it.used as f64 * 100.0 / it.up as f64).clamp(0.0, 100.0))
    };
    let value = |it: &ObservedHour| Some(it.value.0 as f64 / 1e6);
    let utilisation = Figure {
        id: "use",
        note:
            "Node time of jobs, of the time of nodes that were up. Times of more than 15 minutes \
               without a survey are left out."
                .to_owned(),
        ..figure(sites, ("Utilisation by hour", "%", Some(100.0)), used, |it| {
            used(it).map(|it| format!("{it:.1} %"))
        })
    };
    let earned = "What owners would have earned";
    let income = Figure {
        id: "income",
        note: "What the jobs of each hour would have paid at the configured prices.".to_owned(),
        ..figure(sites, (earned, "credits per hour", None), value, |it| {
            Some(words::credits(&it.value))
        })
    };
    vec![utilisation, income]
}

/// A line for each of the first clusters.
fn figure(
    sites: &[ObservedSite],
    (title, unit, max): (&str, &'static str, Option<f64>),
    of: impl Fn(&ObservedHour) -> Option<f64>,
    told: impl Fn(&ObservedHour) -> Option<String>,
) -> Figure {
    let drawn = &sites[..sites.len().min(SHADES)];
    let hours = || drawn.iter().flat_map(|site| site.hours.iter().map(|it| it.from));
    let span = hours().min().zip(hours().max()).map(|(first, last)| (first, last + HOUR));
    let table = table(drawn, span, told);
    let all: Vec<StepLine> = drawn.iter().enumerate().map(|it| line(it, span, &of)).collect();
    let svg = span.map(|span| {
        let stops = (span.0..span.1).step_by(HOUR as usize).collect();
        lines(&Frame { title: title.to_owned(), unit, span, now: None, max, stops }, &all)
    });
    let legend = all.iter().map(|it| (line_mark(it.shade), it.name.clone())).collect();
    let empty = "Nothing is known yet: the first hour begins with the second survey.";
    let title = title.to_owned();
    Figure { id: "", title, note: String::new(), legend, svg, empty, table }
}

/// A step for each hour, and a gap for those that are not known.
fn line(
    (shade, site): (usize, &ObservedSite),
    span: Option<(i64, i64)>,
    of: impl Fn(&ObservedHour) -> Option<f64>,
) -> StepLine {
    let at = |from: i64| {
        let known = site.hours.binary_search_by_key(&from, |it| it.from).ok();
        (from, known.and_then(|place| of(&site.hours[place])))
    };
    let (from, until) = span.unwrap_or_default();
    let steps = (from..until).step_by(HOUR as usize).map(at).collect();
    StepLine { name: site.name.clone(), steps, shade }
}

/// A row for each hour of which something is known, the newest first.
fn table(
    sites: &[ObservedSite],
    span: Option<(i64, i64)>,
    told: impl Fn(&ObservedHour) -> Option<String>,
) -> ChartTable {
    let (from, until) = span.unwrap_or_default();
    let mut rows = Vec::new();
    for hour in (from..until).step_by(HOUR as usize) {
        let cell = |site: &ObservedSite| {
            let place = site.hours.binary_search_by_key(&hour, |it| it.from).ok()?;
            told(site.hours.get(place)?)
        };
        let cells: Vec<Option<String>> = sites.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let dash = |it: Option<String>| it.unwrap_or_else(|| "–".to_owned());
            rows.push((hour, cells.into_iter().map(dash).collect()));
        }
    }
    rows.reverse();
    ChartTable { head: sites.iter().map(|site| site.name.clone()).collect(), rows }
}
