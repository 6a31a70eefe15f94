//! Reading an input whole: from a file or standard input, within a limit, unpacked if gzip or zstd.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::frames::{self, Frames};

/// The largest input that is read, unpacked: 1 GiB.
pub const MAX_BYTES: u64 = 1 << 30;

/// The bytes of an input and the name that diagnostics give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// As the user named it; `-` is standard input.
    pub name: String,
    /// All of it, unpacked.
    pub bytes: Vec<u8>,
}

impl Input {
    /// An input that is already in memory.
    pub fn new(name: &str, bytes: impl Into<Vec<u8>>) -> Input {
        Input { name: name.to_owned(), bytes: bytes.into() }
    }

    /// The text, without a byte order mark.
    ///
    /// # Errors
    /// The input is empty, binary or not UTF-8.
    pub fn text(&self) -> Result<&str, Diagnostics> {
        let bytes = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            let it = Diagnostic::error(&self.name, "the file is empty");
            return Err(it.with_hint("was the command that writes it stopped?").into());
        }
        if let Some(at) = bytes.iter().position(|&b| b == 0) {
            return Err(Diagnostic::error(&self.name, "a binary file, not text")
                .at_line(line_of(bytes, at))
                .with_hint("scenarios are JSON or TOML; logs are SWF text, plain or gzip")
                .into());
        }
        std::str::from_utf8(bytes).map_err(|err| {
            Diagnostic::error(&self.name, "not valid UTF-8")
                .at_line(line_of(bytes, err.valid_up_to()))
                .with_hint("save the file as UTF-8")
                .into()
        })
    }
}

/// Reads `path` (`-` is standard input) whole; gzip and zstd are recognised by their first bytes.
///
/// # Errors
/// The file cannot be read, is larger than [`MAX_BYTES`], or its packed data are damaged.
pub fn read(path: &str) -> Result<Input, Diagnostics> {
    read_within(path, MAX_BYTES)
}

/// Reads `path` (`-` is standard input) whole, as it is: for callers that need its bytes before
/// [`unpacked`] makes text of them.
///
/// # Errors
/// The file cannot be read, or is larger than [`MAX_BYTES`].
pub fn read_packed(path: &str) -> Result<Input, Diagnostics> {
    packed_within(path, MAX_BYTES)
}

/// The same input, unpacked if its first bytes are those of gzip or zstd.
///
/// # Errors
/// Damaged data, or more than [`MAX_BYTES`].
pub fn unpacked(packed: &Input) -> Result<Cow<'_, Input>, Diagnostics> {
    let bytes = unpack(&packed.name, &packed.bytes, MAX_BYTES)?;
    Ok(match bytes {
        Cow::Borrowed(_) => Cow::Borrowed(packed),
        Cow::Owned(bytes) => Cow::Owned(Input { name: packed.name.clone(), bytes }),
    })
}

fn read_within(path: &str, limit: u64) -> Result<Input, Diagnostics> {
    let Input { name, bytes } = packed_within(path, limit)?;
    let unpacked = match unpack(&name, &bytes, limit)? {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => Some(bytes),
    };
    Ok(Input { name, bytes: unpacked.unwrap_or(bytes) })
}

fn packed_within(path: &str, limit: u64) -> Result<Input, Diagnostics> {
    let unreadable = |err: io::Error| unreadable(path, &err);
    let bytes = if path == "-" {
        read_limited(io::stdin().lock(), 0, limit).map_err(unreadable)?
    } else {
        let file = File::open(path).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        if size > limit {
            return Err(too_large(path, limit));
        }
        read_limited(file, size + 1, limit).map_err(unreadable)?
    };
    let bytes = bytes.ok_or_else(|| too_large(path, limit))?;
    Ok(Input { name: path.to_owned(), bytes })
}

/// An input that is read piece by piece, unpacked if it is gzip or zstd.
pub struct Stream {
    /// What is left to read.
    pub from: Box<dyn BufRead>,
    /// The size of the file as it is on disk, if it is a plain file.
    pub size: Option<u64>,
}

/// Opens `path` (`-` is standard input) for reading it piece by piece; gzip and zstd are recognised by
/// their first bytes. Damaged data are an error of the read.
///
/// # Errors
/// The file cannot be read.
pub fn open(path: &str) -> Result<Stream, Diagnostics> {
    let unreadable = |err: io::Error| unreadable(path, &err);
    if path == "-" {
        let from = stream(io::stdin()).map_err(unreadable)?;
        return Ok(Stream { from, size: None });
    }
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    let size = Some(about.len()).filter(|_| about.is_file());
    Ok(Stream { from: stream(file).map_err(unreadable)?, size })
}

