//! Accounts and what moved between them.

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tradewind_daemon::live::money::{Account, Accounts};

use super::clock::{clock, instant};
use super::reply::{PageResult, Trouble, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{AccountList, POSTING_COLUMNS, Posting};
use crate::extract::Selection;
use crate::failure::{Answer, Failure};
use crate::notes;
use crate::views::accounts::{self, PostingFilter};

/// Accounts, and postings on a page.
const ACCOUNTS: usize = 200;
const PAGE: usize = 100;

/// What is looked for. All of it is in the address.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct LedgerQuery {
    /// One account; empty: all that the reader may see.
    account: Option<String>,
    #[serde(default)]
    job: String,
    #[serde(default)]
    kind: String,
    /// `2026-11-21` or `2026-11-21 14:00`, on the clock of `zone`.
    #[serde(default)]
    from: String,
    #[serde(default)]
    until: String,
    /// As in `Europe/Berlin`; empty: UTC.
    #[serde(default)]
    zone: String,
    /// With numbers below this.
    before: Option<u64>,
}

/// What may be looked for: value and name.
const KINDS: [(&str, &str); 5] = [
    ("", "All"),
    ("hold", "Holds"),
    ("settle", "Settlements"),
    ("refund", "Refunds"),
    ("grant", "Grants"),
];

#[derive(Template)]
#[template(path = "page/ledger.html")]
struct Ledger {
    shell: Shell,
    accounts: AccountList,
    account: String,
    which: LedgerQuery,
    postings: Vec<Posting>,
    /// That fit, in all.
    count: usize,
    next: Option<u64>,
    /// The filter as it stands in an address.
    query: String,
    kept: usize,
    /// Nothing but the account is looked for.
    is_bare: bool,
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<LedgerQuery>,
) -> PageResult {
    let shell = Shell::new(&context, &caller, "Ledger").await?;
    let account = account(&which, &caller);
    let wanted = wanted(&which, &account)?;
    if wanted.account.as_ref().is_none_or(|it| *it != Account::User(caller.actor.user.clone())) {
        notes::read(&context, &caller, "", &format!("statement of {account}"));
    }
    let wanted_all =
        wanted == PostingFilter { account: wanted.account.clone(), ..PostingFilter::default() };
    let (before, actor) = (which.before.unwrap_or(u64::MAX), caller.actor);
    let look = context.look(move |live| {
        let state = live.state();
        let seen = match &wanted.account {
            Some(it) => accounts::may_see(state, &actor, it),
            None => true,
        };
        let accounts = accounts::list(state, &actor, None, ACCOUNTS);
        seen.then(|| (accounts, accounts::postings(state, &actor, &wanted, (before, PAGE))))
    });
    let unknown = || Failure::unknown(format!("you have no account `{account}`"));
    let (accounts, (postings, count)) = look.await?.ok_or_else(unknown)?;
    let last = postings.last().filter(|_| postings.len() == PAGE);
    let next = last.map(|it| it.number).filter(|number| *number > 1);
    let (query, kept) = (query(&which, &account), Accounts::KEPT);
    let is_bare = wanted_all && before == u64::MAX;
    let page_of =
        Ledger { shell, accounts, account, which, postings, count, next, query, kept, is_bare };
    page(&page_of)
}

/// The account that is looked at: by default one's own.
fn account(which: &LedgerQuery, caller: &Caller) -> String {
    let own = || Account::User(caller.actor.user.clone()).to_string();
    which.account.clone().unwrap_or_else(own).trim().to_owned()
}

fn wanted(which: &LedgerQuery, account: &str) -> Answer<PostingFilter> {
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let unknown = || Failure::unknown(format!("you have no account `{account}`"));
    let job = said(&which.job).map(|text| {
        let wrong = Failure::invalid(format!("`{text}` is no job’s number"), "as in 42");
        text.parse::<u64>().map_err(|_| wrong.in_field("job"))
    });
    let clock = clock(&which.zone).map_err(|wrong| Failure::invalid(wrong, "as in UTC"))?;
    let moment = |text: &str, field| {
        said(text).map(|text| {
            let wrong = Failure::invalid(format!("`{text}` is no time"), "as in 2026-11-21 14:00");
            instant(&text, &clock).ok_or_else(|| wrong.in_field(field))
        })
    };
    Ok(PostingFilter {
        account: said(account).map(|text| Account::parse(&text).ok_or_else(unknown)).transpose()?,
        job: job.transpose()?,
        motive: said(&which.kind),
        from: moment(&which.from, "from").transpose()?,
        until: moment(&which.until, "until").transpose()?,
    })
}

/// The filter, for links.
fn query(which: &LedgerQuery, account: &str) -> String {
    let LedgerQuery { job, kind, from, until, zone, .. } = which;
    let parts = [
        ("account", account),
        ("job", job),
        ("kind", kind),
        ("from", from),
        ("until", until),
        ("zone", zone),
    ];
    let said = parts.iter().filter(|(name, text)| *name == "account" || !text.is_empty());
    let said = said.map(|(name, text)| format!("{name}={}", words::in_address(text)));
    said.collect::<Vec<_>>().join("&")
}

/// All matching postings, as CSV: the newest first, as on the page.
pub(crate) async fn csv(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<LedgerQuery>,
) -> Result<Response, Trouble> {
    let account = account(&which, &caller);
    let wanted = wanted(&which, &account)?;
    let actor = caller.actor;
    let look = context.look(move |live| {
        let state = live.state();
        let seen = match &wanted.account {
            Some(it) => accounts::may_see(state, &actor, it) && state.accounts().knows(it),
            None => true,
        };
        seen.then(|| accounts::postings(state, &actor, &wanted, (u64::MAX, usize::MAX)).0)
    });
    let unknown = || Failure::unknown(format!("you have no account `{account}`"));
    let postings = look.await?.ok_or_else(unknown)?;
    let line = |it: &Posting| it.cells().map(|cell| quoted(&cell)).join(",") + "\n";
    let text = POSTING_COLUMNS.join(",") + "\n" + &postings.iter().map(line).collect::<String>();
    let name = account.replace([':', '"', '/', '\\'], "-");
    let name = name.chars().filter(char::is_ascii_graphic).collect::<String>();
    let name = if name.is_empty() { "all".to_owned() } else { name };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_checked_and_kept() {
        let which = LedgerQuery {
            job: " 7 ".to_owned(),
            kind: "hold".to_owned(),
            from: "1970-01-02".to_owned(),
            ..LedgerQuery::default()
        };
        let found = wanted(&which, "user:ana").unwrap();
        assert_eq!((found.job, found.from, found.until), (Some(7), Some(86_400), None));
        assert_eq!(
            query(&which, "user:ana"),
            "account=user%3Aana&job=%207%20&kind=hold&from=1970-01-02"
        );
        let wrong = |which: LedgerQuery| wanted(&which, "").unwrap_err().parts().1.field.clone();
        assert_eq!(
            wrong(LedgerQuery { job: "x".to_owned(), ..LedgerQuery::default() }).as_deref(),
            Some("job")
        );
        assert_eq!(
            wrong(LedgerQuery { until: "x".to_owned(), ..LedgerQuery::default() }).as_deref(),
            Some("until")
        );
        assert!(wanted(&LedgerQuery::default(), "thief:ana").is_err());
    }

    #[test]
    fn spreadsheets_run_nothing() {
        assert_eq!([quoted("=1"), quoted("a,b"), quoted("a\"b")], ["'=1", "\"a,b\"", "\"a\"\"b\""]);
    }
}
