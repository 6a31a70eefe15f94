use proptest::prelude::*;
use tradewind_model::{Horizon, Time};

use crate::chart::*;

const DAY: i64 = 86_400;

fn job(number: usize, at: (i64, i64, i64), first: u32, last: u32) -> ReplayJob {
    let (submit, start, end) = at;
    ReplayJob {
        name: number.to_string(),
        user: Some(number as i64 % 11),
        submit: Time(submit),
        start: Time(start),
        end: Time(end),
        fate: if number % 5 == 4 { RunFate::Killed } else { RunFate::Completed },
        processors: vec![Processors { first, last, until: Time(end) }],
        width: last - first + 1,
    }
}

fn hold(cause: HoldCause, from: i64, until: i64, processors: (u32, u32)) -> Hold {
    let label = format!("{cause:?}");
    Hold { cause, label, from: Time(from), until: Time(until), processors: vec![processors] }
}

/// Jobs one after the other on each of four groups of four processors, two sites.
fn sample() -> Replay {
    let pool = |name: &str| ReplayPool { name: name.to_owned(), processors: 8 };
    let jobs: Vec<ReplayJob> = (0..40)
        .map(|i| {
            let (group, turn) = (i % 4, (i / 4) as i64);
            let start = turn * 4_000 + 300 * group as i64;
            let last = 4 * group as u32 + (i % 3) as u32 + 1;
            job(i, (start - 100 * (turn % 3), start, start + 3_000), 4 * group as u32, last)
        })
        .collect();
    Replay {
        title: "easy <on> a & b".to_owned(),
        pools: vec![pool("alpha"), pool("a pool with a name that is much too long for its place")],
        waiting: waiting(&jobs),
        jobs,
        holds: vec![
            hold(HoldCause::Local, 9_000, 20_000, (3, 3)),
            hold(HoldCause::Maintenance, 12_000, 18_000, (14, 15)),
            hold(HoldCause::Failure, 30_000, 40_000, (7, 7)),
            hold(HoldCause::Reserved, 38_000, 42_000, (0, 3)),
        ],
    }
}

/// A year on 4,096 processors: more than can be drawn.
fn large() -> Replay {
    let jobs: Vec<ReplayJob> = (0..60_000_usize)
        .map(|i| {
            let start = i as i64 * 525;
            let first = (i as u32 * 97) % 4_000;
            job(
                i,
                (start - 60, start, start + 3_600 + (i as i64 % 9) * 7_000),
                first,
                first + i as u32 % 96,
            )
        })
        .collect();
    let pools = vec![ReplayPool { name: "big".to_owned(), processors: 4_096 }];
    let (title, waiting) = ("large".to_owned(), waiting(&jobs));
    Replay { title, pools, jobs, waiting, holds: Vec::new() }
}

fn waiting(jobs: &[ReplayJob]) -> Vec<(Time, Time)> {
    jobs.iter().map(|job| (job.submit, job.start)).collect()
}

fn gantt(replay: &Replay, window: Option<Horizon>) -> Picture {
    Picture::Gantt(GanttOfRun::new(replay, GanttOptions { window, ..GanttOptions::default() }))
}

fn curves(values: Vec<(&str, Vec<i64>)>) -> Picture {
    let curve = |(name, values): (&str, Vec<i64>)| Curve {
        name: name.to_owned(),
        values: values.into_iter().collect(),
    };
    let curves = values.into_iter().map(curve).collect();
    Picture::Curves(Curves { title: "Waits".to_owned(), measure: Spread::Wait, curves })
}

fn comparison(values: &[f64]) -> Picture {
    let measure = |name: &str, unit, better| Measure {
        name: name.to_owned(),
        unit,
        better,
        values: values
            .iter()
            .map(|&mean| Some(Estimate { mean, interval: Some((mean * 0.9, mean * 1.2)) }))
            .collect(),
        best: values.iter().map(|value| *value == values[0]).collect(),
    };
    Picture::Comparison(Comparison {
        title: "Policies".to_owned(),
        policies: (0..values.len()).map(|i| format!("policy[order=shortest,depth={i}]")).collect(),
        groups: Vec::new(),
        verdict: "the best is bold".to_owned(),
        measures: vec![
            measure("mean wait", Unit::Seconds, Better::Lower),
            measure("income", Unit::Credits, Better::Higher),
        ],
    })
}

