//! Reads of what tasks have written: prepared on the site's thread, done elsewhere.
//!
//! What stands at the path of an output is up to the job's user: a pipe whose reading end waits for
//! a writer, a link to another's file, a device. So the file is looked at before it is opened,
//! and only a regular file is.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::SiteError;

/// A read that needs nothing of the site any more. It may take long, and may never come back.
pub struct Reading(Box<dyn FnOnce() -> Result<Vec<u8>, SiteError> + Send>);

impl Reading {
    /// What `read` returns, once it is run.
    pub fn by(read: impl FnOnce() -> Result<Vec<u8>, SiteError> + Send + 'static) -> Reading {
        Reading(Box::new(read))
    }

    /// Reads.
    ///
    /// # Errors
    /// What the site says.
    pub fn run(self) -> Result<Vec<u8>, SiteError> {
        (self.0)()
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reading")
    }
}

/// The last `max` bytes of a file. Nothing if there is no such file yet, or a device in its place.
///
/// `links` says whether a link at the end of the path may be followed: only where the process that
/// reads may read no more than the job's user. `may_show` says of the open file whether it may be
/// shown.
///
/// # Errors
/// [`SiteError::Refused`] if it is no regular file, or a link that is not followed;
/// [`SiteError::Unknown`] if it cannot be read.
pub(in crate::site) fn tail(
    path: &Path,
    max: usize,
    links: Links,
    may_show: &dyn Fn(&File) -> io::Result<bool>,
) -> Result<Vec<u8>, SiteError> {
    let unknown = |error: &io::Error| SiteError::Unknown(format!("{}: {error}", path.display()));
    let file = match open(path, links) {
        Ok(Found::File(file)) => file,
        Ok(Found::Nothing) => return Ok(Vec::new()),
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
    last_bytes(file, max).map_err(|error| unknown(&error))
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

fn last_bytes(mut file: File, max: usize) -> io::Result<Vec<u8>> {
    let max = u64::try_from(max).unwrap_or(u64::MAX);
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max)))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
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
        let read = |name: &str, links| tail(&at(name), 4, links, &|_| Ok(true));
        assert_eq!(read("file", Links::Refused), Ok(b"6789".to_vec()));
        assert_eq!(read("none", Links::Refused), Ok(vec![]));
        assert_eq!(read("link", Links::Followed), Ok(b"6789".to_vec()));
        for (name, links, what) in [
            ("pipe", Links::Refused, "a pipe"),
            ("link", Links::Refused, "a link"),
            ("to-pipe", Links::Followed, "a pipe"),
            ("socket", Links::Refused, "a socket"),
            ("", Links::Refused, "a directory"),
        ] {
            let told = read(name, links).unwrap_err();
            assert!(matches!(&told, SiteError::Refused(why) if why.contains(what)), "{told}");
        }
        let hidden = tail(&at("file"), 4, Links::Refused, &|_| Ok(false));
        assert!(matches!(hidden, Err(SiteError::Refused(_))), "{hidden:?}");
        assert_eq!(tail(Path::new("/dev/zero"), 4, Links::Refused, &|_| Ok(true)), Ok(vec![]));
    }
}
