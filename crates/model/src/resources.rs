//! Cores, memory and generic resources: what a node has, and what a task takes of a node that it
//! shares with other tasks.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Grid, Node, NodeId, Price, Request};

/// Amounts of what a node consists of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Resources {
    /// Processor cores.
    pub cores: u32,
    /// Memory in KiB.
    pub memory: u64,
    /// Generic resources by name, such as `gpu`; what is absent is 0.
    pub gres: BTreeMap<String, u32>,
}

/// One dimension of [`Resources`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// Processor cores.
    Cores,
    /// Memory, in KiB.
    Memory,
    /// A generic resource.
    Gres(String),
}

/// The resources of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeResources {
    /// All that it has.
    pub all: Resources,
    /// Whether tasks may share it; if not, one task has all of it.
    pub sharing: Sharing,
}

/// How tasks get a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sharing {
    /// One task at a time, at the node's own price.
    Whole,
    /// As many as fit, each at the price of what it takes.
    Shared(Charge),
}

/// What a task pays per second for a part of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Charge {
    /// The node's price × the greatest of the shares that it takes of any resource.
    Share,
    /// The greatest of amount × price over all resources.
    Greatest(UnitPrices),
    /// The sum of amount × price over all resources.
    Sum(UnitPrices),
}

/// Prices of single units, per second.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitPrices {
    /// Of a core.
    pub core: Price,
    /// Of a GiB of memory.
    pub memory: Price,
    /// Of one of a generic resource.
    pub gres: BTreeMap<String, Price>,
}

/// What each task of a job takes, where its tasks may share nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNeeds {
    /// Of a node; at least one core.
    pub each: Resources,
    /// On which of equal nodes tasks are put.
    pub packing: Packing,
}

/// On which nodes tasks are put, among nodes on which they take as long and cost as much. It
/// decides no start, length or cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Packing {
    /// Nodes with the fewest places left are filled first, so that large parts stay free.
    #[default]
    BestFit,
    /// Nodes are filled in their order.
    FirstFit,
    /// One task at a time to the node with the most places left.
    Spread,
}

impl Packing {
    /// Every value, with its name in files.
    pub const ALL: [(Packing, &'static str); 3] = [
        (Packing::BestFit, "best-fit"),
        (Packing::FirstFit, "first-fit"),
        (Packing::Spread, "spread"),
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Packing::ALL.iter().find(|(it, _)| *it == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Cores => "cores",
            Resource::Memory => "memory",
            Resource::Gres(name) => name,
        })
    }
}

impl Resource {
    /// An amount of it for people: `12 GB` of memory, in binary units, or a number.
    pub fn show(&self, amount: u64) -> String {
        match self {
            Resource::Memory => memory_text(amount),
            _ => amount.to_string(),
        }
    }

    /// The most of it, up to `amount`, that people would ask for: memory in whole MB.
    pub(crate) fn in_whole_units(&self, amount: u64) -> u64 {
        match self {
            Resource::Memory if amount >= 1 << 10 => amount >> 10 << 10,
            _ => amount,
        }
    }
}

/// KiB for people and files, in the largest binary unit that is exact: `52 GB`, `1536 MB`.
fn memory_text(kib: u64) -> String {
    let units = [(30, "TB"), (20, "GB"), (10, "MB")];
    match units.iter().find(|(shift, _)| kib > 0 && kib.is_multiple_of(1 << shift)) {
        Some((shift, unit)) => format!("{} {unit}", kib >> shift),
        None => format!("{kib} KB"),
    }
}

impl Resources {
    /// KiB in a GiB.
    pub const GIB: u64 = 1 << 20;
    /// The most memory of a node that input may name: 1 PiB in KiB.
    pub const MAX_MEMORY: u64 = 1 << 40;
    /// The most of any other resource of a node that input may name.
    pub const MAX_COUNT: u32 = 1 << 20;

    /// How much there is of one resource.
    pub fn of(&self, resource: &Resource) -> u64 {
        match resource {
            Resource::Cores => u64::from(self.cores),
            Resource::Memory => self.memory,
            Resource::Gres(name) => u64::from(self.gres.get(name).copied().unwrap_or(0)),
        }
    }

