//! `store`: where the journal is kept.

use std::fmt;

use tradewind_model::Span;

use crate::fields::{Fields, Notes};
use crate::hidden::is_hidden;
use crate::value::ValueKind;

/// Where the journal is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum JournalStore {
    /// In a file in the market's folder.
    #[default]
    Sqlite,
    /// In a PostgreSQL database.
    Postgresql(StoreUrl),
}

/// Of a market whose journal several daemons follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standby {
    /// For how long the owner owns the market without renewing that.
    pub lease: Span,
}

impl Default for Standby {
    fn default() -> Standby {
        Standby { lease: Span(10) }
    }
}

pub(super) const STANDBY_KEYS: [&str; 1] = ["lease_seconds"];

pub(super) fn standby(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Standby {
    let usual = Standby::default();
    Standby { lease: fields.whole("lease_seconds", 2..=3_600, notes).map_or(usual.lease, Span) }
}

/// The URL of a database. It may have a password, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// The URL as it is written in the configuration, with the password that it may have.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl")
    }
}

/// What the URL of a database begins with.
const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// The field `store`. Its text is never repeated: it may have a password.
pub(super) fn store(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> JournalStore {
    let Some(value) = fields.get("store") else { return JournalStore::Sqlite };
    match &value.kind {
        ValueKind::Text(text) if text.trim() == "sqlite" => JournalStore::Sqlite,
        ValueKind::Text(text)
            if SCHEMES.iter().any(|scheme| text.starts_with(scheme))
                && !text.chars().any(|c| is_hidden(c) || c.is_whitespace()) =>
        {
            JournalStore::Postgresql(StoreUrl(text.to_string()))
        }
        _ => {
            let message = "is neither `sqlite` nor the URL of a database".to_owned();
            let hint = "write `sqlite`, or `postgresql://USER@HOST/DATABASE` in one word";
            notes.error(value.line, "store", message, hint);
            JournalStore::Sqlite
        }
    }
}
