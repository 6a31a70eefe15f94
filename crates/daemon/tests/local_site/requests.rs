//! Requests that the machine cannot meet are the job's fault, and not the site's.

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order, tag};
use tradewind_daemon::site::limits::Holds;
use tradewind_daemon::site::size::Size;
use tradewind_daemon::site::{Exit, Seen, SiteError};

use crate::local_site::LocalBench;
use crate::{shell, until_ended};

#[test]
fn a_job_that_asks_for_too_much_meets_a_limit_of_its_own() {
    let mut bench = LocalBench::new();
    let seen = bench.site().survey().unwrap();
    let pool = &seen.pools[0];
    assert!(matches!(pool.size, Some(Size::Slot(1..))), "{pool:?}");
    let max = pool.max.as_ref().unwrap();
    assert!(max.memory > 0 && max.generic.is_empty(), "no devices: {max}");
    for (job, (option, value)) in (1..).zip([("cpus-per-task", "99999"), ("gres", "gpu:1")]) {
        let mut wrong = order(&mut bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        wrong.passed_through = vec![(option.to_owned(), value.to_owned())];
        let answer = bench.site().submit(&wrong);
        let Err(SiteError::Capped(why)) = answer else { panic!("{option}: {answer:?}") };
        assert!(why.contains(option), "{why}");
        let cap = bench.site().survey().unwrap().capped.remove(&tag(job)).unwrap();
        assert_eq!((cap.holds, cap.word), (Holds::ForThisJob, why));
    }
    let plain = order(&mut bench, 3, &TaskBehaviour::Exit { after: 0, code: 4 });
    bench.site().submit(&plain).unwrap();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let seen = bench.site().survey().unwrap().tasks.remove(&tag(3));
        match seen {
            Some(Seen::Ended { exit, .. }) => return assert_eq!(exit, Exit::Code(4)),
            _ => assert!(std::time::Instant::now() < end, "{seen:?}"),
        }
        bench.wait();
    }
}

/// Without cgroups, too: the kernel gives a process no more than its job asks for.
#[test]
fn a_job_gets_the_memory_and_the_processors_that_it_asks_for_and_no_more() {
    let buffer = "exec dd if=/dev/zero of=/dev/null bs=300M count=1 2>/dev/null";
    for (option, value, script, code) in [
        ("mem", "100M", buffer, 1),
        ("mem-per-cpu", "100M", buffer, 1),
        ("mem", "400M", buffer, 0),
        ("mem", "0", buffer, 0),
        ("cpus-per-task", "1", "exec test $(nproc) = 1", 0),
    ] {
        let mut bench = LocalBench::new();
        let mut job = shell(&mut bench, script);
        job.passed_through = vec![(option.to_owned(), value.to_owned())];
        bench.site().submit(&job).unwrap();
        assert_eq!(until_ended(&mut bench), Exit::Code(code), "--{option}={value}: {script}");
    }
}
