//! Amounts of memory as texts.

/// KiB, rounded down, of `512M`, `1.5G`, `2 TB` or `1048576KiB`: binary units, with or without `iB` or
/// `B`. `None` if it is not such a text, or too large to be counted.
pub(crate) fn kib(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let unit = unit.strip_suffix("iB").or(unit.strip_suffix('B')).unwrap_or(unit);
    let shift = match unit {
        "K" => 0,
        "M" => 10,
        "G" => 20,
        "T" => 30,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let part = Some(part).filter(|part| (1..=3).contains(&part.len()))?;
    let thousandths: u64 = format!("{part:0<3}").parse().ok()?;
    let exact = whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(thousandths)?;
    Some(exact.checked_mul(1 << shift)? / 1_000)
}