    /// Every resource of which there is some, cores and memory first.
    pub fn kinds(&self) -> impl Iterator<Item = Resource> + '_ {
        let plain = [Resource::Cores, Resource::Memory];
        let gres = self.gres.keys().map(|name| Resource::Gres(name.clone()));
        plain.into_iter().chain(gres).filter(move |it| self.of(it) > 0)
    }

    /// The same with another amount of one resource; amounts of cores and generic resources stop
    /// at the largest number.
    pub fn with(&self, resource: &Resource, amount: u64) -> Resources {
        let count = u32::try_from(amount).unwrap_or(u32::MAX);
        let mut all = self.clone();
        match resource {
            Resource::Cores => all.cores = count,
            Resource::Memory => all.memory = amount,
            Resource::Gres(name) => {
                all.gres.insert(name.clone(), count);
            }
        }
        all
    }

    /// How many tasks that take `each` fit; all that can be counted if it takes nothing.
    pub fn places(&self, each: &Resources) -> u32 {
        let fits = |kind: Resource| self.of(&kind) / each.of(&kind);
        let least = each.kinds().map(fits).min().unwrap_or(u64::MAX);
        u32::try_from(least).unwrap_or(u32::MAX)
    }

    /// Takes `count` times `each` away; amounts stop at 0.
    pub fn take(&mut self, each: &Resources, count: u32) {
        let many = |amount: u32| amount.saturating_mul(count);
        self.cores = self.cores.saturating_sub(many(each.cores));
        self.memory = self.memory.saturating_sub(each.memory.saturating_mul(u64::from(count)));
        for (name, amount) in &mut self.gres {
            *amount = amount.saturating_sub(many(each.gres.get(name).copied().unwrap_or(0)));
        }
    }

    /// The same kinds, with nothing of any.
    pub(crate) fn emptied(&self) -> Resources {
        let gres = self.gres.keys().map(|name| (name.clone(), 0)).collect();
        Resources { cores: 0, memory: 0, gres }
    }

    /// Of each kind the smaller amount.
    pub(crate) fn lesser(&self, other: &Resources) -> Resources {
        let gres = self.gres.iter().map(|(name, amount)| {
            (name.clone(), (*amount).min(other.gres.get(name).copied().unwrap_or(0)))
        });
        Resources {
            cores: self.cores.min(other.cores),
            memory: self.memory.min(other.memory),
            gres: gres.collect(),
        }
    }

    /// Whether `other` is within these amounts.
    pub fn holds(&self, other: &Resources) -> bool {
        other.kinds().all(|kind| other.of(&kind) <= self.of(&kind))
    }
}

/// For people: `8 cores, 64 GB, 2 gpu`.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |kind: Resource| match kind {
            Resource::Memory => memory_text(self.memory),
            Resource::Cores if self.cores == 1 => "1 core".to_owned(),
            kind => format!("{} {kind}", self.of(&kind)),
        };
        f.write_str(&self.kinds().map(word).collect::<Vec<_>>().join(", "))
    }
}

impl NodeResources {
    /// How many tasks that take `each` the whole node holds at a time.
    pub fn places(&self, each: &Resources) -> u32 {
        match self.sharing {
            Sharing::Whole => self.all.places(each).min(1),
            Sharing::Shared(_) => self.all.places(each),
        }
    }

    /// What a task that takes `each` pays per second on a node of this price. Parts of a
    /// micro-credit count as one. Saturates.
    pub fn price(&self, whole: Price, each: &Resources) -> Price {
        let part = |amount: u64, all: u64, price: Price| {
            let all = i128::from(all.max(1));
            (i128::from(price.0) * i128::from(amount) + all - 1).div_euclid(all)
        };
        let of_units = |prices: &UnitPrices, kind: &Resource| {
            let amount = each.of(kind);
            match kind {
                Resource::Cores => part(amount, 1, prices.core),
                Resource::Memory => part(amount, Resources::GIB, prices.memory),
                Resource::Gres(name) => {
                    part(amount, 1, prices.gres.get(name).copied().unwrap_or_default())
                }
            }
        };
        let share = |kind: &Resource| part(each.of(kind), self.all.of(kind), whole);
        let kinds = each.kinds();
        let sum: i128 = match &self.sharing {
            Sharing::Whole => return whole,
            Sharing::Shared(Charge::Share) => kinds.map(|it| share(&it)).max().unwrap_or(0),
            Sharing::Shared(Charge::Greatest(prices)) => {
                kinds.map(|it| of_units(prices, &it)).max().unwrap_or(0)
            }
            Sharing::Shared(Charge::Sum(prices)) => kinds.map(|it| of_units(prices, &it)).sum(),
        };
        Price(i64::try_from(sum).unwrap_or(i64::MAX))
    }

