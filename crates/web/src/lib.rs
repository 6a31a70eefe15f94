//! Tradewind over HTTP.
//!
//! - [`serve`]: listens, on loopback or with TLS, and stops without breaking anything off.
//! - [`documents`]: what goes over the wire; clients read the same types.
//! - [`openapi`]: the API's own description.
//! - [`Events`]: new records, for code that forwards them.
//! - [`offer`], [`sentence`], [`moment`]: windows, reasons and times in the API's words.
//! - [`Moment`], [`JobStatus`]: where a job stands, the same everywhere.
//! - [`Week`]: what was recently, to be lived again under other prices.
//! - [`Advisor`], [`Outputs`], [`Tariffs`], [`Operations`]: what the API needs and cannot do itself.
//!
//! Nothing is decided here: what callers want is said to the market ([`tradewind_daemon::engine`]),
//! which writes it down before it answers. What this crate adds is who may say and see what.

mod ahead;
mod api;
mod auth;
mod blocking;
mod clock;
mod context;
pub mod documents;
mod extract;
mod failure;
mod feed;
mod follow;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guard;
mod limit_advice;
mod metrics;
mod notes;
mod oidc;
mod operations;
mod page;
mod price_rules;
mod quiet;
mod receipts;
mod routes;
mod server;
mod timeline;
mod turns;
mod usual;
mod views;
mod watch;
mod week;

pub use api::{
    Advisor, Api, Limits, MarketView, Outputs, Plan, Planned, Proposal, Quoted, Rate, SignIn,
    Tariffs,
};
pub use auth::{hash_of, new_secret};
pub use clock::present;
pub use feed::{Events, Notice};
pub use oidc::Provider;
pub use operations::{Daemons, NoOperations, Operations, Receiver, StandbyDaemon};
pub use price_rules::{PriceRule, PriceRules};
pub use receipts::{PeerKey, ReceiptKey};
pub use routes::openapi;
pub use server::{Listen, ServeError, Server, Tls, serve};
pub use views::failures::jobs_touched_by;
pub use views::jobs::title as job_title;
pub use views::offers::offer;
pub use views::status::{JobStatus, Moment};
pub use views::words::{moment, sentence};
pub use watch::Watch;
pub use week::{Earned, Missing, Other, PastJob, PoolUse, ReplayResult, Week};
