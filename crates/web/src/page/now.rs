//! The first page: how the market is, the reader's own first.

use askama::Template;
use axum::extract::State;
use tradewind_daemon::live::Live;
use tradewind_daemon::live::money::Account;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::state::State as Books;
use tradewind_model::{PoolId, Time};

use super::board;
use super::cache::PageContext;
use super::census::{CardCounts, Census, OwnJobs};
use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::clock::present;
use crate::documents::{self, Credits, Pool, SiteState};
use crate::views;
use crate::views::sentence::{StatusSentence, status_sentence};
use crate::views::status::Moment;

#[derive(Template)]
#[template(path = "page/now.html")]
struct NowPage {
    shell: Shell,
    cards: Vec<Card>,
    /// The reader's own jobs that need attention, and how many more there are.
    alerts: Vec<Alert>,
    more_alerts: usize,
    /// The reader's own jobs that are not over, the next to start first, and how many there are.
    own: (Vec<documents::Job>, usize),
    /// Pools, the cheapest first, and how many more there are.
    pools: Vec<PoolLine>,
    more_pools: usize,
    /// No job was submitted yet.
    is_new: bool,
    /// Of which pools the timeline is: all. And its height.
    board_pools: &'static str,
    board_height: u32,
}

impl NowPage {
    /// What is said of a job whose peer does not answer.
    fn silent<'a>(&self, job: &'a documents::Job) -> Option<&'a str> {
        let is_silent = job.reason.as_deref() == Some(views::at_peer::SILENT);
        job.message.as_deref().filter(|_| is_silent)
    }
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

/// A job that failed, or that cannot go on by itself.
struct Alert {
    id: u64,
    title: String,
    said: StatusSentence,
}

/// How the market is.
pub(crate) async fn show(State(context): State<PageContext>, caller: Caller) -> PageResult {
    let shell = Shell::new(&context, &caller, "Now").await?;
    let actor = caller.actor;
    let census = context.cache.census.of(&context).await?;
    let look = context.see(move |live, moment| {
        let is_new = moment.state.last_job() == 0;
        let none = OwnJobs::default();
        let jobs = census.own(&actor).unwrap_or(&none);
        let cards = cards(moment, &actor, &census, jobs);
        (cards, alerts(moment, jobs), own(moment, &jobs.open), pools(live), is_new)
    });
    let (cards, (alerts, more_alerts), own, mut pools, is_new) = look.await?;
    let board_pools = "";
    let sizes = pools.iter().map(|it| (it.pool.name.as_str(), it.pool.nodes));
    let board_height = board::height(board_pools, sizes);
    pools.sort_by_key(|it| it.pool.price);
    let more_pools = pools.split_off(pools.len().min(POOLS)).len();
    page(&NowPage {
        shell,
        cards,
        alerts,
        more_alerts,
        own,
        pools,
        more_pools,
        is_new,
        board_pools,
        board_height,
    })
}

/// Jobs, alerts and pools that are shown: what fits above the timeline.
const OWN: usize = 5;
const ALERTS: usize = 3;
const POOLS: usize = 5;

/// What is to be done for the reader's own jobs: failures of the last day, holds that do not end
/// by themselves.
fn alerts(moment: &Moment<'_>, jobs: &OwnJobs) -> (Vec<Alert>, usize) {
    let all = jobs.stuck.iter().chain(jobs.failed.iter().rev());
    let alert = |number: &u64| {
        let job = moment.state.jobs.get(number)?;
        let document = views::jobs::whole(moment, job);
        let said = status_sentence(&document, None);
        Some(Alert { id: job.number, title: document.title(), said })
    };
    let more = (jobs.stuck.len() + jobs.failed.len()).saturating_sub(ALERTS);
    (all.take(ALERTS).filter_map(alert).collect(), more)
}

