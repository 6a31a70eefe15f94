//! What the site has handed in, in a file of its own: a manager forgets.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tradewind_model::{Span, Time};

use super::log::{Haste, Log};
use crate::site::fence::{LOCK, TermNames};
use crate::site::files::{at, folder_name, lock, sync_folder};
use crate::site::local::ends::Ends;
use crate::site::local::gone::Gone;
use crate::site::notes::{Note, NoteChange, NoteKind, Notes};
use crate::site::{Exit, Seen, Survey, Tag};

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
    /// Its standard error, if that has a file of its own.
    #[serde(default)]
    pub error: Option<String>,
    /// The folder of tasks' folders, at the cluster.
    pub spool: String,
    /// What stands for its job's output in the commands that take it away.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// Seconds that these commands are expected to take.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub staging: i64,
    /// It was handed in on hold, and is not released yet.
    pub is_held: bool,
    /// It counts on being preempted.
    #[serde(default)]
    pub is_preemptible: bool,
    /// It was handed in on hold.
    #[serde(default)]
    pub was_held: bool,
    /// The manager has taken it.
    pub is_taken: bool,
    /// We were told to withdraw it.
    pub is_withdrawn: bool,
    /// We were told to take it back if it has not begun, and do not know yet whether it has. Written
    /// before its folder is claimed: what is left of it after a crash is ours.
    #[serde(default)]
    pub is_recalled: bool,
    /// How it ended, once we know.
    pub ended: Option<TicketEnd>,
    /// We were told to forget it: what is left of it at the cluster may go.
    pub is_forgotten: bool,
}

/// A task's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketEnd {
    /// Seconds since 1970; `None`: it never ran.
    pub since: Option<i64>,
    /// Seconds since 1970.
    pub at: i64,
    /// When its work itself began, milliseconds since 1970, if that is known.
    pub began: Option<i64>,
    /// How.
    pub exit: Exit,
    /// On which nodes it ran, by the site's names.
    #[serde(default)]
    pub nodes: Vec<String>,
}

fn is_zero(seconds: &i64) -> bool {
    *seconds == 0
}

impl Ticket {
    /// The start that still counts at `now`: one that was meant by a clock that has been set back
    /// since lies in a future that never was, and holds nothing up.
    pub fn start_at(&self, now: Time) -> i64 {
        match self.handed_in > (now + SET_BACK).0.saturating_mul(1_000_000) {
            true => i64::MIN,
            false => self.start,
        }
    }

    /// Whether it may have its nodes before its work is to begin.
    pub fn waits_there(&self) -> bool {
        self.gather.is_some() || self.start.saturating_mul(1_000_000) > self.handed_in
    }

    /// What the manager is given to remember: tag and submission.
    pub fn mark(&self) -> String {
        format!("{} {}", self.tag, self.handed_in)
    }
}

/// The tag in a [`Ticket::mark`].
pub fn tag_in(mark: &str) -> Option<Tag> {
    Tag::parse(mark.rsplit_once(' ').map_or(mark, |(tag, _)| tag))
}

/// Microseconds since 1970, later than any that was told before: two submissions of one tag, from
/// two adapters of this process, have different marks.
pub fn stamp() -> i64 {
    static LAST: AtomicI64 = AtomicI64::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    let next = |last: i64| now.max(last.saturating_add(1));
    let (Ok(last) | Err(last)) =
        LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    next(last)
}

/// A clock that shows so much less than before was set back.
const SET_BACK: Span = Span(5);

impl TicketEnd {
    /// The end of a task that never ran.
    pub fn before_it_began(at: Time, exit: Exit) -> TicketEnd {
        TicketEnd { since: None, at: at.0, began: None, exit, nodes: Vec::new() }
    }

    /// As surveys tell it.
    pub fn seen(&self) -> crate::site::Seen {
        crate::site::Seen::Ended {
            since: self.since.map(Time),
            at: Time(self.at),
            exit: self.exit.clone(),
        }
    }
}

/// A line of the file: the ticket as it is from now on, or that there is none any more.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum TicketLine {
    Is(Box<Ticket>),
    Removed { removed: String },
}

