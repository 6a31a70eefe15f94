//! A daemon that sends check jobs to another one.

use std::fs;

use super::Market;

#[test]
fn a_check_job_runs_at_the_peer_and_its_answer_is_read_there() {
    let folder = tempfile::tempdir().unwrap();
    let [mut a, mut b] = ["a", "b"].map(|name| Market::new(folder.path(), name));
    b.configure(2, &[("a", a.port)]);
    b.start();
    a.configure(2, &[("b", b.port)]);
    let file = a.folder.join("tradewind.toml");
    let text = fs::read_to_string(&file).unwrap();
    // The last table is that of the peer.
    fs::write(&file, format!("{text}check_every = '1h'\ncheck_user = 'carl'\n")).unwrap();
    a.start();
    a.admit(&b);
    b.admit(&a);
    // With the tokens it asks its peer at once.
    a.kill();
    a.start();
    let peer = |market: &Market| market.must("GET", "/v1/peers", "", None)["peers"][0].clone();
    a.until("the check is answered", |market| peer(market)["checks_right"] == 1);
    let known = peer(&a);
    assert_eq!((&known["checks_wrong"], &known["kept"]), (&0.into(), &1.into()), "{known}");
    let job = a.must("GET", &format!("/v1/jobs/{}", known["last_check"]), "", None);
    assert_eq!((job["state"].as_str(), job["user"].as_str()), (Some("COMPLETED"), Some("carl")));
    assert!(job["paid"].as_f64().unwrap() > 0.0, "{job}");
    for market in [&mut a, &mut b] {
        market.kill();
        market.verify();
    }
}
