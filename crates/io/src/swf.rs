//! Logs in the Standard Workload Format: [`tradewind_swf`], whose readers here also take logs as
//! [Parquet tables](crate::log_table), and know our other kinds of files, for the message if a command
//! is given one of those.

use std::fs::File;
use std::io::{Read, Seek};

pub use tradewind_swf::{
    Header, Log, Record, Records, ReplayedJob, Rules, STANDARD_KEYS, Summary, SwfOutcome, result,
    sample, transform, write, write_header, write_record,
};

use crate::diagnostics::Diagnostics;
use crate::input::{self, Input};
use crate::kind::{self, FileKind};
use crate::log_table;

/// As [`tradewind_swf::load`].
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str) -> Result<Log, Diagnostics> {
    parse(&input::read(path)?)
}

/// As [`tradewind_swf::parse`].
///
/// # Errors
/// All that is wrong with it, or one message if it is another kind of file.
pub fn parse(input: &Input) -> Result<Log, Diagnostics> {
    if log_table::is_table(&input.bytes) {
        return tradewind_swf::parse(&log_table::as_text(input)?);
    }
    kind::expect(FileKind::Log, input, tradewind_swf::parse(input))
}

/// As [`tradewind_swf::records`].
///
/// # Errors
/// The file cannot be read, or something is wrong with its first piece.
pub fn records(path: &str) -> Result<Records, Diagnostics> {
    match table(path) {
        None => tradewind_swf::records(path),
        Some(file) => {
            let name = path.to_owned();
            tradewind_swf::records_from(path, move || {
                Ok(Box::new(log_table::open(&name, file)?) as Box<dyn std::io::BufRead>)
            })
        }
    }
}

/// The file, if it is a Parquet table.
fn table(path: &str) -> Option<File> {
    let mut file = File::open(path).ok().filter(|_| path != "-")?;
    let mut first = [0; 4];
    file.read_exact(&mut first).ok()?;
    file.rewind().ok()?;
    log_table::is_table(&first).then_some(file)
}
