//! What keeps a site's tasks apart: what its owner wants, and what this machine allows of it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::LocalSettings;
use super::cgroups::{Cell, Controllers, OwnCgroup, TaskLimits, Tree, Trust};
use super::hide::{self, Hidden, Reach};
use super::kept::Way;
use super::lacks::{Machine, lacks};
use super::records::{Folder, Hiding, Placed, Sheet};
use super::rlimits::{self, ProcessLimits, ProcessorShare};
use crate::site::Order;
use crate::site::files::folder_name;
use crate::site::resources::{Resources, megabytes};

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConfineMode {
    /// Where the machine allows it.
    #[default]
    Auto,
    /// Or else the site does not open.
    Require,
    /// The feature is off.
    Off,
}

/// What keeps tasks apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Confinement {
    /// Tasks see neither the state folder nor each other's processes. Tasks of the daemon's own
    /// account get user namespaces if [`LocalSettings::hidden`] is set; those of users' accounts a PID
    /// namespace, if the daemon may make one.
    pub namespaces: ConfineMode,
    /// Tasks have cgroups of their own, which keep memory and processors to what was bought.
    pub cgroups: ConfineMode,
    /// So many processors the site's slots share; `None`: all of the machine's.
    pub processors: Option<u32>,
    /// So many megabytes of memory the site's slots share, and a job that asks for more than its
    /// slots have is refused; `None`: all of the machine's.
    pub memory: Option<u64>,
    /// Slots of all sites that share this machine; `None`: only this site's.
    pub slots_of_machine: Option<u32>,
    /// Slots of those sites that come before this one.
    pub slots_before: u32,
}

/// What a site's tasks get of it.
#[derive(Debug, Default)]
pub(super) struct Confined {
    /// What is hidden from them, if anything is.
    pub reach: Option<Reach>,
    /// Where their cgroups are.
    pub tree: Option<Tree>,
    /// What each slot has.
    slot: SlotShare,
    /// All that the site has.
    all: u64,
    is_required: bool,
    /// Whether requests are kept where no cgroup keeps them.
    keeps_requests: bool,
    /// What is not hidden that might be, and why.
    pub seen: Option<String>,
    /// That there are not all limits, and why.
    pub unlimited: Option<String>,
}

/// Of one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct SlotShare {
    /// Thousandths of a processor.
    processors: u64,
    /// Memory in bytes.
    memory: u64,
}

/// What is said where tasks see each other.
const SEEN: &str = "jobs of one account see each other's processes, and may signal them";
const STATE_SEEN: &str = "jobs see the state folder and each other's processes";
const UNKEPT: &str = "this machine cannot keep --mem, --mem-per-cpu and --cpus-per-task: it has no cgroups with \
                      limits, and no `ulimit -d` and `taskset`";
const UNLIMITED: &str = "jobs are not kept to the memory and processors that they have bought";

impl Confined {
    /// Tries what this machine allows. The site's folders are there.
    ///
    /// # Errors
    /// If something is required that it does not allow.
    pub(super) fn open(settings: &LocalSettings, incoming: &Path) -> io::Result<Confined> {
        let mut confined = Confined::default();
        confined.reach = confined.namespaces(settings, incoming)?;
        confined.tree = confined.cgroups(settings)?;
        confined.is_required = settings.confinement.cgroups == ConfineMode::Require;
        let has = confined.has();
        confined.keeps_requests = (has.cpu && has.memory) || rlimits::is_kept();
        confined.share(settings);
        Ok(confined)
    }

    fn namespaces(
        &mut self,
        settings: &LocalSettings,
        incoming: &Path,
    ) -> io::Result<Option<Reach>> {
        let wish = settings.confinement.namespaces;
        if wish == ConfineMode::Off {
            return Ok(None);
        }
        let tried = try_namespaces(settings, incoming);
        if let Some((seen, why)) = &tried.seen {
            if wish == ConfineMode::Require && tried.reach.is_none() {
                let what = "no namespaces that hide the state folder";
                return Err(io::Error::other(format!("{what}: {why}")));
            }
            self.seen = Some(format!("{seen}: {why}"));
        }
        Ok(tried.reach)
    }

