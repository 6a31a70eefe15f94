//! Batch-slice-filling.

use proptest::prelude::*;
use tradewind_sched::policy::bsf::{Bsf, BsfSettings, By, First};
use tradewind_sched::policy::cyclic::market::Cycles;
use tradewind_sched::policy::gridfill::GridFill;

use crate::worlds::*;
use crate::{cycles, fill};

pub(crate) fn any_knobs() -> impl Strategy<Value = BsfSettings> {
    let first = prop_oneof![
        (0u32..5).prop_map(First::Count),
        prop::sample::select(vec![0u32, 30, 60, 100]).prop_map(First::Percent),
    ];
    let by = prop::sample::select(By::ALL.map(|it| it.0).to_vec());
    (cycles::any_knobs(), first, by, fill::any_knobs())
        .prop_map(|(cycles, first, by, fill)| BsfSettings { cycles, first, by, fill })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn checkers_agree_whatever_happens(
        pools in any_grid(), log in prop_oneof![any_log(), licensed_log()],
        outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        replay(&workload, settings, &mut Bsf::new(knobs));
    }

    #[test]
    fn with_no_job_first_it_is_backfilling(
        pools in any_grid(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(), percent in any::<bool>(),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        let first = if percent { First::Percent(0) } else { First::Count(0) };
        let plain = replay(&workload, settings, &mut GridFill::new(knobs.fill));
        prop_assert_eq!(replay(&workload, settings, &mut Bsf::new(BsfSettings { first, ..knobs })).jobs, plain.jobs);
    }

    #[test]
    fn with_all_jobs_first_it_is_batch_slicer(
        pools in any_grid(), log in any_log(), outages in any_outages(), knobs in any_knobs(),
        overrun in any_overrun(), settings in any_settings(),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        let first = First::Percent(100);
        let plain = replay(&workload, settings, &mut Cycles::new(knobs.cycles.clone()));
        prop_assert_eq!(replay(&workload, settings, &mut Bsf::new(BsfSettings { first, ..knobs })).jobs, plain.jobs);
    }
}
