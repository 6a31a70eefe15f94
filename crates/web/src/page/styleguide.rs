//! All components of the pages on one, in both themes: in development builds only.

use askama::Template;
use axum::extract::State;

use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;

#[derive(Template)]
#[template(path = "page/styleguide.html")]
struct Styleguide {
    shell: Shell,
    themes: [&'static str; 2],
}

/// Colours of text, and of what is drawn.
const INKS: [&str; 5] = ["ink", "soft", "accent", "bad", "good"];
const FILLS: [&str; 12] = [
    "running",
    "done",
    "failed",
    "cancelled",
    "expected",
    "booked",
    "starting",
    "local",
    "withheld",
    "down",
    "accent",
    "line",
];

impl Styleguide {
    fn inks() -> [&'static str; 5] {
        INKS
    }

    fn fills() -> [&'static str; 12] {
        FILLS
    }

    fn states() -> [&'static str; 6] {
        ["PENDING", "CONFIGURING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]
    }
}

pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> PageResult {
    let shell = Shell::new(&context, &caller, "Styleguide").await?;
    page(&Styleguide { shell, themes: ["light", "dark"] })
}
