//! Money.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use tradewind_daemon::live::budgets::{BudgetHolder, PowerLimits};
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::{Ask, Unknown};
use tradewind_io::hidden::is_hidden;
use tradewind_model::Carbon;
use utoipa::IntoParams;

use super::openapi::Refusals;
use super::page;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{self, AccountList, BudgetLimits, Kwh, Statement, Thousandths, Transfer};
use crate::extract::{At, Document, Selection};
use crate::failure::{Answer, ErrorResponse};
use crate::notes;
use crate::views::accounts;

/// The longest note, and the longest name.
const MAX_NOTE: usize = 1_000;
const MAX_NAME: usize = 128;

/// Parameters of the URL that select a page of accounts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AccountPage {
    /// Behind this account.
    after: Option<String>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Parameters of the URL that select a page of postings.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PostingPage {
    /// With a number above this.
    after: Option<u64>,
    /// At most so many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

fn parse(text: &str, field: &str) -> Answer<Account> {
    let account = Account::parse(text).filter(|_| text.len() <= MAX_NAME);
    let clean = account.filter(|_| !text.chars().any(is_hidden));
    clean.ok_or_else(|| {
        let hint = "write `user:NAME`, `project:NAME`, `owner:SITE`, `held:JOB` or `bank`";
        ErrorResponse::invalid("this is no account", hint).in_field(field)
    })
}

/// Accounts that the caller may see; what is held for jobs is in the jobs.
#[utoipa::path(
    get, path = "/v1/accounts", tag = "money", operation_id = "list_accounts", params(AccountPage),
    responses((status = 200, description = "a page of accounts", body = AccountList), Refusals),
)]
pub(crate) async fn list(
    State(context): State<Context>,
    caller: Caller,
    Selection(AccountPage { after, limit }): Selection<AccountPage>,
) -> Answer<Json<AccountList>> {
    let limit = page(limit)?;
    let after = after.map(|text| parse(&text, "after")).transpose()?;
    let list = context
        .look(move |live| accounts::list(live.state(), &caller.actor, after.as_ref(), limit));
    list.await.map(Json)
}

/// An account with its postings; the last 100,000 of all accounts are kept.
#[utoipa::path(
    get, path = "/v1/accounts/{account}", tag = "money", operation_id = "show_account",
    params(("account" = String, Path, description = "as in `user:ana`"), PostingPage),
    responses((status = 200, description = "balance and postings", body = Statement), Refusals),
)]
pub(crate) async fn statement(
    State(context): State<Context>,
    caller: Caller,
    At(text): At<String>,
    Selection(PostingPage { after, limit }): Selection<PostingPage>,
) -> Answer<Json<Statement>> {
    let account = parse(&text, "account")?;
    let (after, limit) = (after.unwrap_or(0), page(limit)?);
    if account != Account::User(caller.actor.user.clone()) {
        notes::read(&context.audit, &caller, "", &format!("statement of {account}"));
    }
    let found = context.look(move |live| {
        let state = live.state();
        let own = account == Account::User(caller.actor.user.clone());
        let known = own || state.accounts().knows(&account);
        let seen = known && accounts::may_see(state, &caller.actor, &account);
        seen.then(|| accounts::statement(state, &caller.actor, &account, after, limit))
    });
    let found = found.await?;
    found
        .map(Json)
        .ok_or_else(|| ErrorResponse::unknown("there is no such account, or not for you"))
}

/// An account, with its budget of energy and carbon if it has one.
#[utoipa::path(
    get, path = "/v1/accounts/{account}/budget", tag = "money", operation_id = "show_budget",
    params(("account" = String, Path, description = "`user:NAME` or `project:NAME`")),
    responses((status = 200, description = "the account", body = documents::Account), Refusals),
)]
pub(crate) async fn show_budget(
    State(context): State<Context>,
    caller: Caller,
    At(text): At<String>,
) -> Answer<Json<documents::Account>> {
    let account = parse(&text, "account")?;
    if account != Account::User(caller.actor.user.clone()) {
        notes::read(&context.audit, &caller, "", &format!("budget of {account}"));
    }
    let found = context.look(move |live| {
        let seen = accounts::may_see(live.state(), &caller.actor, &account);
        seen.then(|| accounts::account(live.state(), &account))
    });
    let unknown = || ErrorResponse::unknown("there is no such account, or not for you");
    found.await?.map(Json).ok_or_else(unknown)
}

