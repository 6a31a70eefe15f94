//! A submission becomes a JSON object.

use serde_json::{Map, Value, json};
use tradewind_model::{Attribute, Attributes, Criterion, JobShape, Spread, TaskGroup, Times};

use super::super::{
    Append, Conditions, Counted, Gather, OnBreach, OnLost, PeerChoice, Submission, Surroundings,
    TIMES, TimeLimit, When, Work, lists,
};
use crate::links;
use crate::{decimal, scenario};

/// An object that leaves out what is not given.
struct Object(Map<String, Value>);

impl Object {
    fn put(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), value.into());
        }
    }

    fn put_list(&mut self, key: &str, items: Vec<Value>) {
        self.put(key, Some(items).filter(|items| !items.is_empty()));
    }
}

pub(super) fn object(it: &Submission) -> Map<String, Value> {
    let mut all = Object(Map::new());
    all.put("name", Some(it.name.as_str()));
    match &it.work {
        Work::Script { text, arguments } => {
            all.put("script", Some(text.as_str()));
            all.put_list("arguments", texts(arguments));
        }
        Work::Command(words) => all.put("command", Some(texts(words))),
    }
    shape(&mut all, it);
    let is_one = it.terms.shapes.is_none() && it.terms.groups.is_none();
    all.put("time", Some(time(&it.time)).filter(|_| is_one));
    let times = times(&it.time).and_then(|it| TIMES.iter().find(|(_, times)| *times == it));
    all.put("times", times.map(|(name, _)| *name));
    terms(&mut all, &it.terms);
    all.put("project", it.project.as_deref());
    surroundings(&mut all, &it.surroundings);
    let after = it.after.iter().map(|it| {
        let when = lists::WHEN.iter().find(|(_, when)| *when == it.when);
        let when = when.map_or("after", |(name, _)| *name);
        match it.when {
            When::Singleton => json!({"when": when}),
            _ => json!({"when": when, "job": it.job}),
        }
    });
    all.put_list("after", after.collect());
    all.put("array", it.array.as_ref().map(lists::array_text));
    all.put("preemptible", Some(true).filter(|_| it.on_preempted == Some(OnLost::Rerun)));
    all.put("held", Some(true).filter(|_| it.held));
    all.put(
        "on_lost",
        match it.on_lost {
            OnLost::Fail => None,
            OnLost::Rerun => Some("rerun"),
            OnLost::Hold => Some("hold"),
        },
    );
    all.put("on_breach", it.on_breach.map(OnBreach::name));
    all.put(
        "gather",
        it.gather.map(|it| match it {
            Gather::Within(within) => within.0,
            Gather::Apart => 0,
        }),
    );
    all.put(
        "mail",
        it.mail.as_ref().map(|mail| {
            let mut object = Object(Map::new());
            object.put("to", mail.to.as_deref());
            for (key, flag) in [("begin", mail.begin), ("end", mail.end), ("fail", mail.fail)] {
                object.put(key, Some(true).filter(|_| flag));
            }
            object.0
        }),
    );
    all.put("comment", it.comment.as_deref());
    all.put("quote", it.quote);
    let passed = it.passed_through.iter();
    let passed = passed.map(|(option, value)| json!({"option": option, "value": value}));
    all.put_list("passed_through", passed.collect());
    all.put("stay_home", Some(true).filter(|_| it.stay_home));
    all.0
}

fn shape(all: &mut Object, it: &Submission) {
    if let Some(shapes) = &it.terms.shapes {
        let one = |it: &JobShape| json!({"nodes": it.nodes, "time": it.time.0});
        return all.put_list("shapes", shapes.as_slice().iter().map(one).collect());
    }
    if let Some(groups) = &it.terms.groups {
        return all.put_list("groups", groups.iter().map(group).collect());
    }
    let Some(shape) = &it.shape else { return all.put("nodes", Some(it.tasks)) };
    let max = shape.max_nodes.filter(|max| shape.nodes != Some(*max));
    all.put("nodes", shape.nodes);
    all.put("max_nodes", max);
    all.put("ntasks", shape.tasks);
    all.put("ntasks_per_node", shape.tasks_per_node);
    all.put("cpus_per_task", shape.cpus_per_task);
}

