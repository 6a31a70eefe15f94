use proptest::prelude::*;

use super::*;
use crate::input::Input;

fn limits(each: &[(&str, i64)]) -> TimeLimit {
    TimeLimit::Classes(each.iter().map(|(name, s)| ((*name).to_owned(), Span(*s))).collect())
}

fn speeds(each: &[(&str, u32)]) -> BTreeMap<String, Performance> {
    let speed = |it: u32| Performance::from_thousandths(it).unwrap();
    each.iter().map(|(name, it)| ((*name).to_owned(), speed(*it))).collect()
}

#[test]
fn limits_by_class_become_work() {
    let it = limits(&[("fast", 600), ("slow", 1_800)]);
    assert_eq!(it.work(&speeds(&[("fast", 2_500), ("slow", 1_000)])), Some(Span(1_800)));
    assert_eq!(it.work(&speeds(&[("fast", 4_000), ("slow", 500)])), Some(Span(2_400)));
    assert_eq!(it.work(&speeds(&[("fast", 333)])), Some(Span(200)));
    assert_eq!(it.work(&speeds(&[("other", 1_000)])), None);
    assert_eq!(TimeLimit::one(Span(60)).work(&BTreeMap::new()), Some(Span(60)));
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 é\"\\\\/%.:-]{0,8}[a-z]"
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_.-]{0,6}"
}

fn work() -> impl Strategy<Value = Work> {
    let arguments = || proptest::collection::vec("\\PC{0,6}", 0..3);
    prop_oneof![
        ("[ -~\n\té]{0,20}", arguments())
            .prop_map(|(text, arguments)| Work::Script { text: format!("#!{text}"), arguments }),
        (text(), arguments()).prop_map(|(program, arguments)| Work::Command(
            std::iter::once(program).chain(arguments).collect()
        )),
    ]
}

/// As a document can say it.
fn counted() -> impl Strategy<Value = Counted> {
    let times = prop::sample::select(vec![Times::Wall, Times::Work]);
    prop_oneof![Just(Counted::Default), times.prop_map(Counted::Job)]
}

fn time() -> impl Strategy<Value = TimeLimit> {
    let span = || (1i64..1_000_000).prop_map(Span);
    prop_oneof![
        (span(), counted()).prop_map(|(limit, counted)| TimeLimit::One { limit, counted }),
        proptest::collection::btree_map(name(), span(), 1..4).prop_map(TimeLimit::Classes),
    ]
}

fn conditions() -> impl Strategy<Value = Conditions> {
    use proptest::option::of;
    let amount = || of(0i64..=Money::MAX.0);
    let attribute = prop_oneof![
        any::<bool>().prop_map(Attribute::Flag),
        (-1_000_000i64..1_000_000).prop_map(Attribute::Number),
        text().prop_map(Attribute::Text),
        proptest::collection::vec(text(), 2..4).prop_map(Attribute::OneOf),
    ];
    let numbers = (of(1u32..2_000), amount(), amount(), amount(), -9i64..9);
    let times = (of(0i64..1_000), of(1_000i64..2_000));
    let names = || proptest::collection::vec(name(), 0..3);
    let attributes = proptest::collection::btree_map("x[a-z]{0,3}", attribute, 0..3);
    let criterion = prop_oneof![
        Just(Criterion::Start),
        Just(Criterion::ProcessorTime),
        name().prop_map(Criterion::Sum)
    ];
    let spread = proptest::sample::select(vec![Spread::Grid, Spread::Site]);
    let named = proptest::collection::vec("[a-z]{1,4}", 1..3);
    let peers = proptest::option::of(prop_oneof![
        named.clone().prop_map(PeerChoice::Only),
        named.prop_map(PeerChoice::Not)
    ]);
    let licences = proptest::collection::btree_map("[a-z]{1,4}(@[a-z]{1,3})?", 1u32..9, 1..3);
    let licences = proptest::option::of(licences);
    let data = proptest::option::of(data());
    let more = (spread, peers, licences, data);
    (numbers, times, criterion, attributes, names(), names(), more).prop_map(
        |(
            numbers,
            (start, end),
            criterion,
            attributes,
            sites,
            pools,
            (spread, peers, licences, data),
        )| {
            Conditions {
                min_performance: numbers.0.and_then(Performance::from_thousandths),
                max_price: numbers.1.map(Price),
                budget: numbers.2.map(Money),
                value: numbers.3.map(Money),
                earliest_start: start.map(Time),
                deadline: end.map(Time),
                criterion,
                priority: numbers.4,
                attributes,
                sites,
                pools,
                spread,
                peers,
                shapes: None,
                groups: None,
                licences,
                data,
            }
        },
    )
}

