//! An option line in words, cut as `sbatch` cuts it.

use super::{Wrong, wrong};

/// The words of `line`: cut at blanks, but not within `'…'` or `"…"`; `\` takes the next
/// character as it is; `#` outside quotes begins a comment.
pub(super) fn split(line: &str) -> Result<Vec<String>, Wrong> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match rest.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => return Err(wrong("a `\\` at the end of the line", "write `\\\\` for one")),
            },
            (None, '#') => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(wrong(format!("the quote `{open}` is not closed"), "close it")),
        None => {
            words.extend(word);
            Ok(words)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_cut_as_a_shell_would() {
        for (line, words) in [
            (" --time=10  -N 2 # two", vec!["--time=10", "-N", "2"]),
            ("--job-name=\"a b\" -c'd e'f", vec!["--job-name=a b", "-cd ef"]),
            ("a\\ b \\# '#' \"\\\"\"", vec!["a b", "#", "#", "\""]),
            ("'' \"\"", vec!["", ""]),
            ("'a\\b'", vec!["a\\b"]),
            ("-J a#b", vec!["-J", "a"]),
            ("", vec![]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for line in ["'a", "a\"", "a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("\\PC{0,8}", 0..5)) {
            let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
            let line = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(split(&line).unwrap(), words);
        }
    }
}
