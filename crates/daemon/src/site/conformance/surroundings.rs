//! What tasks are given, and what they write.

use std::collections::BTreeMap;

use super::{
    SiteBench, TaskBehaviour, ensure, must_end, order, output, submit, told, until_ended,
    until_running,
};
use crate::site::{Exit, Tag};

/// Text that a shell would not leave alone.
const LITERAL: [&str; 12] = [
    "plain",
    "",
    "two words",
    " 'single' \"double\" ",
    "$(exit 9) `exit 9` $HOME ${HOME}",
    "back\\slash \\n",
    "line\nbreak\ttab",
    "* ? [a-z] ~ ! # %j %x",
    "; exit 9 & | > < ( )",
    "żółw — 乌龟 🐢",
    "--option=value",
    "-",
];

pub(super) fn arguments(bench: &mut dyn SiteBench) -> Result<(), String> {
    let wanted: Vec<String> = LITERAL.iter().map(|text| (*text).to_owned()).collect();
    let order = order(bench, 1, &TaskBehaviour::ShowArguments(wanted.clone()));
    must_end(bench, &order, &Exit::Code(0))?;
    let seen = output(bench, &order.tag, 10_000)?;
    let wanted: String = wanted.iter().map(|text| format!("{text}\0")).collect();
    ensure(seen == wanted, || format!("given {wanted:?}\narrived {seen:?}"))
}

pub(super) fn environment(bench: &mut dyn SiteBench) -> Result<(), String> {
    let own = |index: usize| format!("OWN_{index}");
    let values: BTreeMap<String, String> =
        LITERAL.iter().enumerate().map(|(index, text)| (own(index), (*text).to_owned())).collect();
    let mut names: Vec<String> = values.keys().cloned().collect();
    names.extend(["TOLD".to_owned(), "BOTH".to_owned(), "NOT_THERE".to_owned()]);
    let mut order = order(bench, 1, &TaskBehaviour::ShowVariables(names));
    let mut wanted: String = values.values().map(|value| format!("{value}\0")).collect();
    wanted.push_str("it's \"so\"\0the market's\0none\0");
    order.surroundings.environment = values;
    order.surroundings.environment.insert("BOTH".to_owned(), "the user's".to_owned());
    order.variables.insert("BOTH".to_owned(), "the market's".to_owned());
    order.variables.insert("TOLD".to_owned(), "it's \"so\"".to_owned());
    must_end(bench, &order, &Exit::Code(0))?;
    let seen = output(bench, &order.tag, 10_000)?;
    ensure(seen == wanted, || format!("given {wanted:?}\narrived {seen:?}"))
}

pub(super) fn odd_names(bench: &mut dyn SiteBench) -> Result<(), String> {
    let long = "x".repeat(128);
    let names = ["a/b", "..", "it's \"so\" $(exit 9)", "line\nbreak", "乌龟", "-n", "%j", &long];
    for (job, name) in (1..).zip(names) {
        let mut order = order(bench, job, &TaskBehaviour::Exit { after: 0, code: 0 });
        order.name = (*name).to_owned();
        order.user = (*name).to_owned();
        must_end(bench, &order, &Exit::Code(0)).map_err(|why| format!("name {name:?}: {why}"))?;
    }
    let parts = [("a-b", 1, 0), ("a", 1, 0), ("a", 10, 0), ("a", 1, 10)];
    for (market, attempt, part) in parts {
        let mut order = order(bench, 1, &TaskBehaviour::Exit { after: 0, code: 2 });
        order.tag = Tag { market: market.to_owned(), job: 1, attempt, part };
        must_end(bench, &order, &Exit::Code(2))?;
    }
    Ok(())
}

pub(super) fn output_tail(bench: &mut dyn SiteBench) -> Result<(), String> {
    let text: String = (0..300).map(|line| format!("line {line}\n")).collect();
    let mut waits = order(bench, 2, &TaskBehaviour::Say(text.clone(), 0));
    waits.start = waits.start + tradewind_model::Span(3_600);
    submit(bench, &waits)?;
    let seen = output(bench, &waits.tag, 100)?;
    ensure(seen.is_empty(), || format!("it waits, and wrote {seen:?}"))?;
    let order = order(bench, 1, &TaskBehaviour::Say(text.clone(), 50));
    submit(bench, &order)?;
    until_running(bench, &order.tag)?;
    let mut all = String::new();
    for _ in 0..bench.patience() {
        all = output(bench, &order.tag, 1_000_000)?;
        if all == text {
            break;
        }
        bench.wait();
    }
    ensure(all == text, || format!("{} bytes of {} seen", all.len(), text.len()))?;
    told("withdrawal", bench.site().withdraw(&order.tag))?;
    until_ended(bench, &order.tag)?;
    let tail = output(bench, &order.tag, 9)?;
    ensure(tail == "line 299\n", || format!("the tail is {tail:?}"))?;
    let nothing = output(bench, &order.tag, 0)?;
    ensure(nothing.is_empty(), || format!("no byte wanted, {nothing:?} given"))
}
