//! What the paper leaves open, and our choices.

use tradewind_model::{Ratio, Span, random};
use tradewind_sched::policy::dispatch::{
    Deadline, DemandSupply, Gate, QueueDiscipline, ShareOf, Slots, Ties, Wait,
};

use crate::case::{Case, Kind, Parameter};

pub(super) static CYCLE: Parameter = Parameter {
    name: "cycle",
    meaning: "seconds from one look at the waiting jobs to the next",
    stated: None,
    kind: Kind::Number { default: 10.0, range: (0.1, 3_600.0), sweep: &[30.0, 2.0, 5.0] },
};

pub(super) static STEADY_CYCLE: Parameter = Parameter {
    name: "steady-cycle",
    meaning: "the same in the study of steady load",
    stated: None,
    kind: Kind::Number { default: 0.1, range: (0.001, 3_600.0), sweep: &[1.0, 2.5, 10.0] },
};

pub(super) static TICKS: Parameter = Parameter {
    name: "ticks-per-second",
    meaning: "ticks of the clock in a second; submissions are squeezed into ten minutes",
    stated: None,
    kind: Kind::Number { default: 1_000.0, range: (1.0, 1_000.0), sweep: &[1.0, 100.0] },
};

pub(super) static PROCESSORS: Parameter = Parameter {
    name: "processors",
    meaning: "processors of each site over those of table I",
    stated: Some("table I"),
    kind: Kind::Number { default: 1.0, range: (0.5, 10.0), sweep: &[0.75, 1.5] },
};

pub(super) static SLACK: Parameter = Parameter {
    name: "slack",
    meaning: "the latest deadline after submission, in run times; the earliest is one run time",
    stated: Some("3"),
    kind: Kind::Number { default: 3.0, range: (1.0, 100.0), sweep: &[2.0, 5.0] },
};

pub(super) static SLOTS: Parameter = Parameter {
    name: "slots",
    meaning: "what a queue offers: processors that are free now, or the earliest place in its plan",
    stated: Some("both kinds, without saying which was simulated"),
    kind: Kind::Word { default: "immediate", words: &["immediate", "packaged"] },
};

pub(super) static HORIZON: Parameter = Parameter {
    name: "horizon",
    meaning: "packaged slots begin within this many seconds",
    stated: Some("only its letter, T_H"),
    kind: Kind::Number { default: 86_400.0, range: (1.0, 1e7), sweep: &[10.0, 3_600.0] },
};

pub(super) static GATE: Parameter = Parameter {
    name: "gate",
    meaning: "whether the auction trades only where the bid reaches the ask",
    stated: Some("\"bid >= ask\", with a loop that never ends as printed"),
    kind: Kind::Word { default: "on", words: &["on", "off"] },
};

pub(super) static STEADY_GATE: Parameter = Parameter {
    name: "steady-gate",
    meaning: "the same in the study of steady load, where all jobs are to run",
    stated: Some("\"bid >= ask\""),
    kind: Kind::Word { default: "off", words: &["on", "off"] },
};

pub(super) static TIES: Parameter = Parameter {
    name: "ties",
    meaning: "which of equal asks comes first; every idle queue asks nothing",
    stated: None,
    kind: Kind::Word { default: "most-free", words: &["most-free", "index", "cheapest", "random"] },
};

pub(super) static WAIT: Parameter = Parameter {
    name: "wait",
    meaning: "the wait in an ask: work left over processors, or until one processor is free",
    stated: Some("\"waiting time\" of the queue"),
    kind: Kind::Word { default: "backlog", words: &["backlog", "first"] },
};

pub(super) static RATIO: Parameter = Parameter {
    name: "ratio",
    meaning: "H/O: what a bid is multiplied by before it meets an ask",
    stated: Some("only the letters"),
    kind: Kind::Number { default: 1.0, range: (0.001, 1e6), sweep: &[0.01, 0.1, 10.0] },
};

