//! A provider that sends what is wrong, changes its keys, or hangs.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::browser::Browser;
use crate::stage::Stage;

#[test]
fn what_is_not_for_us_or_of_now_does_not_sign_in() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc"]);
    for (claims, why) in [
        (json!({"nonce": "other"}), "the ID token has another nonce"),
        (json!({"aud": ["other"]}), "InvalidAudience"),
        (json!({"aud": ["market", "other"]}), "given to another client"),
        (json!({"iss": "https://evil.example"}), "InvalidIssuer"),
        (json!({"exp": 1_000_000_000}), "the ID token expired at 1000000000"),
        (json!({"iat": 4_000_000_000_u64}), "the ID token is of the future"),
        (json!({"preferred_username": "administrator"}), "is for administrators"),
        (json!({"preferred_username": "a/b"}), "is no name"),
    ] {
        stage.provider.control(json!({"claims": claims}));
        let mut browser = Browser::new(&stage);
        let refused = browser.sign_in(&stage, "ana");
        assert!([401, 403].contains(&refused.status), "{claims}: {}", refused.status);
        assert_eq!(browser.get("/v1/me").status, 401, "{claims}");
        assert!(stage.log().contains(why), "{claims}: {}", stage.log());
    }
    stage.provider.control(json!({"claims": {}}));
    let mut browser = Browser::new(&stage);
    assert_eq!(browser.sign_in(&stage, "ana").status, 200);
    let log = stage.log();
    assert!(!log.contains("eyJ") && !log.contains("100%/plain"), "{log}");
}

#[test]
fn keys_are_kept_and_asked_for_again_when_they_change() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc"]);
    let sign_in = || {
        let mut browser = Browser::new(&stage);
        let got = browser.sign_in(&stage, "ana");
        assert_eq!(got.status, 200, "{}", stage.log());
    };
    let asked = |wanted| stage.provider.control(wanted)["/jwks"].as_u64().unwrap_or(0);
    for named in [true, false] {
        stage.provider.control(json!({"named": named}));
        sign_in();
        let before = asked(json!({}));
        sign_in();
        assert_eq!(asked(json!({})), before, "they are kept");
        stage.provider.control(json!({"rotate": true}));
        sign_in();
        assert_eq!(asked(json!({})), before + 1);
        sign_in();
        assert_eq!(asked(json!({})), before + 1);
    }
}

#[test]
fn clients_prove_themselves_as_the_provider_wants() {
    let stage = Stage::new();
    stage.provider.control(json!({"confidential_by": ["client_secret_post"]}));
    stage.provider.user("ana", &["hpc"]);
    assert_eq!(Browser::new(&stage).sign_in(&stage, "ana").status, 200);
}

#[test]
fn a_provider_that_hangs_delays_no_other_caller() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc"]);
    let token = std::fs::read_to_string(stage.folder.path().join("state/admin.token")).unwrap();
    let mut first = Browser::new(&stage);
    assert_eq!(first.sign_in(&stage, "ana").status, 200);
    let backs: Vec<(Browser, String)> = (0..10)
        .map(|_| {
            let mut browser = Browser::new(&stage);
            let address = browser.begin("/jobs");
            let back = stage.provider.consent(&address, "ana");
            (browser, back)
        })
        .collect();
    stage.provider.control(json!({"hang": "/oauth2/token"}));
    let begun = Instant::now();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let waits: Vec<_> = backs
            .into_iter()
            .map(|(mut browser, back)| scope.spawn(move || browser.get(&back).status))
            .collect();
        // Meanwhile tokens and sessions work as always.
        for _ in 0..20 {
            let me = ureq::get(format!("{}/v1/me", stage.url));
            let me = me.header("Authorization", format!("Bearer {}", token.trim())).call().unwrap();
            assert_eq!(me.status(), 200);
            assert_eq!(first.get("/jobs").status, 200);
        }
        assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
        waits.into_iter().map(|it| it.join().unwrap()).collect()
    });
    // Some wait as long as is allowed, and the rest are sent away at once.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    let count = |status| statuses.iter().filter(|it| **it == status).count();
    assert_eq!((count(502), count(503)), (8, 2), "{statuses:?}");
    stage.provider.control(json!({"hang": null}));
    assert_eq!(Browser::new(&stage).sign_in(&stage, "ana").status, 200);
}
