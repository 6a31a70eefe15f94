//! A site that is this machine: real processes in slots.
//!
//! A pool has so many slots, and a task takes as many of them as it wants nodes; what runs is one
//! tree of processes, on the first. Beside each task runs a supervisor, this program in a hidden
//! role ([`supervise`]), in a session of its own: it starts the task once, stops it at its limit
//! or when it is withdrawn, and writes down how it ended. So tasks exceed the daemon.
//!
//! Everything is in files below the site's folder:
//!
//! | file | what |
//! |---|---|
//! | `lock` | held by the one adapter that may use the folder |
//! | `incoming/` | folders in the making, of each term its own; what is left of them is swept away |
//! | `tasks/TAG/sheet.json`, `script`, `wake` | what runs; there as a whole before the task is acknowledged |
//! | `tasks/TAG/placed.json` | its slots |
//! | `tasks/TAG/lock` | held by the supervisor as long as it lives |
//! | `tasks/TAG/begun.json` | made once, with the boot of the machine: from here on it may have run |
//! | `tasks/TAG/gathering.json` | it has its slots and waits for others, since then |
//! | `tasks/TAG/go.json` | made once: when it need not wait any more, and its variables |
//! | `tasks/TAG/started.json` | first process and its birth, and when |
//! | `tasks/TAG/withdrawn` | it is to stop, or never to start |
//! | `tasks/TAG/notified` | its work is to hear that its nodes are taken back |
//! | `tasks/TAG/ended.json` | how and when it ended; none of its processes is left |
//! | `gone` | a line for each tag that must not run again and has no folder |
//! | `ends` | a line for each of the last such tasks whose work ran: how it ended |
//! | `owner/NAME` | slots that the owner takes away: `{"pool": "cpu", "slots": 2}`, and `from` and `until` in seconds since 1970 if he likes |
//!
//! Tasks run under the daemon's own account, or each under its user's ([`UserAccounts`]). The site is passive: a task that waits for slots
//! gets them when the site is asked something.

mod accounts;
mod cgroups;
mod confine;
mod doctor;
pub(in crate::site) mod ends;
mod entry;
mod folders;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gather;
pub(in crate::site) mod gone;
mod hide;
mod home;
mod keeper;
mod kept;
mod lacks;
mod launch;
mod owner;
mod processes;
mod records;
mod rlimits;
mod role;
pub(in crate::site) mod sheet;
mod supervise;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use tradewind_io::submission::signal::Warning;
use tradewind_model::{Span, Time};

use self::accounts::TaskAccount;
pub use self::accounts::UserAccounts;
use self::cgroups::Tree;
use self::confine::Confined;
pub use self::confine::{ConfineMode, Confinement};
use self::ends::Ends;
use self::entry::{Entry, Output, TaskState};
use self::gone::Gone;
use self::owner::Load;
use self::records::{Folder, Hiding, Sheet};
pub use self::role::play;
pub use self::supervise::supervise;
use super::clock::now;
use super::limits::{CaughtCaps, Holds};
use super::reading::{Excerpt, Links, Stream, read};
use super::size::Size;
use super::{Finding, Order, PoolSetup, PoolSurvey, Reading, Site, SiteError, Survey, Tag};
use crate::site::files::folder_name;

/// So long before its start a task gets its slots: its supervisor then starts it on the second.
const AHEAD: Span = Span(2);

/// A supervisor may take this long to end after it wrote its task's end down.
const LINGER: usize = 1_000;

/// Hidden roles of this program that are run as users' accounts; see [`play`].
const KEEP: &str = "--keep";
const INSIDE: &str = "--inside";
const READ: &str = "--read";
const KILL: &str = "--kill";

/// Of so many tasks that were forgotten it is still known where they wrote.
const WRITTEN: usize = 2_000;

/// What a local site is made of.
#[derive(Debug, Clone)]
pub struct LocalSettings {
    /// Where everything is kept; made if necessary. UTF-8.
    pub folder: PathBuf,
    /// Where tasks run that do not say where, and from where relative paths count.
    pub directory: PathBuf,
    /// The program that is the supervisor when it gets a task's folder as last argument, and its
    /// first arguments: a program that calls [`play`]. Users' accounts must be able to run it.
    pub supervisor: Vec<PathBuf>,
    /// Its pools; `nodes` are slots.
    pub pools: Vec<PoolSetup>,
    /// From `SIGTERM` to `SIGKILL`.
    pub grace: Duration,
    /// How jobs run as their users' accounts; `None`: all run as the daemon's own.
    pub accounts: Option<UserAccounts>,
    /// A folder around the site's that tasks of the daemon's own account need not see, but for
    /// `directory` in it; without links. `None`: they see everything.
    pub hidden: Option<PathBuf>,
    /// What keeps tasks apart.
    pub confinement: Confinement,
}

