use proptest::prelude::*;
use tradewind_model::Profile;

use super::*;

/// A job's joining (gap from the one before), run, width, expected length, and how long it waits
/// before it leaves.
type Drawn = (i64, i64, u32, i64, Option<i64>);

const PROCESSORS: u32 = 6;

/// What each pass started, and all reservations after it.
type History = Vec<(Time, Vec<JobId>, Vec<Option<Time>>)>;

fn replay(drawn: &[Drawn], site: &mut MultiQueue) -> History {
    let mut history = History::new();
    let ids = || (0u32..).map(JobId).zip(drawn);
    let joins: Vec<i64> =
        drawn.iter().scan(0, |at, job| Some(*at + job.0).inspect(|to| *at = *to)).collect();
    let mut running: BTreeMap<JobId, Time> = BTreeMap::new();
    let last = joins.last().copied().unwrap_or_default();
    for now in 0.. {
        if now > last && running.is_empty() && site.load().waiting() == 0 {
            break;
        }
        let at = Time(now);
        let mut news = site.wake().is_some_and(|wake| wake <= at);
        for (job, (_, run, ..)) in ids() {
            if running.get(&job).is_some_and(|start| *start + Span((*run).max(1)) == at) {
                running.remove(&job);
                site.ended(job, Span(*run), at);
                news = true;
            }
            let joined = joins[job.index()];
            if drawn[job.index()].4.is_some_and(|patience| joined + 1 + patience == now) {
                news |= site.queue_of(job).is_some();
                site.leave(job, at);
            }
            let (_, _, processors, length, _) = drawn[job.index()];
            if joined == now {
                let (length, submitted) = (Span(length), at);
                let origin = if job.0 % 4 == 3 { Origin::Remote } else { Origin::Local };
                site.join(SiteJob { job, processors, length, submitted }, origin, at);
                news = true;
            }
        }
        if news {
            let mut starts = Vec::new();
            site.decide(at, &mut starts, &mut Vec::new());
            running.extend(starts.iter().map(|job| (*job, at)));
            let held = ids().map(|(job, _)| site.reservation(job)).collect();
            history.push((at, starts, held));
        }
    }
    history
}

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let leaves = prop::option::weighted(0.3, 0i64..60);
    let job = (0i64..4, 1i64..30, 1u32..=PROCESSORS, 1i64..40, leaves);
    prop::collection::vec(job, 1..70)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn short_cuts_lead_where_looking_at_every_reservation_does(
        drawn in drawn(), alpha in 1u32..=1_000, beta in 1u32..8,
    ) {
        let settings = MultiQueueSettings::new(alpha, beta).unwrap().with_patience(Some(9)).unwrap();
        let mut every = MultiQueue::new(PROCESSORS, settings);
        let mut some = MultiQueue::new(PROCESSORS, settings);
        some.reserved = some.reserved.searching();
        prop_assert_eq!(replay(&drawn, &mut every), replay(&drawn, &mut some));
        // When all is over, nothing is left in the books.
        let profile = every.nodes.free();
        prop_assert_eq!(profile, &Profile::new(PROCESSORS, profile.origin()));
        prop_assert!(every.cards.is_empty() && every.elders.is_empty() && every.work == 0);
        prop_assert!(every.patience.is_empty() && every.full.iter().all(BTreeSet::is_empty));
    }
}
