//! What the paper leaves open, and our choices.

use crate::case::{Kind, Parameter};

pub(super) static MARKET: Parameter = Parameter {
    name: "market-price",
    meaning: "the market price of performance P over price-base^P, in the study of single jobs",
    stated: None,
    kind: Kind::Number { default: 1.375, range: (0.01, 100.0), sweep: &[1.2, 1.5] },
};

pub(super) static BATCH_MARKET: Parameter = Parameter {
    name: "batch-market-price",
    meaning: "the market price of performance P over price-base^P, in the studies of batches",
    stated: None,
    kind: Kind::Number { default: 1.16, range: (0.01, 100.0), sweep: &[1.0, 1.375] },
};

pub(super) static PRICE_BASE: Parameter = Parameter {
    name: "price-base",
    meaning: "how many times as much a node costs that is faster by 1",
    stated: Some("prices depend \"on the node performance level\""),
    kind: Kind::Number { default: 1.3, range: (1.0, 3.0), sweep: &[1.2, 1.4] },
};

pub(super) static DEVIATION: Parameter = Parameter {
    name: "price-deviation",
    meaning: "the standard deviation of a node's price over the market price",
    stated: Some("\"normally distributed\""),
    kind: Kind::Number { default: 0.2, range: (0.0, 1.0), sweep: &[0.1, 0.3] },
};

pub(super) static BUDGET: Parameter = Parameter {
    name: "budget",
    meaning: "the single job's budget in credits",
    stated: Some("1 500"),
    kind: Kind::Number { default: 1_500.0, range: (1.0, 1e6), sweep: &[1_300.0, 1_700.0] },
};

pub(super) static WORK: Parameter = Parameter {
    name: "single-work",
    meaning: "the work of each task of the single job; on the slowest nodes it takes half of it",
    stated: Some("\"5 parallel slots for 150 units of time\""),
    kind: Kind::Number { default: 300.0, range: (1.0, 1e4), sweep: &[150.0, 600.0] },
};

pub(super) static LOCAL_TASK: Parameter = Parameter {
    name: "local-task",
    meaning: "the longest local task of an owner; the shortest is 40",
    stated: None,
    kind: Kind::Number { default: 150.0, range: (40.0, 600.0), sweep: &[80.0, 250.0] },
};

pub(super) static LOAD_STEPS: Parameter = Parameter {
    name: "load-steps",
    meaning: "balls drawn from the urn of the hypergeometric law of local load",
    stated: Some("only the law and its range, 10 to 50 %"),
    kind: Kind::Number { default: 4.0, range: (1.0, 100.0), sweep: &[1.0, 20.0] },
};

pub(super) static SEARCHES: Parameter = Parameter {
    name: "searches",
    meaning: "whether windows are searched by the paper's steps or exactly",
    stated: Some("algorithms 1 and 2, and a random window for minProcTime"),
    kind: Kind::Word { default: "paper", words: &["paper", "exact"] },
};
