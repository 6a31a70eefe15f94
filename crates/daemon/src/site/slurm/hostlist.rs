//! Names of nodes as Slurm shortens them: `a[1-3,07],b`.

/// Names of one list, at most: more nodes than any cluster has.
const MAX: usize = 1_000_000;
/// Bytes of all names of one part, about, at most.
const MOST_BYTES: usize = 64 << 20;

/// The names, in order. What is no such list stands for itself, and so does a part that means more
/// than a million names; of the whole list no more than a million are taken.
pub(in crate::site) fn expand(text: &str) -> Vec<String> {
    let parts = split(text).into_iter().filter(|part| !part.is_empty());
    parts.flat_map(one).take(MAX).collect()
}

/// The parts between commas that are outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).collect()
}

/// The names of one part: its brackets are opened from left to right.
fn one(part: &str) -> Vec<String> {
    opened(part).unwrap_or_else(|| vec![part.to_owned()])
}

/// `None`: too many names.
fn opened(part: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = part;
    while let Some((before, inside, after)) = first_brackets(rest) {
        let numbers: Vec<String> = inside.split(',').flat_map(range).take(MAX + 1).collect();
        let count = names.len().saturating_mul(numbers.len());
        if count > MAX || count.saturating_mul(part.len()) > MOST_BYTES {
            return None;
        }
        let all = |name: &String| {
            numbers.iter().map(|number| format!("{name}{before}{number}")).collect::<Vec<_>>()
        };
        names = names.iter().flat_map(all).collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Some(names)
}

/// What is before the first brackets, in them and behind them.
fn first_brackets(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (inside, after) = rest.split_once(']')?;
    Some((before, inside, after))
}

/// Digits of a number in a range, at most: as many as the greatest that is read has.
const DIGITS: usize = 20;

/// `08-11` as 08, 09, 10, 11.
fn range(text: &str) -> Box<dyn Iterator<Item = String> + '_> {
    let ends = text.split_once('-').and_then(|(low, high)| {
        let ends = (low.parse::<u64>().ok()?, high.parse::<u64>().ok()?);
        (ends.0 <= ends.1 && low.len() <= DIGITS).then_some((low.len(), ends.0..=ends.1))
    });
    match ends {
        Some((width, all)) => Box::new(all.map(move |number| format!("{number:0width$}"))),
        None => Box::new(std::iter::once(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_opened() {
        for (text, names) in [
            ("", ""),
            ("a1", "a1"),
            ("a[1-3]", "a1 a2 a3"),
            ("a[08-10,3],b,c[1-2]x", "a08 a09 a10 a3 b c1x c2x"),
            ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
            ("a[3-1]", "a3-1"),
            ("a[1", "a[1"),
        ] {
            assert_eq!(expand(text).join(" "), names);
        }
    }

    #[test]
    fn a_list_of_more_nodes_than_there_can_be_takes_no_memory() {
        for text in ["a[0-999999]b[0-999999]", "a[0-18446744073709551615]"] {
            assert_eq!(expand(text), [text]);
        }
        assert_eq!(expand("a[0-999999],b[0-999999]").len(), MAX);
        let long = "x".repeat(10_000);
        assert_eq!(expand(&format!("{long}[0-99999]")).len(), 1);
        let zeros = "0".repeat(100_000);
        assert_eq!(expand(&format!("a[{zeros}1-{zeros}999]")).len(), 1);
        assert_eq!(expand(&"[1]".repeat(100_000)), ["1".repeat(100_000)]);
    }
}
