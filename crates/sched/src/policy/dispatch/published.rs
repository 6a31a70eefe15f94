//! The loads of queues in asks, which may be old.

use tradewind_model::{Span, Time};

use super::queue::DispatchQueue;
use super::settings::{DispatchSettings, Wait};

/// A queue's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueLoad {
    /// The wait, as the ask takes it.
    pub(super) wait: Span,
    /// Processors that are occupied now.
    pub(super) occupied: i64,
}

impl QueueLoad {
    /// As of the queue's plan, which is up to date.
    pub(super) fn of(queue: &DispatchQueue, wait: Wait) -> QueueLoad {
        let wait = match wait {
            Wait::First => queue.wait(),
            Wait::Backlog => queue.backlog(),
        };
        QueueLoad { wait, occupied: queue.occupied() }
    }
}

/// What all queues published last.
#[derive(Debug, Clone, Default)]
pub(super) struct Published {
    at: Option<Time>,
    loads: Vec<QueueLoad>,
}

impl Published {
    /// A cycle begins, and plans are up to date: queues publish their loads if the last ones are as
    /// old as [`DispatchSettings::publish`] says. What this cycle has to go by; `None`: the loads of the
    /// moment.
    pub(super) fn in_cycle(
        &mut self,
        settings: &DispatchSettings,
        queues: &[DispatchQueue],
        now: Time,
    ) -> Option<&[QueueLoad]> {
        let every = settings.publish?;
        if self.at.is_none_or(|at| now - at >= every) {
            self.loads = queues.iter().map(|queue| QueueLoad::of(queue, settings.wait)).collect();
            self.at = Some(now);
        }
        Some(&self.loads)
    }
}
