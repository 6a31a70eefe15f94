use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use tradewind_model::{Pools, Span};

use super::*;

/// A job's submission (gap from the one before), run, processors and estimate beyond the run.
type Drawn = (i64, i64, u32, i64);

const PROCESSORS: u32 = 6;

/// Replays jobs that end by their estimates; calls `look` after each pass.
fn replay(drawn: &[Drawn], policy: &mut Backfill, mut look: impl FnMut(&Backfill)) {
    let mut market = Market::new(Arc::new(Pools::cluster(PROCESSORS)), Time(0));
    let mut submits = drawn.iter().scan(0, |at, job| {
        *at += job.0;
        Some((*at, job))
    });
    let mut next = submits.next();
    let mut ends: BTreeSet<(i64, JobId)> = BTreeSet::new();
    let (mut submitted, mut runs, mut wake) = (0, Vec::new(), None);
    loop {
        let first_end = ends.first().map(|end| end.0);
        let instants = [next.map(|(at, _)| at), first_end, wake];
        let Some(now) = instants.into_iter().flatten().min() else { return };
        market.pass_to(Time(now)).unwrap();
        let mut events = Vec::new();
        while let Some(&(at, job)) = ends.first().filter(|end| end.0 == now) {
            ends.remove(&(at, job));
            events.push(Event::Ended { job });
        }
        while let Some((_, &(_, run, processors, beyond))) = next.filter(|(at, _)| *at == now) {
            let demand = Demand::new(processors, Span(run + beyond));
            events.push(Event::Submitted { job: JobId(submitted), demand });
            submitted += 1;
            runs.push(run);
            next = submits.next();
        }
        events.iter().for_each(|event| market.apply(event).unwrap());
        let mut commands = Vec::new();
        policy.decide(&market, &events, &mut commands);
        wake = None;
        for command in commands {
            match command {
                Command::Start { job, place } => {
                    market.apply(&Event::Started { job, place }).unwrap();
                    ends.insert((now + runs[job.index()], job));
                }
                Command::Wake { at } => wake = Some(at.0),
                Command::Preempt { .. } | Command::Refuse { .. } | Command::Trade { .. } => {
                    panic!("{command:?}")
                }
            }
        }
        market.check().unwrap();
        look(policy);
    }
}

/// The reservations after each pass.
type History = Vec<Vec<(JobId, Option<Time>)>>;

/// All reservations, if a search is worth so many jobs (0 always searches, the most never does)
/// a queue so long, and a profile so long.
fn history(
    drawn: &[Drawn],
    order: Order,
    (jobs_per_search, long_queue, long_profile): (usize, usize, usize),
) -> History {
    let mut policy = Backfill::new(BackfillSettings { depth: Depth::All, order, candidates: None });
    policy.line.memory.moves.jobs_per_search = jobs_per_search;
    policy.line.memory.bounds.long_queue = long_queue;
    policy.line.memory.no_room.long = long_profile;
    let mut history = Vec::new();
    replay(drawn, &mut policy, |policy| {
        history.push(policy.line.queue.iter().map(|it| (it.rank.job, it.reserved)).collect());
    });
    history
}

fn long() -> impl Strategy<Value = Vec<Drawn>> {
    let beyond = prop_oneof![Just(0i64..1), Just(0i64..40)];
    beyond.prop_flat_map(|beyond| {
        prop::collection::vec((0i64..4, 1i64..30, 1u32..=PROCESSORS, beyond), 30..90)
    })
}

fn order() -> impl Strategy<Value = Order> {
    prop::sample::select(Order::ALL.map(|it| it.0).to_vec())
}

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    prop::collection::vec((0i64..6, 1i64..20, 1u32..=PROCESSORS, 0i64..15), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn conservative_reservations_exist_from_the_first_pass_on_and_never_move_back(
        drawn in drawn(), order in order(),
    ) {
        prop_assume!(!order.moves());
        let mut policy = Backfill::new(BackfillSettings { depth: Depth::All, order, candidates: None });
        let mut promised: std::collections::BTreeMap<JobId, Time> = Default::default();
        replay(&drawn, &mut policy, |policy| {
            for waiting in policy.line.queue.iter() {
                let start = waiting.reserved.unwrap();
                let before = promised.insert(waiting.rank.job, start);
                assert!(before.is_none_or(|before| start <= before));
            }
        });
    }

    #[test]
    fn the_head_has_the_earliest_start_and_no_other_job_fits_beside_it(
        drawn in prop_oneof![drawn(), long()], order in order(),
    ) {
        let mut policy = Backfill::new(BackfillSettings { depth: Depth::First(1), order, candidates: None });
        replay(&drawn, &mut policy, |policy| {
            let Some(head) = policy.line.queue.after(None) else { return };
            let mut profile = policy.nodes.as_ref().unwrap().free().clone();
            let mut others = policy.line.queue.from(Some(head.rank));
            assert!(others.all(|other| !profile.fits(other.processors, profile.origin(), other.estimate)));
            let held = head.reserved.unwrap();
            profile.release(head);
            assert_eq!(profile.earliest(head.processors, head.estimate, profile.origin()), Some(held));
        });
    }

    #[test]
    fn short_cuts_lead_where_looking_at_every_job_does(
        drawn in prop_oneof![drawn(), long()], order in order(), jobs_per_search in 0usize..4,
    ) {
        let all = history(&drawn, order, (usize::MAX, usize::MAX, usize::MAX));
        prop_assert_eq!(&history(&drawn, order, (0, usize::MAX, usize::MAX)), &all);
        prop_assert_eq!(&history(&drawn, order, (jobs_per_search, 0, usize::MAX)), &all);
        prop_assert_eq!(&history(&drawn, order, (usize::MAX, usize::MAX, 1)), &all);
        prop_assert_eq!(&history(&drawn, order, (jobs_per_search, 0, 1)), &all);
    }

    #[test]
    fn the_profile_is_what_runs_and_what_is_reserved(drawn in drawn(), depth in 0u32..4) {
        let mut policy = Backfill::new(BackfillSettings { depth: Depth::First(depth), ..BackfillSettings::default() });
        replay(&drawn, &mut policy, |policy| {
            let reserved = policy.line.queue.iter().filter(|it| it.reserved.is_some()).count();
            assert_eq!(reserved, policy.line.queue.len().min(depth as usize));
            assert!(policy.nodes.as_ref().unwrap().free().free_now() >= 0);
        });
        // When all is over, nothing is left in the books.
        let nodes = policy.nodes.unwrap();
        prop_assert_eq!(nodes.free(), &Profile::new(PROCESSORS, nodes.now()));
        prop_assert!(nodes.idle() && policy.line.len() == 0);
    }
}
