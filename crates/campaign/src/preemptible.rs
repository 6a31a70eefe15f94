//! Which of a log's jobs are preemptible, and what they keep, from text: `all`,
//! `drawn[share=0.5,checkpoint=10m]`.

use std::sync::Arc;

use tradewind_io::diagnostics::did_you_mean;
use tradewind_io::duration::parse_span;
use tradewind_model::random::{stream, within};
use tradewind_model::{Checkpoint, Preemptible, Span, Terms};
use tradewind_sim::workload::Job;

use crate::brackets::{self, Named};
use crate::failure::Failure;

/// The longest interval, and the longest restart: thirty days.
const LONGEST: i64 = 30 * 86_400;

/// Which jobs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    All,
    /// So many of a thousand, drawn from the seed.
    Drawn(u32),
    User(i64),
    Queue(i64),
}

/// The rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreemptibleRule {
    class: Class,
    terms: Preemptible,
}

impl PreemptibleRule {
    /// Marks the jobs; `queue` says in which queue of its log a job was, by [`Job::source`]. What is
    /// drawn for a job depends on the seed and on its place in the log.
    pub fn apply(&self, jobs: &mut [Job], queue: impl Fn(usize) -> Option<i64>, seed: u64) {
        for job in jobs {
            let meant = match self.class {
                Class::All => true,
                Class::Drawn(share) => {
                    let mut lots = stream(seed, "preemptible", job.source as u64);
                    within(&mut lots, 0, 999) < i64::from(share)
                }
                Class::User(number) => job.user == number,
                Class::Queue(number) => queue(job.source) == Some(number),
            };
            if meant {
                let none = || Terms { user: job.user, ..Terms::NONE };
                let terms = job.terms.as_deref().cloned().unwrap_or_else(none);
                let preemptible = Some(self.terms);
                job.terms = Some(Arc::new(Terms { preemptible, ..terms }));
            }
        }
    }
}

/// Reads the rule.
///
/// # Errors
/// What is wrong with it, as wrong usage.
pub fn read(text: &str) -> Result<PreemptibleRule, Failure> {
    let Named { name, parameters } = Named::of("preemptible jobs", text)?;
    let own = match name {
        "all" => None,
        "drawn" => Some("share"),
        "user" | "queue" => Some("number"),
        _ => {
            let failure = Failure::usage(format!("there are no preemptible jobs `{name}`"));
            return Err(failure.hint(did_you_mean(name, &["all", "drawn", "user", "queue"])));
        }
    };
    let (mut class, mut terms) = (None, Preemptible::default());
    for (at, (key, value)) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|(other, _)| other == key) {
            return Err(Failure::usage(format!("preemptible jobs are given `{key}` twice")));
        }
        match *key {
            "checkpoint" => terms.checkpoint = checkpoint(value)?,
            "restart" => terms.restart = span("restart", value, 0)?,
            key if Some(key) == own => class = Some(number(name, key, value)?),
            _ => {
                let failure = Failure::usage(format!("`{name}` has no parameter `{key}`"));
                let keys: Vec<&str> = own.into_iter().chain(["checkpoint", "restart"]).collect();
                return Err(failure.hint(did_you_mean(key, &keys)));
            }
        }
    }
    let class = match (name, class, own) {
        ("all", ..) => Class::All,
        ("drawn", Some(share), _) => Class::Drawn(u32::try_from(share).unwrap_or(0)),
        ("user", Some(number), _) => Class::User(number),
        ("queue", Some(number), _) => Class::Queue(number),
        (_, _, own) => {
            let own = own.unwrap_or_default();
            let failure = Failure::usage(format!("`{name}` needs `{own}`"));
            let example = if own == "share" { "drawn[share=0.5]" } else { "user[number=7]" };
            return Err(failure.hint(format!("such as `{example}`")));
        }
    };
    Ok(PreemptibleRule { class, terms })
}

/// What is wrong with a rule in a campaign file, if anything.
pub fn objection(text: &str) -> Option<(String, String)> {
    brackets::objection(read(text), "write `all`, or `drawn[share=0.5,checkpoint=10m,restart=30s]`")
}

fn checkpoint(text: &str) -> Result<Checkpoint, Failure> {
    match text {
        "never" => Ok(Checkpoint::Never),
        "on-notice" => Ok(Checkpoint::OnNotice),
        _ => span("checkpoint", text, 1).map(Checkpoint::Every),
    }
}

fn span(key: &str, text: &str, least: i64) -> Result<Span, Failure> {
    let found = parse_span(text).ok().filter(|span| (least..=LONGEST).contains(&span.0));
    found.ok_or_else(|| {
        let hint = match key {
            "checkpoint" => "`never`, `on-notice`, or an interval such as `10m`, at most `30d`",
            _ => "a span such as `30s`, at most `30d`",
        };
        Failure::usage(format!("preemptible jobs: `{key}={text}` is no span")).hint(hint)
    })
}

/// A share in thousandths, or a number of a user or queue.
fn number(name: &str, key: &str, text: &str) -> Result<i64, Failure> {
    let wrong =
        |hint: &str| Failure::usage(format!("`{name}`: `{key}={text}`")).hint(hint.to_owned());
    if key == "number" {
        return text.parse().map_err(|_| wrong("a whole number of the log"));
    }
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
    let thousandths = format!("{whole}{rest:0<3}").parse::<i64>().ok();
    let good = rest.len() <= 3 && !whole.is_empty() && digits(whole) && digits(rest);
    thousandths
        .filter(|it| good && (0..=1_000).contains(it))
        .ok_or_else(|| wrong("a share from 0 to 1 with at most three decimals"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_or_refused() {
        let rule = |text| read(text).ok().unwrap();
        assert_eq!(rule("all").class, Class::All);
        let drawn = rule("drawn[share=0.25,checkpoint=10m,restart=30s]");
        assert_eq!(drawn.class, Class::Drawn(250));
        let every = Checkpoint::Every(Span(600));
        assert_eq!((drawn.terms.checkpoint, drawn.terms.restart), (every, Span(30)));
        assert_eq!(rule("user[number=7,checkpoint=on-notice]").class, Class::User(7));
        assert_eq!(rule("queue[number=-1]").class, Class::Queue(-1));
        for text in [
            "some",
            "all[",
            "all[share=1]",
            "drawn",
            "drawn[share=2]",
            "drawn[share=0.1234]",
            "drawn[share=.5]",
            "user",
            "user[number=x]",
            "all[checkpoint=0]",
            "all[checkpoint=often]",
            "all[restart=31d]",
            "all[restart=1,restart=2]",
        ] {
            let (message, hint) = objection(text).unwrap();
            assert!(!message.is_empty() && !hint.is_empty(), "{text}");
        }
    }
}
