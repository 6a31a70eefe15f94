//! Figure 6 (a): who is in time, by urgency.

use tradewind_io::chart::{Mark, PlotAcross};

use super::count::URGENCY;
use super::numbers::{
    GATE, against, because, claim, drawn, graded, more, number, of, panel, rivals, share,
};
use super::week::{MECHANISMS, THUNDER_WEEK};
use crate::case::Case;
use crate::findings::{Claim, Findings, Published};
use crate::study::Study;
use crate::tally::Tally;

pub(super) static FIG6A: Study = Study {
    id: "003-fig6a",
    title: "Applications in time by urgency",
    experiment: &THUNDER_WEEK,
    findings,
};

const PLACE: &str = "section V-B.2.a";
const SHARES: &str = "A job starts only when its share of the processors is as wide as it is, so \
                      few do at once and short deadlines pass meanwhile. The paper does not say \
                      what shares are of; those of the free processors (`shares=free`) narrow the \
                      gap and do not close it.";

static NUMBERS: [Published; 4] = [
    because(
        GATE,
        number("DAM over EDF-FQ, urgency 0.5 to 0.75", 15.0, "%", PLACE, |t| {
            more(t, "edf-fq", "urgency-2")
        }),
    ),
    because(
        SHARES,
        number("FairShare over EDF-FQ, urgency 0.5 to 0.75", 15.0, "%", PLACE, |t| {
            t.pairs("fair-share-over-edf-fq/urgency-2").ratio().map(|ratio| 100.0 * (ratio - 1.0))
        }),
    ),
    because(
        SHARES,
        number("FairShare over DAM, urgency below 0.25", 5.0, "%", PLACE, |t| {
            t.pairs("fair-share/urgency-0").ratio().map(|ratio| 100.0 * (1.0 / ratio - 1.0))
        }),
    ),
    because(
        SHARES,
        number("DAM over FairShare, urgency above 1", 8.0, "%", PLACE, |t| {
            more(t, "fair-share", "urgency-4")
        }),
    ),
];

fn findings(_: &Case, tally: &Tally) -> Findings {
    let names = URGENCY.map(|class| class.label.to_owned()).to_vec();
    let bars = panel("in time, %", PlotAcross::Cases(names), Mark::Bars, |id| {
        let value = |at| (at as f64, share(tally, id, &format!("urgency-{at}")));
        (0..URGENCY.len()).map(value).collect()
    });
    let subtitle = "shares of each class; urgency: (deadline - submission) / run time - 1";
    Findings {
        claims: claims(tally),
        figure: drawn(FIG6A.title, subtitle, vec![bars]),
        notes: vec![
            "\"15 % more applications\" is read as a ratio of numbers of applications. The paper \
             counts urgency from the start of a job, which is not known before; here it is counted \
             from its submission."
                .to_owned(),
        ],
        ..against(&NUMBERS, tally)
    }
}

fn claims(tally: &Tally) -> Vec<Claim> {
    let mean = |id: &str, class: usize| share(tally, id, &format!("urgency-{class}")).mean;
    let classes = 0..URGENCY.len();
    let ahead = |id: &'static str, others: &[&str]| {
        let best = |class| others.iter().map(|other| mean(other, class)).fold(0.0, f64::max);
        (0..URGENCY.len()).filter(|class| mean(id, *class) > best(*class)).count()
    };
    let usual = ["edf-fq", "hvfq", "fcfs", "sjf"];
    let (dam, fair) = (ahead("dam", &usual), ahead("fair-share", &usual));
    let last = |class: &usize| {
        let two = mean("fcfs", *class).max(mean("sjf", *class));
        rivals().all(|(id, _)| id == "fcfs" || id == "sjf" || mean(id, *class) >= two)
    };
    let worst = classes.clone().filter(last).count();
    let lead = classes
        .clone()
        .filter(|class| rivals().all(|(id, _)| mean("dam", *class) >= mean(id, *class)))
        .count();
    let list = |id: &str| {
        let shares = classes.clone().map(|class| format!("{:.1}", mean(id, class)));
        shares.collect::<Vec<_>>().join(", ")
    };
    let all = MECHANISMS.map(|(id, name, _)| format!("{name} {}", list(id))).join("; ");
    vec![
        graded(
            "DAM has the most applications in time in every class of urgency",
            of(lead, URGENCY.len()),
            tally,
            format!("in {lead} of {} classes; in time, %: {all}", URGENCY.len()),
        )
        .because(GATE),
        graded(
            "DAM is ahead of EDF-FQ, HVFQ, FCFS and SJF in every class of urgency",
            of(dam, URGENCY.len()),
            tally,
            format!("in {dam} of {} classes", URGENCY.len()),
        )
        .because(GATE),
        graded(
            "FairShare is ahead of EDF-FQ, HVFQ, FCFS and SJF in every class of urgency",
            of(fair, URGENCY.len()),
            tally,
            format!("in {fair} of {} classes", URGENCY.len()),
        )
        .because(SHARES),
        graded(
            "FCFS and SJF are worst in almost every class of urgency",
            of(worst, URGENCY.len()),
            tally,
            format!("the last two in {worst} of {} classes", URGENCY.len()),
        )
        .because(
            "FCFS is; shortest job first serves most of these jobs before their deadlines pass, \
             because half of them run for less than a minute.",
        ),
        claim(
            "Relaxed applications do not starve under DAM: the class above 1 is served as well as all",
            mean("dam", 4) >= share(tally, "dam", "all").mean,
            tally,
            format!(
                "{:.1} % of those above 1 are in time, {:.1} % of all",
                mean("dam", 4),
                share(tally, "dam", "all").mean
            ),
        )
        .because("Bids fall with the time to the deadline."),
    ]
}
