//! Signatures of webhooks: HMAC-SHA-256.

use std::fmt::Write as _;

use ring::hmac::{HMAC_SHA256, Key, sign};

/// The header `X-Tradewind-Signature` for a body: `sha256=` and 64 hexadecimal digits.
pub(super) fn signature(secret: &[u8], body: &[u8]) -> String {
    let mut text = "sha256=".to_owned();
    for byte in sign(&Key::new(HMAC_SHA256, secret), body).as_ref() {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
