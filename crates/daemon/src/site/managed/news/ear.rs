//! One listener.

use std::io::{BufRead, BufReader, Read};
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{OFlags, inotify};

use super::{Heard, NewsPlace, bells};
use crate::site::files::folder_name;
use crate::site::managed::spool::{FILES, Spool, Trace, trace};
use crate::site::managed::tool::{Tool, kill};
use crate::site::{SiteError, Tag};

/// The file by which the folder is known: whoever reads the same there sees the same folder.
const HERE: &str = ".here";
/// File systems that only this machine's kernel writes to, by their magic numbers: ext2 to ext4,
/// XFS, btrfs, tmpfs, overlay, ZFS, F2FS, bcachefs.
const LOCAL: [u64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0x2fc1_2fc1,
    0xf2f5_2010,
    0xca45_1a4e,
];
/// A folder that is watched is looked through as often: a watch may be lost.
const WATCHED: Duration = Duration::from_secs(10);
/// One that cannot be watched.
const SHARED: Duration = Duration::from_secs(1);
/// A shell that has said nothing for so long is gone; it speaks every 20 s.
const SILENCE: Duration = Duration::from_secs(90);
/// Whether the thread is to end is looked at so often.
const STOP: Duration = Duration::from_secs(1);
/// No file of a task's folder that is read here is longer, nor any line.
const MAX: u64 = 64 << 10;

/// What a listener needs.
pub(super) struct Work {
    pub tool: Tool,
    pub place: NewsPlace,
    pub heard: Arc<Heard>,
    pub stop: Arc<AtomicBool>,
    pub hears: Arc<AtomicBool>,
}

impl Work {
    pub(super) fn go_on(self) {
        let (site, account) = (&self.tool.site, &self.place.account);
        let ended = match self.own() {
            Ok(Some(folder)) => self.watch(&folder).map_err(|wrong| wrong.to_string()),
            Ok(None) => self.follow().map_err(|wrong| wrong.to_string()),
            Err(wrong) => Err(wrong.to_string()),
        };
        self.hears.store(false, Ordering::Release);
        if let Err(wrong) = ended {
            tracing::debug!(site, account, wrong, "no news of tasks for now");
        }
        // What is written from now on is not heard.
        self.heard.wake.now();
    }

    fn begin(&self) {
        self.hears.store(true, Ordering::Release);
        self.heard.add(|news| news.begun.extend([self.place.clone()]));
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn bells(&self) -> String {
        bells(&self.place.market, &self.tool.site)
    }

    fn spool(&self) -> Spool<'_> {
        Spool { tool: &self.tool, account: &self.place.account, path: &self.place.spool }
    }

