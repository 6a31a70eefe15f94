use tradewind_model::{Attribute, Cause, Closure, Horizon, PoolId, Price, Time};

use super::*;
use crate::outages::Known;

fn toml(text: &str) -> Result<GridFile, String> {
    let input = Input::new("grid.toml", text);
    parse(&input).map(|(grid, _)| grid).map_err(|wrong| wrong.to_string())
}

const TWO: &str = r#"
title = "two sites"

[[site]]
name = "alpha"
log = "kth"
  [[site.pool]]
  name = "fast"
  nodes = 64
  performance = 2.5
  price = 4
  attributes = { gpu = true }
  [[site.pool]]
  name = "slow"
  nodes = 100
  [[site.local]]
  pool = "fast"
  nodes = 8
  from = "1h"
  until = "3h"
  repeat = "1d"
  [[site.maintenance]]
  pool = "slow"
  from = "10d"
  until = "11d"
  [site.failures]
  mtbf = "300d"
  shape = 0.75
  repair = "6h"
  repair_law = "lognormal"
  burst = [1, 4]

[[site]]
name = "beta"
pool = [{ name = "beta", nodes = 16, price = 0.5 }]
load = { share = [0.2, 0.6], task = ["10m", 7200], period = "12h" }
maintenance = [{ from = 5, until = 10, notice = 3 }]

[[outage]]
pool = "slow"
node = 17
from = 1000
until = 2000
"#;

#[test]
fn a_grid_is_read() {
    let grid = toml(TWO).unwrap();
    let pools = grid.pools.as_slice();
    let seen: Vec<_> = pools.iter().map(|it| (it.name.as_str(), it.site.0, it.nodes)).collect();
    assert_eq!(seen, [("fast", 0, 64), ("slow", 0, 100), ("beta", 1, 16)]);
    assert_eq!((pools[0].performance.thousandths(), pools[0].price), (2_500, Price::credits(4)));
    assert_eq!(pools[0].attributes.get("gpu"), Some(&Attribute::Flag(true)));
    assert_eq!((pools[1].performance.thousandths(), pools[1].price), (1_000, Price(0)));
    let failures = Failures {
        mtbf: Span(300 * 86_400),
        shape: 750,
        repair: Span(21_600),
        repair_sigma: Some(1_000),
        burst: (1, 4),
    };
    assert_eq!(grid.failures, [(SiteId(0), failures)]);
    let tasks = (Span(600), Span(7_200));
    let load = Load { share: (200, 600), steps: 4, tasks, period: Span(43_200) };
    assert_eq!(grid.loads, [(SiteId(1), load)]);
}

#[test]
fn planned_outages_repeat_within_the_horizon() {
    let grid = toml(TWO).unwrap();
    let day = 86_400;
    let within = Horizon { start: Time(2 * 3_600), end: Time(2 * day) };
    let closures = |index: usize| -> Vec<(i64, i64, i64)> {
        let all = grid.planned[index].closures(within);
        all.map(|(told, it)| (told.0, it.from.0, it.until.0)).collect()
    };
    // Known from the start; the first is under way.
    let (one, three) = (3_600, 3 * 3_600);
    assert_eq!(closures(0), [(7_200, one, three), (7_200, day + one, day + three)]);
    let beyond = (3 * day, 10 * day, 11 * day);
    assert_eq!(closures(1), [beyond], "jobs are planned around what begins after the horizon");
    let later = Horizon { start: Time(0), end: Time(20 * day) };
    let all: Vec<_> = grid.planned[1].closures(later).collect();
    let (pool, from, until) = (PoolId(1), Time(10 * day), Time(11 * day));
    let what = Closure { pool, nodes: 100, from, until, cause: Cause::Maintenance };
    assert_eq!(all, [(Time(3 * day), what)], "all nodes, a week ahead");
    assert_eq!(grid.planned[2].known, Known::Ahead(Span(3)));
    let [broken] = grid.planned[3].closures(later).collect::<Vec<_>>()[..] else {
        panic!("one failure")
    };
    assert_eq!((broken.0, broken.1.nodes, broken.1.cause), (Time(1_000), 1, Cause::Failure(17)));
}

#[test]
fn logs_find_their_sites() {
    let grid = toml(TWO).unwrap();
    assert_eq!([grid.home("kth", 7), grid.home("sdsc", 0)], [Some(SiteId(0)), None]);
    let unnamed = toml(&TWO.replace("log = \"kth\"", "")).unwrap();
    let homes = [0, 1, 2].map(|index| unnamed.home("x", index));
    assert_eq!(homes, [Some(SiteId(0)), Some(SiteId(1)), None]);
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let wrong = r#"
[[site]]
name = "alpha"
pool = [{ name = "a", nodes = 0 }, { name = "a", nodes = 4, speed = 2 }]
local = [{ pool = "b", from = 5, until = 5 }]
failures = { shape = 0, repair_sigma = 2 }

[[site]]
name = "alpha"
pool = []
load = { share = [0.5, 0.1], task = [0, "soon"] }

[[outage]]
pool = "a"
nodes = 9
from = 0
until = "1h"
cause = "failing"
"#;
    let found = toml(wrong).unwrap_err();
    for (place, message) in [
        ("4: site[0].pool[0].nodes", "`0` is out of range"),
        ("4: site[0].pool[1].name", "the pool name `a` is used before, in line 4"),
        ("4: site[0].pool[1].speed", "unknown key"),
        ("5: site[0].local[0].pool", "unknown pool `b`"),
        ("6: site[0].failures", "`mtbf` is missing"),
        ("6: site[0].failures.shape", "`0` is out of range"),
        ("6: site[0].failures.repair_sigma", "an exponential law"),
        ("9: site[1].name", "the site name `alpha` is used before, in line 3"),
        ("10: site[1].pool", "there are no pools"),
        ("11: site[1].load.share", "expected two numbers, the lower first"),
        ("11: site[1].load.task[0]", "`0` is out of range"),
        ("11: site[1].load.task[1]", "`soon` is not a time"),
        ("18: outage[0].cause", "unknown value `failing`"),
    ] {
        let line = format!("error: grid.toml:{place}: {message}");
        assert!(found.contains(&line), "{line}\n\n{found}");
    }
    assert!(toml("site = []").unwrap_err().contains("there are no sites"));
    assert!(toml("title = \"x\"").unwrap_err().contains("`site` is missing"));
}

#[test]
fn odd_outages_are_mistakes() {
    let with = |entry: &str| {
        let site = "[[site]]\nname = \"a\"\npool = [{ name = \"p\", nodes = 4 }]\n";
        toml(&format!("{site}{entry}")).unwrap_err()
    };
    let local = |entry: &str| with(&format!("local = [{{ {entry} }}]"));
    assert!(local("from = 0, until = 9, nodes = 5").contains("5 nodes of a pool of 4"));
    assert!(local("from = 9, until = 9").contains("`from` 9 is not before `until` 9"));
    assert!(local("from = 0, until = 9, repeat = 8").contains("before it is over"));
    assert!(local("from = 0, until = 9, announced = 0, notice = 1").contains("both"));
    let outage = with("[[outage]]\nfrom = 0\nuntil = 1\ncause = \"local\"\nnode = 1");
    assert!(outage.contains("only a failure hits a certain node"));
}
