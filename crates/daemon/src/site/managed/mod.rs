//! What sites have in common whose cluster has a manager of its own: its commands are run, here
//! or far away, as ourselves or as the job's user; a task is one script that the manager runs.
//!
//! | file of the site's folder | what |
//! |---|---|
//! | `lock` | held by the one adapter that may use the folder |
//! | `tickets` | a line for each change of a task that was handed in or is about to be; there before the manager hears of it |
//! | `gone` | a line for each tag that must not run again and has no ticket |
//!
//! | of the folder `SPOOL/TAG` at the cluster | what |
//! |---|---|
//! | the folder | made once by whoever comes first: the task, or we, so that it never runs |
//! | `here` | the task has its nodes: when, the manager's number, the nodes |
//! | `began` | when its work itself began |
//! | `stop` | it is to stop, though its manager does not know it any more |
//! | `../TAG.go` | a task that gathers may begin: when, and variables |
//! | `../.terms-MARKET-SITE/EPOCH` | a term of ownership that has given an order here; earlier ones are refused |
//! | `../.terms-MARKET-SITE/EPOCH/kept` | the tasks of earlier terms that may still begin, once that is settled |
//! | `../.tw-MARKET-SITE/TAG` | a bell: the task has written something new; there if somebody listens |
//! | `end` | since when, until when and how; none of its processes is left in its group |

pub mod accounts;
pub mod bundle;
pub mod driver;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod gate;
mod log;
pub mod news;
pub mod requests;
pub mod spool;
pub mod ssh;
pub mod stage;
pub mod tickets;
pub mod tool;

#[cfg(test)]
mod tests;
