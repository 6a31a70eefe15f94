//! What an earlier market has left in a folder: a market never begins there by accident.

use std::fs;
use std::path::{Path, PathBuf};

use tradewind_daemon::store::StoreError;
use tradewind_daemon::store::sqlite::{self, Sqlite};

use super::place::StateFolder;
use crate::exit::Failure;
use crate::report::Report;

/// How `up` begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// With the market that is there; with a new one if nothing is there at all.
    AsFound,
    /// With a new market, although something of another one is there.
    New,
}

/// Looks whether a market may begin or go on in this folder, before anything is written.
///
/// # Errors
/// If something of a market is there and its journal is not; with [`Beginning::New`], if the
/// journal is there, or cannot be renamed.
pub(super) fn check(place: &StateFolder, how: Beginning, report: &Report) -> Result<(), Failure> {
    let journal = place.journal();
    match how {
        Beginning::AsFound if is_there(&journal) => Ok(()),
        Beginning::AsFound => match found(place) {
            left if left.is_empty() => Ok(()),
            left => Err(refusal(place, &left)),
        },
        Beginning::New => set_aside(place, &journal, report),
    }
}

/// Whether there is a journal, or something in its place of which only an opening shows more.
fn is_there(journal: &Path) -> bool {
    journal.exists() && sqlite::remains(journal).is_empty()
}

fn set_aside(place: &StateFolder, journal: &Path, report: &Report) -> Result<(), Failure> {
    if Sqlite::look(journal).is_ok() {
        let message = format!("there is a journal: `{}`", journal.display());
        let hint = "start without `--new` to go on with it, or name another folder: `--state DIR`";
        return Err(Failure::usage(message).hint(hint));
    }
    let left = found(place);
    let names = sqlite::set_aside(journal).map_err(|wrong| explain(&wrong))?;
    for name in &names {
        report.note(&format!("what was left of a journal is kept as {}", name.display()));
    }
    if !left.is_empty() {
        report.note("a new market begins; nothing of the earlier one is known to it");
    }
    Ok(())
}

/// Looks whether a folder whose journal is to begin elsewhere has nothing of another market.
///
/// # Errors
/// If it has.
pub(super) fn nothing_is_left(place: &StateFolder, store: &str) -> Result<(), Failure> {
    let left = found(place);
    if left.is_empty() {
        return Ok(());
    }
    let message = format!(
        "there is no journal in {store}, but something of a market is in `{}`: {}",
        place.folder().display(),
        left.join(", ")
    );
    Err(Failure::data(message).hint(
        "name the database of that market, or restore it; to give that market up and begin a new \
         one: `tradewind up --new`",
    ))
}

/// What there is of a market, by its names in the folder.
fn found(place: &StateFolder) -> Vec<String> {
    let name = |path: &PathBuf| {
        let name = path.strip_prefix(place.folder()).unwrap_or(path);
        let empty = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() == 0);
        format!("`{}`{}", name.display(), if empty { " (empty)" } else { "" })
    };
    let mut all: Vec<String> = sqlite::remains(&place.journal()).iter().map(name).collect();
    all.extend(Some(place.token()).filter(|it| it.exists()).iter().map(name));
    all.extend(below(&place.folder().join("sites")).iter().map(name));
    let work = place.folder().join("work");
    all.extend(Some(work).filter(|it| it.exists()).iter().map(name));
    all
}

/// The entries of a folder, by name; none if there is no such folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<PathBuf> = entries.filter_map(Result::ok).map(|it| it.path()).collect();
    all.sort();
    all
}

fn refusal(place: &StateFolder, left: &[String]) -> Failure {
    let folder = place.folder().display();
    let message = format!(
        "`{folder}` has no complete journal, but something of a market is there: {}",
        left.join(", ")
    );
    Failure::data(message).hint(format!(
        "bring `journal.db` and `journal.db-wal` back together, or move them away and restore a \
         backup: `tradewind restore BACKUP --state {folder}`; to give that market up and begin a \
         new one: `tradewind up --new`"
    ))
}

/// Why a journal cannot be opened, and what to do.
pub(super) fn explain(wrong: &StoreError) -> Failure {
    let message = wrong.to_string();
    match wrong {
        StoreError::Busy { .. } => Failure::usage(message)
            .hint("a market runs here already; or say another folder: `--state DIR`"),
        StoreError::Damaged { .. } => Failure::usage(message)
            .hint("`tradewind restore` brings a backup back; see docs/reference/journal.md"),
        StoreError::Lost { .. } => Failure::data(message).hint(
            "bring `journal.db` and `journal.db-wal` back together, or a backup: `tradewind \
             restore`; see docs/reference/journal.md",
        ),
        _ => Failure::usage(message).hint("see docs/reference/journal.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Volume;

    const REPORT: Report = Report { volume: Volume::Quiet };

    fn said(place: &StateFolder) -> String {
        let failure = check(place, Beginning::AsFound, &REPORT).unwrap_err();
        assert_eq!(failure.exit.code(), 3);
        let problem = &failure.problems[0];
        format!("{} {}", problem.message, problem.hint.clone().unwrap_or_default())
    }

    #[test]
    fn whatever_is_left_of_a_market_is_named() {
        let names = ["admin.token", "sites/alpha/tasks", "work/x", "journal.db", "journal.db-wal"];
        for name in names {
            let folder = tempfile::tempdir().unwrap();
            let place = StateFolder::new(Some(folder.path())).unwrap();
            check(&place, Beginning::AsFound, &REPORT).unwrap();
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let said = said(&place);
            let shown = name.trim_end_matches("/tasks").trim_end_matches("/x");
            assert!(said.contains(&format!("`{shown}`")), "{name}: {said}");
            assert!(said.contains("tradewind restore") && said.contains("--new"), "{said}");
            check(&place, Beginning::New, &REPORT).unwrap();
        }
    }

    #[test]
    fn a_journal_is_never_set_aside_by_new() {
        let folder = tempfile::tempdir().unwrap();
        let place = StateFolder::new(Some(folder.path())).unwrap();
        drop(Sqlite::open(&place.journal()).unwrap());
        check(&place, Beginning::AsFound, &REPORT).unwrap();
        let refused = check(&place, Beginning::New, &REPORT).unwrap_err();
        assert_eq!(refused.exit.code(), 2);
        assert!(Sqlite::open(&place.journal()).is_ok());
    }

    #[test]
    fn what_is_left_of_a_journal_keeps_its_contents_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let place = StateFolder::new(Some(folder.path())).unwrap();
        fs::write(place.journal(), "").unwrap();
        fs::write(folder.path().join("journal.db-wal"), "the log").unwrap();
        check(&place, Beginning::New, &REPORT).unwrap();
        assert!(!place.journal().exists());
        let kept = below(folder.path());
        let log = kept.iter().find(|it| it.to_string_lossy().ends_with("-wal")).unwrap();
        assert!(log.to_string_lossy().contains("journal.db.lost-"), "{kept:?}");
        assert_eq!(fs::read_to_string(log).unwrap(), "the log");
    }
}
