//! What tasks write into the spool, where their users may write too: no bytes may stop the daemon.

use super::{spool, tickets};

/// Reads `bytes` as what is found in a task's folder, as a mark of ours on a job, and as a ticket.
pub fn read(bytes: &[u8]) {
    let _ = spool::behind_first(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines: Vec<String> = text.lines().map(|line| format!("t {line}")).collect();
    let _ = spool::trace(&lines, "t");
    let _ = tickets::tag_in(text);
    let _ = serde_json::from_str::<tickets::Ticket>(text);
}
