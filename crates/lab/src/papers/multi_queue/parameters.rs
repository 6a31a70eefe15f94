//! What the paper leaves open, and our choices; and what it states and a reader may want to vary.

use crate::case::{Kind, Parameter};

const fn number(
    name: &'static str,
    meaning: &'static str,
    stated: Option<&'static str>,
    default: f64,
    range: (f64, f64),
    sweep: &'static [f64],
) -> Parameter {
    Parameter { name, meaning, stated, kind: Kind::Number { default, range, sweep } }
}

const fn word(
    name: &'static str,
    meaning: &'static str,
    stated: Option<&'static str>,
    words: &'static [&'static str],
) -> Parameter {
    Parameter { name, meaning, stated, kind: Kind::Word { default: words[0], words } }
}

pub(super) static RATE: Parameter = number(
    "jobs-per-minute",
    "jobs that arrive per minute in the whole grid; the loads of figures 8 and 10 do not depend \
     on it",
    Some("0.167, which is more than eight sites can do: an offered load of 1.06"),
    0.167,
    (0.01, 0.5),
    &[0.125, 0.142],
);

pub(super) static JOBS: Parameter = number(
    "jobs-per-run",
    "jobs of a run; an eighth of them at quick size",
    Some("7 200 per month, but not how long it runs"),
    7_200.0,
    (800.0, 100_000.0),
    &[3_600.0, 14_400.0],
);

pub(super) static WARM_UP: Parameter = number(
    "warm-up",
    "the share of a run's first jobs that do not count, because the grid begins empty",
    None,
    0.1,
    (0.0, 0.9),
    &[0.0, 0.3],
);

pub(super) static HOMES: Parameter = word(
    "homes",
    "at which site a job is submitted: each as likely; in turn; or the first sites more often, \
     as 8 to 1",
    None,
    &["even", "turns", "skewed"],
);

pub(super) static OVERESTIMATE: Parameter = number(
    "overestimate",
    "the most times its run time that a job asks for, each factor from 1 on as likely",
    None,
    1.0,
    (1.0, 20.0),
    &[2.0, 5.0],
);

pub(super) static ALPHA: Parameter = number(
    "alpha",
    "the share of the job queue that holds reservations",
    Some("0.1 to 0.5"),
    0.3,
    (0.0, 1.0),
    &[0.1, 0.5],
);

pub(super) static BETA: Parameter = number(
    "beta",
    "the jobs at which a backfill queue overflows",
    Some("a threshold; \"e.g. ≥ 64\" matters less"),
    64.0,
    (1.0, 100_000.0),
    &[4.0, 16.0, 256.0],
);

pub(super) static PATIENCE: Parameter = number(
    "patience",
    "after so many starts of others a job moves from a backfill queue to the job queue; 0: never, \
     as printed",
    None,
    0.0,
    (0.0, 1e6),
    &[64.0, 256.0],
);

pub(super) static GUARD: Parameter = word(
    "guard",
    "which job is sure of a reservation: none beyond its class, as printed, or the oldest job",
    None,
    &["nobody", "oldest"],
);

pub(super) static RESERVE: Parameter = word(
    "reserve",
    "whether a reservation is kept once it is made, or all are withdrawn and made again, for the \
     jobs that come first by then, whenever something happens",
    None,
    &["kept", "replanned"],
);

pub(super) static CHOOSE: Parameter = word(
    "choose",
    "which volunteer gets a job: that with the fewest jobs to be backfilled, the earliest start, the \
     lowest slowdown, the smallest amount of data on their way, or the most free processors",
    Some("the status of a site has all of these, and the use of memory"),
    &["load", "start", "slowdown", "network", "free"],
);

pub(super) static OVERFLOW: Parameter = word(
    "overflow",
    "whether jobs that leave a backfill queue are offered to other sites as well",
    Some("\"dispatched to the job queue, or sent to other node\""),
    &["migrate", "queue"],
);

pub(super) static LATENCY: Parameter = number(
    "latency",
    "seconds that a message takes between two sites",
    None,
    1.0,
    (0.0, 600.0),
    &[10.0, 60.0],
);

pub(super) static DATA: Parameter = number(
    "data-mb",
    "megabytes per processor that go with a job, at 10 per second",
    None,
    10.0,
    (0.0, 1e6),
    &[0.0, 100.0, 1_000.0],
);

pub(super) static QUEUED: Parameter = word(
    "queued",
    "what backfilling ratios are shares of: all jobs, or those that had to wait",
    Some("\"the number of queued jobs\""),
    &["all", "waited"],
);

pub(super) static SCALE_LOAD: Parameter = number(
    "scale-load",
    "the offered load of grids of 8 to 512 sites",
    None,
    0.9,
    (0.1, 1.2),
    &[0.7, 1.0],
);

pub(super) static LOG_LOAD: Parameter = number(
    "log-load",
    "the offered load that a month of the log is stretched or pressed to",
    None,
    0.9,
    (0.1, 1.2),
    &[0.7, 1.0],
);

pub(super) static FLURRY: Parameter = number(
    "flurry",
    "jobs of one user in January 1997 that the cleaned log lacks and the paper's had; the log's \
     header says how many, the table that none was wider than 128",
    None,
    2_080.0,
    (0.0, 1e5),
    &[0.0],
);
