//! Where a job could run, pool by pool, and what speaks against it: when it was given its nodes, or
//! as things are now.

use tradewind_daemon::live::Live;
use tradewind_daemon::live::state::{Job, Part, Phase};

use crate::clock::present;
use crate::documents::{Credits, OtherPool};
use crate::views::{choice, jobs};

/// A table of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Considered {
    /// Of when it is; `None`: now.
    pub(crate) at: Option<i64>,
    /// Which policy decided, and what speaks for what the job got; `None`: nothing is decided, or
    /// it was not written down.
    pub(crate) why: Option<(String, String)>,
    pub(crate) rows: Vec<ConsideredRow>,
    /// So many pools are not shown.
    pub(crate) left_out: u32,
}

/// One row: a pool that was considered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsideredRow {
    /// The job has or had nodes here: so many.
    pub(crate) chosen: Option<u32>,
    /// What it would be, or is, here.
    pub(crate) pool: OtherPool,
}

/// What is known of the job's decision; before it, and where it was not written down, all pools as
/// they would have the job now, in the market's order.
///
/// # Errors
/// Why no nodes suit the job.
pub(crate) fn considered(live: &Live, job: &Job) -> Result<Considered, String> {
    let state = live.state();
    // One that waits again is to have other nodes.
    let waits = matches!(job.phase(), Phase::Waiting | Phase::Held(_));
    if let Some(choice) = choice::document(state, job).filter(|_| !waits) {
        let own = job.parts().iter().map(|part| chosen(live, (job, part), choice.at));
        let other = |pool| ConsideredRow { chosen: None, pool };
        return Ok(Considered {
            at: Some(choice.at),
            why: Some((choice.policy, choice.why)),
            rows: own.chain(choice.others.into_iter().map(other)).collect(),
            left_out: choice.left_out,
        });
    }
    let weighed = live.weigh(job).map_err(|wrong| wrong.message)?;
    let now = present(state).0;
    let row = |it: &_| {
        let pool = choice::other(state, job, it, None);
        ConsideredRow {
            chosen: None,
            pool: OtherPool { start: pool.start.map(|at| at.max(now)), ..pool },
        }
    };
    Ok(Considered { at: None, why: None, rows: weighed.iter().map(row).collect(), left_out: 0 })
}

/// The cost of a job's only part is that of the job.
fn chosen(live: &Live, (job, part): (&Job, &Part), at: i64) -> ConsideredRow {
    let cost = match job.parts() {
        [_] => job.max(),
        _ => part.price.of(part.nodes, part.limit),
    };
    let pool = OtherPool {
        pool: jobs::pool_name(live.state(), part.pool).to_owned(),
        price: part.price.into(),
        length: part.limit.0,
        cost: Credits::from(cost),
        start: Some(at),
        verdict: "chosen".to_owned(),
    };
    ConsideredRow { chosen: Some(part.nodes), pool }
}
