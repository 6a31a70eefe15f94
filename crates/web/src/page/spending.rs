//! What was spent, by month, project, user, site and job; and what owners have earned.

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tradewind_daemon::live::projects::month_of_text;

use super::ledger::quoted;
use super::reply::{PageResult, Trouble, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::clock::present;
use crate::context::Context;
use crate::documents::{Account, BudgetLine, CONSUMED_COLUMNS, Consumed, Credits, Project};
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::views::accounts::{self, owns_any};
use crate::views::projects;
use crate::views::spending::{
    PoolIncome, SiteIncome, SpendingGroup, SpendingSum, earned, income, spent,
};

/// Rows on the page: the file has all.
const SHOWN: usize = 200;
/// Projects whose budgets are shown: the page Projects has all.
const BUDGETS: usize = 20;

/// What is looked for. All of it is in the address.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct SpendingQuery {
    /// `month`, `project`, `user`, `site` or `job`; empty: `month`.
    #[serde(default)]
    by: String,
    /// As in `2027-01`; empty: all that are kept.
    #[serde(default)]
    month: String,
    /// One project; empty: all.
    #[serde(default)]
    project: String,
    /// `pools`: in the file, what pools have earned.
    #[serde(default)]
    income: String,
}

#[derive(Template)]
#[template(path = "page/spending.html")]
struct Spending {
    shell: Shell,
    which: SpendingQuery,
    group: SpendingGroup,
    found: VisibleSpending,
    months: Vec<String>,
    projects: Vec<String>,
}

/// What the reader may see.
struct VisibleSpending {
    lines: Vec<SpendingSum>,
    /// Of sites that the reader owns.
    earned: Vec<SiteIncome>,
    /// Of their pools.
    pools: Vec<PoolIncome>,
    /// Whether any site is the reader's.
    is_owner: bool,
    /// The reader's projects, with what is left.
    budgets: Vec<Project>,
    /// Budgets of energy and carbon: whose, and a line for each limit.
    power: Vec<(String, Vec<BudgetLine>)>,
}

impl Spending {
    fn groups() -> [(SpendingGroup, &'static str, &'static str); 5] {
        SpendingGroup::ALL
    }

    fn total(&self) -> Credits {
        Credits(self.found.lines.iter().map(|it| it.charged.0).sum())
    }

    /// Whether any sum says what nodes consumed.
    fn is_electric(&self) -> bool {
        self.found.lines.iter().any(|it| it.consumed.is_some())
    }

    /// Whether it is known of any site what its nodes consumed.
    fn sites_are_electric(&self) -> bool {
        self.found.earned.iter().any(|it| it.consumed.is_some())
    }

    /// Of a bar that is as long as the largest sum: a number from 0 to 100.
    fn share(&self, line: &SpendingSum) -> i128 {
        let most = self.found.lines.iter().map(|it| it.charged.0).max().unwrap_or(0);
        if most > 0 { line.charged.0.max(0) * 100 / most } else { 0 }
    }

    fn shown(&self) -> &[SpendingSum] {
        self.found.lines.get(..SHOWN.min(self.found.lines.len())).unwrap_or_default()
    }

    fn name(&self, line: &SpendingSum) -> String {
        match (self.group, line.name.is_empty()) {
            (SpendingGroup::Project, true) => "no project".to_owned(),
            _ => line.name.clone(),
        }
    }

    fn query(&self) -> String {
        let SpendingQuery { month, project, .. } = &self.which;
        let (by, month, project) =
            (self.group.names().0, words::in_address(month), words::in_address(project));
        format!("by={by}&month={month}&project={project}")
    }
}

/// Sums by the chosen group.
pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<SpendingQuery>,
) -> PageResult {
    let shell = Shell::new(&context, &caller, "Spending").await?;
    let group = group(&which)?;
    let found = found(&context, &caller, &which, group).await?;
    let actor = caller.actor.clone();
    let choices = context.look(move |live| {
        let all = |group| spent(live.state(), &actor, group, (&(i64::MIN..=i64::MAX), None));
        let names = |group| all(group).into_iter().map(|it| it.name).filter(|it| !it.is_empty());
        (names(SpendingGroup::Month).collect(), names(SpendingGroup::Project).collect())
    });
    let (months, projects) = choices.await?;
    page(&Spending { shell, which, group, found, months, projects })
}

fn group(which: &SpendingQuery) -> Answer<SpendingGroup> {
    match which.by.as_str() {
        "" => Ok(SpendingGroup::Month),
        name => SpendingGroup::of(name).ok_or_else(|| {
            let hint = "there are: month, project, user, site, job";
            ErrorResponse::malformed(format!("there are no sums by `{name}`"), hint).in_field("by")
        }),
    }
}

async fn found(
    context: &Context,
    caller: &Caller,
    which: &SpendingQuery,
    group: SpendingGroup,
) -> Answer<VisibleSpending> {
    let months = match which.month.as_str() {
        "" => i64::MIN..=i64::MAX,
        text => {
            let month = month_of_text(text).ok_or_else(|| {
                let message = format!("`{text}` is no month");
                ErrorResponse::malformed(message, "as in 2027-01").in_field("month")
            })?;
            month..=month
        }
    };
    let project = Some(which.project.clone()).filter(|it| !it.is_empty());
    let actor = caller.actor.clone();
    let look = context.look(move |live| {
        let state = live.state();
        VisibleSpending {
            lines: spent(state, &actor, group, (&months, project.as_ref())),
            earned: earned(state, &actor),
            pools: income(state, &actor),
            is_owner: owns_any(state, &actor),
            power: power(accounts::budgets(state, &actor)),
            budgets: projects::list(state, &actor, None, BUDGETS, present(state)).projects,
        }
    });
    look.await
}

fn power(accounts: Vec<Account>) -> Vec<(String, Vec<BudgetLine>)> {
    let lines = |it: Account| Some((it.account, it.budget?.lines()));
    accounts.into_iter().filter_map(lines).take(BUDGETS).collect()
}

/// The same sums as CSV.
pub(crate) async fn csv(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<SpendingQuery>,
) -> Result<Response, Trouble> {
    let group = group(&which)?;
    let found = found(&context, &caller, &which, group).await?;
    if which.income == "pools" {
        return Ok(file("income-by-pool", pools_as_csv(&found.pools)));
    }
    let (name, _) = group.names();
    let mut text = format!("{name},job,node_seconds,credits,{}\n", CONSUMED_COLUMNS.join(","));
    for it in &found.lines {
        let job = it.job.map(|it| it.to_string()).unwrap_or_default();
        let seconds = it.node_seconds.map(|it| it.to_string()).unwrap_or_default();
        let cells = [quoted(&it.name), job, seconds, words::plain(&it.charged)];
        text += &line(&cells, it.consumed);
    }
    Ok(file(&format!("spending-by-{name}"), text))
}

fn pools_as_csv(pools: &[PoolIncome]) -> String {
    let mut text = format!("month,pool,node_seconds,credits,{}\n", CONSUMED_COLUMNS.join(","));
    for it in pools {
        let (seconds, income) = (it.node_seconds.to_string(), words::plain(&it.income));
        text += &line(&[it.month.clone(), quoted(&it.pool), seconds, income], it.consumed);
    }
    text
}

fn line(cells: &[String; 4], consumed: Option<Consumed>) -> String {
    [&cells[..], &Consumed::cells(consumed)[..]].concat().join(",") + "\n"
}

fn file(name: &str, text: String) -> Response {
    let kind = (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned());
    let told = format!("attachment; filename=\"{name}.csv\"");
    ([kind, (header::CONTENT_DISPOSITION, told)], text).into_response()
}
