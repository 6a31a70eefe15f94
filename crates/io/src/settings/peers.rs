//! `[[peers]]`: other markets that jobs are exchanged with.

use tradewind_model::{Money, Span};

use super::read::{check_url, text};
use crate::fields::{Fields, Notes};
use crate::scenario::NameLines;
use crate::value::Value;

/// A peer: another market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Unique name of the peer.
    pub name: String,
    /// Where it is reached.
    pub url: String,
    /// The file of the token that it gave us.
    pub token_file: String,
    /// Authorities to trust for it instead of the usual ones: a file in PEM.
    pub ca_file: Option<String>,
    /// Jobs that may be there at once.
    pub max_jobs: Option<u64>,
    /// Of these, jobs of which it is not known whether they have arrived.
    pub max_doubt: Option<u64>,
    /// What these jobs may cost together.
    pub max_credits: Option<Money>,
    /// Below this standing, thousandths, nothing is passed to it.
    pub min_standing: Option<u32>,
    /// The public key with which it must sign starts and ends of jobs.
    pub receipt_key: Option<String>,
    /// The check jobs that it gets; `None`: none.
    pub check: Option<PeerCheck>,
}

/// The check jobs of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCheck {
    /// From one to the next.
    pub every: Span,
    /// What one may cost.
    pub credits: Option<Money>,
    /// Whose account pays.
    pub user: Option<String>,
}

const KEYS: [&str; 12] = [
    "name",
    "url",
    "token_file",
    "ca_file",
    "max_jobs",
    "max_doubt",
    "max_credits",
    "min_standing",
    "receipt_key",
    "check_every",
    "check_credits",
    "check_user",
];
/// A check job may be sent so often: seconds.
const CHECKS: std::ops::RangeInclusive<i64> = 60..=30 * 86_400;

pub(super) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<Peer> {
    let mut names = NameLines::default();
    let mut all = Vec::new();
    let items: &[Value<'_>] = fields.list("peers", notes).unwrap_or_default();
    for (i, item) in items.iter().enumerate() {
        let Some(peer) = Fields::of(item, format!("peers[{i}]"), &KEYS, notes) else { continue };
        peer.require(&KEYS[..3], notes);
        let name = names.take(&peer, "peer", notes);
        let (url, token_file) = (text(&peer, "url", notes), text(&peer, "token_file", notes));
        if let Some(url) = &url {
            check_url(url, (peer.line_of("url"), &peer.place("url")), notes);
        }
        if let (Some(name), Some(url), Some(token_file)) = (name, url, token_file) {
            let count = |key: &str, notes: &mut Notes<'_>| {
                peer.whole(key, 0..=1_000_000, notes).and_then(|count| u64::try_from(count).ok())
            };
            let standing = peer.whole("min_standing", 0..=1_000, notes);
            all.push(Peer {
                name,
                url,
                token_file,
                ca_file: text(&peer, "ca_file", notes),
                max_jobs: count("max_jobs", notes),
                max_doubt: count("max_doubt", notes),
                max_credits: peer.money("max_credits", notes),
                min_standing: standing.and_then(|standing| u32::try_from(standing).ok()),
                receipt_key: text(&peer, "receipt_key", notes),
                check: check(&peer, notes),
            });
        }
    }
    all
}

fn check(peer: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<PeerCheck> {
    let every = peer.span("check_every", CHECKS, notes);
    let (credits, user) = (peer.money("check_credits", notes), text(peer, "check_user", notes));
    if let Some(every) = every {
        return Some(PeerCheck { every, credits, user });
    }
    let alone = ["check_credits", "check_user"].into_iter().find(|key| peer.get(key).is_some());
    if let Some(key) = alone.filter(|_| peer.get("check_every").is_none()) {
        let message = "there is no `check_every`: no check jobs are sent".to_owned();
        let hint = "write how often the peer gets one, as `check_every = \"1h\"`";
        notes.error(peer.line_of(key), &peer.place(key), message, hint);
    }
    None
}
