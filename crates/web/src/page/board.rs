//! The board that the timeline shows: made once for all who look at the same state.

use std::sync::{Arc, Mutex, PoisonError};

use tradewind_daemon::live::Live;
use tradewind_model::Span;

use super::cache::PageContext;
use super::choice::RowFilter;
use super::scene::scene;
use crate::blocking::blocking;
use crate::clock::now;
use crate::failure::Answer;
use crate::timeline::{Board, Scene};
use crate::views::status::Moment;

/// Boards of the last state that are kept: of that many choices of rows.
const KEPT: usize = 8;

/// The last scene and boards of it, for all readers.
#[derive(Debug, Default)]
pub(crate) struct Boards {
    last: Mutex<Option<Arc<BoardSource>>>,
    boards: Mutex<Vec<(RowFilter, Arc<Shown>)>>,
}

/// A scene and the state that it shows.
#[derive(Debug)]
struct BoardSource {
    scene: Scene,
    seq: u64,
    planned: Option<i64>,
    now: i64,
    /// By how much that is ahead of the system's clock.
    lead: Span,
}

/// A board and what it was made of.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) board: Board,
    known: Arc<BoardSource>,
}

/// Pixels of a timeline with its axis, as `timeline.js` draws it in a window that is high enough.
/// `pools`: those that it shows, separated by commas, or nothing for all; `all`: each with its nodes.
pub(crate) fn height<'a>(pools: &str, all: impl Iterator<Item = (&'a str, u32)>) -> u32 {
    const ROW: u32 = 24;
    const AXIS: u32 = 36;
    let is_shown = |name: &str| pools.is_empty() || pools.split(',').any(|it| it == name);
    let rows: u32 = all.filter(|(name, _)| is_shown(name)).map(|(_, nodes)| nodes).sum();
    let most = if pools.is_empty() { u32::MAX - AXIS } else { 320 };
    rows.saturating_mul(ROW).clamp(120, most) + AXIS
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The board of the market as it is, with the rows that were chosen; it is made once per row of
/// the journal.
pub(crate) async fn board(context: &PageContext, choice: RowFilter) -> Answer<Arc<Shown>> {
    let known = known(context).await?;
    let fits =
        |(of, shown): &&(RowFilter, Arc<Shown>)| *of == choice && Arc::ptr_eq(&shown.known, &known);
    if let Some((_, shown)) = locked(&context.cache.boards.boards).iter().find(fits) {
        return Ok(Arc::clone(shown));
    }
    let (of, wanted) = (Arc::clone(&known), choice.clone());
    let board = blocking(move || wanted.board(&of.scene, of.now)).await?;
    let shown = Arc::new(Shown { board, known: Arc::clone(&known) });
    let mut boards = locked(&context.cache.boards.boards);
    boards.retain(|(of, shown)| *of != choice && Arc::ptr_eq(&shown.known, &known));
    boards.truncate(KEPT - 1);
    boards.insert(0, (choice, Arc::clone(&shown)));
    Ok(shown)
}

async fn known(context: &PageContext) -> Answer<Arc<BoardSource>> {
    let gauges = Arc::clone(context.market.gauges());
    let seq = gauges.last_row();
    let advisor = Arc::clone(&context.advisor);
    let plan = blocking(move || advisor.plan()).await?;
    let at = plan.as_ref().map(|plan| plan.queue.queue_as_of);
    let last = locked(&context.cache.boards.last).clone();
    if let Some(last) = last.filter(|last| last.seq == seq && last.planned == at) {
        return Ok(last);
    }
    let planned = plan.unwrap_or_default();
    let look = move |live: &Live| {
        let moment = Moment::new(live.state(), Some(&planned));
        let (scene, now) = (scene(&moment, &planned.jobs), live.state().now().0);
        BoardSource { scene, seq: gauges.last_row(), planned: at, now, lead: live.state().lead() }
    };
    let known = Arc::new(context.look(look).await?);
    *locked(&context.cache.boards.last) = Some(Arc::clone(&known));
    Ok(known)
}

impl Shown {
    /// The journal's row that it shows.
    pub(crate) fn seq(&self) -> u64 {
        self.known.seq
    }

    /// The moment at which it is shown.
    pub(crate) fn now(&self) -> i64 {
        self.known.now.max((now() + self.known.lead).0)
    }

    /// When the forecast was made, if there is one.
    pub(crate) fn planned(&self) -> Option<i64> {
        self.known.planned
    }

    /// Rows, tasks and pools of the whole market.
    pub(crate) fn all(&self) -> (u32, usize, usize) {
        let scene = &self.known.scene;
        let rows = scene.pools.iter().map(|lane| lane.nodes).sum();
        (rows, scene.tasks.len(), scene.pools.len())
    }
}
