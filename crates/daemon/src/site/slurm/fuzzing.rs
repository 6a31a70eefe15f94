//! Slurm's answers as a fuzzer writes them: no bytes may stop the daemon.

use super::{brief, caps, forgotten, hostlist, limits, listing, moment, nodes, queue, versions};

/// Reads `bytes` as every answer of Slurm's commands that is read anywhere.
pub fn read(bytes: &[u8]) {
    queue::read_all(&listing::jobs(bytes).unwrap_or_default());
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = nodes::nodes(text);
    queue::read_all(&brief::jobs(text, "|").unwrap_or_default());
    queue::read_all(&forgotten::rows(text));
    let _ = versions::finding("version", text);
    let _ = listing::reservations(text);
    let _ = caps::of_refusal(text);
    let _ = caps::of_reason(text);
    let _ = hostlist::expand(text);
    let _ = moment::parse(text);
    limits::read_all(text);
}
