//! Numbers as people read them, without their units' names where a column has them.

use crate::documents::{Credits, Thousandths};

/// A length of time: the two largest units that are not zero.
pub(crate) fn span(seconds: &i64) -> String {
    let sign = if *seconds < 0 { "−" } else { "" };
    let all = seconds.unsigned_abs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let mut rest = all;
    let mut told = Vec::new();
    for (length, unit) in units {
        let count = rest / length;
        rest %= length;
        if count > 0 && told.len() < 2 {
            told.push(format!("{count} {unit}"));
        } else if !told.is_empty() {
            break;
        }
    }
    if told.is_empty() { "0 s".to_owned() } else { format!("{sign}{}", told.join(" ")) }
}

/// Credits with thousands apart, exact.
pub(crate) fn credits(amount: &Credits) -> String {
    let micro = amount.0.unsigned_abs();
    let (whole, rest) = (grouped(micro / 1_000_000), micro % 1_000_000);
    let sign = if amount.0 < 0 { "−" } else { "" };
    let part = format!("{rest:06}");
    match part.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        part => format!("{sign}{whole}.{part}"),
    }
}

/// As many decimals as there are, up to three.
pub(crate) fn performance(of: &Thousandths) -> String {
    let text = format!("{}.{:03}", of.0 / 1_000, of.0 % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// With thousands apart.
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
