//! Beyond the paper: what doing without a centre costs, against the number of sites.

use tradewind_io::chart::{Mark, PlotAcross, PlotPanel, PlotSeries};

use super::outcome::{MEASURES, measure};
use super::parameters::{ALPHA, BETA, DATA, HOMES, LATENCY, SCALE_LOAD, WARM_UP};
use super::schemes::{HYBRID, HYBRID_ALONE, HYBRID_TWO, Scheme, play};
use super::shown::{gain, picture, value};
use super::world::{Draw, draw, seed};
use crate::case::{Case, Size};
use crate::findings::{Claim, Findings};
use crate::study::{Experiment, Study};
use crate::tally::Tally;
use crate::verdict::Verdict;

/// Names in the tally: `sites/scheme/measure`, and pairs `sites/scheme:hybrid/measure`.
pub(super) static SCALE: Experiment = Experiment {
    id: "multi-queue-scale",
    summary: "grids of 8 to 512 sites whose jobs stay at home, or are offered to all sites or two",
    parameters: &[&SCALE_LOAD, &WARM_UP, &HOMES, &ALPHA, &BETA, &LATENCY, &DATA],
    logs: &[],
    parts,
    part,
};

static GRIDS: [(&str, u32); 3] = [("8", 8), ("64", 64), ("512", 512)];
static COMPARED: [Scheme; 3] = [HYBRID, HYBRID_TWO, HYBRID_ALONE];

/// At quick size without the last.
fn grids(case: &Case) -> &'static [(&'static str, u32)] {
    match case.size {
        Size::Full => &GRIDS,
        Size::Quick => &GRIDS[..2],
    }
}

fn parts(case: &Case) -> u32 {
    let replications = match case.size {
        Size::Full => 6,
        Size::Quick => 3,
    };
    replications * grids(case).len() as u32
}

fn part(case: &Case, part: u32) -> Tally {
    let mut tally = Tally::default();
    let grids = grids(case);
    let number = part / grids.len() as u32;
    let (name, sites) = grids[part as usize % grids.len()];
    let each = match case.size {
        Size::Full => 30,
        Size::Quick => 15,
    };
    let load = case.number(&SCALE_LOAD);
    let Some(workload) = draw(case, Draw { sites, jobs: each * sites as usize, load, number })
    else {
        return tally;
    };
    let outcome = |scheme: &Scheme| {
        let played = play(case, *scheme, &workload, seed(case, number))?;
        Some((*scheme, measure(case, &workload, &played)))
    };
    let all: Vec<_> = COMPARED.iter().filter_map(outcome).collect();
    for (scheme, of) in &all {
        of.count(&format!("{name}/{}", scheme.key), &mut tally);
    }
    if let Some((_, base)) = all.iter().find(|(scheme, _)| *scheme == HYBRID) {
        for (scheme, of) in all.iter().filter(|(scheme, _)| *scheme != HYBRID) {
            for (measure, get) in &MEASURES {
                let key = format!("{name}/{}:{}/{measure}", scheme.key, HYBRID.key);
                tally.add_pair(&key, get(of), get(base));
            }
        }
    }
    tally
}

pub(super) static SCALING: Study = Study {
    id: "004-scale",
    title: "Beyond the paper: messages and response in grids of 8 to 512 sites",
    experiment: &SCALE,
    findings,
};

