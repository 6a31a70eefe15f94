//! `[[site.pool]]`: like nodes, whole or cut into queues.

use std::sync::Arc;

use tradewind_model::{
    Admission, LoadPrice, Performance, Pool, PoolId, Pools, Price, Ratio, Series, SiteId, Times,
};

use super::load_price;
use super::node_memory::NodeMemory;
use super::queues::{self, Queue};
use crate::fields::{AMOUNT, Fields, Notes, PERFORMANCE};
use crate::outages::{Target, TargetKind, Targets};
use crate::power::Watts;
use crate::scenario::{NameLines, attributes};
use crate::series::{self, Rate};
use crate::value;

const KEYS: [&str; 13] = [
    "name",
    "nodes",
    "performance",
    "price",
    "attributes",
    "queues",
    "queue",
    "min_processors",
    "max_processors",
    "max_time",
    "watts",
    "ask_factor",
    "memory",
];

/// What nodes cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Charge {
    Fixed(Price),
    /// Something between these two, both included.
    Drawn(Price, Price),
    Changes(Arc<Series>),
    ByLoad(LoadPrice),
}

/// The field `price`: a number, a list of two, one that follows load, or a series that changes with time.
pub(super) fn charge(
    fields: &Fields<'_, '_>,
    document: &str,
    notes: &mut Notes<'_>,
) -> Option<Charge> {
    if let value::ValueKind::List(items) = &fields.get("price")?.kind
        && !items.iter().any(|item| matches!(item.kind, value::ValueKind::List(_)))
    {
        let (low, high) = fields.range("price", &AMOUNT, notes)?;
        return Some(Charge::Drawn(Price(low), Price(high)));
    }
    let value = fields.get("price")?;
    if load_price::is_one(value) {
        return load_price::read(value, fields.place("price"), notes).map(Charge::ByLoad);
    }
    series::rate(fields, "price", document, notes).map(|rate| match rate {
        Rate::Fixed(price) => Charge::Fixed(price),
        Rate::Changes(series) => Charge::Changes(series),
    })
}

/// What nodes of a site have whose pool does not say otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct SiteDefaults {
    pub(super) watts: Option<Watts>,
    pub(super) memory: Option<NodeMemory>,
}

/// The pools that have been read so far.
#[derive(Default)]
pub(super) struct PoolReader {
    pub(super) pools: Vec<Pool>,
    pub(super) targets: Targets,
    pub(super) drawn: Vec<(PoolId, (Price, Price))>,
    /// Prices over time, by pool.
    pub(super) rates: Vec<Option<Arc<Series>>>,
    /// Prices that follow load, by pool.
    pub(super) load_prices: Vec<Option<LoadPrice>>,
    /// Factors of asks, by pool.
    pub(super) ask_factors: Vec<Ratio>,
    /// Whether any pool says what its nodes consume.
    pub(super) electric: bool,
    names: NameLines,
}

impl PoolReader {
    /// Reads the pool at `path` of a site with this charge.
    pub(super) fn pool(
        &mut self,
        value: &value::Value<'_>,
        path: String,
        (site, usual, of_site, document): (SiteId, &Charge, SiteDefaults, &str),
        notes: &mut Notes<'_>,
    ) {
        let Some(fields) = Fields::of(value, path, &KEYS, notes) else { return };
        fields.require(&["name", "nodes"], notes);
        let name = self.names.take(&fields, "pool", notes).unwrap_or_default();
        let nodes = fields.whole("nodes", 1..=i64::from(Pools::MAX_NODES), notes);
        let nodes = nodes.and_then(|nodes| u32::try_from(nodes).ok());
        let admission = queues::admission(&fields, Admission::NONE, notes);
        let charge = charge(&fields, document, notes).unwrap_or_else(|| usual.clone());
        let mut attributes = attributes(&fields, notes);
        if let Some(memory) = NodeMemory::read(&fields, notes).or(of_site.memory) {
            memory.put(&mut attributes, &fields, notes);
        }
        if let Some(watts) = Watts::read(&fields, notes).or(of_site.watts) {
            self.electric = true;
            watts.put(&mut attributes, &fields, notes);
        }
        let pool = Pool {
            name,
            site,
            nodes: nodes.unwrap_or(1),
            performance: fields
                .performance("performance", &PERFORMANCE, notes)
                .unwrap_or(Performance::REFERENCE),
            price: Price::default(),
            attributes,
            admission,
            times: Times::Work,
        };
        let factor = fields.ratio("ask_factor", notes).unwrap_or(Ratio::ONE);
        match queues::queues(&fields, &pool, nodes, notes) {
            None => self.whole(pool, (charge, factor), &fields, notes),
            Some(queues) => self.cut(&pool, queues, (&charge, factor), notes),
        }
    }

    fn whole(
        &mut self,
        pool: Pool,
        (charge, factor): (Charge, Ratio),
        fields: &Fields<'_, '_>,
        notes: &mut Notes<'_>,
    ) {
        queues::somebody_fits(&pool, (fields.line, &fields.path), notes);
        self.target(pool.name.clone(), TargetKind::Pool, pool.site, vec![pool.nodes]);
        self.push(pool, charge, factor);
    }

    fn cut(
        &mut self,
        pool: &Pool,
        queues: Vec<Queue>,
        (charge, usual): (&Charge, Ratio),
        notes: &mut Notes<'_>,
    ) {
        let sizes = queues.iter().map(|queue| queue.nodes).collect();
        self.target(pool.name.clone(), TargetKind::Pool, pool.site, sizes);
        for queue in queues {
            let Queue { name, nodes, admission, ask_factor, at: (line, path), name_at } = queue;
            let name = self.names.claim(name, "queue", name_at, notes).unwrap_or_default();
            let queue = Pool { name, nodes, admission, ..pool.clone() };
            queues::somebody_fits(&queue, (line, &path), notes);
            self.target(queue.name.clone(), TargetKind::Queue, queue.site, vec![queue.nodes]);
            self.push(queue, charge.clone(), ask_factor.unwrap_or(usual));
        }
    }

    /// A name for the pools that come next.
    fn target(&mut self, name: String, kind: TargetKind, site: SiteId, nodes: Vec<u32>) {
        let first = PoolId(self.pools.len() as u32);
        self.targets.0.push(Target { name, site, kind, first, nodes });
    }

    fn push(&mut self, pool: Pool, charge: Charge, factor: Ratio) {
        let (mut rate, mut load_price) = (None, None);
        let price = match charge {
            Charge::Fixed(price) => price,
            Charge::Changes(series) => {
                let least = Price(series.least());
                rate = Some(series);
                least
            }
            Charge::ByLoad(price) => load_price.insert(price).idle(),
            Charge::Drawn(low, high) => {
                self.drawn.push((PoolId(self.pools.len() as u32), (low, high)));
                low
            }
        };
        self.rates.push(rate);
        self.load_prices.push(load_price);
        self.ask_factors.push(factor);
        self.pools.push(Pool { price, ..pool });
    }
}
