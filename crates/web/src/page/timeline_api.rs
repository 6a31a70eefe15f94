//! What the timeline asks: the board's frame, a part of it, what is in a place, and where there is
//! room.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::board::{Shown, board};
use super::cache::PageContext;
use super::choice::{Order, RowFilter, Whose, sight};
use crate::auth::Caller;
use crate::blocking::blocking;
use crate::extract::Selection;
use crate::failure::{Answer, ErrorResponse};
use crate::timeline::{Area, Picture, Table, View};

/// Pixels across and down, at most.
const MAX: u32 = 4_096;
/// Rows whose names are sent at once.
const NAMES: u32 = 400;
/// Tasks that a digest reports, at most.
const MOST_TASKS: usize = 500;
/// Windows that are placed at once, at most.
const MOST_WINDOWS: usize = 64;

/// Which rows: part of every question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsQuery {
    #[serde(default)]
    pools: String,
    #[serde(default)]
    find: String,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    whose: Whose,
}

impl RowsQuery {
    fn choice(&self, caller: &Caller) -> RowFilter {
        RowFilter::new(&caller.actor, &self.pools, &self.find, (self.order, self.whose))
    }
}

/// What all readers see alike: rows and pools.
#[derive(Debug, Serialize)]
pub(crate) struct TimelineFrame {
    seq: u64,
    now: i64,
    /// When the forecast was made; `None`: there is none.
    planned: Option<i64>,
    rows: u32,
    /// Rows, tasks and pools of the whole market, chosen or not.
    all: (u32, usize, usize),
    pools: Vec<PoolRows>,
    /// When the first task that is known began, and the last one ends.
    from: i64,
    until: i64,
}

/// `price`: micro-credits per node and second; -1: none. `away`: since when its site is not reached.
#[derive(Debug, Serialize)]
struct PoolRows {
    name: String,
    first: u32,
    nodes: u32,
    price: i64,
    away: Option<i64>,
}

/// The whole board's frame.
pub(crate) async fn frame(
    State(context): State<PageContext>,
    caller: Caller,
    Selection(rows): Selection<RowsQuery>,
) -> Answer<Json<TimelineFrame>> {
    let shown = board(&context, rows.choice(&caller)).await?;
    let board = &shown.board;
    let pools = board.lanes().iter().map(|lane| PoolRows {
        name: lane.name.clone(),
        first: lane.rows.start,
        nodes: lane.rows.end - lane.rows.start,
        price: lane.price.unwrap_or(-1),
        away: lane.away,
    });
    let (from, until) = board.ends().unwrap_or((shown.now(), shown.now()));
    Ok(Json(TimelineFrame {
        seq: shown.seq(),
        now: shown.now(),
        planned: shown.planned(),
        rows: board.rows(),
        all: shown.all(),
        pools: pools.collect(),
        from,
        until,
    }))
}

/// Which part of it: rows of the board, and how fine, or how many tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimelineQuery {
    from: i64,
    until: i64,
    first: u32,
    rows: u32,
    #[serde(default = "one")]
    columns: u32,
    #[serde(default = "one")]
    lines: u32,
    #[serde(default, rename = "most")]
    max: usize,
    #[serde(flatten)]
    of: RowsQuery,
}

fn one() -> u32 {
    1
}

impl TimelineQuery {
    fn view(&self) -> Answer<View> {
        let TimelineQuery { from, until, first, rows, columns, lines, .. } = *self;
        let sane = from < until
            && from.checked_add(1 << 40).is_some()
            && (0..=(1_i64 << 40)).contains(&(until.saturating_sub(from)))
            && (1..=MAX).contains(&columns)
            && (1..=MAX).contains(&lines)
            && rows > 0;
        let until_row = first.checked_add(rows).filter(|_| sane);
        let last =
            until_row.ok_or_else(|| ErrorResponse::malformed("there is no such part", ""))?;
        Ok(View { from, until, rows: first..last, columns, lines })
    }
}

/// The part, as rectangles or as cells.
#[derive(Debug, Serialize)]
struct TimelineSlice<'a> {
    seq: u64,
    now: i64,
    /// Names of the rows that were asked for, unless there are more than [`NAMES`].
    names: Vec<String>,
    #[serde(flatten)]
    picture: &'a Picture,
}

