//! What the site has handed in, in files of its own: a manager forgets.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tradewind_model::Time;

use crate::site::local::gone::Gone;
use crate::site::local::records::{at, lock, sync_folder, write_synced};
use crate::site::local::sheet::folder_name;
use crate::site::{Exit, Tag};

/// A task, from just before the manager hears of it until it is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// As [`Tag`] writes itself.
    pub tag: String,
    /// Whose Unix account runs it.
    pub account: String,
    /// In which pool.
    pub pool: String,
    /// On how many of its nodes.
    pub nodes: u32,
    /// When it was first handed in, microseconds since 1970 on our clock. With the tag, it tells
    /// this submission from any other, whatever numbers the manager uses again.
    pub handed_in: i64,
    /// When it is to start.
    pub start: i64,
    /// Seconds.
    pub limit: i64,
    /// Seconds that it may wait for its job's other parts; `None`: it does not wait.
    pub gather: Option<i64>,
    /// Where it runs, at the cluster.
    pub directory: String,
    /// Its standard output, at the cluster.
    pub output: String,
    /// The folder of tasks' folders, at the cluster.
    pub spool: String,
    /// It was handed in on hold, and is not released yet.
    pub is_held: bool,
    /// The manager has taken it.
    pub is_taken: bool,
    /// We were told to withdraw it.
    pub is_withdrawn: bool,
    /// How it ended, once we know.
    pub ended: Option<Ended>,
    /// We were told to forget it: what is left of it at the cluster may go.
    pub is_forgotten: bool,
}

/// A task's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Seconds since 1970; `None`: it never ran.
    pub since: Option<i64>,
    /// Seconds since 1970.
    pub at: i64,
    /// When its work itself began, milliseconds since 1970, if it gathered.
    pub began: Option<i64>,
    /// How.
    pub exit: Ending,
}

/// [`Exit`], as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// See [`Exit::Code`].
    Code(i32),
    /// See [`Exit::Signal`].
    Signal(i32),
    /// See [`Exit::TimeLimit`].
    TimeLimit,
    /// See [`Exit::Withdrawn`].
    Withdrawn,
    /// See [`Exit::OutOfMemory`].
    OutOfMemory,
    /// See [`Exit::NodeFailed`].
    NodeFailed,
    /// See [`Exit::Lost`].
    Lost,
    /// See [`Exit::NotStarted`].
    NotStarted(String),
}

impl From<&Exit> for Ending {
    fn from(exit: &Exit) -> Ending {
        match exit {
            Exit::Code(code) => Ending::Code(*code),
            Exit::Signal(signal) => Ending::Signal(*signal),
            Exit::TimeLimit => Ending::TimeLimit,
            Exit::Withdrawn => Ending::Withdrawn,
            Exit::OutOfMemory => Ending::OutOfMemory,
            Exit::NodeFailed => Ending::NodeFailed,
            Exit::Lost => Ending::Lost,
            Exit::NotStarted(why) | Exit::Refused(why) => Ending::NotStarted(why.clone()),
        }
    }
}

impl From<&Ending> for Exit {
    fn from(ending: &Ending) -> Exit {
        match ending {
            Ending::Code(code) => Exit::Code(*code),
            Ending::Signal(signal) => Exit::Signal(*signal),
            Ending::TimeLimit => Exit::TimeLimit,
            Ending::Withdrawn => Exit::Withdrawn,
            Ending::OutOfMemory => Exit::OutOfMemory,
            Ending::NodeFailed => Exit::NodeFailed,
            Ending::Lost => Exit::Lost,
            Ending::NotStarted(why) => Exit::NotStarted(why.clone()),
        }
    }
}

impl Ticket {
    /// What the manager is given to remember: tag and submission.
    pub fn mark(&self) -> String {
        format!("{} {}", self.tag, self.handed_in)
    }
}

/// The tag in a [`Ticket::mark`].
pub fn tag_in(mark: &str) -> Option<Tag> {
    Tag::parse(mark.rsplit_once(' ').map_or(mark, |(tag, _)| tag))
}

/// Microseconds since 1970.
pub fn stamp() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

impl Ended {
    /// As surveys tell it.
    pub fn seen(&self) -> crate::site::Seen {
        crate::site::Seen::Ended {
            since: self.since.map(Time),
            at: Time(self.at),
            exit: Exit::from(&self.exit),
        }
    }
}

/// All tickets of a site, and the tags that must not run again.
#[derive(Debug)]
pub struct Tickets {
    folder: PathBuf,
    all: BTreeMap<Tag, Ticket>,
    gone: Gone,
    _lock: File,
}

