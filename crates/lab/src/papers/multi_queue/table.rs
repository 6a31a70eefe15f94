//! What table 1 and the CTC log say.

use super::months::{MONTHS, Row, TABLE};
use super::schemes::{
    CENTRAL, CONSERVATIVE, CONSERVATIVE_MOVING, EASY, EASY_MOVING, GUARDED, HYBRID, HYBRID_ALONE,
    Scheme,
};
use super::shown::{everywhere, gain, less, listed, more};
use crate::case::Case;
use crate::findings::{Claim, Evidence, Findings, Published};
use crate::study::Study;
use crate::tally::{Estimate, Tally};
use crate::verdict::Verdict;

pub(super) static TABLE1: Study = Study {
    id: "004-table1",
    title: "Table 1: jobs per month of the CTC SP2 log",
    experiment: &MONTHS,
    findings: table1,
};

pub(super) static ON_THE_LOG: Study = Study {
    id: "004-log",
    title: "The claims of figures 8 to 10 on the months of the CTC SP2 log",
    experiment: &MONTHS,
    findings: on_the_log,
};

const NO_LOG: &str = "The log is not there: `--logs` says where it is.";

/// Without the log there is nothing to tell.
fn without_log(text: &'static str) -> Claim {
    let claim = Claim::new(text, Verdict::Inconclusive, "nothing was counted".to_owned());
    Claim { why: Some(NO_LOG.to_owned()), ..claim }
}

/// The count of a month (of [`TABLE`]) and a column.
fn count<const MONTH: usize, const COLUMN: usize>(tally: &Tally) -> Estimate {
    const COLUMNS: [&str; 3] = ["total", "a", "b"];
    tally.exact(&format!("{}/{}", TABLE[MONTH].month, COLUMNS[COLUMN]))
}

/// The mean month.
fn average<const COLUMN: usize>(tally: &Tally) -> Estimate {
    sum::<COLUMN>(tally).map(|sum| sum / TABLE.len() as f64)
}

fn sum<const COLUMN: usize>(tally: &Tally) -> Estimate {
    const COLUMNS: [&str; 3] = ["total", "a", "b"];
    let of = |row: &Row| tally.exact(&format!("{}/{}", row.month, COLUMNS[COLUMN])).mean;
    Estimate::exact(TABLE.iter().map(of).sum())
}

const fn printed(
    name: &'static str,
    (value, decimals): (f64, u8),
    place: &'static str,
    erratum: Option<&'static str>,
    measured: fn(&Tally) -> Estimate,
) -> Published {
    let (unit, kind, cause) = ("jobs", Evidence::Measured, ANOTHER_LOG);
    Published { name, value, decimals, unit, place, cause, erratum, measured, kind }
}

const ANOTHER_LOG: &str = "Another version of the log: ours is cleaned and has the batch \
                           partition only.";

/// All of a month's jobs, unless fewer are printed than take at most 256 nodes.
const fn too_few(row: &Row) -> Option<&'static str> {
    match row.total < row.a {
        true => Some("Printed below the same month's \"A type\", which is a part of it."),
        false => None,
    }
}

macro_rules! month {
    ($at:literal, $name:literal) => {
        [
            printed(
                concat!($name, ", total"),
                (TABLE[$at].total as f64, 0),
                "table 1",
                too_few(&TABLE[$at]),
                count::<$at, 0>,
            ),
            printed(
                concat!($name, ", A type"),
                (TABLE[$at].a as f64, 0),
                "table 1",
                None,
                count::<$at, 1>,
            ),
            printed(
                concat!($name, ", B type"),
                (TABLE[$at].b as f64, 0),
                "table 1",
                None,
                count::<$at, 2>,
            ),
        ]
    };
}

static BY_MONTH: [[Published; 3]; 11] = [
    month!(0, "July"),
    month!(1, "August"),
    month!(2, "September"),
    month!(3, "October"),
    month!(4, "November"),
    month!(5, "December"),
    month!(6, "January"),
    month!(7, "February"),
    month!(8, "March"),
    month!(9, "April"),
    month!(10, "May"),
];

static IN_ALL: [Published; 4] = [
    printed("average, total", (7_208.09, 2), "table 1", None, average::<0>),
    printed("average, A type", (7_194.27, 2), "table 1", None, average::<1>),
    printed("average, B type", (7_166.55, 2), "table 1", None, average::<2>),
    printed(
        "all jobs",
        (79_296.0, 0),
        "section 5",
        Some("The months of table 1 sum to 79 289."),
        sum::<0>,
    ),
];

fn table1(_: &Case, tally: &Tally) -> Findings {
    let there = counted(tally);
    let all = BY_MONTH.iter().flatten().chain(&IN_ALL).filter(|_| there);
    let notes = vec![
        format!(
            "Errata: \"A type\" is a part of the total, but exceeds it in {}; in {} even \"B \
             type\" does. Both columns are exact counts of the log, so it is the totals that are \
             misprinted, or counted in another way; the averages are right for what is printed.",
            months(|row| row.a > row.total),
            months(|row| row.b > row.total)
        ),
        "Months are those of New York, with daylight saving; a job of the last hour of April by \
         standard time is one of May. January has back the flurry of one user that the cleaned \
         log leaves out, 2 080 jobs by its header (`flurry`)."
            .to_owned(),
    ];
    let claims = vec![subset(), columns(tally), few_wide(tally)];
    Findings {
        numbers: all.map(|number| number.against(tally)).collect(),
        claims,
        notes,
        ..Findings::default()
    }
}

fn counted(tally: &Tally) -> bool {
    tally.series("widest").count > 0
}

