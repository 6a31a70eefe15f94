//! How much quicker a job is on more nodes (A. Downey, "A model for speedup of parallel programs", UC
//! Berkeley, CSD-97-933, 1997).

use crate::{JobShape, Request, Shapes, Span};

/// Downey's speed-up law: A is the average parallelism, and σ says how much it varies: 0 is a perfect
/// speed-up up to A nodes and none beyond.
///
/// For σ ≤ 1:
/// - S(n) = A·n / (A + σ·(n − 1)/2) for 1 ≤ n ≤ A,
/// - S(n) = A·n / (σ·(A − 1/2) + n·(1 − σ/2)) for A ≤ n ≤ 2A − 1,
/// - S(n) = A for more;
///
/// for σ ≥ 1:
/// - S(n) = n·A·(σ + 1) / (σ·(n + A − 1) + A) for 1 ≤ n ≤ A + A·σ − σ,
/// - S(n) = A for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeedUp {
    /// A, in thousandths.
    parallelism: u64,
    /// σ, in thousandths.
    variance: u64,
}

impl SpeedUp {
    /// The greatest A: as many as nodes.
    pub const MAX_PARALLELISM: u64 = 1_000 * Request::MAX_TASKS as u64;
    /// The greatest σ, in thousandths.
    pub const MAX_VARIANCE: u64 = 1_000_000;
    /// The most widths that a range stands for.
    pub const WIDTHS: u32 = 8;

    /// Nothing is quicker on more nodes.
    pub const SERIAL: SpeedUp = SpeedUp { parallelism: 1_000, variance: 0 };

    /// A and σ, both in thousandths. `None`: A is below 1, or one of them is too great.
    pub fn new(parallelism: u64, variance: u64) -> Option<SpeedUp> {
        let good = (1_000..=SpeedUp::MAX_PARALLELISM).contains(&parallelism)
            && variance <= SpeedUp::MAX_VARIANCE;
        good.then_some(SpeedUp { parallelism, variance })
    }

    /// How many times as quick as on one node a job is on `nodes` nodes, at least 1, in millionths, rounded
    /// down.
    pub fn on(self, nodes: u32) -> u64 {
        let (a, s, n) = (
            u128::from(self.parallelism),
            u128::from(self.variance),
            u128::from(nodes.clamp(1, Request::MAX_TASKS)),
        );
        // Above and below the line, both times whatever makes them whole numbers.
        let (above, below) = match s <= 1_000 {
            true if 1_000 * n <= a => (2 * a * n, 2 * a + s * (n - 1)),
            true if 1_000 * (n + 1) <= 2 * a => {
                (2_000 * a * n, s * (2 * a - 1_000) + n * (2_000_000 - 1_000 * s))
            }
            false if 1_000_000 * n + 1_000 * s <= 1_000 * a + a * s => {
                (n * a * (s + 1_000), s * (1_000 * n + a - 1_000) + 1_000 * a)
            }
            _ => (a, 1_000),
        };
        u64::try_from(1_000_000 * above / below.max(1)).unwrap_or(u64::MAX).max(1_000_000)
    }

    /// How long a job takes on `nodes` nodes that takes so long in the shape `known`, rounded up.
    pub fn time_on(self, nodes: u32, known: JobShape) -> Span {
        let all = i128::from(known.time.0.max(1)) * i128::from(self.on(known.nodes));
        let speed = i128::from(self.on(nodes));
        Span(((all + speed - 1) / speed).clamp(1, i128::from(i64::MAX)) as i64)
    }

    /// A job's shapes of these widths, if it takes so long in the shape `known`, which comes first. Widths
    /// that are not quicker than all narrower ones are left out, but for the known one; of more than
    /// [`Shapes::MAX`] the narrowest stay.
    pub fn shapes(self, widths: &[u32], known: JobShape) -> Vec<JobShape> {
        let mut widths: Vec<u32> = widths.iter().copied().chain([known.nodes]).collect();
        widths.sort_unstable();
        widths.dedup();
        let of = |nodes: &u32| match *nodes == known.nodes {
            true => known,
            false => JobShape { nodes: *nodes, time: self.time_on(*nodes, known) },
        };
        let mut found = vec![known];
        let mut least: Option<Span> = None;
        for shape in widths.iter().map(of) {
            let narrow = shape.nodes < known.nodes && shape.time <= known.time;
            if least.is_none_or(|least| shape.time < least) && !narrow {
                least = Some(shape.time);
                found.extend(Some(shape).filter(|shape| *shape != known));
            }
        }
        found.truncate(Shapes::MAX);
        found
    }

