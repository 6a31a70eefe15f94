//! The verdicts of papers 001 and 002 at quick size.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its study has failed")]

use std::sync::OnceLock;

use tradewind_lab::{Case, Findings, Size, Tally, Value, Verdict, find, run};

const SEED: u64 = 1;

fn findings(id: &str) -> Findings {
    static CYCLES: OnceLock<Tally> = OnceLock::new();
    let study = find(id).unwrap().unwrap();
    let case = Case::new(study.experiment, SEED, Size::Quick);
    match study.experiment.id {
        "alp-amp-cycles" => {
            study.findings(&case, CYCLES.get_or_init(|| run(study.experiment, &case))).unwrap()
        }
        _ => study.findings(&case, &run(study.experiment, &case)).unwrap(),
    }
}

/// The published number must not be far outside the interval: a twentieth of it, as the verdict
/// allows, beside the interval itself.
#[track_caller]
fn agrees(id: &str, name: &str) {
    let findings = findings(id);
    let number = findings.numbers.iter().find(|number| number.published.name == name).unwrap();
    let (value, measured) = (number.published.value, number.measured);
    let room = 0.05 * value;
    assert!((measured.low - room..=measured.high + room).contains(&value), "{name}: {measured:?}");
    assert!(number.measured.half_width() < 0.2 * value, "{name}: {measured:?} says nothing");
}

#[track_caller]
fn claim(id: &str, text: &str, verdict: Verdict) {
    let findings = findings(id);
    let claim = findings.claims.iter().find(|claim| claim.text.contains(text)).unwrap();
    assert_eq!(claim.verdict, verdict, "{}", claim.measured);
}

#[test]
fn figures_of_least_time_agree() {
    for name in ["ALP, least time: time per job", "AMP, least time: time per job"] {
        agrees("001-fig4", name);
        agrees("002-fig12", name);
    }
    for name in ["ALP, least time: cost per job", "AMP, least time: cost per job"] {
        agrees("001-fig4", name);
        agrees("002-fig13", name);
    }
    claim("001-fig5", "first 300", Verdict::Reproduced);
    claim("002-fig14", "first 300", Verdict::Reproduced);
}

#[test]
fn figures_of_least_cost_agree() {
    for name in ["ALP, least cost: time per job", "AMP, least cost: time per job"] {
        agrees("001-fig6", name);
        agrees("002-fig16", name);
    }
    for name in ["ALP, least cost: cost per job", "AMP, least cost: cost per job"] {
        agrees("001-fig6", name);
        agrees("002-fig15", name);
    }
}

#[test]
fn the_text_agrees_but_for_its_misprint() {
    for id in ["001-text", "002-text"] {
        let findings = findings(id);
        for number in &findings.numbers {
            let name = &number.published.name;
            match number.published.value {
                115_116.0 => assert_eq!(number.verdict, Verdict::NotReproduced, "{name}"),
                _ => agrees(id, name),
            }
        }
        claim(id, "0.8 S lowers", Verdict::Reproduced);
        // True of all but the windows at the very cap, whose rounded tasks cost a little more.
        claim(id, "Any window that ALP finds", Verdict::Trend);
        claim(id, "cost more on average", Verdict::Reproduced);
        claim(id, "always more expensive, also for least cost", Verdict::Trend);
    }
}

#[test]
fn exact_searches_gain_what_they_say() {
    let findings = findings("001-text");
    let ratio = |name: &str, measure: &str| {
        let gain = |gain: &&tradewind_lab::Gain| {
            gain.name.contains(name) && gain.measure.contains(measure)
        };
        findings.gains.iter().find(gain).unwrap().ratio
    };
    assert!(ratio("least runtime", "least time").high < 0.95);
    assert!(ratio("least cost within", "least cost").high < 0.95);
    assert!(ratio("exact combination", "least time").high <= 1.0);
    assert!(ratio("once all slots", "least cost").high < 1.0);
}

#[test]
fn the_worked_example_is_the_papers() {
    for id in ["001-example", "002-example"] {
        let findings = findings(id);
        for number in &findings.numbers {
            let measured = number.measured;
            assert_eq!(measured.mean, number.published.value, "{}", number.published.name);
        }
        assert!(findings.claims.iter().all(|claim| claim.verdict == Verdict::Fitted));
        assert!(findings.figure.is_some());
    }
}

#[test]
fn a_whole_batch_is_better_than_its_parts() {
    let claims = [
        ("at least as many jobs as CSS in every cycle", Verdict::Reproduced),
        ("never worse than that of CSS", Verdict::Reproduced),
        ("Every choice is proven", Verdict::Reproduced),
        ("more jobs than CSS", Verdict::Reproduced),
        ("less time than those of CSS", Verdict::Reproduced),
        ("cost less than those of CSS", Verdict::Reproduced),
        ("cost less than the best of CSS and batch-slicer", Verdict::Reproduced),
    ];
    let findings = findings("001-whole-batch");
    for (text, verdict) in claims {
        let claim = findings.claims.iter().find(|claim| claim.text.contains(text)).unwrap();
        assert_eq!(claim.verdict, verdict, "{text}: {}", claim.measured);
    }
    let gain = |measure: &str| {
        let ours = |gain: &&tradewind_lab::Gain| {
            gain.name == "whole-batch instead of CSS" && gain.measure.contains(measure)
        };
        findings.gains.iter().find(ours).unwrap().ratio
    };
    // The gains at full size, with room for another seed.
    let (time, cost) = (gain("time per job"), gain("cost per job"));
    assert!((0.88..0.96).contains(&time.mean) && time.high < 0.97, "{time:?}");
    assert!((0.94..0.98).contains(&cost.mean) && cost.high < 0.985, "{cost:?}");
    assert!(findings.notes[0].contains("less time") && findings.notes[0].contains("less cost"));
}

/// Each parameter of the study of whole batches moves a gain or a claim; so it can fail.
#[test]
fn every_parameter_moves_the_whole_batch() {
    let study = find("001-whole-batch").unwrap().unwrap();
    let seen = |tally: &Tally, case: &Case| {
        let findings = study.findings(case, tally).unwrap();
        let gains = findings.gains.iter().map(|gain| (gain.ours.mean, gain.ratio.mean));
        let claims = findings.claims.iter().map(|claim| claim.measured.clone());
        (gains.collect::<Vec<_>>(), claims.collect::<Vec<_>>())
    };
    let part = |case: &Case| (study.experiment.part)(case, 0);
    let case = Case::new(study.experiment, SEED, Size::Quick);
    let before = seen(&part(&case), &case);
    for parameter in study.experiment.parameters {
        let case = case.clone().with(parameter, parameter.sweep()[0]);
        assert_ne!(seen(&part(&case), &case), before, "{}", parameter.name);
    }
}

/// The studies can fail: with another price cap the figures are others.
#[test]
fn another_assumption_gives_other_verdicts() {
    let study = find("001-fig4").unwrap().unwrap();
    let cap = study.experiment.parameters.iter().find(|it| it.name == "price-cap").unwrap();
    let case = Case::new(study.experiment, SEED, Size::Quick).with(cap, Value::Number(1.25));
    let findings = study.findings(&case, &run(study.experiment, &case)).unwrap();
    let reproduced = findings.numbers.iter().filter(|n| n.verdict == Verdict::Reproduced);
    assert!(reproduced.count() < 3);
}