impl LocalSettings {
    /// The default of `grace`.
    pub const GRACE: Duration = Duration::from_secs(5);
}

/// A local site; see the module.
#[derive(Debug)]
pub struct Local {
    settings: LocalSettings,
    /// Folders in the making.
    incoming: PathBuf,
    confined: Confined,
    entries: BTreeMap<Tag, Entry>,
    /// Those that have not ended.
    live: BTreeSet<Tag>,
    gone: Gone,
    room: DiskRoom,
    ends: Ends,
    /// Tasks that were not taken for what their jobs ask for.
    caught: CaughtCaps,
    /// Supervisors whose tasks are over, to be waited for.
    finished: Vec<Child>,
    /// Where tasks wrote that were forgotten recently, oldest first.
    written: VecDeque<(Tag, Output)>,
    /// The number of the next submission.
    next: u64,
    /// The owner's files that were no good at the last look, and why.
    unread: Vec<String>,
    _lock: File,
}

impl Local {
    /// Opens the site's folder for a look, or where there are no terms of ownership.
    ///
    /// # Errors
    /// As [`Local::open_for`].
    pub fn open(settings: LocalSettings) -> io::Result<Local> {
        Local::open_in(settings, None)
    }

    /// Opens the site's folder for a term of ownership whose [`Fence`](super::fence::Fence) was raised,
    /// and finds the tasks that are there. Takes as long as reading two files for each.
    ///
    /// # Errors
    /// If the folder cannot be used, another adapter uses it, a file in it is damaged, or a later term
    /// has begun.
    pub fn open_for(settings: LocalSettings, epoch: u64) -> io::Result<Local> {
        Local::open_in(settings, Some(epoch))
    }

    fn open_in(settings: LocalSettings, epoch: Option<u64>) -> io::Result<Local> {
        let (incoming, lock) = folders::open(&settings.folder, epoch)?;
        let gone = Gone::open_in_new_file(&settings.folder.join("gone"), &incoming.join("gone"))?;
        let ends = Ends::open(&settings.folder.join("ends"))?.drafted(incoming.join("ends"));
        let mut local = Local {
            settings,
            incoming,
            confined: Confined::default(),
            entries: BTreeMap::new(),
            live: BTreeSet::new(),
            gone,
            ends,
            room: DiskRoom::default(),
            caught: CaughtCaps::default(),
            finished: Vec::new(),
            written: VecDeque::new(),
            next: 0,
            unread: Vec::new(),
            _lock: lock,
        };
        local.confined = Confined::open(&local.settings, &local.incoming)?;
        // In this order: one that is frozen in between must not see cgroups of a later term's tasks.
        let cells = local.confined.tree.as_ref().map(Tree::names).unwrap_or_default();
        local.find()?;
        local.sweep_cells(&cells);
        Ok(local)
    }

    /// Removes cgroups of tasks that are over.
    fn sweep_cells(&self, cells: &[String]) {
        let Some(tree) = &self.confined.tree else { return };
        let live: BTreeSet<String> = self.live.iter().map(gone_line).collect();
        cells.iter().filter(|name| !live.contains(*name)).for_each(|name| tree.sweep(name));
    }

    /// The folder into which the owner puts what he takes; see the module.
    pub fn owner_folder(&self) -> PathBuf {
        self.settings.folder.join("owner")
    }

    fn incoming(&self, name: &str) -> PathBuf {
        self.incoming.join(name)
    }

    fn place(&self, tag: &Tag) -> PathBuf {
        self.settings.folder.join("tasks").join(folder_name(&tag.to_string()))
    }

    fn knows(&self, tag: &Tag) -> bool {
        self.entries.contains_key(tag) || self.gone.has(&gone_line(tag))
    }

