//! TLS from files.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{ServeError, Tls};

/// Refuses a key that every account of this machine may read or change, or a group may change;
/// warns of one that a group may read, which is how some systems hand keys out.
fn mind_rights(key: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(key).map_err(|wrong| wrong.to_string())?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o027 != 0 {
        return Err(format!(
            "other accounts may read or change this key (mode {mode:04o}): `chmod 0600` it, and \
             have a new key made if others may have read it"
        ));
    }
    if mode & 0o040 != 0 {
        let (path, group) = (key.display(), metadata.gid());
        tracing::warn!(%path, group, "a group may read the TLS key; mode 0600 is safer");
    }
    Ok(())
}

/// Reads certificate and key.
pub(super) fn config(files: &Tls) -> Result<RustlsConfig, ServeError> {
    let Tls { certificate, key } = files;
    let wrong = |path: &std::path::Path, what: String| ServeError::Tls {
        path: path.display().to_string(),
        what,
    };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> =
        chain.map_err(|it: rustls::pki_types::pem::Error| wrong(certificate, it.to_string()))?;
    if chain.is_empty() {
        return Err(wrong(certificate, "there is no certificate in it".to_owned()));
    }
    mind_rights(key).map_err(|what| wrong(key, what))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|it| wrong(key, it.to_string()))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|it| wrong(certificate, it.to_string()))?;
    let config = builder.with_no_client_auth().with_single_cert(chain, secret);
    let mut config = config.map_err(|it| wrong(key, it.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(RustlsConfig::from_config(Arc::new(config)))
}