fn group(it: &TaskGroup) -> Value {
    let mut all = Object(Map::new());
    all.put("nodes", Some(it.tasks));
    all.put("time", Some(it.work.0));
    let performance =
        |it: tradewind_model::Performance| decimal::json(i64::from(it.thousandths()), 3);
    all.put("min_performance", it.min_performance.map(performance));
    all.put("attributes", Some(&it.attributes).filter(|it| !it.is_empty()).map(attributes));
    Value::Object(all.0)
}

fn texts(all: &[String]) -> Vec<Value> {
    all.iter().map(|text| Value::from(text.as_str())).collect()
}

/// What the submission itself says of how its limit is counted; a project says so again.
fn times(limit: &TimeLimit) -> Option<Times> {
    match limit {
        TimeLimit::One { counted: Counted::Job(times), .. } => Some(*times),
        TimeLimit::Reference(_) => Some(Times::Work),
        TimeLimit::One { .. } | TimeLimit::Classes(_) => None,
    }
}

fn time(limit: &TimeLimit) -> Value {
    match limit {
        TimeLimit::One { limit, .. } | TimeLimit::Reference(limit) => limit.0.into(),
        TimeLimit::Classes(limits) => {
            let each = limits.iter().map(|(class, limit)| (class.clone(), limit.0.into()));
            Value::Object(each.collect())
        }
    }
}

fn terms(all: &mut Object, terms: &Conditions) {
    let performance =
        |it: tradewind_model::Performance| decimal::json(i64::from(it.thousandths()), 3);
    all.put("min_performance", terms.min_performance.map(performance));
    all.put("max_price", terms.max_price.map(decimal::price));
    all.put("budget", terms.budget.map(decimal::credits));
    all.put("value", terms.value.map(decimal::credits));
    all.put("earliest_start", terms.earliest_start.map(|it| it.0));
    all.put("deadline", terms.deadline.map(|it| it.0));
    let criterion = Some(&terms.criterion).filter(|it| **it != Criterion::default());
    all.put("minimize", criterion.map(scenario::criterion_name));
    all.put("priority", Some(terms.priority).filter(|it| *it != 0));
    let wanted = Some(&terms.attributes).filter(|it| !it.is_empty());
    all.put("attributes", wanted.map(attributes));
    let licences = terms.licences.as_ref().map(|all| {
        let one = |(name, count): (&String, &u32)| (name.clone(), (*count).into());
        all.iter().map(one).collect::<Map<String, Value>>()
    });
    all.put("licences", licences);
    all.put("data", terms.data.as_ref().map(links::data_json));
    let spread = Some(terms.spread).filter(|it| *it != Spread::default());
    all.put("spread", spread.map(Spread::name));
    all.put_list("sites", texts(&terms.sites));
    all.put_list("partitions", texts(&terms.pools));
    match &terms.peers {
        None => {}
        Some(PeerChoice::Only(names)) => all.put_list("peers", texts(names)),
        Some(PeerChoice::Not(names)) => all.put_list("exclude_peers", texts(names)),
    }
}

fn attributes(all: &Attributes) -> Value {
    let one = |attribute: &Attribute| match attribute {
        Attribute::Flag(flag) => Value::Bool(*flag),
        Attribute::Number(thousandths) => Value::Number(decimal::json(*thousandths, 3)),
        Attribute::Text(text) => Value::from(text.as_str()),
        Attribute::OneOf(names) => Value::Array(texts(names)),
    };
    Value::Object(all.iter().map(|(name, attribute)| (name.clone(), one(attribute))).collect())
}

fn surroundings(all: &mut Object, it: &Surroundings) {
    all.put("directory", it.directory.as_deref());
    all.put("output", it.output.as_deref());
    all.put("error", it.error.as_deref());
    all.put("input", it.input.as_deref());
    all.put("open_mode", Some("append").filter(|_| it.append == Append::Append));
    let variables: Map<String, Value> =
        it.environment.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    all.put("environment", Some(variables).filter(|it| !it.is_empty()));
}
