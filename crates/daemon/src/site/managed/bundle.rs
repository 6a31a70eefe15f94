//! A task as one script for `/bin/sh`, run by the manager on the first of its nodes.
//!
//! All that differs between tasks is quoted, packed as base64 and unpacked by a program that is
//! always the same: no text of a user ever stands in a line that a shell reads. The program runs
//! the work once at most, keeps its limit to the second, gathers with the job's other parts if it
//! is told to, and writes into the task's folder how it went.
//!
//! Wanted at the nodes: a POSIX shell and the usual tools of GNU and util-linux (`date +%N`,
//! `base64`, `setsid -w`, fractions in `sleep`). A work whose exit code is from 129 to 192 counts
//! as ended by a signal, as shells say it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tradewind_io::submission::signal::{Receiver, Warning};
use tradewind_io::submission::{Append, Work};
use tradewind_model::{Span, Time};

use super::gate::Gate;
use super::tool::quote;
use crate::site::Order;
use crate::site::files::folder_name;
use crate::site::local::sheet::expand;

const PROGRAM: &str = concat!(include_str!("home.sh"), "\n", include_str!("bundle.sh"));
/// The last shell before the work: it becomes the work.
const BEGIN: &str = include_str!("begin.sh");
/// A line of base64.
const LINE: usize = 1_000;
/// A variable with this value gets the names of the task's nodes, with commas.
const NODES_HERE: &str = "%N";
const NODES: &str = "TRADEWIND_NODES";

/// A start that is as near is kept by the task's script, on its nodes: managers begin jobs with a
/// rhythm of their own, a second at best, and that of each cluster is another one.
const NEAR: Span = Span(5);

/// The order's start, if it lies ahead and is near.
pub fn near(order: &Order, now: Time) -> Option<Time> {
    Some(order.start).filter(|start| *start > now && *start <= now + NEAR)
}

/// The order's start, if it lies further ahead: the manager is to keep it.
pub fn ahead(order: &Order, now: Time) -> Option<Time> {
    Some(order.start).filter(|start| *start > now + NEAR)
}

/// What a manager calls things on the node, as shell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Writes the manager's own number of the job.
    pub id: &'static str,
    /// Writes the names of the job's nodes, one to a line, the first node first.
    pub nodes: &'static str,
    /// Sends the signal `$1` to the job's steps; empty: the manager knows no steps, and all
    /// processes of the work but its first get it.
    pub signal: &'static str,
}

/// What a task's script is made of.
#[derive(Debug, Clone, Copy)]
pub struct TaskScript<'a> {
    /// The task.
    pub order: &'a Order,
    /// Those of its variables that the manager does not set itself.
    pub variables: &'a BTreeMap<String, String>,
    /// Where it runs.
    pub paths: &'a Paths,
    /// The folder, at the cluster, of all tasks' folders; `~` at its beginning is the home.
    pub spool: &'a str,
    /// The folder of bells in it: the task rings there if there is one.
    pub bells: &'a str,
    /// Its work does not begin before, to the millisecond; `None`: it does not wait.
    pub start: Option<Time>,
    /// From `SIGTERM` to `SIGKILL` at the limit.
    pub grace: Duration,
    /// The manager's.
    pub words: &'a Words,
    /// The term of ownership in which it is submitted.
    pub gate: Option<&'a Gate>,
}

/// A task's files, at the cluster; `~` at the beginning is the account's home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Where it runs.
    pub directory: String,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub error: String,
    /// Standard input.
    pub input: String,
}

impl Paths {
    /// The files of `order` if relative ones count from `home`, the site's directory.
    pub fn of(order: &Order, home: &str) -> Paths {
        let around = &order.surroundings;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let home = Path::new(home);
        let directory = around.directory.as_ref().map_or(home.to_owned(), |path| home.join(path));
        let place = |path: &str| text(&directory.join(expand(path, order)));
        let output = place(around.output.as_deref().unwrap_or("tradewind-%j.out"));
        Paths {
            error: around.error.as_deref().map_or(output.clone(), place),
            input: around.input.as_deref().map_or("/dev/null".to_owned(), place),
            directory: text(&directory),
            output,
        }
    }
}

