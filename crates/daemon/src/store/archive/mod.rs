//! Archive files: old rows of a journal, compressed, in a folder beside it.
//!
//! A file is gzip of text. Its first line is JSON: the format, whose journal it is, the first and
//! the last row with their times, and the digest of the chain before the first row and after the
//! last one. Then each row: a line `SEQ AT CHECK BYTES`, where CHECK is the beginning of the row's
//! digest in hexadecimal and BYTES the length of its body, and a line with the body. So
//! `zcat FILE` shows what is in it, and the first row that is damaged can be named.
//!
//! A file has its name when it is complete and synced, and is never changed then.

mod cutoff;
#[cfg(feature = "fuzzing")]
mod fuzzing;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::chain::{Digest, JournalEnd};
use super::{Origin, StoreError};

pub use cutoff::{ArchiveCutoff, Cover};
#[cfg(feature = "fuzzing")]
pub use fuzzing::fuzzed;
pub use reader::SegmentReader;
pub use writer::pack;
pub(super) use writer::write;

/// The format of the files that are written here.
const FORMAT: u32 = 1;

/// The end of the name of a file that is complete.
const ENDING: &str = ".tw.gz";

/// The end of the name of a file that is being written.
const UNFINISHED: &str = ".part";

/// Consecutive rows of a journal that are in one archive file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The first row's number.
    pub first: u64,
    /// The last row's number.
    pub last: u64,
    /// The times of both: seconds since 1970.
    pub times: (i64, i64),
    /// The chain before the first row.
    pub before: Digest,
    /// The chain after the last row.
    pub after: Digest,
}

impl Segment {
    /// The name of its file: numbers with leading zeros, so that names are in the order of rows.
    pub fn name(&self) -> String {
        format!("{:012}-{:012}{ENDING}", self.first, self.last)
    }

    /// The journal before its first row.
    fn begin(&self) -> JournalEnd {
        JournalEnd { seq: self.first - 1, at: i64::MIN, digest: self.before }
    }
}

/// The rows that a file in the folder should have, by its name.
pub(super) fn rows_of(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.strip_suffix(ENDING)?.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first > 0 && first <= last).then_some((first, last))
}

/// Whether the name is that of a file that was not finished.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.ends_with(UNFINISHED)
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    tradewind_archive: u32,
    market: String,
    created: i64,
    first: u64,
    last: u64,
    first_at: i64,
    last_at: i64,
    before: String,
    after: String,
}

impl Header {
    fn of(origin: &Origin, segment: &Segment) -> Header {
        Header {
            tradewind_archive: FORMAT,
            market: origin.market.clone(),
            created: origin.created,
            first: segment.first,
            last: segment.last,
            first_at: segment.times.0,
            last_at: segment.times.1,
            before: segment.before.to_string(),
            after: segment.after.to_string(),
        }
    }

    /// What it says of rows; `None` if a digest is none.
    fn segment(&self) -> Option<Segment> {
        let times = (self.first_at, self.last_at);
        let (before, after) = (digest(&self.before)?, digest(&self.after)?);
        Some(Segment { first: self.first, last: self.last, times, before, after })
    }
}

fn digest(text: &str) -> Option<Digest> {
    let mut bytes = [0; 32];
    let is_plain = text.len() == 64 && text.bytes().all(|it| it.is_ascii_hexdigit());
    if !is_plain {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(Digest(bytes))
}

/// The first bytes of a digest, as a row of an archive has them.
fn check(digest: Digest) -> String {
    let [a, b, c, d, ..] = digest.0;
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

fn damaged(path: &Path, seq: u64, what: impl Into<String>) -> StoreError {
    StoreError::Damaged { path: path.display().to_string(), seq, what: what.into() }
}

/// The file of a segment in this folder.
pub(super) fn file_of(folder: &Path, segment: &Segment) -> PathBuf {
    folder.join(segment.name())
}
