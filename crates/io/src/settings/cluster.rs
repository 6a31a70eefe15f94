//! `[[site]]` of the kinds `slurm` and `gridengine`: how their managers are reached, who runs
//! jobs there, and which nodes make a pool.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use tradewind_model::{OwnersFirst, Span, Standing};

use super::read::{text, texts};
use crate::diagnostics::excerpt;
use crate::fields::{Fields, Notes};
use crate::memory;
use crate::owners_first;
use crate::value::ValueKind;

/// Keys of such a site beside those that all sites have.
pub(super) const KEYS: [&str; 24] = [
    "command",
    "ssh",
    "ssh_options",
    "remote_shell",
    "user_command",
    "environment",
    "accounts",
    "timeout",
    "survey_every",
    "requests_at_rest",
    "requests_busy",
    "mode",
    "directory",
    "spool",
    "unit",
    "grace",
    "held_after",
    "owners_queue",
    "queue_priority",
    "guard",
    "max_delay",
    "options",
    "stage_in",
    "stage_out",
];
/// Keys of its pools beside those that all pools have.
pub(super) const POOL: [&str; 3] = ["partition", "features", "hosts"];
pub(super) const SECONDS: RangeInclusive<i64> = 1..=3_600;
/// Range of a span, up to thirty days: seconds.
const DAYS: RangeInclusive<i64> = 1..=30 * 24 * 3_600;
const REQUESTS: RangeInclusive<i64> = 1..=6_000;
/// Priorities of managers.
const PRIORITIES: RangeInclusive<i64> = 0..=u32::MAX as i64;

/// A cluster under a manager of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Where the cluster is reached by one SSH connection that is kept, as `ssh` writes it;
    /// `None`: by `command`.
    pub ssh: Option<String>,
    /// Further options of that `ssh`.
    pub ssh_options: Vec<String>,
    /// The socket of that connection: said by who opens the site, not by the configuration.
    pub socket: Option<PathBuf>,
    /// Words before each of the manager's commands, such as `ssh login`; empty: they run here.
    pub command: Vec<String>,
    /// Whether a shell reads what comes behind them; `None`: if it is `ssh`.
    pub remote_shell: Option<bool>,
    /// Words before each command as a user, with `{user}` for the account; empty: all jobs run
    /// as the account that runs the manager's commands.
    pub user_command: Vec<String>,
    /// Variables of all commands.
    pub environment: BTreeMap<String, String>,
    /// Who runs as whom.
    pub accounts: Accounts,
    /// For each command.
    pub timeout: Span,
    /// The minimum time between two looks at the site.
    pub survey_every: Span,
    /// Lists that the manager is asked for in a minute in which nothing of ours is due there,
    /// at most.
    pub requests_at_rest: u32,
    /// The same while jobs run or wait, whatever their number.
    pub requests_busy: u32,
    /// How jobs get their nodes in time.
    pub mode: Mode,
    /// Where jobs run that do not say where; `{user}` is the account, `~` its home.
    pub directory: String,
    /// Where tasks' folders are; `{user}` is the account, `~` its home.
    pub spool: String,
    /// What a node of the market is.
    pub unit: NodeUnit,
    /// From `SIGTERM` to `SIGKILL` at a job's limit.
    pub grace: Span,
    /// A job that is held at the manager is withdrawn after so long.
    pub held_after: Span,
    /// Where the market's jobs stand in the cluster's own queue.
    pub owners_queue: Standing,
    /// The priority that they have there, if it is not to be observed; only in line.
    pub queue_priority: Option<u64>,
    /// What the owners may rely on.
    pub owners_first: OwnersFirst,
    /// Options of every submission, such as account, partition and QOS; jobs' own come later.
    pub options: Vec<(String, String)>,
    /// Programs and arguments that are run as the user before a job is submitted.
    pub stage_in: Vec<Vec<String>>,
    /// Programs and arguments that are run as the user when it has ended.
    pub stage_out: Vec<Vec<String>>,
}

