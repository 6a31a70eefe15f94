use std::io::Write;
use std::sync::{Arc, Mutex};

use tradewind_web::{Limits, Tls, openapi};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::stage::Stage;

#[test]
fn tokens_travel_in_secret() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let tls = Tls {
        certificate: folder.path().join("certificate.pem"),
        key: folder.path().join("key.pem"),
    };
    std::fs::write(&tls.certificate, made.cert.pem()).unwrap();
    std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
    let root = Certificate::from_der(made.cert.der()).to_owned();
    let trust = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(vec![root])));
    let stage = Stage::with(Limits::default(), Some(tls), trust.build());
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    let head = stage.head("ana", "/v1/me");
    assert_eq!(head["strict-transport-security"], "max-age=31536000");
    let plain = ureq::get(format!("http://127.0.0.1:{}/healthz", stage.address.port())).call();
    assert!(plain.is_err());
    stage.stop();
}

/// What is logged, of all threads.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_secret_is_ever_logged() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let mut stage = Stage::new();
    let new = serde_json::json!({"user": "zoe", "role": "user"});
    let (_, issued) = stage.call("root", "POST", "/v1/tokens", new);
    stage.tokens.insert("zoe", issued["token"].as_str().unwrap().to_owned());
    let secret = "a-secret-in-the-environment";
    let mut job = crate::stage::job(1);
    job["environment"] = serde_json::json!({"PASSWORD": secret});
    assert_eq!(stage.call("zoe", "POST", "/v1/jobs", job).0, 201);
    stage.get("zoe", "/v1/jobs");
    let tokens: Vec<String> = stage.tokens.values().cloned().collect();
    stage.stop();
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("answered"), "{text}");
    // The client's own trace is no concern of ours.
    let ours: String = text.lines().filter(|it| !it.contains("ureq")).collect();
    for secret in tokens.iter().map(String::as_str).chain([secret]) {
        assert!(!ours.contains(secret), "{secret} was logged");
    }
}

#[test]
fn the_committed_description_is_what_the_code_gives() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let text = openapi::text();
    if std::env::var_os("OPENAPI").is_some_and(|it| it == "overwrite") {
        std::fs::write(path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == text,
        "run this test with OPENAPI=overwrite, and commit docs/openapi.json"
    );
}
