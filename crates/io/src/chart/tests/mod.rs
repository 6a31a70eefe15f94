mod curves;
mod market;
mod numbers;
mod pictures;
mod plots;
mod steps;
mod traces;

use tradewind_model::{Horizon, Money, Span, Time};

use super::*;

fn sample(rows: usize) -> Chart {
    let site = |i: usize| if i * 2 < rows { "lyra" } else { "orion" };
    let bar = |row, start, end, kind| Bar { row, start: Time(start), end: Time(end), kind };
    let mut bars = Vec::new();
    for row in 0..rows {
        let busy = 40 + (row as i64 * 37) % 200;
        bars.push(bar(row, 0, busy, Kind::Local));
        bars.push(bar(row, 470 + (row as i64 * 13) % 60, 600, Kind::Local));
    }
    for row in 0..3.min(rows) {
        bars.push(bar(row, 250, 330, Kind::Placed(0)));
    }
    for row in 3..5.min(rows) {
        bars.push(bar(row, 250, 400, Kind::Placed(1)));
        bars.push(bar(row, 410, 460, Kind::Alternative(0)));
    }
    let placed = |name: &str, start, finish, cost| ChartJob {
        name: name.to_owned(),
        fate: Fate::Placed { start: Time(start), finish: Time(finish), cost: Money::credits(cost) },
    };
    let postponed = Fate::Postponed("budget short by 3".to_owned());
    Chart {
        title: "A <batch> & its plan".to_owned(),
        horizon: Horizon { start: Time(0), end: Time(600) },
        now: None,
        rows: (0..rows)
            .map(|i| ChartRow { label: format!("n{i:02}"), group: site(i).into() })
            .collect(),
        bars,
        jobs: vec![
            placed("render", 250, 330, 320),
            placed("train", 250, 400, 75),
            ChartJob { name: "late".to_owned(), fate: postponed },
        ],
    }
}

const WIDE: TextOptions = TextOptions { width: 80, glyphs: Glyphs::Unicode };

#[test]
fn the_svg_is_escaped_complete_and_the_same_every_time() {
    let drawing = svg(&sample(12));
    assert_eq!(drawing, svg(&sample(12)));
    assert!(drawing.contains("A &lt;batch&gt; &amp; its plan"));
    assert!(!drawing.contains("<batch>"));
    for name in ["n00", "n11", "lyra", "orion", "render", "train", "late", "budget short by 3"] {
        assert!(drawing.contains(name), "{name}");
    }
    assert!(drawing.contains("stroke-dasharray"));
}

#[test]
fn neighbouring_tasks_of_one_job_are_one_block() {
    let chart = sample(12);
    let shown = rows::choose(&chart, rows::Room { rows: 64, alternatives: 100 });
    let placed: Vec<_> = blocks::blocks(&chart, &shown)
        .into_iter()
        .filter(|block| block.kind == Kind::Placed(0))
        .collect();
    assert_eq!(placed.len(), 1);
    assert_eq!((placed[0].first, placed[0].rows), (0, 3));
}

#[test]
fn a_wide_grid_shows_what_the_batch_uses_and_says_what_is_hidden() {
    let drawing = svg(&sample(4_008));
    assert!(drawing.contains("4,003 of 4,008 nodes that the batch does not use are not shown"));
    assert!(drawing.len() < 20_000);
    let lines = text(&sample(4_008), WIDE);
    assert!(lines.contains("4,003 of 4,008 nodes"));
    assert!(lines.lines().count() < 20);
}

#[test]
fn every_shown_row_is_in_the_picture_when_none_is_used() {
    let mut chart = sample(100);
    chart.bars.retain(|bar| bar.kind == Kind::Local);
    chart.jobs.truncate(0);
    assert!(svg(&chart).contains("36 of 100 nodes are not shown"));
}

