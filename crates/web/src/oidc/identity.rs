//! The identity of a user here, from what the provider says.

use serde_json::{Map, Value};
use tradewind_daemon::live::rights::Role;

use super::{Provider, Refused};

/// The longest name of a user.
const MAX_NAME: usize = 64;
/// Groups that are looked at.
const MAX_GROUPS: usize = 10_000;
/// The user whom sites without an owner belong to: for administrators only.
const ADMINISTRATOR: &str = "administrator";

/// A user, as the market knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Name of the user in the market.
    pub(crate) user: String,
    /// What they may do.
    pub(crate) role: Role,
    /// The projects that their groups put them in, by name.
    pub(crate) projects: Vec<String>,
}

/// The ID token of a sign-in: it tells the provider which of its sessions ends with ours. It opens
/// nothing, but names the user, so that it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Hint(pub(super) String);

impl std::fmt::Debug for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hint")
    }
}

/// Makes the claims a user, or says why not.
pub(super) fn of(provider: &Provider, claims: &Map<String, Value>) -> Result<Identity, Refused> {
    let user = user(provider, claims)?;
    let groups = groups(claims, &provider.groups_claim);
    let Some(role) = role(provider, &groups) else {
        let claim = &provider.groups_claim;
        let why = match groups.is_empty() {
            true => format!("the claim `{claim}` names no group"),
            false => "none of your groups has a role here".to_owned(),
        };
        return Err(Refused::NoRole { user, why });
    };
    if user == ADMINISTRATOR && role != Role::Administrator {
        return Err(person(format!("the name `{ADMINISTRATOR}` is for administrators")));
    }
    Ok(Identity { user, role, projects: projects(provider, &groups) })
}

fn person(why: impl Into<String>) -> Refused {
    Refused::Person(why.into())
}

/// The claim of this name; or, as in `realm_access.roles`, one within another.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(found) = claims.get(name) {
        return Some(found);
    }
    let (first, rest) = name.split_once('.')?;
    claim(claims.get(first)?.as_object()?, rest)
}

/// Whether all claims are there that decide.
pub(super) fn is_whole(provider: &Provider, claims: &Map<String, Value>) -> bool {
    let needs_groups = !provider.roles.is_empty() || !provider.projects.is_empty();
    claim(claims, &provider.user_claim).is_some()
        && (!needs_groups || claim(claims, &provider.groups_claim).is_some())
}

fn user(provider: &Provider, claims: &Map<String, Value>) -> Result<String, Refused> {
    let name = &provider.user_claim;
    let Some(Value::String(user)) = claim(claims, name) else {
        return Err(person(format!("the claim `{name}` is missing")));
    };
    if name == "email" {
        let verified = match claims.get("email_verified") {
            Some(Value::Bool(verified)) => *verified,
            Some(Value::String(text)) => text == "true",
            _ => false,
        };
        if !verified {
            return Err(person("the address is not verified there"));
        }
    }
    let good = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
    match !user.is_empty() && user.len() <= MAX_NAME && user.chars().all(good) {
        true => Ok(user.clone()),
        false => Err(person(format!(
            "the claim `{name}` is no name of at most {MAX_NAME} letters, digits and `_-.@`"
        ))),
    }
}

fn groups<'a>(claims: &'a Map<String, Value>, name: &str) -> Vec<&'a str> {
    match claim(claims, name) {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().take(MAX_GROUPS).filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The strongest role of any group.
fn role(provider: &Provider, groups: &[&str]) -> Option<Role> {
    let strength = |role: &Role| match role {
        Role::Peer => 0,
        Role::User => 1,
        Role::Owner => 2,
        Role::Administrator => 3,
    };
    let given = groups.iter().filter_map(|it| provider.roles.get(*it)).copied();
    given.chain(provider.default_role).max_by_key(strength)
}

/// The projects that the groups put their member in, by name, each once.
///
/// This is the one place where groups become projects; the market keeps the list with the token
/// that is issued (`State::projects_by_sign_in`).
fn projects(provider: &Provider, groups: &[&str]) -> Vec<String> {
    let mut all: Vec<String> =
        groups.iter().filter_map(|it| provider.projects.get(*it)).cloned().collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn provider() -> Provider {
        let pairs = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        Provider {
            name: "P".to_owned(),
            issuer: "https://p.example".to_owned(),
            client_id: "c".to_owned(),
            client_secret: None,
            scopes: vec![],
            user_claim: "preferred_username".to_owned(),
            groups_claim: "groups".to_owned(),
            default_role: None,
            roles: [("hpc", Role::User), ("root", Role::Administrator), ("own", Role::Owner)]
                .map(|(group, role)| (group.to_owned(), role))
                .into(),
            projects: pairs(&[("apollo-team", "apollo"), ("moon", "apollo"), ("mars", "mars")]),
            authorities: None,
        }
    }

    fn of_claims(provider: &Provider, claims: &Value) -> Result<Identity, Refused> {
        of(provider, claims.as_object().unwrap())
    }

    #[test]
    fn groups_become_roles_and_projects() {
        let claims = json!({"preferred_username": "ana",
            "groups": ["moon", "hpc", "own", "apollo-team", "other"]});
        let ana = of_claims(&provider(), &claims).unwrap();
        let projects = vec!["apollo".to_owned()];
        assert_eq!(ana, Identity { user: "ana".to_owned(), role: Role::Owner, projects });
        let one = of_claims(&provider(), &json!({"preferred_username": "ana", "groups": "hpc"}));
        assert_eq!(one.unwrap().role, Role::User);
        let deep = Provider { groups_claim: "realm_access.roles".to_owned(), ..provider() };
        let claims = json!({"preferred_username": "a", "realm_access": {"roles": ["root"]}});
        assert_eq!(of_claims(&deep, &claims).unwrap().role, Role::Administrator);
    }

    #[test]
    fn a_user_without_a_role_has_no_access() {
        for groups in [json!([]), json!(["other"]), json!(null), json!({"hpc": 1}), json!([7])] {
            let claims = json!({"preferred_username": "ana", "groups": groups});
            let refused = of_claims(&provider(), &claims);
            assert!(matches!(refused, Err(Refused::NoRole { .. })), "{groups}");
        }
        let open = Provider { default_role: Some(Role::User), ..provider() };
        let all = of_claims(&open, &json!({"preferred_username": "ana"})).unwrap();
        assert_eq!((all.role, all.projects), (Role::User, vec![]));
    }

    #[test]
    fn mail_is_a_name_only_if_it_is_verified() {
        let by_mail = Provider { user_claim: "email".to_owned(), ..provider() };
        for (verified, good) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!(null), false),
            (json!(1), false),
        ] {
            let claims =
                json!({"email": "a@b.example", "email_verified": verified, "groups": ["hpc"]});
            assert_eq!(of_claims(&by_mail, &claims).is_ok(), good, "{verified}");
        }
    }

    #[test]
    fn names_that_would_be_another_user_are_refused() {
        for name in ["", "a b", "a/b", "é", "administrator", "a\u{202e}b", &"x".repeat(65)] {
            let claims = json!({"preferred_username": name, "groups": ["hpc"]});
            assert!(of_claims(&provider(), &claims).is_err(), "{name}");
        }
        let claims = json!({"preferred_username": "administrator", "groups": ["root"]});
        assert!(of_claims(&provider(), &claims).is_ok());
    }
}
