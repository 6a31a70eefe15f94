//! A log read piece by piece, on a thread of its own: for logs that are longer than memory.

use std::io::BufRead;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::read::SwfReader;
use crate::{Header, Record, Summary, input};

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// Pieces that are read ahead.
const AHEAD: usize = 4;

/// The dated jobs of a log in the order of its lines, each once. What is wrong with the log is an
/// item, too, and the last one. Reading goes ahead of the caller by some pieces of 256 KiB.
#[derive(Debug)]
pub struct Records {
    /// What the lines beginning with `;` say that come before the first job, or soon after.
    pub header: Header,
    /// What is missing or odd in the jobs so far: in those that were read ahead, too.
    pub summary: Summary,
    /// The numbers of jobs without a submit time so far.
    pub undated: Vec<i64>,
    jobs: std::vec::IntoIter<Record>,
    pieces: Receiver<Piece>,
}

#[derive(Debug, Default)]
struct Piece {
    header: Header,
    summary: Summary,
    jobs: Vec<Record>,
    undated: Vec<i64>,
    /// What is wrong; nothing follows then.
    wrong: Option<Diagnostics>,
}

/// Begins to read the log in the file `path`, plain, gzip or zstd; `-` is standard input.
///
/// # Errors
/// The file cannot be read, or something is wrong with its first piece.
pub fn records(path: &str) -> Result<Records, Diagnostics> {
    let file = path.to_owned();
    records_from(path, move || Ok(input::open(&file)?.from))
}

/// The same for a log whose text `open` gives; diagnostics call it `name`. It is opened and read on a
/// thread of its own.
///
/// # Errors
/// Those of `open`, or something is wrong with the first piece.
pub fn records_from(
    name: &str,
    open: impl FnOnce() -> Result<Box<dyn BufRead>, Diagnostics> + Send + 'static,
) -> Result<Records, Diagnostics> {
    let (to, pieces) = sync_channel(AHEAD);
    let name = name.to_owned();
    std::thread::spawn(move || {
        let wrong = match open() {
            Ok(mut from) => read_all(&name, &mut *from, &to),
            Err(wrong) => Some(wrong),
        };
        // A caller who wants no more is gone.
        let _ = to.send(Piece { wrong, ..Piece::default() });
    });
    let Piece { header, summary, jobs, undated, wrong } = pieces.recv().unwrap_or_default();
    match wrong {
        Some(wrong) => Err(wrong),
        None => Ok(Records { header, summary, undated, jobs: jobs.into_iter(), pieces }),
    }
}

impl Iterator for Records {
    type Item = Result<Record, Diagnostics>;

    fn next(&mut self) -> Option<Result<Record, Diagnostics>> {
        loop {
            if let Some(job) = self.jobs.next() {
                return Some(Ok(job));
            }
            let piece = self.pieces.recv().ok()?;
            self.summary.add(&piece.summary);
            self.undated.extend(piece.undated);
            self.jobs = piece.jobs.into_iter();
            if let Some(wrong) = piece.wrong {
                return Some(Err(wrong));
            }
        }
    }
}

/// Sends the pieces; what is wrong with the rest, if anything is.
fn read_all(name: &str, from: &mut dyn BufRead, to: &SyncSender<Piece>) -> Option<Diagnostics> {
    let mut reader = SwfReader { file: name, ..SwfReader::default() };
    let mut bytes = Vec::with_capacity(2 * PIECE);
    let (mut any, mut is_first) = (false, true);
    loop {
        let read = match next_lines(from, &mut bytes) {
            Ok(read) => read,
            Err(error) => {
                reader.line += 1;
                reader.error(format!("cannot be read: {error}"), "fetch the file again");
                return Some(reader.diagnostics);
            }
        };
        if read == 0 {
            break;
        }
        let lines = if is_first { bytes.strip_prefix(b"\xef\xbb\xbf") } else { None };
        reader.take_lines(lines.unwrap_or(&bytes));
        is_first = false;
        any |= reader.summary.jobs > 0;
        if !reader.diagnostics.is_empty() {
            return Some(reader.diagnostics);
        }
        let piece = Piece {
            header: std::mem::take(&mut reader.header),
            summary: std::mem::take(&mut reader.summary),
            jobs: std::mem::take(&mut reader.jobs),
            undated: reader.undated.drain(..).map(|job| job.number).collect(),
            wrong: None,
        };
        if to.send(piece).is_err() {
            return None;
        }
    }
    let nothing = || {
        let it = Diagnostic::error(name, "no job in the log");
        it.with_hint("is this a log in the Standard Workload Format?").into()
    };
    (!any).then(nothing)
}

/// Reads whole lines, some [`PIECE`] of them, without the last line break; how many bytes.
fn next_lines(from: &mut dyn BufRead, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    bytes.clear();
    let mut read =
        std::io::Read::read_to_end(&mut std::io::Read::take(&mut *from, PIECE as u64), bytes)?;
    if read == PIECE && bytes.last() != Some(&b'\n') {
        let mut rest = Vec::new();
        if input::read_line(from, &mut rest, PIECE)? {
            read += rest.len();
            bytes.append(&mut rest);
        }
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::input::Input;

    fn all(path: &std::path::Path) -> Result<(Header, Vec<Record>), Diagnostics> {
        let records = records(path.to_str().unwrap())?;
        let header = records.header.clone();
        Ok((header, records.collect::<Result<_, _>>()?))
    }

    /// A sorted log of several pieces.
    fn text() -> String {
        let line = |at: usize| {
            format!("{at} {} 1 30 {} -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n", at / 3, 1 + at % 4)
        };
        let header = "; MaxProcs: 64\n; Note: made up\n".to_owned();
        header + &(1..20_000).map(line).collect::<String>()
    }

    #[test]
    fn pieces_are_the_whole_however_it_is_packed() {
        let (folder, text) = (tempfile::tempdir().unwrap(), text());
        let whole = crate::parse(&Input::new("log", text.as_str())).unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(
            text.as_bytes(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let without_end = text.trim_end().as_bytes().to_vec();
        let kinds = [text.as_bytes().to_vec(), input::pack(text.as_bytes()), zstd, without_end];
        for (at, bytes) in kinds.iter().enumerate() {
            let path = folder.path().join(at.to_string());
            std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
            let (header, jobs) = all(&path).unwrap();
            assert_eq!((&header, &jobs), (&whole.header, &whole.jobs), "{at}");
            assert_eq!(crate::load(path.to_str().unwrap()).unwrap().jobs, whole.jobs);
        }
    }

    #[test]
    fn what_is_wrong_comes_with_its_line() {
        let (folder, mut text) = (tempfile::tempdir().unwrap(), text());
        let path = folder.path().join("log");
        text.push_str("1 2 3\n");
        std::fs::write(&path, &text).unwrap();
        let error = all(&path).unwrap_err().to_string();
        assert!(error.contains("log:20002: 3 fields instead of 18"), "{error}");
        std::fs::write(&path, "; MaxProcs: 4\n").unwrap();
        assert!(all(&path).unwrap_err().to_string().contains("no job in the log"));
        assert!(all(&folder.path().join("none")).unwrap_err().to_string().contains("no such file"));
        let packed = input::pack(text.as_bytes());
        std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        assert!(all(&path).unwrap_err().to_string().contains("cannot be read"));
    }
}
