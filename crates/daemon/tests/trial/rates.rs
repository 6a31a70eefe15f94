//! How often what goes wrong.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

/// How often what goes wrong, drawn once for each world: of 1,000 steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) site: u32,
    pub(crate) crash: u32,
    pub(crate) disk: u32,
    pub(crate) clock: u32,
    pub(crate) nodes: u32,
    pub(crate) owner: u32,
    pub(crate) amnesia: u32,
    pub(crate) hold: u32,
    /// Owners' jobs join queues of sites and leave them.
    pub(crate) backlog: u32,
    /// Owners change prices and hours.
    pub(crate) terms: u32,
    /// A site is cut off for a while.
    pub(crate) cut: u32,
    /// Of 1,000 requests, those that ask for windows and accept them.
    pub(crate) deals: u32,
}

impl Rates {
    pub(crate) fn draw(rng: &mut Pcg64Mcg) -> Rates {
        let mut rate = |max: u32| match rng.random_range(0..3) {
            0 => 0,
            _ => rng.random_range(0..=max),
        };
        Rates {
            site: rate(200),
            crash: rate(50),
            disk: rate(30),
            clock: rate(20),
            nodes: rate(40),
            owner: rate(60),
            amnesia: rate(10),
            hold: rate(20),
            backlog: rate(60),
            terms: rate(20),
            cut: rate(20),
            deals: rate(700),
        }
    }
}
