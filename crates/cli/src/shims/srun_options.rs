//! The command line of `srun`: options, and a command behind them.

/// Options of `srun` without a value. All others that are written out have one.
const FLAGS: [&str; 32] = [
    "contiguous",
    "disable-status",
    "exact",
    "external",
    "help",
    "kill-on-bad-exit",
    "label",
    "multi-prog",
    "no-allocate",
    "no-kill",
    "overcommit",
    "overlap",
    "oversubscribe",
    "preserve-env",
    "propagate",
    "pty",
    "quiet",
    "quit-on-interrupt",
    "reboot",
    "send-libs",
    "spread-job",
    "test-only",
    "unbuffered",
    "usage",
    "use-min-nodes",
    "verbose",
    "version",
    "wait-all-nodes",
    "whole",
    "x11",
    "exclusive",
    "no-shell",
];
/// The same as letters.
const FLAG_LETTERS: &str = "EGHIkKlOQqsuvVXZ";
/// Patterns of files in these are the market's.
pub(super) const FILES: [(&str, char); 3] = [("output", 'o'), ("error", 'e'), ("input", 'i')];

/// An option, with its value if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// Options before the command, and the command.
pub(super) fn split(words: &[String]) -> (Vec<Given>, &[String]) {
    let mut options = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).cloned();
        let (given, used) = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) => return (options, &words[at + 1..]),
            (Some(long), _) => match long.split_once('=') {
                Some((name, value)) => (one(name, Some(value.to_owned())), 1),
                None if FLAGS.contains(&long) => (one(long, None), 1),
                None => (one(long, next), 2),
            },
            (None, Some(letters)) if !letters.is_empty() => {
                let first: String = letters.chars().take(1).collect();
                let rest = &letters[first.len()..];
                match (FLAG_LETTERS.contains(&first), rest) {
                    // `-vv` and `-lu` stand for each of their letters.
                    (true, _) => (one(letters, None), 1),
                    (false, "") => (one(&first, next), 2),
                    (false, value) => (one(&first, Some(value.to_owned())), 1),
                }
            }
            _ => break,
        };
        options.push(given);
        at += used;
    }
    (options, words.get(at..).unwrap_or_default())
}

fn one(name: &str, value: Option<String>) -> Given {
    let long = FILES.iter().find(|(_, letter)| name.len() == 1 && name.starts_with(*letter));
    let name = long.map_or(name, |(long, _)| *long);
    Given { name: name.to_owned(), value }
}

/// Whether it is several letters in one word.
pub(super) fn is_letters(name: &str, value: &Option<String>) -> bool {
    value.is_none() && !FLAGS.contains(&name) && name.chars().all(|it| FLAG_LETTERS.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> (String, String) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (options, command) = split(&words);
        let show = |it: &Given| match &it.value {
            Some(value) => format!("{}={value}", it.name),
            None => it.name.clone(),
        };
        (options.iter().map(show).collect::<Vec<_>>().join(" "), command.join(" "))
    }

    #[test]
    fn options_end_where_the_command_begins() {
        assert_eq!(
            parts(
                "--unbuffered --output /f/%j_%t.out --error /f/%j.err -vv --cpu-bind none run -n 3"
            ),
            (
                "unbuffered output=/f/%j_%t.out error=/f/%j.err vv cpu-bind=none".to_owned(),
                "run -n 3".to_owned()
            )
        );
        assert_eq!(
            parts("-n1 --cpu-bind=q -N 2 -o x.out -- python -m x"),
            ("n=1 cpu-bind=q N=2 output=x.out".to_owned(), "python -m x".to_owned())
        );
    }
}
