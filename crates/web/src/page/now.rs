//! The first page: how the market is, the reader's own first.

use askama::Template;
use axum::extract::State;
use tradewind_daemon::live::Live;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::{Job, Phase, State as Books};
use tradewind_model::{PoolId, Time};

use super::jobs;
use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::clock::present;
use crate::context::Context;
use crate::documents::{self, Credits, Pool, SiteState};
use crate::views;
use crate::views::status::Moment;

#[derive(Template)]
#[template(path = "page/now.html")]
struct NowPage {
    shell: Shell,
    cards: Vec<Card>,
    /// The reader's own jobs that are not over, the newest first, and how many there are.
    own: (Vec<documents::Job>, usize),
    pools: Vec<PoolLine>,
    /// No job was submitted yet.
    is_new: bool,
    /// Of which pools the timeline is: all.
    board_pools: &'static str,
}

/// A number with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Card {
    name: &'static str,
    value: String,
    note: String,
    /// Since when what the note says lasts; its length is shown behind it.
    since: Option<i64>,
    alarm: bool,
    /// The value with all its digits, if some are left out.
    full: String,
    /// Link to the details.
    link: String,
}

/// A pool, and when there is room in it.
struct PoolLine {
    pool: Pool,
    /// The state of its site, if that fails, and since when.
    failure: Option<(SiteState, Option<i64>)>,
    next: NextFree,
}

/// When a node is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextFree {
    Now,
    /// At the latest, if all run as long as they may.
    At(i64),
    Unknown,
}

/// How the market is.
pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> PageResult {
    let shell = Shell::new(&context, &caller, "Now").await?;
    let actor = caller.actor;
    let look = context.see(move |live, moment| {
        let is_new = moment.state.last_job() == 0;
        (cards(moment, &actor), own(moment, &actor.user), pools(live), is_new)
    });
    let (cards, own, pools, is_new) = look.await?;
    page(&NowPage { shell, cards, own, pools, is_new, board_pools: "" })
}

/// Jobs of the reader that are shown.
const OWN: usize = 8;

fn own(moment: &Moment<'_>, user: &str) -> (Vec<documents::Job>, usize) {
    let state = moment.state;
    let over = |job: &Job| matches!(job.phase(), Phase::Over(_));
    let own: Vec<&Job> =
        state.jobs.values().rev().filter(|job| job.user == user && !over(job)).collect();
    (own.iter().take(OWN).map(|job| views::jobs::line(moment, job)).collect(), own.len())
}

fn pools(live: &Live) -> Vec<PoolLine> {
    let state = live.state();
    let ids = state.market.pools().iter().map(|(id, pool)| (pool.name.clone(), id));
    let ids: std::collections::BTreeMap<String, PoolId> = ids.collect();
    let sites = views::sites::list_now(live).sites.into_iter();
    let pools = sites.flat_map(|site| {
        let at = (site.state, site.since);
        site.pools.into_iter().map(move |pool| (pool, at))
    });
    let line = |(pool, at): (Pool, (SiteState, Option<i64>))| {
        let next = match ids.get(&pool.name) {
            _ if !at.0.is_counted_on() => NextFree::Unknown,
            _ if pool.free > 0 => NextFree::Now,
            Some(id) => next_free(state, *id),
            None => NextFree::Unknown,
        };
        PoolLine { pool, failure: Some(at).filter(|(state, _)| state.is_failure()), next }
    };
    pools.map(line).collect()
}

/// When the first node of a full pool is free at the latest. Linear in what has its nodes.
fn next_free(state: &Books, id: PoolId) -> NextFree {
    let pool = state.market.pools().pool(id);
    let running = state.market.running().filter(|job| job.nodes_in(id) > 0);
    let ends = running.map(|job| job.start + pool.length_of(job.demand));
    let closed = state.market.outages().filter(|(closure, what)| {
        what.pool == id && state.market.closure_state(*closure).is_some_and(|(_, begun)| begun)
    });
    let ends = ends.chain(closed.map(|(_, what)| what.until));
    // When that is over which should be over by now, is not known.
    let now = present(state);
    let next = ends.filter(|end: &Time| *end > now).min();
    next.map_or(NextFree::Unknown, |at| NextFree::At(at.0))
}

