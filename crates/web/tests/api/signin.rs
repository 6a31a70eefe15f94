//! Signing in with tokens: where it leads, how long it lasts, what wrong guesses cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tradewind_web::SignIn;

use crate::stage::Stage;

/// A browser that signs in and keeps its cookie.
pub(crate) struct Browser {
    agent: ureq::Agent,
    origin: String,
    pub(crate) cookie: Option<String>,
}

/// What it got: status, where it is sent to, and the page.
pub(crate) type Got = (u16, Option<String>, String);

impl Browser {
    pub(crate) fn new(stage: &Stage) -> Browser {
        let agent = ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false);
        let agent = agent.build().new_agent();
        Browser { agent, origin: stage.url(""), cookie: None }
    }

    fn got(&mut self, mut answer: ureq::http::Response<ureq::Body>) -> Got {
        for set in answer.headers().get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            if pair.starts_with("tradewind=") {
                self.cookie = Some(pair.to_owned()).filter(|it| !it.ends_with('='));
            }
        }
        let to = answer.headers().get("location").map(|it| it.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        (status, to, answer.body_mut().read_to_string().unwrap())
    }

    pub(crate) fn post(&mut self, path: &str, form: &[(&str, &str)]) -> Got {
        let request = self.agent.post(format!("{}{path}", self.origin));
        let request = request.header("Origin", &self.origin);
        let request = request.header("Cookie", self.cookie.clone().unwrap_or_default());
        let answer = request.send_form(form.iter().copied()).unwrap();
        self.got(answer)
    }

    pub(crate) fn get(&mut self, path: &str) -> Got {
        let request = self.agent.get(format!("{}{path}", self.origin));
        let request = request.header("Cookie", self.cookie.clone().unwrap_or_default());
        let answer = request.call().unwrap();
        self.got(answer)
    }

    pub(crate) fn sign_in(&mut self, token: &str) -> Got {
        self.post("/signin", &[("token", token), ("next", "/jobs")])
    }
}

#[test]
fn signing_in_leads_to_our_own_pages_only() {
    let stage = Stage::new();
    let token = stage.tokens["ana"].clone();
    let mut browser = Browser::new(&stage);
    let (_, _, page) = browser.get("/signin?next=/%09/evil.example");
    assert!(page.contains("name=\"next\" value=\"/\""), "{page}");
    for (next, wanted) in [
        ("/jobs?state=PENDING", "/jobs?state=PENDING"),
        ("/\t/evil.example", "/"),
        ("/\n/evil.example", "/"),
        ("/\u{c}/evil.example", "/"),
        ("/\\evil.example", "/"),
        ("//evil.example", "/"),
        ("/.//evil.example", "/"),
        ("https://evil.example", "/"),
        ("", "/"),
    ] {
        let (status, to, _) = browser.post("/signin", &[("token", &token), ("next", next)]);
        assert_eq!((status, to.as_deref()), (303, Some(wanted)), "{next:?}");
    }
    stage.stop();
}

#[test]
fn browsers_are_listed_and_signed_out() {
    let stage = Stage::new();
    let (mut one, mut two, mut other) =
        (Browser::new(&stage), Browser::new(&stage), Browser::new(&stage));
    let ana = stage.tokens["ana"].clone();
    for browser in [&mut one, &mut two] {
        assert_eq!(browser.sign_in(&ana).0, 303);
    }
    other.sign_in(&stage.tokens["bob"]);
    let list = |user: &str| stage.get(user, "/v1/sessions").1["sessions"].clone();
    let of = |user: &str| -> Vec<Value> { list(user).as_array().unwrap().clone() };
    assert_eq!([of("ana").len(), of("bob").len(), of("root").len()], [2, 1, 3]);
    let first = &of("ana")[0];
    assert_eq!(first["ends"].as_i64().unwrap() - first["since"].as_i64().unwrap(), 12 * 3_600);
    let (_, page) = stage.get("root", "/v1/sessions?limit=2");
    assert_eq!(page["next"], page["sessions"][1]["id"]);
    assert!(one.get("/access").2.contains("this one"));
    // Of others there is none.
    let path = format!("/v1/sessions/{}", of("bob")[0]["id"]);
    assert_eq!(stage.call("ana", "DELETE", &path, json!(null)).0, 404);
    let path = format!("/v1/sessions/{}", of("ana")[0]["id"]);
    assert_eq!(stage.call("ana", "DELETE", &path, json!(null)).0, 204);
    assert_eq!([one.get("/jobs").0, two.get("/jobs").0, other.get("/jobs").0], [303, 200, 200]);
    let cookie = two.cookie.clone();
    assert_eq!(two.post("/signout", &[]).0, 303);
    two.cookie = cookie;
    assert_eq!(two.get("/jobs").0, 303);
    // A token that is revoked on the page takes its browsers along.
    let number = stage.get("bob", "/v1/me").1["token"].to_string();
    assert_eq!(other.post("/access", &[("what", "token"), ("id", &number)]).0, 303);
    assert_eq!((other.get("/jobs").0, stage.get("bob", "/v1/me").0), (303, 401));
    assert_eq!(of("root").len(), 0);
    stage.stop();
}

