use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
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
    std::fs::set_permissions(&tls.key, Permissions::from_mode(0o600)).unwrap();
    let root = Certificate::from_der(made.cert.der()).to_owned();
    let trust = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(vec![root])));
    let trust = trust.build();
    let again = trust.clone();
    let stage = Stage::with(Limits::default(), Some(tls), trust);
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    let form = "token=tw_x&next=/jobs";
    let from = |scheme: &str| {
        let origin = format!("{scheme}://localhost:{}", stage.address.port());
        let headers =
            [("Origin", origin.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
        stage.send("nobody", "POST", "/signin", &headers, form.as_bytes().to_vec()).0
    };
    assert_eq!([from("https"), from("http")], [401, 403]);
    let token = &stage.tokens["ana"];
    let agent = ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false);
    let agent = agent.tls_config(again).build().new_agent();
    let signed = agent.post(stage.url("/signin")).header("Sec-Fetch-Site", "same-origin");
    let signed = signed.send_form([("token", token)]).unwrap();
    let cookie = signed.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-tradewind=tw_"), "{cookie}");
    for attribute in ["Path=/;", "HttpOnly;", "SameSite=Strict;", "Max-Age=43200", "; Secure"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let head = stage.head("ana", "/v1/me");
    assert_eq!(head["strict-transport-security"], "max-age=31536000");
    let plain = ureq::get(format!("http://127.0.0.1:{}/healthz", stage.address.port())).call();
    assert!(plain.is_err());
    stage.stop();
}

#[test]
fn a_key_that_others_may_read_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.path().join("certificate.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    for (mode, good) in [
        (0o644, false),
        (0o604, false),
        (0o620, false),
        (0o602, false),
        (0o640, true),
        (0o600, true),
    ] {
        std::fs::set_permissions(&key, Permissions::from_mode(mode)).unwrap();
        let tls = Tls { certificate: certificate.clone(), key: key.clone() };
        match Stage::try_with(
            Limits::default(),
            Some(tls),
            TlsConfig::default(),
            Default::default(),
        ) {
            Ok(stage) => {
                assert!(good, "{mode:o}");
                stage.stop();
            }
            Err(wrong) => {
                let wrong = wrong.to_string();
                assert!(!good && wrong.contains("key.pem: other accounts may"), "{mode:o} {wrong}");
            }
        }
    }
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
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/openapi.json");
    let text = openapi::text();
    if std::env::var_os("OPENAPI").is_some_and(|it| it == "overwrite") {
        std::fs::write(path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(
        committed == text,
        "run this test with OPENAPI=overwrite, and commit docs/schemas/openapi.json"
    );
}
