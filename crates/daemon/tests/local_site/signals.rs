//! Signals before a task's limit.

use std::fs;
use std::time::{Duration, Instant};

use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::{Exit, Order};
use tradewind_model::Span;

use super::local_site::LocalBench;
use super::{shell, until_ended, until_running};

/// A task that says which process gets a signal before its limit of six seconds.
fn listener(bench: &mut LocalBench, signal: &str) -> Order {
    let text = "trap 'echo script >>heard' USR1\n\
                sh -c 'trap \"echo child >>heard; exit\" USR1; : >ready; while :; do sleep 0.05; done' &\n\
                until [ -e ready ]; do sleep 0.01; done\n\
                while [ ! -s heard ]; do sleep 0.05; done\n\
                sleep 0.5; exit 3";
    let mut order = shell(bench, text);
    order.limit = Span(6);
    order.passed_through = vec![("signal".to_owned(), signal.to_owned())];
    order
}

#[test]
fn a_signal_before_the_limit_comes_once_to_whom_it_is_meant_for() {
    for (signal, wanted) in [("B:USR1@3", "script\n"), ("SIGUSR1@3", "child\n")] {
        let mut bench = LocalBench::new();
        let order = listener(&mut bench, signal);
        bench.site().submit(&order).unwrap();
        until_running(&mut bench);
        let began = Instant::now();
        assert_eq!(until_ended(&mut bench), Exit::Code(3), "{signal}");
        assert!(began.elapsed() >= Duration::from_millis(2_500), "{signal}: {:?}", began.elapsed());
        let heard = fs::read_to_string(bench.settings.directory.join("heard")).unwrap();
        assert_eq!(heard, wanted, "{signal}");
    }
}
