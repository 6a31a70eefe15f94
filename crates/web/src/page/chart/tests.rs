use tradewind_io::present::round_up;

use super::axis::short;
use super::*;

fn frame() -> Frame {
    Frame {
        title: "a<b".to_owned(),
        unit: "credits per node-hour",
        span: (0, 40_000),
        now: Some(20_000),
        max: None,
        stops: vec![0, 20_000],
    }
}

#[test]
fn scales_end_at_round_numbers() {
    let all = [0.0, 0.9, 1.0, 7.2, 95.0, 101.0, 3_700.0].map(round_up);
    assert_eq!(all, [1.0, 1.0, 1.0, 8.0, 100.0, 120.0, 4_000.0]);
    let told = [(0.0, 8.0), (7.25, 8.0), (3.6, 3.6), (1_234.0, 4_000.0), (0.000_18, 0.001)];
    assert_eq!(
        told.map(|(value, max)| short(value, max)),
        ["0", "7.25", "3.6", "1,234", "0.00018"]
    );
}

#[test]
fn lines_end_where_nothing_is_known_and_change_their_look_now() {
    let steps = vec![(5_000, Some(2.0)), (10_000, None), (15_000, Some(4.0)), (30_000, Some(1.0))];
    let line = StepLine { name: "al<pha".to_owned(), steps, shade: 1 };
    let svg = lines(&frame(), &[line]);
    // From 1/8 to 1/4 at half height, nothing, then full height until now.
    assert!(svg.contains("class=\"line s1\" d=\"M1250 500H2500M3750 0H5000\""), "{svg}");
    assert!(svg.contains("class=\"line ahead s1\" d=\"M5000 0H7500V750H10000\""), "{svg}");
    assert!(!svg.contains("<b") && !svg.contains("<pha"), "names are escaped");
    for part in ["credits per node-hour", "UTC", "02:00</text>", "1970-01-01 05:33 UTC; al"] {
        assert!(svg.contains(part), "{part} in {svg}");
    }
}

#[test]
fn areas_stand_on_each_other_and_the_smallest_is_seen() {
    let layer = |kind: &'static str, values: [f64; 2]| Layer {
        name: kind.to_owned(),
        kind,
        values: values.map(Some).to_vec(),
    };
    let full = Frame { max: Some(100.0), unit: "%", ..frame() };
    let svg = areas(&full, &[layer("worked", [50.0, 0.0]), layer("owners", [50.0, 0.01])]);
    assert!(
        svg.contains("class=\"area worked\" x=\"0.00%\" width=\"50.00%\" y=\"85\" height=\"85\"")
    );
    assert!(
        svg.contains("\"url(#hatch-owners)\" x=\"0.00%\" width=\"50.00%\" y=\"0\" height=\"85\"")
    );
    assert!(svg.contains("y=\"169\" height=\"1\""), "a pixel: {svg}");
    assert!(HATCHES.contains("id=\"hatch-owners\""));
    assert!(areas(&full, &[]).ends_with("</svg>"));
}

#[test]
fn the_present_price_and_the_best_are_marked() {
    let tried = |place, income, is_now| Tried {
        place,
        label: format!("×{place}"),
        is_told: true,
        price: "p".to_owned(),
        income,
        used: 10.0,
        is_now,
        note: "3 of 4 jobs ran".to_owned(),
    };
    let svg =
        response("t", &[tried(0.0, 1.0, false), tried(0.5, 4.0, true), tried(1.0, 2.0, false)]);
    assert_eq!(svg.matches("class=\"best present\"").count(), 2);
    assert_eq!(svg.matches("most income").count(), 1);
    assert_eq!(svg.matches("class=\"col\"").count(), 3);
    assert!(svg.contains("income: 4 credits; nodes used: 10 %; 3 of 4 jobs ran"));
}
