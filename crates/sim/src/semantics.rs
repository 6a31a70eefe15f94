//! The order of events within a second of a replay.

/// What happens in which order within one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Semantics {
    /// All ends, then outages, then all submissions, then one pass of the policy. Whatever a pass
    /// causes in the same second (jobs of no length) is a further round.
    #[default]
    Textbook,
    /// As the simulator pyss does it: each submission with a pass of its own, then each end with
    /// a pass of its own, ends in the order of starts. A job that ends exactly when expected has
    /// freed its processors before the second's first pass.
    Pyss,
}
