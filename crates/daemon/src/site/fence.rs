//! The newest term of ownership that a site's folder knows.
//!
//! What an adapter must remember is in a folder. The folder also has the file `epoch`: the newest
//! term in which it was opened. Orders of an earlier one are refused. Each term has a lock of its
//! own, because a process that is frozen still has that of its term, and a folder of its own for what
//! it is making: a process may be frozen after its order was admitted.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The file with the newest epoch.
const EPOCH: &str = "epoch";

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
    /// Those of the newest term.
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
    /// necessary.
    ///
    /// # Errors
    /// If a later term has opened the folder, or it cannot be used.
    pub fn raise(folder: &Path, epoch: u64) -> io::Result<Fence> {
        fs::create_dir_all(folder)?;
        let before = newest(folder)?;
        if let Some(found) = before.filter(|found| *found > epoch) {
            return Err(io::Error::other(stale(epoch, found)));
        }
        let part = folder.join("epoch.part");
        let mut file = fs::File::create(&part)?;
        writeln!(file, "{epoch}")?;
        file.sync_all()?;
        fs::rename(&part, folder.join(EPOCH))?;
        fs::File::open(folder)?.sync_all()?;
        if let Some(earlier) = before.filter(|it| *it < epoch) {
            drop(fs::remove_file(folder.join(format!("lock-{earlier}"))));
        }
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
}