/// All tickets of a site, and the tags that must not run again.
#[derive(Debug)]
pub struct Tickets {
    log: Log,
    all: BTreeMap<Tag, Ticket>,
    gone: Gone,
    ends: Ends,
    /// Where all of this counts, if other daemons are to go on from it: the files are a copy then.
    notes: Option<Box<dyn Notes>>,
    _lock: File,
}

/// The tag that stands in a file.
fn tag_of(text: &str, path: &Path) -> io::Result<Tag> {
    Tag::parse(text).ok_or_else(|| {
        let why = format!("{}: {text:?} is no tag", path.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// What the folder's file has.
fn in_file(path: &Path) -> io::Result<(Log, BTreeMap<Tag, Ticket>)> {
    let (log, lines) = Log::open::<TicketLine>(path)?;
    let mut all = BTreeMap::new();
    for line in lines {
        match line {
            TicketLine::Is(ticket) => drop(all.insert(tag_of(&ticket.tag, path)?, *ticket)),
            TicketLine::Removed { removed } => drop(all.remove(&tag_of(&removed, path)?)),
        }
    }
    Ok((log, all))
}

fn ticket_note(tag: &Tag, ticket: &Ticket) -> io::Result<Note> {
    let body = serde_json::to_string(ticket)?;
    Ok(Note { kind: NoteKind::Ticket, key: tag.to_string(), body })
}

fn gone_note(name: &str) -> Note {
    Note { kind: NoteKind::Gone, key: name.to_owned(), body: String::new() }
}

impl Tickets {
    /// Opens the site's folder, made if need be. What `notes` have counts more than its files; if
    /// they have none yet, they get what is in the files. `epoch`: that of the term for
    /// which the folder's fence was raised; `None`: there is none.
    ///
    /// # Errors
    /// If that fails, another adapter uses it, or a file in it is damaged.
    pub fn open(
        folder: &Path,
        epoch: Option<u64>,
        notes: Option<Box<dyn Notes>>,
    ) -> io::Result<Tickets> {
        let mut maker = fs::DirBuilder::new();
        maker.recursive(true).mode(0o700).create(folder).map_err(|error| at(folder, &error))?;
        let names = epoch.map(TermNames::of_term).map_or_else(|| TermNames::newest(folder), Ok)?;
        let lock = take_lock(folder, &names.of(LOCK))?;
        let gone = Gone::open(&folder.join("gone"))?;
        let ends = Ends::open(&folder.join("ends"))?;
        let (log, all) = in_file(&folder.join("tickets"))?;
        sync_folder(folder)?;
        let mut tickets = Tickets { log, all, gone, ends, notes, _lock: lock };
        tickets.agree()?;
        for (tag, ticket) in &mut tickets.all {
            // That may not have reached the ticket itself.
            let is_gone = tickets.gone.has(&folder_name(&tag.to_string()));
            ticket.is_forgotten |= ticket.ended.is_some() && is_gone;
        }
        tickets.tidy();
        Ok(tickets)
    }

    /// Makes files and notes the same.
    fn agree(&mut self) -> io::Result<()> {
        let Some(notes) = &mut self.notes else { return Ok(()) };
        let Some(found) = notes.read()? else {
            let tickets = self.all.iter().map(|(tag, ticket)| ticket_note(tag, ticket));
            let mut all = tickets.collect::<io::Result<Vec<Note>>>()?;
            all.extend(self.gone.all().map(|name| gone_note(name)));
            all.extend(self.ends.notes());
            return notes.begin(&all);
        };
        self.all.clear();
        for note in found.iter().filter(|note| note.kind == NoteKind::Ticket) {
            let ticket: Ticket = serde_json::from_str(&note.body)?;
            self.all.insert(tag_of(&note.key, Path::new("notes of the site"))?, ticket);
        }
        let gone = found.iter().filter(|note| note.kind == NoteKind::Gone);
        self.gone.replace(gone.map(|note| note.key.clone()).collect())?;
        self.ends.replace(&found)?;
        self.renew()
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
        let name = folder_name(&tag.to_string());
        self.share(|| Ok(vec![NoteChange::Put(gone_note(&name))]))?;
        let added = self.gone.add(std::slice::from_ref(&name));
        self.copied(added)?;
        self.gone.remember(&[name]);
        Ok(())
    }

    /// Keeps changes where they count, if that is not in the files.
    fn share(&mut self, changes: impl FnOnce() -> io::Result<Vec<NoteChange>>) -> io::Result<()> {
        match &mut self.notes {
            Some(notes) => notes.change(&changes()?),
            None => Ok(()),
        }
    }

    /// What became of a change of the files, which may be a copy.
    fn copied(&self, done: io::Result<()>) -> io::Result<()> {
        match (done, &self.notes) {
            (Err(error), Some(_)) => {
                tracing::warn!(%error, "the copy of what is noted of the site is incomplete");
                Ok(())
            }
            (done, _) => done,
        }
    }

    /// Tasks that are over and that nobody will ask for again; on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written down.
    pub fn forget(&mut self, tags: &[Tag]) -> io::Result<()> {
        let names: Vec<String> = tags.iter().map(|tag| folder_name(&tag.to_string())).collect();
        let ended = |tag| Some((tag, self.all.get(tag)?.ended.as_ref()?.seen()));
        let ended: Vec<(&Tag, Seen)> = tags.iter().filter_map(ended).collect();
        if self.notes.is_some() {
            let mut changes = self.ends.changes(ended.iter().cloned());
            changes.extend(names.iter().map(|name| NoteChange::Put(gone_note(name))));
            self.share(|| Ok(changes))?;
        }
        self.ends.forgotten(ended.into_iter());
        let added = self.gone.add(&names);
        self.copied(added)?;
        self.gone.remember(&names);
        self.change_all(tags, Haste::Soon, |_, ticket| ticket.is_forgotten = true)
    }

    /// A task without a ticket that must not run again was submitted: surveys tell how it ended, if
    /// that is known.
    pub fn ask(&mut self, tag: &Tag) {
        self.ends.ask(tag);
    }

    /// The market knows how this task without a ticket ended.
    pub fn leave(&mut self, tag: &Tag) {
        self.ends.leave(tag);
    }

    /// Adds the ends of such tasks to the survey.
    pub fn tell_asked(&self, survey: &mut Survey) {
        self.ends.tell_asked(survey);
    }

    /// The same; and the ends of all tasks that were forgotten, if this is the first survey.
    pub fn tell_past(&mut self, survey: &mut Survey) {
        self.ends.tell(survey);
    }

    /// New tickets, or changes of some; on disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written down: then all is as it was.
    pub fn put(&mut self, tickets: Vec<(Tag, Ticket)>) -> io::Result<()> {
        self.write(tickets, Haste::Now)
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
            false => self.put(vec![(tag.clone(), changed)]),
        }
    }

    /// Changes tickets that are there; on disk when this returns.
    ///
    /// # Errors
    /// As [`Tickets::put`].
    pub fn change_each(&mut self, tags: &[Tag], how: impl Fn(&Tag, &mut Ticket)) -> io::Result<()> {
        self.change_all(tags, Haste::Now, how)
    }

    /// Tears tickets up. When the machine dies, they may be back.
    ///
    /// # Errors
    /// If that cannot be written down.
    pub fn remove(&mut self, tags: &[Tag]) -> io::Result<()> {
        let there = tags.iter().filter(|tag| self.all.contains_key(tag));
        let lines: Vec<TicketLine> =
            there.map(|tag| TicketLine::Removed { removed: tag.to_string() }).collect();
        let gone = tags.iter().map(|tag| NoteChange::Drop(NoteKind::Ticket, tag.to_string()));
        self.share(|| Ok(gone.collect()))?;
        let added = self.log.add(&lines, Haste::Soon);
        self.copied(added)?;
        for tag in tags {
            self.all.remove(tag);
        }
        self.tidy();
        Ok(())
    }

    fn change_all(
        &mut self,
        tags: &[Tag],
        haste: Haste,
        how: impl Fn(&Tag, &mut Ticket),
    ) -> io::Result<()> {
        let changed = tags.iter().filter_map(|tag| {
            let ticket = self.all.get(tag)?;
            let mut changed = ticket.clone();
            how(tag, &mut changed);
            (changed != *ticket).then(|| (tag.clone(), changed))
        });
        let changed = changed.collect();
        self.write(changed, haste)
    }

    fn write(&mut self, tickets: Vec<(Tag, Ticket)>, haste: Haste) -> io::Result<()> {
        if tickets.is_empty() {
            return Ok(());
        }
        let put = |(tag, ticket): &(Tag, Ticket)| Ok(NoteChange::Put(ticket_note(tag, ticket)?));
        self.share(|| tickets.iter().map(put).collect())?;
        let haste = if self.notes.is_some() { Haste::Soon } else { haste };
        let lines: Vec<TicketLine> =
            tickets.iter().map(|(_, ticket)| TicketLine::Is(Box::new(ticket.clone()))).collect();
        let added = self.log.add(&lines, haste);
        self.copied(added)?;
        self.all.extend(tickets);
        self.tidy();
        Ok(())
    }

    /// Writes the file anew if most of it is of no use any more.
    fn tidy(&mut self) {
        if self.log.is_long(self.all.len())
            && let Err(error) = self.renew()
        {
            tracing::warn!(%error, "the file of tickets grows on");
        }
    }

    fn renew(&mut self) -> io::Result<()> {
        let lines: Vec<TicketLine> =
            self.all.values().map(|ticket| TicketLine::Is(Box::new(ticket.clone()))).collect();
        self.log.renew(&lines)
    }
}

/// The folder's lock. An adapter that was just dropped elsewhere may hold it for a moment.
fn take_lock(folder: &Path, name: &str) -> io::Result<File> {
    for _ in 0..100 {
        if let Some(lock) = lock(&folder.join(name))? {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(io::Error::other(format!("{}: used by another process", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::notes::memory::NotesInMemory;

    #[test]
    fn no_two_submissions_have_one_stamp() {
        let stamps = || (0..1_000).map(|_| stamp()).collect::<Vec<i64>>();
        let all: Vec<i64> = std::thread::scope(|scope| {
            let hands: Vec<_> = (0..4).map(|_| scope.spawn(stamps)).collect();
            hands.into_iter().flat_map(|hand| hand.join().unwrap()).collect()
        });
        let different: std::collections::BTreeSet<i64> = all.iter().copied().collect();
        assert_eq!(different.len(), all.len());
    }

    fn a_ticket() -> Ticket {
        Ticket {
            tag: String::new(),
            account: "ana".to_owned(),
            pool: "p".to_owned(),
            nodes: 2,
            handed_in: 1,
            start: 2,
            limit: 3,
            gather: None,
            directory: "/d".to_owned(),
            output: "/o".to_owned(),
            error: None,
            spool: "/s".to_owned(),
            data: std::collections::BTreeMap::new(),
            staging: 0,
            is_held: false,
            is_preemptible: false,
            was_held: false,
            is_taken: false,
            is_withdrawn: false,
            is_recalled: false,
            ended: None,
            is_forgotten: false,
        }
    }

    #[test]
    fn tickets_outlive_the_adapter() {
        let folder = tempfile::tempdir().unwrap();
        let tag = Tag { market: "a/b".to_owned(), job: 7, attempt: 0, part: 1 };
        let ticket = Ticket { tag: tag.to_string(), ..a_ticket() };
        let mut tickets = Tickets::open(folder.path(), None, None).unwrap();
        tickets.put(vec![(tag.clone(), ticket.clone())]).unwrap();
        let exit = Exit::NotStarted("no".to_owned());
        let ended =
            TicketEnd { since: None, at: 5, began: Some(4), exit, nodes: vec!["a1".to_owned()] };
        tickets.change(&tag, |ticket| ticket.ended = Some(ended.clone())).unwrap();
        let other = Tag { job: 8, ..tag.clone() };
        tickets.ban(&other).unwrap();
        drop(tickets);
        let mut tickets = Tickets::open(folder.path(), None, None).unwrap();
        let changed = Ticket { ended: Some(ended), ..ticket.clone() };
        assert_eq!(tickets.iter().collect::<Vec<_>>(), [(&tag, &changed)]);
        assert!(tickets.is_gone(&other) && !tickets.is_gone(&tag));
        // Of a task that is forgotten, only the tag is sure to be on disk.
        tickets.ban(&tag).unwrap();
        drop(tickets);
        let mut tickets = Tickets::open(folder.path(), None, None).unwrap();
        assert!(tickets.get(&tag).unwrap().is_forgotten);
        tickets.remove(std::slice::from_ref(&tag)).unwrap();
        drop(tickets);
        let mut tickets = Tickets::open(folder.path(), None, None).unwrap();
        assert_eq!(tickets.iter().count(), 0);
        // The file does not grow for ever.
        for limit in 0..3_000 {
            tickets
                .write(vec![(tag.clone(), Ticket { limit, ..ticket.clone() })], Haste::Soon)
                .unwrap();
        }
        drop(tickets);
        let text = fs::read_to_string(folder.path().join("tickets")).unwrap();
        assert!(text.lines().count() < 1_200, "{}", text.lines().count());
        assert_eq!(
            Tickets::open(folder.path(), None, None).unwrap().get(&tag).unwrap().limit,
            2_999
        );
    }

    #[test]
    fn another_daemon_goes_on_from_the_notes() {
        let shared = NotesInMemory::default();
        let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let tag = |job| Tag { market: "m".to_owned(), job, attempt: 0, part: 0 };
        let ticket = |job: u64| Ticket { tag: tag(job).to_string(), ..a_ticket() };
        // What was in files before there were notes is in them afterwards.
        let mut tickets = Tickets::open(one.path(), None, None).unwrap();
        tickets.put(vec![(tag(1), ticket(1)), (tag(2), ticket(2))]).unwrap();
        tickets.ban(&tag(9)).unwrap();
        drop(tickets);
        let mut old = Tickets::open(one.path(), None, Some(shared.open("s"))).unwrap();
        let code = Exit::Code(3);
        let ended = TicketEnd { since: Some(4), at: 5, began: None, exit: code, nodes: Vec::new() };
        old.change(&tag(1), |it| it.ended = Some(ended.clone())).unwrap();
        old.forget(&[tag(1)]).unwrap();
        old.put(vec![(tag(3), ticket(3))]).unwrap();
        old.remove(&[tag(1)]).unwrap();
        // Another daemon, with a folder of its own in which something else was.
        let mut stale = Tickets::open(two.path(), None, None).unwrap();
        stale.put(vec![(tag(7), ticket(7))]).unwrap();
        drop(stale);
        shared.succeed();
        let mut new = Tickets::open(two.path(), None, Some(shared.open("s"))).unwrap();
        let found: Vec<u64> = new.iter().map(|(tag, _)| tag.job).collect();
        assert_eq!(found, [2, 3]);
        assert!(new.is_gone(&tag(9)) && new.is_gone(&tag(1)) && !new.is_gone(&tag(2)));
        let mut survey = Survey::default();
        new.tell_past(&mut survey);
        assert_eq!(survey.tasks.get(&tag(1)), Some(&ended.seen()));
        // The earlier one can note nothing, and knows that it has not.
        assert!(old.put(vec![(tag(4), ticket(4))]).is_err() && old.get(&tag(4)).is_none());
        assert!(old.ban(&tag(5)).is_err() && !old.is_gone(&tag(5)));
        assert!(old.forget(&[tag(2)]).is_err());
        new.put(vec![(tag(6), ticket(6))]).unwrap();
        drop((old, new));
        // Without notes the folder of the last owner has all of it.
        let back = Tickets::open(two.path(), None, None).unwrap();
        assert_eq!(back.iter().map(|(tag, _)| tag.job).collect::<Vec<u64>>(), [2, 3, 6]);
        assert!(back.is_gone(&tag(9)) && back.is_gone(&tag(1)));
    }
}
