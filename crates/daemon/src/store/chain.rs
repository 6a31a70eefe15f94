//! How rows hang together: each row's digest covers all before it.
//!
//! The first link is made of the journal's origin, so rows of another market do not fit either.
//! There is no secret in it: it shows accidents and careless hands, not a forger who computes all
//! digests again. Who fears one keeps the digest of the last row elsewhere.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

use super::{PageKey, Snapshot};

/// SHA-256 of a row and all before it. Displayed in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Digest {
    /// Of some bytes by themselves.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }
}

/// Whose journal it is, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// A random name, made with the journal. It is in the tags of all tasks of this market.
    pub market: String,
    /// Seconds since 1970.
    pub created: i64,
}

/// Letters and digits that are not confused with each other.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

impl Origin {
    /// Of a market whose name is made of these random bytes: 5 bits of each.
    pub fn random(bytes: [u8; 10], created: i64) -> Origin {
        let letter = |byte: u8| char::from(ALPHABET[usize::from(byte % 32)]);
        Origin { market: bytes.map(letter).iter().collect(), created }
    }

    /// What the first row hangs on.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "tradewind journal\n{}\n{}\n", self.market, self.created);
        Digest::of(text.as_bytes())
    }
}

/// The digest of a row that follows one with the digest `before`: SHA-256 of that, then number and
/// time as 8 bytes each, the highest first, then the body.
pub fn link(before: Digest, seq: u64, at: i64, body: &[u8]) -> Digest {
    let hash = Sha256::new().chain_update(before.0);
    let hash = hash.chain_update(seq.to_be_bytes()).chain_update(at.to_be_bytes());
    Digest(hash.chain_update(body).finalize().into())
}

/// Where a journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalEnd {
    /// The last row's number, 0 if there is none.
    pub seq: u64,
    /// Its time; before all times if there is none.
    pub at: i64,
    /// Its digest, or the origin's.
    pub digest: Digest,
}

impl JournalEnd {
    /// Of a journal without rows.
    pub fn of(origin: &Origin) -> JournalEnd {
        JournalEnd { seq: 0, at: i64::MIN, digest: origin.digest() }
    }

    /// With one row more.
    #[must_use]
    pub fn then(self, at: i64, body: &[u8]) -> JournalEnd {
        let seq = self.seq + 1;
        JournalEnd { seq, at, digest: link(self.digest, seq, at, body) }
    }

    /// What is wrong with rows that are to follow, if anything: time runs forwards only.
    pub fn objection(self, rows: &[(i64, Vec<u8>)]) -> Option<String> {
        let mut before = self.at;
        for (at, _) in rows {
            if *at < before {
                return Some(format!("a row of {at} after one of {before}: nothing was added"));
            }
            before = *at;
        }
        None
    }
}

/// The digest of a snapshot, without its pages.
pub fn of_snapshot(snapshot: &Snapshot) -> Digest {
    let hash = Sha256::new().chain_update(snapshot.seq.to_be_bytes());
    let hash = hash.chain_update(snapshot.at.to_be_bytes());
    let hash = hash.chain_update(snapshot.version.to_be_bytes());
    Digest(hash.chain_update(&snapshot.body).finalize().into())
}

/// The digest of a page of a snapshot.
pub fn of_page(key: PageKey, body: &[u8]) -> Digest {
    let hash = Sha256::new().chain_update([key.0]).chain_update(key.1.to_be_bytes());
    Digest(hash.chain_update(body).finalize().into())
}
