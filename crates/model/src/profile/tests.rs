use proptest::prelude::*;

use super::*;

const LENGTH: i64 = 160;
const PROCESSORS: u32 = 8;

#[derive(Debug, Clone, Copy)]
struct Change {
    processors: u32,
    start: i64,
    length: i64,
    back: bool,
}

fn change() -> impl Strategy<Value = Change> {
    (0u32..5, -3i64..120, 0i64..20, any::<bool>())
        .prop_map(|(processors, start, length, back)| Change { processors, start, length, back })
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop_oneof![prop::collection::vec(change(), 0..12), prop::collection::vec(change(), 0..120)]
}

/// The profile, and the level of each second from 0 on.
fn both(changes: &[Change], origin: i64) -> (Profile, Vec<i64>) {
    let mut profile = Profile::new(PROCESSORS, Time(0));
    let mut flat = vec![i64::from(PROCESSORS); LENGTH as usize];
    for &Change { processors, start, length, back } in changes {
        let sign = if back { 1 } else { -1 };
        for at in start.max(0)..start + length {
            flat[at as usize] += sign * i64::from(processors);
        }
        match back {
            true => profile.give(processors, Time(start), Time(start + length)),
            false => profile.take(processors, Time(start), Time(start + length)),
        }
    }
    profile.advance(Time(origin));
    (profile, flat)
}

fn flat_at(flat: &[i64], at: i64) -> i64 {
    flat.get(at as usize).copied().unwrap_or(i64::from(PROCESSORS))
}

fn flat_fits(flat: &[i64], wanted: u32, start: i64, span: i64) -> bool {
    (start..start + span.max(1)).all(|at| flat_at(flat, at) >= i64::from(wanted))
}

proptest! {
    #[test]
    fn says_what_a_flat_array_says(
        changes in changes(), origin in 0i64..100, wanted in 0u32..10, span in 1i64..25,
        later in 0i64..50,
    ) {
        let (profile, flat) = both(&changes, origin);
        prop_assert_eq!(profile.origin(), Time(origin));
        for at in origin..LENGTH {
            prop_assert_eq!(profile.free_at(Time(at)), flat[at as usize]);
        }
        let from = origin + later;
        let expected = (from..LENGTH + 1).find(|&start| flat_fits(&flat, wanted, start, span));
        prop_assert_eq!(profile.earliest(wanted, Span(span), Time(from)), expected.map(Time));
        let fits = profile.fits(wanted, Time(from), Span(span));
        prop_assert_eq!(fits, flat_fits(&flat, wanted, from, span));
        let min = (from..from + span).map(|at| flat_at(&flat, at)).min();
        prop_assert_eq!(Some(profile.min(Time(from), Span(span))), min);
    }

    #[test]
    fn starts_are_looked_for_up_to_a_moment(
        changes in changes(), origin in 0i64..100, wanted in 0u32..10, span in 1i64..25,
        later in 0i64..50, length in 0i64..60,
    ) {
        let (profile, flat) = both(&changes, origin);
        let (from, until) = (origin + later, origin + later + length);
        let expected = (from..until).find(|&start| flat_fits(&flat, wanted, start, span));
        let found = profile.earliest_before(wanted, Span(span), Time(from), Time(until));
        prop_assert_eq!(found, expected.map(Time));
    }

    #[test]
    fn levels_and_lows_are_those_of_a_flat_array(
        changes in changes(), origin in 0i64..100, later in 0i64..50, length in 1i64..40,
    ) {
        let (profile, flat) = both(&changes, origin);
        let (from, until) = (origin + later, origin + later + length);
        let (mut levels, mut running_minima, mut back) = (vec![], vec![], vec![]);
        profile.levels(Time(from), Time(until), &mut levels);
        profile.running_minima(Time(from), &mut running_minima);
        profile.lows_back(Time(until), &mut back);
        let level = |at: i64| Level { at: Time(at), free: flat_at(&flat, at) };
        let changes = |at: &i64| *at == from || level(*at).free != level(*at - 1).free;
        let expected: Vec<Level> = (from..until).filter(changes).map(level).collect();
        prop_assert_eq!(levels, expected);
        let mut expected: Vec<Level> = vec![level(from)];
        for low in (from..LENGTH + 1).map(level) {
            let before = expected[expected.len() - 1].free;
            if low.free < before && before > 0 {
                expected.push(low);
            }
        }
        prop_assert_eq!(running_minima, expected);
        let min = |since: i64| (since..until).map(|at| level(at).free).min().unwrap_or_default();
        let ends = |at: &i64| min(*at) > 0 && (*at == origin || min(*at - 1) < min(*at));
        let expected: Vec<Level> = (origin..until).rev().filter(ends)
            .map(|at| Level { at: Time(at), free: min(at) }).collect();
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn a_reservation_moves_where_it_would_go_if_it_were_given_back(
        changes in changes(),
        wanted in 1u32..6, span in 1i64..20, from in 0i64..80, late in 0i64..50,
    ) {
        let (mut profile, _) = both(&changes, 0);
        let held = profile.earliest(wanted, Span(span), Time(from + late));
        prop_assume!(held.is_some());
        let held = held.unwrap_or_default();
        let free = profile.earliest(wanted, Span(span), Time(from));
        profile.take(wanted, held, held + Span(span));
        let moved = profile.earlier(wanted, Span(span), Time(from), held);
        prop_assert_eq!(moved.or(Some(held)), free);
    }

    #[test]
    fn giving_back_undoes_taking(changes in changes()) {
        let mut profile = Profile::new(PROCESSORS, Time(0));
        for c in &changes {
            profile.take(c.processors, Time(c.start), Time(c.start + c.length));
        }
        for c in &changes {
            profile.give(c.processors, Time(c.start), Time(c.start + c.length));
        }
        prop_assert_eq!(profile, Profile::new(PROCESSORS, Time(0)));
    }
}
