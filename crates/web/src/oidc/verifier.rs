//! Signatures are checked by `ring`, which TLS has linked anyway.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as Mismatch, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// Nothing is signed here, and no algorithm with a shared secret counts: a holder of the secret
/// could make tokens.
static RING: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// From now on by `ring`, in this process.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    // Nothing else in this process installs another.
    ONCE.call_once(|| {
        let _ = RING.install_default();
    });
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    match key.family() == algorithm.family() {
        true => Ok(Box::new(ByRing { algorithm: *algorithm, key: key.clone() })),
        false => Err(ErrorKind::InvalidKeyFormat.into()),
    }
}

struct ByRing {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), Mismatch> {
        let verified = match (self.key.kind(), self.algorithm) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, algorithm) => {
                let parameters = rsa(algorithm).ok_or_else(Mismatch::new)?;
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signed)
            }
            (DecodingKeyKind::SecretOrDer(key), Algorithm::ES256) => {
                let key = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, key);
                key.verify(message, signed)
            }
            (DecodingKeyKind::SecretOrDer(key), Algorithm::ES384) => {
                let key = UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, key);
                key.verify(message, signed)
            }
            (DecodingKeyKind::SecretOrDer(key), Algorithm::EdDSA) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signed)
            }
            _ => return Err(Mismatch::new()),
        };
        verified.map_err(|_| Mismatch::new())
    }
}

/// Keys of fewer than 2,048 bits are refused by all of these.
fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}
