//! Tags of tasks that were forgotten, or withdrawn before they were known: never to run again.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::site::files::{at, sync_folder, write_synced};

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

    /// The same in a file of its own, which is made as `draft` first. What an adapter that had opened
    /// the file before still adds to its own, or cuts off there, is lost.
    pub(in crate::site) fn open_in_new_file(path: &Path, draft: &Path) -> io::Result<Gone> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| at(path, &error))?,
        };
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let text = text.get(..whole).unwrap_or_default();
        write_synced(draft, text.as_bytes(), 0o600).map_err(|error| at(draft, &error))?;
        let file = OpenOptions::new().append(true).open(draft)?;
        fs::rename(draft, path).map_err(|error| at(path, &error))?;
        sync_folder(path.parent().unwrap_or(Path::new(".")))?;
        Ok(Gone { file, tags: text.lines().map(str::to_owned).collect() })
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

    /// One that was frozen while it added a line goes on, and cuts off what it could not write.
    #[test]
    fn who_opened_the_file_before_neither_adds_to_it_nor_cuts_it_off() {
        let folder = tempfile::tempdir().unwrap();
        let [path, draft] = ["gone", "draft"].map(|name| folder.path().join(name));
        let mut frozen = Gone::open_in_new_file(&path, &draft).unwrap();
        frozen.add(&["tw-m-1-0-0".to_owned()]).unwrap();
        let length = frozen.file.metadata().unwrap().len();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"tw-m-9").unwrap();
        let mut gone = Gone::open_in_new_file(&path, &draft).unwrap();
        assert!(gone.has("tw-m-1-0-0") && !gone.has("tw-m-9"));
        gone.add(&["tw-m-2-0-0".to_owned()]).unwrap();
        frozen.add(&["tw-m-3-0-0".to_owned()]).unwrap();
        frozen.file.set_len(length).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "tw-m-1-0-0\ntw-m-2-0-0\n");
    }
}