    /// Makes the folder of bells; where it is, if we see the very same and it is our own.
    fn own(&self) -> Result<Option<PathBuf>, SiteError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let word = format!("{}-{}", std::process::id(), since.as_nanos());
        let folder = PathBuf::from(self.spool().place(&self.bells(), &word)?);
        let us = rustix::process::geteuid().as_raw();
        let is_own =
            fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir() && found.uid() == us);
        let is_same = || read(&folder.join(HERE)).is_some_and(|found| found == word);
        Ok((is_own && is_same()).then_some(folder))
    }

    /// Watches a folder of our own until it is gone.
    fn watch(&self, bells: &Path) -> io::Result<()> {
        let is_local = rustix::fs::statfs(bells)
            .is_ok_and(|it| u64::try_from(it.f_type).is_ok_and(|it| LOCAL.contains(&it)));
        let watch = if is_local { Some(FolderWatch::of(bells)?) } else { None };
        let every = if is_local { WATCHED } else { SHARED };
        self.begin();
        let mut looked = None::<Instant>;
        let mut rang = false;
        while !self.is_over() {
            if rang || looked.is_none_or(|at| at.elapsed() >= every) {
                self.collect(bells)?;
                looked = Some(Instant::now());
            }
            rang = match &watch {
                Some(watch) => watch.wait()?,
                None => {
                    std::thread::sleep(SHARED);
                    false
                }
            };
        }
        Ok(())
    }

    /// Takes all bells away and reads what their tasks have written.
    fn collect(&self, bells: &Path) -> io::Result<()> {
        let spool = bells.parent().unwrap_or(bells);
        let mut found = Vec::new();
        for entry in fs::read_dir(bells)? {
            let name = entry?.file_name();
            let Some(tag) = name.to_str().and_then(Tag::parse) else { continue };
            // First: what is written from now on rings again.
            if let Err(error) = fs::remove_file(bells.join(&name)) {
                tracing::debug!(%error, %tag, "its bell stays");
                continue;
            }
            found.extend(trace_in(spool, &tag).map(|trace| (tag, trace)));
        }
        self.tell(found);
        Ok(())
    }

    fn tell(&self, found: Vec<(Tag, Trace)>) {
        if !found.is_empty() {
            let account = &self.place.account;
            let all = found.into_iter().map(|(tag, trace)| (tag, (account.clone(), trace)));
            self.heard.add(|news| news.traces.extend(all));
        }
    }

    /// Reads what a shell of the account says until it ends or is silent for too long.
    fn follow(&self) -> io::Result<()> {
        let mut child = self.spool().listen(&self.bells())?;
        let (lines, said) = sync_channel(1_024);
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut out = BufReader::new(out);
                while let Some(line) = next_line(&mut out) {
                    if lines.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let (mut own, mut silent) = (Vec::new(), Instant::now());
        while !self.is_over() && silent.elapsed() < SILENCE {
            match said.recv_timeout(STOP) {
                Ok(line) => {
                    silent = Instant::now();
                    self.hear(line, &mut own);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        kill(&mut child);
        Ok(())
    }

    /// A line: `.`, a line of a task, or its last one. `own` are the task's lines before.
    fn hear(&self, line: String, own: &mut Vec<String>) {
        if line == "." {
            if !self.hears.load(Ordering::Acquire) {
                self.begin();
            }
            return;
        }
        match line.strip_suffix(" .") {
            Some(name) => {
                let known = Tag::parse(name).and_then(|tag| Some((tag, trace(own, name)?)));
                self.tell(known.into_iter().collect());
                own.clear();
            }
            None if own.len() < 16 => own.push(line),
            None => {}
        }
    }
}

/// The next line, without its end; `None`: there is none, or it is too long to be one of ours.
fn next_line(out: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = out.take(MAX).read_until(b'\n', &mut line).ok()?;
    (read > 0 && line.pop() == Some(b'\n')).then(|| String::from_utf8_lossy(&line).into_owned())
}

/// The file's first line, if it is whole; nothing but plain files is opened.
fn read(path: &Path) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut open = fs::OpenOptions::new();
    let file = open.read(true).custom_flags(i32::try_from(flags.bits()).ok()?).open(path).ok()?;
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    file.take(MAX).read_to_string(&mut text).ok()?;
    text.split_once('\n').map(|(line, _)| line.to_owned())
}

/// What the task's folder says; `None`: it is not there.
fn trace_in(spool: &Path, tag: &Tag) -> Option<Trace> {
    let name = folder_name(&tag.to_string());
    let folder = spool.join(&name);
    fs::symlink_metadata(&folder).ok().filter(fs::Metadata::is_dir)?;
    let line = |file: &&str| read(&folder.join(file)).map(|text| format!("{name} {file} {text}"));
    let mut lines = vec![format!("{name} folder")];
    lines.extend(FILES.iter().filter_map(line));
    trace(&lines, &name)
}

/// A folder that is watched.
struct FolderWatch(OwnedFd);

impl FolderWatch {
    fn of(folder: &Path) -> io::Result<FolderWatch> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let watch = inotify::init(flags)?;
        let wanted = inotify::WatchFlags::CLOSE_WRITE | inotify::WatchFlags::ONLYDIR;
        inotify::add_watch(&watch, folder, wanted)?;
        Ok(FolderWatch(watch))
    }

    /// Waits for a bell for a while; whether there was one.
    fn wait(&self) -> io::Result<bool> {
        let mut wanted = [PollFd::new(&self.0, PollFlags::IN)];
        let max = Timespec::try_from(STOP).map_err(io::Error::other)?;
        match poll(&mut wanted, Some(&max)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(false),
            other => other?,
        };
        let mut space = [MaybeUninit::uninit(); 4_096];
        let mut reader = inotify::Reader::new(&self.0, &mut space);
        loop {
            match reader.next() {
                // The folder is gone.
                Ok(event) if event.events().contains(inotify::ReadFlags::IGNORED) => {
                    return Err(io::ErrorKind::NotFound.into());
                }
                Ok(_) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(true),
                Err(other) => return Err(other.into()),
            }
        }
    }
}