/// The part of the board that is looked at: a line of JSON, and behind it the cells' bytes, if
/// there are cells.
pub(crate) async fn picture(
    State(context): State<PageContext>,
    caller: Caller,
    Selection(wanted): Selection<TimelineQuery>,
) -> Answer<Response> {
    let view = wanted.view()?;
    let shown = board(&context, wanted.of.choice(&caller)).await?;
    let body = blocking(move || body(&shown, &view, &caller)).await??;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

fn body(shown: &Shown, view: &View, caller: &Caller) -> Answer<Vec<u8>> {
    let board = &shown.board;
    let last = view.rows.end.min(board.rows());
    let named = if view.rows.len() as u32 <= NAMES { view.rows.start..last } else { 0..0 };
    let names = named.map(|row| board.row_name(row).to_owned()).collect();
    let picture = board.picture(view, &|task| sight(&caller.actor, task));
    let part = TimelineSlice { seq: shown.seq(), now: shown.now(), names, picture: &picture };
    let mut body = serde_json::to_vec(&part)
        .map_err(|wrong| ErrorResponse::unavailable(format!("the part cannot be told: {wrong}")))?;
    body.push(b'\n');
    if let Picture::Cells(cells) = &picture {
        body.extend_from_slice(&cells.bytes);
    }
    Ok(body)
}

/// What is in a place.
#[derive(Debug, Serialize)]
pub(crate) struct PlaceContent {
    /// Tasks that are there, in all.
    tasks: u32,
    /// Kind, tasks, node-seconds.
    kinds: Vec<(u8, u32, i64)>,
    /// The weightiest, and the first of their rows that are there.
    table: Table,
    rows: Vec<u32>,
    /// Of these rows: pool and node.
    names: Vec<String>,
}

/// What is in a cell, or in view.
pub(crate) async fn digest(
    State(context): State<PageContext>,
    caller: Caller,
    Selection(wanted): Selection<TimelineQuery>,
) -> Answer<Json<PlaceContent>> {
    let view = wanted.view()?;
    let shown = board(&context, wanted.of.choice(&caller)).await?;
    let told = blocking(move || {
        let board = &shown.board;
        let area = Area { from: view.from, until: view.until, rows: view.rows };
        let max = wanted.max.min(MOST_TASKS);
        let found = board.digest(&area, max, &|task| sight(&caller.actor, task));
        let lane = |row: u32| board.lanes().iter().find(|lane| lane.rows.contains(&row));
        let pool = |row: u32| lane(row).map_or("", |lane| lane.name.as_str());
        let name = |row: &u32| match board.row_name(*row) {
            "" => format!("a node of {}", pool(*row)),
            name => format!("{} {name}", pool(*row)),
        };
        let kinds = found.kinds.iter().map(|(kind, (tasks, held))| (*kind as u8, *tasks, *held));
        PlaceContent {
            tasks: found.kinds.values().map(|(tasks, _)| tasks).sum(),
            kinds: kinds.collect(),
            names: found.rows.iter().map(name).collect(),
            table: found.table,
            rows: found.rows,
        }
    });
    told.await.map(Json)
}

/// Windows without nodes of their own: pool (its place in the frame), nodes, start and end with
/// colons between, and commas between windows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Windows {
    windows: String,
    #[serde(flatten)]
    of: RowsQuery,
}

/// By window: first rows and how many.
#[derive(Debug, Serialize)]
pub(crate) struct RowRanges {
    places: Vec<Vec<(u32, u32)>>,
}

/// Rows that are free for each window by itself.
pub(crate) async fn places(
    State(context): State<PageContext>,
    caller: Caller,
    Selection(it): Selection<Windows>,
) -> Answer<Json<RowRanges>> {
    let windows = windows(&it.windows)?;
    let shown = board(&context, it.of.choice(&caller)).await?;
    let places = blocking(move || {
        let room = |(lane, nodes, start, end): &(usize, u32, i64, i64)| {
            let rows = shown.board.room(*lane, *nodes, *start, *end);
            rows.into_iter().map(|it| (it.start, it.end - it.start)).collect()
        };
        windows.iter().map(room).collect()
    });
    Ok(Json(RowRanges { places: places.await? }))
}

pub(super) fn windows(text: &str) -> Answer<Vec<(usize, u32, i64, i64)>> {
    let window = |text: &str| {
        let mut words = text.split(':');
        let found = (
            words.next()?.parse().ok()?,
            words.next()?.parse().ok()?,
            words.next()?.parse().ok()?,
            words.next()?.parse().ok()?,
        );
        words.next().is_none().then_some(found)
    };
    let all: Option<Vec<_>> =
        text.split(',').filter(|it| !it.is_empty()).take(MOST_WINDOWS).map(window).collect();
    all.ok_or_else(|| {
        let hint = "pool:nodes:start:end, with commas between";
        ErrorResponse::malformed("these are no windows", hint).in_field("windows")
    })
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;

    use super::*;

    fn wanted(query: &str) -> Option<TimelineQuery> {
        let address = format!("/page/board/picture?{query}").parse().ok()?;
        Query::try_from_uri(&address).ok().map(|Query(wanted)| wanted)
    }

    #[test]
    fn a_question_has_numbers_and_rows_and_nothing_else() {
        let part = "from=1&until=9&first=0&rows=4";
        let found = wanted(&format!("{part}&pools=a,b&find=x+y&whose=mine")).unwrap();
        assert_eq!((found.from, found.rows, found.columns), (1, 4, 1));
        assert_eq!((found.of.pools.as_str(), found.of.find.as_str()), ("a,b", "x y"));
        assert_eq!(found.of.whose, Whose::Mine);
        assert!(wanted(part).is_some_and(|found| found.of.whose == Whose::default()));
        for wrong in ["colums=3", "find=x&finds=y", "whose=theirs", "rows=4"] {
            assert!(wanted(&format!("{part}&{wrong}")).is_none(), "{wrong}");
        }
    }
}
