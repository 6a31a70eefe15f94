//! When the faults are over, doubts end.

use super::Checker;
use crate::world::World;

pub(crate) struct Rest;

impl Checker for Rest {
    fn name(&self) -> &'static str {
        "rest"
    }

    fn finish(&mut self, world: &World) -> Result<(), String> {
        let doubt = world.durables().find(|(_, durable)| !durable.handing.is_empty());
        doubt.map_or(Ok(()), |(peer, durable)| {
            Err(format!("{peer:?} is in doubt about {:?}", durable.handing))
        })
    }
}