#[test]
fn streams_end_with_the_session_that_opened_them() {
    use std::io::Read as _;
    let stage = Stage::new();
    let mut browser = Browser::new(&stage);
    browser.sign_in(&stage.tokens["ana"].clone());
    let stream = browser.agent.get(stage.url("/v1/events"));
    let stream = stream.header("Cookie", browser.cookie.clone().unwrap()).call().unwrap();
    assert_eq!(stream.status(), 200);
    let begin = Instant::now();
    browser.post("/signout", &[]);
    let mut rest = String::new();
    // It is the server that ends it.
    stream.into_body().into_reader().read_to_string(&mut rest).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(60));
    stage.stop();
}

#[test]
fn wrong_tokens_are_counted_by_what_was_tried_and_the_right_one_opens() {
    let stage = Stage::new();
    let ana = stage.tokens["ana"].clone();
    // It differs from hers in its last letter alone.
    let last = if ana.ends_with('a') { 'b' } else { 'a' };
    let wrong = format!("{}{last}", &ana[..ana.len() - 1]);
    let mut browser = Browser::new(&stage);
    let all: Vec<u16> = (0..12).map(|_| browser.sign_in(&wrong).0).collect();
    assert_eq!(all[..10], [401; 10]);
    assert_eq!(all[10..], [429; 2]);
    // Others are not locked out, and she is not either; nor are her programs.
    let other = if stage.tokens["bob"][..6] == ana[..6] { "tw_qqqqqq" } else { "tw_zzzzzz" };
    assert_eq!(browser.sign_in(other).0, 401);
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    assert_eq!(browser.sign_in(&ana).0, 303);
    stage.stop();
}

