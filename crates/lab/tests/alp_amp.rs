//! The verdicts of papers 001 and 002 at quick size.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its study has failed")]

use tradewind_lab::{Case, Findings, Size, Verdict, find, run};

#[test]
fn report() {
    let cycles = find("001-fig4").unwrap().experiment;
    let case = Case::new(cycles, 1, Size::Quick);
    let tally = run(cycles, &case);
    for study in tradewind_lab::studies() {
        let f: Findings = (study.findings)(&case, &tally);
        println!("== {}", study.id);
        for n in f.numbers {
            println!(
                "{:44} {:10} {:10.2} [{:.2} {:.2}] {} {:?}",
                n.published.name,
                n.published.value,
                n.measured.mean,
                n.measured.low,
                n.measured.high,
                n.verdict.name(),
                n.why
            );
        }
        for c in f.claims {
            println!("{} | {} | {} | {:?}", c.text, c.verdict.name(), c.measured, c.why);
        }
        for g in f.gains {
            println!(
                "{} | {} | {:.3} {:.3} {:.4} [{:.4} {:.4}]",
                g.name,
                g.measure,
                g.paper.mean,
                g.ours.mean,
                g.ratio.mean,
                g.ratio.low,
                g.ratio.high
            );
        }
        for n in f.notes {
            println!("{n}");
        }
    }
    let _ = Verdict::Trend;
}
