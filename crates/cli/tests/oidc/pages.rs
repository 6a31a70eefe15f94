//! Signing in on the pages.

use crate::browser::Browser;
use crate::stage::Stage;

#[test]
fn people_sign_in_with_their_provider() {
    let stage = Stage::new();
    stage.provider.user("ana", &["moon", "hpc"]);
    let mut browser = Browser::new(&stage);
    let door = browser.get("/signin?next=/quote");
    assert!(door.text.contains("Sign in with Test University"), "{}", door.text);
    assert!(door.text.contains("href=\"/signin/oidc?next="), "{}", door.text);
    let address = browser.begin("/quote");
    for part in ["response_type=code", "code_challenge_method=S256", "nonce=", "state="] {
        assert!(address.contains(part), "{address}");
    }
    assert!(address.starts_with(&stage.provider.url), "{address}");
    let back = stage.provider.consent(&address, "ana");
    assert!(back.starts_with(&format!("{}/signin/oidc/back?", stage.url)), "{back}");
    let page = browser.get(&back);
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("url=/quote"), "{}", page.text);
    assert_eq!(browser.cookies.len(), 1, "what was begun is over: {:?}", browser.cookies);
    let me = browser.me();
    assert_eq!((&me["user"], &me["role"]), (&"ana".into(), &"user".into()), "{me}");
    assert_eq!(me["projects"], serde_json::json!(["apollo"]));
    assert!(me["expires"].is_i64(), "{me}");
    assert_eq!(browser.get("/jobs").status, 200);
    // A code opens once.
    let mut again = Browser::new(&stage);
    assert_eq!(again.get(&back).status, 401);
    // Signing out ends the token, too.
    let cookies = browser.cookies.clone();
    let out = browser.post("/signout", &[]);
    assert_eq!(out.status, 200, "{}", out.text);
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
    browser.cookies = cookies;
    assert_eq!(browser.get("/v1/me").status, 401);
    signed_out_there(&stage, &out.text);
    let log = stage.log();
    assert!(log.contains("signed in") && !log.contains("tw_") && !log.contains("code="), "{log}");
}

/// The page leads to the provider, which learns whom it signed in, and leads back to the sign-in
/// page.
fn signed_out_there(stage: &Stage, page: &str) {
    let address = page.split("url=").nth(1).unwrap().split('"').next().unwrap();
    let address = address.replace("&#38;", "&");
    assert!(address.starts_with(&format!("{}/oauth2/end_session?", stage.provider.url)), "{page}");
    assert!(address.contains("client_id=market&") && address.contains("&id_token_hint=ey"));
    let mut there = ureq::get(&address).call().unwrap();
    let text = there.body_mut().read_to_string().unwrap();
    assert!(text.contains(&format!("{}/signin", stage.url)), "{text}");
}

#[test]
fn where_the_provider_has_no_way_out_people_sign_out_here() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc"]);
    stage.provider.control(serde_json::json!({"end_session": false}));
    let mut browser = Browser::new(&stage);
    browser.sign_in(&stage, "ana");
    let out = browser.post("/signout", &[]);
    assert_eq!((out.status, out.to.as_str()), (303, "/signin"), "{}", out.text);
}

#[test]
fn an_address_begins_few_sign_ins_and_asks_the_provider_little() {
    let stage = Stage::new();
    let mut browser = Browser::new(&stage);
    let begun = (1..=4_000).find(|_| {
        let status = browser.get("/signin/oidc").status;
        assert!([303, 429].contains(&status), "{status}");
        status == 429
    });
    assert!(begun.is_some_and(|it| it > 60), "{begun:?}");
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut asked = 0_u64;
    let refused = loop {
        let ask = agent.post(format!("{}/v1/sign-in/device/token", stage.url));
        let answer = ask.send_json(serde_json::json!({"device_code": "nothing"})).unwrap();
        asked += 1;
        if answer.status() == 429 {
            break answer;
        }
        assert!(asked < 5_000, "nothing is refused");
    };
    assert!(refused.headers().contains_key("retry-after"));
    let counts = stage.provider.control(serde_json::json!({}));
    assert!(counts["/oauth2/token"].as_u64().unwrap() < asked, "{counts}");
}

#[test]
fn roles_go_with_the_groups() {
    let stage = Stage::new();
    stage.provider.user("root", &["staff"]);
    let (mut one, mut two) = (Browser::new(&stage), Browser::new(&stage));
    one.sign_in(&stage, "root");
    assert_eq!(one.me()["role"], "administrator");
    // At the next sign-in, wherever that is, the role is gone everywhere.
    stage.provider.user("root", &["hpc"]);
    two.sign_in(&stage, "root");
    assert_eq!((two.me()["role"].clone(), one.get("/v1/me").status), ("user".into(), 401));
    // Without any group there is no access, and what they had is gone, too.
    stage.provider.user("root", &["other"]);
    let refused = one.sign_in(&stage, "root");
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(refused.text.contains("none of your groups has a role here"), "{}", refused.text);
    assert_eq!([one.get("/v1/me").status, two.get("/v1/me").status], [401, 401]);
    assert!(stage.log().contains("none of your groups has a role here"));
}

#[test]
fn a_state_of_another_browser_and_a_code_of_another_try_are_refused() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc"]);
    stage.provider.user("eve", &["hpc"]);
    let (mut ana, mut eve) = (Browser::new(&stage), Browser::new(&stage));
    // Eve's link would sign Ana in as Eve.
    let address = eve.begin("/jobs");
    let evil = stage.provider.consent(&address, "eve");
    assert_eq!(ana.get(&evil).status, 401);
    let address = ana.begin("/jobs");
    assert_eq!(ana.get(&evil).status, 401);
    assert!(stage.log().contains("the state is not of a sign-in that this browser began"));
    // Ana's code in Eve's try: the verifier is another one.
    let back = stage.provider.consent(&address, "ana");
    let part = |url: &str, name: &str| {
        let rest = url.split(&format!("{name}=")).nth(1).unwrap();
        rest.split('&').next().unwrap().to_owned()
    };
    let mixed =
        format!("/signin/oidc/back?code={}&state={}", part(&back, "code"), part(&evil, "state"));
    let refused = eve.get(&mixed);
    assert_eq!(refused.status, 401, "{}", refused.text);
    assert!(stage.log().contains("invalid_grant"), "{}", stage.log());
    // A user who denies it there sees so here.
    let state = part(&ana.begin("/jobs"), "state");
    let denied = ana.get(&format!("/signin/oidc/back?error=access_denied&state={state}"));
    assert!(denied.status == 403 && denied.text.contains("access_denied"), "{}", denied.text);
    assert_eq!(ana.get("/v1/me").status, 401);
}
