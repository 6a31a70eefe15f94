//! What is written into the audit log.

use axum::http::{Method, StatusCode};
use std::net::IpAddr;
use tradewind_daemon::audit::{Audit, AuditKind};
use tradewind_daemon::live::ledger::projects::import::AccountingRow;
use tradewind_daemon::live::rights::Role;
use tradewind_daemon::live::{Ask, ProjectChange, Refusal, Reply};

use crate::auth::Caller;
use crate::failure::ErrorResponse;

/// What a request changes, for the audit log, and its subject. Notes of people are left out:
/// there may be anything in them.
pub(crate) fn of(ask: &Ask) -> Option<(AuditKind, String)> {
    match ask {
        Ask::Admit { user, role, .. } => {
            let role = Role::ALL.iter().find(|(it, _)| it == role).map_or("", |(_, name)| name);
            Some((AuditKind::Rights, format!("a token for {user} as {role}")))
        }
        Ask::Expel { token } => Some((AuditKind::Rights, format!("token {token} revoked"))),
        Ask::Rotate { token, .. } => {
            Some((AuditKind::Rights, format!("another secret for token {token}")))
        }
        // The pool's name is added where it is known.
        Ask::Tariff { text, .. } => {
            let what = if text.is_some() { "a table of prices" } else { "prices as configured" };
            Some((AuditKind::Price, what.to_owned()))
        }
        Ask::Policy { policy } => Some((AuditKind::Policy, policy.clone())),
        Ask::Move { from, to, amount, .. } => {
            Some((AuditKind::Money, format!("{amount} from {from} to {to}")))
        }
        Ask::Budget { holder, .. } => {
            Some((AuditKind::Money, format!("a budget of energy or carbon for {holder}")))
        }
        Ask::Project { project, wish } => Some((AuditKind::Rights, wished(project, wish))),
        Ask::SettleAway { job, outcome } => {
            let subject = format!("job {job} at a peer settled as {}", outcome.name());
            Some((AuditKind::Job, subject))
        }
        Ask::Reclaim(wanted) => {
            let whose = wanted
                .pool
                .as_ref()
                .map_or_else(|| wanted.site.clone(), |pool| format!("{}/{pool}", wanted.site));
            Some((AuditKind::Job, format!("{} nodes of {whose} taken back", wanted.nodes)))
        }
        Ask::Import { rows } => {
            Some((AuditKind::Rights, format!("a table of {} rows", rows.len())))
        }
        _ => None,
    }
}

/// Credits that a table moves, beside what else it changes.
pub(crate) fn credits_of(ask: &Ask) -> Option<String> {
    let Ask::Import { rows } = ask else { return None };
    let credits = |row: &&AccountingRow| match row {
        AccountingRow::User { credits, .. } | AccountingRow::Project { credits, .. } => {
            credits.is_some()
        }
        AccountingRow::Member { .. } => false,
    };
    let count = rows.iter().filter(credits).count();
    (count > 0).then(|| format!("credits in {count} of {} rows of a table", rows.len()))
}

/// The job that a request changes, and how: it is recorded if the job is another user's.
pub(crate) fn job_of(ask: &Ask) -> Option<(u64, &'static str)> {
    match ask {
        Ask::Cancel { job } => Some((*job, "cancelled")),
        Ask::Hold { job } => Some((*job, "held")),
        Ask::Release { job } => Some((*job, "released")),
        Ask::Requeue { job } => Some((*job, "requeued")),
        Ask::Change { job, .. } | Ask::Update { job, .. } => Some((*job, "updated")),
        _ => None,
    }
}

fn wished(project: &str, wish: &ProjectChange) -> String {
    match wish {
        ProjectChange::Make { .. } => format!("project {project} made"),
        ProjectChange::Note { .. } => format!("another note on project {project}"),
        ProjectChange::Join { user, role } => {
            format!("{user} is a {} of project {project}", role.name())
        }
        ProjectChange::Leave { user } => format!("{user} is no member of project {project}"),
        ProjectChange::Limit { user: None, .. } => format!("limits of project {project}"),
        ProjectChange::Limit { user: Some(user), .. } => {
            format!("limits of {user} in project {project}")
        }
    }
}

/// The outcome.
pub(crate) fn outcome(asked: &Result<Reply, Refusal>) -> String {
    match asked {
        Ok(Reply::Number(number)) => format!("done, number {number}"),
        Ok(_) => "done".to_owned(),
        Err(refusal) => format!("refused: {:?}", refusal.kind).to_lowercase(),
    }
}

/// Where an administrator reads what belongs to many users, and what that is. Where it is one
/// user's, the handler writes it down with the name.
const WIDE_READS: [(&str, &str); 19] = [
    ("/", "jobs of all users"),
    ("/jobs", "jobs of all users"),
    ("/page/board", "jobs of all users"),
    ("/page/board/picture", "jobs of all users"),
    ("/page/board/digest", "jobs of all users"),
    ("/page/board/places", "jobs of all users"),
    ("/v1/whatif", "jobs of all users"),
    ("/spending", "usage of all users"),
    ("/spending.csv", "usage of all users"),
    ("/v1/usage", "usage of all users"),
    ("/v1/report", "usage of all users"),
    ("/projects", "projects and their members"),
    ("/v1/projects", "projects and their members"),
    ("/v1/export", "users, projects and budgets"),
    ("/ledger", "balances of all accounts"),
    ("/v1/accounts", "balances of all accounts"),
    ("/access", "tokens and sessions of all users"),
    ("/v1/tokens", "tokens and sessions of all users"),
    ("/v1/sessions", "tokens and sessions of all users"),
];

/// What an administrator reads of many users on this route, if it does not change anything.
pub(crate) fn wide_read(caller: &Caller, method: &Method, route: &str) -> Option<&'static str> {
    let reads = *method == Method::GET || *method == Method::HEAD || route == "/v1/whatif";
    let is_wide = caller.actor.role == Role::Administrator && reads;
    let found = WIDE_READS.iter().find(|(path, _)| *path == route);
    found.filter(|_| is_wide).map(|(_, what)| *what)
}

/// An administrator reads what belongs to `owner`.
pub(crate) fn read(audit: &Audit, caller: &Caller, owner: &str, what: &str) {
    let Caller { actor, .. } = caller;
    if actor.role == Role::Administrator && actor.user != owner {
        audit.note(&actor.user, AuditKind::Read, what, "done");
    }
}

/// A user's session on the pages was ended by another one.
pub(crate) fn session_ended(audit: &Audit, caller: &Caller, owner: &str, id: u64) {
    if caller.actor.user != owner {
        let subject = format!("session {id} of {owner} ended");
        audit.note(&caller.actor.user, AuditKind::Rights, subject, "done");
    }
}

/// A request was refused: for want of a right, for a limit, or for the name of another host.
pub(crate) fn refused(
    audit: &Audit,
    failure: &ErrorResponse,
    address: IpAddr,
    (method, route): (&str, &str),
) {
    let (status, problem) = failure.parts();
    let counts = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::MISDIRECTED_REQUEST,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    if !counts.contains(&status) {
        return;
    }
    let actor = failure.who().map_or_else(|| format!("@{}", address.to_canonical()), str::to_owned);
    let what = problem.limit.as_deref().unwrap_or(&problem.kind);
    let outcome = format!("{} {what}", status.as_u16());
    audit.note(&actor, AuditKind::Refusal, format!("{method} {route}"), outcome);
}
