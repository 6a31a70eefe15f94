use tradewind_model::{
    self as model, Grid, Measure, Money, NodeId, Outcome, Performance, Reason as Why, Span, Time,
};

use super::*;
use crate::input::Input;
use crate::scenario;

const SCENARIO: &str = r#"{
  "horizon": {"start": 0, "end": 100}, "busy": [],
  "nodes": [{"name": "a", "price": 0.1}, {"name": "b", "performance": 2, "price": 0.3}],
  "jobs": [{"name": "one", "nodes": 2, "work": 10}, {"name": "two", "nodes": 1, "work": 5}]
}"#;

fn window(grid: &Grid) -> model::Window {
    let task = |node: u32| {
        let id = NodeId(node);
        let length = grid.node(id).performance.length_of(Span(10));
        model::Task { node: id, length, cost: grid.node(id).price * length, group: 0 }
    };
    model::Window::new(Time(7), vec![task(0), task(1)]).unwrap()
}

#[test]
fn a_plan_has_the_documented_shape_and_exact_amounts() {
    let (scenario, _) = scenario::parse(&Input::new("s.json", SCENARIO)).unwrap();
    let snapshot = scenario.snapshot;
    let short = Why::BudgetShort { cheapest: Money(12_500_001), budget: Money(2) };
    let job =
        |outcome, alternatives, cut| model::JobPlan { outcome, alternatives, cut, unproven: 0 };
    let plan = model::Plan {
        jobs: vec![
            job(Outcome::Placed(0), vec![window(&snapshot.grid)], true),
            job(Outcome::Postponed(short), Vec::new(), false),
        ],
        limits: model::Limits { time: Some(Span(20)), budget: None },
        sub_batches: 1,
        gap: None,
    };
    let mut document = Plan::new(&snapshot, &plan, Measure::ProcessorTime);
    document.seed = Some(7);
    let w = r#"{"start":7,"finish":17,"runtime":10,"cost":2.5,"processor_time":15,"tasks":[{"node":"a","start":7,"end":17,"cost":1},{"node":"b","start":7,"end":12,"cost":1.5}]}"#;
    let expected = format!(
        r#"{{"seed":7,"sub_batches":1,"jobs":[{{"name":"one","window":{w},"alternatives":[{w}],"cut":true}},{{"name":"two","postponed":{{"reason":"budget-short","message":"budget short by 12.499999: the cheapest window costs 12.500001, the budget is 0.000002","budget":0.000002,"cheapest":12.500001,"short_by":12.499999}},"alternatives":[]}}],"limits":{{"time":20,"budget":null}},"totals":{{"time":15,"cost":2.5,"processor_time":15,"placed":1}}}}"#
    );
    assert_eq!(serde_json::to_string(&document).unwrap(), expected);
    let gap = |sum| model::Plan { gap: Some(model::Gap { placed: 2, sum }), ..plan.clone() };
    for (sum, text) in [
        (model::Sum::Time(Span(9)), r#""gap":{"placed":2,"time":9}"#),
        (model::Sum::Cost(Money(1_500_000)), r#""gap":{"placed":2,"cost":1.5}"#),
    ] {
        let document = Plan::new(&snapshot, &gap(sum), Measure::Runtime);
        assert!(serde_json::to_string(&document).unwrap().contains(text));
    }
}

#[test]
fn every_reason_has_its_numbers() {
    let (limit, min) = (Span(1), Span(2));
    let (money, more) = (Money(1_500_000), Money(2_000_000));
    let min_performance = Performance::from_thousandths(2_500);
    let deadline = Some(Time(9));
    for (why, numbers) in [
        (Why::WiderThanGrid { needed: 5, nodes: 2 }, r#""needed":5,"nodes":2"#),
        (
            Why::TooFewNodes { needed: 5, suitable: 3, min_performance },
            r#""min_performance":2.5,"needed":5,"suitable":3"#,
        ),
        (Why::NoCommonTime { needed: 5, max: 4, deadline }, r#""deadline":9,"most":4,"needed":5"#),
        (Why::TimeLimit { limit, min }, r#""least":2,"limit":1"#),
        (Why::BudgetLimit { limit: money, min: more }, r#""least":2,"limit":1.5"#),
        (Why::BothLimits { time: limit, budget: money }, r#""budget_limit":1.5,"time_limit":1"#),
    ] {
        let text = serde_json::to_string(&Reason::from(&why)).unwrap();
        let expected = format!(r#"{{"code":"{}","text":"{why}",{numbers}}}"#, why.code());
        assert_eq!(text, expected);
    }
    let outbid = serde_json::to_string(&Postponed::from(&Why::Outbid)).unwrap();
    assert_eq!(outbid, r#"{"reason":"outbid","message":"other jobs took every window"}"#);
}

#[test]
fn combine_input_is_read_exactly() {
    let text = r#"{"jobs": [
        {"name": "a", "alternatives": [{"time": 5, "cost": 1.000001}, {"time": "1m", "cost": 0}]},
        {"name": "b", "alternatives": []}
    ]}"#;
    let jobs = combine::parse(&Input::new("-", text)).unwrap();
    assert_eq!(jobs.len(), 2);
    let second = combine::Alternative {
        time: Span(60),
        cost: Money(0),
        quantities: std::collections::BTreeMap::new(),
    };
    assert_eq!(jobs[0].alternatives[0].cost, Money(1_000_001));
    assert_eq!(jobs[0].alternatives[1], second);
}

#[test]
fn combine_input_is_refused_with_all_mistakes() {
    let read = |text: &str| combine::parse(&Input::new("c", text)).unwrap_err().to_string();
    let text = r#"{"jobs": [
        {"name": "a", "alternatives": [{"time": 1.5, "cost": -1}, {"tim": 1, "cost": 1}]},
        {"alternatives": 3}
    ]}"#;
    let err = read(text);
    for expected in [
        "c:2: jobs[0].alternatives[0].time: `1.5` is not a whole number",
        "c:2: jobs[0].alternatives[0].cost: negative number `-1`",
        "c:2: jobs[0].alternatives[1].tim: unknown key\n  hint: did you mean `time`?",
        "c:2: jobs[0].alternatives[1]: `time` is missing",
        "c:3: jobs[1]: `name` is missing",
        "c:3: jobs[1].alternatives: expected a list, found the number `3`",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
    assert!(read(r#"{"jobs": []}"#).contains("jobs: an empty list"));
    let big = r#"{"name": "a", "alternatives": [{"time": 1, "cost": 2e12}]}"#;
    assert!(read(&format!("{{\"jobs\": [{big}, {big}]}}")).contains("out of range"));
}
