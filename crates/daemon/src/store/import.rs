//! Rows of one store for another: from an open journal, or from the lines of an export.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::str::FromStr;

use serde::Deserialize;

use super::chain::{Digest, JournalEnd};
use super::{Origin, Row, Store, StoreError, Verified, verify};

/// Rows that are copied in one go, at most.
const PAGE: usize = 256;
/// And bytes of their bodies: a piece ends with the row that reaches them.
const BYTES: usize = 4 << 20;

/// Why a journal was not imported. The target is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lines could not be read.
    #[error("the export cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A line is not what `export` has written.
    #[error("line {line} of the export is damaged: {what}")]
    Line {
        /// From 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The copy does not end with the digest of the original.
    #[error("the copy ends with the digest {found}, and the original with {wanted}")]
    Different {
        /// Of the original.
        wanted: Digest,
        /// Of the copy.
        found: Digest,
    },
}

/// A journal that is read from its first row to its last, each row verified.
pub trait RowSource {
    /// Whose journal it is, and since when.
    fn origin(&self) -> &Origin;

    /// The next rows, without gaps; none at the end.
    ///
    /// # Errors
    /// If they cannot be read, or are not what was written.
    fn next(&mut self) -> Result<Vec<Row>, ImportError>;
}

/// The rows of an open journal.
#[derive(Debug)]
pub struct StoreRows<'a> {
    store: &'a mut dyn Store,
    origin: Origin,
    after: u64,
    /// Rows that came meanwhile are not copied.
    last: u64,
}

impl<'a> StoreRows<'a> {
    /// From the first one to the one that is the last now.
    pub fn of(store: &'a mut dyn Store) -> StoreRows<'a> {
        let (origin, last) = (store.origin().clone(), store.last());
        StoreRows { store, origin, after: 0, last }
    }
}

impl RowSource for StoreRows<'_> {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn next(&mut self) -> Result<Vec<Row>, ImportError> {
        let max = usize::try_from(self.last - self.after).unwrap_or(PAGE).min(PAGE);
        if max == 0 {
            return Ok(Vec::new());
        }
        let rows = self.store.read(self.after, max)?;
        self.after = rows.last().map_or(self.last, |row| row.seq);
        Ok(rows)
    }
}

/// The rows of an export, as [`super::export`] writes it.
#[derive(Debug)]
pub struct ExportedRows<R> {
    lines: R,
    origin: Origin,
    end: JournalEnd,
    /// The last line that was read.
    line: u64,
}

#[derive(Deserialize)]
struct ImportHead {
    journal: u32,
    market: String,
    created: i64,
}

/// A line, exactly as it is written: the body's bytes count, so nothing may have reformatted it.
struct ImportLine<'a> {
    seq: u64,
    at: i64,
    body: Cow<'a, [u8]>,
    chain: &'a [u8],
}

impl<'a> ImportLine<'a> {
    fn read(line: &'a [u8]) -> Option<ImportLine<'a>> {
        let (seq, rest) = number(line.strip_prefix(br#"{"seq":"#)?)?;
        let (at, rest) = number(rest.strip_prefix(br#","at":"#)?)?;
        let rest = rest.strip_suffix(br#""}"#)?;
        let (rest, chain) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
        let rest = rest.strip_suffix(br#","chain":""#)?.strip_prefix(b",")?;
        let body = match rest.strip_prefix(br#""body":"#) {
            Some(body) => Cow::Borrowed(body),
            None => {
                let hex = rest.strip_prefix(br#""hex":""#)?.strip_suffix(br#"""#)?;
                Cow::Owned(bytes(std::str::from_utf8(hex).ok()?)?)
            }
        };
        Some(ImportLine { seq, at, body, chain })
    }
}

/// A number and what follows it.
fn number<T: FromStr>(text: &[u8]) -> Option<(T, &[u8])> {
    let end = text.iter().position(|it| !(it.is_ascii_digit() || *it == b'-'))?;
    let (number, rest) = text.split_at_checked(end)?;
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}

impl<R: BufRead> ExportedRows<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If it is not that of an export, or of a later release's.
    pub fn begin(mut lines: R) -> Result<ExportedRows<R>, ImportError> {
        let mut text = Vec::new();
        lines.read_until(b'\n', &mut text)?;
        let bad = |what: String| ImportError::Line { line: 1, what };
        let head: ImportHead =
            serde_json::from_slice(&text).map_err(|wrong| bad(wrong.to_string()))?;
        if head.journal != 1 {
            return Err(bad(format!("it has the format {}, this release knows 1", head.journal)));
        }
        let origin = Origin { market: head.market, created: head.created };
        let end = JournalEnd::of(&origin);
        Ok(ExportedRows { lines, origin, end, line: 1 })
    }

    fn row(&mut self, text: &[u8]) -> Result<Row, ImportError> {
        let line = self.line;
        let bad = |what: &str| ImportError::Line { line, what: what.to_owned() };
        let read = ImportLine::read(text);
        let read = read.ok_or_else(|| bad("it is not as `tradewind journal export` writes it"))?;
        let end = self.end.then(read.at, &read.body);
        if end.seq != read.seq {
            return Err(bad("a row is missing before it"));
        }
        if read.at < self.end.at || end.digest.to_string().as_bytes() != read.chain {
            return Err(bad("its digest is not that of the row and all before it"));
        }
        self.end = end;
        Ok(Row { seq: read.seq, at: read.at, body: read.body.into_owned() })
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let is_hex = hex.len().is_multiple_of(2) && hex.bytes().all(|it| it.is_ascii_hexdigit());
    let pairs = is_hex.then(|| (0..hex.len()).step_by(2))?;
    pairs.map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

impl<R: BufRead> RowSource for ExportedRows<R> {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn next(&mut self) -> Result<Vec<Row>, ImportError> {
        let (mut rows, mut size) = (Vec::new(), 0);
        while rows.len() < PAGE && size < BYTES {
            let mut text = Vec::new();
            if self.lines.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            self.line += 1;
            if text.pop() != Some(b'\n') {
                let what = "it ends too early: the export is not complete".to_owned();
                return Err(ImportError::Line { line: self.line, what });
            }
            size += text.len();
            rows.push(self.row(&text)?);
        }
        Ok(rows)
    }
}

/// Reads all rows of the copy and compares its last digest, which covers all of them, with that of
/// the original.
///
/// # Errors
/// If a row cannot be read, is damaged, or is another one.
pub fn compared(copy: &mut dyn Store, original: JournalEnd) -> Result<Verified, ImportError> {
    let verified = verify(copy)?;
    match verified.digest == original.digest && verified.rows == original.seq {
        true => Ok(verified),
        false => Err(ImportError::Different { wanted: original.digest, found: verified.digest }),
    }
}