impl Tickets {
    /// Opens the site's folder, made if need be.
    ///
    /// # Errors
    /// If it cannot be used, another adapter uses it, or a file in it is damaged.
    pub fn open(folder: &Path) -> io::Result<Tickets> {
        let tickets = folder.join("tickets");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&tickets)
            .map_err(|error| at(&tickets, &error))?;
        let lock = take_lock(folder)?;
        let gone = Gone::open(&folder.join("gone"))?;
        let mut all = BTreeMap::new();
        for entry in fs::read_dir(&tickets)? {
            let path = entry?.path();
            if path.extension().is_none_or(|end| end != "json") {
                // What a crash left: nobody was told that it is there.
                fs::remove_file(&path)?;
                continue;
            }
            let damaged = |why: &str| {
                io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()))
            };
            let ticket: Ticket = serde_json::from_slice(&fs::read(&path)?)
                .map_err(|error| damaged(&error.to_string()))?;
            let tag = Tag::parse(&ticket.tag).ok_or_else(|| damaged("no tag"))?;
            all.insert(tag, ticket);
        }
        Ok(Tickets { folder: folder.to_owned(), all, gone, _lock: lock })
    }

    /// The task's, if it has one.
    pub fn get(&self, tag: &Tag) -> Option<&Ticket> {
        self.all.get(tag)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Tag, &Ticket)> {
        self.all.iter()
    }

    /// Whether the tag must not run again, and has no ticket.
    pub fn is_gone(&self, tag: &Tag) -> bool {
        self.gone.has(&folder_name(&tag.to_string()))
    }

    /// The tag never runs from now on; on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn ban(&mut self, tag: &Tag) -> io::Result<()> {
        self.gone.add(&folder_name(&tag.to_string()))
    }

    /// A new ticket, or a change of one; on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written down: then it is as it was.
    pub fn put(&mut self, tag: &Tag, ticket: Ticket) -> io::Result<()> {
        let place = self.place(tag);
        let draft = place.with_extension("draft");
        write_synced(&draft, &serde_json::to_vec(&ticket)?, 0o600)
            .map_err(|error| at(&draft, &error))?;
        fs::rename(draft, &place)?;
        sync_folder(&self.folder.join("tickets"))?;
        self.all.insert(tag.clone(), ticket);
        Ok(())
    }

    /// Changes a ticket that is there; on disk when this returns.
    ///
    /// # Errors
    /// As [`Tickets::put`].
    pub fn change(&mut self, tag: &Tag, how: impl FnOnce(&mut Ticket)) -> io::Result<()> {
        let Some(ticket) = self.all.get(tag) else { return Ok(()) };
        let mut changed = ticket.clone();
        how(&mut changed);
        match changed == *ticket {
            true => Ok(()),
            false => self.put(tag, changed),
        }
    }

    /// Tears the ticket up.
    ///
    /// # Errors
    /// If its file cannot be removed.
    pub fn remove(&mut self, tag: &Tag) -> io::Result<()> {
        if self.all.contains_key(tag) {
            fs::remove_file(self.place(tag))?;
            self.all.remove(tag);
        }
        Ok(())
    }

    fn place(&self, tag: &Tag) -> PathBuf {
        self.folder.join("tickets").join(format!("{}.json", folder_name(&tag.to_string())))
    }
}

/// The folder's lock. An adapter that was just dropped elsewhere may hold it for a moment.
fn take_lock(folder: &Path) -> io::Result<File> {
    for _ in 0..100 {
        if let Some(lock) = lock(&folder.join("lock"))? {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(io::Error::other(format!("{}: used by another process", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_outlive_the_adapter() {
        let folder = tempfile::tempdir().unwrap();
        let tag = Tag { market: "a/b".to_owned(), job: 7, attempt: 0, part: 1 };
        let ticket = Ticket {
            tag: tag.to_string(),
            account: "ana".to_owned(),
            pool: "p".to_owned(),
            nodes: 2,
            handed_in: 1,
            start: 2,
            limit: 3,
            gather: None,
            directory: "/d".to_owned(),
            output: "/o".to_owned(),
            spool: "/s".to_owned(),
            is_held: false,
            is_taken: false,
            is_withdrawn: false,
            ended: None,
            is_forgotten: false,
        };
        let mut tickets = Tickets::open(folder.path()).unwrap();
        tickets.put(&tag, ticket.clone()).unwrap();
        let exit = Ending::NotStarted("no".to_owned());
        let ended = Ended { since: None, at: 5, began: Some(4), exit };
        tickets.change(&tag, |ticket| ticket.ended = Some(ended.clone())).unwrap();
        tickets.ban(&Tag { job: 8, ..tag.clone() }).unwrap();
        drop(tickets);
        fs::write(folder.path().join("tickets/x.draft"), "{").unwrap();
        let mut tickets = Tickets::open(folder.path()).unwrap();
        let changed = Ticket { ended: Some(ended), ..ticket };
        assert_eq!(tickets.iter().collect::<Vec<_>>(), [(&tag, &changed)]);
        assert!(tickets.is_gone(&Tag { job: 8, ..tag.clone() }) && !tickets.is_gone(&tag));
        tickets.remove(&tag).unwrap();
        drop(tickets);
        assert_eq!(Tickets::open(folder.path()).unwrap().iter().count(), 0);
    }
}
