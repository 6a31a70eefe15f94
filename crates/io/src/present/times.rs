//! Lengths of time in words.

use super::grouped;
use super::numbers::significant;

const MINUTE: i64 = 60;
const HOUR: i64 = 3_600;
const DAY: i64 = 86_400;

/// A length of time in seconds, in its two largest units and rounded: `45.2 s`, `3 min 20 s`,
/// `1 h 20 min`, `2 d 4 h`.
pub fn span(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "–".to_owned();
    }
    if seconds < 0.0 {
        return format!("-{}", span(-seconds));
    }
    let rounded = |unit: i64| (seconds / unit as f64).round() as i64;
    match seconds {
        ..59.5 => format!("{} s", significant(seconds)),
        ..3_599.5 => pair(rounded(1), MINUTE, ["min", "s"]),
        ..86_370.0 => pair(rounded(MINUTE), 60, ["h", "min"]),
        ..8_640_000.0 => pair(rounded(HOUR), 24, ["d", "h"]),
        _ => format!("{} d", grouped(rounded(DAY))),
    }
}

/// Whole seconds in the two largest units, cut: what goes on is never said to have lasted longer
/// than it has. `59 s`, `1 min 1 s`, `1 d 1 h`.
pub fn whole_span(seconds: i64) -> String {
    let sign = if seconds < 0 { "-" } else { "" };
    let size = i64::try_from(seconds.unsigned_abs()).unwrap_or(i64::MAX);
    let told = match size {
        ..MINUTE => format!("{size} s"),
        MINUTE..HOUR => pair(size, MINUTE, ["min", "s"]),
        HOUR..DAY => pair(size / MINUTE, 60, ["h", "min"]),
        _ => pair(size / HOUR, 24, ["d", "h"]),
    };
    format!("{sign}{told}")
}

/// `count` small units in large ones and what is left.
fn pair(count: i64, small_in_large: i64, names: [&str; 2]) -> String {
    let (large, small) = (count / small_in_large, count % small_in_large);
    match small {
        0 => format!("{large} {}", names[0]),
        _ => format!("{large} {} {small} {}", names[0], names[1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units() {
        let cut = [0, 59, 61, 3_600, 90_061, -5, 3_599, 86_399].map(whole_span);
        let wanted =
            ["0 s", "59 s", "1 min 1 s", "1 h", "1 d 1 h", "-5 s", "59 min 59 s", "23 h 59 min"];
        assert_eq!(cut, wanted);
        let rounded = [0.25, 200.0, 4_800.0, 187_200.0, -5.0, 86_399.0].map(span);
        assert_eq!(rounded, ["0.25 s", "3 min 20 s", "1 h 20 min", "2 d 4 h", "-5 s", "1 d"]);
        assert_eq!([span(f64::NAN), span(f64::INFINITY)], ["–", "–"]);
    }
}
