//! Secrets of tokens.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tradewind_daemon::live::rights::TokenHash;

/// How every secret begins, so that scanners for leaked secrets find it.
const BEGIN: &str = "tw_";
/// Letters behind that: 5 bits of randomness each, 200 in all.
const LETTERS: usize = 40;
/// Letters and digits that are not confused with each other.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// A new secret of the operating system's randomness, and its hash, which is all that is kept.
///
/// # Errors
/// If the operating system has none.
pub fn new_secret() -> Result<(String, TokenHash), String> {
    let mut bytes = [0; LETTERS];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| "the operating system gives no randomness".to_owned())?;
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte % 32)]);
    let secret: String = BEGIN.chars().chain(bytes.map(letter)).collect();
    let hash = hash_of(&secret);
    Ok((secret, hash))
}

/// What is kept of a secret.
pub fn hash_of(secret: &str) -> TokenHash {
    Sha256::digest(secret.as_bytes()).into()
}

/// Whether it could be one at all.
pub(crate) fn looks_right(text: &str) -> bool {
    let letters = text.strip_prefix(BEGIN);
    letters.is_some_and(|it| it.len() == LETTERS && it.bytes().all(|it| ALPHABET.contains(&it)))
}

/// Whether they are the same; takes as long if they are not.
pub(super) fn same(one: &TokenHash, other: &TokenHash) -> bool {
    one.ct_eq(other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_look_right() {
        let (one, hash) = new_secret().unwrap();
        let (other, _) = new_secret().unwrap();
        assert!(one != other && looks_right(&one) && looks_right(&other));
        assert!(same(&hash, &hash_of(&one)) && !same(&hash, &hash_of(&other)));
        for wrong in ["", "tw_", "tw_abc", &one[..one.len() - 1], &one.replace("tw_", "tx_")] {
            assert!(!looks_right(wrong), "{wrong}");
        }
    }
}
