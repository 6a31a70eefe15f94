//! The named state of a site: what it is, since when, and why in words.
//!
//! The state is decided in [`Live`](crate::live::Live) from surveys and answers, and written down
//! ([`SiteRecord::Health`](super::record::SiteRecord::Health)), so that a restart knows it.

use tradewind_model::Time;

use crate::site::SiteError;

/// The state of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteState {
    /// It answers, and all its nodes work.
    Up,
    /// It was not surveyed since the start of the daemon.
    Joining,
    /// It does not answer, and never did.
    NeverReached,
    /// It does not answer, and did before.
    Lost,
    /// A call does not return.
    Hanging,
    /// It answers, and refuses jobs.
    Refusing,
    /// It answers, and some of its nodes are down or drained.
    PartlyDrained,
    /// It answers, and all its nodes are down or drained.
    Drained,
}

impl SiteState {
    /// All of them.
    pub const ALL: [SiteState; 8] = [
        SiteState::Up,
        SiteState::Joining,
        SiteState::NeverReached,
        SiteState::Lost,
        SiteState::Hanging,
        SiteState::Refusing,
        SiteState::PartlyDrained,
        SiteState::Drained,
    ];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            SiteState::Up => "up",
            SiteState::Joining => "joining",
            SiteState::NeverReached => "never-reached",
            SiteState::Lost => "lost",
            SiteState::Hanging => "hanging",
            SiteState::Refusing => "refusing",
            SiteState::PartlyDrained => "partly-drained",
            SiteState::Drained => "drained",
        }
    }

    /// The state of this name.
    pub fn parse(name: &str) -> Option<SiteState> {
        SiteState::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Its name in a sentence, before `since`: `lost since …`.
    pub fn words(self) -> &'static str {
        match self {
            SiteState::Up => "up",
            SiteState::Joining => "not surveyed yet,",
            SiteState::NeverReached => "never reached, tried",
            SiteState::Lost => "lost",
            SiteState::Hanging => "hanging",
            SiteState::Refusing => "refusing jobs",
            SiteState::PartlyDrained => "partly drained",
            SiteState::Drained => "drained",
        }
    }

    /// Whether the site answers.
    pub fn answers(self) -> bool {
        match self {
            SiteState::Up | SiteState::Refusing | SiteState::PartlyDrained | SiteState::Drained => {
                true
            }
            SiteState::Joining | SiteState::NeverReached | SiteState::Lost | SiteState::Hanging => {
                false
            }
        }
    }

    /// Whether people should know of it: the site fails, at least in part.
    pub fn is_failure(self) -> bool {
        !matches!(self, SiteState::Up | SiteState::Joining)
    }
}

/// A site's state, as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Which.
    pub state: SiteState,
    /// Since when.
    pub since: Time,
    /// Why, in the site's own words; empty where there is nothing to say.
    pub reason: String,
    /// It has answered a survey at some time.
    pub has_answered: bool,
    /// Of a site that refuses jobs: when its nodes are tried again.
    pub retry: Option<Time>,
}

impl Health {
    /// Whether plans, forecasts, quotes and offers may use the site's nodes.
    pub fn is_counted_on(&self, now: Time) -> bool {
        match self.state {
            SiteState::Refusing => self.retry.is_some_and(|retry| retry <= now),
            state => state.answers(),
        }
    }

    /// Whether it says what the other one says, whenever that began. A reason that differs only in
    /// what [`public_reason`] leaves out is the same.
    pub fn is_same(&self, other: &Health) -> bool {
        let said = |it: &Health| match it.state.answers() {
            true => it.reason.clone(),
            false => public_reason(&it.reason),
        };
        let key = |it: &Health| (it.state, it.has_answered, it.retry);
        key(self) == key(other) && said(self) == said(other)
    }
}

