//! A policy in Python beside a cluster that is only observed.

use std::sync::Arc;

use tradewind_daemon::shadow::{Adviser, SitePolicy};
use tradewind_model::{Command, Event, Market, Span};

use super::{CommandPolicy, UserCommand};
use crate::exit::Failure;

/// How long each answer may take: a survey waits for it.
const ANSWER_WITHIN: Span = Span(10);

impl Adviser for CommandPolicy {
    fn decide(&mut self, market: &Market, events: &[Event]) -> Result<Vec<Command>, String> {
        let mut commands = Vec::new();
        self.answer(market, events, &mut commands).map_err(|failure| said(&failure))?;
        Ok(commands)
    }
}

/// The policy `module:Class`, which the settings have checked: nothing in it is special to a shell.
pub(crate) fn site_policy(class: &str) -> SitePolicy {
    let text = format!("exec python3 -m tradewind.serve {class}");
    SitePolicy {
        name: format!("python:{class}"),
        start: Box::new(move |pools, stop| {
            let command = UserCommand { text: &text, answer_within: ANSWER_WITHIN };
            let started = CommandPolicy::start(command, pools, Arc::clone(stop));
            Ok(Box::new(started.map_err(|failure| said(&failure))?))
        }),
    }
}

/// A failure as a sentence.
fn said(failure: &Failure) -> String {
    let all: Vec<&str> = failure.problems.iter().map(|it| it.message.as_str()).collect();
    all.join("; ")
}