/// Limits what the jobs of a user or a project may consume: administrators may. What is left out has
/// no limit from now on.
#[utoipa::path(
    put, path = "/v1/accounts/{account}/budget", tag = "money", operation_id = "limit_power",
    request_body = BudgetLimits,
    params(("account" = String, Path, description = "`user:NAME` or `project:NAME`")),
    responses((status = 200, description = "the account", body = documents::Account), Refusals),
)]
pub(crate) async fn budget(
    State(context): State<Context>,
    caller: Caller,
    At(text): At<String>,
    Document(limits): Document<BudgetLimits>,
) -> Answer<Json<documents::Account>> {
    let account = parse(&text, "account")?;
    let holder = BudgetHolder::parse(&text).ok_or_else(|| {
        let hint = "write `user:NAME` or `project:NAME`";
        ErrorResponse::invalid("this account uses no energy", hint).in_field("account")
    })?;
    let limits = power_limits(&limits)?;
    context.ask(caller.actor, Ask::Budget { holder, limits }).await?;
    context.look(move |live| accounts::account(live.state(), &account)).await.map(Json)
}

fn power_limits(limits: &BudgetLimits) -> Answer<PowerLimits> {
    let wrong = |field: &str, hint: &str| {
        ErrorResponse::invalid("no amount from 0 up", hint).in_field(field)
    };
    let energy = |limit: Option<Kwh>, field: &str| {
        let read =
            |it: Kwh| it.energy().ok_or_else(|| wrong(field, "kWh, with at most six decimals"));
        limit.map(read).transpose()
    };
    let carbon = |limit: Option<Thousandths>, field: &str| {
        let read = |it: Thousandths| {
            let good = Some(Carbon(it.0)).filter(|it| it.0 >= 0);
            good.ok_or_else(|| wrong(field, "grams, with at most three decimals"))
        };
        limit.map(read).transpose()
    };
    Ok(PowerLimits {
        energy: energy(limits.energy_kwh, "energy_kwh")?,
        energy_month: energy(limits.energy_kwh_month, "energy_kwh_month")?,
        carbon: carbon(limits.carbon_g, "carbon_g")?,
        carbon_month: carbon(limits.carbon_g_month, "carbon_g_month")?,
    })
}

/// Moves money: administrators may.
#[utoipa::path(
    post, path = "/v1/transfers", tag = "money", operation_id = "transfer", request_body = Transfer,
    responses((status = 201, description = "the account that has it now", body = Statement), Refusals),
)]
pub(crate) async fn transfer(
    State(context): State<Context>,
    caller: Caller,
    Document(it): Document<Transfer>,
) -> Answer<(StatusCode, Json<Statement>)> {
    let (from, to) = (parse(&it.from, "from")?, parse(&it.to, "to")?);
    if from == to {
        let hint = "name two accounts";
        return Err(ErrorResponse::invalid("from an account to itself", hint).in_field("to"));
    }
    let amount = it.amount.money().filter(|amount| amount.0 > 0).ok_or_else(|| {
        let hint = "credits, with at most six decimals";
        ErrorResponse::invalid("the amount is not above 0, or too much", hint).in_field("amount")
    })?;
    if it.note.len() > MAX_NOTE {
        let message = format!("a note has at most {MAX_NOTE} bytes");
        return Err(ErrorResponse::invalid(message, "shorten it").in_field("note"));
    }
    if it.note.chars().any(is_hidden) {
        let hint = "keep to letters, digits and signs on one line";
        return Err(
            ErrorResponse::invalid("the note has control characters", hint).in_field("note")
        );
    }
    let unknown = if it.create { Unknown::Create } else { Unknown::Refuse };
    let ask = Ask::Move { from, to: to.clone(), amount, note: it.note, unknown };
    context.ask(caller.actor.clone(), ask).await?;
    let statement = context.look(move |live| {
        let after = live.state().accounts().posted().saturating_sub(1);
        accounts::statement(live.state(), &caller.actor, &to, after, 1)
    });
    Ok((StatusCode::CREATED, Json(statement.await?)))
}
