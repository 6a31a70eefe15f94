//! Runs that lengths are learned from: in pages.

use serde_json::Value;
use tradewind_model::Span;

use super::wire::{Decode, DecodeFault, Encode};
use crate::live::lengths::{Lengths, PastRun};

/// A run: its number; user, processors, limit, predicted median, run.
pub(super) type RunRow = (u64, Vec<i64>);

/// By number.
pub(super) fn runs(lengths: &Lengths) -> impl Iterator<Item = RunRow> {
    lengths.runs.iter().map(|(number, past)| {
        let PastRun { user, processors, requested, median, run } = *past;
        (*number, vec![user, i64::from(processors), requested.0, median.0, run.0])
    })
}

/// Takes a run back in.
pub(super) fn restore(lengths: &mut Lengths, (number, numbers): RunRow) -> Result<(), DecodeFault> {
    let wrong = || DecodeFault::new("expected the five numbers of a run");
    let [user, processors, requested, median, run] = numbers[..] else { return Err(wrong()) };
    let processors = u32::try_from(processors).map_err(|_| wrong())?;
    let [requested, median, run] = [requested, median, run].map(Span);
    lengths.runs.insert(number, PastRun { user, processors, requested, median, run });
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
