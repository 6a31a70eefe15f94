//! Slots and jobs of paper 001, section 5: the study of ALP and AMP.

use tradewind_model::{
    Attributes, Grid, Horizon, Job, Node, NodeId, Performance, Price, Request, Site, SiteId, Slot,
    SlotList, Snapshot, Span, Time, Times, VoPolicy,
};

use super::draws::{Draws, wide};

/// A list of slots, each on a node of its own, and a batch. Ranges include both ends; those of
/// lengths, gaps, performances and factors are in thousandths, each equally likely. (The paper
/// counts in reals. Its counts are half-open by the numbers that it publishes: 120 to 149 slots,
/// 3 to 6 jobs, 1 to 5 nodes.)
#[derive(Debug, Clone, PartialEq)]
pub struct Study1 {
    /// Number of slots.
    pub slots: (u32, u32),
    /// How long a slot is.
    pub slot_length: (u32, u32),
    /// How fast a slot's node is.
    pub performance: (u32, u32),
    /// The chance, in thousandths, that a slot starts with the one before it.
    pub same_start: u32,
    /// Else, how long after it.
    pub gap: (u32, u32),
    /// A node's market price is this to the power of its performance.
    pub price_base: f64,
    /// A node's price over its market price.
    pub price_factor: (u32, u32),
    /// Number of jobs.
    pub jobs: (u32, u32),
    /// Number of nodes a job wants.
    pub tasks: (u32, u32),
    /// How much work each of its tasks is.
    pub work: (u32, u32),
    /// The minimum performance that a job takes; its price cap is the market price there.
    pub min_performance: (u32, u32),
    /// Ticks of the clock in the paper's unit of time: 1 rounds times to units, 1,000 keeps them
    /// as drawn. Prices are per tick, so that costs stay the same.
    pub ticks: u32,
}

impl Default for Study1 {
    fn default() -> Study1 {
        Study1 {
            slots: (120, 149),
            slot_length: (50_000, 300_000),
            performance: (1_000, 3_000),
            same_start: 400,
            gap: (0, 10_000),
            price_base: 1.7,
            price_factor: (750, 1_250),
            jobs: (3, 6),
            tasks: (1, 5),
            work: (50_000, 150_000),
            min_performance: (1_000, 2_000),
            ticks: 1,
        }
    }
}

impl Study1 {
    /// The scenario of one cycle; the first slot starts at 0, and the horizon ends with the last
    /// slot. `None` if a parameter makes that impossible (no slots, a price beyond all bounds).
    pub fn draw(&self, seed: u64) -> Option<Snapshot> {
        let (nodes, slots) = self.market(seed)?;
        let end = slots.iter().map(|slot| slot.end).max()?;
        let sites = vec![Site { name: "grid".to_owned() }];
        let snapshot = Snapshot {
            horizon: Horizon { start: Time(0), end },
            grid: Grid::new(sites, nodes).ok()?,
            slots: SlotList::new(slots).ok()?,
            jobs: self.batch(seed),
            policy: VoPolicy::default(),
        };
        snapshot.check().ok()?;
        Some(snapshot)
    }

    fn market(&self, seed: u64) -> Option<(Vec<Node>, Vec<Slot>)> {
        let mut draws = Draws::new(seed, "study1-slot");
        let count = draws.within(wide(self.slots));
        let mut start = 0;
        let (mut nodes, mut slots) = (Vec::new(), Vec::new());
        for index in 0..count {
            let together = draws.within((1, 1_000)) <= i64::from(self.same_start);
            let gap = draws.within(wide(self.gap));
            start += if together || index == 0 { 0 } else { gap };
            let length = draws.within(wide(self.slot_length));
            let performance = performance(draws.within(wide(self.performance)))?;
            let factor = draws.within(wide(self.price_factor)) as f64 / 1_000.0;
            let (start, length) = (self.time(start), self.time(length).max(1));
            let node = NodeId(u32::try_from(index).ok()?);
            slots.push(Slot { start: Time(start), end: Time(start + length), node });
            nodes.push(Node {
                name: format!("s{:03}", index + 1),
                site: SiteId(0),
                host: None,
                performance,
                price: self.price(performance, factor),
                attributes: Attributes::new(),
                times: Times::Work,
            });
        }
        Some((nodes, slots))
    }

