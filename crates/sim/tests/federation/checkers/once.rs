//! Nothing is run twice, and nothing is lost.

use std::collections::BTreeSet;

use tradewind_sched::negotiation::Ticket;

use super::Checker;
use crate::world::{News, World};

#[derive(Default)]
pub(crate) struct Once {
    started: BTreeSet<Ticket>,
    ended: BTreeSet<Ticket>,
}

impl Checker for Once {
    fn name(&self) -> &'static str {
        "once"
    }

    fn step(&mut self, _: &World, news: &[News]) -> Result<(), String> {
        for news in news {
            match *news {
                News::Started(peer, ticket) if !self.started.insert(ticket) => {
                    return Err(format!("{ticket:?} starts again, at {peer:?}"));
                }
                News::Ended(ticket) => {
                    self.ended.insert(ticket);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn finish(&mut self, world: &World) -> Result<(), String> {
        let lost = world.jobs().find(|ticket| !self.ended.contains(ticket));
        lost.map_or(Ok(()), |ticket| Err(format!("{ticket:?} never ran")))
    }
}
