//! Administration: sites as they answer and as they were examined, notifications, daemons, credits,
//! and what was done recently.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::audit::{AuditKind, StoredAuditEntry};
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::Role;
use tradewind_daemon::live::{Ask, Unknown};
use tradewind_daemon::site::{Finding, Verdict};

use super::reply::{PageResult, go, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::context::Context;
use crate::documents::{Credits, Site, Standby};
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::operations::{Daemons, Examined, Receiver};
use crate::routes::projects::check_note;
use crate::routes::standby::standing;
use crate::views::sites;

/// Rows of the audit log that are shown, and that are looked at.
const ROWS: usize = 100;
const LOOKED: usize = 100_000;
/// The log is shown for so long.
const DAY: i64 = 86_400;

/// What is looked for in the audit log.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct AdminQuery {
    /// Of this kind; empty: all.
    #[serde(default)]
    kind: String,
    /// Of this user; empty: all.
    #[serde(default)]
    user: String,
}

#[derive(Template)]
#[template(path = "page/admin.html")]
struct Admin {
    shell: Shell,
    which: AdminQuery,
    sites: Vec<Site>,
    log: Result<Vec<StoredAuditEntry>, String>,
    operations: DaemonReport,
    /// What was refused, and what was typed.
    wrong: Option<String>,
    filled: GrantForm,
}

/// What the daemon says of itself.
struct DaemonReport {
    /// Since when the sites are examined, if they are now.
    examining: Option<i64>,
    examined: Option<Examined>,
    receivers: Vec<Receiver>,
    /// `None`: no other daemon can own the market.
    daemons: Option<Result<Daemons, String>>,
    /// This daemon follows another.
    standby: Option<Standby>,
}

impl DaemonReport {
    async fn of(context: &Context) -> Answer<DaemonReport> {
        let (examining, examined) = context.examinations.look();
        let of_daemon = std::sync::Arc::clone(&context.operations);
        let (receivers, daemons) =
            blocking(move || (of_daemon.receivers(), of_daemon.daemons())).await?;
        Ok(DaemonReport { examining, examined, receivers, daemons, standby: standing(context) })
    }
}

impl Admin {
    /// What is not good, the worst first, each once with all sites at which it is so; and how much
    /// is good.
    fn sorted(found: &[(String, Finding)]) -> (Vec<(Vec<&str>, &Finding)>, usize) {
        let mut wrong: Vec<(Vec<&str>, &Finding)> = Vec::new();
        for (site, it) in found.iter().filter(|(_, it)| it.verdict != Verdict::Good) {
            match wrong.iter_mut().find(|(_, known)| *known == it) {
                Some((sites, _)) => sites.push(site),
                None => wrong.push((vec![site], it)),
            }
        }
        wrong.sort_by_key(|(_, it)| std::cmp::Reverse(it.verdict));
        let good = found.iter().filter(|(_, it)| it.verdict == Verdict::Good).count();
        (wrong, good)
    }

    fn kinds() -> [(AuditKind, &'static str); 9] {
        AuditKind::ALL
    }

    fn nodes(site: &Site) -> (u64, u64) {
        let sum = |of: fn(&crate::documents::Pool) -> u64| site.pools.iter().map(of).sum();
        (sum(|it| u64::from(it.nodes)), sum(|it| u64::from(it.down)))
    }
}

/// Credits from the bank, or another action.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct GrantForm {
    /// `examine`; empty: credits are granted.
    #[serde(default)]
    act: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    amount: String,
    #[serde(default)]
    note: String,
}

