//! The best way to cut a site into partitions.
//!
//! A partition's size is also the limit of the widths that it takes, so a cut is a row of growing
//! whole numbers r₁ < … < rₙ that sum to the processors, the last at least the widest job. The
//! mean over jobs is a sum with one term per pair of neighbours, which is what dynamic programming
//! needs: `min[s][r]` after j partitions is the minimum sum of terms if the j-th has r processors
//! and all j together s. The last partition takes the rest.

use super::error::{BadParameter, Place, QueueingError, Unstable, checked_rate};
use super::mix::Mix;
use super::moments::Infinite;
use super::partition::Site;
use super::readings::{Equation, Reading};

/// What is to be least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// E(W): eq. 25.
    #[default]
    Wait,
    /// E(S): eq. 26. The same partitions as for E(W) unless run times depend on widths.
    Slowdown,
}

/// The sizes of `queues` partitions with the minimum mean wait or slowdown: eq. 25 and 26, over all
/// whole numbers. Exact; among equals, the larger last partitions.
///
/// With N processors, widest job w and n queues: O(nNw) states and at most O(nNw²) steps; memory
/// for the states. A range check keeps r below (N − w) / (n − j) for the j-th of n.
///
/// # Errors
/// More queues than there can be; no rate above 0; E(X²) (for slowdowns also E(1/X)) infinite; or
/// no cut without a load of 1 or more: then with the minimum such load.
pub fn best(site: &Site<'_>, queues: u32, goal: Goal) -> Result<Vec<u32>, QueueingError> {
    checked_rate(site.rate)?;
    let room = Room::new(site, queues)?;
    let sums = WidthSums::new(site.mix, room.reach)?;
    let inverse = match goal {
        Goal::Wait => None,
        Goal::Slowdown => Some(sums.inverse.as_ref().map_err(|why| *why)?),
    };
    let term = |above: usize, upto: usize| {
        let load = sums.load(site.rate, above, upto);
        if load >= 1.0 {
            return f64::INFINITY;
        }
        let wait = site.rate * (sums.square[upto] - sums.square[above]) / (2.0 * (1.0 - load));
        match (site.readings.of(Equation::E20), inverse) {
            (Reading::Printed, _) => wait,
            (Reading::Corrected, None) => (sums.share[upto] - sums.share[above]) * wait,
            (Reading::Corrected, Some(inverse)) => (inverse[upto] - inverse[above]) * wait,
        }
    };
    let (sizes, min) = search(&room, term, |a, b| a + b);
    if min.is_finite() {
        return Ok(sizes);
    }
    let (_, load) = search(&room, |above, upto| sums.load(site.rate, above, upto), f64::max);
    let place = Place::BestPartitions(queues);
    let rate_below = site.rate / load;
    Err(Unstable { place, load, rate_below, servers_from: None }.into())
}

/// As many numbers of eight bytes as are kept at most.
const STATES_MOST: usize = 1 << 27;

/// Where boundaries can be.
#[derive(Debug, Clone, Copy)]
struct Room {
    queues: usize,
    processors: usize,
    widest: usize,
    /// No partition but the last is larger: from the widest job on they are empty.
    reach: usize,
}

impl Room {
    fn new(site: &Site<'_>, queues: u32) -> Result<Room, BadParameter> {
        let (processors, widest) = (site.processors, site.mix.widest());
        if widest > processors {
            return Err(BadParameter::TooWide { widest, largest: processors });
        }
        // The smallest cut: 1, 2, 3, … and the widest job.
        let fits = |n: u64| n * (n - 1) / 2 + u64::from(widest).max(n) <= u64::from(processors);
        if queues == 0 {
            return Err(BadParameter::None("partitions"));
        }
        if !fits(queues.into()) {
            let max = (1..).take_while(|n| fits(u64::from(*n))).last().unwrap_or(0);
            return Err(BadParameter::TooManyQueues { queues, processors, widest, max });
        }
        let as_usize = |count: u32| count as usize;
        let room = Room {
            queues: as_usize(queues),
            processors: as_usize(processors),
            widest: as_usize(widest),
            reach: as_usize(widest) + as_usize(queues),
        };
        let states = (1..room.queues).map(|j| (room.max(j) + 1) * (room.largest(j) + 1)).sum();
        match states <= STATES_MOST {
            true => Ok(room),
            false => Err(BadParameter::TooManyCuts { states, max: STATES_MOST }),
        }
    }

    /// What all partitions but the last can have together.
    fn budget(&self) -> usize {
        self.processors - self.widest
    }

    /// The most for partition `j`, from 1: those after it are larger, but for the last, and the
    /// least before it are 1, 2, 3, ….
    fn largest(&self, j: usize) -> usize {
        let rest = self.budget().saturating_sub(j * (j - 1) / 2);
        (rest / (self.queues - j)).min(self.reach)
    }

    /// The most that partitions 1 to `j` can have together.
    fn max(&self, j: usize) -> usize {
        self.budget().min(j * self.largest(j))
    }
}

/// Sums over the jobs up to each width, weighted by their shares.
struct WidthSums {
    share: Vec<f64>,
    mean: Vec<f64>,
    square: Vec<f64>,
    inverse: Result<Vec<f64>, Infinite>,
}