impl Default for Cluster {
    fn default() -> Cluster {
        Cluster {
            ssh: None,
            ssh_options: Vec::new(),
            socket: None,
            command: Vec::new(),
            remote_shell: None,
            user_command: Vec::new(),
            environment: BTreeMap::new(),
            accounts: Accounts::Of(BTreeMap::new()),
            timeout: Span(10),
            survey_every: Span(1),
            requests_at_rest: 2,
            requests_busy: 10,
            mode: Mode::HoldRelease,
            directory: "~".to_owned(),
            spool: "~/.tradewind".to_owned(),
            unit: NodeUnit::Node,
            grace: Span(5),
            held_after: Span(600),
            owners_queue: Standing::Behind,
            queue_priority: None,
            owners_first: OwnersFirst::usual(Standing::Behind),
            options: Vec::new(),
            stage_in: Vec::new(),
            stage_out: Vec::new(),
        }
    }
}

/// Which Unix account runs a user's jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accounts {
    /// It is called as the user is.
    Same,
    /// By user; `*` stands for all others.
    Of(BTreeMap<String, String>),
}

/// The value of `mode` of a site that is only observed.
pub(super) const OBSERVE: &str = "observe";

/// How jobs get their nodes in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Submitted on hold, and released when it is time.
    HoldRelease,
    /// Nodes are reserved first.
    Reservation,
    /// Submitted with a time before which it does not begin.
    Begin,
}

/// What a node of the market is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeUnit {
    /// A whole node.
    Node,
    /// So many processors of a node.
    Cores(u32),
    /// So many processors of a node with so much of its memory.
    Shared {
        /// Processors, at least 1.
        cores: u32,
        /// Megabytes, a multiple of the processors.
        memory: u64,
    },
    /// An accelerator of a node.
    Gpu,
}

/// Which of a cluster's nodes make a pool: those to which all of this applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// They are in this partition, or queue; `None`: in the manager's default one.
    pub partition: Option<String>,
    /// They have all of these features.
    pub features: Vec<String>,
    /// They are among these, as managers write them: `a[1-8],b3`.
    pub hosts: Option<String>,
}

