//! Pages show each reader what the API would.

use serde_json::json;
use tradewind_daemon::site::Exit;

use crate::stage::Stage;

fn page(stage: &Stage, user: &str, path: &str) -> String {
    let (status, text) = stage.send(user, "GET", path, &[], vec![]);
    assert_eq!(status, 200, "{user} {path}: {text}");
    text
}

#[test]
fn a_new_market_says_what_to_do_first() {
    let stage = Stage::new();
    assert!(page(&stage, "ana", "/").contains("A new market"));
    let market = page(&stage, "olga", "/market?try=alpha/x");
    for part in ["The market is new", "There is no load yet", "credits per node-hour", "id=\"use\""]
    {
        assert!(market.contains(part), "{part} in {market}");
    }
    assert!(page(&stage, "ana", "/ledger").contains("Nothing has moved on this account"));
    stage.stop();
}

#[test]
fn income_and_postings_are_for_those_whom_they_concern() {
    let stage = Stage::new();
    let first = stage.submit("ana", 1);
    stage.end(first, Exit::Code(0));
    stage.until(first, "COMPLETED");
    assert!(!page(&stage, "ana", "/").contains("A new market"));
    let of = |user: &str| page(&stage, user, "/market");
    assert!(of("root").contains("Owners’ income") && !of("ana").contains("Owners’ income"));
    let alphas = of("olga");
    assert!(alphas.contains("</svg>alpha</li>") && !alphas.contains("</svg>beta</li>"));
    let earned = |user: &str| {
        let text = page(&stage, user, "/market?of=alpha");
        text.split_once("id=\"income\"").map(|(_, rest)| rest.to_owned())
    };
    assert!(earned("olga").is_some_and(|it| it.contains("</svg>alpha/x</li></ul>")));
    assert_eq!(earned("otto"), None);
    let owners = |user: &str| page(&stage, user, "/market?try=alpha/x").contains("id=\"trial\"");
    assert!(owners("olga") && owners("root") && !owners("ana"));
    // Whoever sees neither side of a posting does not see it.
    let lines = |user: &str, query: &str| {
        let text = page(&stage, user, &format!("/ledger.csv?account={query}"));
        assert!(text.starts_with("number,time,from,to,amount,motive,job,note\n"));
        text.lines().count() - 1
    };
    assert_eq!(lines("bob", ""), 0);
    let own = lines("ana", "");
    assert!(own >= 3 && lines("root", "") >= own, "a grant, a hold, what is settled");
    assert_eq!(lines("ana", &format!("&job={first}&kind=settle")), 1);
    assert_eq!(lines("ana", "&kind=settle&until=2001-01-01"), 0);
    assert_eq!(lines("ana", "&kind=settle&from=2001-01-01T00:00&zone=UTC"), 1);
    let refused = |user: &str, path: &str| stage.send(user, "GET", path, &[], vec![]).0;
    assert_eq!(refused("bob", "/ledger?account=user:ana"), 404);
    assert_eq!(refused("bob", "/ledger.csv?account=user:ana"), 404);
    assert_eq!(refused("ana", "/ledger?account=thief"), 404);
    assert_eq!(refused("ana", "/ledger?zone=nowhere"), 422);
    assert_eq!(refused("ana", "/policy?compare=easy"), 403);
    stage.stop();
}

#[test]
fn policies_stand_side_by_side_and_the_page_knows_when_it_is_old() {
    let stage = Stage::new();
    for _ in 0..4 {
        stage.submit("ana", 2);
    }
    for job in [1, 2] {
        stage.until(job, "RUNNING");
    }
    let path = "/policy?compare=easy,other,easy";
    let text = page(&stage, "root", path);
    for part in ["Computed for the queue as of", "Not a guarantee", "Yes, let other decide"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("Yes, let easy decide"), "it does already");
    // Not everything that is written makes it old.
    let grant = json!({"from": "bank", "to": "user:bob", "amount": 5});
    let (status, done) = stage.call("root", "POST", "/v1/transfers", grant);
    assert_eq!(status, 201, "{done}");
    assert!(!page(&stage, "root", path).contains("The market has changed since"));
    stage.submit("bob", 1);
    assert!(page(&stage, "root", path).contains("The market has changed since: jobs that wait."));
    // Nobody waits for ever.
    let broken = page(&stage, "root", "/policy?compare=broken,other");
    assert!(broken.contains("a mistake of the program") && !broken.contains("<progress"));
    stage.stop();
}
