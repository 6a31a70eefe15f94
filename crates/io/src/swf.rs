//! Logs in the Standard Workload Format: [`tradewind_swf`], whose readers here also know our other
//! kinds of files, for the message if a command is given one of those.

pub use tradewind_swf::{
    Header, Log, Record, Records, ReplayedJob, Rules, STANDARD_KEYS, Summary, SwfOutcome, records,
    result, sample, transform, write, write_header, write_record,
};

use crate::diagnostics::Diagnostics;
use crate::input::{self, Input};
use crate::kind::{self, FileKind};

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
    kind::expect(FileKind::Log, input, tradewind_swf::parse(input))
}
