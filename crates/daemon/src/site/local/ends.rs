//! How tasks ended that the market has forgotten. A market that is restored from a backup may ask
//! for them again, and then must not run them a second time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tradewind_model::Time;

use super::records::{self, Folder, Sheet};
use crate::site::files::at;
use crate::site::notes::{Note, NoteChange, NoteKind};
use crate::site::{Exit, Seen, Survey, Tag};

/// So many ends are kept: the last ones.
const MAX: usize = 10_000;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EndLine {
    tag: String,
    /// Seconds since 1970.
    since: i64,
    /// Seconds since 1970.
    at: i64,
    exit: Exit,
}

/// Ends in a file of lines, of which the last [`MAX`] count. Nothing is synced: it is a memory that
/// helps where it is there.
#[derive(Debug)]
pub(in crate::site) struct Ends {
    path: PathBuf,
    /// What the file is made as when all of it is written again.
    draft: PathBuf,
    lines: usize,
    all: BTreeMap<Tag, EndLine>,
    /// The first to be dropped first.
    order: VecDeque<Tag>,
    /// Whether the file does not end with a whole line.
    is_torn: bool,
    /// Whether a survey has told all of them.
    is_told: bool,
    /// Tasks that were submitted again: every survey tells them.
    asked: BTreeSet<Tag>,
}

impl Ends {
    /// Reads the file, if it is there. Lines that cannot be read are left out.
    ///
    /// # Errors
    /// If there is a file and it cannot be read.
    pub(in crate::site) fn open(path: &Path) -> io::Result<Ends> {
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(at(path, &error)),
        };
        let mut ends = Ends {
            path: path.to_owned(),
            draft: path.with_extension("part"),
            lines: text.lines().count(),
            all: BTreeMap::new(),
            order: VecDeque::new(),
            is_torn: false,
            is_told: false,
            asked: BTreeSet::new(),
        };
        // A torn last line would spoil the next one.
        ends.is_torn = !text.is_empty() && !text.ends_with('\n');
        for line in text.lines() {
            if let Ok(line) = serde_json::from_str::<EndLine>(line)
                && let Some(tag) = Tag::parse(&line.tag)
            {
                ends.keep(tag, line);
            }
        }
        Ok(ends)
    }

    /// With another draft: where its folder is gone, the file is not replaced any more.
    pub(in crate::site) fn drafted(self, draft: PathBuf) -> Ends {
        Ends { draft, ..self }
    }

    /// Those that are dropped for it.
    fn keep(&mut self, tag: Tag, line: EndLine) -> Vec<Tag> {
        if self.all.insert(tag.clone(), line).is_none() {
            self.order.push_back(tag);
        }
        let surplus = self.order.len().saturating_sub(MAX);
        let oldest: Vec<Tag> = self.order.drain(..surplus).collect();
        for tag in &oldest {
            self.all.remove(tag);
        }
        oldest
    }

    /// All of them as notes, the first to be dropped first.
    pub(in crate::site) fn notes(&self) -> Vec<Note> {
        let all = self.order.iter().filter_map(|tag| Some((tag, self.all.get(tag)?)));
        all.map(|(tag, line)| note(tag, line)).collect()
    }

    /// Only these from now on, as [`Ends::notes`] wrote them: the file is a copy.
    pub(in crate::site) fn replace(&mut self, notes: &[Note]) -> io::Result<()> {
        self.all.clear();
        self.order.clear();
        for note in notes.iter().filter(|note| note.kind == NoteKind::End) {
            if let Ok(line) = serde_json::from_str::<EndLine>(&note.body)
                && let Some(tag) = Tag::parse(&line.tag)
            {
                self.keep(tag, line);
            }
        }
        self.renew()?;
        (self.is_torn, self.lines) = (false, self.order.len());
        Ok(())
    }

    /// What [`Ends::forgotten`] will change of the notes.
    pub(in crate::site) fn changes<'a>(
        &self,
        ends: impl Iterator<Item = (&'a Tag, Seen)>,
    ) -> Vec<NoteChange> {
        let new = ends.filter(|(tag, _)| !self.all.contains_key(*tag));
        let mut all: Vec<NoteChange> = new
            .filter_map(|(tag, seen)| Some(NoteChange::Put(note(tag, &line(tag, &seen)?))))
            .collect();
        let surplus = (self.order.len() + all.len()).saturating_sub(MAX);
        let oldest = self.order.iter().take(surplus);
        all.extend(oldest.map(|tag| NoteChange::Drop(NoteKind::End, tag.to_string())));
        all
    }

    /// Remembers how tasks ended that are forgotten from now on. A task that never ran may run
    /// again, and of one that was lost nothing is known.
    pub(in crate::site) fn forgotten<'a>(&mut self, ends: impl Iterator<Item = (&'a Tag, Seen)>) {
        let mut text = String::new();
        for (tag, seen) in ends {
            self.leave(tag);
            let Some(line) = line(tag, &seen).filter(|_| !self.all.contains_key(tag)) else {
                continue;
            };
            text += &serde_json::to_string(&line).map(|line| line + "\n").unwrap_or_default();
            self.keep(tag.clone(), line);
            self.lines += 1;
        }
        if !text.is_empty()
            && let Err(error) = self.write(&text)
        {
            tracing::warn!(%error, "ends of tasks are not kept for restored backups");
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.is_torn || self.lines > 3 * MAX {
            self.renew()?;
            (self.is_torn, self.lines) = (false, self.order.len());
            return Ok(());
        }
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| at(&self.path, &error))
    }

    fn renew(&self) -> io::Result<()> {
        let lines = self.order.iter().filter_map(|tag| self.all.get(tag));
        write_lines(&self.draft, &self.path, lines.cloned().collect())
    }

    /// The task was submitted once more: from now on every survey tells how it ended, if that is
    /// known.
    pub(in crate::site) fn ask(&mut self, tag: &Tag) {
        if self.all.contains_key(tag) {
            self.asked.insert(tag.clone());
        }
    }

    /// The market knows now how the task ended.
    pub(in crate::site) fn leave(&mut self, tag: &Tag) {
        self.asked.remove(tag);
    }

    /// Adds the ends of tasks that were submitted again and that the survey does not mention.
    pub(in crate::site) fn tell_asked(&self, survey: &mut Survey) {
        for tag in &self.asked {
            if let Some(line) = self.all.get(tag) {
                survey.tasks.entry(tag.clone()).or_insert_with(|| line.seen());
            }
        }
    }

    /// The same; and all ends, if this is the first survey: a restored market looks for its tasks
    /// there.
    pub(in crate::site) fn tell(&mut self, survey: &mut Survey) {
        self.tell_asked(survey);
        if !std::mem::replace(&mut self.is_told, true) {
            for (tag, line) in &self.all {
                survey.tasks.entry(tag.clone()).or_insert_with(|| line.seen());
            }
        }
    }
}

