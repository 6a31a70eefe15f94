//! The knobs of [`Dispatch`](super::Dispatch).

use tradewind_model::{Ratio, Span};

use super::clearing::{Clearing, Fraction};
use super::pricing::{Dynamics, Prices};
use super::unit::Valuation;

/// Who is looked at first, and which queue gets the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DispatchRule {
    /// The highest bid first; the lowest ask that can have it.
    Auction,
    /// By arrival; the first queue that can have the job, if the gate admits it: what bids and
    /// asks do as admission control alone.
    Admission,
    /// By arrival; the earliest slot.
    Fcfs,
    /// The minimum estimate first; the earliest slot.
    Sjf,
    /// The earliest deadline first; the earliest slot.
    EdfFq,
    /// The highest value first; the earliest slot.
    Hvfq,
    /// A job starts now if its part of all value is worth as many processors as it wants.
    FairShare,
}

impl DispatchRule {
    /// All rules, with their names on the command line.
    pub const ALL: [(DispatchRule, &'static str); 7] = [
        (DispatchRule::Auction, "auction"),
        (DispatchRule::Admission, "admission"),
        (DispatchRule::Fcfs, "meta-fcfs"),
        (DispatchRule::Sjf, "meta-sjf"),
        (DispatchRule::EdfFq, "edf-fq"),
        (DispatchRule::Hvfq, "hvfq"),
        (DispatchRule::FairShare, "fair-share"),
    ];
}

/// What a queue has to offer in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slots {
    /// Processors that are free now, and stay free for as long as the job takes.
    Immediate,
    /// The earliest place in the queue's plan, if it begins before the horizon.
    Packaged,
}

impl Slots {
    /// Both, with their names on the command line.
    pub const ALL: [(Slots, &'static str); 2] =
        [(Slots::Immediate, "immediate"), (Slots::Packaged, "packaged")];
}

/// Whether a bid must reach the ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// The bid must reach the ask.
    On,
    /// Bids and asks are only for putting jobs and queues in order.
    Off,
}

impl Gate {
    /// Both, with their names on the command line.
    pub const ALL: [(Gate, &'static str); 2] = [(Gate::On, "on"), (Gate::Off, "off")];
}

/// What a deadline means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deadline {
    /// A job goes only where it is expected to be finished by then, and is refused when that is
    /// out of reach.
    Check,
    /// It says how urgent a job is, no more.
    Ignore,
}

impl Deadline {
    /// Both, with their names on the command line.
    pub const ALL: [(Deadline, &'static str); 2] =
        [(Deadline::Check, "check"), (Deadline::Ignore, "ignore")];
}

/// Which of several queues with the same ask comes first. Queues that are still alike are taken in the
/// order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ties {
    /// The order of ids alone.
    Index,
    /// The most processors free now.
    MostFree,
    /// The lowest price.
    Cheapest,
    /// An order drawn again in each cycle.
    Random,
}

impl Ties {
    /// All, with their names on the command line.
    pub const ALL: [(Ties, &'static str); 4] = [
        (Ties::Index, "index"),
        (Ties::MostFree, "most-free"),
        (Ties::Cheapest, "cheapest"),
        (Ties::Random, "random"),
    ];
}

/// What the wait in a queue's ask is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Until a processor is free for good by the queue's plan.
    First,
    /// The work that is left of running and waiting jobs, spread over all processors.
    Backlog,
}

impl Wait {
    /// Both, with their names on the command line.
    pub const ALL: [(Wait, &'static str); 2] = [(Wait::First, "first"), (Wait::Backlog, "backlog")];
}

/// How a queue starts the jobs that wait in it, in the order of trades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueDiscipline {
    /// EASY backfilling: the first job has a reservation.
    Easy,
    /// Conservative backfilling: every job has one, which never becomes later.
    Conservative,
}

impl QueueDiscipline {
    /// Both, with their names on the command line.
    pub const ALL: [(QueueDiscipline, &'static str); 2] =
        [(QueueDiscipline::Easy, "easy"), (QueueDiscipline::Conservative, "conservative")];
}

/// Whether Demand/Supply of a cycle is a factor of its bids and asks (paper 003, equations 1 and 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DemandSupply {
    /// It is left out, since it cancels.
    LeftOut,
    /// It stands on both sides, as printed. No match depends on it; bids and asks as they are
    /// told have it.
    BothSides,
}

impl DemandSupply {
    /// Both, with their names in studies.
    pub const ALL: [(DemandSupply, &'static str); 2] =
        [(DemandSupply::LeftOut, "left-out"), (DemandSupply::BothSides, "both-sides")];
}

/// Of which processors a job has a share under [`DispatchRule::FairShare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShareOf {
    /// Of all processors.
    All,
    /// Of those that are free now.
    Free,
}

impl ShareOf {
    /// Both, with their names on the command line.
    pub const ALL: [(ShareOf, &'static str); 2] = [(ShareOf::All, "all"), (ShareOf::Free, "free")];
}

/// The knobs of [`Dispatch`](super::Dispatch). A span of less than a second counts as a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DispatchSettings {
    /// Who comes first, and where.
    pub rule: DispatchRule,
    /// From one look at the waiting jobs to the next.
    pub cycle: Span,
    /// What is traded. Fair shares are always immediate.
    pub slots: Slots,
    /// Packaged slots begin within this time.
    pub horizon: Span,
    /// Whether bids must reach asks.
    pub gate: Gate,
    /// What deadlines mean.
    pub deadline: Deadline,
    /// Which of equal asks comes first. Only for the auction.
    pub ties: Ties,
    /// The wait in the ask.
    pub wait: Wait,
    /// How old the loads in asks may be: queues publish theirs in the first cycle in which the last
    /// ones are so old, and trades in between do not change asks. Slots are always those of the
    /// moment. `None`: loads are those of the moment, too.
    pub publish: Option<Span>,
    /// How queues start jobs.
    pub local: QueueDiscipline,
    /// What every bid is multiplied by before it meets an ask: H/O in the paper's letters. A job
    /// (`Terms::bid_factor`) and a queue (`Pools::ask_factor`) may have factors of their own besides.
    pub ratio: Ratio,
    /// Whether Demand/Supply is a factor of bids and asks.
    pub demand_supply: DemandSupply,
    /// How far off the deadline of a job that has none counts as, in its bid.
    pub patience: Span,
    /// For fair shares alone.
    pub share: ShareOf,
    /// What a trade settles at.
    pub clearing: Clearing,
    /// How much of the gain is the owner's. Only for uniform and k-prices.
    pub k: Fraction,
    /// Where posted prices come from.
    pub prices: Prices,
    /// How they move. Only for dynamic prices.
    pub dynamics: Dynamics,
    /// What bids and asks are.
    pub valuation: Valuation,
    /// The wait that doubles an ask per node and second.
    pub tau: Span,
    /// Of random ties.
    pub seed: u64,
}

impl DispatchSettings {
    /// A rule with everything else as it is meant: the gate is there where bids and asks are the
    /// rule, and nowhere else.
    pub const fn of(rule: DispatchRule) -> DispatchSettings {
        DispatchSettings {
            rule,
            cycle: Span(10),
            slots: Slots::Immediate,
            horizon: Span(86_400),
            gate: match rule {
                DispatchRule::Auction | DispatchRule::Admission => Gate::On,
                _ => Gate::Off,
            },
            deadline: Deadline::Check,
            ties: Ties::MostFree,
            wait: Wait::Backlog,
            publish: None,
            local: QueueDiscipline::Easy,
            ratio: Ratio::ONE,
            demand_supply: DemandSupply::LeftOut,
            patience: Span(86_400),
            share: ShareOf::All,
            clearing: Clearing::Posted,
            k: Fraction::HALF,
            prices: Prices::List,
            dynamics: Dynamics::STANDARD,
            valuation: Valuation::Paper,
            tau: Span(300),
            seed: 1,
        }
    }

