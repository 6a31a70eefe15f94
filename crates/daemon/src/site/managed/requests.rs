//! How many requests a site's manager gets from us, by kind.
//!
//! Counted where commands are run, so that no request is forgotten. The kinds are the manager's own
//! commands, as its administrators see them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is shown is the number of requests in this time.
pub const MINUTE: Duration = Duration::from_secs(60);
/// Programs that ask a manager; all others (`sh`, `id`, `date`, …) leave it alone.
const ASKING: [&str; 21] = [
    "sacct", "sacctmgr", "salloc", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio",
    "squeue", "srun", "qacct", "qconf", "qdel", "qhost", "qrdel", "qrls", "qrstat", "qrsub",
    "qstat", "qsub",
];

/// Requests of one kind.
#[derive(Debug, Default)]
struct RequestKind {
    total: u64,
    /// Second since the beginning of the count, and how many in it.
    recent: VecDeque<(u64, u64)>,
}

impl RequestKind {
    fn forget_before(&mut self, second: u64) {
        while self.recent.front().is_some_and(|(at, _)| *at < second) {
            self.recent.pop_front();
        }
    }
}

/// The count of one site. It may be read while commands run.
#[derive(Debug)]
pub struct Requests {
    since: Instant,
    kinds: Mutex<BTreeMap<String, RequestKind>>,
}

impl Default for Requests {
    fn default() -> Requests {
        Requests { since: Instant::now(), kinds: Mutex::default() }
    }
}

/// How many requests there were of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Since the daemon's start.
    pub total: u64,
    /// In the last minute.
    pub minute: u64,
}

impl Requests {
    /// Counts a command, if it asks the manager.
    pub fn count(&self, words: &[String]) {
        if let Some(kind) = kind(words) {
            self.add(kind, Instant::now());
        }
    }

    fn add(&self, kind: String, at: Instant) {
        let second = at.saturating_duration_since(self.since).as_secs();
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = kinds.entry(kind).or_default();
        kind.total += 1;
        match kind.recent.back_mut().filter(|(last, _)| *last == second) {
            Some((_, count)) => *count += 1,
            None => kind.recent.push_back((second, 1)),
        }
        kind.forget_before(second.saturating_sub(MINUTE.as_secs()));
    }

    /// By kind, such as `squeue` or `scontrol show node`.
    pub fn counts(&self) -> BTreeMap<String, Count> {
        self.counts_at(Instant::now())
    }

    fn counts_at(&self, now: Instant) -> BTreeMap<String, Count> {
        let second = now.saturating_duration_since(self.since).as_secs();
        let first = (second + 1).saturating_sub(MINUTE.as_secs());
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |(name, kind): (&String, &mut RequestKind)| {
            kind.forget_before(first);
            let minute = kind.recent.iter().map(|(_, count)| count).sum();
            (name.clone(), Count { total: kind.total, minute })
        };
        kinds.iter_mut().map(count).collect()
    }
}

/// The program's name, and what `scontrol` is to do; `None`: the manager hears nothing of it.
fn kind(words: &[String]) -> Option<String> {
    let program = words.first()?.rsplit('/').next()?;
    ASKING.contains(&program).then_some(())?;
    let mut plain = words.iter().skip(1).map(String::as_str).filter(|word| !word.starts_with('-'));
    match (program, plain.next()) {
        ("scontrol", None) => None,
        ("scontrol", Some(verb @ ("show" | "create"))) => {
            let what = plain.next().unwrap_or_default();
            (what != "hostnames").then(|| format!("scontrol {verb} {what}").trim_end().to_owned())
        }
        ("scontrol", Some(verb)) => Some(format!("scontrol {verb}")),
        _ if words.iter().any(|word| word == "--version" || word == "-V") => None,
        _ => Some(program.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        kind(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn commands_count_by_what_the_manager_hears() {
        for (words, wanted) in [
            ("squeue --json", Some("squeue")),
            ("/usr/bin/sbatch --parsable", Some("sbatch")),
            ("scontrol -o show reservation", Some("scontrol show reservation")),
            ("scontrol create reservation A=b", Some("scontrol create reservation")),
            ("scontrol release 7", Some("scontrol release")),
            ("scontrol show hostnames a[1-2]", None),
            ("scontrol --version", None),
            ("sinfo --version", None),
            ("/bin/sh -s -- spool look", None),
            ("qrstat -u * -xml", Some("qrstat")),
            ("date +%s", None),
        ] {
            assert_eq!(told(words).as_deref(), wanted, "{words}");
        }
    }

    #[test]
    fn a_minute_slides() {
        let all = Requests::default();
        let at = |seconds| all.since + Duration::from_secs(seconds);
        for second in [0, 0, 30, 59, 61] {
            all.add("squeue".to_owned(), at(second));
        }
        let minute = |second| all.counts_at(at(second))["squeue"];
        assert_eq!(minute(61), Count { total: 5, minute: 3 });
        assert_eq!(minute(89), Count { total: 5, minute: 3 });
        assert_eq!(minute(90), Count { total: 5, minute: 2 });
        assert_eq!(minute(500), Count { total: 5, minute: 0 });
    }
}
