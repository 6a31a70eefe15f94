//! Signatures of calls: HMAC-SHA-256 as RFC 2104 has it.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The block of SHA-256: bytes.
const BLOCK: usize = 64;

/// What the header `X-Tradewind-Signature` says of a body: `sha256=` and 64 hexadecimal digits.
pub(super) fn signature(secret: &[u8], body: &[u8]) -> String {
    let mut text = "sha256=".to_owned();
    for byte in mac(secret, body) {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn mac(secret: &[u8], body: &[u8]) -> [u8; 32] {
    let mut key = [0; BLOCK];
    if secret.len() > BLOCK {
        key[..32].copy_from_slice(&Sha256::digest(secret));
    } else {
        key[..secret.len()].copy_from_slice(secret);
    }
    let inner = Sha256::new().chain_update(key.map(|it| it ^ 0x36)).chain_update(body).finalize();
    let outer = Sha256::new().chain_update(key.map(|it| it ^ 0x5c)).chain_update(inner);
    outer.finalize().into()
}