    fn find(&mut self) -> io::Result<()> {
        let damaged = |path: &Path, what: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
        };
        for entry in fs::read_dir(self.settings.folder.join("tasks"))? {
            let folder = Folder(entry?.path());
            let sheet: Option<Sheet> = folder.read(Folder::SHEET)?;
            let sheet = sheet.ok_or_else(|| damaged(&folder.0, "no sheet"))?;
            let tag = Tag::parse(&sheet.tag).ok_or_else(|| damaged(&folder.0, "no tag"))?;
            self.next = self.next.max(sheet.number + 1);
            let pool = self.pool(&sheet.pool);
            let entry = Entry::found(folder, pool.unwrap_or(usize::MAX), &sheet)?;
            if !entry.is_ended() {
                pool.ok_or_else(|| {
                    let why = "set its pool up again, with the same name, until it has ended";
                    damaged(&entry.folder.0, why)
                })?;
                self.live.insert(tag.clone());
            }
            self.entries.insert(tag.clone(), entry);
            if self.gone.has(&gone_line(&tag)) {
                // The daemon died while it forgot the task.
                self.remove(&tag)?;
            }
        }
        Ok(())
    }

    fn pool(&self, name: &str) -> Option<usize> {
        self.settings.pools.iter().position(|pool| pool.name == name)
    }

    /// Looks at all live tasks, and gives slots to those that wait: in each pool by start, then
    /// by submission, and no task overtakes.
    fn look(&mut self) -> io::Result<Load> {
        for tag in &self.live {
            if let Some(entry) = self.entries.get_mut(tag) {
                self.room.unless_full(entry.refresh(&self.settings.supervisor))?;
                self.finished.extend(entry.take_supervisor());
            }
        }
        self.live.retain(|tag| self.entries.get(tag).is_some_and(|entry| !entry.is_ended()));
        self.finished.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        let now = now();
        let load = Load::read(&self.owner_folder(), &self.settings.pools, now)?;
        for bad in load.bad.iter().filter(|bad| !self.unread.contains(bad)) {
            tracing::warn!("all slots count as the owner's: {bad}; mend or remove the file");
        }
        self.unread.clone_from(&load.bad);
        self.place_waiting(&load, now)?;
        Ok(load)
    }

    fn place_waiting(&mut self, load: &Load, now: Time) -> io::Result<()> {
        let mut waiting: Vec<(Time, u64, &Tag)> = Vec::new();
        let mut used = vec![BTreeSet::new(); self.settings.pools.len()];
        for (tag, entry) in self.live.iter().filter_map(|tag| self.entries.get_key_value(tag)) {
            if entry.state == TaskState::Waiting && entry.start_at(now) <= now + AHEAD {
                waiting.push((entry.start_at(now), entry.number, tag));
            }
            if let Some(used) = used.get_mut(entry.pool) {
                used.extend(entry.slots().iter().copied());
            }
        }
        waiting.sort();
        let waiting: Vec<Tag> = waiting.into_iter().map(|(_, _, tag)| tag.clone()).collect();
        let mut blocked = BTreeSet::new();
        for tag in waiting {
            let Some(entry) = self.entries.get_mut(&tag) else { continue };
            let pool = entry.pool;
            let (Some(used), Some(setup)) = (used.get_mut(pool), self.settings.pools.get(pool))
            else {
                continue;
            };
            let taken = load.taken(pool, now);
            let free = setup.nodes.saturating_sub(count(used)).saturating_sub(taken);
            if blocked.contains(&pool) || free < entry.nodes {
                blocked.insert(pool);
                continue;
            }
            let wanted = usize::try_from(entry.nodes).unwrap_or(usize::MAX);
            let slots: Vec<u32> =
                (0..setup.nodes).filter(|slot| !used.contains(slot)).take(wanted).collect();
            used.extend(slots.iter().copied());
            self.room.unless_full(entry.place(slots, &self.incoming, &self.settings.supervisor))?;
        }
        self.room.looked();
        Ok(())
    }

    fn survey_now(&mut self) -> io::Result<Survey> {
        let load = self.look()?;
        let pools = self.settings.pools.iter().zip(load.pools);
        let size = Some(Size::Slot(confine::machine_processors()));
        let pools = pools
            .map(|(pool, local)| {
                let max = Some(self.confined.max(&self.settings));
                PoolSurvey { up: pool.nodes, local, max, size, ..PoolSurvey::default() }
            })
            .collect();
        let name = |entry: &Entry| {
            self.settings.pools.get(entry.pool).map_or("", |pool| pool.name.as_str())
        };
        let tasks = self
            .entries
            .iter()
            .map(|(tag, entry)| (tag.clone(), entry.seen(name(entry))))
            .collect();
        let began = self.entries.iter();
        let began = began.filter_map(|(tag, entry)| Some((tag.clone(), entry.began?))).collect();
        let placed = self.entries.iter();
        let placed = placed
            .filter_map(|(tag, entry)| Some((tag.clone(), entry.placed(name(entry))?)))
            .collect();
        let mut survey = Survey { pools, tasks, began, placed, ..Survey::default() };
        self.ends.tell(&mut survey);
        self.caught.tell(&mut survey);
        Ok(survey)
    }

    fn take_in(
        &mut self,
        order: &Order,
        pool: usize,
        account: Option<(TaskAccount, PathBuf)>,
    ) -> io::Result<()> {
        let place = self.place(&order.tag);
        let sheet = sheet::of(order, &self.settings, &self.confined, &place, self.next, account);
        let draft = self.incoming(&folder_name(&order.tag.to_string()));
        let laid = sheet::lay_down(&draft, &place, &sheet, order);
        // Even after an error: what is in its place will run, so surveys must have it.
        if place.exists() {
            self.next += 1;
            self.live.insert(order.tag.clone());
            self.entries.insert(order.tag.clone(), Entry::new(Folder(place), pool, &sheet));
        }
        laid
    }

    /// Gives a new task its slots. Only if what we know leaves none for it we look at the others.
    fn place_new(&mut self, tag: &Tag) -> io::Result<()> {
        let now = now();
        let load = Load::read(&self.owner_folder(), &self.settings.pools, now)?;
        self.place_waiting(&load, now)?;
        let waits =
            |entry: &Entry| entry.state == TaskState::Waiting && entry.start_at(now) <= now + AHEAD;
        if self.entries.get(tag).is_some_and(waits) {
            self.look()?;
        }
        Ok(())
    }

    fn remove(&mut self, tag: &Tag) -> io::Result<()> {
        let Some(mut entry) = self.entries.remove(tag) else { return Ok(()) };
        self.finished.extend(entry.take_supervisor());
        let trash = self.incoming(&format!("gone-{}", folder_name(&tag.to_string())));
        fs::rename(&entry.folder.0, &trash)?;
        fs::remove_dir_all(trash)
    }
}

