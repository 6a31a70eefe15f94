//! Names of nodes as Slurm shortens them: `a[1-3,07],b`.

/// The names, in order. What is no such list stands for itself. At most a million of one range.
pub(in crate::site) fn expand(text: &str) -> Vec<String> {
    split(text).into_iter().filter(|part| !part.is_empty()).flat_map(one).collect()
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

/// The names of one part: its first brackets are opened, then the rest.
fn one(part: &str) -> Vec<String> {
    let opened = part.split_once('[').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once(']')?;
        Some((before, inside, after))
    });
    let Some((before, inside, after)) = opened else { return vec![part.to_owned()] };
    let ends = one(after);
    let numbers = inside.split(',').flat_map(range);
    numbers
        .flat_map(|number| ends.iter().map(move |end| format!("{before}{number}{end}")))
        .collect()
}

/// `08-11` as 08, 09, 10, 11.
fn range(text: &str) -> Vec<String> {
    const MOST: u64 = 1_000_000;
    let ends = text.split_once('-').and_then(|(low, high)| {
        let ends = (low.parse::<u64>().ok()?, high.parse::<u64>().ok()?);
        (ends.0 <= ends.1 && ends.1 - ends.0 < MOST).then_some((low.len(), ends.0..=ends.1))
    });
    match ends {
        Some((width, all)) => all.map(|number| format!("{number:0width$}")).collect(),
        None => vec![text.to_owned()],
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
}
