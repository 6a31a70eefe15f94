//! How large the market's nodes of a pool are.

use crate::site::resources::megabytes;

/// What one of the market's nodes of a pool is, as its site counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A whole node: the processors of the smallest one, at least 1.
    Node(u32),
    /// So many processors of a node, at least 1.
    Cores(u32),
    /// So many processors of a node with so much of its memory.
    Shared {
        /// What they are.
        unit: UnitSize,
        /// How many of them the largest node has.
        most: u32,
    },
    /// An accelerator of a node.
    Gpu,
    /// A slot of one machine of so many processors: a job's slots are one place, where its script
    /// runs once.
    Slot(u32),
}

impl Size {
    /// Processors of a whole node, if it is one.
    pub fn node(self) -> Option<u32> {
        match self {
            Size::Node(processors) => Some(processors),
            Size::Cores(_) | Size::Shared { .. } | Size::Gpu | Size::Slot(_) => None,
        }
    }
}

/// Processors of a task, by the options for managers; at least 1.
pub fn processors_of_task(options: &[(String, String)]) -> u32 {
    let found = options.iter().find(|(name, _)| name == "cpus-per-task");
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or(1).max(1)
}

/// Processors with memory of a shared node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitSize {
    /// Processors, at least 1.
    pub cores: u32,
    /// Megabytes, at least 1.
    pub memory: u64,
}

impl UnitSize {
    /// How many of them are in this.
    pub fn within(self, cpus: u32, memory: u64) -> u32 {
        let by_memory = memory / self.memory.max(1);
        (cpus / self.cores.max(1)).min(u32::try_from(by_memory).unwrap_or(u32::MAX))
    }

    /// How many of them have this, rounded up.
    pub fn covering(self, cpus: u32, memory: u64) -> u32 {
        let by_memory = memory.div_ceil(self.memory.max(1));
        cpus.div_ceil(self.cores.max(1)).max(u32::try_from(by_memory).unwrap_or(u32::MAX))
    }

    /// How many of them a task takes, by the options for managers: as many as have its processors and
    /// its memory. `--mem`, which is of a node, counts for each task, as if it were alone on its node.
    pub fn of_task(self, options: &[(String, String)]) -> u32 {
        let processors = processors_of_task(options);
        let of = |name: &str| {
            let found = options.iter().find(|(option, _)| option == name);
            found.map_or(0, |(_, value)| megabytes(value))
        };
        let memory = of("mem").max(of("mem-per-cpu").saturating_mul(u64::from(processors)));
        self.covering(processors, memory)
    }
}
