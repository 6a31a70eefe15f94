//! Whatever happens, policies go on: nothing is started that cannot be, promises are kept while
//! expectations hold, and everything comes to an end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use proptest::prelude::*;
use tradewind_sched::policy::Order;
use tradewind_sched::policy::backfill::Depth;

use crate::worlds::{Maker, Sort, backfill, fill, grid, plain, punctual, world};
use crate::yard::{Fate, World, run};

fn goes_on(world: &World, (name, make): &Maker) -> Vec<Fate> {
    let all = || run(world, &|| make(&world.pools));
    let fates = catch_unwind(AssertUnwindSafe(all));
    fates.unwrap_or_else(|cause| {
        let said = cause.downcast_ref::<String>().cloned();
        let said = said.or_else(|| cause.downcast_ref::<&str>().map(|it| (*it).to_owned()));
        resume_unwind(Box::new(format!("{name}: {}", said.unwrap_or_default())))
    })
}

/// The same, without a change of policies, but with a look at the same moments.
fn unbroken(world: &World) -> World {
    let mut whole = world.clone();
    whole.looks.extend(&world.cuts);
    whole.cuts.clear();
    whole
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn backfilling_goes_on(world in world(Sort::Plain)) {
        plain().iter().for_each(|maker| drop(goes_on(&world, maker)));
    }

    #[test]
    fn policies_of_grids_go_on(world in world(Sort::Any)) {
        grid().iter().for_each(|maker| drop(goes_on(&world, maker)));
    }

    #[test]
    fn policies_of_grids_go_on_where_all_is_plain(world in world(Sort::Plain)) {
        let needs_worth = |name: &str| ["auction", "admission", "hvfq", "fair-share"].contains(&name);
        let all = grid();
        let all = all.iter().filter(|(name, _)| !needs_worth(name));
        all.for_each(|maker| drop(goes_on(&world, maker)));
    }

    /// With a finite number of reservations, they are made again at every pass: all that a policy
    /// decides follows from the market. Not so where the order depends on how long a job has
    /// waited (a fresh policy does not know), for conservative reservations (they are kept, and
    /// follow from all that has happened), and for cycles (they are counted from a policy's first
    /// job).
    #[test]
    fn who_remembers_nothing_decides_the_same(world in world(Sort::Plain)) {
        for (depth, order) in [
            (Depth::First(0), Order::Arrival),
            (Depth::First(1), Order::Arrival),
            (Depth::First(0), Order::Shortest),
            (Depth::First(3), Order::Widest),
        ] {
            let expected = goes_on(&unbroken(&world), &backfill("whole", depth, order));
            let broken = goes_on(&world, &backfill("broken", depth, order));
            prop_assert_eq!(&broken, &expected, "{:?} {:?}", depth, order);
            let expected = goes_on(&unbroken(&world), &fill("whole", depth, order));
            let broken = goes_on(&world, &fill("broken", depth, order));
            prop_assert_eq!(&broken, &expected, "grid, {:?} {:?}", depth, order);
        }
    }

    /// Conservative reservations are what they would be if made now, as long as nothing has come
    /// otherwise than expected.
    #[test]
    fn kept_reservations_can_be_made_again_if_all_went_as_planned(world in punctual()) {
        let (depth, order) = (Depth::All, Order::Arrival);
        let expected = goes_on(&unbroken(&world), &backfill("whole", depth, order));
        prop_assert_eq!(&goes_on(&world, &backfill("broken", depth, order)), &expected);
        prop_assert_eq!(&goes_on(&world, &fill("broken", depth, order)), &expected);
    }

    /// Who had used what is all that the order of fair shares remembers, but for less than a
    /// processor-second of each user.
    #[test]
    fn the_grid_decides_what_the_cluster_does(world in world(Sort::Plain)) {
        for (depth, order) in [
            (Depth::First(0), Order::Arrival),
            (Depth::First(1), Order::Arrival),
            (Depth::First(1), Order::FairShare(tradewind_model::Span(40))),
        ] {
            let expected = goes_on(&world, &backfill("cluster", depth, order));
            prop_assert_eq!(&goes_on(&world, &fill("grid", depth, order)), &expected);
        }
    }
}