/// Waits a moment for supervisors that are about to end: else they would stay as zombies until
/// the daemon ends.
impl Drop for Local {
    fn drop(&mut self) {
        for _ in 0..LINGER {
            self.finished.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
            if self.finished.is_empty() {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // That of a later term stays, which may be about to start a task in it.
        if let Some(tree) = self.confined.tree.as_ref().filter(|_| self.incoming.is_dir()) {
            tree.close();
        }
    }
}

impl Site for Local {
    fn pools(&self) -> &[PoolSetup] {
        &self.settings.pools
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.survey_now().map_err(|error| unknown(&error))
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        if self.knows(&order.tag) {
            self.ends.ask(&order.tag);
            return Ok(());
        }
        let refuse = |why: String| Err(SiteError::Refused(why));
        let Some(pool) = self.pool(&order.pool) else {
            return refuse(format!("there is no pool {:?}", order.pool));
        };
        let max = self.settings.pools.get(pool).map_or(0, |pool| pool.nodes);
        if order.nodes == 0 || order.nodes > max {
            return refuse(format!("{} nodes: pool {:?} has {max}", order.nodes, order.pool));
        }
        if let Some(why) = sheet::refusal(order) {
            return refuse(why);
        }
        // The job's own wish: the site takes others.
        if let Some(why) = self.confined.lacking(order) {
            return Err(self.caught.refuse(&order.tag, Holds::ForThisJob, why));
        }
        // Longer than any folder may be called.
        if folder_name(&order.tag.to_string()).len() > 240 {
            return refuse("the market's name is too long".to_owned());
        }
        let accounts = self.settings.accounts.as_ref();
        let account = accounts.map(|it| it.of(order, &self.settings.supervisor)).transpose();
        let account = match account {
            Ok(account) => account,
            Err(why) => return Err(self.caught.refuse(&order.tag, Holds::ForThisUser, why)),
        };
        self.take_in(order, pool, account).map_err(|error| unknown(&error))?;
        // It is accepted: later errors are reported by a survey.
        if let Err(error) = self.place_new(&order.tag) {
            tracing::warn!(%error, "a task waits, since the site cannot be looked at");
        }
        Ok(())
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        match self.entries.get_mut(tag) {
            Some(entry) => entry.withdraw(),
            None => self.gone.add(&[gone_line(tag)]),
        }
        .map_err(|error| unknown(&error))
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let done = match self.entries.get_mut(tag) {
            Some(entry) => entry.recall(),
            None => self.gone.add(&[gone_line(tag)]).map(|()| true),
        };
        match done.map_err(|error| unknown(&error))? {
            true => Ok(()),
            false => Err(SiteError::Begun),
        }
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        let Some(entry) = self.entries.get(tag) else {
            self.ends.leave(tag);
            return Ok(());
        };
        if !entry.is_ended() {
            return Err(SiteError::Refused(format!("{tag} has not ended")));
        }
        self.ends.forgotten(std::iter::once((tag, entry.seen(""))));
        let written = entry.output.clone();
        let removed = self.gone.add(&[gone_line(tag)]).and_then(|()| self.remove(tag));
        removed.map_err(|error| unknown(&error))?;
        if self.written.len() == WRITTEN {
            self.written.pop_front();
        }
        self.written.push_back((tag.clone(), written));
        Ok(())
    }

    fn go(&mut self, tag: &Tag, go: &super::Go) -> Result<(), SiteError> {
        let Some(entry) = self.entries.get_mut(tag) else { return Ok(()) };
        let go = records::GoRecord { at: go.at.0, variables: go.variables.clone() };
        entry.go(&go).map_err(|error| unknown(&error))
    }

    /// Its sheet has the signal.
    fn notify(&mut self, tag: &Tag, _: Option<Warning>) -> Result<(), SiteError> {
        let Some(entry) = self.entries.get_mut(tag) else { return Ok(()) };
        entry.notify().map_err(|error| unknown(&error))
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        Ok(self.reading(tag, &Excerpt::last(max))?.run()?.bytes)
    }

    fn reading(&mut self, tag: &Tag, wanted: &Excerpt) -> Result<Reading, SiteError> {
        let past = || self.written.iter().find(|(known, _)| known == tag).map(|(_, output)| output);
        let Some(output) = self.entries.get(tag).map(|entry| &entry.output).or_else(past) else {
            return Err(SiteError::Refused(format!("{tag} is not known here any more")));
        };
        let (Output { path, error, account }, wanted) = (output.clone(), *wanted);
        let path = error.filter(|_| wanted.stream == Stream::Error).unwrap_or(path);
        let hiding = self.confined.hiding(&self.settings);
        let may_show = move |file: &File| match &hiding {
            Some(Hiding { state, shown }) => hide::is_secret(file, state, shown).map(|it| !it),
            None => Ok(true),
        };
        Ok(Reading::by(move || match account {
            Some(account) => account.read(&path, &wanted),
            None => read(&path, &wanted, Links::Refused, &may_show),
        }))
    }

    fn doctor(&mut self) -> Vec<Finding> {
        doctor::look(&self.settings, &self.confined, &self.incoming, &self.owner_folder())
    }

    fn remarks(&self) -> Vec<String> {
        self.confined.seen.iter().chain(&self.confined.unlimited).cloned().collect()
    }
}

/// Whether the disk has room for what tasks need next.
#[derive(Debug, Default)]
struct DiskRoom {
    /// The last look found none.
    was_full: bool,
    is_full: bool,
}

impl DiskRoom {
    /// On a full disk what a task needs next cannot be written: it stays as it was until the next
    /// look, and the others are looked at all the same. This is said once, until there is room.
    fn unless_full(&mut self, done: io::Result<()>) -> io::Result<()> {
        let Err(error) = done else { return Ok(()) };
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if !full.contains(&error.kind()) {
            return Err(error);
        }
        if !self.was_full && !self.is_full {
            tracing::warn!(%error, "no room to write down how tasks go on: they wait for it");
        }
        self.is_full = true;
        Ok(())
    }

    /// A look at all tasks is over.
    fn looked(&mut self) {
        self.was_full = std::mem::take(&mut self.is_full);
    }
}

fn unknown(error: &io::Error) -> SiteError {
    SiteError::Unknown(error.to_string())
}

/// A tag as one line, whatever the market is called.
fn gone_line(tag: &Tag) -> String {
    folder_name(&tag.to_string())
}

fn count(slots: &BTreeSet<u32>) -> u32 {
    u32::try_from(slots.len()).unwrap_or(u32::MAX)
}
