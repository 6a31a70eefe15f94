mod damage;

use std::sync::Arc;

use tradewind_daemon::codec::Json;
use tradewind_daemon::live::rights::{Actor, Role};
use tradewind_daemon::live::{Act, Ask, Input, Live, Settings};
use tradewind_daemon::site::fake::{self, FakeSite};
use tradewind_daemon::site::{PoolSetup, Site as _};
use tradewind_daemon::store::Origin;
use tradewind_daemon::store::memory::Disk;
use tradewind_io::submission::{OnLost, Submission, TimeLimit};
use tradewind_model::{
    Admission, Attribute, Energy, Performance, Pool, PoolId, Power, Price, Series, Site, SiteId,
    SitePower, Span, Times,
};

use super::*;
use crate::commands::up::policies::Policies;

const DAWN: Time = Time(1_800_000_000);
/// The emissions of a cycle are limited, and there are series in the journal.
const CLEAN: &str = "css[criteria=carbon+cost,max-carbon=900]";

fn pools() -> Pools {
    let pool = |name: &str, nodes, performance, price| Pool {
        name: name.to_owned(),
        site: SiteId(0),
        nodes,
        performance: Performance::from_thousandths(performance).unwrap(),
        price: Price(price),
        attributes: [(Energy::BUSY.to_owned(), Attribute::Number(price * 300))].into(),
        admission: Admission::NONE,
        times: Times::Work,
    };
    let site = Site { name: "a".to_owned() };
    let pools = vec![pool("a/x", 4, 1_000, 1_000), pool("a/y", 2, 2_000, 3_000)];
    let carbon = Series::new(&[(DAWN, 500_000), (DAWN + Span(500), 90_000)]).ok();
    let power = Power { sites: vec![SitePower { carbon, price: None }] };
    Pools::new(vec![site], pools).unwrap().with_power(power)
}

fn submission(number: i64) -> Submission {
    Submission {
        on_lost: OnLost::Rerun,
        ..Submission::new(
            "j",
            fake::work(Span(10 + number % 50), 0),
            1 + (number % 4) as u32,
            TimeLimit::Reference(Span(30 + number % 60)),
        )
    }
}

/// The owner asks prices by the hour, then others, then one price.
fn terms(begin: Time, second: i64) -> Option<Input> {
    let rate = |first, second| {
        let steps = [(begin, first), (begin + Span(60), second)];
        Series::new(&steps).and_then(|rate| rate.repeated(Span(90))).ok().map(Arc::new)
    };
    let rate = match second {
        50 => rate(1_000, 9_000),
        150 => rate(5_000, 2_000),
        300 => None,
        _ => return None,
    };
    let price = rate.as_ref().map_or(1_000, |rate| rate.at(begin + Span(second)));
    let rates = rate.map(|rate| (PoolId(0), rate)).into_iter().collect();
    let prices = vec![(PoolId(0), Price(price))];
    Some(Input::Terms { prices, rates, withheld: Vec::new() })
}

/// A day of a market whose one site obeys all orders; one restart and one other policy.
fn journal(policy: &str, disk: &Disk) {
    let setup = |pool: &Pool| PoolSetup {
        name: pool.name[2..].to_owned(),
        nodes: pool.nodes,
        performance: pool.performance,
        attributes: pool.attributes.clone(),
    };
    let mut site = FakeSite::new(pools().as_slice().iter().map(setup).collect(), DAWN);
    let mut store = disk.open().unwrap();
    let mut state = State::empty(DAWN);
    let mut write = |at: Time, records: &[Record]| {
        let rows: Vec<_> = records.iter().map(|it| (at.0, Json.record(it))).collect();
        store.append(&rows).unwrap();
    };
    let first = [
        Record::Market(MarketRecord::Created { market: "m".to_owned() }),
        Record::Market(MarketRecord::Gridded {
            pools: Arc::new(pools()),
            owners: vec!["o".to_owned()],
        }),
    ];
    first.iter().for_each(|record| state.apply(DAWN, record).unwrap());
    write(DAWN, &first);
    for (reign, policy) in [policy, policy, "fcfs"].into_iter().enumerate() {
        let settings = Settings::default();
        let begin = DAWN + Span(400 * reign as i64);
        let (mut live, step) =
            Live::begin(state, settings, Arc::new(Policies), policy, begin).unwrap();
        write(live.state().now(), &step.records);
        for second in 0..400 {
            let at = begin + Span(second);
            site.advance(at);
            let mut inputs = vec![Input::Tick];
            if second % 7 == 0 {
                let submission = Arc::new(submission(second));
                let user = ["ana", "bo"][(second % 2) as usize].to_owned();
                let actor = Actor { user, role: Role::User };
                let ask = Ask::Submit { submission, key: None, quote: None };
                inputs.push(Input::Asked { actor, ask });
            }
            for order in live.orders(|_, _| false) {
                let answer = match (order.act, &order.order) {
                    (Act::Submit, Some(sheet)) => site.submit(sheet),
                    (Act::Withdraw, _) => site.withdraw(&order.tag),
                    _ => site.forget(&order.tag),
                };
                inputs.push(Input::Answered { tag: order.tag, act: order.act, answer });
            }
            inputs.push(Input::Surveyed { site: SiteId(0), survey: site.survey() });
            inputs.extend(terms(begin, second));
            for input in inputs {
                let step = live.step(at, input).unwrap();
                write(at, &step.records);
            }
            while live.is_due(at) {
                let step = live.plan(at).unwrap();
                write(at, &step.records);
            }
        }
        state = live.state().clone();
    }
}

#[test]
fn the_simulator_decides_what_the_live_market_decided() {
    for policy in
        ["easy", "conservative", "css", "easy[order=fair-share,half-life=1h]", "auction", CLEAN]
    {
        let disk = Disk::new(Origin { market: "m".to_owned(), created: DAWN.0 });
        journal(policy, &disk);
        let passes = retrace(&mut disk.open().unwrap(), &Json);
        assert!(passes.as_ref().is_ok_and(|passes| *passes > 100), "{policy}: {passes:?}");
    }
}

#[test]
fn another_decision_is_found() {
    let disk = Disk::new(Origin { market: "m".to_owned(), created: DAWN.0 });
    journal("easy", &disk);
    let rows = disk.open().unwrap().read(0, usize::MAX).unwrap();
    let other = Disk::new(Origin { market: "m".to_owned(), created: DAWN.0 });
    let forged = rows.into_iter().map(|row| match Json.read_record(&row.body).unwrap() {
        Record::Market(MarketRecord::Began { release, usage, policy }) if policy == "easy" => {
            let policy = "sjf".to_owned();
            (row.at, Json.record(&Record::Market(MarketRecord::Began { release, usage, policy })))
        }
        _ => (row.at, row.body),
    });
    other.open().unwrap().append(&forged.collect::<Vec<_>>()).unwrap();
    let wrong = retrace(&mut other.open().unwrap(), &Json).unwrap_err();
    assert!(wrong.contains("differ"), "{wrong}");
}
