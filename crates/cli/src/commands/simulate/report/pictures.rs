//! Pictures over all policies of a campaign.

use tradewind_campaign::summary::Summary;
use tradewind_io::chart::{
    Across, Bars, ClassOfJobs, Classes, Comparison, Curve, Curves, Line, Lines, Measure, Picture,
    Spread, Trace, Unit,
};
use tradewind_sim::metrics::{Family, JobClass};

use super::super::overview::Overview;
use super::super::part::Part;
use super::super::verdicts;
use super::{Comparisons, FinishedRun, estimate, label, measures};

/// The names of all pictures that there may be.
pub(super) const NAMES: [&str; 5] = ["waits", "success", "misses", "load-deviation", "comparison"];

/// A picture, the name of its files, and what stands below it on the page.
pub(super) struct Drawing {
    pub(super) name: &'static str,
    pub(super) picture: Picture,
    pub(super) caption: &'static str,
}

/// All pictures for which there are data.
pub(super) fn all(compared: &Comparisons<'_>, finished: &[FinishedRun<'_>]) -> Vec<Drawing> {
    let overview = compared.overview;
    let [waits, success, misses, deviation, comparison] = NAMES;
    let drawing = |name, caption| move |picture| Drawing { name, picture, caption };
    let waits = drawing(waits, "How long jobs waited. A curve further up is better.");
    let success = drawing(success, "The share of jobs that were completed by their deadline.");
    let misses = drawing(misses, "Deadlines missed, job by job. A lower line is better.");
    let deviation =
        drawing(deviation, "How far the loads of the sites were apart. A lower line is better.");
    let comparison = drawing(comparison, "The policies side by side.");
    let some = [
        Some(waits(self::waits(overview, finished))),
        self::success(overview).map(success),
        self::misses(overview, finished).map(misses),
        load_deviation(overview, finished).map(deviation),
        Some(comparison(self::comparison(compared))),
    ];
    some.into_iter().flatten().collect()
}

/// A line per policy, or per what else differs; replications together.
fn waits(overview: &Overview, finished: &[FinishedRun<'_>]) -> Picture {
    let axes = overview.axes();
    let mut curves: Vec<Curve> = Vec::new();
    for done in finished {
        let name = label(done.summary, &axes);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.values.merge(&done.part.waits),
            None => curves.push(Curve { name, values: done.part.waits.clone() }),
        }
    }
    Picture::Curves(Curves { title: "Waits".to_owned(), measure: Spread::Wait, curves })
}

fn comparison(compared: &Comparisons<'_>) -> Picture {
    let (overview, verdicts) = (compared.overview, &compared.verdicts);
    let (axes, cells) = (overview.axes(), overview.cells());
    let verdict = match (verdicts.is_tested(), verdicts.has_partial()) {
        (false, _) => "too few seeds to say which is best",
        (true, false) => "bold: best for sure (paired test over the seeds)",
        (true, true) => "bold: best for sure of those that refused no job (paired test)",
    };
    let measures = measures(overview).map(|(key, name, unit, better)| Measure {
        name: name.to_owned(),
        unit,
        better,
        values: cells.iter().map(|cell| estimate(cell, key)).collect(),
        best: (0..cells.len()).map(|at| verdicts.is_best(at, key)).collect(),
    });
    Picture::Comparison(Comparison {
        title: "Policies".to_owned(),
        policies: cells.iter().map(|cell| label(cell[0], &axes)).collect(),
        groups: group_of_each(&cells, &axes),
        verdict: verdict.to_owned(),
        measures: measures.collect(),
    })
}

/// Cells that differ in the policy only have the same number.
fn group_of_each(cells: &[Vec<&Summary>], axes: &[&str]) -> Vec<usize> {
    let mut groups = vec![0; cells.len()];
    for (number, members) in verdicts::groups(cells, axes).into_iter().enumerate() {
        members.into_iter().for_each(|cell| groups[cell] = number);
    }
    groups
}

/// `None` if no job has a deadline or a value.
fn success(overview: &Overview) -> Option<Picture> {
    let (axes, cells) = (overview.axes(), overview.cells());
    let names = [
        ("By urgency: (deadline - submission) / run time on the reference node - 1", {
            &Family::URGENCY.classes[..]
        }),
        ("By valuation: credits per processor", &Family::VALUE.classes[..]),
    ];
    let panels = names.map(|(name, classes)| Classes {
        name: name.to_owned(),
        classes: classes.iter().map(|class| class_of_jobs(&cells, class)).collect(),
    });
    let there = |panel: &Classes| panel.classes.iter().any(|class| !class.size.is_empty());
    let panels: Vec<Classes> = panels.into_iter().filter(there).collect();
    let bars = Bars {
        title: "Success".to_owned(),
        subtitle: "share of the jobs of each class that were completed, by their deadline if \
                   they have one"
            .to_owned(),
        policies: cells.iter().map(|cell| label(cell[0], &axes)).collect(),
        panels,
    };
    (!bars.panels.is_empty()).then_some(Picture::Bars(bars))
}

