//! Which policy decides, and what others would do with the same queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Ask, Live};

use super::breakdown::{JobFacts, Sum, Tier, sums, tiers};
use super::cache::PageContext;
use super::mark::Mark;
use super::reply::{PageResult, go, show as page};
use super::runs::{Run, advised, said};
use super::shell::Shell;
use super::words;
use crate::api::{Advisor, MarketView};
use crate::auth::Caller;
use crate::documents::{JobChange, WhatIf, WhatIfQuestion};
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::views::starts;
use crate::watch::Watch;

/// Policies that are compared at once, at most.
const MAX: usize = 6;
/// What is compared by default.
const USUAL: &str = "fcfs, easy, conservative, css";
/// Jobs of a tier that are shown.
const SHOWN: usize = 25;

/// A policy, and what it would do, or why it is unknown.
pub(crate) type Compared = (String, Result<Arc<WhatIf>, String>);

/// The moment of a copy.
#[derive(Debug)]
pub(crate) struct Copied {
    /// Time of the copy, in market time.
    at: i64,
    /// The journal's last row then.
    seq: u64,
    /// What it looked like.
    mark: Mark,
}

/// Parameters of the URL that select policies.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct PolicyQuery {
    /// With commas between.
    #[serde(default)]
    compare: String,
}

#[derive(Template)]
#[template(path = "page/policy.html")]
struct PolicyPage {
    shell: Shell,
    compare: String,
    comparison: Option<Comparison>,
    shown: usize,
}

/// Policies side by side, all on the queue of one moment.
struct Comparison {
    names: usize,
    /// Those that were left out: there were too many.
    cut: usize,
    /// When the queue was copied, and the journal's row of it.
    at: i64,
    seq: u64,
    /// What has changed since, if anything.
    changes: String,
    candidates: Vec<Candidate>,
}

struct Candidate {
    policy: String,
    found: Result<PolicyComparison, String>,
}

struct PolicyComparison {
    what: Arc<WhatIf>,
    tiers: Vec<Tier>,
    sums: Vec<Sum>,
}

impl PolicyComparison {
    /// Jobs that wait or run.
    fn all(&self) -> usize {
        self.what.changes.len() + self.what.same as usize
    }
}

/// How a policy's starts differ from those of the present one.
struct Difference {
    /// Mean over all jobs that start under both, seconds; negative: sooner.
    mean: i64,
    /// In which 95 of 100 such means lie, if jobs are drawn from many alike; seconds.
    from: i64,
    until: i64,
}

impl Difference {
    /// Whether it may as well be none.
    fn may_be_none(&self) -> bool {
        self.from <= 0 && self.until >= 0
    }
}

/// The mean of the differences and its interval by the normal approximation, of two jobs or more.
/// `same` jobs have no difference. For the page alone: nothing is decided by it.
fn difference(later: &[i64], same: u32) -> Option<Difference> {
    let count = later.len() as f64 + f64::from(same);
    if count < 2.0 {
        return None;
    }
    let mean = later.iter().map(|it| *it as f64).sum::<f64>() / count;
    let squares = later.iter().map(|it| (*it as f64 - mean).powi(2)).sum::<f64>();
    let all = squares + f64::from(same) * mean.powi(2);
    let half = 1.96 * (all / (count - 1.0) / count).sqrt();
    let whole = |it: f64| it.round() as i64;
    Some(Difference { mean: whole(mean), from: whole(mean - half), until: whole(mean + half) })
}

impl PolicyComparison {
    /// How much later its jobs start.
    fn later(&self) -> Option<Difference> {
        let later = |it: &JobChange| Some(it.after.start? - it.before.start?);
        let later: Vec<i64> = self.what.changes.iter().filter_map(later).collect();
        difference(&later, self.what.same)
    }

    /// Starts as many jobs as the present policy, and no later on average.
    fn is_no_worse(&self) -> bool {
        let (now, then) = (&self.what.totals_before, &self.what.totals_after);
        then.started >= now.started && then.refused <= now.refused
    }
}

impl Comparison {
    /// The policy under which jobs wait least on average, of those that start as many; `None`: the
    /// present one.
    fn best(&self) -> Option<(&str, &PolicyComparison, Difference)> {
        let found = self.candidates.iter().filter_map(|it| {
            let found = it.found.as_ref().ok().filter(|it| it.is_no_worse())?;
            let later = found.later().filter(|it| it.mean < 0)?;
            Some((it.policy.as_str(), found, later))
        });
        found.min_by_key(|(_, _, later)| later.mean)
    }

    /// What the numbers leave out, if anything.
    fn caveat(&self) -> Option<String> {
        self.now().and_then(|it| it.looked_at).and_then(|it| it.caveat())
    }

    fn goes_on(&self) -> bool {
        self.candidates.len() < self.names
    }

    /// What all are compared with.
    fn now(&self) -> Option<&WhatIf> {
        self.candidates.iter().find_map(|it| it.found.as_ref().ok()).map(|it| &*it.what)
    }
}

