//! `site.preemption`: how a site takes nodes back from preemptible jobs.

use tradewind_model::{Preemption, Span};

use crate::fields::{DecimalScale, Fields, Notes};

const KEYS: [&str; 2] = ["notice", "discount"];
/// A share of the list price.
const DISCOUNT: DecimalScale = DecimalScale { decimals: 3, range: 0..=1_000 };
/// The longest notice: a day.
const NOTICE: std::ops::RangeInclusive<i64> = 0..=86_400;

/// Reads it, if the site says how it takes nodes back.
pub(crate) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Preemption> {
    let value = fields.get("preemption")?;
    let Some(fields) = Fields::of(value, fields.place("preemption"), &KEYS, notes) else {
        return Some(Preemption::default());
    };
    let notice = fields.span("notice", NOTICE, notes).unwrap_or(Span::ZERO);
    let discount = fields.scaled("discount", &DISCOUNT, notes);
    let discount = discount.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
    Some(Preemption { notice, discount })
}
