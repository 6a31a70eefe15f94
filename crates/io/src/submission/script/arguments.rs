//! Options among words, distinguished as `getopt_long` does it.

use super::{Wrong, wrong};
use crate::diagnostics::{excerpt, list, suggestion};
use crate::submission::options::{OPTIONS, OptionSpec, Support, Takes};

/// An option and its value.
pub(super) type Found = (&'static OptionSpec, Option<String>);

/// The options that `words` begin with, each found or wrong, and the words behind them: from the
/// first that is no option, or behind `--`.
pub(super) fn options(words: &[String]) -> (Vec<Result<Found, Wrong>>, &[String]) {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let next = words.get(at + 1).map(String::as_str);
        let used = match word.strip_prefix("--") {
            Some("") => return (found, &words[at + 1..]),
            Some(long) => take_long(long, next, &mut found),
            None => match word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                Some(letters) => take_short(letters, next, &mut found),
                None => break,
            },
        };
        at += used;
    }
    (found, words.get(at..).unwrap_or_default())
}

/// Reads `--long` (without the dashes); how many words it took.
fn take_long(long: &str, next: Option<&str>, found: &mut Vec<Result<Found, Wrong>>) -> usize {
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let known = match find(name, "--") {
        Ok(known) => known,
        Err(wrong) => {
            found.push(Err(wrong));
            return 1;
        }
    };
    let (result, used) = match (known.takes, value, next) {
        (Takes::Nothing, Some(value), _) => {
            let message = format!("`--{}` has no value, found `{}`", known.name, excerpt(value));
            (Err(wrong(message, "leave out `=` and what follows")), 1)
        }
        (Takes::Nothing, None, _) | (Takes::Perhaps, None, _) => (Ok((known, None)), 1),
        (_, Some(value), _) => (Ok((known, Some(value.to_owned()))), 1),
        (Takes::Value, None, Some(next)) => (Ok((known, Some(next.to_owned()))), 2),
        (Takes::Value, None, None) => (Err(no_value(known)), 1),
    };
    found.push(result);
    used
}

/// Reads `-letters` (without the dash); how many words it took.
fn take_short(letters: &str, next: Option<&str>, found: &mut Vec<Result<Found, Wrong>>) -> usize {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let Some(known) = OPTIONS.iter().find(|known| known.short == Some(letter)) else {
            let message = format!("unknown option `-{}`", excerpt(&letter.to_string()));
            found.push(Err(wrong(message, "see the table in `docs/reference/submit.md`")));
            return 1;
        };
        let value = rest.as_str();
        match known.takes {
            Takes::Nothing => found.push(Ok((known, None))),
            Takes::Perhaps => {
                found.push(Ok((known, Some(value.to_owned()).filter(|it| !it.is_empty()))));
                return 1;
            }
            Takes::Value if !value.is_empty() => {
                found.push(Ok((known, Some(value.to_owned()))));
                return 1;
            }
            Takes::Value => {
                let value = next.map(|next| (known, Some(next.to_owned())));
                found.push(value.ok_or_else(|| no_value(known)));
                return 2;
            }
        }
    }
    1
}

/// The options of a `#TRADEWIND` line: `name=value`, with or without dashes before the name.
pub(super) fn assignments(words: &[String]) -> Vec<Result<Found, Wrong>> {
    let read = |word: &String| {
        let bare = word.strip_prefix("--").unwrap_or(word);
        let (name, value) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (bare, None),
        };
        let known = find(name, "")?;
        match (known.takes, &value) {
            _ if !known.is_ours() && known.kind != Support::Refused => {
                let message = format!("`{}` is an option of `sbatch`", known.name);
                Err(wrong(message, format!("write `#SBATCH --{}`", known.name)))
            }
            (Takes::Value, None) => Err(no_value(known)),
            (Takes::Nothing, Some(_)) => {
                Err(wrong(format!("`{name}` has no value"), "leave out `=` and what follows"))
            }
            _ => Ok((known, value)),
        }
    };
    words.iter().map(read).collect()
}

fn no_value(known: &OptionSpec) -> Wrong {
    let hint = format!("write `--{}=…`: {}", known.name, known.says);
    wrong(format!("`--{}` needs a value", known.name), hint)
}

/// The option that `name` stands for.
fn find(name: &str, dashes: &str) -> Result<&'static OptionSpec, Wrong> {
    OptionSpec::find(name).map_err(|several| {
        let shown = excerpt(name);
        match several[..] {
            [] => {
                let best = suggestion(name, OPTIONS.iter().map(|known| known.name));
                let hint = match best {
                    Some(best) => format!("did you mean `{dashes}{best}`?"),
                    None => "see the table in `docs/reference/submit.md`".to_owned(),
                };
                wrong(format!("unknown option `{dashes}{shown}`"), hint)
            }
            _ => wrong(
                format!("`{dashes}{shown}` may be several options"),
                format!("write one in full: {}", list(&several)),
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Vec<String>, String) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let (found, rest) = options(&words);
        let show = |it: &Result<Found, Wrong>| match it {
            Ok((known, Some(value))) => format!("{}={value}", known.name),
            Ok((known, None)) => known.name.to_owned(),
            Err(wrong) => format!("! {} ({})", wrong.message, wrong.hint),
        };
        (found.iter().map(show).collect(), rest.join(" "))
    }

    #[test]
    fn options_are_found_as_getopt_finds_them() {
        let (found, rest) = read("-N2 -n 4 --time 10 --job=x -Ha1 --nice --nice=3 run.sh -N 3");
        let names =
            ["nodes=2", "ntasks=4", "time=10", "job-name=x", "hold", "array=1", "nice", "nice=3"];
        assert_eq!((found, rest.as_str()), (names.map(str::to_owned).to_vec(), "run.sh -N 3"));
        assert_eq!(read("-H -- -x").1, "-x");
    }

    #[test]
    fn what_is_no_option_says_what_to_do() {
        for (line, expected) in [
            ("--tiem=1", "did you mean `--time`?"),
            ("--gpus-per=1", "write one in full: `gpus-per-node`, `gpus-per-socket`"),
            ("--hold=1", "`--hold` has no value"),
            ("--time", "`--time` needs a value"),
            ("-t", "`--time` needs a value"),
            ("-y", "unknown option `-y`"),
            ("--=3", "unknown option `--`"),
        ] {
            assert!(read(line).0[0].contains(expected), "{line}: {:?}", read(line));
        }
    }
}
