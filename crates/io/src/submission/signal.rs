//! The warning before the limit, as `sbatch --signal` takes it.

use tradewind_model::Span;

use super::script::{Wrong, wrong};
use crate::diagnostics::excerpt;

/// The option's name, also among what is passed through.
pub const OPTION: &str = "signal";
/// So long before the limit, if nothing else is said.
const USUAL: Span = Span(60);
/// The longest time before the limit, seconds.
const LONGEST: i64 = 65_535;
/// Names of signals and their numbers on Linux.
const NAMES: [(&str, i32); 21] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ABRT", 6),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("VTALRM", 26),
    ("WINCH", 28),
];
/// The highest number of a signal.
const HIGHEST: i32 = 64;

/// A signal that is sent once before the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// The signal's number on Linux, 1 to 64.
    pub number: i32,
    /// So long before the limit; more than the limit is: at the beginning.
    pub before: Span,
    /// The processes that get the signal.
    pub to: Receiver,
}

/// Who is warned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// `B:`: the script's shell, and none of its children.
    Script,
    /// Job steps, and not the script's shell.
    Steps,
}

impl Warning {
    /// The warning that a job's passed-through options ask for.
    pub fn among(options: &[(String, String)]) -> Option<Warning> {
        let (_, value) = options.iter().find(|(name, _)| name == OPTION)?;
        parse(value).ok()
    }
}

/// `[B:][R:]SIGNAL[@SECONDS]`; the signal is a name with or without `SIG`, or a number.
pub(super) fn parse(text: &str) -> Result<Warning, Wrong> {
    let bad = |what: String| Err(wrong(what, "write `USR1`, `B:USR1@120` or `B:10@120`"));
    let (flags, rest) = text.trim().rsplit_once(':').unwrap_or(("", text.trim()));
    let is_flag = |c: char| "BRbr:".contains(c);
    if !flags.chars().all(is_flag) || text.trim().starts_with(':') {
        return bad(format!("`{}:` is no receiver of a signal", excerpt(flags)));
    }
    let (name, before) = rest.split_once('@').unwrap_or((rest, "60"));
    let Some(number) = number_of(name) else {
        return bad(format!("`{}` is no signal", excerpt(name)));
    };
    let before = before.parse().ok().filter(|before| (0..=LONGEST).contains(before));
    let Some(before) = before else {
        return bad(format!("`{}` has no number of seconds up to {LONGEST}", excerpt(rest)));
    };
    let before = if rest.contains('@') { Span(before) } else { USUAL };
    let to = if flags.contains(['B', 'b']) { Receiver::Script } else { Receiver::Steps };
    Ok(Warning { number, before, to })
}

fn number_of(name: &str) -> Option<i32> {
    if let Ok(number) = name.parse::<i32>() {
        return Some(number).filter(|number| (1..=HIGHEST).contains(number));
    }
    let upper = name.to_ascii_uppercase();
    let plain = upper.strip_prefix("SIG").unwrap_or(&upper);
    NAMES.iter().find(|(known, _)| *known == plain).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: i32, before: i64, to: Receiver) -> Warning {
        Warning { number, before: Span(before), to }
    }

    #[test]
    fn warnings_are_read_as_sbatch_reads_them() {
        use Receiver::{Script, Steps};
        for (text, wanted) in [
            ("USR1", of(10, 60, Steps)),
            ("B:USR1@90", of(10, 90, Script)),
            ("b:SIGUSR2", of(12, 60, Script)),
            ("R:sigterm@0", of(15, 0, Steps)),
            ("RB:2@65535", of(2, 65_535, Script)),
            ("B:R:HUP@5", of(1, 5, Script)),
            ("64@1", of(64, 1, Steps)),
        ] {
            assert_eq!(parse(text).ok(), Some(wanted), "{text}");
        }
        for text in
            ["", "B:", ":USR1", "X:USR1", "USR3", "0", "65", "-1", "USR1@", "USR1@x", "10@-1"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("USR1@65536").is_err());
    }
}
