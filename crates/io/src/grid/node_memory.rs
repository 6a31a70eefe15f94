//! `memory` of a site or pool: how much each of its nodes has.

use tradewind_model::{Attribute, Attributes, Pool, Pools};

use crate::diagnostics::excerpt;
use crate::fields::{Fields, Notes};
use crate::memory;

/// KiB of a node, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeMemory(u32);

impl NodeMemory {
    /// The field `memory`, if it is given and sound.
    pub(super) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<NodeMemory> {
        let text = fields.text("memory", notes)?.trim();
        let kib = memory::kib(text).and_then(|kib| u32::try_from(kib).ok());
        let kib = kib.filter(|kib| (1..=Pools::MAX_MEMORY).contains(kib));
        if kib.is_none() {
            let message = format!("`{}` is no amount of memory", excerpt(text));
            let hint = "write `512M`, `1.5G` or `1048576K`, up to `2T`: of each node";
            notes.error(fields.line_of("memory"), &fields.place("memory"), message, hint);
        }
        kib.map(NodeMemory)
    }

    /// As an attribute of nodes, which may not say otherwise themselves.
    pub(super) fn put(
        self,
        attributes: &mut Attributes,
        fields: &Fields<'_, '_>,
        notes: &mut Notes<'_>,
    ) {
        let kib = Attribute::Number(i64::from(self.0) * 1_000);
        let before = attributes.insert(Pool::MEMORY.to_owned(), kib.clone());
        if before.is_some_and(|before| before != kib) {
            let message = format!("`memory` and the attribute `{}` differ", Pool::MEMORY);
            let place = fields.place("attributes");
            notes.error(fields.line_of("attributes"), &place, message, "keep one of them");
        }
    }
}
