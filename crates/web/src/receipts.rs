//! Signatures of what happened to jobs of other markets: Ed25519 (RFC 8032).

use std::fmt::{Debug, Formatter};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use tradewind_daemon::codec::peers::statement;
use tradewind_daemon::live::peers::{RemoteStatus, StatusReport};

/// How keys begin as text.
const KIND: &str = "ed25519:";
/// Bytes of a public key.
const LENGTH: usize = 32;

/// The key with which a market signs receipts.
pub struct ReceiptKey(Ed25519KeyPair);

impl Debug for ReceiptKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ReceiptKey").field(&self.public()).finish()
    }
}

impl ReceiptKey {
    /// A new private key, as PKCS #8 in base64.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn generate() -> Result<String, String> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        made.map(|key| STANDARD.encode(key.as_ref())).map_err(|_| "no randomness".to_owned())
    }

    /// Reads what [`ReceiptKey::generate`] has made.
    ///
    /// # Errors
    /// If it is no such key.
    pub fn read(text: &str) -> Result<ReceiptKey, String> {
        let wrong = |_| "it is no private key in base64 (PKCS #8, Ed25519)".to_owned();
        let bytes = STANDARD.decode(text.trim()).map_err(|_| wrong(()))?;
        Ed25519KeyPair::from_pkcs8(&bytes).map(ReceiptKey).map_err(|_| wrong(()))
    }

    /// The public key, as other markets configure it: `ed25519:` and base64.
    pub fn public(&self) -> String {
        format!("{KIND}{}", STANDARD.encode(self.0.public_key()))
    }

    /// Signs the report where a receipt is wanted, for the market `home`.
    pub fn sign(&self, home: &str, report: &mut StatusReport) {
        let Some(text) = statement(home, report) else { return };
        if let RemoteStatus::There(news) = &mut report.fate
            && let Some(receipt) = &mut news.receipt
        {
            receipt.signature = STANDARD.encode(self.0.sign(text.as_bytes()));
        }
    }
}

/// The public key of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerKey(Vec<u8>);

impl PeerKey {
    /// Reads [`ReceiptKey::public`].
    pub fn read(text: &str) -> Option<PeerKey> {
        let bytes = STANDARD.decode(text.trim().strip_prefix(KIND)?).ok()?;
        (bytes.len() == LENGTH).then_some(PeerKey(bytes))
    }

    /// Takes the receipt out of a report to the market `home` whose signature is not good.
    pub fn check(&self, home: &str, report: &mut StatusReport) {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        let text = statement(home, report);
        let RemoteStatus::There(news) = &mut report.fate else { return };
        let signature = |text: &str| {
            let receipt = news.receipt.as_ref()?;
            let signature = STANDARD.decode(&receipt.signature).ok()?;
            key.verify(text.as_bytes(), &signature).ok()
        };
        if text.as_deref().and_then(signature).is_none() {
            news.receipt = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use tradewind_daemon::live::state::Finish;
    use tradewind_daemon::live::state::jobs::{Receipt, RemoteProgress};
    use tradewind_model::{Money, Time};
    use tradewind_sched::negotiation::Serial;

    use super::*;

    fn report() -> StatusReport {
        let progress = RemoteProgress {
            since: Some(Time(1_800_000_000)),
            nodes: vec!["a".to_owned()],
            finish: Some(Finish::Completed),
            charged: Money(25),
            receipt: Some(Receipt { until: Some(Time(1_800_000_060)), signature: String::new() }),
        };
        let transfer = Serial { epoch: 1, number: 4 };
        StatusReport { job: 7, transfer, fate: RemoteStatus::There(progress) }
    }

    fn is_signed(report: &StatusReport) -> bool {
        matches!(&report.fate, RemoteStatus::There(news) if news.receipt.is_some())
    }

    /// Changes what the peer says of the job.
    fn change(report: &mut StatusReport, change: impl FnOnce(&mut RemoteProgress)) {
        if let RemoteStatus::There(news) = &mut report.fate {
            change(news);
        }
    }

    #[test]
    fn a_receipt_is_good_for_what_was_signed_and_for_nothing_else() {
        let key = ReceiptKey::read(&ReceiptKey::generate().unwrap()).unwrap();
        let known = PeerKey::read(&key.public()).unwrap();
        let signed = || {
            let mut report = report();
            key.sign("home", &mut report);
            report
        };
        let is_good = |mut report: StatusReport, home: &str| {
            known.check(home, &mut report);
            is_signed(&report)
        };
        assert!(is_good(signed(), "home"));
        assert!(!is_good(signed(), "other"), "it is of another market's job");
        assert!(!is_good(report(), "home"), "it is not signed");
        assert!(!is_good(StatusReport { job: 8, ..signed() }, "home"));
        let changes: [fn(&mut RemoteProgress); 4] = [
            |news| news.charged = Money(26),
            |news| news.since = Some(Time(1)),
            |news| news.finish = Some(Finish::Failed(1)),
            |news| news.receipt.as_mut().unwrap().until = None,
        ];
        for it in changes {
            let mut report = signed();
            change(&mut report, it);
            assert!(!is_good(report, "home"));
        }
        let other = ReceiptKey::read(&ReceiptKey::generate().unwrap()).unwrap();
        let mut report = report();
        other.sign("home", &mut report);
        assert!(!is_good(report, "home"), "another key");
        for text in ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA"] {
            assert_eq!(PeerKey::read(text), None, "{text}");
        }
        assert!(ReceiptKey::read("AAAA").is_err());
    }
}
