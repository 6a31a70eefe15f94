//! A pool is cut into queues: `queues = "1:2:3"`, or `[[site.pool.queue]]` one by one.

use tradewind_model::{Admission, Pool, Pools, Ratio, Span};

use crate::diagnostics::excerpt;
use crate::fields::{DecimalScale, Fields, Notes};

const KEYS: [&str; 7] =
    ["name", "share", "nodes", "min_processors", "max_processors", "max_time", "ask_factor"];

/// The greatest share of a queue.
const SHARE_MOST: i64 = 1_000_000;

/// A part of a pool.
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) nodes: u32,
    pub(super) admission: Admission,
    /// Of its asks, if it says one.
    pub(super) ask_factor: Option<Ratio>,
    /// Where it stands: line and path.
    pub(super) at: (u32, String),
    /// Where its name stands, if it has one of its own.
    pub(super) name_at: (u32, String),
}

/// How large a queue is said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Share(u64),
    Nodes(u32),
}

/// A queue whose size is not worked out yet.
struct Draft {
    name: Option<String>,
    size: Size,
    admission: Admission,
    ask_factor: Option<Ratio>,
    at: (u32, String),
    name_at: (u32, String),
}

/// The limits that stand among `fields`, and `others` where there are none.
pub(super) fn admission(
    fields: &Fields<'_, '_>,
    others: Admission,
    notes: &mut Notes<'_>,
) -> Admission {
    let count = |key: &str, notes: &mut Notes<'_>| {
        let count = fields.whole(key, 1..=i64::from(Pools::MAX_NODES), notes);
        count.and_then(|count| u32::try_from(count).ok())
    };
    let own = Admission {
        min_processors: count("min_processors", notes),
        max_processors: count("max_processors", notes),
        max_time: fields.span("max_time", 1..=Span::MAX.0, notes),
    };
    let all = Admission {
        min_processors: own.min_processors.or(others.min_processors),
        max_processors: own.max_processors.or(others.max_processors),
        max_time: own.max_time.or(others.max_time),
    };
    if let (Some(min), Some(max)) = (all.min_processors, all.max_processors)
        && min > max
        && own != Admission::NONE
    {
        let message = format!("`min_processors` {min} is above `max_processors` {max}");
        let hint = "a queue takes jobs from the one up to the other, both included";
        let key = if own.min_processors.is_some() { "min_processors" } else { "max_processors" };
        notes.error(fields.line_of(key), &fields.place(key), message, hint);
    }
    all
}

/// Notes a pool or queue at this line and path that is too small for all jobs that it admits.
pub(super) fn somebody_fits(pool: &Pool, (line, path): (u32, &str), notes: &mut Notes<'_>) {
    if let Some(min) = pool.admission.min_processors.filter(|min| *min > pool.nodes) {
        let message = format!(
            "it takes jobs of {min} processors or more, and `{}` has {}",
            excerpt(&pool.name),
            pool.nodes
        );
        notes.error(line, path, message, "lower `min_processors`, or give it more nodes");
    }
}

/// The queues of `pool`, whose table this is and which has so many `nodes`, if that was said well;
/// `None` if it is not cut, or not in a way that makes sense.
pub(super) fn queues(
    fields: &Fields<'_, '_>,
    pool: &Pool,
    nodes: Option<u32>,
    notes: &mut Notes<'_>,
) -> Option<Vec<Queue>> {
    let drafts = match (fields.get("queues"), fields.get("queue")) {
        (None, None) => return None,
        (Some(_), Some(_)) => {
            let (line, place) = (fields.line_of("queues"), fields.place("queues"));
            let hint = "keep the shares, or the list of queues";
            notes.error(line, &place, "both `queues` and `queue`".to_owned(), hint);
            return None;
        }
        (Some(_), None) => shares(fields, pool, notes)?,
        (None, Some(_)) => listed(fields, pool, notes)?,
    };
    let sizes = sizes(fields, &drafts, nodes?, notes)?;
    let queue = |(index, (draft, nodes)): (usize, (Draft, u32))| {
        let name = draft.name.unwrap_or_else(|| format!("{}-{}", pool.name, index + 1));
        let Draft { admission, ask_factor, at, name_at, .. } = draft;
        if nodes == 0 {
            let message = format!("the queue `{}` would have no processors", excerpt(&name));
            let hint = format!(
                "`{}` has {} in all: give the queue a greater share of them, or cut \
                                the pool into fewer queues",
                excerpt(&pool.name),
                pool.nodes
            );
            notes.error(at.0, &at.1, message, &hint);
        }
        Queue { name, nodes, admission, ask_factor, at, name_at }
    };
    Some(drafts.into_iter().zip(sizes).enumerate().map(queue).collect())
}

