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
    kind: Kind::Number { default: 1.12, range: (0.01, 100.0), sweep: &[1.0, 1.375] },
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

pub(super) static WINDOWS: Parameter = Parameter {
    name: "random-windows",
    meaning: "windows that minProcTime draws at each slot of the list; the best of all is kept",
    stated: Some("\"a random window is selected\""),
    kind: Kind::Number { default: 1.0, range: (1.0, 64.0), sweep: &[4.0, 16.0] },
};

pub(super) static TASKS: Parameter = Parameter {
    name: "batch-tasks",
    meaning: "the most nodes that a job of a batch wants; the minimum is 2",
    stated: None,
    kind: Kind::Number { default: 5.0, range: (2.0, 24.0), sweep: &[4.0, 6.0] },
};

pub(super) static BATCH_WORK: Parameter = Parameter {
    name: "batch-work",
    meaning: "the mean work of a job's tasks in a batch; it is drawn up to half of that around it",
    stated: None,
    kind: Kind::Number { default: 310.0, range: (10.0, 3_000.0), sweep: &[250.0, 370.0] },
};

pub(super) static RICHEST: Parameter = Parameter {
    name: "richest",
    meaning: "the largest budget of a job over the market value of its request",
    stated: Some("\"market value+60 % extra charge\""),
    kind: Kind::Number { default: 1.6, range: (0.2, 5.0), sweep: &[1.4, 2.0] },
};

pub(super) static POOREST: Parameter = Parameter {
    name: "poorest",
    meaning: "the smallest budget of a job over the market value of its request",
    stated: Some("\"60 % discounts\", 0.4, with which hardly any cycle gives every job a window"),
    kind: Kind::Number { default: 1.0, range: (0.1, 5.0), sweep: &[0.8, 1.1] },
};

pub(super) static ALTERNATIVES: Parameter = Parameter {
    name: "alternatives",
    meaning: "the most alternatives that are searched for a job of a batch; 1,000 is no limit",
    stated: None,
    kind: Kind::Number { default: 13.0, range: (1.0, 1_000.0), sweep: &[8.0, 1_000.0] },
};

pub(super) static SUB_BATCHES: Parameter = Parameter {
    name: "sub-batches",
    meaning: "sub-batches of 20 jobs in the studies of users' and owners' preferences",
    stated: None,
    kind: Kind::Number { default: 20.0, range: (1.0, 20.0), sweep: &[1.0, 5.0, 10.0] },
};

pub(super) static SLICES_SEARCH: Parameter = Parameter {
    name: "slices-search",
    meaning: "what searches windows where batches are sliced: the first that fits, or each job's \
              own criterion",
    stated: None,
    kind: Kind::Word { default: "first-fit", words: &["first-fit", "own-criterion"] },
};

pub(super) static HIGH: Parameter = Parameter {
    name: "high-load",
    meaning: "added to the local load of every node for the high level, as a part of the interval",
    stated: Some("the level at which 30 % of the cycles fail"),
    kind: Kind::Number { default: 0.13, range: (-0.1, 0.4), sweep: &[0.09, 0.17] },
};

pub(super) static MEDIUM: Parameter = Parameter {
    name: "medium-load",
    meaning: "added to the local load of every node for the medium level",
    stated: Some("the level at which 3 % of the cycles fail; also of figure 9, not of table 2"),
    kind: Kind::Number { default: 0.04, range: (-0.1, 0.4), sweep: &[0.0, 0.08] },
};

pub(super) static LOW: Parameter = Parameter {
    name: "low-load",
    meaning: "added to the local load of every node for the low level",
    stated: Some("a level at which fewer than 0.02 % of the cycles fail"),
    kind: Kind::Number { default: -0.08, range: (-0.1, 0.4), sweep: &[-0.04, 0.0] },
};

pub(super) static OWNED: Parameter = Parameter {
    name: "owner-performance",
    meaning: "the performance of the node whose owner sets its price",
    stated: Some("the node of table 2 is not described; performances are 2 to 10"),
    kind: Kind::Number { default: 6.0, range: (2.0, 10.0), sweep: &[5.0, 7.0] },
};

pub(super) static BACKFILLING: Parameter = Parameter {
    name: "backfilling",
    meaning: "whether the head of the queue alone has a reservation, or every job",
    stated: None,
    kind: Kind::Word { default: "conservative", words: &["easy", "conservative"] },
};

pub(super) static SLICER: Parameter = Parameter {
    name: "slicer-sub-batches",
    meaning: "sub-batches of batch-slicer where it is compared with backfilling",
    stated: Some("\"the least value … was achieved when slicing the job batch into 5\", elsewhere"),
    kind: Kind::Number { default: 20.0, range: (1.0, 20.0), sweep: &[5.0, 10.0] },
};

pub(super) static FIRST: Parameter = Parameter {
    name: "bsf-sub-batches",
    meaning: "sub-batches of the first jobs in the union with backfilling",
    stated: Some("\"the first sub-batch, scheduled with CSS\""),
    kind: Kind::Number { default: 1.0, range: (1.0, 20.0), sweep: &[5.0, 20.0] },
};

pub(super) static SHORTEST: Parameter = Parameter {
    name: "shortest-run",
    meaning: "the smallest part of the reserved time that a job runs; all up to 1 are as likely",
    stated: Some("0.2"),
    kind: Kind::Number { default: 0.2, range: (0.01, 1.0), sweep: &[0.1, 0.5] },
};

pub(super) static REPLAYED: Parameter = Parameter {
    name: "replayed-load",
    meaning: "added to the local load of every node where jobs end early: ours is the low level",
    stated: None,
    kind: Kind::Number { default: -0.08, range: (-0.1, 0.4), sweep: &[-0.04, 0.04] },
};

pub(super) static STEP: Parameter = Parameter {
    name: "step-time",
    meaning: "nanoseconds that the paper's machine takes for a step of a search: to look at a slot \
              of the expanded window once",
    stated: Some("\"Intel Core i3 (2 cores @ 2.93 GHz)\""),
    kind: Kind::Number { default: 64.0, range: (0.1, 1e5), sweep: &[32.0, 128.0] },
};
