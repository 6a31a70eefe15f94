//! What an experiment counts: sums from which means and their intervals follow, no matter who added
//! them up in how many parts.

use std::collections::BTreeMap;
use std::fmt;

use tradewind_sim::replications::student_t;

/// A mean, or what was made of means, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value itself.
    pub mean: f64,
    /// The interval's lower bound.
    pub low: f64,
    /// The interval's upper bound.
    pub high: f64,
    /// Number of independent observations.
    pub count: u64,
}

impl Estimate {
    /// What is known without doubt, such as the result of one deterministic run.
    pub fn exact(value: f64) -> Estimate {
        Estimate { mean: value, low: value, high: value, count: 1 }
    }

    /// What nothing is known of: there were no observations.
    pub fn none() -> Estimate {
        let (mean, low, high) = (f64::NAN, f64::NEG_INFINITY, f64::INFINITY);
        Estimate { mean, low, high, count: 0 }
    }

    fn around(mean: f64, half_width: f64, count: u64) -> Estimate {
        Estimate { mean, low: mean - half_width, high: mean + half_width, count }
    }

    /// Half the interval's width.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// The estimate of a monotone function of it, such as a percentage.
    #[must_use]
    pub fn map(self, function: impl Fn(f64) -> f64) -> Estimate {
        let (one, other) = (function(self.low), function(self.high));
        let mean = function(self.mean);
        Estimate { mean, low: one.min(other), high: one.max(other), count: self.count }
    }
}