pub(super) fn members(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Members {
    let features = texts(fields, "features", notes);
    for (feature, line) in &features {
        if !is_word(feature) {
            let message = format!("`{}` is no feature", excerpt(feature));
            let hint = "letters, digits, `_`, `-`, `.`; one feature in each text of the list";
            notes.error(*line, &fields.place("features"), message, hint);
        }
    }
    let partition = text(fields, "partition", notes);
    if let Some(name) = partition.as_ref().filter(|name| !is_word(name)) {
        let message = format!("`{}` is no partition", excerpt(name));
        let hint = "one name: a pool is part of one partition";
        notes.error(fields.line_of("partition"), &fields.place("partition"), message, hint);
    }
    Members {
        partition,
        features: features.into_iter().map(|(feature, _)| feature).collect(),
        hosts: text(fields, "hosts", notes),
    }
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

pub(super) fn cluster(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Cluster {
    let usual = Cluster::default();
    let plain = |key, notes: &mut Notes<'_>| -> Vec<String> {
        texts(fields, key, notes).into_iter().map(|(text, _)| text).collect()
    };
    let user_command = user_command(fields, notes);
    let span =
        |key, usual, notes: &mut Notes<'_>| fields.span(key, SECONDS, notes).unwrap_or(usual);
    let modes = [
        ("hold-release", Some(Mode::HoldRelease)),
        ("reservation", Some(Mode::Reservation)),
        ("begin", Some(Mode::Begin)),
        // No job is submitted there: see `Settings::observed`.
        (OBSERVE, None),
    ];
    let ssh = ssh(fields, notes);
    let (owners_queue, queue_priority) = line(fields, notes);
    Cluster {
        ssh,
        ssh_options: plain("ssh_options", notes),
        socket: None,
        command: plain("command", notes),
        remote_shell: flag(fields, "remote_shell", notes),
        user_command,
        environment: variables(fields, "environment", notes),
        accounts: accounts(fields, notes),
        timeout: span("timeout", usual.timeout, notes),
        survey_every: span("survey_every", usual.survey_every, notes),
        requests_at_rest: requests(fields, "requests_at_rest", usual.requests_at_rest, notes),
        requests_busy: requests(fields, "requests_busy", usual.requests_busy, notes),
        mode: fields.word("mode", &modes, notes).flatten().unwrap_or(usual.mode),
        directory: path(fields, "directory", notes).unwrap_or(usual.directory),
        spool: path(fields, "spool", notes).unwrap_or(usual.spool),
        unit: unit(fields, notes),
        grace: span("grace", usual.grace, notes),
        held_after: fields.span("held_after", DAYS, notes).unwrap_or(usual.held_after),
        owners_queue,
        queue_priority,
        owners_first: owners_first::read(fields, (owners_queue, "owners_queue"), notes),
        options: variables(fields, "options", notes).into_iter().collect(),
        stage_in: commands(fields, "stage_in", notes),
        stage_out: commands(fields, "stage_out", notes),
    }
}

/// Where jobs stand in the cluster's own queue.
fn line(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> (Standing, Option<u64>) {
    let standing = fields.word("owners_queue", &Standing::WORDS, notes).unwrap_or_default();
    let priority = fields.whole("queue_priority", PRIORITIES, notes);
    if fields.get("queue_priority").is_some() && standing == Standing::Behind {
        let message = "jobs that stand behind the owners' queue have no priority in it".to_owned();
        let (line, place) = (fields.line_of("queue_priority"), fields.place("queue_priority"));
        notes.error(line, &place, message, "it belongs to `owners_queue = \"in-line\"`");
    }
    (standing, priority.and_then(|priority| u64::try_from(priority).ok()))
}

/// Words before each command as a user.
pub(super) fn user_command(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<String> {
    let words = texts(fields, "user_command", notes);
    if !words.is_empty() && !words.iter().any(|(word, _)| word.contains("{user}")) {
        let message = "no word has `{user}` in it: all jobs would run as one account".to_owned();
        let hint = "such as `[\"sudo\", \"-n\", \"-u\", \"{user}\"]`";
        notes.error(fields.line_of("user_command"), &fields.place("user_command"), message, hint);
    }
    words.into_iter().map(|(word, _)| word).collect()
}

/// The other end of the connection.
fn ssh(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<String> {
    let hint = "such as `ssh = \"tradewind@login.example\"`";
    let mut refuse = |key: &str, message: &str| {
        notes.error(fields.line_of(key), &fields.place(key), message.to_owned(), hint);
    };
    let is_given = |key: &str| fields.get(key).is_some();
    if !is_given("ssh") && is_given("ssh_options") {
        refuse("ssh_options", "there is no `ssh` that they are for");
    }
    for key in ["command", "remote_shell"] {
        if is_given("ssh") && is_given(key) {
            refuse(key, "`ssh` says already how the cluster is reached");
        }
    }
    let ssh = text(fields, "ssh", notes)?;
    if ssh.starts_with('-') || ssh.chars().any(|c| c.is_whitespace() || c.is_control()) {
        let message = format!("`{}` is no destination", excerpt(&ssh));
        notes.error(fields.line_of("ssh"), &fields.place("ssh"), message, hint);
    }
    Some(ssh)
}

fn requests(fields: &Fields<'_, '_>, key: &str, usual: u32, notes: &mut Notes<'_>) -> u32 {
    let given = fields.whole(key, REQUESTS, notes);
    given.and_then(|it| u32::try_from(it).ok()).unwrap_or(usual)
}

pub(super) fn flag(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<bool> {
    let value = fields.get(key)?;
    if let ValueKind::Flag(flag) = value.kind {
        return Some(flag);
    }
    let message = format!("expected true or false, found {}", value.describe());
    notes.error(value.line, &fields.place(key), message, "write `true` or `false`");
    None
}

/// Texts by name.
fn variables(
    fields: &Fields<'_, '_>,
    key: &str,
    notes: &mut Notes<'_>,
) -> BTreeMap<String, String> {
    let Some(value) = fields.get(key) else { return BTreeMap::new() };
    let place = fields.place(key);
    let ValueKind::Table(entries) = &value.kind else {
        let message = format!("expected a table, found {}", value.describe());
        notes.error(value.line, &place, message, "write `{ NAME = \"text\" }`");
        return BTreeMap::new();
    };
    let mut all = BTreeMap::new();
    for entry in entries {
        match &entry.value.kind {
            ValueKind::Text(text) if !text.chars().any(char::is_control) => {
                all.insert(entry.key.to_string(), text.to_string());
            }
            _ => {
                let message = format!("expected a text, found {}", entry.value.describe());
                let place = format!("{place}.{}", excerpt(&entry.key));
                notes.error(entry.line, &place, message, "put it in double quotes");
            }
        }
    }
    all
}

pub(super) fn accounts(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Accounts {
    match fields.get("accounts").map(|value| (&value.kind, value.line)) {
        Some((ValueKind::Text(word), _)) if word == "same" => Accounts::Same,
        Some((ValueKind::Text(word), line)) => {
            let message = format!("unknown value `{}`", excerpt(word));
            let hint = "write `\"same\"`, or a table such as `{ ana = \"ana01\" }`";
            notes.error(line, &fields.place("accounts"), message, hint);
            Accounts::Same
        }
        _ => Accounts::Of(variables(fields, "accounts", notes)),
    }
}

pub(super) fn path(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<String> {
    let path = text(fields, key, notes)?;
    if !path.starts_with('/') && path != "~" && !path.starts_with("~/") {
        let message = format!("`{}` begins neither at the root nor at home", excerpt(&path));
        let hint = "such as `~` or `/scratch/{user}`; `{user}` stands for the account";
        notes.error(fields.line_of(key), &fields.place(key), message, hint);
    }
    Some(path)
}

fn unit(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> NodeUnit {
    let Some(text) = fields.text("unit", notes) else { return NodeUnit::Node };
    match text {
        "node" => NodeUnit::Node,
        "gpu" => NodeUnit::Gpu,
        _ => part_of_node(text).unwrap_or_else(|hint| {
            let message = format!("`{}` is no unit", excerpt(text));
            notes.error(fields.line_of("unit"), &fields.place("unit"), message, hint);
            NodeUnit::Node
        }),
    }
}

/// `cores:N`, or `cores:N,memory:SIZE`; else a hint.
fn part_of_node(text: &str) -> Result<NodeUnit, &'static str> {
    let (cores, memory) = match text.split_once(',') {
        Some((cores, memory)) => (cores, Some(memory.trim())),
        None => (text, None),
    };
    let cores = cores.strip_prefix("cores:").and_then(|count| count.parse().ok());
    let cores: u32 = cores.filter(|count| *count > 0).ok_or(
        "write `node`, `cores:N` for N processors of a node, `cores:N,memory:SIZE` for N \
         processors with so much memory, or `gpu`",
    )?;
    let Some(memory) = memory else { return Ok(NodeUnit::Cores(cores)) };
    let kib = memory.strip_prefix("memory:").and_then(memory::kib);
    let kib = kib.ok_or("write the memory as in `cores:4,memory:16G`")?;
    let memory = kib / 1_024;
    let is_whole = kib.is_multiple_of(1_024) && memory.is_multiple_of(u64::from(cores));
    match is_whole && memory > 0 {
        true => Ok(NodeUnit::Shared { cores, memory }),
        false => Err("each processor of the unit needs a whole number of MB, as in \
                      `cores:4,memory:16G`"),
    }
}

/// A list of lists of texts.
fn commands(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (i, item) in fields.list(key, notes).unwrap_or_default().iter().enumerate() {
        let words = |items: &[crate::value::Value<'_>]| -> Option<Vec<String>> {
            let text = |value: &crate::value::Value<'_>| match &value.kind {
                ValueKind::Text(text) if !text.contains('\0') => Some(text.to_string()),
                _ => None,
            };
            items.iter().map(text).collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())
        };
        let found = match &item.kind {
            ValueKind::List(items) => words(items),
            _ => None,
        };
        match found {
            Some(words) => all.push(words),
            None => {
                let place = format!("{}[{i}]", fields.place(key));
                let message = "expected a program and its arguments".to_owned();
                notes.error(
                    item.line,
                    &place,
                    message,
                    "such as `[\"cp\", \"-a\", \"/from\", \"/to\"]`",
                );
            }
        }
    }
    all
}