    /// More than all tasks on the node together can cost per second, in micro-credits: every
    /// resource in full, and what rounding adds for each core.
    pub(crate) fn ceiling(&self, whole: Price) -> i128 {
        let kinds = 2 + self.all.gres.len() as i128;
        let rounding = i128::from(self.all.cores) * kinds;
        i128::from(whole.0.max(self.price(whole, &self.all).0)) * kinds + rounding
    }
}

impl Grid {
    /// The same grid with what its nodes have, by node; nodes without an entry have one task at
    /// a time, and none that says what it takes.
    pub fn with_resources(mut self, resources: Vec<Option<NodeResources>>) -> Grid {
        let any = resources.iter().any(Option::is_some);
        self.resources = any.then(|| resources.into());
        self
    }

    /// Whether any node says what it has.
    pub fn has_resources(&self) -> bool {
        self.resources.is_some()
    }

    /// What the node has, if it says so.
    pub fn resources(&self, id: NodeId) -> Option<&NodeResources> {
        self.resources.as_ref()?.get(id.0 as usize)?.as_ref()
    }

    /// Whether tasks may share the node.
    pub fn is_shared(&self, id: NodeId) -> bool {
        matches!(self.resources(id), Some(NodeResources { sharing: Sharing::Shared(_), .. }))
    }

    /// How many tasks of the request the empty node holds at a time, by its resources alone.
    pub fn places(&self, id: NodeId, request: &Request) -> u32 {
        match (&request.needs, self.resources(id)) {
            (None, _) => 1,
            (Some(_), None) => 0,
            (Some(needs), Some(node)) => node.places(&needs.each),
        }
    }

    /// What a task of the request pays per second on the node, where its price does not change.
    ///
    /// # Panics
    /// If the node is from another grid.
    pub fn price_for(&self, id: NodeId, request: &Request) -> Price {
        let Node { price, .. } = self.node(id);
        match (&request.needs, self.resources(id)) {
            (Some(needs), Some(node)) => node.price(*price, &needs.each),
            _ => *price,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(charge: Charge) -> NodeResources {
        let all = amounts(128, 512, 4);
        NodeResources { all, sharing: Sharing::Shared(charge) }
    }

    fn amounts(cores: u32, gib: u64, gpus: u32) -> Resources {
        let gres = [("gpu".to_owned(), gpus)].into_iter().filter(|(_, n)| *n > 0).collect();
        Resources { cores, memory: gib * Resources::GIB, gres }
    }

    #[test]
    fn the_scarcest_resource_says_how_many_tasks_fit() {
        let all = amounts(128, 512, 4);
        let places = [amounts(8, 16, 0), amounts(8, 64, 0), amounts(8, 64, 1), amounts(129, 0, 0)];
        assert_eq!(places.map(|each| all.places(&each)), [16, 8, 4, 0]);
        assert_eq!(
            all.places(&Resources { gres: [("fpga".into(), 1)].into(), ..amounts(1, 0, 0) }),
            0
        );
    }

    #[test]
    fn a_task_pays_by_the_rule_of_its_node() {
        let each = amounts(8, 64, 1);
        // An eighth of the memory and a quarter of the accelerators, of 8 credits.
        assert_eq!(node(Charge::Share).price(Price::credits(8), &each), Price::credits(2));
        let prices = UnitPrices {
            core: Price(1_000),
            memory: Price(100),
            gres: [("gpu".to_owned(), Price(50_000))].into(),
        };
        let greatest = node(Charge::Greatest(prices.clone())).price(Price(0), &each);
        let sum = node(Charge::Sum(prices)).price(Price(0), &each);
        assert_eq!((greatest, sum), (Price(50_000), Price(8_000 + 6_400 + 50_000)));
        // A part of a micro-credit counts as one.
        let tiny = Resources { memory: 1, ..amounts(1, 0, 0) };
        assert_eq!(node(Charge::Share).price(Price(1), &tiny), Price(1));
    }

    #[test]
    fn amounts_are_shown_in_exact_units() {
        let text = Resources { memory: 1_536 << 10, ..amounts(1, 0, 2) }.to_string();
        assert_eq!(text, "1 core, 1536 MB, 2 gpu");
        assert_eq!([memory_text(52 << 20), memory_text(7)], ["52 GB", "7 KB"]);
        let whole = [30_758_230, 7].map(|amount| Resource::Memory.in_whole_units(amount));
        assert_eq!(whole.map(memory_text), ["30037 MB", "7 KB"]);
    }
}
