//! `[sign_in]`: how people sign in, and for how long.

use std::collections::BTreeMap;

use tradewind_model::Span;

use super::read::{check_url, text, texts};
use crate::diagnostics::excerpt;
use crate::fields::{Fields, Notes};
use crate::value::{Value, ValueKind};

/// How people sign in, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignIn {
    /// The origin at which browsers reach the daemon; `None`: where it listens.
    pub url: Option<String>,
    /// A session on the pages ends after so long without a request.
    pub session_idle: Span,
    /// It ends after so long in any case, as do tokens of signing in.
    pub session_longest: Span,
    /// How long a new token is valid by default; `None`: until it is revoked.
    pub token_lifetime: Option<Span>,
    /// Who answers for people's identities.
    pub provider: Option<Provider>,
}

impl Default for SignIn {
    fn default() -> SignIn {
        SignIn {
            url: None,
            session_idle: Span(4 * 3_600),
            session_longest: Span(12 * 3_600),
            token_lifetime: Some(Span(365 * 86_400)),
            provider: None,
        }
    }
}

/// A provider of identities that speaks OpenID Connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// What people call it.
    pub name: String,
    /// Its URL, as its tokens have it.
    pub issuer: String,
    /// Who we are to it.
    pub client_id: String,
    /// The file of the secret that proves it; `None`: a public client.
    pub client_secret_file: Option<String>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// The claim that is the user's name.
    pub user_claim: String,
    /// The claim that lists the user's groups.
    pub groups_claim: String,
    /// The role of those in none of the groups; `None`: they get no access.
    pub default_role: Option<RoleName>,
    /// By group: what its members may do. The strongest counts.
    pub roles: BTreeMap<String, RoleName>,
    /// By group: the project that its members are in.
    pub projects: BTreeMap<String, String>,
    /// Authorities to trust for it instead of the usual ones: a file in PEM.
    pub ca_file: Option<String>,
}

/// What people may do who sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleName {
    /// Their own jobs and accounts.
    User,
    /// The same, and their sites.
    Owner,
    /// May see and change everything.
    Administrator,
}

const ROLES: [(&str, RoleName); 3] = [
    ("user", RoleName::User),
    ("owner", RoleName::Owner),
    ("administrator", RoleName::Administrator),
];

pub(super) const KEYS: [&str; 5] =
    ["url", "session_idle", "session_longest", "token_lifetime", "oidc"];

const OIDC: [&str; 11] = [
    "issuer",
    "client_id",
    "name",
    "client_secret_file",
    "scopes",
    "user_claim",
    "groups_claim",
    "default_role",
    "roles",
    "projects",
    "ca_file",
];

/// The longest span: ten years, in seconds.
const LONGEST: i64 = 3_650 * 86_400;

