//! Which versions of Slurm Tradewind was tried on.

use super::doctor;
use crate::site::{Finding, Verdict};

/// Versions on which all tests of sites were run.
const TRIED: [(u32, u32); 3] = [(22, 5), (24, 11), (26, 5)];
/// The oldest one that lists jobs as JSON.
const OLDEST: (u32, u32) = (21, 8);

/// Year and month in `slurm 24.11.5`, and in Debian's `slurm-wlm 24.11.5`.
fn parse(text: &str) -> Option<(u32, u32)> {
    let number = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = number.split(['.', '-']).map(str::parse::<u32>);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// What there is to say of what `--version` printed.
pub(super) fn finding(what: &str, text: &str) -> Finding {
    let tried: Vec<String> =
        TRIED.iter().map(|(year, month)| format!("{year}.{month:02}")).collect();
    let tried = tried.join(", ");
    let between = |version: (u32, u32)| version >= TRIED[0] && version <= TRIED[TRIED.len() - 1];
    let (verdict, note, remedy) = match parse(text) {
        Some(version) if TRIED.contains(&version) => (Verdict::Good, "", String::new()),
        Some(version) if version < OLDEST => (
            Verdict::Bad,
            "",
            format!(
                "this version lists no jobs as JSON: 21.08 or newer is needed; tried were {tried}"
            ),
        ),
        Some(version) if between(version) => {
            (Verdict::Good, "; lies between versions that were tried: ", String::new())
        }
        Some(_) => (
            Verdict::Warning,
            "",
            format!("Tradewind was tried on Slurm {tried}; look at the findings below"),
        ),
        None => (
            Verdict::Warning,
            "",
            format!("`scontrol --version` says no version; Tradewind was tried on Slurm {tried}"),
        ),
    };
    let found = match note {
        "" => text.to_owned(),
        note => format!("{text}{note}{tried}"),
    };
    doctor::finding(what, verdict, found, &remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_judged() {
        for (text, verdict) in [
            ("slurm-wlm 22.05.8", Verdict::Good),
            ("slurm 23.11.4", Verdict::Good),
            ("slurm 24.11.5", Verdict::Good),
            ("slurm 25.05.0-0rc1", Verdict::Good),
            ("slurm 26.05.5", Verdict::Good),
            ("slurm 26.11.0", Verdict::Warning),
            ("slurm 21.08.8", Verdict::Warning),
            ("slurm 20.11.9", Verdict::Bad),
            ("slurm unknown", Verdict::Warning),
            ("", Verdict::Warning),
        ] {
            assert_eq!(finding("x", text).verdict, verdict, "{text}");
        }
        assert!(finding("x", "slurm 23.02.1").found.contains("22.05, 24.11, 26.05"));
    }
}
