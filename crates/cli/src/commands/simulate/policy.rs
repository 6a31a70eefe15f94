//! Names of policies: `easy`, `easy[depth=4,order=shortest]`.

use tradewind_io::diagnostics::did_you_mean;
use tradewind_sched::policy::backfill::{Depth, Order, Settings};

use crate::exit::Failure;

/// A policy as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// As typed: the name of its folder and of its line in tables.
    pub(super) name: String,
    pub(super) rule: Rule,
}

/// Who decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rule {
    /// Ours.
    Backfill(Settings),
    /// A command of the user's.
    Command(String),
}

/// The name of a command's results.
const COMMAND: &str = "command";

const NAMES: [&str; 4] = ["fcfs", "sjf", "easy", "conservative"];

/// Those of `--policy` and that of `--policy-cmd`.
pub(super) fn all(names: Option<&str>, command: Option<&str>) -> Result<Vec<Choice>, Failure> {
    let mut choices = names.map(list).transpose()?.unwrap_or_default();
    choices.extend(command.map(|command| Choice {
        name: COMMAND.to_owned(),
        rule: Rule::Command(command.to_owned()),
    }));
    Ok(choices)
}

/// All policies of `P[,P…]`; commas in brackets belong to a policy.
fn list(text: &str) -> Result<Vec<Choice>, Failure> {
    let mut choices: Vec<Choice> = Vec::new();
    for name in split(text) {
        let settings = one(name.trim())?;
        let name = name.trim().to_owned();
        if choices.iter().any(|other| other.name == name) {
            return Err(Failure::usage(format!("policy `{name}` is named twice")));
        }
        choices.push(Choice { name, rule: Rule::Backfill(settings) });
    }
    Ok(choices)
}

fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|c: char| {
        inside = (inside || c == '[') && c != ']';
        c == ',' && !inside
    })
    .collect()
}

fn one(text: &str) -> Result<Settings, Failure> {
    let (name, parameters) = match text.split_once('[') {
        None => (text, ""),
        Some((name, rest)) => {
            let inner = rest.strip_suffix(']');
            let open = || Failure::usage(format!("policy `{text}` has an opening bracket only"));
            (name, inner.ok_or_else(open)?)
        }
    };
    let (depth, order) = match name {
        "fcfs" => (Depth::First(0), Order::Arrival),
        "sjf" => (Depth::First(0), Order::Shortest),
        "easy" => (Depth::First(1), Order::Arrival),
        "conservative" => (Depth::All, Order::Arrival),
        _ => {
            let failure = Failure::usage(format!("there is no policy `{name}`"));
            return Err(failure.hint(did_you_mean(name, &NAMES)));
        }
    };
    let mut settings = Settings { depth, order };
    for parameter in parameters.split(',').filter(|it| !it.trim().is_empty()) {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match key.trim() {
            "depth" => settings.depth = depth_of(value.trim())?,
            "order" => settings.order = order_of(value.trim())?,
            key => {
                let failure = Failure::usage(format!("policy `{name}` has no parameter `{key}`"));
                return Err(failure.hint(did_you_mean(key, &["depth", "order"])));
            }
        }
    }
    Ok(settings)
}

fn depth_of(text: &str) -> Result<Depth, Failure> {
    match text.parse() {
        Ok(count) => Ok(Depth::First(count)),
        Err(_) if text == "all" => Ok(Depth::All),
        Err(_) => Err(Failure::usage(format!("depth `{text}` is neither a number nor `all`"))),
    }
}

fn order_of(text: &str) -> Result<Order, Failure> {
    let names = Order::ALL.map(|(_, name)| name);
    let text = match text {
        "fcfs" => "arrival",
        "sjf" => "shortest",
        text => text,
    };
    let found = Order::ALL.iter().find(|(_, name)| *name == text);
    found.map(|(order, _)| *order).ok_or_else(|| {
        Failure::usage(format!("there is no order `{text}`")).hint(did_you_mean(text, &names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_belong_to_the_policy() {
        let choices = list("fcfs, easy[depth=4,order=sjf],conservative").unwrap();
        let second = Settings { depth: Depth::First(4), order: Order::Shortest };
        assert_eq!(choices[1].rule, Rule::Backfill(second));
        assert_eq!((choices.len(), choices[0].name.as_str()), (3, "fcfs"));
    }

    #[test]
    fn what_is_unknown_is_refused_with_a_hint() {
        for text in ["esay", "easy[dpeth=1]", "easy[order=shortst]"] {
            let failure = list(text).unwrap_err();
            let hint = failure.problems[0].hint.clone().unwrap_or_default();
            assert!(hint.starts_with("did you mean"), "{text}: {hint}");
        }
        for text in ["", "easy[", "easy[depth=-1]", "easy,easy", "fcfs,,easy"] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}
