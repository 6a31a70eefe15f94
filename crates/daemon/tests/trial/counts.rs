//! How much happened in generated worlds.

/// What happened, to know that enough does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) steps: u64,
    /// Jobs whose parts came together, and those that did not.
    pub(crate) gathered: u64,
    pub(crate) slipped: u64,
    /// Of the first, those of which every site reported the start.
    pub(crate) launched: u64,
    /// The same of jobs whose parts begin each by themselves.
    pub(crate) apart: u64,
    /// Windows that a site would not keep free.
    pub(crate) unkept: u64,
    /// Jobs that were to be taken back, and tasks that had begun by then.
    pub(crate) recalled: u64,
    pub(crate) resumed: u64,
    /// Tasks that were seen held at their sites.
    pub(crate) held: u64,
    /// Jobs that were planned again after they had paid.
    pub(crate) settled: u64,
    /// Jobs that were sent to the queue of a site, and those that it started.
    pub(crate) lined: u64,
    pub(crate) turns: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, more: Counts) {
        self.steps += more.steps;
        self.gathered += more.gathered;
        self.slipped += more.slipped;
        self.launched += more.launched;
        self.apart += more.apart;
        self.unkept += more.unkept;
        self.recalled += more.recalled;
        self.resumed += more.resumed;
        self.held += more.held;
        self.settled += more.settled;
        self.lined += more.lined;
        self.turns += more.turns;
    }
}
