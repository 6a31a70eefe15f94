//! The Grid Engine site on a real Grid Engine.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed"
)]

mod fixture;

use fixture::{Cluster, Daemon};

#[test]
fn fixture_works() {
    let began = std::time::Instant::now();
    let c = Cluster::start();
    println!("{:?}", began.elapsed());
    println!("{}", c.owners_job("x", 3, 30));
    std::thread::sleep(std::time::Duration::from_secs(1));
    println!("{}", c.must(&["qstat", "-f", "-u", "*"], ""));
    c.signal(Daemon::Master, "TERM");
    let t = std::time::Instant::now();
    println!("{:?}", c.run(&["qstat", "-f", "-u", "*"], ""));
    println!("{:?}", t.elapsed());
    c.restart(Daemon::Master);
    std::thread::sleep(std::time::Duration::from_secs(3));
    println!("{:?}", c.run(&["qstat", "-f", "-u", "*"], ""));
}
