//! Other markets: whether they answer, what is there, and how far they keep their offers.

use askama::Template;
use axum::extract::State;

use super::reply::{PageResult, show as page};
use super::shell::Shell;
use super::words;
use crate::auth::Caller;
use crate::context::Context;
use crate::documents::{Job, Peer};
use crate::views::{jobs, peers};

#[derive(Template)]
#[template(path = "page/peers.html")]
struct PeersPage {
    shell: Shell,
    peers: Vec<Peer>,
    /// The reader's jobs of which nothing is heard, the first ones, and how many more there are.
    silent: (Vec<Job>, usize),
}

/// Jobs that are listed.
const LISTED: usize = 100;

impl PeersPage {
    /// The state in a word, and whether something is wrong.
    fn state(&self, peer: &Peer) -> (&'static str, bool) {
        match peer.reachable {
            _ if !peer.configured => ("not in the configuration", self.is_open(peer)),
            Some(true) if peer.standing < peer.min_standing => ("gets no jobs", true),
            Some(true) => ("answers", false),
            Some(false) => ("does not answer", true),
            None => ("not asked yet", false),
        }
    }

    /// Whether there are jobs there of which it is not known how they are.
    fn is_open(&self, peer: &Peer) -> bool {
        peer.jobs_there + peer.in_doubt > 0
    }

    fn jobs(&self, peer: &Peer) -> String {
        format!("/jobs?show=away&site={}", words::in_address(&format!("@{}", peer.name)))
    }
}

pub(crate) async fn show(State(context): State<Context>, caller: Caller) -> PageResult {
    let shell = Shell::new(&context, &caller, "Peers").await?;
    let actor = caller.actor.clone();
    let look = context.see(move |live, moment| {
        let state = moment.state;
        let own = state.jobs.values().filter(|job| actor.may_act_for(&job.user));
        let mut silent: Vec<&_> = own.filter(|job| state.silence_of(job).is_some()).collect();
        let more = silent.split_off(silent.len().min(LISTED)).len();
        let silent = silent.into_iter().map(|job| jobs::line(moment, job)).collect();
        (peers::list(live, &actor), (silent, more))
    });
    let (list, silent) = look.await?;
    page(&PeersPage { shell, peers: list.peers, silent })
}
