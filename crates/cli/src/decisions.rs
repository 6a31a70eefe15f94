//! The proof that the live market's policies are the simulator's: every decision of a journal,
//! made again.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_daemon::codec::Codec;
use tradewind_daemon::live::record::MarketRecord;
use tradewind_daemon::live::{Record, State};
use tradewind_daemon::store::Store;
use tradewind_model::{Event, Market, Pools, Time};
use tradewind_sched::policy::Policy;
use tradewind_sim::retrace::{Began, Retrace, Step};

use crate::policy::PolicySpec;

/// Rows that are read at once.
const PAGE: usize = 4_096;

/// The policy, and what users had used when it began.
#[derive(Debug, Clone)]
struct Reign {
    policy: PolicySpec,
    usage: BTreeMap<i64, u64>,
}

type Maker = fn(&Reign, &Market) -> Box<dyn Policy>;

/// A journal on its way through the simulator.
struct Trial {
    state: State,
    retrace: Option<Retrace<Reign, Maker>>,
    /// Pools that the next policy begins with.
    pools: Option<Arc<Pools>>,
}

/// Makes all decisions again, as far as the journal goes, and compares them: each answer, and the
/// market in the end. Returns how many answers there were.
///
/// # Errors
/// The first difference, or a journal that cannot be read: for people.
pub(crate) fn retrace<C: Codec>(store: &mut dyn Store, codec: &C) -> Result<u64, String> {
    let mut trial = Trial { state: State::empty(Time(0)), retrace: None, pools: None };
    let mut after = 0;
    loop {
        let rows = store.read(after, PAGE).map_err(|wrong| wrong.to_string())?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        for row in rows {
            let record = codec.read_record(&row.body).map_err(|wrong| wrong.to_string())?;
            let done = trial.go_on(Time(row.at), &record);
            done.map_err(|wrong| format!("row {}: {wrong}", row.seq))?;
        }
    }
    trial.end()
}

impl Trial {
    fn go_on(&mut self, at: Time, record: &Record) -> Result<(), String> {
        let event = self.state.market_event(record);
        if let (Some(retrace), Some((job, arrival))) =
            (&mut self.retrace, self.state.arrival_by(record))
        {
            retrace.arrives(job, arrival);
        }
        self.state.apply(at, record).map_err(|wrong| wrong.to_string())?;
        match record {
            Record::Market(MarketRecord::Gridded { pools, .. }) if self.retrace.is_none() => {
                let market = Market::new(Arc::clone(pools), at);
                self.retrace = Some(Retrace::new(market, make));
            }
            Record::Market(MarketRecord::Gridded { pools, .. }) => {
                self.pools = Some(Arc::clone(pools));
            }
            Record::Market(MarketRecord::Began { policy, usage, .. }) => {
                // A policy that cannot be built now cannot have decided.
                let gone = |_| format!("there is no policy `{policy}` any more");
                let policy = PolicySpec::parse(policy).map_err(gone)?;
                policy.for_market(self.state.market.pools()).map_err(gone)?;
                let usage = usage.iter().copied().collect();
                let policy = Reign { policy, usage };
                let began = Some(Began { policy, pools: self.pools.take() });
                self.step(&Step { at, began, events: vec![], commands: None })?;
                let retrace = self.retrace.as_mut().ok_or("a policy before there were sites")?;
                self.state.arrivals().for_each(|(job, arrival)| retrace.arrives(job, arrival));
            }
            Record::Market(MarketRecord::Decided { commands }) => {
                let commands = Some(commands.clone());
                self.step(&Step { at, began: None, events: vec![], commands })?;
            }
            _ => self.hear(at, event)?,
        }
        Ok(())
    }

    fn hear(&mut self, at: Time, event: Option<Event>) -> Result<(), String> {
        let events: Vec<Event> = event.into_iter().collect();
        match events.is_empty() {
            true => Ok(()),
            false => self.step(&Step { at, began: None, events, commands: None }),
        }
    }

    fn step(&mut self, step: &Step<Reign>) -> Result<(), String> {
        let retrace = self.retrace.as_mut().ok_or("a decision before there were sites")?;
        retrace.step(step).map_err(|wrong| wrong.to_string())
    }

    fn end(self) -> Result<u64, String> {
        let Some(retrace) = self.retrace else { return Ok(0) };
        let mut market = retrace.market().clone();
        let passed = market.pass_to(self.state.now());
        passed.map_err(|wrong| wrong.to_string())?;
        match market.state() == self.state.market.state() {
            true => Ok(retrace.passes()),
            false => Err("the market differs in the end".to_owned()),
        }
    }
}

#[expect(clippy::expect_used, reason = "it was made once before, a moment ago")]
fn make(reign: &Reign, market: &Market) -> Box<dyn Policy> {
    let made = reign.policy.for_live_market(market.pools());
    let mut made = made.map_err(|_| ()).expect("a policy that was made before");
    made.resume(&reign.usage);
    made
}

#[cfg(test)]
mod tests {
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
        Admission, Attribute, Energy, Performance, Pool, Power, Price, Series, Site, SiteId,
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
                (
                    row.at,
                    Json.record(&Record::Market(MarketRecord::Began { release, usage, policy })),
                )
            }
            _ => (row.at, row.body),
        });
        other.open().unwrap().append(&forged.collect::<Vec<_>>()).unwrap();
        let wrong = retrace(&mut other.open().unwrap(), &Json).unwrap_err();
        assert!(wrong.contains("differ"), "{wrong}");
    }
}
