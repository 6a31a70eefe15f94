//! What `scontrol -o show nodes` says: the one list of nodes that every version of Slurm prints in
//! the same way (`sinfo --json` lists groups of equal nodes since 23.02).

use std::collections::BTreeMap;

use crate::site::resources::{Resources, generic};

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Node {
    pub name: String,
    /// Jobs can run on it now.
    pub is_up: bool,
    /// Its state and the reason, for people.
    pub state: String,
    pub partitions: Vec<String>,
    pub features: Vec<String>,
    /// Processors that jobs can have.
    pub cpus: u32,
    /// Processors that jobs have.
    pub cpus_used: u32,
    /// What jobs can have besides: megabytes, and generic resources.
    pub has: Resources,
    /// Words of its state that this program does not know.
    pub unknown: Vec<String>,
}

impl Node {
    pub(super) fn gpus(&self) -> u32 {
        let count = self.has.generic.get("gpu").copied().unwrap_or(0);
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

/// States in which a node can run jobs.
const USABLE: [&str; 3] = ["IDLE", "MIXED", "ALLOCATED"];
/// States in which it cannot. An unknown state counts as one of these.
const UNUSABLE: [&str; 5] = ["DOWN", "ERROR", "FUTURE", "UNKNOWN", "BLOCKED"];
/// Flags beside a state, with which no job starts on the node.
const CLOSED: [&str; 14] = [
    "DRAIN",
    "FAIL",
    "MAINT",
    "NOT_RESPONDING",
    "INVALID_REG",
    "DYNAMIC_NORM_GONE",
    "BLOCKED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWER_DOWN",
    "POWER_DRAIN",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "DRAINING",
];
/// Flags that change nothing.
const OPEN: [&str; 18] = [
    "CLOUD",
    "COMPLETING",
    "RESERVED",
    "PLANNED",
    "DYNAMIC",
    "DYNAMIC_NORM",
    "DYNAMIC_FUTURE",
    "POWERING_UP",
    "POWER_UP",
    "POWERED_UP",
    "REBOOT_CANCELED",
    "RESUME",
    "UNDRAIN",
    "PERFCTRS",
    "NET",
    "EXTERNAL",
    "DRAINED",
    "IDLE",
];
/// Signs behind a state, as some versions and commands abbreviate flags.
const SIGNS: [(char, &str); 9] = [
    ('*', "NOT_RESPONDING"),
    ('~', "POWERED_DOWN"),
    ('#', "POWERING_UP"),
    ('!', "POWER_DOWN"),
    ('%', "POWERING_DOWN"),
    ('$', "MAINT"),
    ('@', "REBOOT_REQUESTED"),
    ('^', "REBOOT_ISSUED"),
    ('-', "PLANNED"),
];

/// The nodes of an answer. Lines are `Key=value Key=value …`; values may have blanks. A key that
/// is not there is empty or 0, one that is not known is left out.
///
/// # Errors
/// If the answer is cut off, or a line of it is no node.
pub(super) fn nodes(answer: &str) -> Result<Vec<Node>, String> {
    if answer.trim_start().starts_with("No nodes") {
        return Ok(Vec::new());
    }
    if !answer.is_empty() && !answer.ends_with('\n') {
        return Err("the answer was cut off".to_owned());
    }
    let lines = answer.lines().filter(|line| !line.trim().is_empty());
    let all: Result<Vec<Node>, String> = lines.map(node).collect();
    match all {
        Ok(all) if all.is_empty() => Err("the answer lists nothing".to_owned()),
        other => other,
    }
}

fn node(line: &str) -> Result<Node, String> {
    let fields = fields(line);
    let get = |key: &str| fields.get(key).copied().filter(|value| *value != "(null)");
    let text = |key: &str| get(key).unwrap_or_default();
    let number = |key: &str| get(key).and_then(|value| value.parse::<u64>().ok());
    let list = |key: &str| -> Vec<String> {
        let words = text(key).split(',').map(str::trim);
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (Some(name), Some(state)) = (get("NodeName"), get("State")) else {
        return Err(format!("no node: {:?}", line.chars().take(80).collect::<String>()));
    };
    let (words, unknown) = state_words(state);
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let base = words.first().map_or("", String::as_str);
    let shown = words.join("+").to_ascii_lowercase();
    let reason = text("Reason");
    let cpus = number("CPUEfctv").or(number("CPUTot")).unwrap_or(0);
    let memory = number("RealMemory").unwrap_or(0);
    Ok(Node {
        name: name.to_owned(),
        is_up: USABLE.contains(&base) && !is(&CLOSED),
        state: if reason.is_empty() { shown } else { format!("{shown} ({reason})") },
        partitions: list("Partitions"),
        features: list("ActiveFeatures"),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        cpus_used: u32::try_from(number("CPUAlloc").unwrap_or(0)).unwrap_or(u32::MAX),
        has: Resources {
            // What the system keeps for itself no job can have.
            memory: memory.saturating_sub(number("MemSpecLimit").unwrap_or(0)),
            generic: generic(text("Gres")),
        },
        unknown,
    })
}

/// State and flags, `IDLE+DRAIN` or `DOWN*`, and those of them that are not known.
fn state_words(text: &str) -> (Vec<String>, Vec<String>) {
    let mut words = Vec::new();
    for word in text.split('+') {
        let bare = word.trim_end_matches(|c| SIGNS.iter().any(|(sign, _)| *sign == c));
        words.push(bare.to_ascii_uppercase());
        let signs = word.get(bare.len()..).unwrap_or_default().chars();
        let flags = signs.filter_map(|c| SIGNS.iter().find(|(sign, _)| *sign == c));
        words.extend(flags.map(|(_, flag)| (*flag).to_owned()));
    }
    let known = |word: &&String| {
        [&USABLE[..], &UNUSABLE, &CLOSED, &OPEN].iter().any(|list| list.contains(&word.as_str()))
    };
    let unknown = words.iter().filter(|word| !known(word)).cloned().collect();
    (words, unknown)
}

/// Fields with texts of people, in which anything may stand; they come last.
const TEXTS: [&str; 3] = ["Reason=", "Comment=", "Extra="];

/// `Key=value` by key. A value ends where the next key begins, and a text of people with the line.
fn fields(line: &str) -> BTreeMap<&str, &str> {
    let is_key = |word: &str| {
        word.split_once('=').is_some_and(|(key, _)| {
            key.starts_with(|c: char| c.is_ascii_uppercase())
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for word in line.split(' ') {
        if is_key(word) {
            starts.push(at);
        }
        if TEXTS.iter().any(|key| word.starts_with(key)) {
            break;
        }
        at += word.len() + 1;
    }
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let mut all = BTreeMap::new();
    for (start, end) in starts.iter().zip(ends) {
        let pair = line.get(*start..end).unwrap_or_default().trim_end();
        if let Some((key, value)) = pair.split_once('=') {
            all.entry(key).or_insert(value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded answers: four nodes, of which the last one is drained; one has accelerators.
    const RECORDED: [(&str, &str); 3] = [
        ("22.05", include_str!("samples/nodes-22.05.txt")),
        ("24.11", include_str!("samples/nodes-24.11.txt")),
        ("26.05", include_str!("samples/nodes-26.05.txt")),
    ];

    #[test]
    fn every_version_lists_the_same_nodes() {
        for (version, text) in RECORDED {
            let all = nodes(text).unwrap();
            let shown = |it: &Node| {
                let lists = (it.partitions.join("+"), it.features.join("+"));
                format!("{} {} {} {:?} {} {}", it.name, it.is_up, it.cpus, lists, it.has, it.state)
            };
            let shown: Vec<String> = all.iter().map(shown).collect();
            let wanted = [
                "a1 true 4 (\"main\", \"\") 4000 MB mixed",
                "a2 true 4 (\"main+fast\", \"ssd+ib\") 4000 MB, gpu 2 idle",
                "a3 true 4 (\"main+fast\", \"\") 4000 MB idle",
                "a4 false 4 (\"main\", \"\") 4000 MB idle+drain (bad disk: State=IDLE x)",
            ];
            let without_who = |line: &String| line.split(" [root@").next().unwrap().to_owned();
            let shown: Vec<String> = shown.iter().map(|it| it.replace(')', "")).collect();
            let shown: Vec<String> = shown.iter().map(without_who).collect();
            let wanted: Vec<String> = wanted.iter().map(|it| it.replace(')', "")).collect();
            assert_eq!(shown, wanted, "{version}");
            assert!(all.iter().all(|node| node.unknown.is_empty()), "{version}");
            assert_eq!(all[1].gpus(), 2);
        }
    }

    #[test]
    fn states_of_all_versions_are_understood() {
        let seen = |state: &str| {
            let line = format!("NodeName=a1 State={state} Partitions=main CPUTot=4\n");
            let node = nodes(&line).unwrap().remove(0);
            (node.is_up, node.unknown)
        };
        for up in ["IDLE", "MIXED", "ALLOCATED+COMPLETING", "IDLE+CLOUD", "MIXED+PLANNED", "IDLE-"]
        {
            assert_eq!(seen(up), (true, Vec::new()), "{up}");
        }
        for down in [
            "DOWN",
            "DOWN*",
            "IDLE*",
            "IDLE+DRAIN",
            "MIXED+DRAIN",
            "DOWN+NOT_RESPONDING",
            "FUTURE",
            "IDLE+CLOUD+POWERED_DOWN",
            "IDLE~",
            "ALLOCATED+MAINT",
            "UNKNOWN",
            "IDLE+BLOCKED",
            "DOWN+DRAIN+INVALID_REG",
            "IDLE+REBOOT_REQUESTED",
        ] {
            assert_eq!(seen(down), (false, Vec::new()), "{down}");
        }
        assert_eq!(seen("HIBERNATED"), (false, vec!["HIBERNATED".to_owned()]));
        assert_eq!(seen("IDLE+SHINY"), (true, vec!["SHINY".to_owned()]));
    }

    #[test]
    fn what_is_cut_off_or_no_list_is_an_error() {
        let text = RECORDED[0].1;
        assert!(nodes(text.trim_end()).unwrap_err().contains("cut off"));
        assert!(nodes("").is_err() && nodes("slurm_load_node error: down\n").is_err());
        assert!(nodes("NodeName=a1 CPUTot=4\n").is_err(), "no state");
        assert_eq!(nodes("No nodes in the system\n"), Ok(Vec::new()));
    }
}
