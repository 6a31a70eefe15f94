//! Archive files as a fuzzer writes them.

use std::io::{Cursor, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Header, SegmentReader, pack};
use crate::store::chain::JournalEnd;
use crate::store::{Origin, Row};

/// Reads `bytes` as an archive file, and as the text in one; and what is written of rows with these
/// bytes is read again.
pub fn fuzzed(bytes: &[u8]) {
    read(bytes, bytes);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    if let Ok(packed) = gzip.write_all(bytes).and_then(|()| gzip.finish()) {
        read(&packed, bytes);
    }
    again(bytes);
}

/// All rows, whether or not they are what their digests say.
fn read(packed: &[u8], text: &[u8]) {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let (market, created, row) = match serde_json::from_slice::<Header>(first) {
        Ok(header) => (header.market, header.created, header.first),
        Err(_) => (String::new(), 0, 1),
    };
    let origin = Origin { market, created };
    let begin = || {
        let file = Box::new(Cursor::new(packed.to_vec()));
        SegmentReader::begin_with(PathBuf::from("a"), file, &origin, row)
    };
    if let Ok((mut reader, _)) = begin() {
        while reader.rows(0, 100).is_ok_and(|rows| !rows.is_empty()) {}
    }
    if let Ok((mut reader, segment)) = begin() {
        let mut rows = segment.first..=segment.last;
        while rows.next().is_some_and(|row| reader.read(row).is_ok()) {}
    }
}

fn again(bytes: &[u8]) {
    let origin = Origin { market: "m".to_owned(), created: 0 };
    let row =
        |(at, body): (usize, &[u8])| Row { seq: at as u64 + 1, at: at as i64, body: body.to_vec() };
    let rows: Vec<Row> = bytes.split(|byte| *byte == b'\n').enumerate().map(row).collect();
    let Ok((segment, packed)) = pack(&origin, JournalEnd::of(&origin).digest, &rows) else {
        return;
    };
    let read = SegmentReader::unpack(PathBuf::from("a"), packed, &origin, &segment);
    let back = read.and_then(|mut reader| reader.rows(0, usize::MAX));
    assert_eq!(back.ok(), Some(rows), "what was packed is unpacked");
}
