//! An order becomes a sheet: paths and the environment, all of it spelled out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tradewind_io::submission::signal::Warning;
use tradewind_io::submission::{Append, Work};

use super::LocalSettings;
use super::accounts::TaskAccount;
use super::confine::Confined;
use super::hide::Reach;
use super::home::Home;
use super::records::{Folder, Sheet, Warned};
use crate::site::Order;
use crate::site::clock::now;
use crate::site::files::{sync_folder, write_synced};

/// What a task sees of the daemon's own environment: where programs and homes are, and the
/// language. Nothing else: the rest may be secret.
const KEPT: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"];
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Names of the task's nodes, with commas.
const NODES: &str = "TRADEWIND_NODES";
/// A variable of the order with this value gets the names of the nodes.
const NODES_HERE: &str = "%N";

/// Those of them that hold for other accounts, too.
const COMMON: [&str; 3] = ["LANG", "LC_ALL", "TZ"];

/// The sheet of an order whose folder will be there; `account` is the one that runs it and where it
/// does so, if that is not the daemon's own.
pub(super) fn of(
    order: &Order,
    settings: &LocalSettings,
    confined: &Confined,
    folder: &Path,
    number: u64,
    account: Option<(TaskAccount, PathBuf)>,
) -> Sheet {
    let around = &order.surroundings;
    let (account, home) = account.unzip();
    let home = home.as_ref().unwrap_or(&settings.directory);
    let directory = around.directory.as_ref().map_or(home.clone(), |path| at_home(home, path));
    let place = |path: &str| at_home(&directory, expand(path, order));
    let output = place(around.output.as_deref().unwrap_or("tradewind-%j.out"));
    let kept: &[&str] = if account.is_some() { &COMMON } else { &KEPT };
    let (mut environment, node_variables) = environment(order, kept, std::env::vars_os());
    // A daemon that a service manager has started may not know the name of its account.
    if account.is_none() && !environment.contains_key("USER") {
        environment.insert("USER".to_owned(), Home::own().name);
    }
    Sheet {
        tag: order.tag.to_string(),
        number,
        pool: order.pool.clone(),
        nodes: order.nodes,
        start: order.start.0,
        handed_in: Some(now().0),
        limit: order.limit.0,
        gather: order.gather.map(|max| max.0),
        argv: argv(&order.work, folder),
        output,
        error: around.error.as_deref().map(place),
        input: around.input.as_deref().map(place),
        directory,
        append: around.append == Append::Append,
        environment,
        node_variables,
        grace: u64::try_from(settings.grace.as_millis()).unwrap_or(u64::MAX),
        warning: Warning::among(&order.passed_through).map(Warned::from),
        hidden: if account.is_none() { confined.hiding(settings) } else { None },
        own_processes: confined.reach == Some(Reach::Processes),
        cell: confined.cell(order),
        limits: confined.limits(order, settings),
        account,
    }
}

/// The path from `home` on, unless it begins at the root or at the account's own home.
fn at_home(home: &Path, path: impl AsRef<Path>) -> PathBuf {
    match path.as_ref().starts_with("~") && home.starts_with("~") {
        true => path.as_ref().to_owned(),
        false => home.join(path),
    }
}

fn argv(work: &Work, folder: &Path) -> Vec<String> {
    match work {
        Work::Command(argv) => argv.clone(),
        Work::Script { arguments, .. } => {
            let script = folder.join(Folder::SCRIPT).to_string_lossy().into_owned();
            std::iter::once(script).chain(arguments.iter().cloned()).collect()
        }
    }
}

