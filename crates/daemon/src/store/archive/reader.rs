//! Archive files are read row by row, each verified before it is given out.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::{FORMAT, Header, Segment, check, damaged, file_of};
use crate::store::chain::JournalEnd;
use crate::store::{Origin, Row, StoreError};

/// The longest line of a file that is not a row's body, bytes.
const LONGEST_LINE: u64 = 4_096;

/// The longest body of a row: a damaged length does not fill the memory.
const LONGEST_BODY: u64 = 1 << 30;

/// An archive file that is being read from its first row on.
pub struct SegmentReader {
    path: PathBuf,
    segment: Segment,
    text: BufReader<MultiGzDecoder<Box<dyn Read + Send>>>,
    /// The last row that was read.
    end: JournalEnd,
}

impl SegmentReader {
    /// Rows are read until they have so many bytes: one may have megabytes.
    const ENOUGH: usize = 8 << 20;

    /// Opens the file of a segment, as the journal has noted it.
    ///
    /// # Errors
    /// If it is missing or cannot be read, or is not the file of this segment.
    pub(in crate::store) fn open(
        folder: &Path,
        origin: &Origin,
        segment: &Segment,
    ) -> Result<SegmentReader, StoreError> {
        let path = file_of(folder, segment);
        noted_as(segment, SegmentReader::begin(path, origin, segment.first)?)
    }

    /// Opens a file that the journal has not noted, and says what is in it.
    ///
    /// # Errors
    /// As [`SegmentReader::open`].
    pub(in crate::store) fn begin(
        path: PathBuf,
        origin: &Origin,
        first: u64,
    ) -> Result<(SegmentReader, Segment), StoreError> {
        let file = File::open(&path).map_err(|wrong| unopened(&path, first, &wrong))?;
        SegmentReader::begin_with(path, Box::new(file), origin, first)
    }

    /// Reads the contents of a segment's archive file that a store keeps elsewhere than in a
    /// folder; `path` is its name in messages.
    ///
    /// # Errors
    /// If it is not the file of this segment.
    pub fn unpack(
        path: PathBuf,
        bytes: Vec<u8>,
        origin: &Origin,
        segment: &Segment,
    ) -> Result<SegmentReader, StoreError> {
        let bytes = Box::new(io::Cursor::new(bytes));
        noted_as(segment, SegmentReader::begin_with(path, bytes, origin, segment.first)?)
    }

    pub(super) fn begin_with(
        path: PathBuf,
        file: Box<dyn Read + Send>,
        origin: &Origin,
        first: u64,
    ) -> Result<(SegmentReader, Segment), StoreError> {
        let mut text = BufReader::new(MultiGzDecoder::new(file));
        let bad = |what: String| damaged(&path, first, what);
        let line = line(&mut text).map_err(|wrong| bad(unreadable(&wrong)))?;
        let header: Header = serde_json::from_slice(&line)
            .map_err(|wrong| bad(format!("its first line is damaged: {wrong}")))?;
        if header.tradewind_archive > FORMAT {
            let (path, found) = (path.display().to_string(), header.tradewind_archive);
            return Err(StoreError::TooNew { path, found, known: FORMAT });
        }
        if (&header.market, header.created) != (&origin.market, origin.created) {
            return Err(bad(format!("it is an archive of the market `{}`", header.market)));
        }
        let segment = header.segment().filter(|it| it.first > 0 && it.first <= it.last);
        let segment = segment.ok_or_else(|| bad("its first line is damaged".to_owned()))?;
        let end = segment.begin();
        Ok((SegmentReader { path, segment: segment.clone(), text, end }, segment))
    }

    /// The number of the last row that was read; of none, that before the first.
    pub fn at(&self) -> u64 {
        self.end.seq
    }

