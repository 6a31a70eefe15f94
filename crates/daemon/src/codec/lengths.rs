//! Runs that lengths are learned from: in pages.

use serde_json::Value;
use tradewind_model::Span;
use tradewind_sched::predict::JobTraits;

use super::wire::{Decode, DecodeFault, Encode};
use crate::live::state::lengths::{Lengths, PastRun};

/// A run: its number; user, processors, limit, predicted median, run; then the limit as work and
/// numbers for account, name and script, 0 where there is none. The first five stand alone where the
/// others say nothing, as before rules 3.
pub(super) type RunRow = (u64, Vec<i64>);

/// By number.
pub(super) fn runs(lengths: &Lengths) -> impl Iterator<Item = RunRow> {
    lengths.runs.iter().map(|(number, past)| {
        let PastRun { user, processors, requested, longest, median, run, traits } = *past;
        let mut numbers = vec![user, i64::from(processors), requested.0, median.0, run.0];
        if longest != requested || traits != JobTraits::default() {
            let JobTraits { account, name, script } = traits;
            numbers.push(longest.0);
            numbers.extend([account, name, script].map(|it| it.unwrap_or(0).cast_signed()));
        }
        (*number, numbers)
    })
}

/// Takes a run back in.
pub(super) fn restore(lengths: &mut Lengths, (number, numbers): RunRow) -> Result<(), DecodeFault> {
    let wrong = || DecodeFault::new("expected the five or nine numbers of a run");
    let [user, processors, requested, median, run, ref more @ ..] = numbers[..] else {
        return Err(wrong());
    };
    let [longest, account, name, script] = match *more {
        [] => [requested, 0, 0, 0],
        [longest, account, name, script] => [longest, account, name, script],
        _ => return Err(wrong()),
    };
    let processors = u32::try_from(processors).map_err(|_| wrong())?;
    let [requested, longest, median, run] = [requested, longest, median, run].map(Span);
    let [account, name, script] =
        [account, name, script].map(|it| Some(it.cast_unsigned()).filter(|it| *it > 0));
    let traits = JobTraits { account, name, script };
    let past = PastRun { user, processors, requested, longest, median, run, traits };
    lengths.runs.insert(number, past);
    Ok(())
}

impl Encode for Lengths {
    fn put(&self, out: &mut Vec<u8>) {
        runs(self).collect::<Vec<_>>().put(out);
    }

    fn is_absent(&self) -> bool {
        self.runs.is_empty()
    }
}

impl Decode for Lengths {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut lengths = Lengths::default();
        for run in Vec::<RunRow>::get(value)? {
            restore(&mut lengths, run)?;
        }
        Ok(lengths)
    }

    fn absent() -> Option<Self> {
        Some(Lengths::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_as_they_were_written_and_as_earlier_releases_wrote_them() {
        let mut lengths = Lengths::default();
        let old = vec![3, 2, 3_600, 60, 90];
        let new = vec![3, 2, 3_600, 60, 90, 7_200, 0, -5, 9];
        for (number, row) in [old.clone(), new.clone()].into_iter().enumerate() {
            restore(&mut lengths, (number as u64, row)).unwrap();
        }
        let again: Vec<RunRow> = runs(&lengths).collect();
        assert_eq!(again, [(0, old), (1, new)]);
        assert_eq!(lengths.runs[&1].traits.name, Some(u64::MAX - 4));
        assert!(restore(&mut lengths, (2, vec![1; 7])).is_err());
        assert!(restore(&mut lengths, (2, vec![1, -1, 1, 1, 1])).is_err());
    }
}
