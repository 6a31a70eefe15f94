use proptest::prelude::*;
use tradewind_model::{Attributes, Performance};

use super::*;

/// Central Europe; clocks go forward on 2026-03-29 and back on 2026-10-25.
fn zone() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
}

fn at(text: &str) -> Time {
    let civil: DateTime = text.parse().unwrap();
    Time(zone().to_ambiguous_timestamp(civil).compatible().unwrap().as_second())
}

fn schedule(rules: &[(&str, LoadRange, u32)]) -> Schedule<u32> {
    let rule = |&(hours, load, value): &(&str, LoadRange, u32)| Rule {
        hours: Hours::parse(hours).unwrap_or_else(|| panic!("{hours}")),
        load,
        value,
    };
    Schedule { rules: rules.iter().map(rule).collect() }
}

fn pool(nodes: u32, offers: Schedule<u32>) -> Pool {
    Pool {
        name: "a".to_owned(),
        nodes,
        performance: Performance::REFERENCE,
        attributes: Attributes::new(),
        members: crate::settings::cluster::Members::default(),
        price: Price(7),
        prices: Schedule::default(),
        offers,
    }
}

#[test]
fn the_first_rule_that_holds_counts() {
    let busy = LoadRange { from: 800, below: None };
    let it = schedule(&[
        ("Mon-Fri 08:00-18:00", busy, 3),
        ("monday-fri 08:00-18:00; Sat", LoadRange::ANY, 2),
        ("Sun-Mon 22:00-06:00", LoadRange::ANY, 1),
    ]);
    for (moment, load, expected) in [
        ("2026-03-30T08:00", 800, Some(3)),
        ("2026-03-30T08:00", 799, Some(2)),
        ("2026-03-30T18:00", 800, None),
        ("2026-03-28T00:00", 0, Some(2)),
        ("2026-03-29T21:59", 0, None),
        ("2026-03-29T22:00", 0, Some(1)),
        ("2026-03-31T05:59", 0, Some(1)),
        ("2026-03-31T06:00", 0, None),
    ] {
        assert_eq!(it.at(at(moment), load, &zone()).copied(), expected, "{moment}");
    }
    assert_eq!(it.next_change(at("2026-03-29T10:00"), &zone()), Some(at("2026-03-29T22:00")));
    assert_eq!(schedule(&[("always", busy, 1)]).next_change(at("2026-03-29T10:00"), &zone()), None);
}

#[test]
fn what_is_no_hours_is_refused() {
    for text in [
        "",
        "Mon-",
        "Xyz",
        "08:00",
        "08:00-08:00",
        "24:00-01:00",
        "8:00-9:00",
        "08:60-09:00",
        "08:00-24:01",
        "Mon 08:00-09:00 Tue",
        "08:00-18:00 Mon",
        "Mon;",
        "Mon,,Tue",
        "é",
        "１2:00-13:00",
    ] {
        assert_eq!(Hours::parse(text), None, "{text}");
    }
}

#[test]
fn nodes_outside_the_offers_hours_are_withheld() {
    let it = pool(
        10,
        schedule(&[("22:00-06:00", LoadRange::ANY, 1_000), ("Sat,Sun", LoadRange::ANY, 550)]),
    );
    let day = it.withheld(at("2026-03-27T00:00"), at("2026-03-29T12:00"), &zone());
    let of = |from, until, nodes| Withheld { from: at(from), until: at(until), nodes };
    let expected = [
        of("2026-03-27T06:00", "2026-03-27T22:00", 10),
        of("2026-03-28T06:00", "2026-03-28T22:00", 5),
        of("2026-03-29T06:00", "2026-03-29T12:00", 5),
    ];
    assert_eq!(day, expected);
    assert_eq!(pool(3, Schedule::default()).withheld(Time(0), Time(9), &zone()), []);
    assert_eq!(it.price_at(Time(0), 0, &zone()), Price(7));
}

