//! What a waiting job asks for, as `squeue` lists it: the brief list and the JSON say the same.

use tradewind_model::Span;

use crate::site::queued::{MAX_DEPENDENCIES, name_of};

/// Of a job that waits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::site) struct AskedNodes {
    /// Nodes; of a range, its upper end: `squeue` shows no other.
    pub nodes: u32,
    /// How long it may run; `None`: unlimited, or more than `squeue` writes (a year).
    pub limit: Option<Span>,
    /// `None`: not shown.
    pub priority: Option<u64>,
    /// The account that is charged, as it is listed.
    pub account: String,
    /// Jobs that must end first, as they are listed.
    pub dependency: String,
    /// The tasks of its array that wait, as they are listed; `N/A` or empty: it is no array.
    pub array: String,
    /// The reservation that it runs in, as it is listed.
    pub reservation: String,
    /// It shares its nodes with no other job. Only the JSON says so.
    pub is_exclusive: bool,
}

/// The jobs of `afterok:12(unfulfilled),afterany:7_*(unfulfilled)`; `singleton` names none.
pub(super) fn dependencies(text: &str) -> Vec<String> {
    let parts = text.split([',', '?']).flat_map(|part| part.split(':').skip(1));
    let names = parts.map(|name| name.split(['(', '+']).next().unwrap_or_default().trim());
    let is_job = |name: &&str| name.starts_with(|c: char| c.is_ascii_digit());
    names.filter(is_job).take(MAX_DEPENDENCIES).map(name_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_names_and_no_more() {
        assert_eq!(dependencies("afterok:1(unfulfilled)"), ["1"]);
        assert_eq!(dependencies("afterok:12:13,afterany:7_*+5(unfulfilled)"), ["12", "13", "7_*"]);
        for none in ["", "(null)", "singleton(unfulfilled)", "afterok:", "::,,"] {
            assert!(dependencies(none).is_empty(), "{none}");
        }
        let many: String = (0..1_000).map(|job| format!("afterok:{job}(unfulfilled),")).collect();
        assert_eq!(dependencies(&many).len(), MAX_DEPENDENCIES);
    }
}
