//! The proof that the live market's policies are the simulator's: every decision of a journal,
//! made again.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use tradewind_daemon::codec::Codec;
use tradewind_daemon::engine::moment;
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

type Maker = fn(&Reign, &Market) -> Result<Box<dyn Policy>, String>;

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
            let at = moment(&row).map_err(|wrong| wrong.to_string())?;
            let done = trial.go_on(at, &record);
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
                let policy = PolicySpec::parse(policy).map_err(|_| gone(policy))?;
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

/// A policy that cannot be made now cannot have decided.
fn make(reign: &Reign, market: &Market) -> Result<Box<dyn Policy>, String> {
    let made = reign.policy.for_live_market(market.pools());
    let mut made = made.map_err(|_| gone(reign.policy.text()))?;
    made.resume(&reign.usage);
    Ok(made)
}

fn gone(policy: &str) -> String {
    format!("there is no policy `{policy}` any more")
}
