//! What is submitted of an order.

use super::*;

fn order() -> Order {
    Order {
        tag: Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 },
        name: "a\nb".to_owned(),
        user: "ana".to_owned(),
        pool: "p".to_owned(),
        nodes: 3,
        start: Time(0),
        aside: false,
        gather: Some(Span(30)),
        limit: Span(91),
        data: None,
        work: Work::Command(vec!["true".to_owned()]),
        surroundings: Surroundings::default(),
        variables: std::collections::BTreeMap::new(),
        on_lost: OnLost::Fail,
        is_preemptible: false,
        passed_through: Vec::new(),
    }
}

#[test]
fn submissions_say_what_was_ordered_and_no_more() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let members = Members { features: vec!["fast".to_owned()], ..main_partition() };
    let site = [pair("qos", "low"), pair("account", "grid"), pair("constraint", "x|y")];
    let terms = SbatchTerms {
        members: &members,
        excluded: &["a7".to_owned(), "a8".to_owned()],
        unit: NodeUnit::Node,
        options: &site,
        begin: &BeginTime::After(60),
        now: Time(1_000),
    };
    let mut order = order();
    order.passed_through = vec![pair("constraint", "z"), pair("uid", "0"), pair("overcommit", "")];
    order.passed_through.push(pair("signal", "B:USR1@30"));
    let words = sbatch::words(&order, "tw-m-1-0-0 17", &terms).join(" ");
    for wanted in [
        "sbatch --parsable --no-requeue ",
        "--comment=tw-m-1-0-0 17 --job-name=a_b --time=3 --nodes=3 --mem=0 --exclusive",
        "--partition=main --exclude=a7,a8 --begin=now+60 --qos=low --account=grid",
        "--overcommit --constraint=fast&(x|y)",
    ] {
        assert!(words.contains(wanted), "{wanted}: {words}");
    }
    assert!(!words.contains("uid") && !words.contains("signal"), "{words}");
    let terms = SbatchTerms { unit: NodeUnit::Cores(4), begin: &BeginTime::Held, ..terms };
    let words = sbatch::words(&order, "x", &terms).join(" ");
    assert!(words.contains("--ntasks=3 --cpus-per-task=4") && words.contains(" --hold"));
    assert!(!words.contains("exclusive"), "{words}");
    let unit = NodeUnit::Shared { cores: 2, memory: 8_000 };
    order.passed_through = vec![pair("mem", "20G"), pair("qos", "high")];
    let words = sbatch::words(&order, "x", &SbatchTerms { unit, ..terms }).join(" ");
    assert!(words.contains("--ntasks=1 --cpus-per-task=6 --mem-per-cpu=4000M"), "{words}");
    assert!(!words.contains("--mem=") && words.contains("--qos=high"), "{words}");
    order.passed_through = vec![pair("mem-per-cpu", "1G")];
    let words =
        sbatch::words(&order, "x", &SbatchTerms { unit: NodeUnit::Node, ..terms }).join(" ");
    assert!(words.contains(" --mem-per-cpu=1G") && !words.contains("--mem=0"), "{words}");
}

#[test]
fn whole_minutes_hold_every_limit() {
    for (limit, gather, wanted) in [(1, None, 1), (60, None, 1), (61, None, 2), (60, Some(1), 2)] {
        let order = Order { limit: Span(limit), gather: gather.map(Span), ..order() };
        assert_eq!(sbatch::minutes(&order, Time(1_000)), wanted);
    }
    let soon = Order { start: Time(1_003), limit: Span(58), gather: None, ..order() };
    let minutes = |now| sbatch::minutes(&soon, Time(now));
    assert_eq!([990, 1_000, 1_001, 1_003].map(minutes), [1, 2, 1, 1]);
    let which = |now| (ahead(&soon, Time(now)), near(&soon, Time(now)));
    assert_eq!(which(990), (Some(Time(1_003)), None));
    assert_eq!(which(1_000), (None, Some(Time(1_003))));
    assert_eq!(which(1_003), (None, None));
}
