//! Agents that decide in passes of one pool: which job overtakes the head, or which one is the head.

use std::sync::Arc;

use tradewind_model::Time;

use super::cluster::Cluster;
use super::features::{log, many, share};
use super::line::{Line, LineJob, PARTS};
use super::{Episode, FEATURES, Turn};
use crate::workload::Workload;
use crate::{Estimate, Run, SimError};

/// Which choice the agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueChoice {
    /// Which job overtakes the head, or none.
    Backfill,
    /// Which job is the head.
    Head,
}

/// An episode whose agent decides in passes.
pub(super) struct QueueEpisode {
    cluster: Cluster,
    line: Line,
    choice: QueueChoice,
    /// The most jobs that are offered at once.
    size: usize,
    /// Places in the line of jobs that are offered.
    offered: Vec<usize>,
    /// Places before this one were looked at in this pass.
    looked: usize,
    /// What the head holds in this pass.
    reservation: Option<(Time, u32)>,
}

impl QueueEpisode {
    pub(super) fn new(
        workload: Arc<Workload>,
        estimate: Estimate,
        choice: QueueChoice,
        size: usize,
    ) -> QueueEpisode {
        let cluster = Cluster::new(workload, estimate);
        let line = Line::new(&cluster);
        let (offered, reservation) = (Vec::with_capacity(size), None);
        QueueEpisode { cluster, line, choice, size, offered, looked: 0, reservation }
    }

    /// Opens passes until one has a choice.
    fn go_on(&mut self) -> Turn {
        while let Some(at) = self.line.next_pass(&self.cluster) {
            self.line.open(at, &mut self.cluster);
            self.reservation = None;
            if self.offers() {
                return Turn::Choice;
            }
            self.close();
        }
        self.offered.clear();
        Turn::Over
    }

    fn close(&mut self) {
        self.line.close(self.reservation.map(|held| held.0), &mut self.cluster);
    }

    /// Starts what needs no choice; whether there is one now.
    fn offers(&mut self) -> bool {
        match self.choice {
            QueueChoice::Backfill => self.offers_overtaking(),
            QueueChoice::Head => self.offers_heads(),
        }
    }

    fn offers_overtaking(&mut self) -> bool {
        let reservation = match self.reservation {
            Some(reservation) => reservation,
            None => {
                while self.line.waiting.first().is_some_and(|it| it.processors <= self.line.free) {
                    self.line.start(0);
                }
                self.offered.clear();
                self.looked = 1;
                let Some(head) = self.line.waiting.first().filter(|_| self.line.free > 0) else {
                    return false;
                };
                if self.line.waiting.len() == 1 {
                    return false;
                }
                *self.reservation.insert(self.line.reservation(head.processors))
            }
        };
        let line = &self.line;
        self.offered.retain(|at| line.overtakes(&line.waiting[*at], reservation));
        while self.offered.len() < self.size && self.looked < line.waiting.len() {
            if line.overtakes(&line.waiting[self.looked], reservation) {
                self.offered.push(self.looked);
            }
            self.looked += 1;
        }
        !self.offered.is_empty()
    }

    fn offers_heads(&mut self) -> bool {
        self.offered.clear();
        let line = &mut self.line;
        if !line.waiting.iter().any(|waiting| waiting.processors <= line.free) {
            return false;
        }
        if line.waiting.len() == 1 {
            line.start(0);
            return false;
        }
        self.offered.extend(0..line.waiting.len().min(self.size));
        true
    }

    /// Starts the chosen job, if there is one; whether this pass may have another choice.
    fn take(&mut self, action: usize) -> bool {
        match self.choice {
            QueueChoice::Backfill => {
                let (Some(&at), Some((shadow, spare))) =
                    (self.offered.get(action), self.reservation)
                else {
                    return false;
                };
                let started = self.line.start(at);
                if self.line.now + started.estimate > shadow {
                    self.reservation = Some((shadow, spare - started.processors));
                }
                self.offered.remove(action);
                self.offered[action..].iter_mut().for_each(|later| *later -= 1);
                self.looked -= 1;
                true
            }
            QueueChoice::Head => {
                let at = if action < self.offered.len() { action } else { 0 };
                if self.line.waiting[at].processors <= self.line.free {
                    self.line.start(at);
                    return true;
                }
                self.backfill(at);
                false
            }
        }
    }

    /// All that do not delay the head start, in the order of submission.
    fn backfill(&mut self, head: usize) {
        let width = self.line.waiting[head].processors;
        let (head, mut held) = (self.line.waiting[head].job, self.line.reservation(width));
        let mut at = 0;
        while at < self.line.waiting.len() && self.line.free > 0 {
            let waiting = self.line.waiting[at];
            if waiting.job == head || !self.line.overtakes(&waiting, held) {
                at += 1;
                continue;
            }
            self.line.start(at);
            if self.line.now + waiting.estimate > held.0 {
                held.1 -= waiting.processors;
            }
        }
        self.reservation = Some(held);
    }

    fn job(&self, waiting: &LineJob) -> [f32; 4] {
        let width = share(waiting.processors, self.line.nodes);
        [1.0, width, log(waiting.estimate), log(self.line.now - waiting.since)]
    }
}

impl Episode for QueueEpisode {
    fn begin(&mut self) -> Result<Turn, SimError> {
        let turn = self.go_on();
        self.line.take_gained();
        Ok(turn)
    }

    fn act(&mut self, action: usize) -> Result<Turn, SimError> {
        if self.take(action) && self.offers() {
            return Ok(Turn::Choice);
        }
        self.close();
        Ok(self.go_on())
    }

    fn observe(&self, out: &mut [f32]) {
        out.fill(0.0);
        let line = &self.line;
        let (rows, _) = out.as_chunks_mut::<FEATURES>();
        let held = self.reservation.unwrap_or((line.now, 0));
        for (row, at) in rows.iter_mut().zip(&self.offered) {
            let waiting = &line.waiting[*at];
            row[..4].copy_from_slice(&self.job(waiting));
            row[4] = match self.choice {
                QueueChoice::Backfill => f32::from(line.now + waiting.estimate <= held.0),
                QueueChoice::Head => f32::from(waiting.processors <= line.free),
            };
            row[5] = share(waiting.processors, line.free);
        }
        if self.offered.is_empty() {
            return;
        }
        let mut last = rows.iter_mut().rev();
        if let Some(row) = last.next() {
            let queue = many(line.waiting.len(), self.size);
            let offered = share(self.offered.len() as u32, self.size as u32);
            row[..3].copy_from_slice(&[share(line.free, line.nodes), queue, offered]);
            if self.choice == QueueChoice::Head {
                row[3] = line.next_end().map_or(0.0, |end| log(end - line.now));
            }
        }
        if let (QueueChoice::Backfill, Some(row)) = (self.choice, last.next()) {
            row[..4].copy_from_slice(&self.job(&line.waiting[0]));
            row[4..].copy_from_slice(&[log(held.0 - line.now), share(held.1, line.nodes)]);
        }
    }

    fn mask(&self, out: &mut [bool]) {
        out.fill(false);
        out[..self.offered.len()].fill(true);
        match self.choice {
            QueueChoice::Backfill => out[self.size] = true,
            QueueChoice::Head => out[0] = true,
        }
    }

    fn reward(&mut self) -> f64 {
        -(self.line.take_gained() as f64 / PARTS as f64) / self.cluster.jobs().max(1) as f64
    }

    fn finish(self: Box<Self>) -> Result<Run, SimError> {
        Ok(self.cluster.finish())
    }
}
