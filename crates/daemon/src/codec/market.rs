//! The market's own nouns.

use std::sync::Arc;

use serde_json::Value;
use tradewind_model::{
    Admission, Attribute, Carbon, Cause, Checkpoint, Command, Correction, Criterion, Demand,
    Energy, JobData, JobId, JobShape, JobState, Licence, LicenceId, LicenceShare, Link, Links,
    Market, MarketState, Money, Notice, Outage, OutageId, Performance, Place, Pool, PoolId, Pools,
    Power, Preemptible, Preemption, Price, Rates, Ratio, Reason, Resource, RunningState, Series,
    Shapes, Share, Site, SiteId, SkipReason, Span, Spread, StageTimes, Staging, TaskGroup, Terms,
    Time, TimeMode, Times, Trade,
};

use super::wire::{Decode, DecodeFault, Encode, Fields, Object, choice, object};

/// A number of its own kind.
macro_rules! number {
    ($($type:ident),*) => { $(
        impl Encode for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
        }

        impl Decode for $type {
            fn get(value: Value) -> Result<Self, DecodeFault> {
                Decode::get(value).map($type)
            }
        }

        #[cfg(test)]
        impl super::tests::Any for $type {
            fn any(dice: &mut super::tests::Dice) -> Self {
                $type(super::tests::Any::any(dice))
            }
        }
    )* };
}

number!(JobId, PoolId, SiteId, LicenceId, OutageId, Price, Energy, Carbon);

/// Numbers whose sums must not overflow: what is further from zero was never written.
macro_rules! bounded {
    ($($type:ident: $max:expr),*) => { $(
        impl Encode for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
        }

        impl Decode for $type {
            fn get(value: Value) -> Result<Self, DecodeFault> {
                let number: i64 = Decode::get(value)?;
                match number.unsigned_abs() <= $max {
                    true => Ok($type(number)),
                    false => Err(DecodeFault::new(format!("{number} is out of range"))),
                }
            }
        }

        #[cfg(test)]
        impl super::tests::Any for $type {
            fn any(dice: &mut super::tests::Dice) -> Self {
                let number: i64 = super::tests::Any::any(dice);
                $type(number % ($max as i64 + 1))
            }
        }
    )* };
}

bounded!(Money: Money::MAX.0.unsigned_abs(), Time: MOST_SECONDS, Span: MOST_SECONDS);

/// Moments and lengths that are read are at most so far from zero: more than what input may carry,
/// since the market adds to that.
pub(crate) const MOST_SECONDS: u64 = 4 * Time::MAX.0.unsigned_abs();

impl Encode for Performance {
    fn put(&self, out: &mut Vec<u8>) {
        self.thousandths().put(out);
    }
}

impl Decode for Performance {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let performance = Performance::from_thousandths(u32::get(value)?);
        performance.ok_or_else(|| DecodeFault::new("expected thousandths from 1 to 1000000000"))
    }
}

impl Encode for Ratio {
    fn put(&self, out: &mut Vec<u8>) {
        self.thousandths().put(out);
    }
}

impl Decode for Ratio {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let ratio = Ratio::from_thousandths(u32::get(value)?);
        ratio.ok_or_else(|| DecodeFault::new("expected thousandths above zero"))
    }
}

choice!(Attribute {
    "flag" => Flag(it), "number" => Number(it), "text" => Text(it), "one-of" => OneOf(names),
});
choice!(Criterion {
    "start" => Start, "finish" => Finish, "runtime" => Runtime, "cost" => Cost,
    "processor-time" => ProcessorTime, "sum" => Sum(attribute),
});
/// Work, which all times were once, is left out.
macro_rules! times {
    ($type:ident: $work:expr, $($name:literal => $other:expr),*) => {
        impl Encode for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let others = [$(($name, $other)),*];
                let name = others.iter().find(|(_, it)| it == self).map_or("work", |(name, _)| name);
                name.put(out);
            }

            fn is_absent(&self) -> bool {
                *self == $work
            }
        }

        impl Decode for $type {
            fn get(value: Value) -> Result<Self, DecodeFault> {
                let name = String::get(value)?;
                let all = [("work", $work), $(($name, $other)),*];
                let found = all.into_iter().find(|(known, _)| *known == name);
                found.map(|(_, it)| it).ok_or_else(DecodeFault::unknown)
            }

            fn absent() -> Option<Self> {
                Some($work)
            }
        }

        #[cfg(test)]
        impl super::tests::Any for $type {
            fn any(dice: &mut super::tests::Dice) -> Self {
                dice.of(&[$work, $($other),*])
            }
        }
    };
}

