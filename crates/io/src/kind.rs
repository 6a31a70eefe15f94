//! What kind of file an input is: for the one message that helps if a command is given another.

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::input::Input;
use crate::value::{self, ValueKind};

/// Keys of the highest level of each kind of document.
pub(crate) const SCENARIO: [&str; 11] = [
    "title", "notes", "horizon", "sites", "nodes", "licences", "links", "slots", "busy", "jobs",
    "policy",
];
pub(crate) const CAMPAIGN: [&str; 11] = [
    "title",
    "workload",
    "policies",
    "semantics",
    "overruns",
    "estimates",
    "loads",
    "seeds",
    "seed",
    "trim",
    "outputs",
];
pub(crate) const GRID: [&str; 6] = ["title", "site", "outage", "licence", "link", "data"];
pub(crate) const CONFIGURATION: [&str; 16] = [
    "time_zone",
    "store",
    "standby",
    "market",
    "listen",
    "sign_in",
    "limits",
    "journal",
    "money",
    "notify",
    "shared_account",
    "site",
    "project",
    "peers",
    "licence",
    "link",
];
pub(crate) const SIDE: [&str; 4] = ["model", "job", "user", "node"];

/// The kinds of files that commands take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Log,
    Scenario,
    Campaign,
    Grid,
    Configuration,
    Side,
}

impl FileKind {
    const DOCUMENTS: [FileKind; 5] = [
        FileKind::Scenario,
        FileKind::Campaign,
        FileKind::Grid,
        FileKind::Configuration,
        FileKind::Side,
    ];

    /// With an article.
    fn noun(self) -> &'static str {
        match self {
            FileKind::Log => "a workload log (SWF)",
            FileKind::Scenario => "a scenario",
            FileKind::Campaign => "a campaign",
            FileKind::Grid => "a grid file",
            FileKind::Configuration => "the configuration of a daemon",
            FileKind::Side => "a side file of jobs",
        }
    }

    /// What takes it.
    fn hint(self) -> &'static str {
        match self {
            FileKind::Log => {
                "`tradewind simulate LOG --policy easy` replays it, and `tradewind snapshot LOG` \
                 makes a scenario of it"
            }
            FileKind::Scenario => "`tradewind plan`, `quote` and `explain` take it",
            FileKind::Campaign => "`tradewind simulate` takes it",
            FileKind::Grid => "`tradewind simulate LOG --grid FILE` takes it",
            FileKind::Configuration => "`tradewind up --config FILE` takes it",
            FileKind::Side => "`tradewind simulate LOG --side FILE` takes it",
        }
    }

    /// Its keys of the highest level.
    fn keys(self) -> &'static [&'static str] {
        match self {
            FileKind::Log => &[],
            FileKind::Scenario => &SCENARIO,
            FileKind::Campaign => &CAMPAIGN,
            FileKind::Grid => &GRID,
            FileKind::Configuration => &CONFIGURATION,
            FileKind::Side => &SIDE,
        }
    }

    /// The only kind that the input can be; `None` if it could be several, or none is near.
    fn of(input: &Input) -> Option<FileKind> {
        if is_log(input) {
            return Some(FileKind::Log);
        }
        let document = value::parse(input).ok()?;
        let ValueKind::Table(entries) = &document.kind else { return None };
        let knows = |kind: &FileKind| {
            let known = |key: &str| kind.keys().contains(&key);
            !entries.is_empty() && entries.iter().all(|entry| known(&entry.key))
        };
        let mut kinds = FileKind::DOCUMENTS.into_iter().filter(knows);
        kinds.next().filter(|_| kinds.next().is_none())
    }
}

/// Whether the first line that says something is one of SWF.
fn is_log(input: &Input) -> bool {
    let lines = input.bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(first) = lines.into_iter().find(|line| !line.is_empty()) else { return false };
    let is_number = |word: &[u8]| str::from_utf8(word).is_ok_and(|it| it.parse::<f64>().is_ok());
    let mut words = first.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    first.starts_with(b";") || words.clone().count() == 18 && words.all(is_number)
}

/// What a reader of `wanted` found; one message instead of all its errors if the input is
/// another kind of file.
///
/// # Errors
/// As `found`.
pub(crate) fn expect<T>(
    wanted: FileKind,
    input: &Input,
    found: Result<T, Diagnostics>,
) -> Result<T, Diagnostics> {
    found.map_err(|wrong| match FileKind::of(input).filter(|kind| *kind != wanted) {
        Some(kind) => {
            let message = format!("this is {}; {} is needed here", kind.noun(), wanted.noun());
            Diagnostic::error(&input.name, message).with_hint(kind.hint()).into()
        }
        None => wrong,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Option<FileKind> {
        FileKind::of(&Input::new(name, text))
    }

    #[test]
    fn each_kind_of_file_is_recognised() {
        let job = "1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n";
        assert_eq!(of("a", "\n; Version: 2.2\n"), Some(FileKind::Log));
        assert_eq!(of("a.toml", job), Some(FileKind::Log));
        assert_eq!(of("a", "horizon = 1\njobs = []\n"), Some(FileKind::Scenario));
        assert_eq!(of("a.swf", "{\"jobs\": [], \"nodes\": 1}"), Some(FileKind::Scenario));
        assert_eq!(of("a", "policies = []\n"), Some(FileKind::Campaign));
        assert_eq!(of("a", "title = 'x'\n[[site]]\nname = 'y'\n"), Some(FileKind::Grid));
        assert_eq!(of("a", "[market]\n[[site]]\n"), Some(FileKind::Configuration));
        assert_eq!(of("a", "[model]\n"), Some(FileKind::Side));
        // It could be a grid file or a configuration.
        assert_eq!(of("a", "[[site]]\n"), None);
        for nothing in ["", "1 2 3\n", "x = ", "{}", "[]", "strange = 1\n"] {
            assert_eq!(of("a", nothing), None, "{nothing}");
        }
    }

    #[test]
    fn another_kind_is_one_message() {
        let input = Input::new("x.swf", "; Version: 2.2\n");
        let wrong = crate::scenario::parse(&input).unwrap_err().to_string();
        assert_eq!(wrong.lines().count(), 2, "{wrong}");
        assert!(wrong.contains("this is a workload log (SWF); a scenario is needed"), "{wrong}");
        let input = Input::new("x.toml", "horizon = 1\n");
        let wrong = crate::settings::parse(&input).unwrap_err().to_string();
        assert!(wrong.contains("this is a scenario; the configuration of a daemon"), "{wrong}");
        let wrong = crate::swf::parse(&input).unwrap_err().to_string();
        assert!(wrong.contains("this is a scenario; a workload log"), "{wrong}");
    }
}
