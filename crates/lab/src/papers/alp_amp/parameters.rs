//! What the papers leave open, and our choices.

use tradewind_model::Rho;
use tradewind_sched::window::Variant;

use crate::case::{Case, Kind, Parameter};

pub(super) static COUNTS: Parameter = Parameter {
    name: "counts",
    meaning: "whether ranges of counts (slots, jobs, nodes) include their upper end",
    stated: Some("only ranges: [120, 150], [3, 7], [1, 6]"),
    kind: Kind::Word { default: "half-open", words: &["half-open", "closed"] },
};

pub(super) static TICKS: Parameter = Parameter {
    name: "ticks",
    meaning: "ticks of the clock in a unit of time: 1 rounds all times to units, 1,000 keeps them as \
              drawn",
    stated: Some("002 prints a class Slot whose start, end and length are whole numbers"),
    kind: Kind::Number { default: 1.0, range: (1.0, 1_000.0), sweep: &[10.0, 1_000.0] },
};

pub(super) static CAP: Parameter = Parameter {
    name: "price-cap",
    meaning: "a job's price cap over the market price of its least performance",
    stated: None,
    kind: Kind::Number { default: 1.0, range: (0.1, 10.0), sweep: &[0.9, 1.1, 1.25] },
};

pub(super) static CAP_SPREAD: Parameter = Parameter {
    name: "price-cap-spread",
    meaning: "how far a job's price cap may lie from that, either way, as a part of it; uniform",
    stated: None,
    kind: Kind::Number { default: 0.0, range: (0.0, 1.0), sweep: &[0.03, 0.06, 0.1] },
};

pub(super) static RESERVED: Parameter = Parameter {
    name: "reserved-time",
    meaning: "t in S = CtN: the work over the lowest performance, or the work itself",
    stated: Some("\"a time span to reserve\""),
    kind: Kind::Word { default: "least-performance", words: &["least-performance", "reference"] },
};

pub(super) static RHO: Parameter = Parameter {
    name: "rho",
    meaning: "the part of the budget S that AMP may use",
    stated: Some("1 in the study, \"e.g. 0.8\" as a proposal"),
    kind: Kind::Number { default: 1.0, range: (0.01, 1.0), sweep: &[0.8, 0.9, 0.95] },
};

pub(super) static BUDGET_TEST: Parameter = Parameter {
    name: "budget-test",
    meaning: "whether the budget is tested after each slot, or after all slots of one start",
    stated: Some("after each slot, in an order of equal starts that is not stated"),
    kind: Kind::Word { default: "each-slot", words: &["each-slot", "each-start"] },
};

pub(super) static TIME_LIMIT: Parameter = Parameter {
    name: "time-limit",
    meaning: "T*: jobs' mean times rounded up, rounded down, or each term of eq. (2) rounded down",
    stated: Some("the last of these, which many cycles cannot keep"),
    kind: Kind::Word { default: "mean-up", words: &["mean-up", "mean-down", "terms-down"] },
};

pub(super) static MEASURE: Parameter = Parameter {
    name: "measure",
    meaning: "a window's time: its longest task, or the sum of its tasks",
    stated: Some("\"the execution time\" of a job"),
    kind: Kind::Word { default: "runtime", words: &["runtime", "processor-time"] },
};

pub(super) static LIMITS: Parameter = Parameter {
    name: "cost-limits",
    meaning: "jobs' limits on a window's cost per unit of time, over those of the paper",
    stated: Some("10, 30 and 6"),
    kind: Kind::Number { default: 1.0, range: (0.1, 10.0), sweep: &[0.4, 0.9, 1.5] },
};

pub(super) static SEARCH: Parameter = Parameter {
    name: "search",
    meaning: "what finds windows: AMP, ALP, or the exact best within S by start, runtime or cost",
    stated: Some("ALP and AMP"),
    kind: Kind::Word { default: "amp", words: &["amp", "alp", "start", "runtime", "cost"] },
};

pub(super) static ALTERNATIVES: Parameter = Parameter {
    name: "max-alternatives",
    meaning: "windows that are searched for one job, under CSS and alone",
    stated: Some("until none is left"),
    kind: Kind::Number { default: 1_000.0, range: (1.0, 1e6), sweep: &[3.0, 10.0, 30.0] },
};

pub(super) static CHOICE_LIMIT: Parameter = Parameter {
    name: "choice-limit",
    meaning: "looks at a window that one choice of whole-batch may take",
    stated: None,
    kind: Kind::Number { default: 2e6, range: (0.0, 1e9), sweep: &[0.0, 1_000.0, 10_000.0] },
};

pub(super) static SCARCE: Parameter = Parameter {
    name: "scarce-slots",
    meaning: "the part of a cycle's slots that is left where jobs placed are counted",
    stated: None,
    kind: Kind::Number { default: 0.1, range: (0.01, 1.0), sweep: &[0.05, 0.15, 0.3] },
};

pub(super) static LIMITS_OF: Parameter = Parameter {
    name: "slicer-limits",
    meaning: "T* and B* of batch-slicer: of its sub-batches, or those of CSS, shared among them",
    stated: None,
    kind: Kind::Word { default: "own", words: &["own", "css"] },
};

/// ρ as the search takes it.
pub(super) fn rho(case: &Case) -> Rho {
    let thousandths = (case.number(&RHO) * 1_000.0).round() as u32;
    Rho::from_thousandths(thousandths).unwrap_or(Rho::ONE)
}

/// Whose steps AMP and ALP follow.
pub(super) fn variant(case: &Case) -> Variant {
    match case.word(&BUDGET_TEST) {
        "each-start" => Variant::Exact,
        _ => Variant::Paper,
    }
}
