//! Names with parameters: `easy[depth=4,order=shortest]`, `lublin[jobs=5000]`.

use crate::failure::Failure;

/// A name and what stands in its brackets, in order.
pub struct Named<'t> {
    /// What stands before the brackets.
    pub name: &'t str,
    /// Keys and values; a key without a value has an empty one.
    pub parameters: Vec<(&'t str, &'t str)>,
}

impl<'t> Named<'t> {
    /// Takes `text` apart; `what` it names is for messages.
    pub fn of(what: &str, text: &'t str) -> Result<Named<'t>, Failure> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once('[') else {
            return Ok(Named { name: text, parameters: Vec::new() });
        };
        let inner = rest.strip_suffix(']').ok_or_else(|| {
            Failure::usage(format!("{what} `{text}` has an opening bracket only"))
        })?;
        let pair = |parameter: &'t str| {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (key.trim(), value.trim())
        };
        let parameters = inner.split(',').filter(|it| !it.trim().is_empty()).map(pair).collect();
        Ok(Named { name: name.trim(), parameters })
    }
}

/// The parts of a list; commas in brackets do not part them.
pub fn list(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|c: char| {
        inside = (inside || c == '[') && c != ']';
        c == ',' && !inside
    })
    .map(str::trim)
    .collect()
}

/// What is wrong, as a campaign file reports it: a message and a hint.
pub fn objection<T>(read: Result<T, Failure>, hint: &str) -> Option<(String, String)> {
    let problem = read.err()?.problems.into_iter().next()?;
    Some((problem.message, problem.hint.unwrap_or_else(|| hint.to_owned())))
}