fn cards(moment: &Moment<'_>, actor: &Actor) -> Vec<Card> {
    let state = moment.state;
    let mut cards = of_jobs(moment, actor);
    cards.extend(nodes(state));
    let account = Account::User(actor.user.clone());
    let held = views::accounts::held_of(state, &account);
    let note = match state.accounts().knows(&account) {
        true => format!("credits; {} more held for jobs", words::credits(&Credits(held))),
        false => "credits; your account opens with your first job".to_owned(),
    };
    let balance = Credits(state.accounts().balance(&account));
    let full = format!("{} credits", words::credits(&balance));
    let balance = words::cents(&balance);
    cards.push(Card { full, ..card("Your balance", balance, note, "/ledger") });
    cards
}

fn card(name: &'static str, value: String, note: String, link: &str) -> Card {
    let (since, alarm, full, link) = (None, false, String::new(), link.to_owned());
    Card { name, value, note, since, alarm, full, link }
}

/// The jobs that the reader may see: as many as the lists to which the cards lead.
fn of_jobs(moment: &Moment<'_>, actor: &Actor) -> Vec<Card> {
    let count = |show| jobs::shown(moment, actor, show).count();
    let oldest = jobs::shown(moment, actor, "waiting").map(|job| job.submitted.0).min();
    let longest = jobs::shown(moment, actor, "running");
    let longest = longest.filter_map(|job| Some(moment.status(job).started?.0)).min();
    let lasting = |name, show, (what, since): (&str, Option<i64>)| {
        let note = since.map_or_else(String::new, |_| what.to_owned());
        let link = format!("/jobs?show={show}");
        Card { since, ..card(name, words::grouped(count(show)), note, &link) }
    };
    let (held, failed) = (count("held"), count("failed"));
    let aside = match count("booked") {
        0 => "not in the queue".to_owned(),
        booked => format!("not in the queue, and {} booked", words::grouped(booked)),
    };
    let failed_note = "in the last day".to_owned();
    let failed_link = "/jobs?show=failed&ended=day";
    let names = match actor.role {
        Role::Administrator => ["Running", "Waiting", "Held", "Failed"],
        _ => ["Your running jobs", "Your waiting jobs", "Your held jobs", "Your failed jobs"],
    };
    let held_card = card(names[2], words::grouped(held), aside, "/jobs?show=held");
    let failed_card = card(names[3], words::grouped(failed), failed_note, failed_link);
    vec![
        lasting(names[0], "running", ("longest for", longest)),
        lasting(names[1], "waiting", ("oldest for", oldest)),
        Card { alarm: held > 0, ..held_card },
        Card { alarm: failed > 0, ..failed_card },
    ]
}

/// Allocated, at work, free and down.
fn nodes(state: &Books) -> Vec<Card> {
    let sites = views::sites::list(state).sites;
    let sum = |of: fn(&Pool) -> u32| sites.iter().flat_map(|site| &site.pools).map(of).sum::<u32>();
    let (nodes, ours, local) = (sum(|it| it.nodes), sum(|it| it.ours), sum(|it| it.local));
    let (free, down) = (sum(|it| it.free), sum(|it| it.down));
    let now = present(state);
    let running = state.jobs.values().filter(|job| job.phase() == Phase::Running);
    let at_work = running.flat_map(|job| job.parts().iter().map(move |part| (job, part)));
    let at_work = at_work.filter(|(job, part)| {
        part.exit.is_none() && job.works_since(part).is_some_and(|since| since <= now)
    });
    let at_work: u32 = at_work.map(|(_, part)| part.nodes).sum();
    let percent = |part: u32| format!("{} %", u64::from(part) * 100 / u64::from(nodes.max(1)));
    let card = |name, value, note| card(name, value, note, "/market#use");
    let all = words::grouped(nodes);
    let [ours_told, local, at_work_told] = [ours, local, at_work].map(words::grouped);
    let [free, down_told] = [free, down].map(words::grouped);
    let allocated = format!("{ours_told} of {all} nodes, owners use {local}");
    let working = format!("{at_work_told} of {all} nodes run a job’s work");
    let free = card("Free nodes", free, format!("available now; {down_told} down"));
    vec![
        card("Allocated", percent(ours), allocated),
        card("Busy", percent(at_work), working),
        Card { alarm: down > 0, ..free },
    ]
}
