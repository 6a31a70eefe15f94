//! The subcommands: each takes its arguments apart, calls the library and renders the answer.

pub(crate) mod analyze;
pub(crate) mod combine;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod forecast;
pub(crate) mod front;
pub(crate) mod generate;
pub(crate) mod init;
pub(crate) mod live;
pub(crate) mod local_task;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod quote;
#[cfg(feature = "lab")]
pub(crate) mod reproduce;
#[cfg(not(feature = "lab"))]
#[path = "reproduce/without_lab.rs"]
pub(crate) mod reproduce;
pub(crate) mod simulate;
pub(crate) mod snapshot;
pub(crate) mod up;