#[test]
fn text_fits_its_width_and_marks_each_job() {
    for width in [0, 40, 80, 137] {
        let lines = text(&sample(12), TextOptions { width, glyphs: Glyphs::Unicode });
        let widest = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= width.max(40), "{widest} > {width}\n{lines}");
    }
    let lines = text(&sample(12), WIDE);
    assert_eq!(lines.lines().filter(|line| line.contains("AAA")).count(), 3);
    assert_eq!(lines.lines().filter(|line| line.contains("BBB")).count(), 2);
    assert!(lines.contains("A render   B train"));
}

#[test]
fn ascii_is_ascii() {
    assert!(text(&sample(12), TextOptions { width: 80, glyphs: Glyphs::Ascii }).is_ascii());
}

#[test]
fn a_placed_job_shorter_than_a_cell_still_shows() {
    let mut chart = sample(12);
    chart.bars.retain(|bar| bar.kind == Kind::Local);
    chart.bars.push(Bar { row: 4, start: Time(300), end: Time(301), kind: Kind::Placed(1) });
    assert!(text(&chart, WIDE).lines().any(|line| line.contains("n04") && line.contains('B')));
}

#[test]
fn numbers_of_jobs_are_no_names() {
    let mut chart = sample(12);
    chart.jobs[0].name = "2".to_owned();
    let picture = svg(&chart);
    assert!(picture.contains(">#1<") && picture.contains(">#2<"), "{picture}");
}

#[test]
fn a_png_has_pixels_and_is_the_same_every_time() {
    let picture = png(&sample(12)).unwrap();
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(picture, png(&sample(12)).unwrap());
}

#[test]
fn every_letter_of_our_own_has_strokes_that_parse() {
    let all: String = (' '..='~').chain("·–…é".chars()).collect();
    let mut chart = sample(2);
    chart.title = all;
    assert!(png(&chart).is_ok());
    for letter in '!'..='~' {
        assert!(letters::glyph(letter).path.starts_with('M'), "{letter}");
    }
}

#[test]
fn ticks_are_round_and_few() {
    for (span, label) in
        [(600, "50 s"), (3_600, "5 min"), (86_400, "2 h"), (604_800, "1 d"), (1 << 40, "1638400 d")]
    {
        let horizon = Horizon { start: Time(0), end: Time(span) };
        let ticks = axis::Axis::new(horizon, 12).ticks();
        assert!(ticks.len() <= 13, "{span}: {}", ticks.len());
        assert_eq!(ticks[1].label, label);
    }
    let late = Horizon { start: Time(8_640_000), end: Time(8_640_600) };
    let axis = axis::Axis::new(late, 12);
    assert_eq!(axis.ticks()[1].label, "+50 s");
    assert!(axis.note().is_some());
    assert_eq!(axis.say(Time(8_640_000) + Span(45)), "+45 s");
}

#[test]
fn absurd_charts_do_not_panic() {
    let mut empty = sample(0);
    empty.bars.clear();
    for chart in [empty, sample(1)] {
        svg(&chart);
        text(&chart, WIDE);
        png(&chart).unwrap();
    }
    let mut outside = sample(3);
    outside.bars.push(Bar { row: 1, start: Time(-50), end: Time(900), kind: Kind::Placed(1) });
    outside.bars.push(Bar { row: 1, start: Time(700), end: Time(900), kind: Kind::Placed(1) });
    outside.bars.push(Bar { row: 1, start: Time(9), end: Time(9), kind: Kind::Placed(1) });
    svg(&outside);
    text(&outside, WIDE);
}

#[test]
fn a_batch_on_many_nodes_gets_one_line_per_job() {
    let mut chart = sample(400);
    for row in 5..200 {
        chart.bars.push(Bar { row, start: Time(260), end: Time(400), kind: Kind::Placed(1) });
    }
    let lines = text(&chart, WIDE);
    assert!(lines.contains("train on 197") && lines.contains("render on 3"), "{lines}");
    assert!(lines.contains("the batch uses 200 of 400 nodes"), "{lines}");
    assert!(lines.lines().count() < 12);
}
