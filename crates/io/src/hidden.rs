//! Characters that are not seen, or that change how others are seen.

/// Whether the character has no place in a name: controls, line ends, marks and overrides of the
/// writing direction (with which a name can be shown as another), and blanks without width.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_scripts_pass_and_overrides_do_not() {
        for good in ["job-1", "Größe", "задача", "任务", "شغل", "می\u{200c}خواهم", "👩\u{200d}💻"]
        {
            assert!(!good.chars().any(is_hidden), "{good}");
        }
        for c in ['\n', '\u{1b}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{200b}', '\u{2028}'] {
            assert!(is_hidden(c), "{c:?}");
        }
    }
}
