//! Reads of what tasks have written: prepared on the site's thread, done elsewhere.
//!
//! What stands at the path of an output is up to the job's user: a pipe whose reading end waits for
//! a writer, a link to another's file, a device. So the file is looked at before it is opened,
//! and only a regular file is.
//!
//! An [`Excerpt`] says which bytes are wanted, at most how many, and of which file; what comes is
//! [`Written`]: the bytes, where they begin, and how long the file is. So a caller that follows a
//! file asks for what is behind the bytes it has, and never for all of them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::SiteError;

/// What a task writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stream {
    /// Standard output; also standard error, unless the submission gives it a file of its own.
    #[default]
    Output,
    /// Standard error: the same file as the output, unless the submission says otherwise.
    Error,
}

/// A part of what a task has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    /// Of which file.
    pub stream: Stream,
    /// From this byte on, counted from 0; `None`: the last bytes.
    pub from: Option<u64>,
    /// At most so many bytes.
    pub most: usize,
}

impl Excerpt {
    /// The last `most` bytes of standard output.
    pub fn last(most: usize) -> Excerpt {
        Excerpt { stream: Stream::Output, from: None, most }
    }

    /// The first byte that is wanted of a file of so many.
    pub fn first_of(&self, size: u64) -> u64 {
        let last = size.saturating_sub(u64::try_from(self.most).unwrap_or(u64::MAX));
        self.from.map_or(last, |from| from.min(size))
    }

    /// This part of bytes that are there as a whole.
    pub fn of(&self, whole: &[u8]) -> Written {
        let size = whole.len() as u64;
        let from = self.first_of(size);
        let rest = usize::try_from(from).ok().and_then(|from| whole.get(from..));
        let rest = rest.unwrap_or_default();
        let bytes = rest.get(..self.most.min(rest.len())).unwrap_or_default().to_vec();
        Written { from, size, bytes }
    }
}

/// What a task has written, in part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// Where the bytes begin in the file.
    pub from: u64,
    /// How long the file was, bytes.
    pub size: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A read that needs nothing of the site any more. It may take long, and may never come back.
pub struct Reading(Box<dyn FnOnce() -> Result<Written, SiteError> + Send>);

impl Reading {
    /// What `read` returns, once it is run.
    pub fn by(read: impl FnOnce() -> Result<Written, SiteError> + Send + 'static) -> Reading {
        Reading(Box::new(read))
    }

    /// Reads.
    ///
    /// # Errors
    /// What the site says.
    pub fn run(self) -> Result<Written, SiteError> {
        (self.0)()
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reading")
    }
}

/// A part of a file. Nothing if there is no such file yet, or a device in its place.
///
/// `links` says whether a link at the end of the path may be followed: only where the process that
/// reads may read no more than the job's user. `may_show` says of the open file whether it may be
/// shown.
///
/// # Errors
/// [`SiteError::Refused`] if it is no regular file, or a link that is not followed;
/// [`SiteError::Unknown`] if it cannot be read.
pub(in crate::site) fn read(
    path: &Path,
    wanted: &Excerpt,
    links: Links,
    may_show: &dyn Fn(&File) -> io::Result<bool>,
) -> Result<Written, SiteError> {
    let unknown = |error: &io::Error| SiteError::Unknown(format!("{}: {error}", path.display()));
    let file = match open(path, links) {
        Ok(Found::File(file)) => file,
        Ok(Found::Nothing) => return Ok(Written::default()),
        Ok(Found::Other(what)) => {
            let why = format!("{} is {what}: only regular files are read", path.display());
            return Err(SiteError::Refused(why));
        }
        Err(error) => return Err(unknown(&error)),
    };
    if !may_show(&file).map_err(|error| unknown(&error))? {
        let why = format!("{} is in the state folder, which jobs do not see", path.display());
        return Err(SiteError::Refused(why));
    }
    bytes_of(file, wanted).map_err(|error| unknown(&error))
}

/// Whether a link at the end of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::site) enum Links {
    /// Symbolic links are followed.
    Followed,
    /// It is refused.
    Refused,
}

enum Found {
    File(File),
    Nothing,
    Other(&'static str),
}

/// Opens a path only after it is known what is there: a handle that cannot be read says so, and is
/// then opened again itself, so that nothing can be put in its place between the two.
fn open(path: &Path, links: Links) -> io::Result<Found> {
    let follow = match links {
        Links::Followed => OFlags::empty(),
        Links::Refused => OFlags::NOFOLLOW,
    };
    let handle = match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | follow, Mode::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::NOENT) => return Ok(Found::Nothing),
        Err(error) => return Err(error.into()),
    };
    match FileType::from_raw_mode(fstat(&handle)?.st_mode) {
        FileType::RegularFile => {
            let again = format!("/proc/self/fd/{}", handle.as_raw_fd());
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            Ok(Found::File(openat(CWD, again, flags, Mode::empty())?.into()))
        }
        // `/dev/null` is what people write who want no output.
        FileType::CharacterDevice => Ok(Found::Nothing),
        FileType::Symlink => Ok(Found::Other("a link")),
        FileType::Fifo => Ok(Found::Other("a pipe")),
        FileType::Directory => Ok(Found::Other("a directory")),
        FileType::Socket => Ok(Found::Other("a socket")),
        _ => Ok(Found::Other("no file")),
    }
}

fn bytes_of(mut file: File, wanted: &Excerpt) -> io::Result<Written> {
    let size = file.metadata()?.len();
    let from = wanted.first_of(size);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(u64::try_from(wanted.most).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok(Written { from, size, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "0123456789").unwrap();
        rustix::fs::mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("pipe"), at("to-pipe")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let four = Excerpt::last(4);
        let all = |name: &str, links| read(&at(name), &four, links, &|_| Ok(true));
        let read_at = |from, most| {
            let wanted = Excerpt { stream: Stream::Output, from: Some(from), most };
            let found = read(&at("file"), &wanted, Links::Refused, &|_| Ok(true)).unwrap();
            assert_eq!(found, wanted.of(b"0123456789"), "as of bytes in memory");
            (found.from, found.size, String::from_utf8(found.bytes).unwrap())
        };
        assert_eq!(read_at(0, 3), (0, 10, "012".to_owned()));
        assert_eq!(read_at(8, 3), (8, 10, "89".to_owned()));
        assert_eq!(read_at(11, 3), (10, 10, String::new()), "behind the end");
        assert_eq!(all("file", Links::Refused).unwrap(), four.of(b"0123456789"));
        let read_all = |name: &str, links| all(name, links).map(|it| it.bytes);
        assert_eq!(read_all("file", Links::Refused), Ok(b"6789".to_vec()));
        assert_eq!(read_all("none", Links::Refused), Ok(vec![]));
        assert_eq!(read_all("link", Links::Followed), Ok(b"6789".to_vec()));
        for (name, links, what) in [
            ("pipe", Links::Refused, "a pipe"),
            ("link", Links::Refused, "a link"),
            ("to-pipe", Links::Followed, "a pipe"),
            ("socket", Links::Refused, "a socket"),
            ("", Links::Refused, "a directory"),
        ] {
            let told = read_all(name, links).unwrap_err();
            assert!(matches!(&told, SiteError::Refused(why) if why.contains(what)), "{told}");
        }
        let hidden = read(&at("file"), &four, Links::Refused, &|_| Ok(false));
        assert!(matches!(hidden, Err(SiteError::Refused(_))), "{hidden:?}");
        let device = read(Path::new("/dev/zero"), &four, Links::Refused, &|_| Ok(true));
        assert_eq!(device, Ok(Written::default()));
    }
}
