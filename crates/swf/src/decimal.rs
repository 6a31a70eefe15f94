//! Exact decimals: number text to integers and back, never through a binary float.

/// Why a number's text is not a decimal of the wanted precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not digits with an optional sign, point and exponent.
    #[error("not a number")]
    NotANumber,
    /// More decimals than are kept, and not all zero.
    #[error("more than {0} decimals")]
    TooFine(u32),
    /// Beyond what fits.
    #[error("out of range")]
    OutOfRange,
}

/// `text` times 10^`decimals` as an exact integer: `parse("2.5", 3)` is 2,500. Takes an optional
/// sign, point and exponent (`1.5e3`); trailing zeros beyond `decimals` are allowed.
///
/// # Errors
/// [`DecimalError`].
pub fn parse(text: &str, decimals: u32) -> Result<i64, DecimalError> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|c| c.is_ascii_digit()) {
        return Err(DecimalError::NotANumber);
    }
    let shift = exponent.saturating_add(i64::from(decimals)).saturating_sub(fraction.len() as i64);
    scale(digits(), shift, decimals).map(|n| sign * n)
}

/// The exponent, cut to a range in which every number is zero or out of range anyway.
fn parse_exponent(text: &str) -> Result<i64, DecimalError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(DecimalError::NotANumber);
    }
    let size = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Ok(if text.starts_with('-') { -size } else { size })
}

/// The number with these digits times 10^`shift`, if that is whole and fits.
fn scale(digits: impl Iterator<Item = u8>, shift: i64, decimals: u32) -> Result<i64, DecimalError> {
    let digits: Vec<u8> = digits.skip_while(|&c| c == b'0').collect();
    let significant = digits.iter().rposition(|&c| c != b'0').map_or(0, |last| last + 1);
    let zeros = (digits.len() - significant) as i64 + shift;
    if significant == 0 {
        return Ok(0);
    }
    if zeros < 0 {
        return Err(DecimalError::TooFine(decimals));
    }
    if zeros > 18 || significant > 19 {
        return Err(DecimalError::OutOfRange);
    }
    let head = digits[..significant]
        .iter()
        .try_fold(0i64, |n, c| n.checked_mul(10)?.checked_add(i64::from(c - b'0')));
    head.and_then(|n| n.checked_mul(10i64.pow(zeros as u32))).ok_or(DecimalError::OutOfRange)
}

/// `scaled` / 10^`decimals` as text, trailing zeros dropped.
pub fn format(scaled: i64, decimals: u32) -> String {
    let unit = 10u64.pow(decimals);
    let (whole, part) = (scaled.unsigned_abs() / unit, scaled.unsigned_abs() % unit);
    let sign = if scaled < 0 { "-" } else { "" };
    if part == 0 {
        return format!("{sign}{whole}");
    }
    let width = decimals as usize;
    format!("{sign}{whole}.{part:0width$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_exactly() {
        let micro = |text| parse(text, 6);
        assert_eq!(micro("0.1"), Ok(100_000));
        assert_eq!(micro("-12.5"), Ok(-12_500_000));
        assert_eq!(micro("1.5e3"), Ok(1_500_000_000));
        assert_eq!(micro("1e-6"), Ok(1));
        assert_eq!(micro("7.1000000000"), Ok(7_100_000));
        assert_eq!(micro("0e999999999999999999999"), Ok(0));
        assert_eq!(micro("00012"), Ok(12_000_000));
        assert_eq!(micro("9223372036854.775807"), Ok(i64::MAX));
    }

    #[test]
    fn what_cannot_be_kept_exactly_is_refused() {
        assert_eq!(parse("0.0000001", 6), Err(DecimalError::TooFine(6)));
        assert_eq!(parse("1e999", 6), Err(DecimalError::OutOfRange));
        assert_eq!(parse("9223372036854.775808", 6), Err(DecimalError::OutOfRange));
        assert_eq!(parse("99999999999999999999", 0), Err(DecimalError::OutOfRange));
        for text in ["", "-", "NaN", "inf", "1e", "1e+", ".", "1.2.3", "0x10", "1_000", " 1", "--1"]
        {
            assert_eq!(parse(text, 6), Err(DecimalError::NotANumber), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(n in any::<i64>(), decimals in 0u32..9) {
            prop_assume!(n != i64::MIN);
            prop_assert_eq!(parse(&format(n, decimals), decimals), Ok(n));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.eE]{0,30}") {
            let _ = parse(&text, 6);
        }
    }
}
