//! A planning problem as a file: JSON or TOML in, JSON out.

mod groups;
mod licences;
mod nodes;
mod read;
mod requests;
mod resources;
mod shapes;
mod sites;
#[cfg(test)]
mod tests;
mod words;
mod write;

use tradewind_model::{Resources, Slot, Snapshot};

use crate::diagnostics::Diagnostics;
use crate::input::{self, Input};
use crate::kind::{self, FileKind};

pub(crate) use nodes::{NameLines, attributes};
pub(crate) use shapes::read as shapes;
pub use words::{
    COMPONENTS, component, component_name, criterion, criterion_name, measure_name, objective_name,
    quantity, quantity_scale,
};

/// A planning problem, and what its file says beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// What it is about.
    pub title: Option<String>,
    /// Where it comes from and what was assumed, in sentences.
    pub notes: Vec<String>,
    /// The problem itself, checked.
    pub snapshot: Snapshot,
    /// The owners' local tasks, if the file gave `busy` rather than `slots`; [`Snapshot::slots`]
    /// is the rest of the horizon then.
    pub busy: Option<Vec<Slot>>,
    /// By entry of `busy`, what it takes of a shared node; all of the node where there is none.
    pub busy_parts: Vec<Option<Resources>>,
}

/// Why jobs have a name that is short enough for a table.
pub(crate) const MAX_NAME: usize = 256;

/// Reads the scenario in the file `path`; `-` is standard input.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &str) -> Result<(Scenario, Diagnostics), Diagnostics> {
    parse(&input::read(path)?)
}

/// Reads a scenario and the warnings about it. The name's ending says whether it is JSON or TOML;
/// without one, what begins with `{` is JSON.
///
/// # Errors
/// All that is wrong with it, by line.
pub fn parse(input: &Input) -> Result<(Scenario, Diagnostics), Diagnostics> {
    kind::expect(FileKind::Scenario, input, read::parse(input))
}

impl Scenario {
    /// The scenario as JSON text: one line per node, slot and job, keys in the documented order,
    /// amounts exact, defaults left out. Reading it gives the same scenario.
    pub fn to_json(&self) -> String {
        write::json(self)
    }
}
