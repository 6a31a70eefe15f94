//! Results on standard output and in files.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use tradewind_io::chart::{HAS_PNG, Picture};
use tradewind_io::report::FileLink;

use crate::exit::Failure;

/// Prints `text` on standard output. A reader that has gone is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut to = std::io::stdout().lock();
    let written = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    written.map_err(|error| failed(&error))
}

/// Prints `bytes` on standard output as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut to = std::io::stdout().lock();
    let written = to.write_all(bytes).and_then(|()| to.flush());
    written.map_err(|error| failed(&error))
}

/// Prints what `write` writes on standard output, piece by piece.
pub(crate) fn print_with(
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut to = io::BufWriter::new(std::io::stdout().lock());
    write(&mut to).and_then(|()| to.flush()).map_err(|error| failed(&error))
}

/// Prints text that may carry colours; they are dropped where they are not wanted.
pub(crate) fn print_styled(text: &str) -> Result<(), Failure> {
    let mut to = anstream::stdout().lock();
    let written = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    written.map_err(|error| failed(&error))
}

/// Counts files that are being written.
static TURN: AtomicU64 = AtomicU64::new(0);

/// Writes `bytes` to `path` whole or not at all; see [`write_with`].
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, |to| to.write_all(bytes))
}

/// Writes what `write` writes to `path` whole or not at all: beside it first, then renamed over it.
/// A link stays and its target is written; what is no plain file, such as `/dev/stdout`, is written
/// to.
pub(crate) fn write_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::data(format!("failed to write `{}`: {error}", path.display()));
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        return File::create(path).and_then(|mut to| write(&mut to)).map_err(failed);
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = target.as_path();
    let name = path
        .file_name()
        .ok_or_else(|| Failure::usage(format!("`{}` is not the name of a file", path.display())))?;
    let mut beside = name.to_owned();
    // Threads may write the same file at the same time: the last one wins, and none fails.
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    beside.push(format!(".{}-{turn}.part", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = File::create(&beside).and_then(|mut to| write(&mut to));
    let written = written.and_then(|()| std::fs::rename(&beside, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&beside))).map_err(failed)
}

/// Writes a picture as SVG, and as PNG if the program can, and returns the links of a report to
/// these files.
pub(crate) fn write_picture(
    folder: &Path,
    name: &str,
    picture: &Picture,
) -> Result<Vec<FileLink>, Failure> {
    let mut files = vec![("SVG", format!("{name}.svg"), picture.svg().into_bytes())];
    if HAS_PNG {
        let png = picture.png().map_err(|error| Failure::data(format!("{name}: {error}")))?;
        files.push(("PNG", format!("{name}.png"), png));
    }
    let write = |(kind, path, bytes): (&str, String, Vec<u8>)| {
        write_file(&folder.join(&path), &bytes)?;
        Ok(FileLink { name: kind.to_owned(), path })
    };
    files.into_iter().map(write).collect()
}

/// Rows of text as CSV, the first being the header.
pub(crate) fn csv(rows: &[Vec<String>]) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|error| Failure::data(error.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|error| Failure::data(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Columns to keep to: as many as `COLUMNS` says, else those of the terminal. `None` where there
/// is neither: programs that read a pipe need whole lines.
pub(crate) fn width() -> Option<usize> {
    const MIN: usize = 40;
    const MAX: usize = 160;
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    if let Some(columns) = said.filter(|columns| *columns > 0) {
        return Some(columns.clamp(MIN, usize::from(u16::MAX)));
    }
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    let columns = || comfy_table::Table::new().width().map_or(DRAWING, usize::from);
    is_terminal.then(columns).map(|columns| columns.clamp(MIN, MAX))
}

/// Columns of a drawing where nothing says how many there are.
pub(crate) const DRAWING: usize = 100;

/// Prints a document as JSON, on one line.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<(), Failure> {
    let mut to = std::io::BufWriter::new(std::io::stdout().lock());
    let written = serde_json::to_writer(&mut to, document).map_err(io::Error::from);
    let written = written.and_then(|()| to.write_all(b"\n")).and_then(|()| to.flush());
    written.map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::quiet(),
        _ => Failure::data(format!("failed to write to standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_may_write_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("part.tsv");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| write_file(&file, b"whole").unwrap()));
            }
        });
        assert_eq!(std::fs::read(&file).unwrap(), b"whole");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }
}