/// `source` with a buffer, unpacked if it begins as gzip or zstd does.
fn stream(source: impl Read + 'static) -> io::Result<Box<dyn BufRead>> {
    const BUFFER: usize = 1 << 16;
    let mut plain = BufReader::with_capacity(BUFFER, source);
    if frames::are_begun_by(plain.fill_buf()?) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, Frames::new(plain))));
    }
    if plain.fill_buf()?.starts_with(b"\x1f\x8b") {
        let unpacked = flate2::bufread::MultiGzDecoder::new(plain);
        return Ok(Box::new(BufReader::with_capacity(BUFFER, unpacked)));
    }
    Ok(Box::new(plain))
}

/// Reads a line into `line`, without its line break. `Ok(false)`: there is none left.
///
/// # Errors
/// Those of `from`, and `InvalidData` for a line of more than `longest` bytes.
pub fn read_line(from: &mut dyn BufRead, line: &mut Vec<u8>, longest: usize) -> io::Result<bool> {
    line.clear();
    let mut limited = from.take(longest as u64 + 1);
    if limited.read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > longest {
        let what = format!("a line of more than {longest} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(true)
}

/// Writes what `write` writes to `to` as gzip data without a time stamp.
///
/// # Errors
/// Those of `to` and of `write`.
pub fn pack_to(
    to: &mut dyn io::Write,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut packed = flate2::write::GzEncoder::new(to, flate2::Compression::default());
    write(&mut packed)?;
    packed.finish().map(drop)
}

/// `bytes` as gzip data without a time stamp: the same input gives the same output.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to a vector cannot fail.
    let _ = io::Write::write_all(&mut packed, bytes);
    packed.finish().unwrap_or_default()
}

fn unreadable(path: &str, err: &io::Error) -> Diagnostics {
    let text = match err.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "a directory, not a file".to_owned(),
        _ => format!("cannot be read: {err}"),
    };
    let hint = "give the path of a file that you may read, or `-` for standard input";
    Diagnostic::error(path, text).with_hint(hint).into()
}

fn too_large(path: &str, limit: u64) -> Diagnostics {
    Diagnostic::error(path, format!("larger than {limit} bytes"))
        .with_hint("split the file, or cut out the part that matters")
        .into()
}

/// A packed file may unpack to so many bytes whatever its size, and to [`MOST_TIMES`] times its size
/// beyond that: logs shrink to a fifth or a tenth, only generated ones to a thousandth.
const UNPACKED: u64 = 64 << 20;
/// See [`UNPACKED`].
const MOST_TIMES: u64 = 100;
/// So many bytes are read first of an input of which nothing is known.
const FIRST: usize = 1 << 16;

/// All bytes, or `None` if there are more than `limit`. `expected` saves moving them as they grow.
/// More memory than there is is an error, and never more is reserved than `limit` and a byte.
fn read_limited(mut source: impl Read, expected: u64, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let most = size(limit).saturating_add(1);
    let mut bytes = Vec::new();
    let mut room = size(expected).clamp(FIRST, most.max(FIRST));
    loop {
        bytes.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let free = (bytes.capacity() - bytes.len()) as u64;
        let read = source.by_ref().take(free).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Ok(None);
        }
        if (read as u64) < free {
            return Ok(Some(bytes));
        }
        room = bytes.len().min(most - bytes.len());
    }
}

/// `bytes`, unpacked if they begin as gzip or zstd does. The limit holds for what comes out, too.
fn unpack<'b>(name: &str, bytes: &'b [u8], limit: u64) -> Result<Cow<'b, [u8]>, Diagnostics> {
    let (kind, tool) = match bytes.starts_with(b"\x1f\x8b") {
        true => ("gzip", "gunzip"),
        false if frames::are_begun_by(bytes) => ("zstd", "unzstd"),
        false => return Ok(Cow::Borrowed(bytes)),
    };
    let believed = UNPACKED.max(bytes.len() as u64 * MOST_TIMES).min(limit);
    let unpacked = match kind {
        "gzip" => {
            let source = flate2::read::MultiGzDecoder::new(bytes);
            read_limited(source, size_once_unpacked(bytes) + 1, believed)
        }
        _ => read_limited(Frames::new(bytes), 4 * bytes.len() as u64, believed),
    };
    match unpacked {
        Ok(Some(unpacked)) => Ok(Cow::Owned(unpacked)),
        Ok(None) if believed < limit => {
            let what = format!("unpacks to more than {MOST_TIMES} times its size");
            let hint = format!("if this is right, unpack it with {tool} and give the plain file");
            Err(Diagnostic::error(name, what).with_hint(hint).into())
        }
        Ok(None) => Err(too_large(name, limit)),
        Err(err) if err.kind() == io::ErrorKind::OutOfMemory => {
            Err(Diagnostic::error(name, "unpacks to more than there is memory for")
                .with_hint("split the file, or cut out the part that matters")
                .into())
        }
        Err(err) => Err(Diagnostic::error(name, format!("damaged {kind} data: {err}"))
            .with_hint("the file is probably truncated: fetch it again")
            .into()),
    }
}