impl EndLine {
    fn seen(&self) -> Seen {
        let EndLine { since, at, exit, .. } = self;
        Seen::Ended { since: Some(Time(*since)), at: Time(*at), exit: exit.clone() }
    }
}

fn line(tag: &Tag, seen: &Seen) -> Option<EndLine> {
    match seen {
        Seen::Ended { since: Some(since), at, exit } if *exit != Exit::Lost => {
            Some(EndLine { tag: tag.to_string(), since: since.0, at: at.0, exit: exit.clone() })
        }
        _ => None,
    }
}

fn note(tag: &Tag, line: &EndLine) -> Note {
    let body = serde_json::to_string(line).unwrap_or_default();
    Note { kind: NoteKind::End, key: tag.to_string(), body }
}

fn write_lines(draft: &Path, path: &Path, lines: Vec<EndLine>) -> io::Result<()> {
    drop(fs::remove_file(draft));
    let mut options = OpenOptions::new();
    let mut file: File = options.create_new(true).write(true).mode(0o600).open(draft)?;
    for line in lines {
        serde_json::to_writer(&mut file, &line)?;
        file.write_all(b"\n")?;
    }
    file.sync_all()?;
    fs::rename(draft, path)
}

/// Copies the ends that are known at a site of this machine: of forgotten tasks, and of those that
/// are over.
///
/// # Errors
/// If a file cannot be read or written.
pub(in crate::site) fn copy(folder: &Path, to: &Path) -> io::Result<()> {
    let mut ends = Ends::open(&folder.join("ends"))?;
    for task in fs::read_dir(folder.join("tasks")).into_iter().flatten() {
        let task = Folder(task?.path());
        let read = |task: &Folder| {
            let sheet: Sheet = task.read(Folder::SHEET)?.ok_or(io::ErrorKind::NotFound)?;
            let ended = task.read::<records::EndRecord>(Folder::ENDED)?;
            io::Result::Ok((sheet.tag, ended))
        };
        // One that is forgotten at this moment is among the others at the next backup.
        let Ok((tag, Some(ended))) = read(&task) else { continue };
        let Some(tag) = Tag::parse(&tag) else { continue };
        let (since, at) = (ended.since.map(Time), Time(ended.at));
        if let Some(line) = line(&tag, &Seen::Ended { since, at, exit: ended.exit }) {
            ends.keep(tag, line);
        }
    }
    let lines: Vec<EndLine> =
        ends.order.iter().filter_map(|tag| ends.all.get(tag)).cloned().collect();
    match lines.is_empty() {
        true => Ok(()),
        false => write_lines(&to.with_extension("part"), to, lines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(job: u64) -> Tag {
        Tag { market: "m".to_owned(), job, attempt: 0, part: 0 }
    }

    fn ended(exit: Exit) -> Seen {
        Seen::Ended { since: Some(Time(3)), at: Time(5), exit }
    }

    #[test]
    fn ends_are_listed_at_first_and_when_a_task_is_submitted_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ends");
        let mut ends = Ends::open(&path).unwrap();
        let never = Seen::Ended { since: None, at: Time(5), exit: Exit::Withdrawn };
        let tags = [tag(1), tag(2), tag(3)];
        let all = [ended(Exit::Code(7)), never, ended(Exit::Lost)];
        ends.forgotten(tags.iter().zip(all));
        // A torn line and one of another program do no harm.
        let mut text = fs::read_to_string(&path).unwrap();
        text += "{\"tag\": \"other\"}\n{\"tag\"";
        fs::write(&path, text).unwrap();
        let mut ends = Ends::open(&path).unwrap();
        let told = |ends: &mut Ends| {
            let mut survey = Survey::default();
            ends.tell(&mut survey);
            survey.tasks.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(told(&mut ends), [(tag(1), ended(Exit::Code(7)))]);
        assert_eq!(told(&mut ends), []);
        tags.iter().for_each(|tag| ends.ask(tag));
        assert_eq!(told(&mut ends).len(), 1);
        ends.forgotten([(&tag(1), ended(Exit::Code(7)))].into_iter());
        assert_eq!(told(&mut ends), []);
    }

    #[test]
    fn the_last_ends_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ends");
        let mut ends = Ends::open(&path).unwrap();
        for many in 0..7 {
            let tags: Vec<Tag> = (many * 5_000..(many + 1) * 5_000).map(tag).collect();
            ends.forgotten(tags.iter().map(|tag| (tag, ended(Exit::Code(0)))));
        }
        let again = Ends::open(&path).unwrap();
        assert_eq!((again.all.len(), again.lines), (MAX, MAX));
        assert_eq!((&again.all, &again.order), (&ends.all, &ends.order));
        assert_eq!(again.all.last_key_value().unwrap().0, &tag(34_999));
    }

    /// One that was frozen while it replaced the file goes on.
    #[test]
    fn one_that_has_no_folder_any_more_does_not_replace_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let [path, own] = ["ends", "incoming-3"].map(|name| folder.path().join(name));
        fs::create_dir(&own).unwrap();
        let frozen = Ends::open(&path).unwrap().drafted(own.join("ends"));
        frozen.renew().unwrap();
        fs::remove_dir_all(&own).unwrap();
        Ends::open(&path).unwrap().forgotten([(&tag(1), ended(Exit::Code(7)))].into_iter());
        frozen.renew().unwrap_err();
        assert_eq!(Ends::open(&path).unwrap().all.len(), 1);
    }
}
