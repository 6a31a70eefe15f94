//! The reader's browsers that are signed in, and tokens: what may be ended is ended here.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;

use super::reply::{PageResult, go, show};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{Role, Session, Token};
use crate::failure::ErrorResponse;
use crate::routes::{sessions, tokens};

/// Rows of each table: an administrator of a large market lists the rest on the command line.
const MAX: usize = 200;

#[derive(Template)]
#[template(path = "page/access.html")]
struct Access {
    shell: Shell,
    sessions: Vec<Session>,
    tokens: Vec<Token>,
    own: u64,
}

/// What browsers call themselves, the particular before the common, and what they are.
const BROWSERS: [(&str, &str); 5] = [
    ("Firefox/", "Firefox"),
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];
const SYSTEMS: [(&str, &str); 6] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// `Firefox 140 on Linux`; what is not known stays as it is.
fn browser(agent: &str) -> String {
    let found = BROWSERS.iter().find_map(|(mark, name)| {
        let (_, rest) = agent.split_once(mark)?;
        let version: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("{name} {version}"))
    });
    let system = SYSTEMS.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name);
    match (found, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser,
        (None, _) => agent.to_owned(),
    }
}

impl Access {
    fn browser(agent: &str) -> String {
        browser(agent)
    }

    fn role(role: &Role) -> &'static str {
        match role {
            Role::User => "user",
            Role::Owner => "owner",
            Role::Administrator => "administrator",
            Role::Peer => "peer",
        }
    }
}

pub(crate) async fn show_all(State(context): State<Context>, caller: Caller) -> PageResult {
    let shell = Shell::new(&context, &caller, "Access").await?;
    let mut sessions = sessions::seen_by(&context, &caller);
    sessions.truncate(MAX);
    let (actor, own) = (caller.actor.clone(), caller.token);
    let tokens = context.look(move |live| tokens::seen_by(live, &actor, MAX)).await?;
    show(&Access { shell, sessions, tokens, own })
}

/// What is to end.
#[derive(Debug, Deserialize)]
pub(crate) struct Ended {
    /// `session` or `token`.
    what: String,
    id: u64,
}

pub(crate) async fn end(
    State(context): State<Context>,
    caller: Caller,
    Form(Ended { what, id }): Form<Ended>,
) -> PageResult {
    match what.as_str() {
        "session" => drop(sessions::end_session(&context, &caller, id).await?),
        "token" => tokens::expel(&context, caller.actor, id).await?,
        _ => return Err(ErrorResponse::invalid("neither a session nor a token", "").into()),
    }
    Ok(go("/access"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_have_short_names() {
        let known = [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
              HeadlessChrome/156.0.0.0 Safari/537.36",
                "Chrome 156 on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox 140 on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 \
              (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
                "Safari 17 on iPhone",
            ),
            ("curl/8.0", "curl/8.0"),
            ("", ""),
        ];
        for (agent, name) in known {
            assert_eq!(browser(agent), name);
        }
    }
}
