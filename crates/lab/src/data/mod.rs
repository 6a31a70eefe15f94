//! What the papers print and claim, as data: a file per paper, in `data/` of this crate.
//!
//! ```toml
//! [causes]                        # why numbers are not reproduced: `cause = "@late"`
//! [define]                        # formulas with names
//! [chosen]                        # numbers and claims that parameters were chosen by: they prove nothing
//! market-price = ["minCost: cost"]
//! [[study]]
//! id = "000-fig8"
//! experiment = "owners-price"
//! numbers = [{ name = "…", printed = "527.1", place = "table 2", measured = 'mean("2/profit")' }]
//! claims = [{ text = "…", holds = 'a < b', mainly = 'a < 1.1 * b', measured = '{a:.1}', because = "…" }]
//! ```
//!
//! `read.rs` reads them, `kinds.rs` says which of them are evidence, `conclude.rs` compares them with a tally, `picture.rs` draws.

mod conclude;
mod formula;
mod kinds;
mod picture;
mod read;
mod study;

use std::fmt;
use std::sync::LazyLock;

use formula::{Definitions, Fault};

pub(crate) use formula::Formula;
pub(crate) use read::Content;
pub use study::{Study, experiments, find};

/// The files, in the order of papers.
static FILES: [(&str, &str); 5] = [
    ("metascheduling.toml", include_str!("../../data/metascheduling.toml")),
    ("alp_amp.toml", include_str!("../../data/alp_amp.toml")),
    ("double_auction.toml", include_str!("../../data/double_auction.toml")),
    ("multi_queue.toml", include_str!("../../data/multi_queue.toml")),
    ("waits.toml", include_str!("../../data/waits.toml")),
];

/// All studies in the order of papers; read once.
///
/// # Errors
/// The first place in a file that cannot be read.
pub fn studies() -> Result<&'static [Study], DataError> {
    static STUDIES: LazyLock<Result<Vec<Study>, DataError>> = LazyLock::new(|| {
        let mut all = Vec::new();
        for (name, text) in FILES {
            all.extend(read::studies(name, text)?);
        }
        Ok(all)
    });
    STUDIES.as_deref().map_err(Clone::clone)
}

/// The file that a study is from, with what its studies have in common.
#[derive(Debug)]
pub(crate) struct Source {
    name: String,
    text: String,
    definitions: Definitions,
}

impl Source {
    /// What is wrong, where.
    fn error(&self, fault: Fault) -> DataError {
        let until = fault.offset.unwrap_or_default().min(self.text.len());
        let line = 1 + self.text.as_bytes()[..until].iter().filter(|byte| **byte == b'\n').count();
        DataError { file: self.name.clone(), line, message: fault.message }
    }
}

/// A file of data that says something impossible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataError {
    /// Its name.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for DataError {}
