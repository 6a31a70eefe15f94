//! Node timeline, as something to be drawn.
//!
//! A [`Scene`] is plain data: pools, and what holds their nodes from when until when. [`Board`]
//! gives every task rows to be drawn in, once per state of the market; [`Board::picture`] then
//! answers for any part of it, as rectangles where those can be distinguished and as cells where
//! they cannot.
//!
//! *Invariant: zooming out hides nothing.* Whatever is there fills at least one cell, and what
//! went wrong wins over what went well.

mod board;
mod cells;
mod digest;
mod picture;
mod rows;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use board::Board;
pub(crate) use digest::Area;
pub(crate) use picture::{Picture, View};
pub(crate) use table::Table;

/// What holds nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The owner's own load.
    Local = 1,
    /// Not offered at that time.
    Withheld = 2,
    /// Expected of a job that waits.
    Expected = 3,
    /// Set aside for a job that accepted a quote.
    Booked = 4,
    /// Given to a job that has not begun.
    Starting = 5,
    /// A job that runs.
    Running = 6,
    /// A job that ended well.
    Done = 7,
    /// A job that was cancelled.
    Cancelled = 8,
    /// A job that failed.
    Failed = 9,
    /// Nodes that do not work.
    Down = 10,
    /// A job had these nodes, and lost them before its end.
    SetBack = 11,
    /// A job that a peer runs.
    Away = 12,
}

impl Kind {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Kind; 12] = [
        Kind::Local,
        Kind::Withheld,
        Kind::Expected,
        Kind::Booked,
        Kind::Starting,
        Kind::Running,
        Kind::Done,
        Kind::Cancelled,
        Kind::Failed,
        Kind::Down,
        Kind::SetBack,
        Kind::Away,
    ];

    /// Whether it must be seen however small it is.
    fn is_alarm(self) -> bool {
        matches!(self, Kind::Failed | Kind::Down | Kind::SetBack)
    }
}

/// What is to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Scene {
    /// In the market's order.
    pub(crate) pools: Vec<Lane>,
    /// In any order.
    pub(crate) tasks: Vec<Task>,
}

/// A pool's nodes: rows side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    /// `SITE/POOL`.
    pub(crate) name: String,
    /// Number of rows.
    pub(crate) nodes: u32,
    /// Micro-credits per node and second, if it asks something.
    pub(crate) price: Option<i64>,
    /// Since when its site is not reached, seconds since 1970.
    pub(crate) away: Option<i64>,
}

/// Something that holds nodes of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    /// In the order of the scene's pools.
    pub(crate) pool: usize,
    /// Number of nodes.
    pub(crate) nodes: u32,
    /// Which ones, by the site's names, if that is known.
    pub(crate) names: Vec<String>,
    /// Seconds since 1970.
    pub(crate) start: i64,
    /// After the start.
    pub(crate) end: i64,
    /// What it is.
    pub(crate) kind: Kind,
    /// The job's number, if it is a job's.
    pub(crate) job: Option<u64>,
    /// Whose it is, if it is a user's.
    pub(crate) user: Option<String>,
    /// What it is called.
    pub(crate) label: String,
    /// Why it is there.
    pub(crate) why: String,
    /// Micro-credits per node and second, if a user pays.
    pub(crate) price: Option<i64>,
    /// Micro-credits that it costs at most, or cost if it is over, if a user pays; of one that is
    /// only expected: at the prices of now.
    pub(crate) cost: Option<i64>,
}

/// What a reader may see of a task; all see that something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visibility {
    /// It is the reader's own.
    pub(crate) mine: bool,
    /// Its job's number and what it is called.
    pub(crate) whole: bool,
}