pub(super) static DEADLINES: Parameter = Parameter {
    name: "rivals-deadlines",
    meaning: "whether the baselines, too, place no job that would be late",
    stated: Some("\"if (u < 0) for an application then [it] will not be scheduled\""),
    kind: Kind::Word { default: "check", words: &["check", "ignore"] },
};

pub(super) static SHARES: Parameter = Parameter {
    name: "shares",
    meaning: "of which processors FairShare deals out shares: all, or those that are free",
    stated: Some("\"queue slots proportional to the ratio of its valuation\""),
    kind: Kind::Word { default: "all", words: &["all", "free"] },
};

pub(super) static VALUES: Parameter = Parameter {
    name: "values",
    meaning: "a value of U(90 000, 160 000) per job, or that scaled by the job's work over the mean",
    stated: Some("\"average initial valuation [...] between 90000 and 160000\""),
    kind: Kind::Word { default: "per-job", words: &["per-job", "by-work"] },
};

pub(super) static PRICES: Parameter = Parameter {
    name: "prices",
    meaning: "a price of U(4.5, 9.5) per site, or one per queue",
    stated: Some("\"assigned to each resource\""),
    kind: Kind::Word { default: "per-site", words: &["per-site", "per-queue"] },
};

pub(super) static WINDOW: Parameter = Parameter {
    name: "deviation-window",
    meaning: "seconds after the first submission over which deviations of load are averaged",
    stated: Some("\"the time period of the execution\""),
    kind: Kind::Number {
        default: 36_000.0,
        range: (60.0, 1e6),
        sweep: &[600.0, 3_600.0, 100_000.0],
    },
};

pub(super) static WIDEST: Parameter = Parameter {
    name: "widest",
    meaning: "the widest job; all widths up to it are equally likely",
    stated: None,
    kind: Kind::Number { default: 64.0, range: (1.0, 65.0), sweep: &[32.0, 48.0] },
};

pub(super) static QUEUES: Parameter = Parameter {
    name: "queues",
    meaning: "queues of a site in the simulation: 1, or 3 of sizes 1:2:3",
    stated: None,
    kind: Kind::Word { default: "three", words: &["three", "one"] },
};

pub(super) static PUBLISH: Parameter = Parameter {
    name: "publish",
    meaning: "how old the loads in asks may be, in seconds; 0: they are those of the moment",
    stated: None,
    kind: Kind::Number { default: 0.0, range: (0.0, 86_400.0), sweep: &[60.0, 600.0, 3_600.0] },
};

pub(super) static IN_QUEUES: Parameter = Parameter {
    name: "in-queues",
    meaning: "how queues backfill: only the first job has a reservation, or all have one",
    stated: Some("\"EASY [...] or conservative backfilling\" as examples of local schedulers"),
    kind: Kind::Word { default: "easy", words: &["easy", "conservative"] },
};

pub(super) static DEMAND_SUPPLY: Parameter = Parameter {
    name: "demand-supply",
    meaning: "Demand/Supply of a cycle: left out of bids and asks, or a factor of both, where it \
              cancels",
    stated: Some("a factor of both"),
    kind: Kind::Word { default: "left-out", words: &["left-out", "both-sides"] },
};

pub(super) static ASK_FACTORS: Parameter = Parameter {
    name: "ask-factors",
    meaning: "the greatest O of a queue, drawn for each from its inverse on; 1: all are alike",
    stated: Some("\"Ok is proportionality constants\""),
    kind: Kind::Number { default: 1.0, range: (1.0, 100.0), sweep: &[2.0, 10.0] },
};

pub(super) static BID_FACTORS: Parameter = Parameter {
    name: "bid-factors",
    meaning: "the greatest H of a user, drawn for each from its inverse on; 1: all are alike",
    stated: Some("\"Hi is proportionality constants\""),
    kind: Kind::Number { default: 1.0, range: (1.0, 100.0), sweep: &[2.0, 10.0] },
};

