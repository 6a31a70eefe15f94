//! What providers of identities, peers, users and browsers say, as a fuzzer writes it: no bytes may
//! stop the daemon.

use tradewind_daemon::codec::peers::Answers;

use crate::{PeerKey, ReceiptKey, oidc, page, routes};

/// Reads `bytes` as answers of a provider of identities: what it says of itself, its keys, an ID
/// token, and the claims of one that is genuine.
pub fn provider(bytes: &[u8]) {
    oidc::fuzzing::read(bytes);
}

/// Reads `bytes` as a key and, behind its line, answers of a peer that are signed with it.
pub fn receipts(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
    let (first, rest) = bytes.split_at(end);
    let Ok(first) = std::str::from_utf8(first) else { return };
    let _ = ReceiptKey::read(first);
    let (Some(key), Ok(answers)) = (PeerKey::read(first), Answers::read(rest)) else { return };
    for mut report in answers.jobs {
        key.check("home", &mut report);
    }
}

/// Reads `bytes` as what is sent to the API and to the forms of the pages.
pub fn requests(bytes: &[u8]) {
    routes::submission::fuzzed(bytes);
    routes::import::fuzzed(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        page::fuzzed(text);
    }
}