pub(super) fn sign_in(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> SignIn {
    let usual = SignIn::default();
    let url = text(fields, "url", notes);
    if let Some(url) = &url {
        check_origin(url, fields, notes);
    }
    let oidc = fields.get("oidc").and_then(|it| Fields::of(it, fields.place("oidc"), &OIDC, notes));
    let provider = oidc.and_then(|it| provider(&it, notes));
    if provider.is_some() && url.is_none() {
        let message = "`url` is missing: the provider must know where to send people back to";
        let hint = "write the origin at which browsers reach the daemon, as in \
                    `https://market.example.org`";
        notes.error(fields.line_of("oidc"), &fields.place("url"), message.to_owned(), hint);
    }
    let mut span =
        |key: &str, usual: Span| fields.span(key, 60..=30 * 86_400, notes).unwrap_or(usual);
    let session_idle = span("session_idle", usual.session_idle);
    let session_longest = span("session_longest", usual.session_longest);
    let token_lifetime = token_lifetime(fields, notes);
    SignIn { url, session_idle, session_longest, token_lifetime, provider }
}

fn token_lifetime(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Span> {
    let never =
        |it: &Value<'_>| matches!(&it.kind, ValueKind::Text(text) if text.trim() == "never");
    if fields.get("token_lifetime").is_some_and(never) {
        return None;
    }
    let given = fields.span("token_lifetime", 60..=LONGEST, notes);
    given.or(SignIn::default().token_lifetime)
}

/// Scheme, host and port, and no more.
fn check_origin(url: &str, fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
    let (line, place) = (fields.line_of("url"), fields.place("url"));
    check_url(url, (line, &place), notes);
    let host = url.split_once("://").map_or("", |(_, host)| host);
    if host.contains(['/', '?', '#']) || host != host.to_ascii_lowercase() {
        let message = format!("`{}` is more than an origin, or not in lower case", excerpt(url));
        let hint = "write scheme, host and port alone, as in `https://market.example.org`";
        notes.error(line, &place, message, hint);
    }
}

fn provider(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Provider> {
    fields.require(&OIDC[..2], notes);
    let issuer = text(fields, "issuer", notes);
    if let Some(issuer) = &issuer {
        check_url(issuer, (fields.line_of("issuer"), &fields.place("issuer")), notes);
    }
    let or = |found: Option<String>, usual: &str| found.unwrap_or_else(|| usual.to_owned());
    let scopes: Vec<String> = texts(fields, "scopes", notes).into_iter().map(|it| it.0).collect();
    let scopes = match scopes.is_empty() {
        true => ["openid", "profile", "email"].map(str::to_owned).to_vec(),
        false => scopes,
    };
    let default_role = fields.word("default_role", &ROLES, notes);
    let roles = roles(fields, notes);
    if roles.is_empty() && default_role.is_none() {
        let message = "no user could sign in: no group has a role".to_owned();
        let hint = "write `roles = { GROUP = \"user\" }`, or `default_role = \"user\"` for all who \
                    have an account there";
        notes.error(fields.line, &fields.path, message, hint);
    }
    Some(Provider {
        name: or(text(fields, "name", notes), "OpenID Connect"),
        issuer: issuer?,
        client_id: text(fields, "client_id", notes)?,
        client_secret_file: text(fields, "client_secret_file", notes),
        scopes,
        user_claim: or(text(fields, "user_claim", notes), "preferred_username"),
        groups_claim: or(text(fields, "groups_claim", notes), "groups"),
        default_role,
        roles,
        projects: pairs(fields, "projects", notes).into_iter().map(|it| (it.0, it.1)).collect(),
        ca_file: text(fields, "ca_file", notes),
    })
}

fn roles(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> BTreeMap<String, RoleName> {
    let mut roles = BTreeMap::new();
    for (group, name, line) in pairs(fields, "roles", notes) {
        match ROLES.iter().find(|(word, _)| *word == name) {
            Some((_, role)) => drop(roles.insert(group, *role)),
            None => {
                let message = format!("unknown role `{}`", excerpt(&name));
                let place = format!("{}.{group}", fields.place("roles"));
                notes.error(line, &place, message, "write `user`, `owner` or `administrator`");
            }
        }
    }
    roles
}

/// A table of texts: keys, values and their lines.
fn pairs(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Vec<(String, String, u32)> {
    let mut all = Vec::new();
    let Some(value) = fields.get(key) else { return all };
    let hint = "write a table of texts, as in `{ group = \"name\" }`";
    let ValueKind::Table(entries) = &value.kind else {
        let message = format!("expected a table, found {}", value.describe());
        notes.error(value.line, &fields.place(key), message, hint);
        return all;
    };
    for entry in entries {
        match &entry.value.kind {
            ValueKind::Text(text)
                if !text.trim().is_empty() && !text.chars().any(char::is_control) =>
            {
                all.push((entry.key.to_string(), text.trim().to_owned(), entry.line));
            }
            _ => {
                let message = format!("expected a text, found {}", entry.value.describe());
                let place = format!("{}.{}", fields.place(key), entry.key);
                notes.error(entry.line, &place, message, hint);
            }
        }
    }
    all
}
