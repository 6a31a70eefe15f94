//! Orders carry the epoch of their term of ownership, and the site refuses those of earlier ones.
//!
//! A term has a folder at the site, in the spool of each account ([`Gate::folder`]). It is made by the
//! command that carries the first order of the term, and each later order looks for a later one, on
//! the machine on which it is carried out and right before it. So a daemon that was frozen between its
//! decision and its command orders nothing any more. What the manager has got already is refused by
//! the task's own script: see [`super::spool::Spool::keep`].

use super::tool::{CommandOutput, quote};
use crate::site::files::folder_name;

const PROGRAM: &str =
    concat!(include_str!("home.sh"), "\n", include_str!("terms.sh"), "\n", include_str!("gate.sh"));
/// What the program says of a stale order, and how it ends then.
const STALE: &str = "tradewind-stale: ";
const REFUSED: i32 = 117;
/// Commands that change something at a manager.
const ORDERS: [&str; 6] = ["sbatch", "scancel", "qsub", "qdel", "qrsub", "qrdel"];
/// The same of `scontrol`.
const CHANGES: [&str; 6] = ["create", "delete", "release", "update", "hold", "requeue"];

/// The term of ownership whose orders a site gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The folder of terms in the spool: of this market at this site.
    pub folder: String,
    /// The spool; `{user}` stands for the account.
    pub spool: String,
    /// The epoch of the term.
    pub epoch: u64,
}

impl Gate {
    /// Of a market's term at a site.
    pub fn new(market: &str, site: &str, spool: &str, epoch: u64) -> Gate {
        let folder = format!(".{}", folder_name(&format!("terms-{market}-{site}")));
        Gate { folder, spool: spool.to_owned(), epoch }
    }

    /// Words that run `words` unless a later term was here.
    pub(super) fn words(&self, words: &[String]) -> Vec<String> {
        let epoch = self.epoch.to_string();
        let own = ["/bin/sh", "-c", PROGRAM, "tradewind", &self.spool, &self.folder, &epoch];
        own.into_iter().map(str::to_owned).chain(words.iter().cloned()).collect()
    }

    /// Lines of shell text for a task's script, whose orders may be carried out late.
    pub(super) fn payload(&self) -> String {
        format!("tw_terms={}\ntw_epoch={}\n", quote(&self.folder), self.epoch)
    }
}

/// Why an order was refused by the program, if it was.
pub(super) fn refusal(answer: &CommandOutput) -> Option<String> {
    let line = answer.err.lines().find_map(|line| line.strip_prefix(STALE));
    let line = line.filter(|_| answer.code == Some(REFUSED));
    line.map(|line| format!("another daemon owns the market: {line}"))
}

/// Whether the command changes something at a manager: then it must be an order.
pub(super) fn changes(words: &[String]) -> bool {
    let Some(program) = words.first().and_then(|word| word.rsplit('/').next()) else {
        return false;
    };
    let is_tried = words.iter().any(|word| ["--test-only", "--version"].contains(&word.as_str()));
    let verb = || words.iter().skip(1).find(|word| !word.starts_with('-'));
    let changes = || verb().is_some_and(|verb| CHANGES.contains(&verb.as_str()));
    !is_tried && (ORDERS.contains(&program) || program == "scontrol" && changes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_something_is_known() {
        let of = |text: &str| changes(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for order in ["sbatch --parsable", "/usr/bin/scancel 7", "scontrol release 7", "qdel x"] {
            assert!(of(order), "{order}");
        }
        for look in ["squeue --json", "scontrol -o show reservation", "sbatch --test-only", "sh -s"]
        {
            assert!(!of(look), "{look}");
        }
    }
}