pub(super) static VALUATION: Parameter = Parameter {
    name: "valuation",
    meaning: "the model's first stage: valuation takes no time, or as long as in the run, whose bids \
              give the shares of the classes",
    stated: Some("\"very small\" times; the p of the classes without numbers"),
    kind: Kind::Word { default: "no-time", words: &["no-time", "run"] },
};

pub(super) static URGENCY_CLASSES: Parameter = Parameter {
    name: "urgency-classes",
    meaning: "the width of the classes of urgency; the fifth has no upper border",
    stated: Some("0.25"),
    kind: Kind::Number { default: 0.25, range: (0.01, 10.0), sweep: &[0.1, 0.5] },
};

pub(super) static VALUE_CLASSES: Parameter = Parameter {
    name: "value-classes",
    meaning: "the borders of the classes of value per processor over ours, of which the paper names \
              the first",
    stated: Some("1 000 as the first"),
    kind: Kind::Number { default: 1.0, range: (0.01, 100.0), sweep: &[0.5, 2.0] },
};

/// Ticks in a second.
pub(super) fn ticks(case: &Case) -> i64 {
    case.number(&TICKS).round() as i64
}

/// A factor between the inverse of the greatest and the greatest, every thousandth as likely.
pub(super) fn factor(case: &Case, greatest: &Parameter, (seed, of): (u64, u64)) -> Ratio {
    let greatest = case.number(greatest);
    let thousandths = |factor: f64| (factor * 1_000.0).round() as i64;
    let (low, high) = (thousandths(1.0 / greatest), thousandths(greatest));
    let mut rng = random::stream(seed, "factor", of);
    let drawn = u32::try_from(random::within(&mut rng, low, high)).ok();
    drawn.and_then(Ratio::from_thousandths).unwrap_or(Ratio::ONE)
}

/// A parameter of seconds in ticks, at least one.
pub(super) fn span(case: &Case, parameter: &Parameter, ticks: i64) -> Span {
    Span((case.number(parameter) * ticks as f64).round().max(1.0) as i64)
}

pub(super) fn slots(case: &Case) -> Slots {
    named(&Slots::ALL, case.word(&SLOTS), Slots::Immediate)
}

pub(super) fn gate(case: &Case, parameter: &Parameter) -> Gate {
    named(&Gate::ALL, case.word(parameter), Gate::On)
}

pub(super) fn ties(case: &Case) -> Ties {
    named(&Ties::ALL, case.word(&TIES), Ties::MostFree)
}

pub(super) fn wait(case: &Case) -> Wait {
    named(&Wait::ALL, case.word(&WAIT), Wait::Backlog)
}

pub(super) fn ratio(case: &Case) -> Ratio {
    let thousandths = (case.number(&RATIO) * 1_000.0).round() as u32;
    Ratio::from_thousandths(thousandths).unwrap_or(Ratio::ONE)
}

/// `None` for loads of the moment.
pub(super) fn publish(case: &Case) -> Option<Span> {
    (case.number(&PUBLISH) > 0.0).then(|| span(case, &PUBLISH, ticks(case)))
}

pub(super) fn in_queues(case: &Case) -> QueueDiscipline {
    named(&QueueDiscipline::ALL, case.word(&IN_QUEUES), QueueDiscipline::Easy)
}

pub(super) fn demand_supply(case: &Case) -> DemandSupply {
    named(&DemandSupply::ALL, case.word(&DEMAND_SUPPLY), DemandSupply::LeftOut)
}

pub(super) fn rivals_deadlines(case: &Case) -> Deadline {
    named(&Deadline::ALL, case.word(&DEADLINES), Deadline::Check)
}

pub(super) fn shares(case: &Case) -> ShareOf {
    named(&ShareOf::ALL, case.word(&SHARES), ShareOf::All)
}

/// What has this name on the command line, too.
fn named<T: Copy>(all: &[(T, &'static str)], name: &str, otherwise: T) -> T {
    all.iter().find(|(_, known)| *known == name).map_or(otherwise, |(value, _)| *value)
}
