//! The list of jobs.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::rights::Actor;
use tradewind_daemon::live::state::{Job, Phase, State as Books};

use super::reply::{Shown, show as page};
use super::shell::Shell;
use super::words;
use crate::api::Context;
use crate::documents;
use crate::doors::Caller;
use crate::extract::Selection;
use crate::views::{self, words as states};

/// Jobs on a page.
const PAGE: usize = 100;

/// Which jobs.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Which {
    /// `active`, `waiting`, `running`, `failed`, `over` or `all`.
    #[serde(default)]
    show: String,
    /// A part of the name, or a number.
    #[serde(default)]
    find: String,
    /// Of this user.
    #[serde(default)]
    user: String,
    /// With numbers below this.
    before: Option<u64>,
}

/// What may be shown: value and name.
const SHOWS: [(&str, &str); 6] = [
    ("active", "Not over"),
    ("waiting", "Waiting"),
    ("running", "Running"),
    ("failed", "Failed"),
    ("over", "Over"),
    ("all", "All"),
];

#[derive(Template)]
#[template(path = "page/jobs.html")]
struct Jobs {
    shell: Shell,
    which: Which,
    shows: [(&'static str, &'static str); 6],
    jobs: Vec<documents::Job>,
    /// Jobs that fit, in all.
    count: usize,
    next: Option<u64>,
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(mut which): Selection<Which>,
) -> Shown {
    if !SHOWS.iter().any(|(value, _)| *value == which.show) {
        which.show = "active".to_owned();
    }
    let shell = Shell::new(&context, &caller, "Jobs").await?;
    let (which, (jobs, count, next)) = context
        .look(move |live| {
            let found = list(live.state(), &caller.actor, &which);
            (which, found)
        })
        .await?;
    page(&Jobs { shell, which, shows: SHOWS, jobs, count, next })
}

/// The newest first. Linear in all jobs.
fn list(state: &Books, actor: &Actor, which: &Which) -> (Vec<documents::Job>, usize, Option<u64>) {
    let fits = |job: &&Job| {
        actor.may_act_for(&job.user)
            && is_shown(job, &which.show)
            && (which.user.is_empty() || which.user == job.user)
            && (which.find.is_empty()
                || job.submission.name.contains(&which.find)
                || job.number.to_string() == which.find)
    };
    let all: Vec<&Job> = state.jobs.values().rev().filter(fits).collect();
    let before = which.before.unwrap_or(u64::MAX);
    let mut rest = all.iter().filter(|job| job.number < before);
    let jobs: Vec<_> = rest.by_ref().take(PAGE).map(|job| views::jobs::line(state, job)).collect();
    let next = rest.next().and_then(|_| jobs.last().map(|job| job.id));
    (jobs, all.len(), next)
}

fn is_shown(job: &Job, show: &str) -> bool {
    let over = matches!(job.phase, Phase::Over(_));
    match show {
        "waiting" => matches!(job.phase, Phase::Waiting | Phase::Held(_)),
        "running" => job.phase == Phase::Running,
        "failed" => over && !["COMPLETED", "CANCELLED"].contains(&states::state(job)),
        "over" => over,
        "all" => true,
        _ => !over,
    }
}
