use serde_json::json;
use tradewind_daemon::site::Exit;
use tradewind_web::documents::{AccountList, Market, Report, SiteList, Statement};

use crate::stage::Stage;

#[test]
fn money_moves_and_is_accounted_for() {
    let stage = Stage::new();
    let transfer = json!({"from": "bank", "to": "project:p", "amount": 12.5, "note": "seed",
        "create": true});
    let (status, failure) = stage.call("ana", "POST", "/v1/transfers", transfer.clone());
    assert_eq!((status, &failure["error"]["kind"]), (403, &json!("forbidden")));
    let (status, _) = stage.call("root", "POST", "/v1/transfers", transfer);
    assert_eq!(status, 201);
    let (_, text) = stage.send("root", "GET", "/v1/accounts/project:p", &[], vec![]);
    let read: Statement = serde_json::from_str(&text).unwrap();
    assert_eq!(read.account.balance.to_string(), "12.5");
    assert_eq!(read.postings[0].note.as_deref(), Some("seed"));
    let too_much = json!({"from": "project:p", "to": "user:ana", "amount": 13});
    assert_eq!(stage.call("root", "POST", "/v1/transfers", too_much).0, 409);
    for (body, field) in [
        (json!({"from": "bank", "to": "user:ana", "amount": 0}), "amount"),
        (json!({"from": "bank", "to": "user:ana", "amount": -1}), "amount"),
        (json!({"from": "bank", "to": "user:ana", "amount": 0.000_000_1}), "amount"),
        (json!({"from": "bank", "to": "user:ana", "amount": "1"}), "amount"),
        (json!({"from": "bank", "to": "thief", "amount": 1}), "to"),
        (json!({"from": "bank", "to": "bank", "amount": 1}), "to"),
        (json!({"from": "bank", "amount": 1}), "to"),
        (json!({"from": "bank", "to": "user:a", "amount": 1, "amuont": 1}), "amuont"),
        (json!({"from": "bank", "to": "user:a", "amount": 1, "note": "x".repeat(2_000)}), "note"),
    ] {
        let (status, failure) = stage.call("root", "POST", "/v1/transfers", body.clone());
        assert_eq!((status, &failure["error"]["field"]), (422, &json!(field)), "{body} {failure}");
    }
    stage.stop();
}

#[test]
fn sites_market_report_and_accounts_read_as_documents() {
    let stage = Stage::new();
    let id = stage.submit("ana", 1);
    stage.end(id, Exit::Code(0));
    stage.until(id, "COMPLETED");
    let text = |path: &str| stage.send("root", "GET", path, &[], vec![]).1;
    let sites: SiteList = serde_json::from_str(&text("/v1/sites")).unwrap();
    assert_eq!(sites.sites[1].pools[0].name, "beta/y");
    assert_eq!(sites.sites[0].owner, "olga");
    let pool = &sites.sites[0].pools[0];
    let sum = pool.down + pool.local + pool.withheld + pool.booked + pool.ours + pool.free;
    assert_eq!(sum, pool.nodes);
    let market: Market = serde_json::from_str(&text("/v1/market")).unwrap();
    assert_eq!((market.policy.as_str(), market.jobs.over), ("easy", 1));
    let report: Report = serde_json::from_str(&text("/v1/report")).unwrap();
    assert_eq!((report.users[0].user.as_str(), report.users[0].completed), ("ana", 1));
    let accounts: AccountList = serde_json::from_str(&text("/v1/accounts?limit=1")).unwrap();
    assert_eq!(accounts.next.as_deref(), Some("bank"));
    let rest: AccountList = serde_json::from_str(&text("/v1/accounts?after=bank")).unwrap();
    assert_eq!(rest.accounts[0].account, "user:ana");
    stage.stop();
}
