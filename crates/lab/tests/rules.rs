//! What holds for every study, no matter who writes it.
#![expect(clippy::expect_used, reason = "a test without its log has failed")]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tradewind_io::swf::{self, Log};
use tradewind_lab::{
    Case, Experiment, Findings, Kind, LogFile, Size, Study, Tally, Verdict, experiments, run,
    studies,
};

const SEED: u64 = 1;

/// Counts of a log, and forecasts of its waits, which no parameter moves; `multi_queue.rs` changes the
/// log instead.
const OF_A_LOG: [&str; 2] = ["004-table1", "own-waits"];

fn all_studies() -> impl Iterator<Item = &'static Study> {
    studies().expect("the files of data can be read").iter()
}

/// The quick case of an experiment. A small log stands in for each real one.
fn case(experiment: &Experiment) -> Case {
    let mut case = Case::new(experiment, SEED, Size::Quick);
    for name in experiment.logs {
        let log = Arc::new(stand_in(name));
        case = case.with_log(name, LogFile { log, sha256: "small".to_owned() });
    }
    case
}

/// The small log; where a grid of thousands of processors is to be full, sixteen times as wide.
fn stand_in(name: &str) -> Log {
    const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");
    let mut log = swf::load(SMALL).expect(SMALL);
    if name.contains("Thunder") {
        for job in &mut log.jobs {
            job.processors = job.processors.map(|count| 16 * count);
            job.requested_processors = job.requested_processors.map(|count| 16 * count);
        }
    }
    log
}

/// The quick form of every experiment, run once for all tests of a process.
fn tallies() -> &'static BTreeMap<&'static str, Tally> {
    static ALL: OnceLock<BTreeMap<&'static str, Tally>> = OnceLock::new();
    ALL.get_or_init(|| {
        let studies: Vec<_> = all_studies().collect();
        let quick = |it: &&'static Experiment| (it.id, run(it, &case(it)));
        experiments(&studies).iter().map(quick).collect()
    })
}

fn findings(study: &'static Study) -> Findings {
    let tally = &tallies()[study.experiment.id];
    study.findings(&case(study.experiment), tally).expect("formulas that can be worked out")
}

fn bits(findings: &Findings) -> Vec<u64> {
    findings.numbers.iter().map(|number| number.measured.mean.to_bits()).collect()
}

/// What was seen of the claims; nothing of those of which the small log says nothing.
fn claimed(findings: &Findings) -> Vec<String> {
    let told = findings.claims.iter().filter(|claim| claim.verdict != Verdict::Inconclusive);
    told.map(|claim| claim.measured.clone()).collect()
}

#[test]
fn ids_begin_with_a_paper_and_are_unique() {
    let mut seen = Vec::new();
    for study in all_studies() {
        assert!(
            ["000", "001", "002", "003", "004", "new", "own"].contains(&study.paper()),
            "{}",
            study.id
        );
        assert!(!seen.contains(&&study.id), "{} is there twice", study.id);
        seen.push(&study.id);
    }
}

#[test]
fn whatever_is_not_reproduced_says_why() {
    for study in all_studies() {
        let findings = findings(study);
        for number in &findings.numbers {
            let (name, why) = (&number.published.name, number.why.as_deref().unwrap_or(""));
            let reproduced = number.verdict == Verdict::Reproduced;
            assert!(reproduced != why.ends_with('.'), "{}, {name}: {why:?}", study.id);
            // Another seed or size may give another verdict.
            let cause = &number.published.cause;
            assert!(cause.ends_with('.'), "{}, {name} has no cause: {cause:?}", study.id);
        }
        for claim in &findings.claims {
            let reproduced = claim.verdict == Verdict::Reproduced;
            assert!(reproduced == claim.why.is_none(), "{}: {}", study.id, claim.text);
            assert!(!claim.measured.is_empty(), "{}: {}", study.id, claim.text);
        }
    }
}

#[test]
fn every_number_is_measured() {
    for study in all_studies() {
        let findings = findings(study);
        assert!(!findings.numbers.is_empty() || !findings.claims.is_empty(), "{}", study.id);
        for number in &findings.numbers {
            assert!(number.measured.mean.is_finite(), "{}: {}", study.id, number.published.name);
            assert!(!number.published.place.is_empty(), "{}: {}", study.id, number.published.name);
        }
        let names = findings.numbers.iter().map(|number| &number.published.name);
        assert_eq!(names.clone().collect::<std::collections::BTreeSet<_>>().len(), names.len());
        for gain in &findings.gains {
            assert!(gain.ratio.mean.is_finite(), "{}: {}, {}", study.id, gain.name, gain.measure);
        }
    }
}

#[test]
fn numbers_come_from_the_run() {
    let all: Vec<&'static Study> = all_studies().collect();
    for experiment in experiments(&all) {
        let moves = |study: &&&'static Study| !OF_A_LOG.contains(&study.id.as_ref());
        let mine = || all.iter().filter(|it| it.experiment.id == experiment.id).filter(moves);
        let before: Vec<Vec<u64>> = mine().map(|study| bits(&findings(study))).collect();
        let said: Vec<Vec<String>> = mine().map(|study| claimed(&findings(study))).collect();
        let mut same_claims: Vec<bool> = said.iter().map(|claims| !claims.is_empty()).collect();
        let mut still: Vec<Vec<bool>> = before.iter().map(|all| vec![true; all.len()]).collect();
        for parameter in experiment.parameters {
            if still.iter().flatten().chain(&same_claims).all(|still| !still) {
                break;
            }
            let case = case(experiment).with(parameter, parameter.sweep()[0]);
            let changed = run(experiment, &case);
            for (at, study) in mine().enumerate() {
                let after = study.findings(&case, &changed).expect("formulas");
                same_claims[at] &= claimed(&after) == said[at];
                let after = bits(&after);
                for (number, after) in after.into_iter().enumerate() {
                    still[at][number] &= after == before[at][number];
                }
            }
        }
        for (at, study) in mine().enumerate() {
            let fixed = still[at].iter().position(|still| *still);
            assert_eq!(fixed, None, "{}: a number that no parameter moves", study.id);
            assert!(!same_claims[at], "{}: no parameter moves its claims", study.id);
        }
    }
}

#[test]
fn every_unstated_parameter_has_a_sweep() {
    let all: Vec<&'static Study> = all_studies().collect();
    for experiment in experiments(&all) {
        for parameter in experiment.parameters {
            assert!(!parameter.meaning.is_empty());
            let swept = !parameter.sweep().is_empty();
            assert!(swept || parameter.stated.is_some(), "{}: {}", experiment.id, parameter.name);
            for value in parameter.sweep().into_iter().chain([parameter.default()]) {
                assert_eq!(parameter.parse(&value.to_string()), Ok(value));
            }
            if let Kind::Number { range: (low, _), .. } = parameter.kind {
                assert!(parameter.parse(&(low - 1.0).to_string()).is_err());
            }
        }
    }
}

#[test]
fn parts_are_functions_of_the_seed() {
    let all: Vec<&'static Study> = all_studies().collect();
    for experiment in experiments(&all) {
        let part = || (experiment.part)(&case(experiment), 0);
        assert_eq!(part(), part(), "{}", experiment.id);
    }
}
