//! The studies of paper 003 at quick size, on a small log in place of Thunder's.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its study has failed")]

use std::sync::{Arc, OnceLock};

use tradewind_io::swf::{self, Log};
use tradewind_lab::{Case, Experiment, Findings, LogFile, Size, Tally, Verdict, find, run};

/// Two hundred jobs, each sixteen times as wide: more than the ten sites hold at once.
fn wide() -> Log {
    let small = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/small.swf");
    let mut log = swf::load(small).unwrap();
    for job in &mut log.jobs {
        job.processors = job.processors.map(|count| 16 * count);
        job.requested_processors = job.requested_processors.map(|count| 16 * count);
    }
    log
}

fn case(experiment: &Experiment) -> Case {
    let mut case = Case::new(experiment, 1, Size::Quick);
    for name in experiment.logs {
        case = case.with_log(name, LogFile { log: Arc::new(wide()), sha256: String::new() });
    }
    case
}

fn week() -> &'static Tally {
    static WEEK: OnceLock<Tally> = OnceLock::new();
    WEEK.get_or_init(|| {
        let experiment = find("003-text").unwrap().unwrap().experiment;
        run(experiment, &case(experiment))
    })
}

fn steady() -> &'static (Tally, Findings) {
    static STEADY: OnceLock<(Tally, Findings)> = OnceLock::new();
    STEADY.get_or_init(|| {
        let study = find("003-fig5").unwrap().unwrap();
        let tally = run(study.experiment, &case(study.experiment));
        let findings = study.findings(&case(study.experiment), &tally).unwrap();
        (tally, findings)
    })
}

/// Every application is counted once, by urgency as by value.
#[test]
fn classes_make_up_the_whole() {
    for id in ["dam", "edf-fq", "fair-share", "hvfq", "fcfs", "sjf", "admission", "unit"] {
        let counts = |group: &str| week().pairs(&format!("{id}/{group}")).y;
        let urgency: f64 = (0..5).map(|at| counts(&format!("urgency-{at}"))).sum();
        let value: f64 = (0..6).map(|at| counts(&format!("value-{at}"))).sum();
        assert_eq!((urgency, value), (counts("all"), counts("all")), "{id}");
        assert!(counts("all") > 0.0, "{id}");
    }
}

#[test]
fn missed_deadlines_are_those_of_all_that_are_not_in_time() {
    let applications = week().mean("applications").mean;
    for id in ["dam", "edf-fq", "fair-share", "hvfq", "fcfs", "sjf"] {
        let share = week().mean(&format!("{id}/all")).mean;
        let missed = week().mean(&format!("{id}/missed-6")).mean;
        assert!((applications * (1.0 - share) - missed).abs() < 1e-6, "{id}");
        assert!(week().mean(&format!("{id}/missed-1")).mean <= missed, "{id}");
    }
}

#[track_caller]
fn claim(id: &str, text: &str, verdict: Verdict) {
    let study = find(id).unwrap().unwrap();
    let findings = study.findings(&case(study.experiment), week()).unwrap();
    let claim = findings.claims.iter().find(|claim| claim.text.contains(text)).unwrap();
    assert_eq!(claim.verdict, verdict, "{}: {}", claim.text, claim.measured);
}

/// Most of what the paper claims of its auction holds on this log, too.
#[test]
fn the_auction_leads_by_its_gate() {
    claim("003-fig6a", "DAM has the most", Verdict::Reproduced);
    claim("003-fig6a", "FairShare is ahead", Verdict::NotReproduced);
    claim("003-fig6a", "do not starve", Verdict::Reproduced);
    claim("003-fig6b", "DAM has the most", Verdict::Reproduced);
    claim("003-fig6b", "FairShare serves the applications of lowest value", Verdict::Reproduced);
    claim("003-fig6c", "DAM misses the fewest", Verdict::Reproduced);
    claim("003-fig6c", "SJF performs worst", Verdict::NotReproduced);
    claim("003-fig7", "almost at 0", Verdict::NotReproduced);
    claim("003-text", "than all other policies", Verdict::Reproduced);
    claim("003-text", "by its bids", Verdict::NotReproduced);
}

/// What each mechanism has in time here, in percent: as its own interval allows, and no more than
/// three points off.
#[test]
fn mechanisms_have_the_shares_that_they_have() {
    for (id, known) in [
        ("dam", 93.5),
        ("edf-fq", 85.3),
        ("fair-share", 75.7),
        ("hvfq", 77.0),
        ("fcfs", 75.5),
        ("sjf", 84.3),
        ("no-gate", 85.0),
        ("gated-edf", 93.2),
        ("unit", 22.3),
    ] {
        let share = week().mean(&format!("{id}/all")).map(|share| 100.0 * share);
        let room = share.half_width().min(3.0);
        assert!((share.mean - known).abs() <= room, "{id}: {share:?}, not {known}");
    }
}

/// A job of 512 processors for six hours is worth less than it costs.
#[test]
fn values_do_not_cover_costs() {
    let affords = week().mean("affords").mean;
    assert!((0.1..0.9).contains(&affords), "{affords}");
    assert!(week().mean("unit/welfare").mean > week().mean("dam/welfare").mean);
}

/// As `docs/explanation/queueing.md` has them.
#[test]
fn the_model_is_the_one_of_the_documentation() {
    let wait = |name: &str| steady().0.exact(&format!("{name}/wait")).mean;
    for (name, published) in [
        ("printed/20/0", 1.335),
        ("printed/20/6", 1.739),
        ("printed/25/4", 1.725),
        ("corrected/20/0", 1.647),
        ("corrected/25/4", 112.0),
    ] {
        assert!((wait(name) / published - 1.0).abs() < 0.001, "{name}: {}", wait(name));
    }
}

/// No job trades before the next cycle, so waits are half a cycle at least, and they grow with
/// the load. The model as printed falls first.
#[test]
fn waits_rise_and_the_printed_model_falls() {
    let (tally, findings) = steady();
    let wait = |at: &str| tally.mean(&format!("dam/{at}/wait")).mean;
    assert!(wait("20/0") > 0.04 && wait("20/6") > 3.0 * wait("20/0"));
    assert!(tally.mean("wide/20/6/wait").mean > 2.0 * wait("20/6"));
    let verdict = |text: &str| {
        findings.claims.iter().find(|claim| claim.text.starts_with(text)).unwrap().verdict
    };
    assert_eq!(verdict("DAM's waits are below"), Verdict::Reproduced);
    assert_eq!(verdict("The model's waits rise"), Verdict::Trend);
    assert_eq!(verdict("The model shows"), Verdict::NotReproduced);
}

/// Without its log a study says that it knows nothing.
#[test]
fn nothing_is_claimed_without_the_log() {
    for id in ["003-fig6a", "003-fig6b", "003-fig6c", "003-fig7", "003-text"] {
        let study = find(id).unwrap().unwrap();
        let case = Case::new(study.experiment, 1, Size::Full);
        let findings = study.findings(&case, &run(study.experiment, &case)).unwrap();
        let numbers = findings.numbers.iter().map(|number| number.verdict);
        let claims = findings.claims.iter().map(|claim| claim.verdict);
        assert!(numbers.chain(claims).all(|verdict| verdict == Verdict::Inconclusive), "{id}");
    }
}