fn may(caller: &Caller) -> Answer<()> {
    match caller.actor.role {
        Role::Administrator => Ok(()),
        Role::User | Role::Owner | Role::Peer => {
            Err(ErrorResponse::forbidden("only an administrator may see this"))
        }
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(which): Selection<AdminQuery>,
) -> PageResult {
    may(&caller)?;
    page(&shown(&context, &caller, which, (None, GrantForm::default())).await?)
}

async fn shown(
    context: &Context,
    caller: &Caller,
    which: AdminQuery,
    (wrong, filled): (Option<String>, GrantForm),
) -> Answer<Admin> {
    let shell = Shell::new(context, caller, "Admin").await?;
    let actor = caller.actor.clone();
    let list = context
        .look(move |live: &_| sites::for_reader(sites::list_now(live), live.state(), &actor));
    let list = sites::counted(list.await?, context.market.gauges(), &caller.actor);
    let log = log(context, &which, shell.now - DAY).await?;
    let operations = DaemonReport::of(context).await?;
    Ok(Admin { shell, which, sites: list.sites, log, operations, wrong, filled })
}

/// The last rows since then, the latest first; the error, if the log cannot be read.
async fn log(
    context: &Context,
    which: &AdminQuery,
    since: i64,
) -> Answer<Result<Vec<StoredAuditEntry>, String>> {
    let kind = AuditKind::ALL.into_iter().find(|(_, it)| *it == which.kind).map(|(kind, _)| kind);
    let (audit, user) = (context.audit.clone(), which.user.trim().to_owned());
    let wanted = move |it: &StoredAuditEntry| {
        (user.is_empty() || user == it.entry.actor) && kind.is_none_or(|kind| kind == it.entry.kind)
    };
    let read = blocking(move || audit.read(0, (LOOKED, LOOKED), Some(since), wanted)).await?;
    Ok(read.map_err(|wrong| wrong.to_string()).map(|(mut rows, _)| {
        rows.reverse();
        rows.truncate(ROWS);
        rows
    }))
}

/// Grants credits; what is wrong is said beside the form, which keeps what was typed.
pub(crate) async fn act(
    State(context): State<Context>,
    caller: Caller,
    Form(filled): Form<GrantForm>,
) -> PageResult {
    may(&caller)?;
    if filled.act == "examine" {
        examine(&context);
        return Ok(go("/admin#examination"));
    }
    let done = match grant(&filled) {
        Ok((ask, to)) => context.ask(caller.actor.clone(), ask).await.map(|_| to),
        Err(failure) => Err(failure),
    };
    match done {
        Ok(to) => Ok(go(&format!("/ledger?account={}", words::in_address(&to.to_string())))),
        Err(failure) if failure.is_unavailable() => Err(failure.into()),
        Err(failure) => {
            let (status, problem) = failure.parts();
            let wrong = match problem.hint.as_str() {
                "" => problem.message.clone(),
                hint => format!("{}: {hint}", problem.message),
            };
            let query = AdminQuery::default();
            Ok(page(&shown(&context, &caller, query, (Some(wrong), filled)).await?)?.at(status))
        }
    }
}

/// Has the sites examined on a thread of its own, unless that is done already.
fn examine(context: &Context) {
    let context = context.clone();
    drop(tokio::task::spawn_blocking(move || {
        let Some(examining) = context.examinations.begin(moment()) else { return };
        let found = context.operations.examine();
        examining.end(moment(), found);
    }));
}

/// By the system's clock: this is not the market's business.
fn moment() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn grant(filled: &GrantForm) -> Answer<(Ask, Account)> {
    let text = filled.to.trim();
    let named = if text.contains(':') { text.to_owned() } else { format!("user:{text}") };
    let to = Account::parse(&named).ok_or_else(|| {
        let hint = "a user’s name, or project:NAME";
        ErrorResponse::invalid(format!("`{text}` is no account"), hint).in_field("to")
    })?;
    let wrong =
        || ErrorResponse::invalid("there is no such amount", "credits above 0, as in 120.5");
    let amount: Option<Credits> = serde_json::from_str(filled.amount.trim()).ok();
    let amount = amount.and_then(Credits::money).filter(|it| it.0 > 0);
    let amount = amount.ok_or_else(|| wrong().in_field("amount"))?;
    let note = filled.note.trim().to_owned();
    check_note(&note)?;
    let (from, unknown) = (Account::Bank, Unknown::Refuse);
    Ok((Ask::Move { from, to: to.clone(), amount, note, unknown }, to))
}
