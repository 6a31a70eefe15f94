//! A network that fails.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use tradewind_daemon::live::peers::{PeerMessage, StatusQuery, StatusReport};
use tradewind_model::{Span, Time};

/// What is on its way.
#[derive(Debug, Clone)]
pub(crate) enum Packet {
    Letters { sent: Time, letters: Vec<PeerMessage> },
    Question(Vec<StatusQuery>),
    Answer(Vec<StatusReport>),
}

#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) packet: Packet,
    due: Time,
}

/// Chances of a thousand.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) loss: u32,
    pub(crate) doubles: u32,
    /// The longest way.
    pub(crate) late: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Network {
    pub(crate) faults: Faults,
    pub(crate) posts: Vec<Post>,
    /// The market that is cut off from all others.
    pub(crate) alone: Option<usize>,
}

impl Network {
    pub(crate) fn send(
        &mut self,
        rng: &mut Pcg64Mcg,
        now: Time,
        (from, to): (usize, usize),
        packet: &Packet,
    ) {
        let mut copies = 1;
        if rng.random_range(0..1_000) < self.faults.loss || self.cuts(from, to) {
            copies -= 1;
        }
        if rng.random_range(0..1_000) < self.faults.doubles {
            copies += 1;
        }
        for _ in 0..copies {
            let due = now + Span(rng.random_range(0..=self.faults.late));
            self.posts.push(Post { from, to, packet: packet.clone(), due });
        }
    }

    fn cuts(&self, from: usize, to: usize) -> bool {
        self.alone.is_some_and(|alone| alone == from || alone == to)
    }

    /// One that has arrived by now: any of them, so their order is random.
    pub(crate) fn take(&mut self, rng: &mut Pcg64Mcg, now: Time) -> Option<Post> {
        let ready: Vec<usize> =
            (0..self.posts.len()).filter(|at| self.posts[*at].due <= now).collect();
        if ready.is_empty() {
            return None;
        }
        let post = self.posts.swap_remove(ready[rng.random_range(0..ready.len())]);
        (!self.cuts(post.from, post.to)).then_some(post)
    }
}