#[test]
fn tokens_expire_and_say_so() {
    let mut stage = Stage::new();
    let new = json!({"user": "zoe", "role": "user", "lifetime": 2});
    let (status, issued) = stage.call("root", "POST", "/v1/tokens", new);
    assert_eq!(status, 201);
    stage.tokens.insert("zoe", issued["token"].as_str().unwrap().to_owned());
    let mut browser = Browser::new(&stage);
    browser.sign_in(&stage.tokens["zoe"].clone());
    let begin = Instant::now();
    let why = loop {
        let (status, me) = stage.get("zoe", "/v1/me");
        match status {
            200 => assert_eq!(me["expires"], issued["expires"]),
            _ => break me,
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    };
    let message = why["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("this token expired at 2"), "{message}");
    assert_eq!(browser.get("/jobs").0, 303);
    let (status, _, page) = browser.sign_in(&stage.tokens["zoe"].clone());
    assert!(status == 401 && page.contains("this token expired at"), "{page}");
    // An administrator finds it in the list, and gives it another end.
    let id = issued["id"].to_string();
    let (_, list) =
        stage.get("root", &format!("/v1/tokens?after={}", issued["id"].as_u64().unwrap() - 1));
    assert_eq!(list["tokens"][0]["expires"], issued["expires"]);
    let path = format!("/v1/tokens/{id}/rotate");
    let (status, renewed) = stage.call("root", "POST", &path, json!({"lifetime": 3_600}));
    assert_eq!(status, 200, "{renewed}");
    stage.tokens.insert("zoe", renewed["token"].as_str().unwrap().to_owned());
    assert_eq!(stage.get("zoe", "/v1/me").0, 200);
    stage.stop();
}

#[test]
fn the_usual_lifetime_is_the_configurations() {
    let (usual, never) = (Some(tradewind_model::Span(1_000)), json!(null));
    let stage = Stage::signing_in(SignIn { token_lifetime: usual, ..SignIn::default() });
    let expires = |body: Value| {
        let (status, issued) = stage.call("root", "POST", "/v1/tokens", body);
        assert_eq!(status, 201, "{issued}");
        issued["expires"].clone()
    };
    let now = crate::stage::now().0;
    let own = expires(json!({"user": "zoe", "role": "user"})).as_i64().unwrap();
    assert!((now + 990..=now + 1_060).contains(&own), "{own} {now}");
    assert_eq!(expires(json!({"user": "zoe", "role": "user", "lifetime": 0})), never);
    assert_eq!(expires(json!({"user": "far", "role": "peer"})), never);
    for lifetime in [-1, 315_360_001] {
        let body = json!({"user": "zoe", "role": "user", "lifetime": lifetime});
        let (status, failure) = stage.call("root", "POST", "/v1/tokens", body);
        assert_eq!((status, &failure["error"]["field"]), (422, &json!("lifetime")));
    }
    stage.stop();
}

#[test]
fn the_answer_tells_when_the_token_expires() {
    let stage = Stage::new();
    let new = json!({"user": "zoe", "role": "user", "lifetime": 1_000});
    let (_, issued) = stage.call("root", "POST", "/v1/tokens", new);
    let token = issued["token"].as_str().unwrap();
    let told = |token: &str| {
        let answer = ureq::get(stage.url("/v1/market"));
        let answer = answer.header("Authorization", format!("Bearer {token}")).call().unwrap();
        answer.headers().get("tradewind-token-expires").map(|it| it.to_str().unwrap().to_owned())
    };
    assert_eq!(told(token), Some(issued["expires"].to_string()));
    assert_eq!(told(&stage.tokens["ana"]), None);
    stage.stop();
}

#[test]
fn a_new_secret_replaces_the_old_one_after_the_grace() {
    let mut stage = Stage::new();
    let path = |user: &str| format!("/v1/tokens/{}/rotate", stage.get(user, "/v1/me").1["token"]);
    let (ana, bob) = (path("ana"), path("bob"));
    // No user changes others' tokens; only an administrator says when one expires.
    assert_eq!(stage.call("ana", "POST", &bob, json!({})).0, 404);
    assert_eq!(stage.call("ana", "POST", &ana, json!({"lifetime": 60})).0, 403);
    assert_eq!(stage.call("ana", "POST", &ana, json!({"grace": -1})).0, 422);
    let (status, first) = stage.call("ana", "POST", &ana, json!({"grace": 3_600}));
    assert_eq!(status, 200, "{first}");
    assert_eq!(stage.get("ana", "/v1/me").0, 200, "the one before is valid, too");
    let (_, list) = stage.get("ana", "/v1/tokens");
    assert!(list["tokens"][0]["earlier_until"].is_i64(), "{list}");
    let before = stage.tokens.insert("ana", first["token"].as_str().unwrap().to_owned()).unwrap();
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    // Without a grace the present one ends at once, and that before it, too.
    let (_, second) = stage.call("ana", "POST", &ana, json!({"grace": 0}));
    assert_eq!(stage.get("ana", "/v1/me").0, 401);
    stage.tokens.insert("ana", before);
    assert_eq!(stage.get("ana", "/v1/me").0, 401);
    stage.tokens.insert("ana", second["token"].as_str().unwrap().to_owned());
    assert_eq!(stage.get("ana", "/v1/me").0, 200);
    // An administrator does it for others.
    let (status, third) = stage.call("root", "POST", &bob, json!({"lifetime": 60}));
    assert!(status == 200 && third["expires"].is_i64(), "{third}");
    stage.stop();
}

#[test]
fn behind_a_proxy_its_origin_counts_and_browsers_stay_encrypted() {
    let url = Some("https://market.example".to_owned());
    let stage = Stage::signing_in(SignIn { url, ..SignIn::default() });
    let token = format!("token={}&next=/", stage.tokens["ana"]).into_bytes();
    let status = |origin: &str| {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let headers = [("Origin", origin), form];
        stage.send("nobody", "POST", "/signin", &headers, token.clone()).0
    };
    assert_ne!(status("https://market.example"), 403);
    assert_eq!([status("http://market.example"), status("https://other.example")], [403; 2]);
    let told = |stage: &Stage| {
        let answer = ureq::get(stage.url("/healthz")).call().unwrap();
        answer.headers().contains_key("strict-transport-security")
    };
    assert!(told(&stage));
    stage.stop();
    let plain = Stage::new();
    assert!(!told(&plain));
    plain.stop();
}
