//! Tags of tasks that were forgotten, or withdrawn before they were known: never to run again.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::site::files::at;

/// One line per tag in a file that only grows.
#[derive(Debug)]
pub(in crate::site) struct Gone {
    file: File,
    tags: BTreeSet<String>,
}

impl Gone {
    /// Reads the file, and cuts off a last line that was not written to its end: no caller was
    /// notified that it is there.
    pub(in crate::site) fn open(path: &Path) -> io::Result<Gone> {
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        let mut file = options.open(path).map_err(|error| at(path, &error))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| at(path, &error))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            file.set_len(u64::try_from(whole).unwrap_or(u64::MAX))?;
        }
        let lines = text.get(..whole).unwrap_or_default().lines();
        Ok(Gone { file, tags: lines.map(str::to_owned).collect() })
    }

    /// Only these from now on: what counts is elsewhere, and the file is a copy.
    pub(in crate::site) fn replace(&mut self, tags: BTreeSet<String>) -> io::Result<()> {
        self.file.set_len(0)?;
        self.tags.clear();
        self.add(&tags.into_iter().collect::<Vec<_>>())
    }

    /// The same without the file.
    pub(in crate::site) fn remember(&mut self, tags: &[String]) {
        self.tags.extend(tags.iter().cloned());
    }

    pub(in crate::site) fn all(&self) -> impl Iterator<Item = &String> {
        self.tags.iter()
    }

    pub(in crate::site) fn has(&self, tag: &str) -> bool {
        self.tags.contains(tag)
    }

    /// On disk when this returns. No tag has a line break.
    pub(in crate::site) fn add(&mut self, tags: &[String]) -> io::Result<()> {
        let new: Vec<&String> = tags.iter().filter(|tag| !self.has(tag)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let length = self.file.metadata()?.len();
        let lines: String = new.iter().map(|tag| format!("{tag}\n")).collect();
        let written = self.file.write_all(lines.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Half a line would spoil the next one.
            let _ = self.file.set_len(length);
            return Err(error);
        }
        self.tags.extend(tags.iter().cloned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_no_tag() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gone");
        let mut gone = Gone::open(&path).unwrap();
        gone.add(&["tw-m-1-0-0".to_owned()]).unwrap();
        gone.add(&["tw-m-1-0-0".to_owned()]).unwrap();
        drop(gone);
        // What a crash leaves of `tw-m-2-0-12`.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"tw-m-2-0-1").unwrap();
        let mut gone = Gone::open(&path).unwrap();
        assert!(gone.has("tw-m-1-0-0") && !gone.has("tw-m-2-0-1"));
        gone.add(&["tw-m-3-0-0".to_owned()]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "tw-m-1-0-0\ntw-m-3-0-0\n");
    }
}