/// Those first that wait for a site that fails or are at a peer that does not answer, then by start.
fn own(moment: &Moment<'_>, open: &[(bool, i64, u64)]) -> (Vec<documents::Job>, usize) {
    let jobs = open.iter().filter_map(|(.., number)| moment.state.jobs.get(number));
    (jobs.take(OWN).map(|job| views::jobs::line(moment, job)).collect(), open.len())
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

/// Only what says something: no card counts nothing.
fn cards(moment: &Moment<'_>, actor: &Actor, census: &Census, own: &OwnJobs) -> Vec<Card> {
    let state = moment.state;
    let mut cards = of_jobs(actor, &census.seen_by(actor));
    cards.extend(next_start(moment, own));
    cards.extend(nodes(state, census.at_work));
    let account = Account::User(actor.user.clone());
    if state.accounts().knows(&account) {
        let held = views::accounts::held_of(state, &account);
        let note = match held {
            0 => String::new(),
            held => format!("{} more held for jobs", words::cents(&Credits(held))),
        };
        let balance = Credits(state.accounts().balance(&account));
        let full = format!("{} credits", words::credits(&balance));
        let balance = words::cents(&balance);
        cards.push(Card { full, ..card("credits", balance, note, "/ledger") });
    }
    cards
}

fn card(name: &'static str, value: String, note: String, link: &str) -> Card {
    let (since, alarm, full, link) = (None, false, String::new(), link.to_owned());
    Card { name, value, note, since, alarm, full, link }
}

/// The jobs that the reader may see: as many as the lists to which the cards lead.
fn of_jobs(actor: &Actor, counts: &CardCounts) -> Vec<Card> {
    let names = match actor.role {
        Role::Administrator => ["running", "waiting", "held", "booked", "failed"],
        _ => ["of your jobs run", "wait", "are held", "are booked", "failed"],
    };
    let of = |name, count, show: &'static str, more: &str| {
        card(name, words::grouped(count), String::new(), &format!("/jobs?show={show}{more}"))
    };
    let noted = |card: Card, (note, since): (&str, Option<i64>)| {
        let note = since.map_or_else(String::new, |_| note.to_owned());
        Card { since, note, ..card }
    };
    let lately = "in the last day".to_owned();
    let all = [
        noted(of(names[0], counts.running, "running", ""), ("longest for", counts.longest)),
        noted(of(names[1], counts.waiting, "waiting", ""), ("oldest for", counts.oldest)),
        Card { alarm: true, ..of(names[2], counts.held, "held", "") },
        of(names[3], counts.booked, "booked", ""),
        Card { alarm: true, note: lately, ..of(names[4], counts.failed, "failed", "&ended=day") },
    ];
    all.into_iter().filter(|card| card.value != "0").collect()
}

/// The next of the reader's own jobs that waits.
fn next_start(moment: &Moment<'_>, own: &OwnJobs) -> Option<Card> {
    let (at, number) = own.next?;
    let link = format!("/jobs/{number}");
    let wait = match at - moment.now.0 {
        ..=0 => "now".to_owned(),
        ahead => format!("in {}", words::span(&words::coarse(ahead))),
    };
    Some(card("next start of yours", wait, format!("job {number}"), &link))
}

/// How many nodes are in use, idle in use, and not there.
fn nodes(state: &Books, at_work: u32) -> Option<Card> {
    let sites = views::sites::list(state).sites;
    let sum = |of: fn(&Pool) -> u32| sites.iter().flat_map(|site| &site.pools).map(of).sum::<u32>();
    let (nodes, ours, local) = (sum(|it| it.nodes), sum(|it| it.ours), sum(|it| it.local));
    let (free, down) = (sum(|it| it.free), sum(|it| it.down));
    let parts = [
        (at_work.min(ours), "busy"),
        (ours.saturating_sub(at_work), "allocated but idle"),
        (local, "used by owners"),
        (down, "down"),
    ];
    let told = parts.iter().filter(|(count, _)| *count > 0);
    let told = told.map(|(count, what)| format!("{} {what}", words::grouped(*count)));
    let note = told.collect::<Vec<_>>().join(", ");
    let value = format!("{} of {}", words::grouped(free), words::grouped(nodes));
    let full = format!("{} of {} nodes are allocated", words::grouped(ours), words::grouped(nodes));
    let free = Card { full, ..card("nodes free", value, note, "/market#use") };
    (nodes > 0).then_some(Card { alarm: down > 0, ..free })
}
