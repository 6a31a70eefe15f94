//! Accounts and what moved between them.

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tradewind_daemon::live::money::Account;

use super::reply::{Shown, Trouble, show as page};
use super::shell::Shell;
use super::words;
use crate::api::Context;
use crate::documents::{AccountList, Statement};
use crate::doors::Caller;
use crate::extract::Selection;
use crate::failure::{Answer, Failure};
use crate::views::accounts;

/// Accounts and postings on a page.
const PAGE: usize = 200;

/// Which account.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Which {
    #[serde(default)]
    account: String,
    #[serde(default)]
    after: u64,
}

#[derive(Template)]
#[template(path = "page/ledger.html")]
struct Ledger {
    shell: Shell,
    accounts: AccountList,
    account: String,
    statement: Option<Statement>,
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(Which { account, after }): Selection<Which>,
) -> Shown {
    let shell = Shell::new(&context, &caller, "Ledger").await?;
    let actor = caller.actor.clone();
    let accounts =
        context.look(move |live| accounts::list(live.state(), &actor, None, PAGE)).await?;
    let account = match account.is_empty() {
        true => Account::User(caller.actor.user.clone()).to_string(),
        false => account,
    };
    let statement = match accounts.accounts.iter().any(|it| it.account == account) {
        true => Some(statement(&context, &caller, &account, after, PAGE).await?),
        false => None,
    };
    page(&Ledger { shell, accounts, account, statement })
}

async fn statement(
    context: &Context,
    caller: &Caller,
    account: &str,
    after: u64,
    most: usize,
) -> Answer<Statement> {
    let unknown = || Failure::unknown(format!("you have no account `{account}`"));
    let (wanted, actor) = (Account::parse(account).ok_or_else(unknown)?, caller.actor.clone());
    let found = context.look(move |live| {
        let state = live.state();
        let seen = accounts::may_see(state, &actor, &wanted) && state.accounts.knows(&wanted);
        seen.then(|| accounts::statement(state, &wanted, after, most))
    });
    found.await?.ok_or_else(unknown)
}

/// All postings of an account that are kept, as CSV.
pub(crate) async fn csv(
    State(context): State<Context>,
    caller: Caller,
    Selection(Which { account, .. }): Selection<Which>,
) -> Result<Response, Trouble> {
    let statement = statement(&context, &caller, &account, 0, usize::MAX).await?;
    let mut text = "number,time,from,to,amount,motive,job,note\n".to_owned();
    for it in &statement.postings {
        let amount = words::plain(&it.amount);
        let job = it.job.map(|job| job.to_string()).unwrap_or_default();
        let note = quoted(it.note.as_deref().unwrap_or_default());
        let (from, to) = (quoted(&it.from), quoted(&it.to));
        let line = [
            &it.number.to_string(),
            &it.at.to_string(),
            &from,
            &to,
            &amount,
            &it.motive,
            &job,
            &note,
        ];
        text.push_str(&line.map(String::as_str).join(","));
        text.push('\n');
    }
    let name = account.replace([':', '"', '/', '\\'], "-");
    let name = name.chars().filter(char::is_ascii_graphic).collect::<String>();
    let told = format!("attachment; filename=\"ledger-{name}.csv\"");
    let kind = (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned());
    Ok(([kind, (header::CONTENT_DISPOSITION, told)], text).into_response())
}

/// A field that spreadsheets do not take for a formula.
fn quoted(text: &str) -> String {
    let risky = text.starts_with(['=', '+', '-', '@', '\t']);
    let text = if risky { format!("'{text}") } else { text.to_owned() };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}
