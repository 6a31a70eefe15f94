//! How large the market's nodes of a pool are.

/// What one of the market's nodes of a pool is, as its site counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A whole node: the processors of the smallest one, at least 1.
    Node(u32),
    /// So many processors of a node, at least 1.
    Cores(u32),
    /// An accelerator of a node.
    Gpu,
}

impl Size {
    /// Processors of a whole node, if it is one.
    pub fn node(self) -> Option<u32> {
        match self {
            Size::Node(processors) => Some(processors),
            Size::Cores(_) | Size::Gpu => None,
        }
    }
}