/// Reads shares such as `"1:2:3"`.
fn shares(fields: &Fields<'_, '_>, pool: &Pool, notes: &mut Notes<'_>) -> Option<Vec<Draft>> {
    let text = fields.text("queues", notes)?;
    let (line, place) = (fields.line_of("queues"), fields.place("queues"));
    let mut drafts = Vec::new();
    for share in text.split(':').map(str::trim) {
        let digits = !share.is_empty() && share.bytes().all(|c| c.is_ascii_digit());
        let number = share.parse().ok().filter(|it| digits && *it <= SHARE_MOST as u64);
        let Some(share) = number else {
            let message = format!("`{}` is not a share", excerpt(share));
            let hint = "write whole numbers with colons between, such as `1:2:3`";
            notes.error(line, &place, message, hint);
            return None;
        };
        let (size, at) = (Size::Share(share), (line, place.clone()));
        let (admission, name_at) = (pool.admission, at.clone());
        drafts.push(Draft { name: None, size, admission, ask_factor: None, at, name_at });
    }
    Some(drafts)
}

/// Reads `[[site.pool.queue]]`.
fn listed(fields: &Fields<'_, '_>, pool: &Pool, notes: &mut Notes<'_>) -> Option<Vec<Draft>> {
    let items = fields.list("queue", notes)?;
    if items.is_empty() {
        let (line, place) = (fields.line_of("queue"), fields.place("queue"));
        let hint = "list at least one, or leave `queue` out";
        notes.error(line, &place, "there are no queues".to_owned(), hint);
        return None;
    }
    let mut drafts = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("{}[{i}]", fields.place("queue"));
        let Some(fields) = Fields::of(item, path, &KEYS, notes) else { continue };
        let share =
            fields.scaled("share", &DecimalScale { decimals: 0, range: 0..=SHARE_MOST }, notes);
        let nodes = fields.whole("nodes", 0..=i64::from(Pools::MAX_NODES), notes);
        if share.is_some() && nodes.is_some() {
            let (line, place) = (fields.line_of("share"), fields.place("share"));
            notes.error(line, &place, "both `share` and `nodes`".to_owned(), "keep one");
        }
        let size = match nodes.and_then(|nodes| u32::try_from(nodes).ok()) {
            Some(nodes) => Size::Nodes(nodes),
            None => Size::Share(share.map_or(1, i64::unsigned_abs)),
        };
        drafts.push(Draft {
            name: fields.text("name", notes).map(str::to_owned),
            size,
            admission: admission(&fields, pool.admission, notes),
            ask_factor: fields.ratio("ask_factor", notes),
            name_at: (fields.line_of("name"), fields.place("name")),
            at: (fields.line, fields.path),
        });
    }
    (drafts.len() == items.len()).then_some(drafts)
}

/// The nodes of each queue: as they say, or their shares of all `nodes` rounded down, and the rest
/// for the last.
fn sizes(
    fields: &Fields<'_, '_>,
    drafts: &[Draft],
    nodes: u32,
    notes: &mut Notes<'_>,
) -> Option<Vec<u32>> {
    let mut given = Vec::new();
    let mut shares = Vec::new();
    for draft in drafts {
        match draft.size {
            Size::Nodes(nodes) => given.push(nodes),
            Size::Share(share) => shares.push(share),
        }
    }
    let wrong = |message: String, hint: &str, notes: &mut Notes<'_>| {
        notes.error(fields.line_of("queue"), &fields.place("queue"), message, hint);
    };
    let counted: u64 = given.iter().copied().map(u64::from).sum();
    match (given.is_empty(), shares.is_empty()) {
        (true, _) => Some(divided(nodes, &shares)),
        (false, false) => {
            let hint = "give every queue its `nodes`, or none";
            wrong("some queues have `nodes`, some shares".to_owned(), hint, notes);
            None
        }
        (false, true) if counted != u64::from(nodes) => {
            let message = format!("the queues have {counted} nodes, the pool {nodes}");
            wrong(message, "every node is in one queue", notes);
            None
        }
        (false, true) => Some(given),
    }
}

/// Shares of `nodes`, rounded down; the last gets the rest.
fn divided(nodes: u32, shares: &[u64]) -> Vec<u32> {
    let all: u64 = shares.iter().sum::<u64>().max(1);
    let mut rest = nodes;
    let mut sizes = Vec::with_capacity(shares.len());
    for (index, share) in shares.iter().enumerate() {
        let size = match index + 1 == shares.len() && *share > 0 {
            true => rest,
            false => (u64::from(nodes) * share / all) as u32,
        };
        rest -= size;
        sizes.push(size);
    }
    sizes
}
