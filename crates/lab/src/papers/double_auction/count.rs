//! What happened to the applications.

use tradewind_model::{Money, Time};
use tradewind_sim::Run;
use tradewind_sim::metrics::load_deviation;
use tradewind_sim::workload::{Job, Workload};

use super::parameters::{URGENCY_CLASSES, VALUE_CLASSES, WINDOW, span, ticks};
use crate::case::Case;
use crate::tally::Tally;

/// The window of deviations has so many parts.
pub(super) const TWELFTHS: usize = 12;

/// Borders of the classes of value per processor, in credits, at the usual scale. The paper names
/// the first.
const BORDERS: [i64; 5] = [1_000, 5_000, 10_000, 20_000, 30_000];

const CREDIT: f64 = 1e6;

/// A number of events among all.
#[derive(Debug, Clone, Copy, Default)]
struct Ratio {
    done: u32,
    of: u32,
}

impl Ratio {
    fn add(&mut self, done: bool) {
        self.of += 1;
        self.done += u32::from(done);
    }

    /// Not a number for none of none.
    fn share(self) -> f64 {
        f64::from(self.done) / f64::from(self.of)
    }
}

/// Of one replay.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    all: Ratio,
    urgency: [Ratio; 5],
    value: [Ratio; 6],
    /// Mean standard deviation of the sites' loads, by part of the window.
    deviation: [f64; TWELFTHS],
    /// What is in time is worth, less what all that ran costs at list prices; in credits.
    welfare: f64,
}

impl Counts {
    pub(super) fn of(case: &Case, workload: &Workload, run: &Run) -> Counts {
        let mut counts = Counts::default();
        for (job, ran) in workload.jobs.iter().zip(&run.jobs) {
            let terms = job.terms.as_deref();
            let deadline = terms.and_then(|terms| terms.deadline).unwrap_or(job.submit);
            let value = terms.and_then(|terms| terms.value).unwrap_or(Money::ZERO);
            let done = ran.refused.is_none() && ran.end <= deadline;
            counts.all.add(done);
            counts.urgency[urgency(case, job, deadline)].add(done);
            counts.value[class_of_value(case, job, value)].add(done);
            counts.welfare += if done { value.0 as f64 / CREDIT } else { 0.0 };
            if ran.refused.is_none() {
                let shares = ran.place.shares(job.processors);
                let cost = shares.map(|share| {
                    let price = workload.pools.pool(share.pool).price.0 as f64;
                    price * f64::from(share.nodes) * (ran.end - ran.start).0 as f64
                });
                counts.welfare -= cost.sum::<f64>() / CREDIT;
            }
        }
        counts.deviation = deviations(case, workload, run);
        counts
    }

    /// Every share by itself, and beside the auction's.
    pub(super) fn add(&self, name: &str, auction: &Counts, tally: &mut Tally) {
        for ((group, own), (_, dam)) in self.groups().into_iter().zip(auction.groups()) {
            tally.add(&format!("{name}/{group}"), own.share());
            if own.of > 0 {
                tally.add_pair(&format!("{name}/{group}"), dam.done.into(), own.done.into());
            }
        }
        for (at, deviation) in self.deviation.iter().enumerate() {
            tally.add(&format!("{name}/deviation-{at}"), *deviation);
        }
        let (own, dam) = (mean(&self.deviation), mean(&auction.deviation));
        tally.add(&format!("{name}/deviation"), own);
        tally.add_pair(&format!("{name}/deviation"), dam, own);
        tally.add(&format!("{name}/welfare"), self.welfare);
        tally.add_pair(&format!("{name}/welfare"), auction.welfare, self.welfare);
    }

    pub(super) fn add_missed(&self, name: &str, sixths: u32, tally: &mut Tally) {
        let missed = f64::from(self.all.of - self.all.done);
        tally.add(&format!("{name}/missed-{sixths}"), missed);
        tally.add(&format!("applications-{sixths}"), self.all.of.into());
    }

    fn groups(&self) -> Vec<(String, Ratio)> {
        let urgency = self.urgency.iter().enumerate();
        let value = self.value.iter().enumerate();
        std::iter::once(("all".to_owned(), self.all))
            .chain(urgency.map(|(at, part)| (format!("urgency-{at}"), *part)))
            .chain(value.map(|(at, part)| (format!("value-{at}"), *part)))
            .collect()
    }
}

/// Facts about what was drawn.
pub(super) fn workload(case: &Case, workload: &Workload, tally: &mut Tally) {
    let dearest = workload.pools.as_slice().iter().max_by_key(|pool| pool.price);
    let Some(dearest) = dearest else { return };
    let (mut narrow, mut last) = (f64::INFINITY, Time(0));
    for job in &workload.jobs {
        let value = job.terms.as_deref().and_then(|terms| terms.value).unwrap_or(Money::ZERO);
        let length = job.length_in(dearest).0 as f64;
        let cost = dearest.price.0 as f64 * length * f64::from(job.processors);
        tally.add_if("affords", value.0 as f64 >= cost);
        if class_of_value(case, job, value) == 0 {
            narrow = narrow.min(job.processors.into());
        }
        last = last.max(job.submit);
    }
    tally.add("applications", workload.jobs.len() as f64);
    tally.add("narrowest-of-low-value", narrow);
    tally.add("last-submission", last.0 as f64 / ticks(case) as f64);
}

fn urgency(case: &Case, job: &Job, deadline: Time) -> usize {
    let slack = i128::from((deadline - job.submit).0 - job.run.0);
    let width = (case.number(&URGENCY_CLASSES) * 1_000.0).round() as i128;
    (1_000 * slack / (width * i128::from(job.run.0.max(1)))).clamp(0, 4) as usize
}

fn class_of_value(case: &Case, job: &Job, value: Money) -> usize {
    let per_processor = value.0 / i64::from(job.processors);
    let scale = case.number(&VALUE_CLASSES);
    let border = |credits: i64| (Money::credits(credits).0 as f64 * scale).round() as i64;
    BORDERS.partition_point(|credits| per_processor >= border(*credits))
}

/// By part of the window; loads are zero after the last end.
fn deviations(case: &Case, workload: &Workload, run: &Run) -> [f64; TWELFTHS] {
    let mut areas = [0.0; TWELFTHS];
    let first = workload.jobs.first().map_or(Time(0), |job| job.submit);
    let length = (span(case, &WINDOW, ticks(case)).0 / TWELFTHS as i64).max(1);
    for pair in load_deviation(workload, run).windows(2) {
        let (from, to) = ((pair[0].at - first).0, (pair[1].at - first).0);
        for (at, area) in (0i64..).zip(&mut areas) {
            let (begin, end) = (from.max(at * length), to.min((at + 1) * length));
            *area += pair[0].load * (end - begin).max(0) as f64 / length as f64;
        }
    }
    areas
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
