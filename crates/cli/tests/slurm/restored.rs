//! A market is destroyed, and restored from a backup that was made while its job ran.

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, marks};

/// The job ends after the backup, the market takes note and lets the site forget it. Then only the
/// cluster knows how it ended.
#[test]
fn a_job_that_ended_after_the_backup_is_found() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let market = Market::start("", &[Offer::new(&alpha, "alpha", 2, "1")]);
    let end = market.path("end");
    let until_told = format!("while [ ! -e {} ]; do sleep 0.2; done; exit 3", end.display());
    let line = marks(&market.work(), "ran", &until_told);
    let job = market.submit(&["--on-lost", "rerun", "--time", "5:00", "--wrap", &line]);
    market.until_state(job, "RUNNING");
    market.until("its work has begun", || market.written("marks").contains("ran"));
    let backup = market.path("backup.db");
    market.text(&["backup", backup.to_str().unwrap()]);
    // The backup does not know of this one.
    let later = format!("while [ ! -e {}-2 ]; do sleep 0.2; done", end.display());
    let lost = market.submit(&["--time", "5:00", "--wrap", &later]);
    market.until_state(lost, "RUNNING");
    std::fs::write(&end, "").unwrap();
    market.until_state(job, "FAILED");
    market.until("the site has forgotten it", || market.written(".alpha/.ended").contains(" end "));
    market.kill();
    std::fs::remove_dir_all(market.path("state")).unwrap();
    market.text(&["restore", backup.to_str().unwrap()]);
    market.up();
    let found = market.until_state(job, "FAILED");
    assert_eq!((&found["restarts"], &found["exit"]["code"]), (&0.into(), &3.into()), "{found:#}");
    assert_eq!(market.written("marks"), "ran\n");
    // It has its node once.
    let pool = || (market.pool("alpha")["free"].clone(), market.pool("alpha")["local"].clone());
    market.until("alpha is surveyed", || market.log().contains("its journal does not know"));
    assert_eq!(pool(), (1.into(), 1.into()));
    std::fs::write(market.path("end-2"), "").unwrap();
    market.until("it has ended", || pool() == (2.into(), 0.into()));
    // So has a task of another market.
    let words = ["sbatch", "--exclusive", "--output=/dev/null", "--chdir=/", "--time=2"];
    alpha.say(&[&words[..], &["--comment=tw-another-7-0-0 5", "--wrap", "sleep 100"]].concat());
    market.until("it is seen", || pool().1 != 0);
    assert_eq!(pool(), (1.into(), 1.into()));
}