times!(Times: Times::Work, "wall" => Times::Wall);
times!(TimeMode: TimeMode::WORK, "wall" => TimeMode::WALL, "owner" => TimeMode::Owner);
choice!(Correction {
    "doubled" => Doubled, "requested" => Requested(span), "stepped" => Stepped(span),
}, absent: Doubled);
choice!(Spread { "grid" => Grid, "site" => Site }, absent: Grid);
object!(Demand { processors, estimate, correction, expected, terms });
object!(Terms {
    user,
    priority,
    home,
    value,
    bid_factor,
    min_performance,
    max_price,
    budget,
    earliest_start,
    deadline,
    criterion,
    attributes,
    memory,
    times,
    spread,
    shapes,
    groups,
    preemptible,
    licences,
    data,
});
object!(JobData { input, from, output, to });
object!(StageTimes { stage_in, stage_out });

object!(LicenceShare { licence, count });
object!(Licence { name, count, price });
object!(Preemptible { checkpoint, restart, kept });
choice!(Checkpoint { "never" => Never, "every" => Every(span), "on-notice" => OnNotice });
object!(Notice { given, leaves });
object!(TaskGroup { tasks, work, min_performance, attributes });
object!(JobShape { nodes, time });

impl Encode for Shapes {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_slice().to_vec().put(out);
    }
}

impl Decode for Shapes {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let shapes = Shapes::new(&Vec::get(value)?);
        let shapes = shapes.map_err(|wrong| DecodeFault::new(wrong.to_string()))?;
        shapes.ok_or_else(|| DecodeFault::new("a single shape"))
    }
}

#[cfg(test)]
impl super::tests::Any for Shapes {
    fn any(_: &mut super::tests::Dice) -> Self {
        let shape = |nodes, time| JobShape { nodes, time: tradewind_model::Span(time) };
        Shapes::new(&[shape(64, 3_600), shape(16, 12_600)]).unwrap().unwrap()
    }
}

object!(Site { name });
object!(Pool { name, site, nodes, performance, price, attributes, admission, times });
object!(Admission { min_processors, max_processors, max_time });
object!(Share { pool, nodes });
choice!(Place { "pool" => Pool(pool), "shares" => Shares(shares) });
choice!(Cause {
    "local" => Local, "withheld" => Withheld, "booked" => Booked, "maintenance" => Maintenance,
    "failure" => Failure(place),
});
object!(Outage { pool, nodes, from, until, cause });
choice!(SkipReason {
    "closed" => Closed, "low-bid" => LowBid, "dear" => Dear, "full" => Full, "late" => Late,
});
object!(Trade { pool, price, reserve, limit, expected, bid, ask, rank, passed, passed_in_all });
choice!(Command {
    "preempt" => Preempt { job },
    "start" => Start { job, place },
    "trade" => Trade { job, trade },
    "refuse" => Refuse { job, reason },
    "wake" => Wake { at },
});
choice!(Resource { "cores" => Cores, "memory" => Memory, "gres" => Gres(name) });
choice!(Reason {
    "wider-than-grid" => WiderThanGrid { needed, nodes },
    "too-few-nodes" => TooFewNodes { needed, suitable, min_performance },
    "no-common-time" => NoCommonTime { needed, max = "most", deadline },
    "too-few-places" => TooFewPlaces { needed, max = "most", deadline },
    "resource-short" => ResourceShort { resource, needed, would_do, nodes, of },
    "licence-short" => LicenceShort { licence, needed, max = "most", deadline },
    "budget-short" => BudgetShort { cheapest, budget },
    "too-late" => TooLate { earliest, deadline },
    "wider-than-queues" => WiderThanQueues { needed, widest },
    "no-value" => NoValue,
    "priced-out" => PricedOut { bid, ask },
    "outbid" => Outbid,
    "declined" => Declined,
    "vo-time-limit" => TimeLimit { limit, min = "least" },
    "vo-budget-limit" => BudgetLimit { limit, min = "least" },
    "vo-limits" => BothLimits { time, budget },
    "vo-sum-limit" => SumLimit { limit, min = "least" },
    "vo-all-limits" => AllLimits,
});