/// Hours of quarters of an hour, some of them around changes of clocks.
fn hours() -> impl Strategy<Value = String> {
    let minute = prop_oneof![0u32..96, 4u32..16];
    let clock = |quarter: u32| format!("{:02}:{:02}", quarter / 4, quarter % 4 * 15);
    let days = "(Mon|Wed|Sat|Sun)(-(Tue|Fri|Sun))?|Sun|Sat,Sun";
    (days, minute.clone(), minute).prop_filter_map("empty", move |(days, from, until)| {
        (from != until).then(|| format!("{days} {}-{}", clock(from), clock(until)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_next_change_is_that_of_a_scan(
        rules in proptest::collection::vec(hours(), 1..4),
        summer in any::<bool>(),
        minutes in 0i64..5_000,
    ) {
        let zone = zone();
        let rules: Vec<(&str, LoadRange, u32)> =
            rules.iter().zip(0..).map(|(it, i)| (it.as_str(), LoadRange::ANY, 250 * i)).collect();
        let it = schedule(&rules);
        let begin = at(if summer { "2026-03-27T00:00" } else { "2026-10-23T00:00" });
        let begin = Time(begin.0 + minutes * 60);
        let holding = |at: Time| -> Vec<bool> {
            it.rules.iter().map(|rule| rule.hours.hold(civil(at, &zone))).collect()
        };
        let now = holding(begin);
        let scan = (1..DAYS * 1_440).map(|m| Time(begin.0 + m * 60)).find(|&at| holding(at) != now);
        prop_assert_eq!(it.next_change(begin, &zone), scan);
    }

    #[test]
    fn what_is_withheld_is_that_of_a_scan(
        rules in proptest::collection::vec((hours(), 0u32..=1_000), 0..4),
        nodes in 1u32..20,
        from in 0i64..3_000,
        length in 1i64..4_000,
    ) {
        let zone = zone();
        let rules: Vec<(&str, LoadRange, u32)> =
            rules.iter().map(|(hours, share)| (hours.as_str(), LoadRange::ANY, *share)).collect();
        let it = pool(nodes, schedule(&rules));
        let from = Time(at("2026-03-27T00:00").0 + from * 60);
        let until = Time(from.0 + length * 60);
        let all = it.withheld(from, until, &zone);
        for pair in all.windows(2) {
            let apart = pair[0].until < pair[1].from || pair[0].nodes != pair[1].nodes;
            prop_assert!(pair[0].until <= pair[1].from && apart, "{all:?}");
        }
        prop_assert!(all.iter().all(|it| it.from < it.until && it.nodes > 0));
        for minute in 0..length {
            let at = Time(from.0 + minute * 60);
            let held = all.iter().find(|it| (it.from..it.until).contains(&at));
            prop_assert_eq!(held.map_or(0, |it| it.nodes), nodes - it.offered_at(at, &zone));
        }
    }

    #[test]
    fn any_text_is_hours_or_not(text in "\\PC{0,20}|[MonTueSat0-9:;,-]{0,20}") {
        let _ = Hours::parse(&text);
    }
}

/// The prices of a week are those of each of its moments, also across a change of clocks, and come
/// again after a week.
#[test]
fn prices_of_a_week_are_those_of_its_hours() {
    let busy = LoadRange { from: 750, below: None };
    let rules =
        schedule(&[("Mon-Fri 08:00-18:00", busy, 9), ("Mon-Sun 08:00-18:00", LoadRange::ANY, 3)]);
    let of = |rule: &Rule<u32>| Rule {
        hours: rule.hours.clone(),
        load: rule.load,
        value: Price(rule.value.into()),
    };
    let mut pool = pool(4, Schedule::default());
    pool.prices = Schedule { rules: rules.rules.iter().map(of).collect() };
    for (from, load) in
        [("2026-03-25T00:00", 0), ("2026-03-25T00:00", 800), ("2026-10-20T07:30", 0)]
    {
        let from = at(from);
        let rate = pool.weekly_prices(from, load, &zone()).unwrap();
        for moment in (0..7 * 86_400).step_by(900) {
            let moment = from + Span(moment);
            let price = pool.price_at(moment, load, &zone());
            assert_eq!(Price(rate.at(moment)), price, "{moment:?}");
            assert_eq!(Price(rate.at(moment + WEEK)), price);
        }
    }
    pool.prices = Schedule::default();
    assert_eq!(pool.weekly_prices(at("2026-03-25T00:00"), 0, &zone()), None, "one price");
}