/// Observations of one quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series {
    /// Number of values.
    pub count: u64,
    /// Sum of x.
    pub sum: f64,
    /// Sum of x².
    pub squares: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Default for Series {
    fn default() -> Series {
        Series { count: 0, sum: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Series {
    fn merge(&mut self, other: &Series) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The mean with Student's interval. Single observations say nothing of their spread: their
    /// interval has no end. O(1).
    pub fn mean(&self) -> Estimate {
        if self.count == 0 {
            return Estimate::none();
        }
        let n = self.count as f64;
        let mean = self.sum / n;
        let variance = (self.squares / n - mean * mean).max(0.0);
        Estimate::around(mean, half_width(variance, self.count), self.count)
    }

    /// The sum over all observations, as if there were as many again.
    pub fn total(&self) -> Estimate {
        self.mean().map(|mean| mean * self.count as f64)
    }
}

/// Observations of two quantities at once, for the ratio of their sums.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pairs {
    /// Number of pairs.
    pub count: u64,
    /// Sum of x.
    pub x: f64,
    /// Sum of y.
    pub y: f64,
    /// Sum of x².
    pub xx: f64,
    /// Sum of y².
    pub yy: f64,
    /// Sum of xy.
    pub xy: f64,
}

impl Pairs {
    fn merge(&mut self, other: &Pairs) {
        self.count += other.count;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.yy += other.yy;
        self.xy += other.xy;
    }

    /// Σ x / Σ y, with the interval that the spread of x − ratio · y gives (the delta method).
    pub fn ratio(&self) -> Estimate {
        if self.count == 0 || self.y == 0.0 {
            return Estimate::none();
        }
        let n = self.count as f64;
        let ratio = self.x / self.y;
        // The residuals' mean is 0 by the choice of the ratio.
        let residuals = (self.xx - 2.0 * ratio * self.xy + ratio * ratio * self.yy).max(0.0) / n;
        let half = half_width(residuals, self.count) / (self.y / n).abs();
        Estimate::around(ratio, half, self.count)
    }

    /// The means of x and of y, each by itself.
    pub fn means(&self) -> [Estimate; 2] {
        [(self.x, self.xx), (self.y, self.yy)].map(|(sum, squares)| {
            Series { count: self.count, sum, squares, min: f64::NAN, max: f64::NAN }.mean()
        })
    }

    /// The mean of x − y.
    pub fn difference(&self) -> Estimate {
        if self.count == 0 {
            return Estimate::none();
        }
        let n = self.count as f64;
        let mean = (self.x - self.y) / n;
        let variance = ((self.xx - 2.0 * self.xy + self.yy) / n - mean * mean).max(0.0);
        Estimate::around(mean, half_width(variance, self.count), self.count)
    }
}

/// t · s / √n for a mean of squares of `variance` about the mean.
fn half_width(variance: f64, count: u64) -> f64 {
    match count {
        0 | 1 => f64::INFINITY,
        _ => student_t(count as f64 - 1.0) * (variance / (count as f64 - 1.0)).sqrt(),
    }
}

/// Everything that an experiment, or a part of it, counted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    series: BTreeMap<String, Series>,
    pairs: BTreeMap<String, Pairs>,
    points: BTreeMap<String, Vec<(f64, f64)>>,
}

impl Tally {
    /// Counts one observation of `name`. What is not finite is left out.
    pub fn add(&mut self, name: &str, x: f64) {
        if x.is_finite() {
            let one = Series { count: 1, sum: x, squares: x * x, min: x, max: x };
            entry(&mut self.series, name).merge(&one);
        }
    }

    /// Counts whether something holds, as 1 or 0.
    pub fn add_if(&mut self, name: &str, holds: bool) {
        self.add(name, f64::from(u8::from(holds)));
    }

    /// Counts two quantities that were observed together.
    pub fn add_pair(&mut self, name: &str, x: f64, y: f64) {
        if x.is_finite() && y.is_finite() {
            let one = Pairs { count: 1, x, y, xx: x * x, yy: y * y, xy: x * y };
            entry(&mut self.pairs, name).merge(&one);
        }
    }

    /// Keeps a point of a figure.
    pub fn add_point(&mut self, name: &str, x: f64, y: f64) {
        entry(&mut self.points, name).push((x, y));
    }

    /// The observations of `name`; none if nothing was counted.
    pub fn series(&self, name: &str) -> Series {
        self.series.get(name).copied().unwrap_or_default()
    }

    /// A quantity that nothing is random about; not a number if it was not counted.
    pub fn exact(&self, name: &str) -> Estimate {
        match self.series.get(name) {
            Some(series) => Estimate::exact(series.sum / series.count as f64),
            None => Estimate::none(),
        }
    }

    /// The mean of `name`.
    pub fn mean(&self, name: &str) -> Estimate {
        self.series(name).mean()
    }

    /// The paired observations of `name`; none if nothing was counted.
    pub fn pairs(&self, name: &str) -> Pairs {
        self.pairs.get(name).copied().unwrap_or_default()
    }

    /// The points of `name`, in the order of parts.
    pub fn points(&self, name: &str) -> &[(f64, f64)] {
        self.points.get(name).map_or(&[], Vec::as_slice)
    }

    /// Adds what the next part counted. Parts are merged in their order, so the bits do not
    /// depend on who ran them.
    pub fn merge(&mut self, next: &Tally) {
        for (name, series) in &next.series {
            entry(&mut self.series, name).merge(series);
        }
        for (name, pairs) in &next.pairs {
            entry(&mut self.pairs, name).merge(pairs);
        }
        for (name, points) in &next.points {
            entry(&mut self.points, name).extend(points);
        }
    }

    /// As text, a line each, from which [`Tally::parse`] makes the same bits again.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, s) in &self.series {
            let Series { count, sum, squares, min, max } = s;
            text.push_str(&format!("series\t{name}\t{count}\t{sum}\t{squares}\t{min}\t{max}\n"));
        }
        for (name, p) in &self.pairs {
            let Pairs { count, x, y, xx, yy, xy } = p;
            text.push_str(&format!("pairs\t{name}\t{count}\t{x}\t{y}\t{xx}\t{yy}\t{xy}\n"));
        }
        for (name, points) in &self.points {
            text.push_str(&format!("points\t{name}"));
            points.iter().for_each(|(x, y)| text.push_str(&format!("\t{x}\t{y}")));
            text.push('\n');
        }
        text
    }

    /// What [`Tally::text`] wrote.
    ///
    /// # Errors
    /// The first line that is none of it.
    pub fn parse(text: &str) -> Result<Tally, TallyError> {
        let mut tally = Tally::default();
        for (at, line) in text.lines().enumerate() {
            tally.parse_line(line).ok_or(TallyError { line: at + 1 })?;
        }
        Ok(tally)
    }

    fn parse_line(&mut self, line: &str) -> Option<()> {
        let mut cells = line.split('\t');
        let (kind, name) = (cells.next()?, cells.next()?.to_owned());
        let mut counts = cells.clone();
        let count = counts.next().and_then(|count| count.parse().ok());
        let numbers: Option<Vec<f64>> = cells.map(|cell| cell.parse().ok()).collect();
        match (kind, numbers?.as_slice()) {
            ("series", &[_, sum, squares, min, max]) => {
                self.series.insert(name, Series { count: count?, sum, squares, min, max });
            }
            ("pairs", &[_, x, y, xx, yy, xy]) => {
                self.pairs.insert(name, Pairs { count: count?, x, y, xx, yy, xy });
            }
            ("points", coordinates) if coordinates.len().is_multiple_of(2) => {
                let points = coordinates.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
                self.points.insert(name, points);
            }
            _ => return None,
        }
        Some(())
    }
}

