//! Who gets in whose way, as sets of which at most one offer is taken.

use super::DisjointOffer;

/// By offer, the sets that it is in.
///
/// Two offers of different jobs collide exactly if they share a set.
#[derive(Debug)]
pub(super) struct Cells {
    /// By job and offer, in rising order.
    of: Vec<Vec<Vec<u32>>>,
    pub(super) count: usize,
}

/// A span with whose it is.
struct Owned {
    resource: u32,
    start: i64,
    end: i64,
    job: usize,
    offer: usize,
}

impl Cells {
    /// One set per resource and largest group of overlapping spans; none where all are of one
    /// job. O(s log s) for s spans, and the sizes of the sets.
    pub(super) fn new(jobs: &[Vec<DisjointOffer>]) -> Cells {
        let of = jobs.iter().map(|offers| vec![Vec::new(); offers.len()]).collect();
        let mut cells = Cells { of, count: 0 };
        let mut spans: Vec<Owned> = Vec::new();
        for (job, offers) in jobs.iter().enumerate() {
            for (offer, it) in offers.iter().enumerate() {
                spans.extend(it.busy.iter().filter(|busy| busy.start < busy.end).map(|busy| {
                    Owned { resource: busy.resource, start: busy.start, end: busy.end, job, offer }
                }));
            }
        }
        spans.sort_by_key(|span| (span.resource, span.start));
        for of_one in spans.chunk_by(|a, b| a.resource == b.resource) {
            cells.add(of_one);
        }
        cells
    }

    /// Sweeps the spans of one resource in order of start. A group is largest when one of it ends
    /// before, or as, the next begins.
    fn add(&mut self, spans: &[Owned]) {
        let mut active: Vec<&Owned> = Vec::new();
        let mut rest = spans;
        while let Some(first) = rest.first() {
            let now = first.start;
            let begun = rest.partition_point(|span| span.start <= now);
            active.retain(|span| span.end > now);
            active.extend(&rest[..begun]);
            rest = &rest[begun..];
            let next = rest.first().map_or(i64::MAX, |span| span.start);
            let largest = active.iter().any(|span| span.end <= next);
            if largest && active.iter().any(|span| span.job != active[0].job) {
                for span in &active {
                    self.of[span.job][span.offer].push(self.count as u32);
                }
                self.count += 1;
            }
        }
    }

    pub(super) fn of(&self, job: usize, offer: usize) -> &[u32] {
        &self.of[job][offer]
    }
}
