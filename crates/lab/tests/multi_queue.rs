//! The verdicts of paper 004 at quick size.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its study has failed")]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tradewind_io::input::Input;
use tradewind_io::swf;
use tradewind_lab::{
    Case, Claim, Experiment, Findings, LogFile, Size, Tally, Value, Verdict, find, run, studies,
};

const SEED: u64 = 1;

fn experiments() -> BTreeMap<&'static str, &'static Experiment> {
    let mine = studies().unwrap().iter().filter(|study| study.paper() == "004");
    mine.map(|study| (study.experiment.id, study.experiment)).collect()
}

fn tally(id: &'static str) -> &'static Tally {
    static ALL: OnceLock<BTreeMap<&'static str, Tally>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let one = |(id, of): (&&'static str, &&'static Experiment)| {
            (*id, run(of, &Case::new(of, SEED, Size::Quick)))
        };
        experiments().iter().map(one).collect()
    });
    &all[id]
}

fn findings(id: &str) -> Findings {
    let study = find(id).unwrap().unwrap();
    let case = Case::new(study.experiment, SEED, Size::Quick);
    study.findings(&case, tally(study.experiment.id)).unwrap()
}

fn claim_of(findings: &Findings, text: &str) -> Claim {
    findings.claims.iter().find(|claim| claim.text.contains(text)).unwrap().clone()
}

#[track_caller]
fn claim(id: &str, text: &str, verdict: Verdict) {
    let claim = claim_of(&findings(id), text);
    assert_eq!(claim.verdict, verdict, "{}", claim.measured);
}

#[test]
fn every_scheme_plays_every_workload() {
    for load in ["0.50", "0.60", "0.70", "0.80", "0.90", "1.00", "1.10", "stated"] {
        for scheme in ["hybrid", "guarded", "hybrid-two", "easy-moving", "conservative", "central"]
        {
            let of = tally("multi-queue-load").series(&format!("{load}/{scheme}/response"));
            assert_eq!(of.count, 4, "{load}/{scheme}");
        }
    }
    assert_eq!(tally("multi-queue-load").series("failed").max, 0.0);
}

#[test]
fn backfilling_is_as_it_is_at_home_and_not_with_fast_transfers() {
    claim("004-fig8", "without migration it backfills more than EASY", Verdict::Reproduced);
    claim("004-fig8", "more than EASY, at every load", Verdict::NotReproduced);
}

#[test]
fn large_jobs_gain_and_others_pay() {
    claim("004-fig9", "For large jobs", Verdict::Reproduced);
    claim("004-fig9", "positive in every class", Verdict::NotReproduced);
    claim("004-fig9", "Large jobs gain least", Verdict::NotReproduced);
}

#[test]
fn migration_shortens_responses() {
    claim("004-fig10", "is greater than conservative backfilling's", Verdict::NotReproduced);
    claim("004-text", "Waiting times", Verdict::Reproduced);
    claim("004-text", "raises the utilisation", Verdict::Reproduced);
}

#[test]
fn two_choices_cost_the_same_in_every_grid() {
    for claim in findings("004-scale").claims {
        assert_eq!(claim.verdict, Verdict::Reproduced, "{}: {}", claim.text, claim.measured);
    }
}

#[test]
fn patience_ends_the_starving() {
    claim("004-text", "prevents unbounded delays", Verdict::NotReproduced);
    let load = experiments()["multi-queue-load"];
    let patience = load.parameters.iter().find(|it| it.name == "patience").unwrap();
    let case = Case::new(load, SEED, Size::Quick).with(patience, Value::Number(64.0));
    let first = (load.part)(&case, 0);
    let patient = find("004-text").unwrap().unwrap().findings(&case, &first).unwrap();
    let claim = claim_of(&patient, "prevents unbounded delays");
    assert_eq!(claim.verdict, Verdict::Reproduced, "{}", claim.measured);
}

#[test]
fn every_parameter_moves_something() {
    for experiment in experiments().values().filter(|it| it.logs.is_empty()) {
        let base = Case::new(experiment, SEED, Size::Quick);
        // Short runs have short queues.
        let beta = experiment.parameters.iter().find(|it| it.name == "beta");
        let base = beta.map_or(base.clone(), |beta| base.with(beta, Value::Number(8.0)));
        // The stated rate is in the last part of a replication.
        let part = |case: &Case| (experiment.part)(case, (experiment.parts)(case).min(8) - 1);
        let before = part(&base);
        for parameter in experiment.parameters {
            let moved = parameter
                .sweep()
                .into_iter()
                .any(|value| part(&base.clone().with(parameter, value)) != before);
            assert!(moved, "{}: {}", experiment.id, parameter.name);
        }
    }
}

/// A log of that clock with jobs at these hours of New York's summer time since 1 July 1996.
fn log(jobs: &[(i64, u32)]) -> LogFile {
    const START: i64 = 835_823_160;
    const JULY: i64 = 836_193_600;
    let mut text = format!("; UnixStartTime: {START}\n");
    for (at, (hours, processors)) in jobs.iter().enumerate() {
        let submit = JULY - START + 3_600 * hours;
        text.push_str(&format!(
            "{} {submit} 0 600 {processors} -1 -1 {processors} 900 -1 1 1 1 1 1 -1 -1 -1\n",
            at + 1
        ));
    }
    let log = swf::parse(&Input::new("made-up.swf", text.into_bytes())).unwrap();
    LogFile { log: Arc::new(log), sha256: String::new() }
}

#[test]
fn a_log_is_counted_by_the_months_of_new_york() {
    let experiment = experiments()["multi-queue-log"];
    // The last hour before July; its first; its last; August's first; two wide ones; and the
    // first hour of November, when summer time is over.
    let november = 24 * (31 + 31 + 30 + 31);
    let jobs = [
        (-1, 8),
        (0, 8),
        (743, 8),
        (744, 8),
        (744, 200),
        (745, 300),
        (november, 8),
        (november + 1, 8),
    ];
    let case = Case::new(experiment, SEED, Size::Quick).with_log(experiment.logs[0], log(&jobs));
    let counted = run(experiment, &case);
    let of = |name: &str| counted.exact(name).mean;
    assert_eq!((of("July/total"), of("August/total"), of("August/a")), (2.0, 3.0, 2.0));
    assert_eq!((of("August/b"), of("October/total"), of("November/total")), (1.0, 1.0, 1.0));
    assert_eq!(of("January/total"), 2_080.0);
    let table = find("004-table1").unwrap().unwrap().findings(&case, &counted).unwrap();
    assert_eq!(table.numbers.len(), 37);
    assert!(table.numbers.iter().all(|number| number.measured.mean.is_finite()));
    assert_eq!(table.numbers[1].measured.mean, 2.0);
}

#[test]
fn without_the_log_nothing_is_claimed_of_it() {
    for id in ["004-table1", "004-log"] {
        let findings = findings(id);
        assert!(findings.numbers.is_empty() && findings.gains.is_empty());
        let open = findings.claims.iter().filter(|claim| claim.verdict == Verdict::Inconclusive);
        assert!(open.clone().count() > 1);
        assert!(open.clone().all(|claim| claim.why.as_deref().unwrap().contains("--logs")));
    }
}