    /// The continuous double auction.
    pub const fn auction() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::Auction)
    }

    /// The gate alone.
    pub const fn admission() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::Admission)
    }

    /// First come, first served.
    pub const fn fcfs() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::Fcfs)
    }

    /// Shortest job first.
    pub const fn sjf() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::Sjf)
    }

    /// Earliest deadline first, fastest queue.
    pub const fn edf_fq() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::EdfFq)
    }

    /// Highest value first, fastest queue.
    pub const fn hvfq() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::Hvfq)
    }

    /// Shares by value.
    pub const fn fair_share() -> DispatchSettings {
        DispatchSettings::of(DispatchRule::FairShare)
    }

    /// Whether jobs need a value.
    pub fn by_value(&self) -> bool {
        use DispatchRule::{Admission, Auction, FairShare, Hvfq};
        self.gate == Gate::On
            || self.clearing.divides_the_gain()
            || matches!(self.rule, Auction | Admission | Hvfq | FairShare)
    }

    /// How prices move, if they do.
    pub(super) fn dynamics(&self) -> Option<Dynamics> {
        (self.prices == Prices::Dynamic).then_some(self.dynamics)
    }

    /// Whether the gate excludes jobs that are not worth the price of an idle queue.
    pub(super) fn gate_wants_worth(&self) -> bool {
        self.gate == Gate::On && self.valuation == Valuation::Unit
    }

    /// Whether trades have a limit.
    pub(super) fn has_limits(&self) -> bool {
        self.clearing.divides_the_gain() || self.gate_wants_worth()
    }
}

impl Default for DispatchSettings {
    fn default() -> DispatchSettings {
        DispatchSettings::auction()
    }
}
