//! What a policy of the user's answers, as commands.

use tradewind_model::{Command, JobId, Market, Place, PoolId, Share};

/// The command that starts `job` in one pool, or in `shares` of several; neither: in the only pool.
///
/// # Errors
/// If it does not say where, or where is not as wide as the job.
pub fn start(
    market: &Market,
    job: JobId,
    pool: Option<PoolId>,
    shares: Option<Vec<Share>>,
) -> Result<Command, String> {
    let wrong = |what: &str| Err(format!("`start` of job {} {what}", job.0));
    let place = match (pool, shares, market.pools().single()) {
        (Some(_), Some(_), _) => return wrong("has both `pool` and `shares`"),
        (None, None, None) => return wrong("says neither `pool` nor `shares`"),
        (Some(pool), None, _) | (None, None, Some(pool)) => Place::Pool(pool),
        (None, Some(shares), _) => {
            let nodes: u64 = shares.iter().map(|part| u64::from(part.nodes)).sum();
            let width = market.demand(job).map(|demand| u64::from(demand.processors));
            if width.is_some_and(|width| width != nodes) {
                return wrong("has shares that do not add up to its processors");
            }
            Place::of(shares)
        }
    };
    Ok(Command::Start { job, place })
}
