//! What a site's owners may rely on, in the configuration and in grid files.

use std::ops::RangeInclusive;

use tradewind_model::{Guard, OwnersFirst, Standing};

use crate::fields::{Fields, Notes};

/// Up to thirty days, seconds.
const DELAYS: RangeInclusive<i64> = 1..=30 * 86_400;

/// Reads `guard` and `max_delay`; `key` is where the file says how the market's jobs stand.
pub(crate) fn read(
    fields: &Fields<'_, '_>,
    (standing, key): (Standing, &str),
    notes: &mut Notes<'_>,
) -> OwnersFirst {
    let usual = OwnersFirst::usual(standing);
    let guard = fields.word("guard", &Guard::WORDS, notes).unwrap_or(usual.guard);
    let max_delay = fields.span("max_delay", DELAYS, notes);
    if max_delay.is_some() && standing == Standing::InLine {
        let message = "jobs that stand in line with those of the owners have no such bound";
        let (line, place) = (fields.line_of("max_delay"), fields.place("max_delay"));
        notes.error(
            line,
            &place,
            message.to_owned(),
            &format!("it belongs to `{key} = \"behind\"`"),
        );
    }
    OwnersFirst { guard, max_delay: max_delay.unwrap_or(usual.max_delay) }
}
