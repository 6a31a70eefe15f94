//! The verdicts of paper 000 at quick size.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its study has failed")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tradewind_lab::{Case, Findings, Size, Tally, Value, Verdict, experiments, find, run, studies};

const SEED: u64 = 1;

fn findings(id: &str) -> Findings {
    static ALL: OnceLock<BTreeMap<&'static str, Tally>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mine: Vec<_> =
            studies().unwrap().iter().filter(|study| study.paper() == "000").collect();
        let tally = |experiment: &&'static tradewind_lab::Experiment| {
            (experiment.id, run(experiment, &Case::new(experiment, SEED, Size::Quick)))
        };
        experiments(&mine).iter().map(tally).collect()
    });
    let study = find(id).unwrap().unwrap();
    let case = Case::new(study.experiment, SEED, Size::Quick);
    study.findings(&case, &all[study.experiment.id]).unwrap()
}

/// The published number must not be outside the interval by more than a twentieth of it, and the
/// interval must say something.
#[track_caller]
fn agrees(id: &str, name: &str) {
    let findings = findings(id);
    let number = findings.numbers.iter().find(|number| number.published.name == name).unwrap();
    let (value, measured) = (number.published.value, number.measured);
    let room = 0.05 * value;
    assert!((measured.low - room..=measured.high + room).contains(&value), "{name}: {measured:?}");
    assert!(measured.half_width() < 0.25 * value, "{name}: {measured:?} says nothing");
}

#[track_caller]
fn claim(id: &str, text: &str, verdicts: &[Verdict]) {
    let findings = findings(id);
    let claim = findings.claims.iter().find(|claim| claim.text.contains(text)).unwrap();
    assert!(verdicts.contains(&claim.verdict), "{}: {}", claim.text, claim.measured);
}

const HOLDS: &[Verdict] = &[Verdict::Reproduced];
const MAINLY: &[Verdict] = &[Verdict::Reproduced, Verdict::Trend];

#[test]
fn strategies_cost_what_was_published() {
    for name in [
        "AMP: cost",
        "minFinish: cost",
        "minCost: cost",
        "minRuntime: cost",
        "CSA: cost of its cheapest alternative",
        "minFinish costs more than minCost",
    ] {
        agrees("000-fig5", name);
    }
    for text in ["full AEP strategy", "10 to 50 %", "minFinish is among", "almost all", "modest"] {
        claim("000-fig5", text, HOLDS);
    }
}

#[test]
fn exact_searches_are_never_worse_and_sometimes_better() {
    let findings = findings("000-fig5");
    let ratio = |name: &str, measure: &str| {
        let gain = |it: &&tradewind_lab::Gain| it.name.contains(name) && it.measure == measure;
        findings.gains.iter().find(gain).unwrap().ratio
    };
    assert!(ratio("least runtime, exact", "runtime").mean <= 1.0);
    assert!(ratio("earliest finish, exact", "finish").mean <= 1.0);
    assert!(ratio("least processor time, exact", "processor time").high < 0.8);
    assert!(ratio("AMP with the budget tested once", "cost").high < 0.9);
    for measure in ["runtime", "finish", "cost", "processor time"] {
        assert!(ratio("instead of AMP", measure).high < 1.0, "{measure}");
    }
    for measure in ["runtime", "finish", "cost", "processor time"] {
        assert!(ratio("instead of CSA", measure).high < 1.0, "{measure}");
    }
}

#[test]
fn work_grows_as_published() {
    claim("000-fig6", "longest", HOLDS);
    claim("000-fig6", "quadratic", HOLDS);
    claim("000-fig6", "All strategies but CSA", HOLDS);
    claim("000-fig6", "noticeably", HOLDS);
    claim("000-fig6", "CSA is linear", &[Verdict::NotReproduced]);
}

#[test]
fn users_get_what_they_ask_for() {
    for name in ["start: cost", "runtime: runtime", "finish: alternatives", "cost: cost"] {
        agrees("000-table1", name);
    }
    for name in ["alternatives", "start", "runtime", "finish", "cost"] {
        agrees("000-table1", &format!("CSS (first-fit windows, job by job): {name}"));
    }
    claim("000-table1", "are the best by it", MAINLY);
    claim("000-table1", "better off", HOLDS);
    claim("000-table1", "hardly depends", HOLDS);
}

#[test]
fn slicing_gives_more_alternatives_and_less_processor_time() {
    claim("000-fig7", "more alternatives", HOLDS);
    claim("000-fig7", "Slicing lowers", HOLDS);
    claim("000-fig7", "more cycles fail", MAINLY);
    claim("000-fig7", "cheaper", &[Verdict::NotReproduced, Verdict::Trend]);
}

#[test]
fn owners_earn_most_near_the_market_price() {
    claim("000-table2", "less it is used", MAINLY);
    claim("000-fig8", "near the market price", MAINLY);
}

#[test]
fn planning_and_backfilling_trade_time_for_start() {
    for scheme in ["backfilling", "CSS", "batch-slicer"] {
        for when in ["scheduled", "real"] {
            agrees("000-table3", &format!("{scheme}, {when}: processor time"));
        }
    }
    claim("000-table3", "By processor time", HOLDS);
    claim("000-table3", "By start", HOLDS);
    claim("000-fig9", "less processor time", MAINLY);
    claim("000-fig9", "later the mean start", MAINLY);
    claim("000-fig9", "cross", HOLDS);
}

/// The studies can fail: with another budget the costs are others.
#[test]
fn another_assumption_gives_other_verdicts() {
    let study = find("000-fig5").unwrap().unwrap();
    let budget = study.experiment.parameters.iter().find(|it| it.name == "budget").unwrap();
    let case = Case::new(study.experiment, SEED, Size::Quick).with(budget, Value::Number(1_300.0));
    let findings = study.findings(&case, &run(study.experiment, &case)).unwrap();
    let costs = findings.numbers.iter().filter(|number| number.published.unit == "credits");
    assert!(costs.filter(|number| number.verdict == Verdict::Reproduced).count() < 2);
}