/// A text that is no tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TallyError {
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for TallyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is no line of a tally", self.line)
    }
}

impl std::error::Error for TallyError {}

/// The entry of `name`, made if it is not there; names are cloned once.
fn entry<'a, T: Default>(map: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), T::default());
    }
    map.entry(name.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tradewind_sim::replications;

    use super::*;

    fn of(values: &[f64]) -> Tally {
        let mut tally = Tally::default();
        for (at, &x) in values.iter().enumerate() {
            tally.add("x", x);
            tally.add_pair("pair", x, 1.0 + at as f64);
            tally.add_point("points", at as f64, x);
        }
        tally
    }

    proptest! {
        #[test]
        fn means_are_those_of_replications(values in prop::collection::vec(-1e3..1e3, 2..50usize)) {
            let (ours, theirs) = (of(&values).mean("x"), replications::estimate(&values).unwrap());
            prop_assert!((ours.mean - theirs.mean).abs() < 1e-6);
            prop_assert!((ours.half_width() - theirs.half_width.unwrap()).abs() < 1e-6);
        }

        #[test]
        fn text_gives_the_same_bits(values in prop::collection::vec(any::<f64>(), 0..20)) {
            let tally = of(&values);
            let finite = values.iter().all(|x| x.is_finite());
            prop_assume!(finite);
            prop_assert_eq!(Tally::parse(&tally.text()), Ok(tally));
        }

        #[test]
        fn parts_count_as_the_whole(values in prop::collection::vec(0..1_000i32, 1..60), cut in 0..60usize) {
            // Whole numbers: sums of floats depend on the order, these do not.
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let cut = cut.min(values.len());
            let mut merged = Tally::default();
            for (from, x) in values[..cut].iter().chain(&values[cut..]).enumerate() {
                let mut one = Tally::default();
                one.add("x", *x);
                one.add_pair("pair", *x, 1.0 + from as f64);
                one.add_point("points", from as f64, *x);
                merged.merge(&one);
            }
            prop_assert_eq!(merged, of(&values));
        }
    }

    #[test]
    fn a_ratio_by_hand() {
        let mut tally = Tally::default();
        for (x, y) in [(2.0, 1.0), (4.0, 2.0), (6.0, 3.0)] {
            tally.add_pair("pair", x, y);
        }
        // Exactly proportional: no doubt is left.
        let ratio = tally.pairs("pair").ratio();
        assert_eq!((ratio.mean, ratio.low, ratio.high), (2.0, 2.0, 2.0));
        assert_eq!(tally.pairs("pair").difference().mean, 2.0);
        tally.add_pair("pair", 0.0, 2.0);
        // 12 / 8; residuals 0.5, 1, 1.5, −3: s² = 12.5 / 3; t(3) = 3.182.
        let ratio = tally.pairs("pair").ratio();
        assert_eq!(ratio.mean, 1.5);
        assert!((ratio.half_width() - 3.182 * (12.5f64 / 3.0 / 4.0).sqrt() / 2.0).abs() < 1e-3);
    }

    #[test]
    fn nothing_is_known_of_nothing() {
        assert!(Tally::default().mean("x").mean.is_nan());
        assert_eq!(of(&[1.0]).mean("x").high, f64::INFINITY);
        assert!(Tally::parse("series\tx\t1\t2\n").is_err());
    }
}
