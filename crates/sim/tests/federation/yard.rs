//! A toy of a site's own scheduler: every local job holds a reservation that only moves earlier,
//! jobs from elsewhere start in what is left over.

use std::cell::Cell;
use std::collections::BTreeMap;

use tradewind_model::{Money, Price, Span, Time};
use tradewind_sched::negotiation::{Host, Parcel, Peer, Pledged, StartQuote, Ticket};
use tradewind_sim::network::Links;

/// Whom a job belongs to, seen from the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Own,
    Foreign,
}

/// Manners towards the site's own reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manners {
    Kept,
    /// A planted fault: jobs from elsewhere start wherever there is room at the moment.
    Pushing,
}

#[derive(Debug, Clone, Copy)]
struct Waits {
    ticket: Ticket,
    processors: u32,
    length: Span,
    whose: Whose,
    reserved: Option<Time>,
}

/// Processors held during a span.
#[derive(Debug, Clone, Copy)]
struct Block {
    from: Time,
    until: Time,
    processors: u32,
}

#[derive(Debug)]
pub(crate) struct Yard {
    pub(crate) nodes: u32,
    pub(crate) price: Price,
    pub(crate) links: Links,
    pub(crate) manners: Manners,
    pub(crate) now: Cell<Time>,
    waiting: Vec<Waits>,
    running: BTreeMap<Ticket, Block>,
}

impl Yard {
    pub(crate) fn new(nodes: u32, price: Price, links: Links, manners: Manners) -> Yard {
        let (waiting, running) = (vec![], BTreeMap::new());
        Yard { nodes, price, links, manners, now: Cell::new(Time(0)), waiting, running }
    }

    pub(crate) fn join(&mut self, parcel: &Parcel, whose: Whose) {
        let (processors, length) = (parcel.demand.processors, parcel.demand.estimate);
        let mut waits = Waits { ticket: parcel.ticket, processors, length, whose, reserved: None };
        if whose == Whose::Own {
            waits.reserved = Some(self.earliest(processors, length));
        }
        self.waiting.push(waits);
    }

    /// Whether it waited here.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waits| waits.ticket != ticket);
        self.waiting.len() < before
    }

    pub(crate) fn ended(&mut self, ticket: Ticket) {
        self.running.remove(&ticket).unwrap();
    }

    pub(crate) fn waiting(&self) -> Vec<Ticket> {
        self.waiting.iter().map(|waits| waits.ticket).collect()
    }

    pub(crate) fn reservations(&self) -> BTreeMap<Ticket, Time> {
        self.waiting.iter().filter_map(|waits| Some((waits.ticket, waits.reserved?))).collect()
    }

    /// What starts now, each with its end.
    pub(crate) fn start(&mut self) -> Vec<(Ticket, Time)> {
        let now = self.now.get();
        for index in 0..self.waiting.len() {
            let Waits { processors, length, reserved, .. } = self.waiting[index];
            if let Some(before) = reserved {
                self.waiting[index].reserved = None;
                self.waiting[index].reserved = Some(self.earliest(processors, length).min(before));
            }
        }
        let mut started = vec![];
        for whose in [Whose::Own, Whose::Foreign] {
            for waits in self.waiting.clone() {
                if waits.whose == whose && self.may_start(&waits) {
                    self.leave(waits.ticket);
                    let until = now + waits.length;
                    let block = Block { from: now, until, processors: waits.processors };
                    self.running.insert(waits.ticket, block);
                    started.push((waits.ticket, until));
                }
            }
        }
        started
    }

    fn may_start(&self, waits: &Waits) -> bool {
        let now = self.now.get();
        let (width, length) = (waits.processors, waits.length);
        match waits.reserved {
            Some(at) => at <= now && self.free_at(&self.held(), now) >= width,
            None => self.fits(&self.respected(), width, now, length),
        }
    }

    fn held(&self) -> Vec<Block> {
        self.running.values().copied().collect()
    }

    /// What jobs from elsewhere may not touch.
    fn respected(&self) -> Vec<Block> {
        match self.manners {
            Manners::Kept => self.blocks(),
            Manners::Pushing => self.held(),
        }
    }

    /// Running jobs and reservations.
    fn blocks(&self) -> Vec<Block> {
        let reserved = self.waiting.iter().filter_map(|waits| {
            let from = waits.reserved?;
            Some(Block { from, until: from + waits.length, processors: waits.processors })
        });
        self.running.values().copied().chain(reserved).collect()
    }

    fn free_at(&self, blocks: &[Block], at: Time) -> u32 {
        let held = blocks.iter().filter(|block| (block.from..block.until).contains(&at));
        self.nodes.saturating_sub(held.map(|block| block.processors).sum())
    }

    fn fits(&self, blocks: &[Block], width: u32, from: Time, length: Span) -> bool {
        let inside = |at: &Time| (from..from + length).contains(at);
        let moments = blocks.iter().map(|block| block.from).filter(inside);
        moments.chain([from]).all(|at| self.free_at(blocks, at) >= width)
    }

    fn earliest(&self, width: u32, length: Span) -> Time {
        let (blocks, now) = (self.blocks(), self.now.get());
        let mut moments: Vec<Time> = blocks.iter().map(|block| block.until.max(now)).collect();
        moments.push(now);
        moments.sort();
        moments.into_iter().find(|at| self.fits(&blocks, width, *at, length)).unwrap()
    }
}

impl Host for Yard {
    fn quote(&self, parcel: &Parcel, from: Time, pledged: Pledged) -> Option<StartQuote> {
        let (processors, length) = (parcel.demand.processors, parcel.demand.estimate);
        let width = processors + pledged.processors;
        let foreign = self.waiting.iter().any(|waits| waits.whose == Whose::Foreign);
        let room = width <= self.nodes
            && self.fits(&self.respected(), width, from, length.max(pledged.longest.work));
        let cost = Money(self.price.0 * length.0 * i64::from(processors));
        let load = self.waiting.len() as u32;
        let price = self.price;
        (room && !foreign).then_some(StartQuote { start: from, price, cost, load, status: None })
    }

    fn at_home(&self, parcel: &Parcel) -> Option<StartQuote> {
        let waits = self.waiting.iter().find(|waits| waits.ticket == parcel.ticket)?;
        let cost = Money(self.price.0 * waits.length.0 * i64::from(waits.processors));
        let (start, price) = (waits.reserved?, self.price);
        Some(StartQuote { start, price, cost, load: 0, status: None })
    }

    fn transfer(&self, parcel: &Parcel, _: Peer) -> Span {
        self.links.transfer(parcel.data_mb)
    }
}
