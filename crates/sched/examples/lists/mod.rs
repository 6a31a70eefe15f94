//! Unequal nodes with long slot lists, and the processor time used: what the examples share.

use std::error::Error;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tradewind_model::{
    Attributes, Grid, Node, NodeId, Performance, Price, Site, SiteId, Slot, SlotList, Time, Times,
};

/// Nodes of one site, each of another speed and price.
pub(crate) fn grid(nodes: u32) -> Result<Grid, Box<dyn Error>> {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let node = |at: u32| Node {
        name: format!("n{at}"),
        site: SiteId(0),
        host: None,
        performance: Performance::from_thousandths(random.random_range(1_000..10_000u32))
            .unwrap_or(Performance::REFERENCE),
        price: Price(random.random_range(1_000_000..9_000_000i64)),
        attributes: Attributes::new(),
        times: Times::Work,
    };
    Ok(Grid::new(vec![Site { name: "site".to_owned() }], (0..nodes).map(node).collect())?)
}

/// As many slots on each node, with gaps between them. Of 100 nodes, `busy` are free only in some
/// five hours.
pub(crate) fn slots(
    random: &mut Pcg64Mcg,
    (nodes, per_node): (u32, u32),
    busy: u32,
) -> Result<SlotList, Box<dyn Error>> {
    let mut all = Vec::new();
    for node in 0..nodes {
        let is_busy = busy > 0 && random.random_range(0..100) < busy;
        let later = if is_busy { 20_000 } else { 0 };
        let mut at = random.random_range(0..2_000i64) + later;
        for _ in 0..per_node {
            let end = at + random.random_range(600..7_200i64);
            all.push(Slot { start: Time(at), end: Time(end), node: NodeId(node) });
            at = end + random.random_range(60..3_600i64);
        }
    }
    Ok(SlotList::new(all)?)
}

/// Nanoseconds of processor time that this process has used.
#[expect(clippy::disallowed_methods, reason = "it measures time")]
pub(crate) fn used() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or_default()
}
