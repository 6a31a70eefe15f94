//! A file of lines of which the last one on each thing counts: many changes reach the disk at once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::site::files::{at, sync_folder, write_synced};

/// Fewer lines than this are not worth a new file.
const FEW: usize = 1_000;

/// Whether a change must be on disk before anybody hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Haste {
    /// It must.
    Now,
    /// It may be lost when the machine dies.
    Soon,
}

/// The file, and how long it has grown.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl Log {
    /// Opens the file, made if need be; the lines that it has. A last one that was not written to
    /// its end is cut off: nobody was told that it is there.
    ///
    /// # Errors
    /// If it cannot be used, or a line of it is damaged.
    pub(super) fn open<L: DeserializeOwned>(path: &Path) -> io::Result<(Log, Vec<L>)> {
        let mut file = append(path)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| at(path, &error))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(u64::try_from(whole).unwrap_or(u64::MAX))?;
        }
        let numbered = text.get(..whole).unwrap_or_default().lines().zip(1..);
        let damaged = |number: usize, error: &serde_json::Error| {
            let why = format!("{}, line {number}: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, why)
        };
        let lines: io::Result<Vec<L>> = numbered
            .map(|(line, number)| {
                serde_json::from_str(line).map_err(|error| damaged(number, &error))
            })
            .collect();
        let lines = lines?;
        Ok((Log { path: path.to_owned(), file, lines: lines.len() }, lines))
    }

    /// Adds lines: all of them, or none.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn add<L: Serialize>(&mut self, lines: &[L], haste: Haste) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let bytes = bytes(lines)?;
        let length = self.file.metadata()?.len();
        let written = self.file.write_all(&bytes).and_then(|()| match haste {
            Haste::Now => self.file.sync_data(),
            Haste::Soon => Ok(()),
        });
        if let Err(error) = written {
            // Half a line would spoil the next one.
            let _ = self.file.set_len(length);
            return Err(at(&self.path, &error));
        }
        self.lines += lines.len();
        Ok(())
    }

    /// Whether it has grown so long that it should be written anew, where `live` lines count.
    pub(super) fn is_long(&self, live: usize) -> bool {
        self.lines > FEW + 2 * live
    }

    /// Puts these lines in the place of all that is there.
    ///
    /// # Errors
    /// If they cannot be written: then it is as it was.
    pub(super) fn renew<L: Serialize>(&mut self, lines: &[L]) -> io::Result<()> {
        let draft = self.path.with_extension("draft");
        write_synced(&draft, &bytes(lines)?, 0o600).map_err(|error| at(&draft, &error))?;
        // Opened before it has its name: from then on nothing may go to the old one.
        let file = append(&draft)?;
        fs::rename(&draft, &self.path)?;
        (self.file, self.lines) = (file, lines.len());
        sync_folder(self.path.parent().unwrap_or(Path::new(".")))
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).append(true).mode(0o600);
    options.open(path).map_err(|error| at(path, &error))
}

fn bytes<L: Serialize>(lines: &[L]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_but_for_a_torn_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (mut log, none) = Log::open::<String>(&path).unwrap();
        assert!(none.is_empty() && !log.is_long(0));
        log.add(&["a", "b\nc"], Haste::Now).unwrap();
        log.add(&["d"], Haste::Soon).unwrap();
        drop(log);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"\"to").unwrap();
        let (mut log, lines) = Log::open::<String>(&path).unwrap();
        assert_eq!(lines, ["a", "b\nc", "d"]);
        log.renew(&["e"]).unwrap();
        log.add(&["f"], Haste::Now).unwrap();
        assert_eq!(log.lines, 2);
        assert_eq!(Log::open::<String>(&path).unwrap().1, ["e", "f"]);
        fs::write(&path, "\"a\"\noops\n\"b\"\n").unwrap();
        let told = Log::open::<String>(&path).unwrap_err().to_string();
        assert!(told.contains("log, line 2: "), "{told}");
    }
}