/// The same jobs are in a class under every policy; with seeds their number is a mean.
fn class_of_jobs(cells: &[Vec<&Summary>], class: &JobClass) -> ClassOfJobs {
    let measure = |what: &str| format!("{what}_{}", class.key);
    let sizes = cells.iter().filter_map(|cell| estimate(cell, &measure("jobs")));
    let size = sizes
        .map(|size| size.mean)
        .fold(None, |max: Option<f64>, size| Some(max.map_or(size, |max| max.max(size))));
    ClassOfJobs {
        label: class.label.to_owned(),
        size: size.map_or_else(String::new, |size| format!("{} jobs", Unit::Count.say(size))),
        shares: cells.iter().map(|cell| estimate(cell, &measure("success"))).collect(),
    }
}

/// `None` if no job has a deadline.
fn misses(overview: &Overview, finished: &[FinishedRun<'_>]) -> Option<Picture> {
    let facts = |_: &[&FinishedRun<'_>], mean: &Trace| {
        let last = mean.points().last().copied().unwrap_or_default();
        format!("{} of {}", Unit::Count.say(last.1), Unit::Count.say(last.0 as f64))
    };
    let (lines, notes) = lines(overview, finished, |part| &part.misses, facts);
    let lines = Lines {
        title: "Deadlines missed".to_owned(),
        subtitle: "of the first so many jobs with a deadline, those that were not completed by \
                   then"
            .to_owned(),
        across: Across::Count("jobs with a deadline, in the order of submission".to_owned()),
        name: "Deadlines missed".to_owned(),
        unit: Unit::Count,
        lines,
        notes,
    };
    (!lines.lines.is_empty()).then_some(Picture::Lines(lines))
}

/// `None` if there are fewer than two sites.
fn load_deviation(overview: &Overview, finished: &[FinishedRun<'_>]) -> Option<Picture> {
    let facts = |cell: &[&FinishedRun<'_>], _: &Trace| {
        let runs: Vec<&Summary> = cell.iter().map(|done| done.summary).collect();
        let say = |measure| {
            let found = estimate(&runs, measure);
            found.map_or_else(|| "–".to_owned(), |found| Unit::Share.say(found.mean))
        };
        format!("mean {}, at most {}", say("load_deviation_mean"), say("load_deviation_max"))
    };
    let (lines, mut notes) = lines(overview, finished, |part| &part.load_deviation, facts);
    notes.push(
        "Points are means over equal stretches of a run, which hide peaks. Days and times of day \
         are those of the log's clock."
            .to_owned(),
    );
    let lines = Lines {
        title: "Deviation of load".to_owned(),
        subtitle: "standard deviation over the sites of the share of their processors that jobs \
                   hold"
            .to_owned(),
        across: Across::Time,
        name: "Standard deviation over sites".to_owned(),
        unit: Unit::Share,
        lines,
        notes,
    };
    (!lines.lines.is_empty()).then_some(Picture::Lines(lines))
}

/// A line per policy, or per what else differs: the mean over its replications. Those without
/// data have none. And what is to be said of them.
fn lines(
    overview: &Overview,
    finished: &[FinishedRun<'_>],
    trace: impl Fn(&Part) -> &Trace,
    facts: impl Fn(&[&FinishedRun<'_>], &Trace) -> String,
) -> (Vec<Line>, Vec<String>) {
    let axes = overview.axes();
    let mut cells: Vec<(String, Vec<&FinishedRun<'_>>)> = Vec::new();
    for done in finished.iter().filter(|done| !trace(&done.part).is_empty()) {
        let name = label(done.summary, &axes);
        match cells.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cell)) => cell.push(done),
            None => cells.push((name, vec![done])),
        }
    }
    let line = |(name, cell): (String, Vec<&FinishedRun<'_>>)| {
        let traces: Vec<&Trace> = cell.iter().map(|done| trace(&done.part)).collect();
        let mean = Trace::mean(&traces);
        Line { name, facts: facts(&cell, &mean), trace: mean }
    };
    let replicated = cells.iter().any(|(_, cell)| cell.len() > 1);
    let note = replicated.then(|| "Lines are means over all seeds.".to_owned());
    (cells.into_iter().map(line).collect(), note.into_iter().collect())
}
