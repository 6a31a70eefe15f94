//! The limit of a search's work.

/// The steps that are left of a work limit.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
}

impl Work {
    pub(super) fn new(limit: u64) -> Work {
        Work { left: limit }
    }

    /// Takes `steps`; whether there were that many.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let enough = self.left >= steps as u64;
        self.left = self.left.saturating_sub(steps as u64);
        enough
    }
}
