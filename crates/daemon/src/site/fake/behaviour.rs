//! What tasks of the fake site do: given by their command.

use tradewind_io::submission::Work;
use tradewind_model::Span;

use crate::site::conformance::TaskBehaviour;
use crate::site::{Exit, Order};

/// What a task does when it is let.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behaviour {
    /// How long it runs, at least 0 seconds.
    pub length: Span,
    /// How it ends then.
    pub exit: Exit,
    /// How it takes being stopped.
    pub temper: Temper,
    /// What it writes when it begins.
    pub says: Vec<u8>,
}

/// How a task takes being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temper {
    /// It stops at once.
    Meek,
    /// It has to be killed, some seconds later.
    Stubborn,
    /// It stops at once; told that its nodes are taken back, it ends with code 1 shortly after.
    Saving,
}

/// A command that runs for so long on the fake site and ends with this code.
pub fn work(length: Span, code: i32) -> Work {
    Work::Command(vec!["run".to_owned(), length.to_string(), code.to_string()])
}

/// The same for the acts of the suite.
pub fn work_of(act: &TaskBehaviour) -> Work {
    let words = |verb: &str, rest: Vec<String>| {
        Work::Command(std::iter::once(verb.to_owned()).chain(rest).collect())
    };
    match act {
        TaskBehaviour::Exit { after, code } => work(Span(i64::from(*after)), i32::from(*code)),
        TaskBehaviour::Die(signal) => words("die", vec![signal.to_string()]),
        TaskBehaviour::Stubborn => words("stubborn", Vec::new()),
        TaskBehaviour::Say(text, after) => words("say", vec![text.clone(), after.to_string()]),
        TaskBehaviour::ShowArguments(arguments) => words("arguments", arguments.clone()),
        TaskBehaviour::ShowVariables(names) => words("variables", names.clone()),
    }
}

/// What the order's task does. A script, or a command that is none of ours, runs for a second.
pub(super) fn of(order: &Order) -> Behaviour {
    let plain = |length: i64, exit: Exit| Behaviour {
        length: Span(length.clamp(0, Span::MAX.0)),
        exit,
        temper: Temper::Meek,
        says: Vec::new(),
    };
    let Work::Command(words) = &order.work else { return plain(1, Exit::Code(0)) };
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<i64>().ok());
    let small = |index: usize| number(index).and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
    let zeros = |texts: Vec<&str>| texts.iter().map(|text| format!("{text}\0")).collect::<String>();
    let rest = || words.iter().skip(1).map(String::as_str);
    let saying = |says: String| Behaviour { says: says.into_bytes(), ..plain(0, Exit::Code(0)) };
    match words.first().map(String::as_str) {
        Some("run") => plain(number(1).unwrap_or(1), Exit::Code(small(2))),
        Some("die") => plain(0, Exit::Signal(small(1))),
        Some("stubborn") => Behaviour { temper: Temper::Stubborn, ..plain(60, Exit::Code(0)) },
        Some("save") => {
            Behaviour { temper: Temper::Saving, ..plain(number(1).unwrap_or(1), Exit::Code(0)) }
        }
        Some("say") => {
            let length = Span(number(2).unwrap_or(0).max(0));
            Behaviour { length, ..saying(words.get(1).cloned().unwrap_or_default()) }
        }
        Some("arguments") => saying(zeros(rest().collect())),
        Some("variables") => saying(zeros(rest().map(|name| variable(order, name)).collect())),
        _ => plain(1, Exit::Code(0)),
    }
}

fn variable<'o>(order: &'o Order, name: &str) -> &'o str {
    let found = order.variables.get(name).or_else(|| order.surroundings.environment.get(name));
    found.map_or("none", String::as_str)
}
