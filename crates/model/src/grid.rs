//! Sites, their nodes, and what a node offers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Licence, Links, NodeResources, Performance, Power, Price, Rates, Times};

/// Index of a node in its [`Grid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// Index of a site in its [`Grid`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);

/// A cluster under one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Unique in the grid.
    pub name: String,
}

/// The unit that a task occupies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Unique in the grid.
    pub name: String,
    /// The cluster that it belongs to.
    pub site: SiteId,
    /// The machine that it is a part of, when several nodes are units of one machine.
    pub host: Option<String>,
    /// Relative to the reference node.
    pub performance: Performance,
    /// Per second of use.
    pub price: Price,
    /// What else it offers.
    pub attributes: Attributes,
    /// How its owner counts the times of jobs that leave it open.
    pub times: Times,
}

/// Named properties: what a node has, or what a request asks for.
pub type Attributes = BTreeMap<String, Attribute>;

/// One property of a node, or the demand for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// Present or absent.
    Flag(bool),
    /// A quantity, in thousandths; a demand for one is a lower bound.
    Number(i64),
    /// A name; a demand for one is met by the same name only.
    Text(String),
    /// As a demand: one of these names. A node has one name, and never this.
    OneOf(Vec<String>),
}

impl Attribute {
    /// Whether a node that has `self` (or lacks the attribute: `None`) meets the demand `wanted`.
    pub fn meets(have: Option<&Attribute>, wanted: &Attribute) -> bool {
        match (have, wanted) {
            (None, Attribute::Flag(false)) => true,
            (None, _) => false,
            (Some(Attribute::Number(have)), Attribute::Number(min)) => have >= min,
            (Some(Attribute::Text(have)), Attribute::OneOf(names)) => names.contains(have),
            (Some(have), wanted) => have == wanted,
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Flag(flag) => write!(f, "{flag}"),
            Attribute::Number(n) => {
                let sign = if *n < 0 { "-" } else { "" };
                let (whole, milli) = (n.unsigned_abs() / 1_000, n.unsigned_abs() % 1_000);
                match milli {
                    0 => write!(f, "{sign}{whole}"),
                    _ => f.write_str(format!("{sign}{whole}.{milli:03}").trim_end_matches('0')),
                }
            }
            Attribute::Text(text) => f.write_str(text),
            Attribute::OneOf(names) => f.write_str(&names.join("|")),
        }
    }
}

/// All nodes that a plan may use. Node order is the last tie-break of every search, so it is
/// part of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    sites: Vec<Site>,
    nodes: Vec<Node>,
    pub(crate) power: Option<Arc<Power>>,
    pub(crate) rates: Option<Arc<Rates>>,
    /// By node, where any says what it has.
    pub(crate) resources: Option<Arc<[Option<NodeResources>]>>,
    pub(crate) licences: Option<Arc<[Licence]>>,
    links: Option<Arc<Links>>,
}

/// Why a list of nodes is not a grid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// Two nodes or two sites share a name.
    #[error("the name `{0}` is used twice")]
    DuplicateName(String),
    /// A node names a site that is not there.
    #[error("node `{0}` belongs to no listed site")]
    UnknownSite(String),
    /// A price below zero.
    #[error("node `{0}` has a negative price")]
    NegativePrice(String),
    /// More nodes than a [`NodeId`] can number.
    #[error("more than {} nodes", Grid::MAX_NODES)]
    TooMany,
}

impl Grid {
    /// The most nodes in one grid.
    pub const MAX_NODES: usize = 1 << 24;

    /// A grid of `nodes` on `sites`.
    ///
    /// # Errors
    /// The first [`GridError`] found.
    pub fn new(sites: Vec<Site>, nodes: Vec<Node>) -> Result<Grid, GridError> {
        if nodes.len() > Self::MAX_NODES {
            return Err(GridError::TooMany);
        }
        no_duplicates(sites.iter().map(|site| site.name.as_str()))?;
        no_duplicates(nodes.iter().map(|node| node.name.as_str()))?;
        for node in &nodes {
            if node.site.0 as usize >= sites.len() {
                return Err(GridError::UnknownSite(node.name.clone()));
            }
            if node.price.0 < 0 {
                return Err(GridError::NegativePrice(node.name.clone()));
            }
        }
        let (power, rates, resources) = (None, None, None);
        Ok(Grid { sites, nodes, power, rates, resources, licences: None, links: None })
    }

    /// The same grid, with these networks between its sites and other places.
    #[must_use]
    pub fn with_links(mut self, links: Links) -> Grid {
        self.links = (!links.is_empty()).then(|| Arc::new(links));
        self
    }

    /// The networks between sites and other places, if any is known.
    pub fn links(&self) -> Option<&Links> {
        self.links.as_deref()
    }

    /// All sites, by id.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// All nodes, by id.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this id.
    ///
    /// # Panics
    /// If the id is from another grid.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The site of the node with this id.
    ///
    /// # Panics
    /// If the id is from another grid.
    pub fn site_of(&self, id: NodeId) -> &Site {
        &self.sites[self.node(id).site.0 as usize]
    }

    /// Ids and nodes, in order.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }
}

fn no_duplicates<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), GridError> {
    let mut sorted: Vec<&str> = names.collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(GridError::DuplicateName(pair[0].to_owned())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_met_by_equal_text_and_enough_of_a_number() {
        let text = |s: &str| Attribute::Text(s.into());
        assert!(Attribute::meets(Some(&Attribute::Number(4_000)), &Attribute::Number(2_500)));
        assert!(!Attribute::meets(Some(&Attribute::Number(2_000)), &Attribute::Number(2_500)));
        assert!(Attribute::meets(Some(&text("x86")), &text("x86")));
        assert!(!Attribute::meets(Some(&text("arm")), &text("x86")));
        assert!(!Attribute::meets(None, &text("x86")));
        let either = Attribute::OneOf(vec!["arm".into(), "x86".into()]);
        assert!(Attribute::meets(Some(&text("x86")), &either));
        assert!(!Attribute::meets(Some(&text("mips")), &either));
        assert!(!Attribute::meets(None, &either));
        assert!(Attribute::meets(None, &Attribute::Flag(false)));
    }
}
