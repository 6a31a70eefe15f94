//! How long jobs ran that have ended: what is kept of them.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use tradewind_io::submission::{Submission as Submitted, Work};
use tradewind_model::{Pool, Span, TimeMode, Times};
use tradewind_sched::predict::JobTraits;

/// A job that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PastRun {
    /// The user's place among all.
    pub(crate) user: i64,
    pub(crate) processors: u32,
    /// Its limit, as it is counted.
    pub(crate) requested: Span,
    /// The limit as work where it ran.
    pub(crate) longest: Span,
    /// The work that was predicted, used or not: the median.
    pub(crate) median: Span,
    /// The work that it used of the limit.
    pub(crate) run: Span,
    pub(crate) traits: JobTraits,
}

/// The last runs, by number in the order of their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) runs: BTreeMap<u64, PastRun>,
}

impl Lengths {
    /// Runs that are kept at least; there are never twice as many.
    const KEPT: u64 = 2_048;

    pub(in crate::live) fn add(&mut self, run: PastRun) {
        let next = self.runs.last_key_value().map_or(0, |(number, _)| number + 1);
        self.runs.insert(next, run);
        if self.runs.len() as u64 >= 2 * Lengths::KEPT {
            self.runs = self.runs.split_off(&(next + 1 - Lengths::KEPT));
        }
    }
}

/// The work of a time that is counted by `mode` in the pool.
pub(in crate::live) fn work_of(pool: &Pool, mode: TimeMode, span: Span) -> Span {
    match mode.at(pool.times) {
        Times::Work => span,
        Times::Wall => pool.performance.work_in(span),
    }
}

/// What tells a job from others of its user. Names that differ in numbers alone are one name.
pub(in crate::live) fn traits_of(submission: &Submitted) -> JobTraits {
    let name = without_numbers(&submission.name);
    JobTraits {
        account: submission.project.as_deref().map(|it| number_of([it.as_bytes()])),
        name: Some(name).filter(|it| !it.is_empty()).map(|it| number_of([it.as_bytes()])),
        script: Some(number_of_work(&submission.work)),
    }
}

/// Of long scripts, which a whole array may share, the beginning, the end and the length decide.
fn number_of_work(work: &Work) -> u64 {
    const EACH: usize = 16 << 10;
    match work {
        Work::Script { text, .. } => {
            let bytes = text.as_bytes();
            let (head, rest) = bytes.split_at(bytes.len().min(EACH));
            let tail = &rest[rest.len().saturating_sub(EACH)..];
            number_of([&bytes.len().to_le_bytes(), head, tail])
        }
        Work::Command(words) => number_of(words.iter().flat_map(|it| [it.as_bytes(), &[0]])),
    }
}

/// The first bytes of a hash, which are not all zero.
fn number_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let hash = parts.into_iter().fold(Sha256::new(), sha2::Digest::chain_update).finalize();
    hash.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte)).max(1)
}

fn without_numbers(name: &str) -> String {
    let mut short = name.replace(|it: char| it.is_ascii_digit(), "0");
    while short.contains("00") {
        short = short.replace("00", "0");
    }
    short
}
