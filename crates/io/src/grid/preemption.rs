//! `site.preemption`: how a site takes nodes back from preemptible jobs.

use tradewind_model::{Preemption, Span};

use crate::fields::{DecimalScale, Fields, Notes};

const KEYS: [&str; 2] = ["notice", "discount"];
/// A share of the list price.
const DISCOUNT: DecimalScale = DecimalScale { decimals: 3, range: 0..=1_000 };
/// The longest notice: a day.
const NOTICE: std::ops::RangeInclusive<i64> = 0..=86_400;

/// Reads it; without it there is neither notice nor discount.
pub(super) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Preemption {
    let Some(value) = fields.get("preemption") else { return Preemption::default() };
    let Some(fields) = Fields::of(value, fields.place("preemption"), &KEYS, notes) else {
        return Preemption::default();
    };
    let notice = fields.span("notice", NOTICE, notes).unwrap_or(Span::ZERO);
    let discount = fields.scaled("discount", &DISCOUNT, notes);
    Preemption { notice, discount: discount.and_then(|it| u32::try_from(it).ok()).unwrap_or(0) }
}