fn months(of: fn(&Row) -> bool) -> String {
    let all: Vec<&str> = TABLE.iter().filter(|row| of(row)).map(|row| row.month).collect();
    all.join(", ")
}

fn subset() -> Claim {
    let wrong = TABLE.iter().filter(|row| row.a > row.total || row.b > row.a).count();
    Claim::new(
        "Jobs of at most 256 nodes (A) are some of all, those of at most 128 (B) some of A",
        if wrong == 0 { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!("not in {wrong} of the {} printed months", TABLE.len()),
    )
    .because("The totals are misprinted, or counted in another way than the other columns.")
}

/// How many months are right to the job.
fn columns(tally: &Tally) -> Claim {
    let text = "The log has exactly so many jobs of type A and B in every month";
    if !counted(tally) {
        return without_log(text);
    }
    let of = |row: &Row, column: &str| tally.exact(&format!("{}/{column}", row.month)).mean;
    let equal = |of: f64, printed: u32| (of - f64::from(printed)).abs() < 0.5;
    let right = |column: &str, printed: fn(&Row) -> u32| {
        TABLE.iter().filter(|row| equal(of(row, column), printed(row))).count()
    };
    let (total, a, b) =
        (right("total", |row| row.total), right("a", |row| row.a), right("b", |row| row.b));
    let share = Estimate::exact((a + b) as f64 / (2 * TABLE.len()) as f64);
    let measured = format!(
        "A in {a}, B in {b}, the total in {total} of {} months; the log's widest job has {:.0} \
         processors",
        TABLE.len(),
        tally.series("widest").max
    );
    Claim::always(text, share, measured).because(ANOTHER_LOG)
}

fn few_wide(tally: &Tally) -> Claim {
    let text = "Nearly all jobs take at most 128 nodes (99.4 % of the table's)";
    if !counted(tally) {
        return without_log(text);
    }
    let share = sum::<2>(tally).mean / sum::<0>(tally).mean;
    Claim::new(
        text,
        if share > 0.98 { Verdict::Reproduced } else { Verdict::Trend },
        format!("{:.1} % of the log's", 100.0 * share),
    )
    .because(ANOTHER_LOG)
}

fn on_the_log(_: &Case, tally: &Tally) -> Findings {
    let schemes = [
        HYBRID,
        GUARDED,
        HYBRID_ALONE,
        EASY,
        EASY_MOVING,
        CONSERVATIVE,
        CONSERVATIVE_MOVING,
        CENTRAL,
    ];
    let there = tally.series("log/hybrid/response").count > 0;
    let shown = |measure, decimals| listed(tally, "log", &schemes, measure, decimals);
    let fit = tally.pairs("fit").ratio();
    let notes = match there {
        false => vec![NO_LOG.to_owned()],
        true => vec![
            format!(
                "Each month is a run of its own from an empty grid; jobs wider than a site are \
                 left out ({:.1} % of them), the rest is dealt to homes.",
                100.0 * (1.0 - fit.mean)
            ),
            format!("Mean response in hours: {}.", shown("response", 2)),
            format!("Longest wait in hours: {}.", shown("longest-wait", 0)),
            format!("Bounded slowdown: {}.", shown("bounded", 1)),
        ],
    };
    let gains = match there {
        false => vec![],
        true => [
            (GUARDED, "patience and a guard, so that every job starts at last"),
            (CENTRAL, "control: one EASY queue for all sites instead of sites"),
            (EASY_MOVING, "control: EASY with migration instead of the mechanism"),
        ]
        .iter()
        .flat_map(|(ours, name)| {
            [("response", "mean response, h"), ("longest-wait", "longest wait, h")]
                .map(|shown| gain(tally, "log", (*ours, HYBRID), name, shown))
        })
        .collect(),
    };
    Findings { claims: log_claims(tally), gains, notes, ..Findings::default() }
}

fn log_claims(tally: &Tally) -> Vec<Claim> {
    let against = |measure| {
        [EASY, CONSERVATIVE]
            .map(|other: Scheme| {
                (format!("against {}", other.name), more(tally, "log", HYBRID, other, measure))
            })
            .to_vec()
    };
    let upside_down = |cases: Vec<(String, Estimate)>| -> Vec<(String, Estimate)> {
        cases.into_iter().map(|(name, of)| (name, less(of))).collect()
    };
    let shown =
        |measure, decimals| listed(tally, "log", &[HYBRID, EASY, CONSERVATIVE], measure, decimals);
    let all = [
        (
            "The hybrid mechanism backfills more than EASY and conservative backfilling",
            against("backfilled"),
            shown("backfilled", 3),
            "Jobs that are passed on and start at once pass nobody.",
        ),
        (
            "Its slowdown by equation (13) is less",
            upside_down(against("slowdown")),
            shown("slowdown", 3),
            "Narrow jobs decide this mean, and most of the log's are narrow.",
        ),
        (
            "Its response is greater than conservative backfilling's",
            vec![(
                "the mean of months".to_owned(),
                more(tally, "log", HYBRID, CONSERVATIVE, "response"),
            )],
            shown("response", 2),
            "Migration saves more waiting than transfers take.",
        ),
        (
            "Nobody waits longer than with EASY",
            upside_down(vec![(
                "the mean of months".to_owned(),
                more(tally, "log", HYBRID, EASY, "longest-wait"),
            )]),
            shown("longest-wait", 0),
            "As printed nothing bounds the wait of long and of remote jobs.",
        ),
    ];
    let there = tally.series("log/hybrid/response").count > 0;
    let claim = |(text, cases, measured, why): (&'static str, Vec<_>, String, &str)| match there {
        true => everywhere(text, &cases, measured).because(why),
        false => without_log(text),
    };
    all.into_iter().map(claim).collect()
}
