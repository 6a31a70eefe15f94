use tradewind_model::{
    Admission, Attribute, Cause, Guard, Horizon, Outage, OwnersFirst, PoolId, Price, Standing, Time,
};

use super::*;
use crate::outages::KnownFrom;

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
    let pools = grid.pools(1);
    let pools = pools.as_slice();
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
    let load = OwnerLoad { share: (200, 600), steps: 4, tasks, period: Span(43_200) };
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
    let what = Outage { pool, nodes: 100, from, until, cause: Cause::Maintenance };
    assert_eq!(all, [(Time(3 * day), what)], "all nodes, a week ahead");
    assert_eq!(grid.planned[2].known, KnownFrom::Ahead(Span(3)));
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
fn prices_may_change_with_time() {
    let of = |site: &str, pool: &str| {
        toml(&format!(
            "[[site]]\nname = \"a\"\n{site}\npool = [{{ name = \"p\", nodes = 4, {pool} }}]"
        ))
    };
    let day = "price = { every = \"24h\", values = [[\"0h\", 1.5], [\"8h\", 4]] }";
    let pools = of(day, "performance = 2").unwrap().pools(1);
    let rate = pools.rate(PoolId(0)).unwrap();
    assert_eq!((rate.at(Time(8 * 3_600)), rate.at(Time(25 * 3_600))), (4_000_000, 1_500_000));
    assert_eq!(pools.pool(PoolId(0)).price, Price(1_500_000));
    // A pool's own price comes first, two numbers are drawn from, and a constant series is a price.
    assert_eq!(of(day, "price = 3").unwrap().pools(1).rates(), None);
    assert_eq!(of(day, "price = [1, 2]").unwrap().pools(1).rates(), None);
    assert_eq!(of("", "price = [[0, 2], [9, 2]]").unwrap().pools(1).rates(), None);
    let queues = of("", "queues = \"1:1\", price = [[0, 2], [9, 1]]").unwrap().pools(1);
    assert!(queues.rate(PoolId(0)).is_some() && queues.rate(PoolId(1)).is_some());
    assert!(of("", "price = [[9, 2], [0, 1]]").unwrap_err().contains("is not later"));
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

/// Names, nodes and limits (processors from, to, longest time) of all pools.
type Seen = Vec<(String, u32, (Option<u32>, Option<u32>, Option<i64>))>;

fn seen(text: &str) -> Seen {
    let pools = toml(text).unwrap().pools(1);
    let limits =
        |it: &Admission| (it.min_processors, it.max_processors, it.max_time.map(|max| max.0));
    pools.iter().map(|(_, it)| (it.name.clone(), it.nodes, limits(&it.admission))).collect()
}

fn site(pools: &str) -> String {
    format!("[[site]]\nname = \"a\"\n{pools}")
}

#[test]
fn shares_are_rounded_down_and_the_last_queue_gets_the_rest() {
    let sizes = |nodes: u32, shares: &str| -> Vec<u32> {
        let pool = format!("pool = [{{ name = \"p\", nodes = {nodes}, queues = \"{shares}\" }}]");
        seen(&site(&pool)).into_iter().map(|(_, nodes, _)| nodes).collect()
    };
    assert_eq!(sizes(2_050, "1:2:3"), [341, 683, 1_026]);
    assert_eq!((sizes(6, "1:2:3"), sizes(7, "2: 1")), (vec![1, 2, 3], vec![4, 3]));
    assert_eq!(sizes(16_777_216, "1:1000000"), [16, 16_777_200]);
    assert_eq!(sizes(5, "9"), [5]);
}

#[test]
fn queues_have_names_and_limits() {
    let text = site(
        "[[site.pool]]\nname = \"p\"\nnodes = 12\nqueues = \"1:2\"\nmax_time = \"1h\"\n\
         [[site.pool]]\nname = \"q\"\nnodes = 10\nmax_processors = 4\n\
         [[site.pool.queue]]\nname = \"short\"\nnodes = 3\nmax_time = 60\n\
         [[site.pool.queue]]\nnodes = 7\nmin_processors = 2\nmax_processors = 5\n\
         [[site.pool]]\nname = \"r\"\nnodes = 9\nqueue = [{}, { share = 2 }]\n\
         [[site.pool]]\nname = \"whole\"\nnodes = 2\nmin_processors = 2\n",
    );
    let named = |name: &str, nodes, limits| (name.to_owned(), nodes, limits);
    assert_eq!(
        seen(&text),
        [
            named("p-1", 4, (None, None, Some(3_600))),
            named("p-2", 8, (None, None, Some(3_600))),
            named("short", 3, (None, Some(4), Some(60))),
            named("q-2", 7, (Some(2), Some(5), None)),
            named("r-1", 3, (None, None, None)),
            named("r-2", 6, (None, None, None)),
            named("whole", 2, (Some(2), None, None)),
        ]
    );
    assert!(toml(&text).unwrap().has_queues() && !toml(TWO).unwrap().has_queues());
}

#[test]
fn a_queue_has_the_factor_of_its_pool_unless_it_has_one_of_its_own() {
    let text = site(
        "[[site.pool]]\nname = \"p\"\nnodes = 4\nqueues = \"1:1\"\nask_factor = 2.5\n\
         [[site.pool]]\nname = \"q\"\nnodes = 4\nask_factor = 0.5\n\
         queue = [{}, { ask_factor = 3 }]\n[[site.pool]]\nname = \"r\"\nnodes = 1\n",
    );
    let pools = toml(&text).unwrap().pools(1);
    let factors = pools.iter().map(|(id, _)| pools.ask_factor(id).thousandths());
    assert_eq!(factors.collect::<Vec<_>>(), [2_500, 2_500, 500, 3_000, 1_000]);
    for wrong in ["0", "-1", "0.0001", "1000001", "\"two\""] {
        let text = site(&format!("pool = [{{ name = \"p\", nodes = 4, ask_factor = {wrong} }}]"));
        let told = toml(&text).unwrap_err().to_string();
        assert!(told.contains("site[0].pool[0].ask_factor"), "{told}");
    }
}

#[test]
fn prices_may_follow_load() {
    let of = |site: &str, pool: &str| {
        let site = format!("[[site]]\nname = \"a\"\n{site}\n");
        toml(&format!("{site}pool = [{{ name = \"p\", nodes = 8, {pool} }}]\n"))
    };
    let rising = "price = { load = [[0, 0.5], [0.75, 2]] }";
    let pools = of(rising, "queues = \"1:1\"").unwrap().pools(1);
    let steps = [(0, Price(500_000)), (750, Price(2_000_000))];
    for queue in [PoolId(0), PoolId(1)] {
        assert_eq!(pools.load_price(queue).unwrap().steps(), steps);
        assert_eq!(pools.pool(queue).price, Price(500_000), "it is idle at first");
    }
    assert!(!of(rising, "price = 3").unwrap().pools(1).follow_load());
    let wrong = |load: &str| of("", &format!("price = {{ load = {load} }}")).unwrap_err();
    for (load, why) in [
        ("[]", "no price holds for an idle pool"),
        ("[[0.5, 1]]", "no price holds for an idle pool"),
        ("[[0, 1], [0.5, 3], [0.5, 4]]", "the share of a step is not between"),
        ("[[0, 1], [1.5, 3]]", "site[0].pool[0].price.load[1]: `1.5` is out of range"),
        ("[[0, 2], [0.5, 1]]", "the price of a step is below that of the step before"),
        ("[[0, 1], 3]", "expected `[share, price]`, found the number `3`"),
        ("[[0, \"much\"]]", "expected a number, found the text `much`"),
    ] {
        assert!(wrong(load).contains(why), "{load}: {}", wrong(load));
    }
    let both = of("", "price = { load = [[0, 1]], every = \"24h\" }").unwrap_err();
    assert!(both.contains("every"), "{both}");
}

#[test]
fn prices_may_follow_demand() {
    let of = |price: &str| {
        let text = format!("pool = [{{ name = \"p\", nodes = 8, price = {{ {price} }} }}]");
        toml(&site(&text))
    };
    let made = |price: &str| of(price).unwrap().pools(1).load_price(PoolId(0)).cloned().unwrap();
    let price = made("demand = [[0, 0.5], [2.5, 2]], every = \"1h\"");
    assert_eq!(price.steps(), [(0, Price(500_000)), (2_500, Price(2_000_000))]);
    assert_eq!(price.every(), Some(Span(3_600)));
    assert_eq!(made("demand = [[0, 1]]").every(), Some(Span(600)), "as documented");
    for (price, why) in [
        ("demand = [[0, 1]], every = 0", "site[0].pool[0].price.every"),
        ("demand = [[0, 1]], load = [[0, 1]]", "load"),
        ("demand = [[0, 1], [1000.5, 2]]", "price.demand[1]: `1000.5` is out of range"),
        ("demand = [[0, 1], [2, 2], [1, 3]]", "of the step before and 1000"),
    ] {
        let told = of(price).unwrap_err().to_string();
        assert!(told.contains(why), "{price}: {told}");
    }
}

#[test]
fn prices_are_drawn_once_for_a_site() {
    let text = "[[site]]\nname = \"a\"\nprice = [4.5, 9.5]\n\
                pool = [{ name = \"p\", nodes = 6, queues = \"1:2\" }, { name = \"q\", nodes = 1 },\n\
                        { name = \"own\", nodes = 1, price = 3 }]\n\
                [[site]]\nname = \"b\"\npool = [{ name = \"r\", nodes = 1, price = [4.5, 9.5] }]\n";
    let grid = toml(text).unwrap();
    let prices =
        |seed| -> Vec<i64> { grid.pools(seed).iter().map(|(_, pool)| pool.price.0).collect() };
    let mut first: Vec<i64> = (1..=300).map(|seed| prices(seed)[0]).collect();
    for seed in 1..=300 {
        let [p1, p2, q, own, r] = prices(seed)[..] else { panic!("five pools") };
        assert_eq!((p1, p1, own), (p2, q, 3_000_000));
        assert_ne!(p1, r, "another site, another price");
        assert!((4_500_000..=9_500_000).contains(&p1));
    }
    assert_eq!(prices(5), prices(5));
    // Uniform: the quartiles are about where they should be.
    first.sort_unstable();
    for (quarter, at) in [(75, 5_750_000), (150, 7_000_000), (225, 8_250_000)] {
        assert!((first[quarter] - at).abs() < 500_000, "{}", first[quarter]);
    }
    assert_eq!(
        toml(&text.replace("[4.5, 9.5]", "[2, 2]")).unwrap().pools(9).pool(PoolId(0)).price,
        { Price::credits(2) }
    );
}

#[test]
fn outages_of_a_pool_are_spread_over_its_queues() {
    let text = "[[site]]\nname = \"a\"\npool = [{ name = \"p\", nodes = 12, queues = \"1:2:3\" }]\n\
                local = [{ nodes = 5, from = 0, until = 9 }, { from = 9, until = 10, repeat = 5 },\n\
                         { pool = \"p-2\", from = 0, until = 1 }]\n";
    let failures = "[[outage]]\npool = \"p\"\nnode = 1\nnodes = 6\nfrom = 0\nuntil = 1\n\
                    [[outage]]\npool = \"p\"\nnode = 99\nfrom = 0\nuntil = 1\n\
                    [[outage]]\npool = \"p-1\"\nnode = 1\nfrom = 0\nuntil = 1\n";
    let grid = toml(&format!("{text}{failures}")).unwrap();
    let parts: Vec<_> = grid.planned.iter().map(|it| (it.what.pool.0, it.what.nodes)).collect();
    let (spread, all, one) = ([(1, 2), (2, 3)], [(0, 2), (1, 4), (2, 6)], [(1, 4)]);
    assert_eq!(parts[..6], [&spread[..], &all, &one].concat());
    let broken: Vec<_> =
        grid.planned[6..].iter().map(|it| (it.what.pool.0, it.what.nodes, it.what.cause)).collect();
    let hit = |pool, nodes, first| (pool, nodes, Cause::Failure(first));
    assert_eq!(broken, [hit(0, 1, 1), hit(1, 4, 0), hit(2, 1, 0), hit(2, 1, 5), hit(0, 1, 1)]);
}

#[test]
fn odd_queues_are_mistakes() {
    let wrong = r#"
[[site]]
name = "alpha"
price = [9.5, 4.5]
[[site.pool]]
name = "a"
nodes = 3
queues = "1:2:3"
[[site.pool]]
name = "b"
nodes = 10
queues = "1:x"
[[site.pool]]
name = "c"
nodes = 10
queues = "1:1"
queue = [{}]
[[site.pool]]
name = "d"
nodes = 10
min_processors = 4
max_processors = 3
[[site.pool]]
name = "e"
nodes = 10
queue = [
  { name = "d", nodes = 4 },
  { nodes = 5, max_time = 0 },
]
[[site.pool]]
name = "f"
nodes = 10
queue = [
  { name = "f", nodes = 4, share = 1 },
  { share = 1, min_processors = 5, max_processors = 2, size = 3 },
]
[[site.pool]]
name = "g-1"
nodes = 2
min_processors = 3
price = [-1, 2]
[[site.pool]]
name = "g"
nodes = 10
queues = "1:1"
max_processors = 9
local = [{ pool = "g", nodes = 11, from = 0, until = 1 }]
[[site.pool]]
name = "h"
nodes = 10
queue = [{ share = -1 }, { share = 0 }]
[[site.pool]]
name = "i"
nodes = 10
queue = []
"#;
    let found = toml(wrong).unwrap_err();
    for (place, message) in [
        ("4: site[0].price", "expected two numbers, the lower first"),
        ("8: site[0].pool[0].queues", "the queue `a-1` would have no processors"),
        ("12: site[0].pool[1].queues", "`x` is not a share"),
        ("16: site[0].pool[2].queues", "both `queues` and `queue`"),
        ("21: site[0].pool[3].min_processors", "`min_processors` 4 is above `max_processors` 3"),
        ("26: site[0].pool[4].queue", "the queues have 9 nodes, the pool 10"),
        ("28: site[0].pool[4].queue[1].max_time", "`0` is out of range"),
        ("34: site[0].pool[5].queue[0].share", "both `share` and `nodes`"),
        ("35: site[0].pool[5].queue[1].size", "unknown key"),
        ("35: site[0].pool[5].queue[1].min_processors", "`min_processors` 5 is above"),
        ("33: site[0].pool[5].queue", "some queues have `nodes`, some shares"),
        ("37: site[0].pool[6]", "it takes jobs of 3 processors or more, and `g-1` has 2"),
        ("41: site[0].pool[6].price[0]", "negative number `-1`"),
        ("45: site[0].pool[7].queues", "the queue name `g-1` is used before, in line 38"),
        ("47: site[0].pool[7].local", "unknown key"),
        ("51: site[0].pool[8].queue[0].share", "negative number `-1`"),
        ("51: site[0].pool[8].queue[1]", "the queue `h-2` would have no processors"),
        ("55: site[0].pool[9].queue", "there are no queues"),
    ] {
        let line = format!("error: grid.toml:{place}: {message}");
        assert!(found.contains(&line), "{line}\n\n{found}");
    }
}

const OWNERS: &str = r#"
[[site]]
name = "alpha"
pool = [{ name = "a", nodes = 4 }, { name = "b", nodes = 8, queues = "1:1" }]
  [[site.owners]]
  log = "own.swf"
  policy = "easy"
  pool = "b"
  market = "in-line"
  guard = "early"
  horizon = "1d"
  start = 0
  [[site.owners]]
  log = "../other.swf.gz"
  policy = "conservative"
  pool = "a"
  max_delay = "5m"
  wider = "drop"

[[site]]
name = "beta"
pool = [{ name = "c", nodes = 4 }, { name = "d", nodes = 4 }]
owners = [{ log = "x.swf", policy = "fcfs", market = "in-line" }]
"#;

#[test]
fn owners_with_queues_are_read() {
    let input = Input::new("grids/grid.toml", OWNERS);
    let owners = parse(&input).unwrap().0.owners;
    let pools: Vec<&[PoolId]> = owners.iter().map(|it| it.pools.as_slice()).collect();
    assert_eq!(pools, [&[PoolId(1), PoolId(2)][..], &[PoolId(0)], &[PoolId(3), PoolId(4)]]);
    let logs: Vec<&str> = owners.iter().map(|it| it.log.as_str()).collect();
    assert_eq!(logs, ["grids/own.swf", "grids/../other.swf.gz", "grids/x.swf"]);
    let first = &owners[0];
    assert_eq!((first.horizon, first.start), (Some(Span(86_400)), Some(Time(0))));
    assert_eq!((first.market, owners[1].market), (Standing::InLine, Standing::Behind));
    let guards: Vec<Guard> = owners.iter().map(|it| it.owners_first.guard).collect();
    assert_eq!(guards, [Guard::Early, Guard::Spare, Guard::Limits], "behind, and in line");
    let delays = [0, 1, 2].map(|at: usize| owners[at].owners_first.max_delay);
    assert_eq!(delays, [OwnersFirst::NO_BOUND, Span(300), OwnersFirst::NO_BOUND]);
    assert_eq!((first.wider, owners[1].wider), (Wider::Error, Wider::Drop));
    assert_eq!((first.lines, first.place.as_str()), ((6, 7), "site[0].owners[0]"));
}

#[test]
fn mistakes_about_owners_name_line_and_field() {
    let wrong = |from: &str, to: &str| toml(&OWNERS.replace(from, to)).unwrap_err();
    let said = wrong("pool = \"b\"", "pool = \"bb\"");
    assert!(
        said.contains("grid.toml:8: site[0].owners[0].pool: the site has no pool `bb`"),
        "{said}"
    );
    let said = wrong("pool = \"a\"", "pool = \"b-1\"");
    assert!(said.contains("an owners' queue already, `site[0].owners[0]`"), "{said}");
    let said = wrong("horizon = \"1d\"", "from = 5\n  to = 5");
    assert!(said.contains("`to` is not after `from`"), "{said}");
    let said = wrong("  log = \"own.swf\"\n", "");
    assert!(said.contains("site[0].owners[0]: `log` is missing"), "{said}");
}

#[test]
fn memory_is_that_of_each_node() {
    let text = |site: &str, pool: &str| {
        format!("[[site]]\nname = 's'\n{site}\npool = [{{ name = 'p', nodes = 9{pool} }}]\n")
    };
    let memory = |site: &str, pool: &str| {
        let grid = toml(&text(site, pool)).unwrap();
        grid.pools(1).pool(PoolId(0)).node_memory()
    };
    assert_eq!(memory("", ""), None);
    assert_eq!(memory("memory = '2G'", ""), Some(2 << 20));
    assert_eq!(memory("memory = '2G'", ", memory = '1.5M'"), Some(1_536));
    assert_eq!(memory("", ", memory = '2T', queues = '1:2'"), Some(2 << 30));
    let bad = |pool: &str| toml(&text("", pool)).unwrap_err().to_string();
    assert!(bad(", memory = '4'").contains("`4` is no amount of memory"));
    assert!(bad(", memory = '3T'").contains("no amount of memory"));
    let both = ", memory = '1M', attributes = { memory_kib = 1025 }";
    assert!(bad(both).contains("`memory` and the attribute `memory_kib` differ"), "{}", bad(both));
}

#[test]
fn licences_are_drawn_for_as_many_jobs_as_the_grid_says() {
    let licence = |jobs: &str| {
        format!(
            "{}[[licence]]\nname = \"abaqus\"\ncount = 4\nprice = 1\n{jobs}",
            site("[[site.pool]]\nname = \"p\"\nnodes = 4\n")
        )
    };
    let grid = toml(&licence("jobs = { share = 0.25, each = [1, 3] }")).unwrap();
    let pools = grid.pools(7);
    assert_eq!((pools.licences().len(), pools.licences()[0].count), (1, 4));
    let counts: Vec<u32> = (0..4_000)
        .filter_map(|job| grid.licences_of(7, job))
        .map(|shares| shares[0].count)
        .collect();
    assert!((900..1_100).contains(&counts.len()), "{} of 4000 jobs", counts.len());
    for count in 1..=3 {
        let many = counts.iter().filter(|it| **it == count).count();
        assert!((250..420).contains(&many), "{many} jobs take {count}");
    }
    assert!(counts.iter().all(|count| (1..=3).contains(count)));
    assert_eq!(toml(&licence("")).unwrap().licences_of(7, 1), None);
    let wrong = toml(&licence("jobs = { share = 2, each = [1, 5] }")).unwrap_err();
    assert!(wrong.contains("licence[0].jobs.share") && wrong.contains("there are 4"), "{wrong}");
}

#[test]
fn data_is_drawn_for_as_many_jobs_as_the_grid_says() {
    let grid = |data: &str| {
        format!(
            "{}[[link]]\nbetween = [\"a\", \"store\"]\nbandwidth = \"8 Mbit/s\"\n[data]\n{data}",
            site("[[site.pool]]\nname = \"p\"\nnodes = 4\n")
        )
    };
    let read = |data: &str| toml(&grid(data));
    let some = "jobs = 0.25\ninput = [\"1 MB\", \"1 GB\"]\noutput = \"2 MB\"\n";
    let all = read(some).unwrap();
    assert!(all.uses_data());
    assert_eq!(all.pools(7).links().unwrap().as_slice().len(), 1);
    let drawn: Vec<_> = (0..4_000).filter_map(|job| all.data_of(7, job)).collect();
    assert!((900..1_100).contains(&drawn.len()), "{} of 4000 jobs", drawn.len());
    let input = |power: u32| drawn.iter().filter(|it| it.data().input >> 20 >= 1 << power).count();
    // As many from 1 to 32 MB as from 32 MB to 1 GB, but for chance; the end alone is a power of two.
    assert!((400..600).contains(&input(5)), "{} of {}", input(5), drawn.len());
    for staging in &drawn {
        let data = staging.data();
        assert!((1 << 20..=1 << 30).contains(&data.input) && data.output == 2 << 20);
        assert_eq!((data.from.as_str(), data.to.as_str()), ("a", "a"), "the only site");
    }
    let far = read(&format!("{some}at = [\"store\"]")).unwrap();
    let staging = (0..50).find_map(|job| far.data_of(7, job)).unwrap();
    let bytes = i64::try_from(staging.data().input).unwrap();
    let times = staging.at(SiteId(0)).unwrap();
    assert_eq!(times.stage_in.0, (bytes * 8 + 7_999_999) / 8_000_000);
    assert_eq!(times.stage_out.0, 3, "2 MB are 16.8 Mbit");
    for (data, expected) in [
        ("input = \"1 MB\"", "data: `jobs` is missing"),
        ("jobs = 0.5", "data: neither `input` nor `output`"),
        ("jobs = 1.5\ninput = \"1 MB\"", "data.jobs"),
        ("jobs = 0.5\ninput = \"1\"", "data.input: expected a size or two"),
        ("jobs = 0.5\ninput = [\"2 MB\", \"1 MB\"]", "data.input: expected a size or two"),
        ("jobs = 0.5\ninput = \"1 MB\"\nat = []", "data.at: an empty list"),
        ("jobs = 0.5\ninput = \"1 MB\"\nat = [\"stroe\"]", "did you mean `store`?"),
    ] {
        let wrong = read(data).unwrap_err();
        assert!(wrong.contains(expected), "{data}: {wrong}");
    }
}