impl WidthSums {
    fn new(mix: &Mix, reach: usize) -> Result<WidthSums, Infinite> {
        let running = |of: &dyn Fn(&super::Width) -> Result<f64, Infinite>| {
            let mut sums = vec![0.0; reach + 1];
            for width in mix.widths() {
                sums[width.width as usize] = of(width)?;
            }
            for upto in 1..=reach {
                sums[upto] += sums[upto - 1];
            }
            Ok(sums)
        };
        Ok(WidthSums {
            share: running(&|width| Ok(width.share))?,
            mean: running(&|width| Ok(width.share * width.runs.mean))?,
            square: running(&|width| Ok(width.share * width.runs.square?))?,
            inverse: running(&|width| Ok(width.share * width.runs.inverse?)),
        })
    }

    fn load(&self, rate: f64, above: usize, upto: usize) -> f64 {
        rate * (self.mean[upto] - self.mean[above])
    }
}

/// `min` of one number of partitions: rows are sums, columns are the last one's size.
struct Layer {
    columns: usize,
    min: Vec<f64>,
}

impl Layer {
    fn new(room: &Room, j: usize) -> Layer {
        let columns = room.largest(j) + 1;
        Layer { columns, min: vec![f64::INFINITY; (room.max(j) + 1) * columns] }
    }

    fn rows(&self) -> usize {
        self.min.len() / self.columns
    }

    fn row(&self, sum: usize) -> &[f64] {
        &self.min[sum * self.columns..][..self.columns]
    }

    fn set(&mut self, sum: usize, size: usize, min: f64) {
        self.min[sum * self.columns + size] = min;
    }
}

/// The cut with the minimum `join` over its terms, and that; all infinite: any cut.
fn search(
    room: &Room,
    term: impl Fn(usize, usize) -> f64,
    join: impl Fn(f64, f64) -> f64,
) -> (Vec<u32>, f64) {
    let mut layers: Vec<Layer> = Vec::with_capacity(room.queues);
    for j in 1..room.queues {
        let layer = match layers.last() {
            None => first(room, &term),
            Some(before) => next(room, j, before, &term, &join),
        };
        layers.push(layer);
    }
    let Some(last) = layers.last() else {
        return (vec![room.processors as u32], term(0, room.reach));
    };
    let mut found = (f64::INFINITY, 0, 0);
    for size in 1..last.columns {
        let rest = term(size, room.reach);
        // The last partition is larger than this one, and has room for the widest job.
        let max = room.processors - room.widest.max(size + 1);
        for sum in size..last.rows().min(max + 1) {
            let all = join(last.row(sum)[size], rest);
            if all < found.0 {
                found = (all, sum, size);
            }
        }
    }
    (walk_back(room, &layers, found, &term, &join), found.0)
}

fn first(room: &Room, term: &impl Fn(usize, usize) -> f64) -> Layer {
    let mut layer = Layer::new(room, 1);
    for size in 1..layer.columns {
        layer.set(size, size, term(0, size));
    }
    layer
}

/// One partition more, the `j`-th.
fn next(
    room: &Room,
    j: usize,
    before: &Layer,
    term: &impl Fn(usize, usize) -> f64,
    join: &impl Fn(f64, f64) -> f64,
) -> Layer {
    let mut layer = Layer::new(room, j);
    for size in j..layer.columns {
        let terms: Vec<f64> =
            (0..size.min(before.columns)).map(|above| term(above, size)).collect();
        // This one and those after it, but for the last, are at least `size`.
        let Some(max) = room.budget().checked_sub(size * (room.queues - j)) else { break };
        for sum in j - 1..before.rows().min(max + 1) {
            // The last of j − 1 growing numbers is above their mean.
            let (low, high) = (sum.div_ceil(j - 1), terms.len().min(sum + 1));
            if low < high {
                let min = min(&before.row(sum)[low..high], &terms[low..], join);
                layer.set(sum + size, size, min);
            }
        }
    }
    layer
}

/// The minimum `join` of neighbours in both. Four at once, so that the processor need not wait.
fn min(before: &[f64], terms: &[f64], join: &impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 4;
    let terms = &terms[..before.len()];
    let (wide, wide_terms) = (before.chunks_exact(LANES), terms.chunks_exact(LANES));
    let narrow = wide.remainder().iter().zip(wide_terms.remainder());
    let mut lanes = [f64::INFINITY; LANES];
    for (a, b) in wide.zip(wide_terms) {
        for lane in 0..LANES {
            let all = join(a[lane], b[lane]);
            lanes[lane] = if all < lanes[lane] { all } else { lanes[lane] };
        }
    }
    let tail = narrow.map(|(a, b)| join(*a, *b));
    tail.chain(lanes).fold(f64::INFINITY, f64::min)
}

/// The sizes that led to what was found.
fn walk_back(
    room: &Room,
    layers: &[Layer],
    (min, mut sum, mut size): (f64, usize, usize),
    term: &impl Fn(usize, usize) -> f64,
    join: &impl Fn(f64, f64) -> f64,
) -> Vec<u32> {
    if min.is_infinite() {
        return Vec::new();
    }
    let mut sizes = vec![(room.processors - sum) as u32];
    for j in (1..layers.len()).rev() {
        let here = layers[j].row(sum)[size];
        sizes.push(size as u32);
        let before = layers[j - 1].row(sum - size);
        let came = |above: &usize| join(before[*above], term(*above, size)) == here;
        let above = (0..size.min(before.len())).find(came).unwrap_or(0);
        (sum, size) = (sum - size, above);
    }
    sizes.push(size as u32);
    sizes.reverse();
    sizes
}
