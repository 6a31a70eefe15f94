//! What was written down, read again, is what each site knows.

use tradewind_sched::negotiation::Durable;

use super::Checker;
use crate::world::World;

pub(crate) struct Journal;

impl Checker for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn finish(&mut self, world: &World) -> Result<(), String> {
        for (peer, durable) in world.durables() {
            let mut read = Durable::default();
            world.entries(peer).iter().for_each(|entry| read.apply(entry));
            if &read != durable {
                return Err(format!("{peer:?} knows {durable:?}, and its journal says {read:?}"));
            }
        }
        Ok(())
    }
}