    /// Which rows it has.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// At most `max` rows behind `after`; fewer if they are large.
    ///
    /// # Errors
    /// If a row is not what was written.
    pub fn rows(&mut self, after: u64, max: usize) -> Result<Vec<Row>, StoreError> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while rows.len() < max && bytes < Self::ENOUGH {
            let Some(row) = self.next()? else { break };
            if row.seq > after {
                bytes += row.body.len();
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// The next row; `None` behind the last one. After an error it is of no more use.
    ///
    /// # Errors
    /// If the row is not what was written.
    #[expect(clippy::should_implement_trait, reason = "it may fail, and ends then")]
    pub fn next(&mut self) -> Result<Option<Row>, StoreError> {
        if self.end.seq >= self.segment.last {
            return Ok(None);
        }
        let seq = self.end.seq + 1;
        let read = self.read(seq).and_then(|row| self.verified(row));
        let row = read.map_err(|what| damaged(&self.path, seq, what))?;
        Ok(Some(row))
    }

    /// The row as it stands there, and the beginning of its digest.
    pub(super) fn read(&mut self, seq: u64) -> Result<(Row, String), String> {
        let line = line(&mut self.text).map_err(|wrong| unreadable(&wrong))?;
        let line = String::from_utf8(line).map_err(|_| DAMAGED.to_owned())?;
        let mut words = line.split(' ');
        let mut word = || words.next().ok_or_else(|| DAMAGED.to_owned());
        let (number, at, check, length) = (word()?, word()?, word()?.to_owned(), word()?);
        let at = at.parse().map_err(|_| DAMAGED.to_owned())?;
        let length: u64 = length.parse().map_err(|_| DAMAGED.to_owned())?;
        if number.parse() != Ok(seq) || length > LONGEST_BODY {
            return Err(DAMAGED.to_owned());
        }
        let mut body = Vec::new();
        let read = (&mut self.text).take(length + 1).read_to_end(&mut body);
        read.map_err(|wrong| unreadable(&wrong))?;
        if body.len() as u64 != length + 1 || body.pop() != Some(b'\n') {
            return Err(DAMAGED.to_owned());
        }
        Ok((Row { seq, at, body }, check))
    }

    fn verified(&mut self, (row, noted): (Row, String)) -> Result<Row, String> {
        let end = self.end.then(row.at, &row.body);
        if check(end.digest) != noted {
            return Err(DAMAGED.to_owned());
        }
        if end.seq == self.segment.last {
            if end.digest != self.segment.after {
                return Err("the chain does not end as it did".to_owned());
            }
            // Only at the end the sum over all of the file is looked at.
            let rest = io::copy(&mut self.text, &mut io::sink());
            if rest.map_err(|wrong| unreadable(&wrong))? > 0 {
                return Err("there is something behind the last row".to_owned());
            }
        }
        self.end = end;
        Ok(row)
    }
}

impl fmt::Debug for SegmentReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("SegmentReader");
        it.field("path", &self.path).field("segment", &self.segment).field("end", &self.end);
        it.finish_non_exhaustive()
    }
}

/// The reader, if what it has found is the segment that the journal has noted.
fn noted_as(
    segment: &Segment,
    (reader, found): (SegmentReader, Segment),
) -> Result<SegmentReader, StoreError> {
    match found == *segment {
        true => Ok(reader),
        false => {
            let what = "the archive file is not the one that the journal has noted";
            Err(damaged(&reader.path, segment.first, what))
        }
    }
}

/// What is said of a row that is not what was written.
const DAMAGED: &str = "the archive file is damaged here";

fn unreadable(wrong: &io::Error) -> String {
    format!("{DAMAGED}: {wrong}")
}

fn unopened(path: &Path, first: u64, wrong: &io::Error) -> StoreError {
    match wrong.kind() {
        ErrorKind::NotFound => damaged(path, first, "the archive file is missing"),
        _ => {
            let what = format!("the archive file cannot be opened: {wrong}");
            StoreError::Io { path: path.display().to_string(), what }
        }
    }
}

/// A line without its end.
fn line(text: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    text.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    match line.pop() {
        Some(b'\n') => Ok(line),
        _ => Err(io::Error::new(ErrorKind::UnexpectedEof, "it ends too early")),
    }
}
