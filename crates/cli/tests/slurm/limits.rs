//! Time limits on sites of different performance.

use serde_json::{Value, json};

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer};

/// Longer than a minute's work takes on nodes of performance 2, shorter than a minute.
const WORK: [&str; 4] = ["--time", "1:00", "--wrap", "sleep 40"];

#[test]
fn a_minute_is_a_minute_at_every_site_unless_its_owner_says_work() {
    let alpha = Cluster::start(&Plan::of("alpha", 2));
    let beta = Cluster::start(&Plan::of("beta", 2));
    let fast = |cluster, name| {
        let mut offer = Offer::new(cluster, name, 2, "1");
        offer.pool.push_str(", performance = 2");
        offer
    };
    let offers = [fast(&alpha, "alpha"), fast(&beta, "beta").with("times = \"work\"")];
    let market = Market::start("", &offers);
    let submit = |site, more: &[&str]| market.submit(&[&WORK[..], &["-M", site], more].concat());
    let (wall, work) = (submit("alpha", &[]), submit("beta", &[]));
    let asked = submit("alpha", &["--times", "work"]);

    let wall = market.until_state(wall, "COMPLETED");
    let counted = |limit, times, by, work, pool| json!([{"limit": limit, "times": times, "by": by, "work": work, "pools": [pool]}]);
    assert_eq!(wall["limits"], counted(60, "wall", "default", 120, "alpha/alpha-main"));
    let work = market.until_state(work, "TIMEOUT");
    assert_eq!(work["limits"], counted(30, "work", "owner", 60, "beta/beta-main"));
    let asked = market.until_state(asked, "TIMEOUT");
    assert_eq!(asked["limits"], counted(30, "work", "job", 60, "alpha/alpha-main"));
    let told = |job: &Value| market.text(&["job", &job["id"].to_string()]);
    let line =
        "time limit      1:00 of wall-clock time, the default (2:00 of work at performance 1)";
    assert!(told(&wall).contains(line), "{}", told(&wall));
    let line =
        "time limit      0:30 of wall-clock time: 1:00 of work at performance 1, by the site's";
    assert!(told(&work).contains(line), "{}", told(&work));
    market.check_money(&market.all_over());
}
