//! The timeline's data.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tradewind_daemon::live::rights::Actor;

use super::scene::scene;
use crate::api::{Context, Planned, blocking};
use crate::doors::Caller;
use crate::extract::Selection;
use crate::failure::{Answer, Failure};
use crate::timeline::{Board, Picture, Sight, Task, View};

/// A forecast is good for so long, and for as long as it took.
const FRESH: Duration = Duration::from_secs(3);
/// Pixels across and down, at most.
const MOST: u32 = 4_096;

/// The last board and the last forecast, for all readers.
#[derive(Debug, Default)]
pub(crate) struct Boards {
    last: Mutex<Option<Arc<Shown>>>,
    plan: Mutex<Option<Plan>>,
}

/// A board and the state that it shows.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) board: Board,
    seq: u64,
    planned: Option<i64>,
    now: i64,
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

/// The board of the market as it is; it is made once per row of the journal.
pub(crate) async fn board(context: &Context) -> Answer<Arc<Shown>> {
    let gauges = Arc::clone(context.market.gauges());
    let seq = gauges.last_row();
    let plan = plan(context, seq).await;
    let at = plan.as_ref().map(|plan| plan.at);
    let last = locked(&context.boards.last).clone();
    if let Some(last) = last.filter(|last| last.seq == seq && last.planned == at) {
        return Ok(last);
    }
    let planned = plan.map(|plan| plan.jobs).unwrap_or_default();
    let (scene, seq, now) = context
        .look(move |live| (scene(live.state(), &planned), gauges.last_row(), live.state().now().0))
        .await?;
    let shown = blocking(move || Shown { board: Board::new(scene), seq, planned: at, now }).await?;
    let shown = Arc::new(shown);
    *locked(&context.boards.last) = Some(Arc::clone(&shown));
    Ok(shown)
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

/// What all readers see alike: rows and pools.
#[derive(Debug, Serialize)]
pub(crate) struct Rows {
    seq: u64,
    now: i64,
    /// When the forecast was made; `None`: there is none.
    planned: Option<i64>,
    rows: u32,
    pools: Vec<Pool>,
    /// When the first task that is known began, and the last one ends.
    from: i64,
    until: i64,
}

#[derive(Debug, Serialize)]
struct Pool {
    name: String,
    first: u32,
    nodes: u32,
}

/// The whole board's frame.
pub(crate) async fn rows(State(context): State<Context>) -> Answer<Json<Rows>> {
    let shown = board(&context).await?;
    let board = &shown.board;
    let pools = board.lanes().iter().map(|(name, rows)| Pool {
        name: name.clone(),
        first: rows.start,
        nodes: rows.end - rows.start,
    });
    let (from, until) = board.ends().unwrap_or((shown.now, shown.now));
    Ok(Json(Rows {
        seq: shown.seq,
        now: shown.now,
        planned: shown.planned,
        rows: board.rows(),
        pools: pools.collect(),
        from,
        until,
    }))
}

/// Which part of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    from: i64,
    until: i64,
    first: u32,
    rows: u32,
    columns: u32,
    lines: u32,
}

/// The part, as rectangles or as cells.
#[derive(Debug, Serialize)]
pub(crate) struct Part {
    seq: u64,
    now: i64,
    /// Names of the rows that were asked for, unless there are more than [`NAMES`].
    names: Vec<String>,
    #[serde(flatten)]
    picture: Drawn,
}

/// Rows whose names are told at once.
const NAMES: u32 = 400;

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Drawn {
    Rectangles(Rectangles),
    Cells(Cells),
}

/// A column per property; all are of one length. `kind` is a kind's number, 16 more if it is the
/// reader's own; `job` is 0 where the reader may not know.
#[derive(Debug, Serialize)]
struct Rectangles {
    row: Vec<u32>,
    count: Vec<u32>,
    start: Vec<i64>,
    end: Vec<i64>,
    kind: Vec<u8>,
    job: Vec<u64>,
    label: Vec<u32>,
    labels: Vec<String>,
}

/// A grid, group by group.
#[derive(Debug, Serialize)]
struct Cells {
    from: i64,
    step: i64,
    columns: u32,
    groups: u32,
    /// Two hexadecimal digits per cell.
    bytes: String,
    rectangles: usize,
}

/// The part of the board that is looked at.
pub(crate) async fn picture(
    State(context): State<Context>,
    caller: Caller,
    Selection(wanted): Selection<Wanted>,
) -> Answer<Json<Part>> {
    let view = view(&wanted)?;
    let shown = board(&context).await?;
    let part = blocking(move || {
        let board = &shown.board;
        let last = view.rows.end.min(board.rows());
        let named = if view.rows.len() as u32 <= NAMES { view.rows.start..last } else { 0..0 };
        let names = named.map(|row| board.row_name(row)).collect();
        let picture = drawn(board.picture(&view, &|task| sight(&caller.actor, task)));
        Part { seq: shown.seq, now: shown.now, names, picture }
    });
    part.await.map(Json)
}

fn view(wanted: &Wanted) -> Answer<View> {
    let Wanted { from, until, first, rows, columns, lines } = *wanted;
    let sane = from < until
        && from.checked_add(1 << 40).is_some()
        && (0..=(1_i64 << 40)).contains(&(until.saturating_sub(from)))
        && (1..=MOST).contains(&columns)
        && (1..=MOST).contains(&lines)
        && rows > 0;
    let until_row = first.checked_add(rows).filter(|_| sane);
    let last = until_row.ok_or_else(|| Failure::malformed("there is no such part", ""))?;
    Ok(View { from, until, rows: first..last, columns, lines })
}

/// Everybody sees that nodes are taken, and by what kind of thing; by whom, those who may.
fn sight(actor: &Actor, task: &Task) -> Sight {
    let mine = task.user.as_ref().is_some_and(|user| *user == actor.user);
    let whole = task.user.as_ref().is_none_or(|user| actor.may_act_for(user));
    Sight { mine, whole }
}

fn drawn(picture: Picture) -> Drawn {
    match picture {
        Picture::Rectangles(it) => Drawn::Rectangles(Rectangles {
            row: it.row,
            count: it.count,
            start: it.start,
            end: it.end,
            kind: it.kind,
            job: it.job,
            label: it.label,
            labels: it.labels,
        }),
        Picture::Cells(it) => Drawn::Cells(Cells {
            from: it.from,
            step: it.step,
            columns: it.columns,
            groups: it.groups,
            bytes: it.bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            rectangles: it.rectangles,
        }),
    }
}
