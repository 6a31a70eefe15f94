//! Backfilling on unequal priced nodes.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Pools, Share};
use tradewind_sched::policy::backfill::Backfill;
use tradewind_sched::policy::gridfill::{Depth, GridFill, GridFillSettings, Order, Spread};
use tradewind_sim::workload::Workload;
use tradewind_sim::{Estimate, ReplaySettings, Semantics};

use crate::naive::{self, Fate};
use crate::worlds::*;

pub(crate) fn any_knobs() -> impl Strategy<Value = GridFillSettings> {
    let depths = [0, 1, 1, 2, 3].map(Depth::First).into_iter().chain([Depth::All, Depth::All]);
    let orders = Order::ALL.map(|(order, _)| order);
    let order = prop_oneof![Just(Order::Arrival), prop::sample::select(orders.to_vec())];
    let spread = prop_oneof![2 => Just(Spread::Grid), 1 => Just(Spread::Site)];
    let settled = orders.into_iter().filter(|order| !order.moves());
    let candidates = prop::option::of(prop::sample::select(settled.collect::<Vec<_>>()));
    (prop::sample::select(depths.collect::<Vec<_>>()), order, candidates, spread).prop_map(
        |(depth, order, candidates, spread)| GridFillSettings {
            depth,
            order,
            candidates,
            spread,
            ..GridFillSettings::default()
        },
    )
}

pub(crate) fn fates(workload: &Workload, knobs: GridFillSettings) -> Vec<Fate> {
    let run = replay(workload, ReplaySettings::default(), &mut GridFill::new(knobs));
    let of = |(ran, job): (&tradewind_sim::Ran, &tradewind_sim::workload::Job)| {
        let shares: Vec<Share> = ran.place.shares(job.processors).collect();
        match ran.refused {
            None => Fate::Starts(ran.start.0, shares),
            Some(_) => Fate::Refused,
        }
    };
    run.jobs.iter().zip(&workload.jobs).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn on_one_plain_pool_it_is_backfill(
        log in plain_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        // Only there does EASY on one plain cluster differ: it follows a published study.
        let learned = [Estimate::Predicted, Estimate::PublishedLinear].contains(&settings.estimate);
        prop_assume!(!learned || settings.semantics == Semantics::Textbook);
        let workload = workload(&Arc::new(Pools::cluster(6)), &log, overrun);
        let workload = with_outages(workload, outages);
        let mut single = Backfill::new(knobs.plain());
        let expected = starts(&replay(&workload, settings, &mut single));
        prop_assert_eq!(starts(&replay(&workload, settings, &mut GridFill::new(knobs))), expected);
    }

    #[test]
    fn on_any_pools_it_is_what_the_plain_version_does(
        pools in any_grid(), log in any_log(), knobs in any_knobs(), overrun in any_overrun(),
    ) {
        prop_assume!(!matches!(knobs.order, Order::Expansion | Order::FairShare(_)));
        let workload = workload(&pools, &log, overrun);
        prop_assert_eq!(fates(&workload, knobs), naive::fates(&workload, knobs));
    }

    #[test]
    fn with_licences_it_is_what_the_plain_version_does(
        pools in prop_oneof![any_grid(), any_priced_grid()], log in licensed_log(),
        knobs in any_knobs(), overrun in any_overrun(),
    ) {
        prop_assume!(!matches!(knobs.order, Order::Expansion | Order::FairShare(_)));
        let workload = workload(&pools, &log, overrun);
        prop_assert_eq!(fates(&workload, knobs), naive::fates(&workload, knobs));
    }

    #[test]
    fn checkers_agree_whatever_happens(
        pools in any_grid(), log in prop_oneof![any_log(), licensed_log()],
        outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        replay(&workload, settings, &mut GridFill::new(knobs));
    }
}
