//! Whose folder it is: whether this campaign may write there, and how it takes another's place.

use std::path::Path;
use std::sync::OnceLock;
use tradewind_campaign::summary::Summary;

use super::outputs;
use super::overview::Overview;
use super::overview_files;
use super::store::{Record, RunRecord};
use crate::exit::Failure;

/// Where a campaign's results go. What is there is left alone until there is a result to put in
/// its place.
pub(super) struct Folder<'a> {
    path: &'a Path,
    record: &'a Record,
    begun: OnceLock<Result<(), Failure>>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(path: &'a Path, record: &'a Record) -> Folder<'a> {
        Folder { path, record, begun: OnceLock::new() }
    }

    /// To be called before anything is run. `force`: whatever is there may be overwritten.
    pub(super) fn prepare(&self, force: bool) -> Result<(), Failure> {
        if !force {
            self.check()?;
        }
        if !self.is_anothers() {
            self.begin()?;
        }
        Ok(())
    }

    /// The folder must be new, or of the same campaign, or of another one that has no finished run
    /// yet: results are not overwritten, and neither are files that no campaign has written.
    fn check(&self) -> Result<(), Failure> {
        let (out, record) = (self.path, self.record);
        let Some(there) = Record::read(out)? else {
            let hint = "use another folder, or `--force` to overwrite it";
            return check_strangers(out, record).map_err(|failure| failure.hint(hint));
        };
        let stale = |run: &RunRecord| run.done(out).is_some_and(|done| done.id != run.id);
        let differences = match record.differences(&there) {
            none if none.is_empty() && record.runs.iter().any(stale) => record.causes(&there),
            differences => differences,
        };
        let finished = there.runs.iter().filter(|run| run.finished(out).is_some()).count();
        if differences.is_empty() || finished == 0 {
            return Ok(());
        }
        let (folder, what) = (out.display(), differences.join("; "));
        let message = format!("`{folder}` holds the results of another campaign; {what}");
        let hint = "use another folder, or `--force` to overwrite it";
        Err(Failure::usage(message).hint(hint))
    }

    /// What a run that is finished amounts to.
    pub(super) fn summary(&self, at: usize) -> Option<Summary> {
        self.record.runs[at].summary(self.path)
    }

    /// Makes a run's folder, lets its files be written, and marks it as finished.
    pub(super) fn write_run(
        &self,
        at: usize,
        write: impl FnOnce(&Path) -> Result<Vec<String>, Failure>,
    ) -> Result<(), Failure> {
        self.begin()?;
        let run = &self.record.runs[at];
        let files = write(&run.open(self.path)?)?;
        run.close(self.path, files)
    }

    /// Writes what is known of all runs.
    pub(super) fn write_overview(&self, overview: &Overview) -> Result<(), Failure> {
        overview_files::write_overview(self.path, self.record, overview)
    }

    /// Whether the folder holds the record of another campaign, or one that cannot be read.
    fn is_anothers(&self) -> bool {
        match Record::read(self.path) {
            Ok(there) => there.is_some_and(|there| there != *self.record),
            Err(_) => true,
        }
    }

    /// Makes the folder this campaign's, once: removes what another one says of the whole, and a
    /// single run of it, and leaves our record. Folders of other runs stay.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        let begin = || {
            if let Ok(Some(there)) = Record::read(self.path)
                && there != *self.record
            {
                self.clear(&there);
            }
            self.record.write(self.path)
        };
        self.begun.get_or_init(begin).clone()
    }

    fn clear(&self, there: &Record) {
        let single = there.runs.iter().find(|run| run.folder.is_empty());
        let kept = single.is_some_and(|run| self.record.runs.contains(run));
        if let Some(run) = single.filter(|_| !kept) {
            run.clear(self.path);
        }
        overview_files::clear_overview(self.path, kept);
    }
}

/// A folder without a campaign's record must not hold files with names of our results, unless
/// a `done.json` says that they are a run's.
pub(in crate::commands) fn check_strangers(out: &Path, record: &Record) -> Result<(), Failure> {
    let known = |run: &RunRecord| run.is_marked(out);
    if Record::read(out)?.is_some() || record.runs.iter().any(known) {
        return Ok(());
    }
    let outputs = record.outputs();
    let whole = overview_files::overview_files(&outputs).into_iter().map(|name| out.join(name));
    let runs = record.runs.iter().flat_map(|run| {
        let folder = run.path(out);
        outputs::names(&outputs).map(move |name| folder.join(name))
    });
    match whole.chain(runs).find(|path| path.exists()) {
        None => Ok(()),
        Some(path) => {
            let message = format!("`{}` is there, and no campaign has written it", path.display());
            Err(Failure::usage(message))
        }
    }
}
