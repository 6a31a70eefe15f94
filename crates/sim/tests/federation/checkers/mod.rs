//! Watchers: one promise each.

mod journal;
mod once;
mod owner;
mod reservations;
mod rest;

use crate::world::{News, World};

/// Watches one promise.
pub(crate) trait Checker {
    fn name(&self) -> &'static str;

    /// After every step.
    fn step(&mut self, _world: &World, _news: &[News]) -> Result<(), String> {
        Ok(())
    }

    /// When nothing moves any more.
    fn finish(&mut self, _world: &World) -> Result<(), String> {
        Ok(())
    }
}

pub(crate) fn all() -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(owner::Owner),
        Box::new(once::Once::default()),
        Box::new(reservations::Reservations::default()),
        Box::new(journal::Journal),
        Box::new(rest::Rest),
    ]
}
