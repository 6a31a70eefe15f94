//! Names of nodes as Slurm folds them: `n[1-3,07],login`.

use std::collections::BTreeMap;

/// The most names that a list is unfolded to.
const MOST: usize = 100_000;

/// One text for all of `names`: those that differ in their last number stand together.
pub(super) fn fold(names: &[String]) -> String {
    let mut groups: Vec<(String, usize, Vec<u64>)> = Vec::new();
    let mut places: BTreeMap<(String, usize), usize> = BTreeMap::new();
    let mut plain = Vec::new();
    for name in names {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits);
        match number.parse::<u64>() {
            Ok(value) => {
                let width = if number.starts_with('0') { number.len() } else { 0 };
                let at = *places.entry((stem.to_owned(), width)).or_insert_with(|| {
                    groups.push((stem.to_owned(), width, Vec::new()));
                    groups.len() - 1
                });
                if let Some((.., numbers)) = groups.get_mut(at) {
                    numbers.push(value);
                }
            }
            Err(_) => plain.push(name.clone()),
        }
    }
    let folded = groups.into_iter().map(|(stem, width, numbers)| group(&stem, width, numbers));
    folded.chain(plain).collect::<Vec<_>>().join(",")
}

fn group(stem: &str, width: usize, numbers: Vec<u64>) -> String {
    match numbers[..] {
        [only] => format!("{stem}{only:0width$}"),
        _ => format!("{stem}[{}]", spans(width, numbers)),
    }
}

/// Numbers as Slurm folds them: `0-3,7`.
pub(super) fn ranges(numbers: &[u32]) -> String {
    spans(0, numbers.iter().map(|it| u64::from(*it)).collect())
}

fn spans(width: usize, mut numbers: Vec<u64>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let text = |(first, last): (u64, u64)| match first == last {
        true => format!("{first:0width$}"),
        false => format!("{first:0width$}-{last:0width$}"),
    };
    spans.into_iter().map(text).collect::<Vec<_>>().join(",")
}

/// The names that `text` stands for; `None` if it is none of these lists, or too long.
pub(super) fn unfold(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for item in items(text)? {
        let mut open = vec![String::new()];
        let mut rest = item.as_str();
        while let Some((before, inside)) = rest.split_once('[') {
            let (ranges, after) = inside.split_once(']')?;
            let numbers = numbers(ranges)?;
            let of = |stem: &String| {
                numbers.iter().map(|it| format!("{stem}{before}{it}")).collect::<Vec<_>>()
            };
            if open.len().checked_mul(numbers.len())? > MOST {
                return None;
            }
            open = open.iter().flat_map(of).collect();
            rest = after;
        }
        names.extend(open.into_iter().map(|stem| stem + rest));
        if names.len() > MOST {
            return None;
        }
    }
    Some(names)
}

/// Parts between commas that stand in no brackets.
fn items(text: &str) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    let mut inside = false;
    for letter in text.trim().chars() {
        match letter {
            '[' if inside => return None,
            '[' => inside = true,
            ']' if !inside => return None,
            ']' => inside = false,
            _ => {}
        }
        match letter {
            ',' if !inside => all.push(String::new()),
            _ => all.last_mut()?.push(letter),
        }
    }
    all.retain(|it| !it.is_empty());
    (!inside).then_some(all)
}

fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let width = first.len();
        if to.checked_sub(from)? >= MOST as u64 {
            return None;
        }
        all.extend((from..=to).map(|it| format!("{it:0width$}")));
    }
    (all.len() <= MOST).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn lists_are_folded_and_unfolded() {
        for (all, folded) in [
            ("n1", "n1"),
            ("n1 n2 n3 n7", "n[1-3,7]"),
            ("n08 n09 n10 login", "n[08-09],n10,login"),
            ("a1 b1 a2", "a[1-2],b1"),
        ] {
            assert_eq!(fold(&names(all)), folded);
            let mut back = unfold(folded).unwrap();
            back.sort();
            let mut wanted = names(all);
            wanted.sort();
            assert_eq!(back, wanted);
        }
        assert_eq!(unfold("r[1-2]n[3,4]x").unwrap(), names("r1n3x r1n4x r2n3x r2n4x"));
    }

    #[test]
    fn what_is_none_or_without_end_is_refused() {
        for bad in ["n[1-", "n]", "n[a]", "n[3-1]", "n[0-99999999]", "n[[1]]"] {
            assert_eq!(unfold(bad), None, "{bad}");
        }
        assert_eq!(unfold("n[0-999][0-999]"), None);
    }
}
