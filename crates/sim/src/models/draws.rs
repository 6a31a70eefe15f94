//! Random numbers by law. Logarithms and powers come from `libm`, plain Rust, and everything else
//! is +, −, ×, ÷ and square roots, which IEEE 754 rounds alike everywhere: the same seed draws
//! the same bits on every machine, whatever its C library.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use tradewind_model::random;

/// One named stream, and the laws to draw from it.
#[derive(Debug)]
pub(super) struct Draws(Pcg64Mcg);

/// A gamma distribution: mean shape × scale, variance shape × scale².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma {
    /// Often α; above 0.
    pub shape: f64,
    /// Often β; above 0.
    pub scale: f64,
}

impl Draws {
    pub(super) fn new(seed: u64, noun: &str) -> Draws {
        Draws::of(seed, noun, 0)
    }

    /// A stream of one of many like things.
    pub(super) fn of(seed: u64, noun: &str, key: u64) -> Draws {
        Draws(random::stream(seed, noun, key))
    }

    /// Uniform within (0, 1), in steps of 2⁻⁵³; neither end is drawn.
    pub(super) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.0.random::<u64>() >> 11) as f64 + 0.5) * STEP
    }

    /// Uniform within (`low`, `high`).
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Whole and uniform within `low..=high`; `low` if that is empty.
    pub(super) fn within(&mut self, (low, high): (i64, i64)) -> i64 {
        random::within(&mut self.0, low, high)
    }

    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.unit())
    }

    pub(super) fn weibull(&mut self, shape: f64, scale: f64) -> f64 {
        scale * libm::pow(-libm::log(self.unit()), 1.0 / shape)
    }

    /// Mean 0 and variance 1, by the polar method (Marsaglia and Bray 1964).
    pub(super) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// By squeezing a cubed normal (Marsaglia and Tsang 2000); shapes below 1 go by way of
    /// shape + 1.
    pub(super) fn gamma(&mut self, Gamma { shape, scale }: Gamma) -> f64 {
        if shape < 1.0 {
            let more = self.gamma(Gamma { shape: shape + 1.0, scale });
            return more * libm::pow(self.unit(), 1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = 1.0 + c * x;
            let v = v * v * v;
            if v > 0.0 && libm::log(self.unit()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
                return d * v * scale;
            }
        }
    }

    /// How many marked balls come up when half of an urn of 2 × `half` balls, half of them
    /// marked, is drawn without putting back: 0 to `half`, `half` / 2 in the mean.
    pub(super) fn hypergeometric(&mut self, half: u32) -> u32 {
        let (mut marked, mut left) = (i64::from(half), 2 * i64::from(half));
        for _ in 0..half {
            marked -= i64::from(self.within((1, left)) <= marked);
            left -= 1;
        }
        half - marked as u32
    }

    /// The index of one of `running`, sums of weights so far, with the chance of its weight.
    pub(super) fn weighted(&mut self, running: &[i64]) -> usize {
        let all = running.last().copied().unwrap_or(0);
        let at = self.within((1, all));
        running.partition_point(|sum| *sum < at).min(running.len().saturating_sub(1))
    }
}

/// A range for [`Draws::within`].
pub(super) fn wide((low, high): (u32, u32)) -> (i64, i64) {
    (low.into(), high.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and variance of many draws.
    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        const N: usize = 100_000;
        let all: Vec<f64> = (0..N).map(|_| draw()).collect();
        let mean = all.iter().sum::<f64>() / N as f64;
        let variance = all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / N as f64;
        (mean, variance)
    }

    #[track_caller]
    fn check((mean, variance): (f64, f64), (of_mean, of_variance): (f64, f64)) {
        let spread = (of_variance / 100_000.0).sqrt();
        assert!((mean - of_mean).abs() < 4.0 * spread, "mean {mean}, not {of_mean}");
        assert!((variance / of_variance - 1.0).abs() < 0.05, "{variance}, not {of_variance}");
    }

    #[test]
    fn laws_have_their_means_and_variances() {
        let mut draws = Draws::new(1, "test");
        check(moments(|| draws.unit()), (0.5, 1.0 / 12.0));
        check(moments(|| draws.normal()), (0.0, 1.0));
        check(moments(|| draws.exponential(3.0)), (3.0, 9.0));
        // Γ(1.5) and Γ(2): a Weibull distribution of shape 2 has mean scale × √π / 2.
        let root = std::f64::consts::PI.sqrt() / 2.0;
        check(moments(|| draws.weibull(2.0, 20.0)), (20.0 * root, 400.0 * (1.0 - root * root)));
        for (shape, scale) in [(0.5, 2.0), (1.0, 1.0), (6.57, 0.823), (639.1, 0.0156)] {
            let law = Gamma { shape, scale };
            check(moments(|| draws.gamma(law)), (shape * scale, shape * scale * scale));
        }
        // n K/N (1 − K/N) (N − n)/(N − 1) with N = 8 and K = n = 4.
        check(moments(|| f64::from(draws.hypergeometric(4))), (2.0, 4.0 / 7.0));
    }

    #[test]
    fn weights_are_chances() {
        let mut draws = Draws::new(2, "test");
        let running = [6, 9, 10];
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            counts[draws.weighted(&running)] += 1;
        }
        for (count, share) in counts.into_iter().zip([6_000, 3_000, 1_000]) {
            assert!((i32::abs(count - share)) < 200, "{counts:?}");
        }
    }

    /// The bits themselves: a change of generator or library would show here.
    #[test]
    fn the_same_seed_draws_the_same_bits() {
        let mut draws = Draws::new(7, "bits");
        let law = Gamma { shape: 6.57, scale: 0.823 };
        let drawn = [draws.unit(), draws.normal(), draws.gamma(law), draws.weibull(2.0, 20.0)];
        let bits = [
            4_592_772_216_502_925_356,
            4_603_766_070_411_893_219,
            4_618_743_777_939_658_313,
            4_630_435_606_004_389_358,
        ];
        assert_eq!(drawn.map(f64::to_bits), bits);
    }
}
