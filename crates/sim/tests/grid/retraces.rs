//! Recorded decisions, made again.

use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Command, Event, Market, Pools, Span, Time};
use tradewind_sched::policy::Policy;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::bsf;
use tradewind_sched::policy::cyclic::market::{CycleSettings as Cyclic, Cycles};
use tradewind_sched::policy::gridfill::{GridFill, GridFillSettings};
use tradewind_sim::retrace::{Began, Retrace, RetraceError, Step, retrace};
use tradewind_sim::{ReplaySettings, run};

use crate::live::{Greedy, Recorder};
use crate::worlds::{
    any_grid, any_log, any_outages, any_overrun, any_settings, plain_log, with_outages, workload,
};

fn make(which: u32) -> Box<dyn Policy> {
    let fill =
        |depth| Box::new(GridFill::new(GridFillSettings { depth, ..GridFillSettings::default() }));
    let cycles = Cyclic { period: Span(7), ..Cyclic::css() };
    match which {
        0 => fill(Depth::First(1)),
        1 => fill(Depth::All),
        2 => Box::new(Cycles::new(cycles)),
        3 => Box::new(bsf::Bsf::new(bsf::BsfSettings { cycles, ..bsf::BsfSettings::default() })),
        _ => Box::new(Greedy),
    }
}

fn start(pools: &Arc<Pools>, steps: &[Step<()>]) -> Market {
    Market::new(pools.clone(), steps.first().map_or(Time(0), |step| step.at))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_record_is_confirmed_and_a_changed_one_is_not(
        (pools, log, outages, overrun) in (any_grid(), any_log(), any_outages(), any_overrun()),
        (which, settings, at) in (0u32..4, any_settings(), any::<prop::sample::Index>()),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        let mut recorder = Recorder::new(make(which), usize::MAX);
        run(&workload, settings, &mut recorder, &mut []).unwrap();
        let mut steps = recorder.steps;
        prop_assume!(!steps.is_empty());
        let new = |_: &(), _: &Market| Ok(make(which));
        let found = retrace(start(&pools, &steps), new, &steps).unwrap();
        prop_assert_eq!(found.passes, steps.len() as u64);
        prop_assert_eq!(found.market.queue().len(), 0);
        found.market.check().unwrap();
        // Whatever was answered: if one command is missing, it is found, and where.
        let answered = |step: &Step<()>| step.commands.as_ref().is_some_and(|it| !it.is_empty());
        let full: Vec<usize> = (0..steps.len()).filter(|at| answered(&steps[*at])).collect();
        let changed = full[at.index(full.len())];
        let gone = steps[changed].commands.as_mut().unwrap().pop();
        let error = retrace(start(&pools, &steps), new, &steps).unwrap_err();
        let RetraceError::Differs { step, what } = error else { panic!("{error}") };
        prop_assert_eq!(step, changed as u64);
        prop_assert_eq!(what.agree, what.expected.len());
        prop_assert_eq!(what.found.last(), gone.as_ref());
    }

    /// A process that dies and begins again on the market as it is.
    #[test]
    fn policies_may_begin_again(
        (pools, log, outages, overrun) in
            (any_grid(), plain_log(), any_outages(), any_overrun()),
        (which, again) in (0u32..5, 0usize..20),
    ) {
        let workload = with_outages(workload(&pools, &log, overrun), outages);
        let mut recorder = Recorder::new(make(which), usize::MAX);
        recorder.restart = Some((again, Box::new(move || make(which))));
        run(&workload, ReplaySettings::default(), &mut recorder, &mut []).unwrap();
        let steps = recorder.steps;
        let mut began = 0;
        let new = |_: &(), _: &Market| { began += 1; Ok(make(which)) };
        let passes = retrace(start(&pools, &steps), new, &steps).unwrap().passes;
        let asked = steps.iter().filter(|step| step.commands.is_some()).count();
        prop_assert_eq!(passes, asked as u64);
        let begins = steps.iter().filter(|step| step.began.is_some()).count();
        prop_assert_eq!(began, begins);
    }
}

/// Three jobs on four nodes under EASY; the last is backfilled.
fn record() -> (Arc<Pools>, Vec<Step<()>>) {
    use tradewind_sim::workload::LogJob;
    let pools = Arc::new(Pools::cluster(4));
    let job = |number, submit, processors, run| LogJob {
        number,
        submit: Some(Time(submit)),
        run: Some(Span(run)),
        processors: Some(processors),
        ..LogJob::default()
    };
    let log = [job(1, 0, 2, 20), job(2, 1, 4, 10), job(3, 2, 2, 18)];
    let workload = workload(&pools, &log, Default::default());
    let mut recorder = Recorder::new(make(0), usize::MAX);
    run(&workload, ReplaySettings::default(), &mut recorder, &mut []).unwrap();
    (pools, recorder.steps)
}

#[test]
fn one_changed_event_is_found() {
    let (pools, mut steps) = record();
    let new = |_: &(), _: &Market| Ok(make(0));
    retrace(start(&pools, &steps), new, &steps).unwrap();
    let at = steps.iter().position(|step| step.at == Time(2)).unwrap();
    let Event::Submitted { demand, .. } = &mut steps[at].events[0] else { panic!() };
    demand.estimate = Span(19); // too long to be backfilled
    let error = retrace(start(&pools, &steps), new, &steps).unwrap_err();
    let RetraceError::Differs { step, what } = &error else { panic!("{error}") };
    assert_eq!((*step, what.at, what.agree), (at as u64, Time(2), 0));
    assert!(matches!(what.expected[0], Command::Start { .. }));
    assert!(!what.found.iter().any(|command| matches!(command, Command::Start { .. })));
    let text = "step 2, at 2: the answers agree in 0 commands, then differ";
    assert_eq!(error.to_string(), text);
}

#[test]
fn what_cannot_have_happened_is_found() {
    let (pools, mut steps) = record();
    let new = |_: &(), _: &Market| Ok(make(0));
    let last = steps.len() - 1;
    let ended = steps[last].events[0].clone();
    steps[last].events.push(ended);
    let error = retrace(start(&pools, &steps), new, &steps).unwrap_err();
    assert!(matches!(error, RetraceError::Market { step, .. } if step == last as u64));
    let gone = |(): &(), _: &Market| Err("it is gone".to_owned());
    let error = retrace(start(&pools, &steps), gone, &steps).unwrap_err();
    assert_eq!(error.to_string(), "step 0, at 0: it is gone");
    steps[0].began = None;
    let error = retrace(start(&pools, &steps), new, &steps).unwrap_err();
    assert_eq!(error, RetraceError::Nobody { step: 0 });
}

#[test]
fn a_grid_may_grow_where_a_policy_begins() {
    let (small, mut steps) = record();
    let big = Arc::new(Pools::cluster(8));
    let began = Began { policy: (), pools: Some(big.clone()) };
    steps.truncate(1);
    steps[0].began = Some(began);
    let mut retrace = Retrace::new(start(&small, &steps), |(): &(), market: &Market| {
        assert_eq!(market.processors(), 8);
        Ok(make(0))
    });
    retrace.step(&steps[0]).unwrap();
    assert_eq!((retrace.passes(), retrace.market().free()), (1, 6));
}