/// How each site takes nodes back, if one has notice or discount.
fn preemption_of(pools: &Pools) -> Option<Vec<Preemption>> {
    let sites = (0..).zip(pools.sites()).map(|(site, _)| pools.preemption(SiteId(site)));
    let all: Vec<Preemption> = sites.collect();
    all.iter().any(|it| *it != Preemption::default()).then_some(all)
}

object!(Preemption { notice, discount });

impl Encode for Staging {
    fn put(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.field("data", self.data());
        object.field("by_site", &self.by_site());
        object.end();
    }
}

impl Decode for Staging {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let (data, by_site) = (fields.take("data")?, fields.take("by_site")?);
        fields.end()?;
        Ok(Staging::restored(data, by_site))
    }
}

#[cfg(test)]
impl super::tests::Any for Staging {
    fn any(dice: &mut super::tests::Dice) -> Self {
        Staging::restored(JobData::any(dice), Vec::any(dice))
    }
}

object!(Link { between, bandwidth });

/// Licences with their owners, if there are any.
fn licences_of(pools: &Pools) -> Option<Vec<(&Licence, SiteId)>> {
    let owned = (0..).map(LicenceId).zip(pools.licences());
    let all: Vec<_> = owned.map(|(id, licence)| (licence, pools.licence_owner(id))).collect();
    (!all.is_empty()).then_some(all)
}

/// Prices that change with the hours, by pool, if there are any.
fn rates_of(pools: &Pools) -> Option<Vec<(PoolId, &Series)>> {
    let rates = pools.rates()?.iter();
    Some(rates.map(|(index, rate)| (PoolId(index as u32), &**rate)).collect())
}

fn with_rates(pools: Pools, rates: Vec<(PoolId, Series)>) -> Result<Pools, DecodeFault> {
    let mut by_pool = vec![None; pools.as_slice().len()];
    for (pool, rate) in rates {
        let place = by_pool.get_mut(pool.index());
        *place.ok_or_else(|| DecodeFault::new("a price of a pool that is not there"))? =
            Some(Arc::new(rate));
    }
    Ok(pools.with_rates(Rates::new(by_pool).agreed_at_start()))
}

impl Encode for Pools {
    fn put(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.field("sites", &self.sites());
        object.field("pools", &self.as_slice());
        object.field("power", &self.power());
        object.field("rates", &rates_of(self));
        object.field("preemption", &preemption_of(self));
        object.field("licences", &licences_of(self));
        object.field("links", &self.links().map(Links::as_slice));
        object.end();
    }
}

impl Decode for Pools {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let (sites, pools) = (fields.take("sites")?, fields.take("pools")?);
        let power: Option<Power> = fields.take("power")?;
        let rates: Option<Vec<(PoolId, Series)>> = fields.take("rates")?;
        let preemption: Option<Vec<Preemption>> = fields.take("preemption")?;
        let licences: Option<Vec<(Licence, SiteId)>> = fields.take("licences")?;
        let links: Option<Vec<Link>> = fields.take("links")?;
        fields.end()?;
        let pools =
            Pools::new(sites, pools).map_err(|error| DecodeFault::new(error.to_string()))?;
        let pools = pools.with_preemption(preemption.unwrap_or_default());
        let pools = pools.with_licences(licences.unwrap_or_default());
        let pools = pools.map_err(|error| DecodeFault::new(error.to_string()))?;
        let links = Links::new(links.unwrap_or_default());
        let pools = pools.with_links(links.map_err(|error| DecodeFault::new(error.to_string()))?);
        let pools = with_rates(pools, rates.unwrap_or_default())?;
        Ok(match power {
            Some(power) => pools.with_power(power),
            None => pools,
        })
    }
}

object!(MarketState { now, pools, submitted, jobs, announced, closures, paid, income });
object!(JobState { job, demand, paid, trade, running, lined });
object!(RunningState { start, place, released, hold, prices, notice });

impl Encode for Market {
    fn put(&self, out: &mut Vec<u8>) {
        self.state().put(out);
    }
}

impl Decode for Market {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let state = MarketState::get(value)?;
        Market::restore(state).map_err(|error| DecodeFault::new(error.to_string()))
    }
}
