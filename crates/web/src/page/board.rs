//! The board that the timeline shows: made once for all who look at the same state.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tradewind_daemon::live::Live;
use tradewind_model::Span;

use super::choice::Choice;
use super::scene::scene;
use crate::api::{Context, Planned, blocking, now};
use crate::failure::Answer;
use crate::timeline::{Board, Scene};

/// A forecast is good for so long, and for as long as it took.
const FRESH: Duration = Duration::from_secs(3);
/// Boards of the last state that are kept: of that many choices of rows.
const KEPT: usize = 8;

/// The last scene, boards of it and the last forecast, for all readers.
#[derive(Debug, Default)]
pub(crate) struct Boards {
    last: Mutex<Option<Arc<Known>>>,
    boards: Mutex<Vec<(Choice, Arc<Shown>)>>,
    plan: Mutex<Option<Plan>>,
}

/// A scene and the state that it shows.
#[derive(Debug)]
struct Known {
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
    known: Arc<Known>,
}

#[derive(Debug, Clone)]
struct Plan {
    made: Instant,
    took: Duration,
    seq: u64,
    at: i64,
    jobs: Arc<Vec<Planned>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The board of the market as it is, with the rows that were chosen; it is made once per row of
/// the journal.
pub(crate) async fn board(context: &Context, choice: Choice) -> Answer<Arc<Shown>> {
    let known = known(context).await?;
    let fits =
        |(of, shown): &&(Choice, Arc<Shown>)| *of == choice && Arc::ptr_eq(&shown.known, &known);
    if let Some((_, shown)) = locked(&context.boards.boards).iter().find(fits) {
        return Ok(Arc::clone(shown));
    }
    let (of, wanted) = (Arc::clone(&known), choice.clone());
    let board = blocking(move || wanted.board(&of.scene, of.now)).await?;
    let shown = Arc::new(Shown { board, known: Arc::clone(&known) });
    let mut boards = locked(&context.boards.boards);
    boards.retain(|(of, shown)| *of != choice && Arc::ptr_eq(&shown.known, &known));
    boards.truncate(KEPT - 1);
    boards.insert(0, (choice, Arc::clone(&shown)));
    Ok(shown)
}

async fn known(context: &Context) -> Answer<Arc<Known>> {
    let gauges = Arc::clone(context.market.gauges());
    let seq = gauges.last_row();
    let plan = plan(context, seq).await;
    let at = plan.as_ref().map(|plan| plan.at);
    let last = locked(&context.boards.last).clone();
    if let Some(last) = last.filter(|last| last.seq == seq && last.planned == at) {
        return Ok(last);
    }
    let planned = plan.map(|plan| plan.jobs).unwrap_or_default();
    let look = move |live: &Live| {
        let (scene, now) = (scene(live.state(), &planned), live.state().now().0);
        Known { scene, seq: gauges.last_row(), planned: at, now, lead: live.state().lead() }
    };
    let known = Arc::new(context.look(look).await?);
    *locked(&context.boards.last) = Some(Arc::clone(&known));
    Ok(known)
}

/// What the policy would do; what was said before, if somebody looks ahead just now.
async fn plan(context: &Context, seq: u64) -> Option<Plan> {
    let last = locked(&context.boards.plan).clone();
    if let Some(plan) = &last
        && (plan.seq == seq || plan.made.elapsed() < FRESH.max(plan.took * 4))
    {
        return last;
    }
    let Ok(permit) = Arc::clone(&context.advice).try_acquire_owned() else { return last };
    let Ok(view) = context.view().await else { return last };
    let advisor = Arc::clone(&context.advisor);
    let made = Instant::now();
    let at = view.market.now().0;
    let planned = blocking(move || {
        let planned = advisor.plan(&view);
        drop(permit);
        planned
    });
    let Ok(Ok(jobs)) = planned.await else { return last };
    let plan = Plan { made: Instant::now(), took: made.elapsed(), seq, at, jobs: Arc::new(jobs) };
    *locked(&context.boards.plan) = Some(plan.clone());
    Some(plan)
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
