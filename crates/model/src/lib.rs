//! The nouns of Tradewind.
//!
//! Time and money are integers, so every result is exact and the same on every machine:
//! [`Time`] and [`Span`] count seconds, [`Money`] and [`Price`] micro-credits, and
//! [`Performance`] thousandths of the reference node.
//!
//! This crate knows nothing of files, clocks, threads or algorithms. Every other crate builds on it.

mod demand;
mod downey;
mod free_licences;
mod grid;
mod guard;
mod job;
mod licence;
mod links;
mod load_price;
mod market;
mod money;
mod performance;
mod plan;
mod policy;
mod pool;
mod power;
mod preemption;
mod profile;
mod quantity;
pub mod random;
mod rates;
mod ratio;
mod reason;
mod resources;
mod series;
mod shapes;
mod shared;
mod slot;
mod snapshot;
mod standing;
mod time;
mod times;
pub mod tree;
mod window;

pub use demand::{Correction, Demand, Terms};
pub use downey::SpeedUp;
pub use free_licences::FreeLicences;
pub use grid::{Attribute, Attributes, Grid, GridError, Node, NodeId, Site, SiteId};
pub use guard::{Guard, OwnersFirst};
pub use job::{Criterion, Job, Request, Spread, TaskGroup};
pub use licence::{
    Licence, LicenceId, LicenceShare, LicenceShares, licences_cost, licences_per_second,
};
pub use links::{JobData, Link, Links, LinksError, StageTimes, Staging};
pub use load_price::{LoadPrice, LoadPriceError};
pub use market::{
    Cause, Command, Event, JobId, JobState, Ledger, Market, MarketError, MarketState, Outage,
    OutageId, Running, RunningState, SkipReason, Trade, cost,
};
pub use money::{Money, Price};
pub use performance::Performance;
pub use plan::{Gap, JobPlan, Limits, Outcome, Plan, Sum, Totals};
pub use policy::{Limit, Measure, Objective, Rho, VoPolicy};
pub use pool::{Admission, Place, Pool, PoolId, Pools, PoolsError, Share};
pub use power::{Carbon, Consumption, Energy, Power, SitePower, thousandths};
pub use preemption::{Checkpoint, Notice, Preemptible, Preemption, RunCut};
pub use profile::{Level, Profile};
pub use quantity::{Component, Criteria, Goal, Quantity};
pub use rates::Rates;
pub use ratio::Ratio;
pub use reason::Reason;
pub use resources::{
    Charge, NodeResources, Packing, Resource, Resources, Sharing, TaskNeeds, UnitPrices,
};
pub use series::{Series, SeriesError};
pub use shapes::{JobShape, Shapes, ShapesError};
pub use shared::{FreeStep, SharedFree};
pub use slot::{Slot, SlotError, SlotList};
pub use snapshot::{Snapshot, SnapshotError};
pub use standing::Standing;
pub use time::{Horizon, Span, Time};
pub use times::{Longest, TimeMode, Times};
pub use window::{Task, Window, WindowError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
