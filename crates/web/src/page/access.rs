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
use crate::failure::Failure;
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

impl Access {
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
        "session" => {
            let actor = &caller.actor;
            let mine = |it: &crate::auth::sessions::BrowserSession| {
                it.id == id && actor.may_act_for(&it.who.user)
            };
            let ended = context.auth.sessions.end(|_, it| mine(it));
            sessions::close(&context, ended).await?;
        }
        "token" => tokens::expel(&context, caller.actor, id).await?,
        _ => return Err(Failure::invalid("neither a session nor a token", "").into()),
    }
    Ok(go("/access"))
}
