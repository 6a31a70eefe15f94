//! Finished parts, so that a stopped run goes on where it was.

use std::path::{Path, PathBuf};

use tradewind_io::digest;
use tradewind_lab::Tally;

use super::super::simulate::store::make;
use super::work::ExperimentRun;
use crate::exit::Failure;
use crate::output;

/// A folder of tallies, or none. What a tally depends on (the case and this very program) names
/// its folder, so that nothing stale is ever read.
pub(super) struct Store {
    folder: Option<PathBuf>,
    program: String,
}

impl Store {
    /// In the folder `out`, if there is one.
    pub(super) fn new(out: Option<&Path>) -> Result<Store, Failure> {
        let Some(out) = out else { return Ok(Store { folder: None, program: String::new() }) };
        make(out)?;
        let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        Ok(Store { folder: Some(out.join("parts")), program: digest::sha256(&program) })
    }

    /// The folder of `run`'s parts, made if it is not there; `None` if nothing is kept.
    pub(super) fn open(&self, run: &ExperimentRun) -> Result<Option<PathBuf>, Failure> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let id = digest::sha256(format!("{} {}", self.program, run.case.key()).as_bytes());
        let folder = folder.join(format!("{}-{}", run.experiment.id, &id[..16]));
        make(&folder)?;
        Ok(Some(folder))
    }
}

/// What part `part` counted, if it is in `folder`.
pub(super) fn read(folder: Option<&Path>, part: u32) -> Option<Tally> {
    let text = std::fs::read_to_string(file(folder?, part)).ok()?;
    Tally::parse(&text).ok()
}

/// Keeps what part `part` counted.
pub(super) fn write(folder: Option<&Path>, part: u32, tally: &Tally) -> Result<(), Failure> {
    match folder {
        Some(folder) => output::write_file(&file(folder, part), tally.text().as_bytes()),
        None => Ok(()),
    }
}

fn file(folder: &Path, part: u32) -> PathBuf {
    folder.join(format!("{part:05}.tsv"))
}
