//! Owners' jobs take nodes back from preemptible jobs of the market. All checkers watch every world.

use tradewind_model::{Checkpoint, Guard, Preemptible, SiteId, Span, Standing};
use tradewind_sim::{LossCause, Run};

use super::alone;
use super::worlds::{Ends, Kind, Submitted, World};

const KIND: Kind = Kind {
    owners: Submitted::AllTheTime,
    ends: Ends::Early,
    market: Standing::Behind,
    guard: Guard::Spare,
};

const HOW: [Preemptible; 3] = [
    Preemptible { checkpoint: Checkpoint::Never, restart: Span(30), kept: Span::ZERO },
    Preemptible { checkpoint: Checkpoint::Every(Span(300)), restart: Span(30), kept: Span::ZERO },
    Preemptible { checkpoint: Checkpoint::OnNotice, restart: Span(0), kept: Span::ZERO },
];

fn owners_wait(world: &World, run: &Run) -> i64 {
    let loads = world.workload.owners.iter().zip(&run.owners);
    let all = loads.flat_map(|(load, ran)| load.jobs.iter().zip(ran));
    all.map(|(job, ran)| (ran.unwrap().start - job.submit).0).sum()
}

/// What every preemptible job did, in all its runs.
fn adds_up(world: &World, run: &Run) -> (usize, i64) {
    let (mut preemptions, mut lost_s) = (0, 0);
    for (index, (job, ran)) in world.workload.jobs.iter().zip(&run.jobs).enumerate() {
        let lost = || run.lost.iter().filter(|lost| lost.job == index);
        let Some(terms) = job.preemptible() else {
            assert_eq!(lost().count(), 0, "job {index} keeps its nodes");
            continue;
        };
        let kept = run.kept.get(&index).copied().unwrap_or_default();
        let last = (ran.end - ran.start).0 - if kept.0 > 0 { terms.restart.0 } else { 0 };
        let data = job.terms.as_ref().and_then(|terms| terms.data.as_ref());
        let last = last - data.map_or(0, |staging| staging.total(SiteId(0)).0);
        let useful: i64 = lost().map(|it| it.cut.progress.0).sum();
        // One that lost its nodes while its output went away had done all.
        let useful = if data.is_some() { useful.min(job.run.0) } else { useful };
        assert_eq!(useful + last, job.run.0, "job {index}: all its work is done once");
        for it in lost() {
            assert_eq!(it.cause, LossCause::Preemption);
            let used = (it.end - it.start).0;
            assert!(it.cut.paid().0 <= used, "{it:?}");
            lost_s += (used - it.cut.paid().0) * i64::from(job.processors);
            preemptions += 1;
        }
    }
    (preemptions, lost_s)
}

#[test]
fn without_notice_preemptible_jobs_change_nothing_for_owners() {
    let mut preemptions = 0;
    for seed in 0..60 {
        let how = HOW[seed as usize % HOW.len()];
        let world = World::drawn(seed, KIND).preemptible(100, 0, how);
        let run = world.run();
        assert_eq!(run.owners, alone(&world.workload), "seed {seed}");
        preemptions += adds_up(&world, &run).0;
    }
    assert!(preemptions > 60, "{preemptions}");
}

/// The data comes again in each run, and none of that time is work.
#[test]
fn the_transfer_of_data_is_no_progress() {
    let (mut preemptions, mut paid_more) = (0, 0);
    for seed in 0..60 {
        let how = HOW[seed as usize % HOW.len()];
        let world = World::drawn(seed, KIND).preemptible(100, 60, how).with_data((45, 20));
        let run = world.run();
        preemptions += adds_up(&world, &run).0;
        for it in run.lost.iter().filter(|it| it.cut.progress > Span::ZERO) {
            assert!(it.cut.restart >= Span(45) && it.cut.paid() >= it.cut.progress + Span(45));
            paid_more += 1;
        }
    }
    assert!(preemptions > 60 && paid_more > 20, "{preemptions} {paid_more}");
}

#[test]
fn owners_wait_less_the_more_jobs_are_preemptible() {
    for how in HOW {
        let mut waits = [0; 3];
        let mut sums = [(0, 0); 3];
        for seed in 0..20 {
            for (at, percent) in [0, 50, 100].into_iter().enumerate() {
                let world = World::drawn(seed, KIND).preemptible(percent, 60, how);
                let run = world.run();
                waits[at] += owners_wait(&world, &run);
                let (preemptions, lost) = adds_up(&world, &run);
                sums[at].0 += preemptions;
                sums[at].1 += lost;
            }
        }
        println!("{how:?}: owners wait {waits:?} s, preemptions and lost node-seconds {sums:?}");
        assert!(waits[2] < waits[0] && sums[0] == (0, 0) && sums[2].0 > sums[1].0);
        if how.checkpoint != Checkpoint::Never {
            assert!(sums[2].1 > 0);
        }
    }
}