/// The state of a site that gave no answer.
pub fn without_answer(error: &SiteError, has_answered: bool) -> SiteState {
    match (error.is_hanging(), has_answered) {
        (true, _) => SiteState::Hanging,
        (false, true) => SiteState::Lost,
        (false, false) => SiteState::NeverReached,
    }
}

/// The state by nodes that work, of all: and the reason in words. `problem` is what is wrong with
/// the configuration of a pool.
pub fn by_nodes(up: u32, all: u32, problem: Option<&str>) -> (SiteState, String) {
    let down = all.saturating_sub(up);
    let counted = format!("{down} of {all} nodes are down or drained");
    let reason = match problem {
        Some(problem) => format!("{counted}: {problem}"),
        None => counted,
    };
    match down {
        0 => (SiteState::Up, String::new()),
        down if down == all => (SiteState::Drained, reason),
        _ => (SiteState::PartlyDrained, reason),
    }
}

/// What all users may read of a site's own words, which name accounts, commands and paths: a cause
/// that is known, or that there is none.
pub fn public_reason(reason: &str) -> String {
    known_cause(reason).unwrap_or("no answer").to_owned()
}

/// The cause in a site's own words, if it is a known one.
pub(crate) fn known_cause(reason: &str) -> Option<&'static str> {
    let known = CAUSES.iter().copied().find(|cause| reason.contains(cause));
    known.map(|cause| match cause {
        // How long was waited stands behind it, and differs.
        "did not answer within" => "no answer in time",
        cause => cause,
    })
}

/// Causes that say nothing private, the more precise ones first.
const CAUSES: [&str; 18] = [
    "Connection timed out",
    "Connection refused",
    "Connection reset by peer",
    "Connection closed",
    "No route to host",
    "Network is unreachable",
    "Could not resolve hostname",
    "Host key verification failed",
    "Permission denied",
    "Operation timed out",
    "Socket timed out",
    "Unable to contact slurm controller",
    "no survey came",
    "no answer to an order came",
    "did not answer within",
    "No such file or directory",
    "cut off",
    "was killed",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_names_of_their_own() {
        for state in SiteState::ALL {
            assert_eq!(SiteState::parse(state.name()), Some(state));
        }
        assert_eq!(SiteState::parse("away"), None);
    }

    #[test]
    fn who_does_not_answer_is_lost_never_reached_or_hangs() {
        let away = SiteError::Away("connect: Connection refused".to_owned());
        let slow = SiteError::Unknown("Socket timed out on send/recv operation".to_owned());
        let stuck = SiteError::Hanging("no survey came within 2 s".to_owned());
        assert_eq!(without_answer(&away, true), SiteState::Lost);
        assert_eq!(without_answer(&away, false), SiteState::NeverReached);
        for hanging in [slow, stuck] {
            assert_eq!(without_answer(&hanging, true), SiteState::Hanging);
            assert_eq!(without_answer(&hanging, false), SiteState::Hanging);
        }
    }

    #[test]
    fn nodes_are_counted() {
        assert_eq!(by_nodes(4, 4, None), (SiteState::Up, String::new()));
        assert_eq!(by_nodes(5, 4, None), (SiteState::Up, String::new()), "more than configured");
        let some = "1 of 4 nodes are down or drained".to_owned();
        assert_eq!(by_nodes(3, 4, None), (SiteState::PartlyDrained, some));
        let none = "4 of 4 nodes are down or drained: no such partition".to_owned();
        assert_eq!(by_nodes(0, 4, Some("no such partition")), (SiteState::Drained, none));
    }

    #[test]
    fn users_read_causes_and_no_commands() {
        let said =
            "site gamma: `ssh -l adm gamma squeue`: ssh: connect to host: Connection timed out";
        assert_eq!(public_reason(said), "Connection timed out");
        assert_eq!(public_reason("site gamma: /secret/path: it broke"), "no answer");
        let slow = "site gamma: `squeue --json` did not answer within 2 s and was killed";
        assert_eq!(public_reason(slow), "no answer in time");
    }
}