    fn cgroups(&mut self, settings: &LocalSettings) -> io::Result<Option<Tree>> {
        let trust = match settings.confinement.cgroups {
            ConfineMode::Off => return Ok(None),
            ConfineMode::Auto => Trust::Signs,
            ConfineMode::Require => Trust::Owner,
        };
        let tree = OwnCgroup::of_this_process()
            .and_then(|place| Tree::open(&place, &settings.folder, trust));
        let lacks = match &tree {
            Ok(tree) => tree.lacks.clone(),
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = lacks {
            if trust == Trust::Owner {
                return Err(io::Error::other(format!("no cgroups with limits: {why}")));
            }
            self.unlimited = Some(format!("{UNLIMITED}: {why}"));
        }
        Ok(tree.ok())
    }

    /// What a slot has: the same part of what the site has, or else of the machine.
    fn share(&mut self, settings: &LocalSettings) {
        let wanted = &settings.confinement;
        let own = settings.pools.iter().map(|pool| u64::from(pool.nodes)).sum::<u64>().max(1);
        let of_machine = wanted.slots_of_machine.map_or(own, u64::from).max(own);
        let part = |given: Option<u64>, machine: u64| match given {
            Some(given) => given / own,
            None => machine / of_machine,
        };
        let processors = u64::from(machine_processors());
        let given = wanted.processors.map(|it| u64::from(it).saturating_mul(1_000));
        let around = self.tree.as_ref().and_then(|tree| tree.memory);
        let memory = around.unwrap_or(u64::MAX).min(machine_memory());
        self.slot = SlotShare {
            processors: part(given, processors.saturating_mul(1_000)),
            memory: part(wanted.memory.map(|it| it.saturating_mul(1 << 20)), memory),
        };
        self.all = self.slot.memory.saturating_mul(own);
    }

    /// What a job may ask of each slot: what its owner has said, or as much as the machine has. No
    /// devices.
    pub(super) fn max(&self, settings: &LocalSettings) -> Resources {
        let memory = match settings.confinement.memory {
            Some(_) => self.slot.memory,
            None => machine_memory(),
        };
        Resources { memory: memory >> 20, ..Resources::default() }
    }

    /// The cgroup of an order's task, if it gets one.
    pub(super) fn cell(&self, order: &Order) -> Option<Cell> {
        let tree = self.tree.as_ref()?;
        let name = folder_name(&order.tag.to_string());
        let slots = u64::from(order.nodes);
        let asked = asked(order).saturating_mul(slots).min(self.all);
        let memory = if asked > 0 { asked } else { self.slot.memory.saturating_mul(slots) };
        let share = self.slot.processors.saturating_mul(slots);
        let processors = processors_of(order).map_or(share, |count| u64::from(count) * 1_000);
        let mut cell = Cell::new(tree, &name, TaskLimits { processors, memory });
        cell.is_required = self.is_required;
        Some(cell)
    }

    /// What an order asks for and its cgroup does not keep.
    pub(super) fn limits(&self, order: &Order, settings: &LocalSettings) -> ProcessLimits {
        let has = self.has();
        let memory = asked(order).saturating_mul(u64::from(order.nodes)).min(self.all) >> 10;
        let count = processors_of(order).filter(|count| *count < machine_processors());
        let before = settings.pools.iter().take_while(|pool| pool.name != order.pool);
        let before = before.fold(0, |sum: u32, pool| sum.saturating_add(pool.nodes));
        let wanted = &settings.confinement;
        let own = settings.pools.iter().fold(0, |sum: u32, pool| sum.saturating_add(pool.nodes));
        ProcessLimits {
            memory: (memory > 0 && !has.memory).then_some(memory),
            processors: count.filter(|_| !has.cpu).map(|count| ProcessorShare {
                count,
                first: wanted.slots_before.saturating_add(before),
                slots: wanted.slots_of_machine.unwrap_or(own).max(own),
            }),
        }
    }

    /// What the order asks for and this machine does not have, or cannot keep.
    pub(super) fn lacking(&self, order: &Order) -> Option<String> {
        let processors = u64::from(machine_processors());
        let machine = Machine { processors, memory: machine_memory() };
        let is_open =
            || !self.keeps_requests && (asked(order) > 0 || processors_of(order).is_some());
        lacks(&order.passed_through, machine).or_else(|| is_open().then(|| UNKEPT.to_owned()))
    }

    /// Which limits the kernel keeps.
    pub(super) fn has(&self) -> Controllers {
        self.tree.as_ref().map_or(Controllers::default(), |tree| tree.has)
    }

    /// What is hidden from tasks of the daemon's own account.
    pub(super) fn hiding(&self, settings: &LocalSettings) -> Option<Hiding> {
        self.reach?;
        let state = settings.hidden.clone()?;
        Some(Hiding { state, shown: settings.directory.clone() })
    }
}

/// How the task of this folder is started in namespaces, in a cgroup, with limits, or as its user's account;
/// `None`: in none of these ways. Its cgroup is there then.
///
/// # Errors
/// If its cgroup or its namespaces are required and cannot be made.
pub(super) fn way(folder: &Folder, sheet: &Sheet, placed: &Placed) -> io::Result<Option<Way>> {
    let cell = sheet.cell.as_ref().map(|cell| made(folder, cell)).transpose()?.flatten();
    let hidden = sheet.hidden.as_ref().map(|hiding| Hidden {
        state: hiding.state.clone(),
        shown: hiding.shown.clone(),
        folder: folder.0.clone(),
        reach: if sheet.own_processes { Reach::Processes } else { Reach::Files },
        cgroups: cell.as_ref().map(|cell| cell.mount.clone()),
    });
    let limits = sheet.limits.words(placed.slots.first().copied().unwrap_or(0));
    if sheet.account.is_none() && hidden.is_none() && cell.is_none() && limits.is_empty() {
        return Ok(None);
    }
    let mut before = cell.as_ref().map(Cell::entering).unwrap_or_default();
    before.extend(limits);
    match &hidden {
        Some(hidden) => before.extend(hidden.prefix()?),
        None if sheet.own_processes && sheet.account.is_some() => before.extend(hide::apart()?),
        None => {}
    }
    let (account, program) = (sheet.account.clone(), program());
    Ok(Some(Way { before, account, program, cell, hidden }))
}

/// The cgroup, made; `None`: it cannot be, and the task runs without. The supervisor's log has the
/// reason.
fn made(folder: &Folder, cell: &Cell) -> io::Result<Option<Cell>> {
    match cell.make() {
        Ok(()) => Ok(Some(cell.clone())),
        Err(wrong) if cell.is_required => Err(wrong),
        Err(wrong) => {
            cell.remove(Duration::ZERO);
            let _ = fs::write(folder.path(Folder::LOG), format!("no cgroup: {wrong}\n"));
            Ok(None)
        }
    }
}

/// The words by which this process was started as a supervisor, without the folder behind them.
fn program() -> Vec<String> {
    let mut words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.pop();
    words
}

/// What could be hidden; and what could not, with the reason.
struct Tried {
    reach: Option<Reach>,
    seen: Option<(&'static str, String)>,
}

fn try_namespaces(settings: &LocalSettings, incoming: &Path) -> Tried {
    if settings.accounts.is_some() {
        return match hide::probe_apart() {
            Ok(()) => Tried { reach: Some(Reach::Processes), seen: None },
            Err(why) => Tried { reach: None, seen: Some((SEEN, first_line(&why))) },
        };
    }
    let Some(state) = &settings.hidden else { return Tried { reach: None, seen: None } };
    let folder = incoming.join(".namespaces");
    let probe = |reach| hide::probe(state, &settings.directory, &folder, reach);
    let Err(fewer) = probe(Reach::Processes) else {
        return Tried { reach: Some(Reach::Processes), seen: None };
    };
    match probe(Reach::Files) {
        Ok(()) => Tried { reach: Some(Reach::Files), seen: Some((SEEN, first_line(&fewer))) },
        Err(why) => Tried { reach: None, seen: Some((STATE_SEEN, first_line(&why))) },
    }
}

fn first_line(why: &io::Error) -> String {
    why.to_string().lines().next().unwrap_or("no namespaces").to_owned()
}

/// Processors that this process may use.
pub(super) fn machine_processors() -> u32 {
    let all = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// Bytes that a job wants of each slot; 0: it does not say, or all that there is.
fn asked(order: &Order) -> u64 {
    let wanted = |(name, value): &(String, String)| {
        ["mem", "mem-per-cpu"].contains(&name.as_str()).then(|| megabytes(value))
    };
    let max = order.passed_through.iter().filter_map(wanted).max();
    max.unwrap_or(0).saturating_mul(1 << 20)
}

/// Processors that the order's tasks ask for together; `None`: it does not say.
fn processors_of(order: &Order) -> Option<u32> {
    let count = |wanted: &str| {
        let all = order.passed_through.iter();
        all.filter(|(name, _)| name == wanted).find_map(|(_, value)| value.parse::<u32>().ok())
    };
    let per_node = || count("ntasks-per-node").map(|each| each.saturating_mul(order.nodes));
    let tasks = count("ntasks").or_else(per_node).unwrap_or(order.nodes);
    count("cpus-per-task").map(|each| each.saturating_mul(tasks.max(1)).min(machine_processors()))
}

/// Memory of the machine, in bytes.
fn machine_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|it| it.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(u64::MAX, |it: u64| it.saturating_mul(1_024))
}
