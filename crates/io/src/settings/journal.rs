//! `[journal]`: how long what is old is kept, and where.

use tradewind_model::Span;

use crate::fields::{Fields, Notes};
use crate::value::ValueKind;

/// How long what is old is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Journal {
    /// Older rows of the journal and of the audit log are moved into archive files; `None`: never.
    pub retention: Option<Span>,
    /// How long scripts and environments of jobs that are over stay in the state; `None`: as long as
    /// the jobs.
    pub scripts: Option<Span>,
}

impl Default for Journal {
    fn default() -> Journal {
        Journal { retention: Some(Span(90 * DAY)), scripts: Some(Span(3 * DAY)) }
    }
}

const DAY: i64 = 86_400;

pub(super) const KEYS: [&str; 2] = ["retention", "scripts"];

pub(super) fn journal(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Journal {
    let usual = Journal::default();
    let retention = span_or_never(fields, "retention", usual.retention, notes);
    Journal { retention, scripts: span_or_never(fields, "scripts", usual.scripts, notes) }
}

/// A duration of at least an hour, or `never`.
fn span_or_never(
    fields: &Fields<'_, '_>,
    key: &str,
    usual: Option<Span>,
    notes: &mut Notes<'_>,
) -> Option<Span> {
    let is_never =
        |kind: &ValueKind<'_>| matches!(kind, ValueKind::Text(text) if text.trim() == "never");
    if fields.get(key).is_some_and(|it| is_never(&it.kind)) {
        return None;
    }
    fields.span(key, 3_600..=36_500 * DAY, notes).or(usual)
}
