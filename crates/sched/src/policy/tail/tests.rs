use proptest::prelude::*;

use super::super::outlook::Outlook;
use super::super::outlook::tests::{Drawn, Wanted, market};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The outlook searches from the beginning for each job.
    #[test]
    fn what_is_remembered_of_equal_demands_changes_no_place(
        pools in prop::collection::vec((1u32..6, 500u32..2_000, 0i64..5), 1..4),
        waiting in prop::collection::vec(
            (1u32..6, 1i64..6, prop::option::of(0i64..60)), 1..40,
        ),
        running in prop::option::of((1u32..4, 1i64..30)),
    ) {
        let (pools, waiting): (Vec<Drawn>, Vec<Wanted>) = (pools, waiting);
        let market = market(&pools, &waiting, running);
        let outlook = Outlook::new(&market, market.now(), usize::MAX);
        let mut tail = Tail::new(&market, []);
        for job in market.queue() {
            let placed = tail.place(&market, job);
            let found = placed.as_ref().map(|it| (it.start, &it.place));
            let expected = outlook.of(job).map(|it| (it.start, &it.place));
            prop_assert_eq!(found, expected);
        }
    }

    /// Jobs behind what others take are where they are behind those others.
    #[test]
    fn it_goes_on_where_another_one_stopped(
        pools in prop::collection::vec((1u32..6, 500u32..2_000, 0i64..5), 1..4),
        waiting in prop::collection::vec((1u32..6, 1i64..6, Just(None)), 1..40),
        first in 0usize..40,
    ) {
        let (pools, waiting): (Vec<Drawn>, Vec<Wanted>) = (pools, waiting);
        let market = market(&pools, &waiting, None);
        let mut whole = Tail::new(&market, []);
        let whole: Vec<Placed> = market.queue().filter_map(|job| whole.place(&market, job)).collect();
        let first = first.min(whole.len());
        let taken = whole[..first].iter().flat_map(|it| it.parts.iter().copied());
        let mut rest = Tail::new(&market, taken);
        for expected in &whole[first..] {
            let placed = rest.place(&market, expected.job);
            prop_assert_eq!(placed.as_ref(), Some(expected));
        }
    }
}
