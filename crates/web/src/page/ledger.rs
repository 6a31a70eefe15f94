//! Accounts and what moved between them.

use askama::Template;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tradewind_daemon::live::Live;
use tradewind_daemon::live::money::{Account, Accounts};

use super::clock::{clock, instant};
use super::reply::{PageResult, Trouble, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{AccountList, Credits, Posting};
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::notes;
use crate::views::accounts::{self, FoundPostings, PostingFilter};

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
const KINDS: [(&str, &str); 6] = [
    ("", "All"),
    ("hold", "Holds"),
    ("settle", "Settlements"),
    ("refund", "Refunds"),
    ("grant", "Grants"),
    ("cover", "Paid by the market"),
];

#[derive(Template)]
#[template(path = "page/ledger.html")]
struct Ledger {
    shell: Shell,
    accounts: AccountList,
    account: String,
    which: LedgerQuery,
    found: FoundPostings,
    /// What is wrong with the filter.
    wrong: Option<FilterError>,
    next: Option<u64>,
    /// The filter as it stands in an address.
    query: String,
    kept: usize,
    /// Nothing but the account is looked for.
    is_bare: bool,
}

/// What is wrong with the filter, and in which field.
struct FilterError {
    field: String,
    message: String,
    hint: String,
}

impl Ledger {
    fn is_wrong(&self, field: &str) -> bool {
        self.wrong.as_ref().is_some_and(|it| it.field == field)
    }

    /// What was paid, if only that or everything of an account was asked for.
    fn spent(&self) -> Option<Credits> {
        let asked = self.which.kind.is_empty() || self.which.kind == "settle";
        Some(Credits(self.found.spent)).filter(|it| asked && it.0 > 0)
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<LedgerQuery>,
) -> PageResult {
    let account = account(&which, &caller);
    let found = match wanted(&which, &account) {
        Ok(wanted) => found(&context, &caller, &which, (&account, wanted)).await,
        Err(failure) => Err(failure),
    };
    let (found, is_bare, failure) = match found {
        Ok((found, is_bare)) => (found, is_bare, None),
        Err(failure) if failure.is_unavailable() => return Err(failure.into()),
        Err(failure) => (FoundPostings::default(), false, Some(failure)),
    };
    let status = failure.as_ref().map(|it| it.parts().0);
    let wrong = failure.map(|it| {
        let problem = it.parts().1.clone();
        let field = problem.field.unwrap_or_else(|| "account".to_owned());
        FilterError { field, message: problem.message, hint: problem.hint }
    });
    let shell = Shell::new(&context, &caller, "Ledger").await?;
    let actor = caller.actor;
    let list = move |live: &Live| accounts::list(live.state(), &actor, None, ACCOUNTS);
    let accounts = context.look(list).await?;
    let last = found.page.last().filter(|_| found.page.len() == PAGE);
    let next = last.map(|it| it.number).filter(|number| *number > 1);
    let (query, kept) = (query(&which, &account), Accounts::KEPT);
    let page_of =
        Ledger { shell, accounts, account, which, found, wrong, next, query, kept, is_bare };
    let made = page(&page_of)?;
    Ok(match status {
        Some(status) => made.at(status),
        None => made,
    })
}

/// Writes down that an administrator reads a statement of others.
fn note_read(context: &Context, caller: &Caller, account: &str, wanted: &PostingFilter) {
    let own = Account::User(caller.actor.user.clone());
    if wanted.account.as_ref() != Some(&own) {
        let whose = if account.is_empty() { "all accounts" } else { account };
        notes::read(&context.audit, caller, "", &format!("statement of {whose}"));
    }
}

/// The postings of a page, and whether nothing but the account was asked for.
async fn found(
    context: &Context,
    caller: &Caller,
    which: &LedgerQuery,
    (account, wanted): (&str, PostingFilter),
) -> Answer<(FoundPostings, bool)> {
    note_read(context, caller, account, &wanted);
    let wanted_all =
        wanted == PostingFilter { account: wanted.account.clone(), ..PostingFilter::default() };
    let (before, actor) = (which.before.unwrap_or(u64::MAX), caller.actor.clone());
    let look = context.look(move |live| {
        let state = live.state();
        let may_see = |it| accounts::may_see(state, &actor, it);
        let seen = wanted.account.as_ref().is_none_or(may_see);
        seen.then(|| accounts::postings(state, &actor, &wanted, (before, PAGE)))
    });
    let unknown = || ErrorResponse::unknown(format!("you have no account `{account}`"));
    let found = look.await?.ok_or_else(unknown)?;
    Ok((found, wanted_all && before == u64::MAX))
}

/// The account that is looked at: by default one's own.
fn account(which: &LedgerQuery, caller: &Caller) -> String {
    let own = || Account::User(caller.actor.user.clone()).to_string();
    which.account.clone().unwrap_or_else(own).trim().to_owned()
}

fn wanted(which: &LedgerQuery, account: &str) -> Answer<PostingFilter> {
    let said = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let unknown = || ErrorResponse::unknown(format!("you have no account `{account}`"));
    let job = said(&which.job).map(|text| {
        let wrong = ErrorResponse::invalid(format!("`{text}` is no job’s number"), "as in 42");
        text.parse::<u64>().map_err(|_| wrong.in_field("job"))
    });
    let clock = clock(&which.zone).map_err(|wrong| ErrorResponse::invalid(wrong, "as in UTC"))?;
    let moment = |text: &str, field| {
        said(text).map(|text| {
            let wrong =
                ErrorResponse::invalid(format!("`{text}` is no time"), "as in 2026-11-21 14:00");
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
    note_read(&context, &caller, &account, &wanted);
    let actor = caller.actor;
    let look = context.look(move |live| {
        let state = live.state();
        let seen = match &wanted.account {
            Some(it) => accounts::may_see(state, &actor, it) && state.accounts().knows(it),
            None => true,
        };
        seen.then(|| accounts::postings(state, &actor, &wanted, (u64::MAX, usize::MAX)).page)
    });
    let unknown = || ErrorResponse::unknown(format!("you have no account `{account}`"));
    let postings = look.await?.ok_or_else(unknown)?;
    let line = |it: &Posting| cells(it).map(|cell| quoted(&cell)).join(",") + "\n";
    let text = COLUMNS.join(",") + "\n" + &postings.iter().map(line).collect::<String>();
    let name = account.replace([':', '"', '/', '\\'], "-");
    let name = name.chars().filter(char::is_ascii_graphic).collect::<String>();
    let name = if name.is_empty() { "all".to_owned() } else { name };
    let told = format!("attachment; filename=\"ledger-{name}.csv\"");
    let kind = (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned());
    Ok(([kind, (header::CONTENT_DISPOSITION, told)], text).into_response())
}

/// Columns of the file.
const COLUMNS: [&str; 8] = ["number", "time", "kind", "job", "from", "to", "amount", "note"];

/// A posting under [`COLUMNS`]: the time in UTC as ISO 8601 has it, the amount in credits.
fn cells(it: &Posting) -> [String; 8] {
    let [number, _, kind, job, from, to, amount, note] = it.cells();
    [number, words::iso(it.at), kind, job, from, to, amount, note]
}

/// A field that spreadsheets do not take for a formula.
pub(super) fn quoted(text: &str) -> String {
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
        let grant = Posting {
            number: 3,
            at: 86_400,
            from: "bank".to_owned(),
            to: "user:ana".to_owned(),
            amount: Credits(1_500_000),
            motive: "grant".to_owned(),
            job: None,
            note: None,
        };
        let line = cells(&grant).join(",");
        assert_eq!(line, "3,1970-01-02T00:00:00Z,grant,,bank,user:ana,1.5,");
        assert_eq!([quoted("=1"), quoted("a,b"), quoted("a\"b")], ["'=1", "\"a,b\"", "\"a\"\"b\""]);
    }
}