/// What gzip's last four bytes say; never more than is read of so many bytes. A guess that reserves
/// memory: nothing depends on it.
fn size_once_unpacked(packed: &[u8]) -> u64 {
    let last = packed.last_chunk::<4>().copied().unwrap_or_default();
    u64::from(u32::from_le_bytes(last)).min(packed.len() as u64 * MOST_TIMES)
}

/// The line (from 1) of the byte at `at`.
pub(crate) fn line_of(bytes: &[u8], at: usize) -> u32 {
    let before = &bytes[..at.min(bytes.len())];
    before.iter().filter(|&&b| b == b'\n').count() as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_recognised_by_content() {
        let packed = pack(b"hello");
        assert_eq!(*unpack("x", &packed, 100).unwrap(), *b"hello");
        assert_eq!(*unpack("x", b"hello", 100).unwrap(), *b"hello");
    }

    #[test]
    fn truncated_gzip_and_too_much_data_are_refused() {
        let mut packed = pack(&vec![7; 10_000]);
        assert!(unpack("x", &packed, 9_999).is_err());
        packed.truncate(packed.len() - 9);
        let err = unpack("x", &packed, 100_000).unwrap_err();
        assert!(err.to_string().contains("damaged gzip"), "{err}");
    }

    #[test]
    fn a_small_file_that_unpacks_to_gigabytes_is_refused_early() {
        let bomb = pack(&vec![b';'; (UNPACKED + 1) as usize]);
        let err = unpack("x", &bomb, MAX_BYTES).unwrap_err().to_string();
        assert!(err.contains("unpacks to more than 100 times its size"), "{err}");
        assert!(err.contains("gunzip"), "{err}");
    }

    #[test]
    fn no_more_memory_is_taken_than_may_be_used() {
        let sizes = [0, 1, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST, 10 * FIRST];
        for size in sizes {
            for limit in [size, size + 1, 20 * FIRST] {
                for expected in [0, size as u64, u64::MAX] {
                    let source = io::repeat(b'x').take(size as u64);
                    let read = read_limited(source, expected, limit as u64).unwrap().unwrap();
                    assert_eq!(read.len(), size);
                    assert!(read.capacity() <= (limit + 1).max(FIRST), "{size} {limit} {expected}");
                }
            }
            let more = io::repeat(b'x').take(size as u64 + 1);
            assert_eq!(read_limited(more, 0, size as u64).unwrap(), None);
        }
        let never = read_limited(io::repeat(b'x'), u64::MAX, u64::MAX);
        assert_eq!(never.unwrap_err().kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn files_are_refused_before_reading_when_too_large_and_when_missing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("big");
        std::fs::write(&path, vec![b'x'; 101]).unwrap();
        let path = path.to_str().unwrap();
        assert!(read_within(path, 100).unwrap_err().to_string().contains("larger than 100 bytes"));
        assert_eq!(read_within(path, 101).unwrap().bytes.len(), 101);
        let missing = read("no/such/file").unwrap_err().to_string();
        assert!(missing.starts_with("error: no/such/file: no such file\n  hint: "), "{missing}");
        assert!(read(dir.path().to_str().unwrap()).is_err());
    }

    #[test]
    fn text_is_utf8_without_a_mark_and_without_zero_bytes() {
        let text = |bytes: &[u8]| {
            Input::new("f", bytes).text().map(str::to_owned).map_err(|err| err.to_string())
        };
        assert_eq!(text(b"\xef\xbb\xbfhi").unwrap(), "hi");
        assert!(text(b" \n ").unwrap_err().contains("empty"));
        assert!(text(b"").unwrap_err().contains("empty"));
        assert!(text(b"a\nb\0").unwrap_err().contains("f:2: a binary file"));
        assert!(text(b"a\n\n\xff").unwrap_err().contains("f:3: not valid UTF-8"));
    }
}
