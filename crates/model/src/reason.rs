//! Why a job is not placed.

use std::fmt;

use crate::{Money, Performance, Resource, Span, Time};

/// Why a job got no window. The same value serves tests, command line, API and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// More tasks than the grid has nodes.
    WiderThanGrid {
        /// Nodes asked for.
        needed: u32,
        /// Nodes there are.
        nodes: u32,
    },
    /// Too few nodes are fast enough, have the attributes and keep to the price cap.
    TooFewNodes {
        /// Nodes asked for.
        needed: u32,
        /// Nodes that suit.
        suitable: u32,
        /// The performance asked for.
        min_performance: Option<Performance>,
    },
    /// Enough nodes suit, but never so many are free together for long enough.
    NoCommonTime {
        /// Nodes asked for.
        needed: u32,
        /// The most that are free together, each for its task's length.
        max: u32,
        /// The deadline that was applied.
        deadline: Option<Time>,
    },
    /// Tasks may share nodes, and there is never room for all of them together for long enough.
    TooFewPlaces {
        /// Tasks asked for.
        needed: u32,
        /// The most that have a place together.
        max: u32,
        /// The deadline that was applied.
        deadline: Option<Time>,
    },
    /// Tasks may share nodes, and would all have a place if each took less of one resource.
    ResourceShort {
        /// Which one.
        resource: Resource,
        /// What each task asks for.
        needed: u64,
        /// The most that each could ask for, all else unchanged.
        would_do: u64,
        /// On how many nodes less than `needed` is free when the tasks could then start.
        nodes: u32,
        /// Nodes that suit otherwise.
        of: u32,
    },
    /// There would be windows with fewer of one licence.
    LicenceShort {
        /// Its name.
        licence: String,
        /// How many the job takes along.
        needed: u32,
        /// The most with which there is a window, its other licences unchanged as far as they
        /// are free.
        max: u32,
        /// The deadline that was applied.
        deadline: Option<Time>,
    },
    /// Windows exist, but none within the budget.
    BudgetShort {
        /// The cheapest window's cost.
        cheapest: Money,
        /// What may be spent.
        budget: Money,
    },
    /// Even with all nodes free the job would not be finished by its deadline any more.
    TooLate {
        /// The earliest finish, within the budget if there is one.
        earliest: Time,
        /// Deadline of the job.
        deadline: Time,
    },
    /// More tasks than any queue that would take the job has processors.
    WiderThanQueues {
        /// Processors asked for.
        needed: u32,
        /// Of the widest queue that suits.
        widest: u32,
    },
    /// The policy trades by value, and the job states neither a value nor a budget above zero.
    NoValue,
    /// All queues that could have finished it in time asked more than it bid: until its deadline
    /// was out of reach, or for good, because it is not worth so much.
    PricedOut {
        /// The last bid.
        bid: Money,
        /// The lowest of those asks.
        ask: Money,
    },
    /// There are windows, but other jobs got them: those of higher priority, or, in whole-batch
    /// planning, any.
    Outbid,
    /// A policy that is not ours declined it, and gave no reason.
    Declined,
    /// Every combination with this job breaks the VO's time limit.
    TimeLimit {
        /// Time limit T* of the batch.
        limit: Span,
        /// The minimum time of all combinations when this job was given up.
        min: Span,
    },
    /// Every combination with this job breaks the VO's budget limit.
    BudgetLimit {
        /// Budget B* of the batch.
        limit: Money,
        /// The minimum cost of all combinations when this job was given up.
        min: Money,
    },
    /// Each of the VO's limits can be kept alone, but no combination with this job keeps both.
    BothLimits {
        /// The time limit.
        time: Span,
        /// The budget limit.
        budget: Money,
    },
    /// Every combination with this job breaks the VO's limit on a further quantity.
    SumLimit {
        /// The quantity's name and the limit with its unit: `energy 2.5 kWh`.
        limit: String,
        /// The minimum sum of all combinations when this job was given up, with its unit.
        min: String,
    },
    /// Each of the VO's limits can be kept alone, but no combination with this job was found that
    /// keeps all of them.
    AllLimits,
}

