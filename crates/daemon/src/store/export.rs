//! A journal as lines of JSON, for people and for other programs.
//!
//! The first line is `{"journal":1,"market":…,"created":…}`, every other one a row:
//! `{"seq":…,"at":…,"body":…,"chain":"…"}`. The body stands there byte for byte, so any reader can
//! follow the chain (see [`super::chain`]); one that is not JSON on one line is written as
//! `"hex":"…"` instead of `"body"`.

use std::io::{self, Write};

use serde::de::IgnoredAny;

use super::chain::JournalEnd;
use super::{Row, Store, StoreError};

/// Rows that are read in one go.
const PAGE: usize = 256;

/// The version of the lines.
const FORMAT: u32 = 1;

/// Why a journal was not exported to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It could not be written.
    #[error("the export could not be written: {0}")]
    Write(#[from] io::Error),
}

/// Writes all rows; returns how many. Linear, in pieces: memory does not grow with the journal.
///
/// # Errors
/// At the first row that is not what was written, after all before it; or if `to` takes no more.
pub fn export(store: &mut dyn Store, to: &mut dyn Write) -> Result<u64, ExportError> {
    let origin = store.origin().clone();
    let market = serde_json::Value::from(origin.market.as_str());
    writeln!(to, r#"{{"journal":{FORMAT},"market":{market},"created":{}}}"#, origin.created)?;
    let mut end = JournalEnd::of(&origin);
    loop {
        let rows = store.read(end.seq, PAGE)?;
        if rows.is_empty() {
            to.flush()?;
            return Ok(end.seq);
        }
        for row in &rows {
            end = end.then(row.at, &row.body);
            write_row(row, end, to)?;
        }
    }
}

fn write_row(row: &Row, end: JournalEnd, to: &mut dyn Write) -> io::Result<()> {
    write!(to, r#"{{"seq":{},"at":{},"#, row.seq, row.at)?;
    match is_a_line_of_json(&row.body) {
        true => {
            to.write_all(br#""body":"#)?;
            to.write_all(&row.body)?;
        }
        false => {
            to.write_all(br#""hex":""#)?;
            row.body.iter().try_for_each(|byte| write!(to, "{byte:02x}"))?;
            to.write_all(br#"""#)?;
        }
    }
    writeln!(to, r#","chain":"{}"}}"#, end.digest)
}

fn is_a_line_of_json(body: &[u8]) -> bool {
    let line = !body.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    line && serde_json::from_slice::<IgnoredAny>(body).is_ok()
}
