//! One job on two real cells.

use tradewind_daemon::site::conformance::{SiteBench, TaskBehaviour, order};
use tradewind_daemon::site::{Exit, Order};
use tradewind_model::Span;

use crate::bench::GridBench;
use crate::surprises::until_ended;

/// Apart at most, on a machine that does other things, too: milliseconds.
const APART: i64 = 500;

/// The market gives parts a start that lies so far ahead.
const AHEAD: Span = Span(4);

/// The cells are not surveyed meanwhile.
#[test]
fn parts_that_do_not_wait_for_each_other_begin_at_their_start() {
    let mut benches = [GridBench::new(), GridBench::new()];
    let mut apart = Vec::new();
    for job in 1..=5 {
        let start = benches[0].now() + AHEAD;
        let parts = [0, 1].map(|part| {
            let bench = &mut benches[part];
            let act = TaskBehaviour::Exit { after: 0, code: 0 };
            let order = Order { start, nodes: 2, ..order(bench, job, &act) };
            bench.site().submit(&order).unwrap();
            order
        });
        std::thread::sleep(std::time::Duration::from_secs(AHEAD.0.unsigned_abs()));
        let mut began = Vec::new();
        for (bench, order) in benches.iter_mut().zip(&parts) {
            assert_eq!(until_ended(bench, job), Exit::Code(0));
            let survey = bench.site().survey().unwrap();
            began.push(survey.began[&order.tag] - start.0 * 1_000);
        }
        println!("begun {began:?} ms after the moment");
        assert!(began.iter().all(|it| *it >= 0), "{began:?}");
        apart.push((began[0] - began[1]).abs());
    }
    apart.sort_unstable();
    println!("apart {apart:?} ms");
    // Not the worst, as others may need this machine for a moment, too.
    assert!(apart[2] <= APART, "{apart:?}");
}
