//! The first page: how the market is.

use askama::Template;
use axum::extract::State;
use tradewind_daemon::live::state::{Job, Phase, State as Books};

use super::reply::{Shown, show as page};
use super::shell::Shell;
use super::words;
use crate::api::Context;
use crate::documents;
use crate::doors::Caller;
use crate::views;

#[derive(Template)]
#[template(path = "page/now.html")]
struct Now {
    shell: Shell,
    cards: Vec<Card>,
    /// The reader's own jobs that are not over, the newest first, and how many there are.
    own: (Vec<documents::Job>, usize),
    /// Of which pools the timeline is: all.
    board_pools: &'static str,
}

/// A number with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Card {
    name: &'static str,
    value: String,
    note: String,
    alarm: bool,
}

/// How the market is.
pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> Shown {
    let shell = Shell::new(&context, &caller, "Now").await?;
    let user = caller.actor.user;
    let (cards, own) =
        context.look(move |live| (cards(live.state()), own(live.state(), &user))).await?;
    page(&Now { shell, cards, own, board_pools: "" })
}

/// Jobs of the reader that are shown.
const OWN: usize = 8;

fn own(state: &Books, user: &str) -> (Vec<documents::Job>, usize) {
    let over = |job: &Job| matches!(job.phase, Phase::Over(_));
    let own: Vec<&Job> =
        state.jobs.values().rev().filter(|job| job.user == user && !over(job)).collect();
    (own.iter().take(OWN).map(|job| views::jobs::line(state, job)).collect(), own.len())
}

fn cards(state: &Books) -> Vec<Card> {
    let now = state.now();
    let card = |name, value: String, note: String| Card { name, value, note, alarm: false };
    let count =
        |wanted: fn(&Phase) -> bool| state.jobs.values().filter(|job| wanted(&job.phase)).count();
    let running = count(|phase| *phase == Phase::Running);
    let waiting = count(|phase| *phase == Phase::Waiting);
    let held = count(|phase| matches!(phase, Phase::Held(_)));
    let oldest = state.jobs.values().filter(|job| job.phase == Phase::Waiting);
    let oldest = oldest.map(|job| (now - job.submitted).0).max();
    let longest = state.jobs.values().filter(|job| job.phase == Phase::Running);
    let longest = longest.filter_map(|job| Some((now - job.started?).0)).max();
    let sites = views::sites::list(state).sites;
    let pools = || sites.iter().flat_map(|site| &site.pools);
    let sum = |of: fn(&crate::documents::Pool) -> u32| pools().map(of).sum::<u32>();
    let (nodes, ours, local) = (sum(|it| it.nodes), sum(|it| it.ours), sum(|it| it.local));
    let (free, down) = (sum(|it| it.free), sum(|it| it.down));
    let prices = || pools().map(|pool| pool.price);
    let price = match (prices().min(), prices().max()) {
        (Some(low), Some(high)) if low == high => words::credits(&low),
        (Some(low), Some(high)) => format!("{} – {}", words::credits(&low), words::credits(&high)),
        _ => "–".to_owned(),
    };
    let told = |what: &str, span: Option<i64>| {
        span.map_or_else(String::new, |span| format!("{what} {}", words::span(&span)))
    };
    vec![
        card("Running", running.to_string(), told("longest for", longest)),
        card("Waiting", waiting.to_string(), told("oldest for", oldest)),
        Card { alarm: held > 0, ..card("Held", held.to_string(), "need somebody".to_owned()) },
        card("Nodes in use", format!("{} of {nodes}", ours + local), format!("{local} by owners")),
        card("Free nodes", free.to_string(), "to be had at once".to_owned()),
        Card { alarm: down > 0, ..card("Down", down.to_string(), "nodes".to_owned()) },
        card("Price", price, "credits per node-second".to_owned()),
    ]
}