impl TaskScript<'_> {
    /// The script.
    pub fn script(&self) -> String {
        let mut packed = STANDARD.encode(self.payload());
        let mut lines = String::new();
        while packed.len() > LINE {
            let rest = packed.split_off(LINE);
            lines.push_str(&packed);
            lines.push('\n');
            packed = rest;
        }
        let signal = match self.words.signal {
            "" => "signal_others \"$1\"",
            words => words,
        };
        format!(
            "#!/bin/sh\npayload=$(base64 -d <<'PAYLOAD'\n{lines}{packed}\nPAYLOAD\n) || exit 125\n\
             task_id() {{ {}; }}\ntask_nodes() {{ {}; }}\n\
             task_signal() {{ {}; }}\n{PROGRAM}",
            self.words.id, self.words.nodes, signal
        )
    }

    /// Settings and two functions, as shell text in which everything is quoted.
    fn payload(&self) -> String {
        let order = self.order;
        let seconds = |span: tradewind_model::Span| span.0.to_string();
        let grace = format!("{}.{:03}", self.grace.as_secs(), self.grace.subsec_millis());
        let warning = Warning::among(&order.passed_through);
        let (number, before) = warning
            .map(|it| (it.number.to_string(), it.before.0.min(order.limit.0).to_string()))
            .unwrap_or_default();
        let to_script = warning.is_some_and(|it| it.to == Receiver::Script);
        let append = order.surroundings.append == Append::Append;
        let mut text = String::new();
        for (name, value) in [
            ("folder", folder_name(&order.tag.to_string()).as_str()),
            ("spool", self.spool),
            ("bells", self.bells),
            ("directory", &self.paths.directory),
            ("output", &self.paths.output),
            ("error", &self.paths.error),
            ("input", &self.paths.input),
            ("append", if append { "yes" } else { "" }),
            ("limit", &seconds(order.limit)),
            ("gather", &order.gather.map(seconds).unwrap_or_default()),
            ("start", &self.start.map(|start| start.0.to_string()).unwrap_or_default()),
            ("grace", &grace),
            ("signal", &number),
            ("before", &before),
            ("batch", if to_script { "yes" } else { "" }),
            ("script", if matches!(order.work, Work::Script { .. }) { "yes" } else { "" }),
        ] {
            let _ = writeln!(text, "tw_{name}={}", quote(value));
        }
        text.push_str(&self.gate.map(Gate::payload).unwrap_or_default());
        if let Work::Script { text: script, .. } = &order.work {
            let _ = writeln!(text, "task_script() {{ printf %s {}; }}", quote(script));
        }
        // For a shell of its own, which becomes the command: others would write into the files that
        // it was stopped, and signals would not reach it.
        let words = self.work().join(" ");
        let files = "<\"$tw_input\" >>\"$tw_output\" 2>>\"$tw_error\"";
        let _ = writeln!(text, "task_work() {{ exec setsid -w env $tw_default {words} {files}; }}");
        text
    }

    /// Quoted: variables, the last shell, and the program with its arguments.
    fn work(&self) -> Vec<String> {
        let mut all = Vec::new();
        let variables = self.order.surroundings.environment.iter();
        let variables: BTreeMap<&String, &String> = variables.chain(self.variables).collect();
        for (name, value) in variables {
            all.push(match value == NODES_HERE && self.variables.contains_key(name) {
                true => with_nodes(name),
                false => quote(&format!("{name}={value}")),
            });
        }
        all.push(with_nodes(NODES));
        all.extend(["/bin/sh", "-c", BEGIN, "tradewind"].map(quote));
        let (first, rest) = match &self.order.work {
            Work::Script { arguments, .. } => ("\"$folder/script\"".to_owned(), arguments.iter()),
            Work::Command(argv) => {
                let mut argv = argv.iter();
                (quote(argv.next().map_or("", String::as_str)), argv)
            }
        };
        all.push(first);
        all.extend(rest.map(|argument| quote(argument)));
        all
    }
}

fn with_nodes(name: &str) -> String {
    format!("{}\"$tw_nodes\"", quote(&format!("{name}=")))
}
