//! How sites negotiate.

use tradewind_model::Span;

/// Which volunteer gets the job. Ties go on to the next criterion, then to the lowest peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choose {
    /// The minimum loaded backfill queues, then the earliest start, then the lowest cost: the
    /// paper's rule.
    #[default]
    Load,
    /// The earliest promised start, transfer included; then the lowest cost, then load.
    Start,
    /// The lowest cost, then the earliest start, then load.
    Cost,
    /// The lowest slowdown of the jobs that started last, then start, then cost.
    Slowdown,
    /// The smallest amount of data on their way there, then start, then cost.
    Network,
    /// The most free processors, then start, then cost.
    Free,
    /// The most free memory, then start, then cost.
    Memory,
}

impl Choose {
    /// All of them, with the names that scripts know.
    pub const ALL: [(Choose, &'static str); 7] = [
        (Choose::Load, "load"),
        (Choose::Start, "start"),
        (Choose::Cost, "cost"),
        (Choose::Slowdown, "slowdown"),
        (Choose::Network, "network"),
        (Choose::Free, "free"),
        (Choose::Memory, "memory"),
    ];

    /// Whether volunteers must state their [`SiteStatus`](super::SiteStatus).
    pub fn goes_by_status(self) -> bool {
        matches!(self, Choose::Slowdown | Choose::Network | Choose::Free | Choose::Memory)
    }
}

/// Who is asked in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Discover {
    /// All sites.
    #[default]
    All,
    /// So many, drawn at random among those that were not asked yet: the power of so many
    /// choices.
    Sample(u32),
}

/// The knobs of a negotiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegotiationSettings {
    /// Which volunteer gets the job.
    pub choose: Choose,
    /// Who is asked.
    pub discover: Discover,
    /// How often a search asks before it gives up.
    pub rounds: u32,
    /// How long offers are collected, and how long the first wait for an answer is: at least a
    /// round trip. A search that begins again after a rest takes twice as long as before.
    pub window: Span,
    /// How long an offer holds: longer than a window and a commit's way.
    pub offer_life: Span,
    /// How often a commit is sent before the next best volunteer's turn comes.
    pub tries: u32,
    /// The longest window, and the longest wait beside travel before a message is sent again;
    /// both double up to it.
    pub retry_max: Span,
    /// How long a search pauses once all sites were asked without success, and how long a job is
    /// left alone after a search that failed.
    pub pause: Span,
    /// How long after its arrival a job may have to wait at a volunteer. Zero: volunteers can
    /// start it at once, as in the paper.
    pub horizon: Span,
    /// How often a job may be passed on.
    pub hops: u32,
}

impl Default for NegotiationSettings {
    fn default() -> NegotiationSettings {
        NegotiationSettings {
            choose: Choose::Load,
            discover: Discover::All,
            rounds: 1,
            window: Span(4),
            offer_life: Span(30),
            tries: 3,
            retry_max: Span(600),
            pause: Span(60),
            horizon: Span::ZERO,
            hops: 1,
        }
    }
}

/// Why settings make no negotiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationSettingsError {
    /// A value below its least one.
    #[error("`{name}` must be at least {min}")]
    TooSmall {
        /// Of the knob.
        name: &'static str,
        /// What it may be.
        min: i64,
    },
}

impl NegotiationSettings {
    /// Asks `choices` sites at a time, three times.
    pub fn sampling(choices: u32) -> NegotiationSettings {
        NegotiationSettings {
            discover: Discover::Sample(choices),
            rounds: 3,
            ..NegotiationSettings::default()
        }
    }

    /// The settings, if they make sense.
    ///
    /// # Errors
    /// The first knob that is out of range.
    pub fn checked(self) -> Result<NegotiationSettings, NegotiationSettingsError> {
        let choices = match self.discover {
            Discover::All => 1,
            Discover::Sample(choices) => i64::from(choices),
        };
        let min = [
            ("discover", choices, 1),
            ("rounds", i64::from(self.rounds), 1),
            ("window", self.window.0, 1),
            ("offer_life", self.offer_life.0, 1),
            ("tries", i64::from(self.tries), 1),
            ("retry_max", self.retry_max.0, 1),
            ("pause", self.pause.0, 1),
            ("horizon", self.horizon.0, 0),
            ("hops", i64::from(self.hops), 1),
        ];
        match min.into_iter().find(|(_, value, min)| value < min) {
            Some((name, _, min)) => Err(NegotiationSettingsError::TooSmall { name, min }),
            None => Ok(self),
        }
    }
}