    /// Widths from `least` to `most`: all, if there are few, or [`SpeedUp::WIDTHS`] of which each is about as many
    /// times as wide as the one before it.
    pub fn widths(least: u32, most: u32) -> Vec<u32> {
        let (least, most) = (least.max(1), most.max(least.max(1)));
        if most - least < SpeedUp::WIDTHS {
            return (least..=most).collect();
        }
        let steps = i64::from(SpeedUp::WIDTHS - 1);
        let (low, high) = (u128::from(least), u128::from(most));
        // The greatest w with w^steps ≤ low^(steps − k)·high^k, compared by roots of whole numbers.
        let at = |k: i64| {
            let target = power_ratio(low, high, k as u32, steps as u32);
            target.clamp(low, high) as u32
        };
        let mut widths: Vec<u32> = (0..=steps).map(at).collect();
        widths.dedup();
        widths
    }
}

/// low·(high/low)^(k/steps), rounded down: by bisection, with both sides' bits counted in thousandths of a
/// bit so that nothing overflows.
fn power_ratio(low: u128, high: u128, k: u32, steps: u32) -> u128 {
    match k {
        0 => return low,
        k if k == steps => return high,
        _ => {}
    }
    let (from, to) = (bits(low), bits(high));
    let wanted = from + (to - from) * u64::from(k) / u64::from(steps);
    let (mut below, mut above) = (low, high);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        match bits(middle) <= wanted {
            true => below = middle,
            false => above = middle,
        }
    }
    below
}

/// The logarithm of base 2 in 2^-16, rounded down: by squaring.
fn bits(number: u128) -> u64 {
    let whole = 127 - number.max(1).leading_zeros();
    let mut rest = (number.max(1) << (127 - whole)) >> 96; // in [2^31, 2^32)
    let mut found = u64::from(whole);
    for _ in 0..16 {
        rest = (rest * rest) >> 31;
        found <<= 1;
        if rest >= 1 << 32 {
            rest >>= 1;
            found |= 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formulas as they stand, with floats.
    fn plain(a: f64, sigma: f64, n: f64) -> f64 {
        if sigma <= 1.0 {
            match n {
                n if n <= a => a * n / (a + sigma / 2.0 * (n - 1.0)),
                n if n <= 2.0 * a - 1.0 => a * n / (sigma * (a - 0.5) + n * (1.0 - sigma / 2.0)),
                _ => a,
            }
        } else {
            match n {
                n if n <= a + a * sigma - sigma => {
                    n * a * (sigma + 1.0) / (sigma * (n + a - 1.0) + a)
                }
                _ => a,
            }
        }
    }

    #[test]
    fn speed_ups_are_the_formulas() {
        for a in [1_000, 1_500, 8_000, 33_333, 100_000] {
            for sigma in [0, 100, 500, 999, 1_000, 1_001, 2_000, 30_000] {
                let law = SpeedUp::new(a, sigma).unwrap();
                let mut before = 0;
                for n in 1..300 {
                    let (found, of) = (law.on(n), |it: u64| it as f64 / 1_000.0);
                    let wanted = plain(of(a), of(sigma), f64::from(n)).max(1.0) * 1e6;
                    assert!(
                        (found as f64 - wanted).abs() <= 2.0,
                        "{a} {sigma} {n}: {found} {wanted}"
                    );
                    assert!(found + 1 >= before, "more nodes are never slower: {a} {sigma} {n}");
                    before = found;
                }
            }
        }
        assert!(SpeedUp::new(999, 0).is_none() && SpeedUp::new(1_000, u64::MAX).is_none());
    }

    #[test]
    fn shapes_begin_with_the_known_one_and_are_shapes() {
        let law = SpeedUp::new(20_000, 500).unwrap();
        let known = JobShape { nodes: 16, time: Span(3_600) };
        let shapes = law.shapes(&[4, 8, 16, 32, 64, 128], known);
        let widths: Vec<u32> = shapes.iter().map(|shape| shape.nodes).collect();
        assert_eq!(widths, [16, 4, 8, 32, 64], "nothing is quicker than on 64");
        assert!(Shapes::new(&shapes).unwrap().is_some());
        assert_eq!(shapes[1].time, law.time_on(4, known));
        let most = SpeedUp::new(SpeedUp::MAX_PARALLELISM, 1_000_000).unwrap();
        let widest = JobShape { nodes: Request::MAX_TASKS, time: Span::MAX };
        assert!(Shapes::new(&most.shapes(&[1, 2, 3], widest)).is_err(), "times overflow");
    }

    #[test]
    fn widths_are_few_and_spread() {
        assert_eq!(SpeedUp::widths(3, 6), [3, 4, 5, 6]);
        assert_eq!(SpeedUp::widths(5, 5), [5]);
        assert_eq!(SpeedUp::widths(1, 128), [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(SpeedUp::widths(16, 64).len(), 8);
        let most = SpeedUp::widths(1, Request::MAX_TASKS);
        assert_eq!((most.len(), most[0], most[7]), (8, 1, Request::MAX_TASKS));
        assert!(most.is_sorted());
    }
}
