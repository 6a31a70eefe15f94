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
        /// Processors, at least 1.
        cores: u32,
        /// Megabytes, at least 1.
        memory: u64,
        /// How many of them the largest node has.
        most: u32,
    },
    /// An accelerator of a node.
    Gpu,
}

impl Size {
    /// Processors of a whole node, if it is one.
    pub fn node(self) -> Option<u32> {
        match self {
            Size::Node(processors) => Some(processors),
            Size::Cores(_) | Size::Shared { .. } | Size::Gpu => None,
        }
    }
}

/// Processors of a task, by the options for managers; at least 1.
pub fn processors_of_task(options: &[(String, String)]) -> u32 {
    let found = options.iter().find(|(name, _)| name == "cpus-per-task");
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or(1).max(1)
}

/// How many parts of a node, of so many processors and megabytes each, a task takes: as many as have
/// its processors and its memory. `--mem`, which is of a node, counts for each task, as if it were
/// alone on its node.
pub fn units_of_task(cores: u32, memory: u64, options: &[(String, String)]) -> u32 {
    let processors = processors_of_task(options);
    let of = |name: &str| {
        let found = options.iter().find(|(option, _)| option == name);
        found.map_or(0, |(_, value)| megabytes(value))
    };
    let wanted = of("mem").max(of("mem-per-cpu").saturating_mul(u64::from(processors)));
    let by_memory = u32::try_from(wanted.div_ceil(memory.max(1))).unwrap_or(u32::MAX);
    processors.div_ceil(cores.max(1)).max(by_memory)
}
