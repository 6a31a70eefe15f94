//! The newest term of ownership that a site's folder knows.
//!
//! What an adapter must remember is in a folder. The folder also has the file `epoch`: the newest
//! term in which it was opened. Orders of an earlier one are refused. Each term has a lock of its
//! own, because a process that is frozen still has that of its term.
//!
//! A process may be frozen after its order was admitted, for as long as it takes a later term to run
//! a task and forget it. So each term also has a folder for what is being made, and nothing but its
//! beginning makes that. What must not happen in a later term is moved out of it in one step; the later
//! term has taken it away by then.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// The file with the newest epoch.
const EPOCH: &str = "epoch";
/// The folder for what is being made, of each term.
pub(super) const INCOMING: &str = "incoming";
/// The lock of each term.
pub(super) const LOCK: &str = "lock";

/// The newest epoch in which a folder was opened; `None`: it never had one.
fn newest(folder: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(folder.join(EPOCH)) {
        Ok(text) => text.trim().parse().map(Some).map_err(io::Error::other),
        Err(wrong) if wrong.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(wrong) => Err(wrong),
    }
}

/// What an adapter that opens a folder calls the files of its term.
#[derive(Debug, Clone, Copy)]
pub(super) struct TermNames(Option<u64>);

impl TermNames {
    /// Those of a term that has begun.
    pub(super) fn of_term(epoch: u64) -> TermNames {
        TermNames(Some(epoch))
    }

    /// Those of the newest term, for a look.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn newest(folder: &Path) -> io::Result<TermNames> {
        newest(folder).map(TermNames)
    }

    /// `lock` is `lock-7` in term 7, and `lock` where there are no terms.
    pub(super) fn of(self, name: &str) -> String {
        self.0.map_or_else(|| name.to_owned(), |epoch| format!("{name}-{epoch}"))
    }
}

/// Refuses orders of earlier terms.
#[derive(Debug)]
pub struct Fence {
    folder: PathBuf,
    epoch: u64,
}

impl Fence {
    /// From now on earlier terms can give no orders to the site of this folder, which is made if
    /// necessary, and can finish none that they have begun.
    ///
    /// # Errors
    /// If a later term has opened the folder, or it cannot be used.
    pub fn raise(folder: &Path, epoch: u64) -> io::Result<Fence> {
        let own = folder.join(TermNames(Some(epoch)).of(INCOMING));
        let mut maker = fs::DirBuilder::new();
        maker.recursive(true).mode(0o700).create(&own)?;
        // Only now: a later term that is not seen here has not begun, and will find this folder.
        if let Some(found) = newest(folder)?.filter(|found| *found > epoch) {
            drop(fs::remove_dir(&own));
            return Err(io::Error::other(stale(epoch, found)));
        }
        publish(folder, &own, epoch)?;
        sweep(folder, &own, epoch)?;
        Ok(Fence { folder: folder.to_owned(), epoch })
    }

    /// Whether orders of this term may still be given.
    ///
    /// # Errors
    /// If a later term has opened the folder since, or it cannot be read: for people.
    pub(super) fn admits(&self) -> Result<(), String> {
        match newest(&self.folder) {
            Ok(Some(found)) if found <= self.epoch => Ok(()),
            Ok(Some(found)) => Err(stale(self.epoch, found)),
            Ok(None) => Err("the site's folder has lost its epoch".to_owned()),
            Err(wrong) => Err(format!("the site's epoch cannot be read: {wrong}")),
        }
    }
}

/// Writes the epoch: a term that was succeeded while it did so has no `own` folder any more.
fn publish(folder: &Path, own: &Path, epoch: u64) -> io::Result<()> {
    let draft = own.join(EPOCH);
    let mut file = fs::File::create(&draft)?;
    writeln!(file, "{epoch}")?;
    file.sync_all()?;
    fs::rename(&draft, folder.join(EPOCH))?;
    fs::File::open(folder)?.sync_all()
}

/// Takes away what earlier terms were making, and their locks.
fn sweep(folder: &Path, own: &Path, epoch: u64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, name) = entry.map(|it| (it.path(), it.file_name()))?;
        let name = name.to_string_lossy();
        let is_earlier = |number: &str| number.parse().is_ok_and(|it: u64| it < epoch);
        let numbered = |of: &str| name.strip_prefix(of)?.strip_prefix('-').map(is_earlier);
        if name == INCOMING || numbered(INCOMING) == Some(true) {
            // In one step: who moves something out of it in the middle of that has not done so.
            fs::rename(&path, own.join(&*name))?;
        } else if numbered(LOCK) == Some(true) {
            drop(fs::remove_file(path));
        }
    }
    empty(own)
}

/// Removes what is in the folder.
pub(super) fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|it| Ok((it.path(), it.file_type()?)))?;
        match kind.is_dir() {
            true => fs::remove_dir_all(path)?,
            false => fs::remove_file(path)?,
        }
    }
    Ok(())
}

fn stale(ours: u64, found: u64) -> String {
    format!("another daemon owns the market: the site knows epoch {found}, this order is of {ours}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_knows_the_newest_term_and_refuses_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let lock_name = |folder| TermNames::newest(folder).unwrap().of("lock");
        assert_eq!(lock_name(folder), "lock");
        let first = Fence::raise(folder, 3).unwrap();
        assert_eq!(lock_name(folder), "lock-3");
        first.admits().unwrap();
        let second = Fence::raise(folder, 5).unwrap();
        let refused = first.admits().unwrap_err();
        assert!(refused.contains("epoch 5") && refused.contains("of 3"), "{refused}");
        second.admits().unwrap();
        assert!(Fence::raise(folder, 4).unwrap_err().to_string().contains("epoch 5"));
        fs::remove_file(folder.join(EPOCH)).unwrap();
        assert!(second.admits().is_err(), "what is unknown is not allowed");
    }

    /// Term 3 is frozen while it begins, and term 4 begins meanwhile.
    #[test]
    fn a_term_that_was_frozen_while_it_began_takes_nothing_back() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = folder.join("incoming-3");
        fs::create_dir(&own).unwrap();
        fs::write(folder.join("lock-3"), "").unwrap();
        let second = Fence::raise(folder, 4).unwrap();
        let left = || {
            let names = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name());
            names.collect::<std::collections::BTreeSet<_>>()
        };
        let wanted = ["epoch", "incoming-4"].map(Into::into).into();
        assert_eq!(left(), wanted);
        publish(folder, &own, 3).unwrap_err();
        second.admits().unwrap();
        assert_eq!(newest(folder).unwrap(), Some(4));
        // It was frozen before that.
        Fence::raise(folder, 3).unwrap_err();
        assert_eq!(left(), wanted);
        // It has begun, and takes away what is not its own.
        fs::create_dir(&own).unwrap();
        sweep(folder, &own, 3).unwrap();
        assert!(folder.join("incoming-4").is_dir());
    }
}