/// What the task sees, and which variables wait for the names of its nodes. Later ones win: the
/// site's, the job's own, those that describe it.
fn environment(
    order: &Order,
    kept: &[&str],
    own: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> (BTreeMap<String, String>, Vec<String>) {
    let mut all = BTreeMap::from([
        ("PATH".to_owned(), PATH.to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("TMPDIR".to_owned(), "/tmp".to_owned()),
    ]);
    let own =
        own.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.extend(own.filter(|(name, _)| kept.contains(&name.as_str())));
    all.extend(order.surroundings.environment.clone());
    let (nodes, plain): (BTreeMap<_, _>, BTreeMap<_, _>) =
        order.variables.clone().into_iter().partition(|(_, value)| value == NODES_HERE);
    all.extend(plain);
    let names = nodes.into_keys().chain([NODES.to_owned()]).collect();
    (all, names)
}

/// A path with `%j` the job's number (at its home, if it comes from a peer), `%x` its name, `%u` its
/// user, `%A` the array's number, `%a` the index in it, `%t` the part, `%%` a percent sign. A number
/// between pads with zeros; what is unknown stays. A slash in a name becomes `_`: names are not paths.
pub(in crate::site) fn expand(pattern: &str, order: &Order) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (width, letters) = after.split_at(digits);
        let letter = letters.chars().next();
        let value = letter.and_then(|letter| stands_for(letter, order));
        rest = match (letter, value) {
            (Some(letter), Some(value)) => {
                let width = width.parse().unwrap_or(0).min(10);
                out.push_str(&format!("{value:0>width$}"));
                letters.get(letter.len_utf8()..).unwrap_or_default()
            }
            _ => {
                out.push('%');
                after
            }
        };
    }
    out.push_str(rest);
    out
}

fn stands_for(letter: char, order: &Order) -> Option<String> {
    let variable = |name: &str| order.variables.get(name).cloned();
    // The number that its user knows; another one could be that of another job of its home.
    let job = || variable("TRADEWIND_HOME_JOB_ID").unwrap_or_else(|| order.tag.job.to_string());
    let name = |name: &str| name.replace(['/', '\0'], "_");
    match letter {
        'j' => Some(job()),
        'x' => Some(name(&order.name)),
        'u' => Some(name(&order.user)),
        'A' => Some(variable("SLURM_ARRAY_JOB_ID").unwrap_or_else(job)),
        'a' => Some(variable("SLURM_ARRAY_TASK_ID").unwrap_or_else(|| "0".to_owned())),
        't' => Some(order.tag.part.to_string()),
        '%' => Some("%".to_owned()),
        _ => None,
    }
}

/// What no process can be given; the reason, if there is one.
pub(in crate::site) fn refusal(order: &Order) -> Option<String> {
    let (script, argv) = match &order.work {
        Work::Script { arguments, .. } => (true, arguments),
        Work::Command(argv) => (false, argv),
    };
    if !script && argv.is_empty() {
        return Some("the command is empty".to_owned());
    }
    if argv.iter().any(|argument| argument.contains('\0')) {
        return Some("an argument has a zero byte".to_owned());
    }
    let mut variables = order.surroundings.environment.iter().chain(&order.variables);
    let bad = |name: &str, value: &str| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    let found = variables.find(|(name, value)| bad(name, value))?;
    Some(format!("no process can have a variable {:?} like this", found.0))
}

/// The script's text, if it is one.
pub(super) fn script(order: &Order) -> Option<&str> {
    match &order.work {
        Work::Script { text, .. } => Some(text),
        Work::Command(_) => None,
    }
}

/// Writes a whole folder for the task, on disk when this returns: made elsewhere, then moved to
/// its place in one step. If it is there already, that one stays.
pub(super) fn lay_down(
    draft: &Path,
    place: &Path,
    sheet: &Sheet,
    order: &Order,
) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let _ = std::fs::remove_dir_all(draft);
    std::fs::DirBuilder::new().mode(0o700).create(draft)?;
    if let Some(text) = script(order) {
        write_synced(&draft.join(Folder::SCRIPT), text.as_bytes(), 0o700)?;
    }
    let pipe = draft.join(Folder::WAKE);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0)?;
    write_synced(&draft.join(Folder::SHEET), &serde_json::to_vec(sheet)?, 0o600)?;
    sync_folder(draft)?;
    std::fs::rename(draft, place)?;
    sync_folder(place.parent().unwrap_or(place))
}