impl Reason {
    /// A short fixed name for scripts and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::WiderThanGrid { .. } => "wider-than-grid",
            Reason::TooFewNodes { .. } => "too-few-nodes",
            Reason::NoCommonTime { .. } => "no-common-time",
            Reason::TooFewPlaces { .. } => "too-few-places",
            Reason::ResourceShort { .. } => "resource-short",
            Reason::LicenceShort { .. } => "licence-short",
            Reason::BudgetShort { .. } => "budget-short",
            Reason::TooLate { .. } => "too-late",
            Reason::WiderThanQueues { .. } => "wider-than-queues",
            Reason::NoValue => "no-value",
            Reason::PricedOut { .. } => "priced-out",
            Reason::Outbid => "outbid",
            Reason::Declined => "declined",
            Reason::TimeLimit { .. } => "vo-time-limit",
            Reason::BudgetLimit { .. } => "vo-budget-limit",
            Reason::BothLimits { .. } => "vo-limits",
            Reason::SumLimit { .. } => "vo-sum-limit",
            Reason::AllLimits => "vo-all-limits",
        }
    }
}

/// One sentence without a final period.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::WiderThanGrid { needed, nodes } => {
                write!(f, "needs {needed} nodes and the grid has {nodes}")
            }
            Reason::TooFewNodes { needed, suitable, min_performance } => {
                write!(f, "only {suitable} of {needed} nodes suit")?;
                match min_performance {
                    Some(min) => write!(f, " (performance at least {min})"),
                    None => Ok(()),
                }
            }
            Reason::NoCommonTime { needed, max, deadline } => {
                write!(f, "at most {max} of {needed} nodes are free together for long enough")?;
                match deadline {
                    Some(deadline) => write!(f, " before the deadline at {deadline}"),
                    None => write!(f, " within the horizon"),
                }
            }
            Reason::TooFewPlaces { needed, max, deadline } => {
                write!(f, "places for at most {max} of {needed} tasks are free together")?;
                match deadline {
                    Some(deadline) => write!(f, " before the deadline at {deadline}"),
                    None => Ok(()),
                }
            }
            Reason::ResourceShort { resource, needed, would_do, nodes, of } => {
                let would_do = resource.in_whole_units(*would_do);
                let by = resource.show(needed.saturating_sub(would_do));
                write!(f, "{resource} short by {by} on {nodes} of {of} nodes: ")?;
                match would_do {
                    0 => write!(f, "tasks without it have places"),
                    _ => write!(f, "{} would do", resource.show(would_do)),
                }
            }
            Reason::LicenceShort { licence, needed, max, deadline } => {
                write!(f, "licence `{licence}`: {needed} are never free together for long enough")?;
                if let Some(deadline) = deadline {
                    write!(f, " before the deadline at {deadline}")?;
                }
                match max {
                    0 => write!(f, "; none is"),
                    1 => write!(f, "; at most 1 is"),
                    _ => write!(f, "; at most {max} are"),
                }
            }
            Reason::BudgetShort { cheapest, budget } => write!(
                f,
                "budget short by {}: the cheapest window costs {cheapest}, the budget is {budget}",
                *cheapest - *budget
            ),
            Reason::TooLate { earliest, deadline } => {
                write!(f, "finishes at {earliest} at the earliest, the deadline is {deadline}")
            }
            Reason::WiderThanQueues { needed, widest: 0 } => {
                write!(f, "needs {needed} nodes and no queue takes such jobs")
            }
            Reason::WiderThanQueues { needed, widest } => {
                write!(f, "needs {needed} nodes and the widest queue for it has {widest}")
            }
            Reason::NoValue => write!(f, "states neither a value nor a budget to bid with"),
            Reason::PricedOut { bid, ask } => {
                write!(f, "last bid {bid}, and queues that were in time asked {ask} or more")
            }
            Reason::Outbid => write!(f, "other jobs took every window"),
            Reason::Declined => write!(f, "the policy declined it"),
            Reason::TimeLimit { limit, min } => {
                write!(f, "the batch needs at least {min} s and the VO's time limit is {limit} s")
            }
            Reason::BudgetLimit { limit, min } => {
                write!(f, "the batch costs at least {min} and the VO's budget limit is {limit}")
            }
            Reason::BothLimits { time, budget } => {
                write!(f, "no combination keeps to both {time} s and {budget} credits")
            }
            Reason::SumLimit { limit, min } => {
                write!(f, "the batch needs at least {min} and the VO's limit is {limit}")
            }
            Reason::AllLimits => write!(f, "no combination keeps to all of the VO's limits"),
        }
    }
}