fn may(caller: &Caller) -> Answer<()> {
    match caller.actor.role {
        Role::Administrator => Ok(()),
        Role::User | Role::Owner | Role::Peer => {
            Err(ErrorResponse::forbidden("only an administrator decides which policy decides"))
        }
    }
}

pub(crate) async fn show(
    State(context): State<PageContext>,
    caller: Caller,
    Selection(PolicyQuery { compare }): Selection<PolicyQuery>,
) -> PageResult {
    may(&caller)?;
    let shell = Shell::new(&context, &caller, "Policy").await?;
    let comparison = match names(&compare) {
        all if all.is_empty() => None,
        all => Some(compared(&context, &caller, &shell, all).await?),
    };
    let compare = if compare.is_empty() { USUAL.to_owned() } else { compare };
    page(&PolicyPage { shell, compare, comparison, shown: SHOWN })
}

/// The comparison of these: one that is there, or a new one.
async fn compared(
    context: &PageContext,
    caller: &Caller,
    shell: &Shell,
    all: Vec<String>,
) -> Answer<Comparison> {
    let cut = all.len().saturating_sub(MAX);
    let all: Vec<String> = all.into_iter().take(MAX).collect();
    let question = all.join(",");
    let run = match context.cache.compared.get(&question, &shell.policy) {
        Some(run) => run,
        None => {
            let gauges = Arc::clone(context.market.gauges());
            // Whatever is written in between is in the copy, and counted as if it were not.
            let seq = gauges.last_row();
            let view = context.view().await?;
            let mark = Mark::of(&view.market);
            let copied = Copied { at: view.market.now().0, seq, mark };
            let run = Arc::new(Run::new(shell.policy.clone(), copied, all.len()));
            context.cache.compared.keep(question, Arc::clone(&run));
            let (context, who) = (context.clone(), caller.actor.clone());
            tokio::spawn(go_through(context, who, Arc::clone(&run), view, all.clone()));
            run
        }
    };
    run.soon().await;
    let seen = context.look(|live| {
        let jobs = live.state().jobs.iter();
        let known = jobs.map(|(number, job)| {
            let deadline = job.submission.terms.deadline.map(|at| at.0);
            let (user, name) = (job.user.clone(), job.submission.name.clone());
            (*number, JobFacts { user, name, deadline })
        });
        (known.collect::<BTreeMap<u64, JobFacts>>(), Mark::of(&live.state().market))
    });
    let (known, mark) = seen.await?;
    let candidate = |(policy, found): Compared| {
        let found = found.map(|what| {
            let tiers = tiers(&what.changes, &known);
            PolicyComparison { sums: sums(&tiers), tiers, what }
        });
        Candidate { policy, found }
    };
    let candidates = run.found().into_iter().map(candidate).collect();
    let Copied { at, seq, mark: ref then } = run.basis;
    let changes = then.changes(&mark);
    Ok(Comparison { names: all.len(), cut, at, seq, changes, candidates })
}

/// One policy after the other on the same copy: others are advised in between.
async fn go_through(
    context: PageContext,
    who: Actor,
    run: Arc<Run<Copied, Compared>>,
    view: MarketView,
    policies: Vec<String>,
) {
    let view = Arc::new(view);
    for policy in policies {
        let question = WhatIfQuestion { policy: Some(policy.clone()), ..WhatIfQuestion::default() };
        let view = Arc::clone(&view);
        let look =
            move |advisor: &dyn Advisor, watch: &Watch| advisor.whatif(&view, &question, watch);
        let mut found = advised(&context, &who, look).await;
        if let Ok(mut what) = found {
            let look = move |live: &Live| {
                starts::in_whatif(live.state(), &mut what);
                what
            };
            found = context.look(look).await.map_err(|failure| said(&failure));
        }
        run.add((policy, found.map(Arc::new)));
    }
}

/// Commas within brackets belong to a policy. Each name once.
fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0_u32;
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                names.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = names.last_mut() {
            last.push(letter);
        }
    }
    let mut found: Vec<String> = Vec::new();
    for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
        if !found.iter().any(|it| it == name) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The policy that is to decide, or those that are to be compared again.
#[derive(Debug, Deserialize)]
pub(crate) struct PolicyForm {
    #[serde(default)]
    policy: String,
    #[serde(default)]
    again: String,
}

pub(crate) async fn switch(
    State(context): State<PageContext>,
    caller: Caller,
    Form(PolicyForm { policy, again }): Form<PolicyForm>,
) -> PageResult {
    may(&caller)?;
    if policy.is_empty() {
        let names: Vec<String> = names(&again).into_iter().take(MAX).collect();
        context.cache.compared.forget(&names.join(","));
        return Ok(go(&format!("/policy?compare={}", words::in_address(&again))));
    }
    context.ask(caller.actor, Ask::Policy { policy }).await?;
    Ok(go("/policy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_stay_and_each_is_compared_once() {
        let all = names(" easy[depth=4,order=sjf], css,, fcfs ,css");
        assert_eq!(all, ["easy[depth=4,order=sjf]", "css", "fcfs"]);
    }
}