/// The drawing is well-formed, and no number in it is infinite or none.
pub(super) fn sound(picture: &Picture) -> String {
    let svg = picture.svg();
    resvg::usvg::Tree::from_str(&svg, &resvg::usvg::Options::default()).unwrap();
    let words = |text: &str| {
        text.split(['"', ' ', 'M', 'H', 'V', 'h', 'v']).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(
        !words(&svg).iter().any(|word| ["NaN", "inf", "-inf"].contains(&word.as_str())),
        "{svg}"
    );
    assert_eq!(svg, picture.svg());
    svg
}

#[test]
fn a_gantt_chart_has_a_shape_per_job_and_marks_ends_and_holds() {
    let svg = sound(&gantt(&sample(), None));
    assert_eq!(svg.matches("<path d=").count(), 40 + 4 + 1, "jobs, holds, killed ends");
    assert!(svg.contains("<title>job 7, user 7, 3 processors, 50 min, waited 1 min 40 s</title>"));
    for words in [
        "easy &lt;on&gt; a &amp; b",
        "40 jobs; 16 processors",
        "killed at its request",
        "owners' load",
        "failed",
        "reserved",
        "alpha",
        "other users",
        "a pool with a name that is much",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(svg.contains("…</text>") && svg.contains("prefers-color-scheme:dark"));
    assert!(!svg.contains("the rest is left out"));
}

#[test]
fn colours_go_to_the_users_with_most_processor_time() {
    let mut replay = sample();
    for job in &mut replay.jobs {
        job.user = Some(if job.name == "3" { 99 } else { 5 });
    }
    let svg = sound(&gantt(&replay, None));
    assert!(svg.find("user 5 (").unwrap() < svg.find("user 99 (").unwrap());
    assert!(!svg.contains("other users"));
    replay.jobs.iter_mut().for_each(|job| job.user = None);
    assert!(sound(&gantt(&replay, None)).contains("Colours only tell neighbouring jobs apart"));
}

#[test]
fn a_window_cuts_the_picture_and_says_so() {
    let window = Horizon { start: Time(4_000), end: Time(8_000) };
    let svg = sound(&gantt(&sample(), Some(window)));
    assert!(
        svg.contains("4 of 40 jobs: those that ran from day 0, 1:06:40 to day 0, 2:13:20"),
        "{svg}"
    );
    assert!(svg.contains("A part of the replay; the rest is left out."));
}

#[test]
fn a_large_replay_is_drawn_as_cells_of_its_busiest_week() {
    let mut replay = large();
    let svg = sound(&gantt(&replay, None));
    assert!(svg.contains("every cell of"), "cells");
    assert!(svg.contains("The busiest week; the rest is left out."));
    assert!(svg.len() < 2_000_000, "{}", svg.len());
    // Another week with everything in use is busier.
    replay.jobs.push(job(0, (99 * DAY, 100 * DAY, 107 * DAY), 0, 4_095));
    assert_eq!(
        replay.busiest_week(),
        Some(Horizon { start: Time(100 * DAY), end: Time(107 * DAY) })
    );
}

#[test]
fn the_busiest_week_is_found_among_all() {
    let mut replay = sample();
    let whole = replay.horizon().unwrap();
    assert_eq!(replay.busiest_week(), Some(whole));
    replay.jobs = (0..60_i64)
        .map(|day| {
            let width = (day * 7 % 13) as u32;
            job(0, (day * DAY, day * DAY, (day + 1) * DAY), 0, width)
        })
        .collect();
    let busy = |first: i64| (first..first + 7).map(|day| day * 7 % 13 + 1).sum::<i64>();
    let best = (0..=53).max_by_key(|&first| (busy(first), std::cmp::Reverse(first))).unwrap();
    assert_eq!(replay.busiest_week().unwrap().start, Time(best * DAY));
}

#[test]
fn utilisation_shows_jobs_holds_and_the_queue() {
    let svg = sound(&Picture::Usage(Usage::new(&sample())));
    for words in [
        "used by jobs",
        "owners' load and maintenance",
        "failed",
        "Jobs waiting",
        "Share of the processors",
        "40 jobs on 16 processors in 11 h",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    // 40 jobs of 3,000 s; of widths 2, 3, 4 in turn; on 16 processors from -0 to the last end.
    let area: f64 = (0..40).map(|i| f64::from(i % 3 + 2) * 3_000.0).sum();
    let span = 9.0 * 4_000.0 + 900.0 + 3_000.0;
    let mean = Unit::Share.say(area / span / 16.0);
    assert!(svg.contains(&format!("mean use {mean}")), "{mean}");
}

#[test]
fn curves_have_a_line_each_and_a_place_for_zero() {
    let svg = sound(&curves(vec![
        ("easy", vec![0, 0, 5, 700]),
        ("fcfs", vec![90, 4_000, 900_000]),
        ("none", vec![]),
    ]));
    assert_eq!(svg.matches("<path").count(), 2);
    assert!(svg.contains("easy: half at once, 95 % within 11 min 40 s"), "{svg}");
    assert!(svg.contains("stroke-dasharray") && svg.contains("1 week") && svg.contains(">0<"));
    assert!(svg.contains("1 of 3 policies ran nothing."));
    let many = (0..20).map(|_| ("p", vec![1])).collect();
    assert!(sound(&curves(many)).contains("4 more policies are not drawn"));
}

#[test]
fn bars_that_dwarf_the_others_are_cut() {
    let svg = sound(&comparison(&[4_558.0, 6_890.0, 7_350.0, 354_169.0]));
    assert!(svg.contains("slanted end"), "{svg}");
    assert!(svg.contains("mean wait: 4 d 2 h (") && svg.contains("lower is better"));
    assert!(!sound(&comparison(&[4_558.0, 354_169.0])).contains("slanted end"));
    assert!(sound(&comparison(&[1.0; 40])).contains("10 more policies are not drawn"));
}

#[test]
fn nothing_is_a_picture_too() {
    let nothing = Replay::default();
    let pictures = [
        gantt(&nothing, None),
        gantt(&nothing, Some(Horizon { start: Time(0), end: Time(9) })),
        Picture::Usage(Usage::new(&nothing)),
        curves(vec![]),
        curves(vec![("easy", vec![])]),
        comparison(&[]),
        comparison(&[f64::NAN, f64::INFINITY]),
    ];
    for picture in pictures {
        assert!(sound(&picture).contains("nothing ran"));
        assert!(picture.png().is_ok());
    }
}

#[test]
fn absurd_replays_are_drawn() {
    let mut replay = sample();
    replay.pools[0].processors = u32::MAX;
    replay.jobs.push(job(50, (Time::MIN.0, Time::MIN.0, Time::MAX.0), 0, u32::MAX - 1));
    replay.jobs.push(job(51, (5, 5, 5), 3, 3));
    replay.jobs[0].processors.clear();
    replay.jobs[1].user = Some(i64::MIN);
    for window in [
        None,
        Some(Horizon { start: Time(10), end: Time(11) }),
        Some(Horizon { start: Time(9), end: Time(1) }),
        Some(Horizon { start: Time::MIN, end: Time::MAX }),
    ] {
        sound(&gantt(&replay, window));
    }
    sound(&Picture::Usage(Usage::new(&replay)));
    sound(&curves(vec![("x", vec![-5, 0, Time::MAX.0, i64::MAX])]));
    sound(&comparison(&[-1e15, 0.0, 1e17]));
    replay.pools.clear();
    sound(&gantt(&replay, None));
    sound(&Picture::Usage(Usage::new(&replay)));
}

#[test]
fn pictures_are_pixels_too() {
    for picture in
        [gantt(&sample(), None), Picture::Usage(Usage::new(&sample())), comparison(&[1.0, 2.0])]
    {
        assert_eq!(&picture.png().unwrap()[..8], b"\x89PNG\r\n\x1a\n");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_replay_is_sound(
        jobs in prop::collection::vec((0_i64..900, 0_i64..90, 0_i64..500, 0_u32..20, 0_u32..9), 0..40),
        from in -50_i64..900, length in 1_i64..900,
    ) {
        let mut replay = sample();
        let jobs = jobs.into_iter().enumerate().map(|(i, (submit, wait, run, first, more))| {
            job(i, (submit, submit + wait, submit + wait + run), first, first + more)
        });
        replay.jobs = jobs.collect();
        sound(&gantt(&replay, Some(Horizon { start: Time(from), end: Time(from + length) })));
        sound(&Picture::Usage(Usage::new(&replay)));
    }
}