    fn batch(&self, seed: u64) -> Vec<Job> {
        let mut draws = Draws::new(seed, "study1-job");
        let count = draws.within(wide(self.jobs));
        let mut job = |number: i64| {
            let tasks = draws.within(wide(self.tasks)).max(1) as u32;
            let work = self.time(draws.within(wide(self.work))).max(1);
            let min = performance(draws.within(wide(self.min_performance)));
            let cap = min.map(|min| self.price(min, 1.0));
            let request =
                Request { min_performance: min, max_price: cap, ..Request::new(tasks, Span(work)) };
            Job { name: format!("job{number}"), priority: 0, request }
        };
        (1..=count).map(&mut job).collect()
    }

    /// Thousandths of a unit in ticks, to the nearest, halves up.
    fn time(&self, thousandths: i64) -> i64 {
        (thousandths * i64::from(self.ticks.max(1)) + 500) / 1_000
    }

    /// The market price times `factor`, per tick, to the nearest micro-credit.
    fn price(&self, performance: Performance, factor: f64) -> Price {
        let power = f64::from(performance.thousandths()) / 1_000.0;
        let market = libm::pow(self.price_base, power) / f64::from(self.ticks.max(1));
        Price(libm::round(market * factor * 1e6) as i64)
    }
}

fn performance(thousandths: i64) -> Option<Performance> {
    u32::try_from(thousandths).ok().and_then(Performance::from_thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_and_jobs_are_in_the_published_ranges() {
        let (mut slots, mut jobs, mut together, mut starts) = (0, 0, 0, 0);
        for seed in 0..100 {
            let world = Study1::default().draw(seed).unwrap();
            assert!((120..150).contains(&world.slots.len()));
            assert!((3..7).contains(&world.jobs.len()));
            for slot in world.slots.as_slice() {
                assert!((50..=300).contains(&slot.span().0));
                let node = world.grid.node(slot.node);
                let market = 1.7f64.powf(f64::from(node.performance.thousandths()) / 1e3);
                let factor = node.price.0 as f64 / 1e6 / market;
                assert!((0.7499..=1.2501).contains(&factor), "{factor}");
            }
            for pair in world.slots.as_slice().windows(2) {
                let gap = (pair[1].start - pair[0].start).0;
                assert!((0..=11).contains(&gap));
                together += usize::from(gap == 0);
                starts += 1;
            }
            slots += world.slots.len();
            jobs += world.jobs.len();
        }
        assert!((130..140).contains(&(slots / 100)), "{slots}");
        assert!((400..500).contains(&jobs), "{jobs}");
        // 0.4, and a twentieth of the other gaps rounds to 0.
        let share = together as f64 / starts as f64;
        assert!((share - 0.43).abs() < 0.02, "{share}");
    }

    #[test]
    fn finer_ticks_keep_costs_and_jobs() {
        let unit = Study1::default().draw(9).unwrap();
        let fine = Study1 { ticks: 1_000, ..Study1::default() }.draw(9).unwrap();
        for (a, b) in unit.slots.as_slice().iter().zip(fine.slots.as_slice()) {
            assert!((a.start.0 * 1_000 - b.start.0).abs() <= 500);
        }
        for (a, b) in unit.jobs.iter().zip(&fine.jobs) {
            let (a, b) = (&a.request, &b.request);
            assert_eq!((a.tasks, a.min_performance), (b.tasks, b.min_performance));
            let cost = |request: &Request| (request.max_price.unwrap() * request.work).0 as f64;
            assert!((cost(a) / cost(b) - 1.0).abs() < 0.02);
        }
    }

    #[test]
    fn impossible_parameters_draw_nothing() {
        assert_eq!(Study1 { slots: (0, 0), ..Study1::default() }.draw(1), None);
        assert_eq!(Study1 { performance: (0, 0), ..Study1::default() }.draw(1), None);
        assert_eq!(Study1 { price_base: 1e9, ..Study1::default() }.draw(1), None);
    }
}
