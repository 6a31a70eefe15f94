//! What `sacct` of Slurm prints becomes a log and a grid: a centre's own history, with names
//! replaced by numbers. `docs/reference/sacct.md` has the columns and the rules.
//!
//! Rows are read one by one and kept in little memory, so that years of a large centre fit.

mod columns;
mod log;
mod machine;
mod names;
mod nodes;
mod read;
mod rows;
mod state;
mod times;
mod values;

use std::collections::BTreeSet;

use jiff::tz::TimeZone;

pub use log::KINDS as NAME_KINDS;
pub use read::SacctReader;

/// What a processor of the log and a node of the grid are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorUnit {
    /// Slurm's CPUs: jobs share nodes.
    Cpus,
    /// Whole nodes.
    Nodes,
}

impl ProcessorUnit {
    fn words(self) -> &'static str {
        match self {
            ProcessorUnit::Cpus => "Slurm's CPUs",
            ProcessorUnit::Nodes => "whole nodes",
        }
    }
}

/// When a job arrives in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// When it could have started (`Eligible`), or at its submission where this is unknown.
    Eligible,
    /// At its submission.
    Submit,
}

/// Whether names are kept beside their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepNames {
    /// For a list of them.
    Yes,
    /// They are only distinguished.
    No,
}

/// How rows are read.
#[derive(Debug, Clone)]
pub struct SacctOptions {
    /// Of times without an offset.
    pub zone: TimeZone,
    /// `None`: CPUs if the rows have them, else nodes.
    pub unit: Option<ProcessorUnit>,
    /// When a job arrives.
    pub arrival: Arrival,
    /// Only jobs of these partitions; empty: of all.
    pub partitions: BTreeSet<String>,
    /// Whether names of jobs are kept, too.
    pub names: KeepNames,
}

impl SacctOptions {
    /// Times in `zone`, and everything else as it is by default.
    pub fn new(zone: TimeZone) -> SacctOptions {
        SacctOptions {
            zone,
            unit: None,
            arrival: Arrival::Eligible,
            partitions: BTreeSet::new(),
            names: KeepNames::No,
        }
    }
}

/// What was read, and what was left out or assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Rows behind the header.
    pub rows: usize,
    /// Rows of job steps, left out.
    pub steps: usize,
    /// Rows of other partitions than those that were asked for, left out.
    pub elsewhere: usize,
    /// Rows without a time of submission, left out.
    pub without_submit: usize,
    /// Repeated rows of one run of a job, left out.
    pub repeated: usize,
    /// Jobs in the log.
    pub jobs: usize,
    /// Of these, jobs that never started.
    pub never_started: usize,
    /// Jobs that still ran.
    pub running: usize,
    /// Runs that ended by a requeue or preemption, each a job of the log.
    pub requeued: usize,
    /// Components of heterogeneous jobs, each a job of the log.
    pub components: usize,
    /// Jobs without a time limit.
    pub unlimited: usize,
    /// Jobs with the limit of their partition, which rows do not say.
    pub of_partition: usize,
    /// Jobs that started before they were eligible or submitted, by the clocks of the rows.
    pub early: usize,
    /// Jobs that ran, without a number of processors.
    pub without_processors: usize,
    /// Rows whose list of nodes could not be read.
    pub odd_nodes: usize,
}

/// A centre's history: jobs in order, and the machine that they ran on.
#[derive(Debug)]
pub struct History {
    counts: Counts,
    unit: ProcessorUnit,
    arrival: Arrival,
    /// By IANA name, or `UTC`.
    zone: String,
    /// The columns of the file that were used.
    columns: Vec<String>,
    rows: rows::Rows,
    names: read::AllNames,
    machine: machine::PartitionPools,
}

impl History {
    /// What was read, left out and assumed.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How many pools the machine has.
    pub fn pools(&self) -> usize {
        self.machine.pools.len()
    }

    /// Processors (or nodes) of all pools.
    pub fn processors(&self) -> u32 {
        self.machine.processors()
    }
}
