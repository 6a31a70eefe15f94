//! What repeats becomes one row a minute.

use std::collections::BTreeMap;

use super::{AuditEntry, AuditKind};

/// Seconds over which the same is summed up.
const MINUTE: i64 = 60;
/// Different ones that are remembered; more of a kind are summed up over all users.
const MANY: usize = 4_096;

type AuditKey = (AuditKind, String, String, String);

/// What was written recently, and how often it has happened again.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<AuditKey, Again>);

#[derive(Debug)]
struct Again {
    /// When it was written, or happened, first.
    since: i64,
    /// Not written yet.
    count: u64,
}

impl Sums {
    /// The entry, if it is to be written now; or it is counted.
    pub(super) fn add(&mut self, entry: AuditEntry, now: i64) -> Option<AuditEntry> {
        // Changes are few, and each is a row of its own.
        if !matches!(entry.kind, AuditKind::Refusal | AuditKind::Read | AuditKind::SignIn) {
            return Some(entry);
        }
        // A flood of refusals is one row, whatever was asked.
        let subject = match entry.kind {
            AuditKind::Refusal => String::new(),
            _ => entry.subject.clone(),
        };
        let key = (entry.kind, entry.actor.clone(), subject, entry.outcome.clone());
        let many = self.0.len() >= MANY;
        if many && !self.0.contains_key(&key) {
            let key = (entry.kind, "(many)".to_owned(), String::new(), String::new());
            self.0.entry(key).or_insert(Again { since: now, count: 0 }).count += 1;
            return None;
        }
        match self.0.get_mut(&key) {
            Some(again) => {
                again.count += 1;
                None
            }
            None => {
                self.0.insert(key, Again { since: now, count: 0 });
                Some(entry)
            }
        }
    }

    /// Sums that are a minute old.
    pub(super) fn due(&mut self, now: i64) -> Vec<AuditEntry> {
        self.take(|again| now - again.since >= MINUTE || now < again.since)
    }

    /// All of them.
    pub(super) fn all(&mut self) -> Vec<AuditEntry> {
        self.take(|_| true)
    }

    fn take(&mut self, is_due: impl Fn(&Again) -> bool) -> Vec<AuditEntry> {
        let (due, left) = std::mem::take(&mut self.0).into_iter().partition(|(_, it)| is_due(it));
        self.0 = left;
        let due: BTreeMap<AuditKey, Again> = due;
        let entry = |((kind, actor, subject, outcome), again): (AuditKey, Again)| AuditEntry {
            kind,
            actor,
            subject: if subject.is_empty() { "more of the same".to_owned() } else { subject },
            outcome,
            count: Some(again.count),
            since: Some(again.since),
        };
        due.into_iter().filter(|(_, again)| again.count > 0).map(entry).collect()
    }
}
