//! Archive files are written: complete and synced before they have their names.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{Header, Segment, UNFINISHED, check, file_of};
use crate::store::chain::{Digest, JournalEnd};
use crate::store::{Origin, Row, StoreError};

/// Writes rows, which follow a row with the digest `before`, into a file of their own in
/// `folder`; makes the folder if it is not there. Linear in the rows. There must be at least one.
///
/// # Errors
/// If the disk will not have it, or if there is a file of this name.
pub(in crate::store) fn write(
    folder: &Path,
    origin: &Origin,
    before: Digest,
    rows: &[Row],
) -> Result<Segment, StoreError> {
    let segment = segment_of(before, rows).map_err(|wrong| failed(folder, &wrong))?;
    let path = file_of(folder, &segment);
    let part = folder.join(format!("{}{UNFINISHED}", segment.name()));
    let written = make_folder(folder)
        .and_then(|()| fill(&part, origin, &segment, rows))
        .and_then(|()| Ok(renameat_with(CWD, &part, CWD, &path, RenameFlags::NOREPLACE)?))
        .and_then(|()| File::open(folder)?.sync_all());
    if let Err(wrong) = written {
        let _ = fs::remove_file(&part);
        return Err(failed(&path, &wrong));
    }
    Ok(segment)
}

/// The contents of an archive file of these rows, for stores that keep them elsewhere than in a
/// folder. As `write`.
///
/// # Errors
/// If there are no rows.
pub fn pack(origin: &Origin, before: Digest, rows: &[Row]) -> io::Result<(Segment, Vec<u8>)> {
    let segment = segment_of(before, rows)?;
    let bytes = compress(Vec::new(), origin, &segment, rows)?;
    Ok((segment, bytes))
}

fn segment_of(before: Digest, rows: &[Row]) -> io::Result<Segment> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Err(io::Error::other("there are no rows to archive"));
    };
    let begin = JournalEnd { seq: first.seq - 1, at: first.at, digest: before };
    let end = rows.iter().fold(begin, |end, row| end.then(row.at, &row.body));
    let times = (first.at, last.at);
    Ok(Segment { first: first.seq, last: last.seq, times, before, after: end.digest })
}

/// Makes the folder for its owner only, and sees to it that its name survives a loss of power.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().mode(0o700).create(folder)?;
    match folder.parent().filter(|it| !it.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn fill(part: &Path, origin: &Origin, segment: &Segment, rows: &[Row]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(part)?;
    let mut file = compress(BufWriter::new(file), origin, segment, rows)?;
    file.flush()?;
    file.get_ref().sync_all()
}

fn compress<W: Write>(to: W, origin: &Origin, segment: &Segment, rows: &[Row]) -> io::Result<W> {
    let mut to = GzEncoder::new(to, Compression::default());
    serde_json::to_writer(&mut to, &Header::of(origin, segment))?;
    to.write_all(b"\n")?;
    let mut digest = segment.before;
    for row in rows {
        digest = crate::store::chain::link(digest, row.seq, row.at, &row.body);
        writeln!(to, "{} {} {} {}", row.seq, row.at, check(digest), row.body.len())?;
        to.write_all(&row.body)?;
        to.write_all(b"\n")?;
    }
    to.finish()
}

fn failed(path: &Path, wrong: &io::Error) -> StoreError {
    let path = path.display().to_string();
    match wrong.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
        _ => StoreError::Io { path, what: format!("it could not be written: {wrong}") },
    }
}