/// Data of a job, not of nothing.
fn data() -> impl Strategy<Value = JobData> {
    let part = || (0u64..5_000_000, "[a-z]{1,4}");
    let data = (part(), part()).prop_map(|((input, from), (output, to))| {
        let named = |kib: u64, name: String| if kib > 0 { name } else { String::new() };
        let (from, to) = (named(input, from), named(output, to));
        JobData { input: input << 10, from, output: output << 10, to }
    });
    data.prop_filter("it is of nothing", |data| data.input > 0 || data.output > 0)
}

fn surroundings() -> impl Strategy<Value = Surroundings> {
    use proptest::option::of;
    let variables = proptest::collection::btree_map("[A-Z_][A-Z0-9_]{0,4}", "[ -~\n]{0,6}", 0..3);
    let append = prop_oneof![Just(Append::Append), Just(Append::Truncate)];
    (of(text()), of(text()), of(text()), of(text()), append, variables).prop_map(
        |(directory, output, error, input, append, environment)| Surroundings {
            directory,
            output,
            error,
            input,
            append,
            environment,
        },
    )
}

/// What options can say; a number of nodes alone is different from it.
fn shape() -> impl Strategy<Value = Option<Shape>> {
    use proptest::option::of;
    let nodes = of((1u32..99, 0u32..9));
    let rest = (of(1u32..99), of(1u32..9), of(1u32..9));
    (nodes, rest).prop_map(|(nodes, (tasks, tasks_per_node, cpus_per_task))| {
        let max = nodes.map(|(min, more)| min + more);
        let nodes = nodes.map(|(min, _)| min);
        Some(Shape { nodes, max_nodes: max, tasks, tasks_per_node, cpus_per_task })
    })
}

fn submission() -> impl Strategy<Value = Submission> {
    use proptest::option::of;
    let when = prop_oneof![
        Just(When::Ok),
        Just(When::NotOk),
        Just(When::Any),
        Just(When::Begun),
        Just(When::Corresponding),
        Just(When::Singleton)
    ];
    let dependency = (when, 1u64..99).prop_map(|(when, job)| match when {
        When::Singleton => Dependency { when, job: 0 },
        _ => Dependency { when, job },
    });
    let indices = proptest::collection::btree_set(0u32..30, 1..9);
    let array = (indices, of(1u32..9))
        .prop_map(|(all, at_once)| Array { indices: all.into_iter().collect(), at_once });
    let lost = prop_oneof![Just(OnLost::Fail), Just(OnLost::Rerun), Just(OnLost::Hold)];
    let mail = (of("[a-z][a-z.+-]{0,9}(@[a-z][a-z.-]{0,9})?"), any::<bool>(), any::<bool>())
        .prop_map(|(to, begin, end)| Mail { to, begin, end, fail: !begin });
    let passed = ("qos|gres|mem", text());
    let last = (of(text()), of(1u64..99), proptest::collection::vec(passed, 0..3));
    let gather =
        prop_oneof![Just(Gather::Apart), (1i64..9_999).prop_map(|it| Gather::Within(Span(it)))];
    let state =
        (proptest::collection::vec(dependency, 0..3), of(array), any::<bool>(), lost, of(gather));
    let head = (text(), work(), shape(), time());
    (head, conditions(), of(text()), surroundings(), state, of(mail), last).prop_map(
        |(head, terms, project, surroundings, state, mail, last)| Submission {
            name: head.0,
            work: head.1,
            tasks: head.2.map_or(1, |shape| shape.units()),
            shape: head.2.filter(|shape| !shape.is_plain() || shape.nodes.is_none()),
            time: head.3,
            terms,
            project,
            surroundings,
            after: state.0,
            array: state.1,
            held: state.2,
            on_lost: state.3,
            on_preempted: state.2.then_some(OnLost::Rerun),
            on_breach: [
                None,
                Some(OnBreach::Requeue),
                Some(OnBreach::Cancel),
                Some(OnBreach::Hold),
            ][usize::from(state.2) + 2 * usize::from(state.3 == OnLost::Hold)],
            gather: state.4,
            mail,
            comment: last.0,
            quote: last.1,
            passed_through: last.2,
            stay_home: state.2,
        },
    )
}

