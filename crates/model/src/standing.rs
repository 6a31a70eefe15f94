//! How the market's jobs stand to the queue of a site's owners.

/// Where the market's jobs stand in the queue of a site's own scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Standing {
    /// Behind it: they take only what the queue of the owners' jobs leaves free.
    #[default]
    Behind,
    /// In it: they wait there beside the owners' jobs, and start when the site's scheduler starts
    /// them.
    InLine,
}

impl Standing {
    /// All of them, with the words of configuration files.
    pub const WORDS: [(&str, Standing); 2] =
        [("behind", Standing::Behind), ("in-line", Standing::InLine)];

    /// Its word in configuration files.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Behind => "behind",
            Standing::InLine => "in-line",
        }
    }
}
