//! Names of policies: `easy`, `easy[depth=4,order=shortest]`.

use tradewind_io::diagnostics::did_you_mean;
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::{Backfill, Depth, Order, Settings};

use super::brackets::{self, Named};
use crate::exit::Failure;

/// The name of the user's own policy, which a command decides.
pub(super) const COMMAND: &str = "command";

const NAMES: [&str; 4] = ["fcfs", "sjf", "easy", "conservative"];

/// The names of all policies of `P[,P…]`, each sound; commas in brackets belong to a policy.
pub(super) fn names(text: &str) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for name in brackets::list(text) {
        let name = name.to_owned();
        settings(&name)?;
        if names.contains(&name) {
            return Err(Failure::usage(format!("policy `{name}` is named twice")));
        }
        names.push(name);
    }
    Ok(names)
}

/// The policy of this name.
pub(super) fn build(name: &str) -> Result<Box<dyn Policy>, Failure> {
    Ok(Box::new(Backfill::new(settings(name)?)))
}

/// What is wrong with a name in a campaign file, if anything.
pub(super) fn objection(name: &str) -> Option<(String, String)> {
    let hint = "write a name, such as `easy`, or one with parameters: `easy[depth=4]`";
    brackets::objection(settings(name), hint)
}

fn settings(text: &str) -> Result<Settings, Failure> {
    let Named { name, parameters } = Named::of("policy", text)?;
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
    for (key, value) in parameters {
        match key {
            "depth" => settings.depth = depth_of(value)?,
            "order" => settings.order = order_of(value)?,
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
        let names = names("fcfs, easy[depth=4,order=sjf],conservative").unwrap();
        assert_eq!(names, ["fcfs", "easy[depth=4,order=sjf]", "conservative"]);
        let four = Settings { depth: Depth::First(4), order: Order::Shortest };
        assert_eq!(settings(&names[1]).unwrap(), four);
    }

    #[test]
    fn what_is_unknown_is_refused_with_a_hint() {
        for text in ["esay", "easy[dpeth=1]", "easy[order=shortst]"] {
            let (_, hint) = objection(text).unwrap();
            assert!(hint.starts_with("did you mean"), "{text}: {hint}");
        }
        for text in ["", "easy[", "easy[depth=-1]", "easy,easy", "fcfs,,easy"] {
            assert!(names(text).is_err(), "{text}");
        }
        assert_eq!(objection("easy"), None);
    }
}