/// A job of these shapes.
fn moldable(text: &str) -> Submission {
    let document = format!(r#"{{"name": "x", "command": ["x"], "shapes": {text}}}"#);
    document::parse(&Input::new("x.json", document)).unwrap()
}

#[test]
fn shapes_are_read_as_a_list_or_a_text_and_come_back() {
    let it = moldable(r#"[{"nodes": 64, "time": "1h"}, {"nodes": 16, "time": 12600}]"#);
    assert_eq!(it, moldable(r#""64x1h,16x3:30""#));
    assert_eq!((it.tasks, it.shape, &it.time), (64, None, &TimeLimit::one(Span(3_600))));
    let widths: Vec<u32> = it
        .terms
        .shapes
        .iter()
        .flat_map(tradewind_model::Shapes::as_slice)
        .map(|shape| shape.nodes)
        .collect();
    assert_eq!(widths, [64, 16]);
    let text = document::value(&it).to_string();
    assert_eq!(document::parse(&Input::new("x.json", text)), Ok(it));
    let one = moldable(r#""4x90s""#);
    assert_eq!((one.tasks, one.time, one.terms.shapes), (4, TimeLimit::one(Span(90)), None));
}

#[test]
fn shapes_and_what_they_say_do_not_go_together() {
    for (rest, wanted) in [
        (r#""shapes": "4x1h,8x30m", "nodes": 4"#, "nodes: stands beside `shapes`"),
        (r#""shapes": "4x1h,8x30m", "time": 60"#, "time: stands beside `shapes`"),
        (r#""shapes": "4x1h,8x30m", "ntasks": 4"#, "ntasks: stands beside `shapes`"),
        (r#""shapes": []"#, "shapes: no shape"),
        (r#""shapes": 4"#, "shapes: expected"),
        (r#""shapes": [{"nodes": 0, "time": 5}]"#, "shapes[0].nodes: "),
        (r#""shapes": [{"nodes": 1}]"#, "`time` is missing"),
        (r#""shapes": "4x1h,8x2h""#, "never better"),
    ] {
        let text = format!(r#"{{"name": "x", "command": ["x"], {rest}}}"#);
        let wrong = document::parse(&Input::new("x.json", text)).unwrap_err();
        assert_eq!(wrong.errors(), 1, "{rest}: {wrong}");
        assert!(wrong.to_string().contains(wanted), "{rest}: {wrong}");
    }
}

proptest! {
    #[test]
    fn every_class_gets_its_limit_or_more(
        each in proptest::collection::btree_map("[a-d]", (1i64..100_000, 1u32..5_000), 1..4),
    ) {
        let of = |pick: fn(&(i64, u32)) -> i64| -> Vec<(&str, i64)> {
            each.iter().map(|(name, it)| (name.as_str(), pick(it))).collect()
        };
        let it = limits(&of(|it| it.0));
        let fast: Vec<(&str, u32)> =
            of(|it| i64::from(it.1)).into_iter().map(|(name, it)| (name, it as u32)).collect();
        let speeds = speeds(&fast);
        let work = it.work(&speeds).unwrap();
        let TimeLimit::Classes(limits) = &it else { unreachable!() };
        let mut tight = false;
        for (name, limit) in limits {
            prop_assert!(speeds[name].length_of(work) >= *limit);
            let rounding = Performance::length_of(speeds[name], Span(1));
            tight |= speeds[name].length_of(work).0 <= limit.0 + rounding.0;
        }
        prop_assert!(tight);
    }

    #[test]
    fn documents_come_back(it in submission()) {
        let text = document::value(&it).to_string();
        let back = document::parse(&Input::new("x.json", text.clone()));
        prop_assert_eq!(back.map_err(|all| format!("{all}\n{text}")), Ok(it));
    }

    #[test]
    fn any_document_is_read_or_refused(text in "\\PC{0,60}") {
        let _ = document::parse(&Input::new("x.json", text));
    }
}
