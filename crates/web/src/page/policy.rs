//! Which policy decides, and what others would do with the same queue.

use askama::Template;
use axum::Form;
use axum::extract::State;
use serde::Deserialize;
use tradewind_daemon::live::Ask;
use tradewind_daemon::live::rights::Role;

use super::reply::{Shown, go, show as page};
use super::shell::Shell;
use super::words;
use crate::api::Context;
use crate::documents::{WhatIf, WhatIfQuestion};
use crate::doors::Caller;
use crate::extract::{Document, Selection};
use crate::failure::{Answer, Failure};
use crate::routes::advice;

/// Policies that are compared at once, at most.
const MOST: usize = 6;
/// What is compared if nobody says otherwise.
const USUAL: &str = "fcfs, easy, conservative, css";
/// Changes that are shown of each.
const SHOWN: usize = 50;

/// Which policies.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Which {
    /// With commas between.
    #[serde(default)]
    compare: String,
}

#[derive(Template)]
#[template(path = "page/policy.html")]
struct PolicyPage {
    shell: Shell,
    compare: String,
    found: Vec<(String, Result<WhatIf, String>)>,
    shown: usize,
}

impl PolicyPage {
    fn now(&self) -> Option<&WhatIf> {
        self.found.iter().find_map(|(_, it)| it.as_ref().ok())
    }
}

fn may(caller: &Caller) -> Answer<()> {
    match caller.actor.role {
        Role::Administrator => Ok(()),
        Role::User | Role::Owner | Role::Peer => {
            Err(Failure::forbidden("only an administrator decides which policy decides"))
        }
    }
}

pub(crate) async fn show(
    State(context): State<Context>,
    caller: Caller,
    Selection(Which { compare }): Selection<Which>,
) -> Shown {
    may(&caller)?;
    let shell = Shell::new(&context, &caller, "Policy").await?;
    let mut found = Vec::new();
    for policy in names(&compare) {
        let question = WhatIfQuestion { policy: Some(policy.clone()), ..WhatIfQuestion::default() };
        let asked =
            advice::whatif(State(context.clone()), caller.clone(), Document(question)).await;
        let asked = asked.map(|it| it.0).map_err(|failure| failure.parts().1.message.clone());
        found.push((policy, asked));
    }
    let compare = if compare.is_empty() { USUAL.to_owned() } else { compare };
    page(&PolicyPage { shell, compare, found, shown: SHOWN })
}

/// Commas within brackets belong to a policy.
fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut depth = 0_u32;
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                names.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = names.last_mut() {
            last.push(letter);
        }
    }
    let names = names.into_iter().map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).take(MOST).collect()
}

/// The policy that is to decide.
#[derive(Debug, Deserialize)]
pub(crate) struct Choice {
    policy: String,
}

pub(crate) async fn switch(
    State(context): State<Context>,
    caller: Caller,
    Form(Choice { policy }): Form<Choice>,
) -> Shown {
    may(&caller)?;
    context.ask(caller.actor, Ask::Policy { policy }).await?;
    Ok(go("/policy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_stay() {
        let all = names(" easy[depth=4,order=sjf], css,, fcfs ");
        assert_eq!(all, ["easy[depth=4,order=sjf]", "css", "fcfs"]);
    }
}