fn findings(case: &Case, tally: &Tally) -> Findings {
    let panel = |measure: &str, up: &str| PlotPanel {
        up: up.to_owned(),
        across: PlotAcross::Cases(grids(case).iter().map(|(_, n)| format!("{n} sites")).collect()),
        series: COMPARED.iter().map(|scheme| curve(case, tally, *scheme, measure)).collect(),
    };
    let panels = vec![panel("messages", "messages per job"), panel("response", "mean response, h")];
    let gains = grids(case).iter().flat_map(|(sites, _)| {
        let (messages, response) = match *sites {
            "8" => ("messages per job, 8 sites", "mean response, 8 sites, h"),
            "64" => ("messages per job, 64 sites", "mean response, 64 sites, h"),
            _ => ("messages per job, 512 sites", "mean response, 512 sites, h"),
        };
        let name = "two sites asked at random instead of all";
        [("messages", messages), ("response", response)]
            .map(|shown| gain(tally, sites, (HYBRID_TWO, HYBRID), name, shown))
    });
    Findings {
        claims: vec![in_proportion(case, tally), two_do_not_grow(case, tally), buys(case, tally)],
        gains: gains.collect(),
        figure: picture(SCALING.title, "means over short runs from an empty grid", panels),
        notes: vec![
            "The paper broadcasts and has eight sites. Runs begin with an empty grid and are \
             short, 30 jobs per site at full size, so that responses are far from their long run."
                .to_owned(),
        ],
        ..Findings::default()
    }
}

fn curve(case: &Case, tally: &Tally, scheme: Scheme, measure: &str) -> PlotSeries {
    let at = |(at, (sites, _)): (usize, &(&str, u32))| {
        value(at as f64, tally.mean(&format!("{sites}/{}/{measure}", scheme.key)))
    };
    let values = grids(case).iter().enumerate().map(at).collect();
    PlotSeries { name: scheme.name.to_owned(), mark: Mark::Line, values }
}

/// A measure at every size.
fn at_all(case: &Case, tally: &Tally, scheme: Scheme, measure: &str) -> Vec<f64> {
    let at =
        |(sites, _): &(&str, u32)| tally.mean(&format!("{sites}/{}/{measure}", scheme.key)).mean;
    grids(case).iter().map(at).collect()
}

fn shown(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.1}")).collect::<Vec<String>>().join(", ")
}

fn sizes(case: &Case) -> String {
    grids(case).iter().map(|grid| grid.0).collect::<Vec<&str>>().join(", ")
}

fn in_proportion(case: &Case, tally: &Tally) -> Claim {
    let all = at_all(case, tally, HYBRID, "messages");
    let grows = all.windows(2).all(|pair| pair[1] > 4.0 * pair[0]);
    Claim::new(
        "Ours: asking every site costs messages in proportion to the sites",
        if grows { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!("{} messages per job in grids of {} sites", shown(&all), sizes(case)),
    )
    .because("More than four times as many for eight times the sites was asked for.")
}

fn two_do_not_grow(case: &Case, tally: &Tally) -> Claim {
    let two = at_all(case, tally, HYBRID_TWO, "messages");
    let (min, max) =
        two.iter().fold((f64::INFINITY, 0.0f64), |(min, max), x| (min.min(*x), max.max(*x)));
    Claim::new(
        "Ours: asking two at random costs the same in every grid",
        if max < 1.25 * min { Verdict::Reproduced } else { Verdict::NotReproduced },
        format!("{} messages per job in grids of {} sites", shown(&two), sizes(case)),
    )
    .because("Within a quarter of each other was asked for.")
}

fn buys(case: &Case, tally: &Tally) -> Claim {
    let of = |scheme| at_all(case, tally, scheme, "response");
    let (alone, all, two) = (of(HYBRID_ALONE), of(HYBRID), of(HYBRID_TWO));
    let share = |at: usize| (alone[at] - two[at]) / (alone[at] - all[at]);
    let shares: Vec<f64> = (0..alone.len()).map(share).collect();
    Claim::new(
        "Ours: asking two buys more than half of what asking all does",
        if shares.iter().all(|share| *share > 0.5) {
            Verdict::Reproduced
        } else {
            Verdict::NotReproduced
        },
        format!(
            "mean response in hours, nobody asked: {}; all: {}; two: {}",
            shown(&alone),
            shown(&all),
            shown(&two)
        ),
    )
    .because("In large grids there is always a free site, which two draws may miss.")
}
