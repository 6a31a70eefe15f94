//! Whether predictions for a user's jobs were closer than the user's own requests.

use tradewind_model::Span;

use super::spread::bin_of;

/// An error is a distance in quarters of a doubling.
const SCALE: u32 = 1_024;
/// So many runs are needed before requests are preferred.
const RUNS: u32 = 8;

/// Errors of predictions and of requests, of which each new one replaces a sixteenth.
#[derive(Debug, Default)]
pub(super) struct Trust {
    predicted: u32,
    requested: u32,
    runs: u32,
}

impl Trust {
    pub(super) fn learn(&mut self, predicted: Span, requested: Span, run: Span) {
        let error = |said: Span| bin_of(said).abs_diff(bin_of(run)) as u32 * SCALE;
        let mix = |sum: &mut u32, error: u32| *sum = *sum - *sum / 16 + error / 16;
        mix(&mut self.predicted, error(predicted));
        mix(&mut self.requested, error(requested));
        self.runs = (self.runs + 1).min(RUNS);
    }

    pub(super) fn prefers_predictions(&self) -> bool {
        // A request is never too short and most are far too long: close calls favour predictions.
        self.runs < RUNS || self.predicted <= 2 * self.requested
    }
}
