//! A cluster that is only looked at: there is no way to give it an order.

use std::collections::BTreeSet;

use tradewind_model::Time;

use super::queued::MAX_ENDED;
use super::{PoolSetup, Site, SiteError, Survey};

/// A site without orders. It is not a [`Site`], so no engine takes it, and what it wraps cannot be
/// reached: there is no way to submit, cancel, reserve or change anything.
///
/// ```
/// use tradewind_daemon::site::{Order, Site, observed::Observed};
/// fn look(site: &mut Observed, _: &Order) {
///     let _ = site.survey(None);
/// }
/// fn of_market<S: Site + 'static>(site: S) -> Box<dyn Site> {
///     Box::new(site)
/// }
/// ```
///
/// ```compile_fail
/// use tradewind_daemon::site::{Order, Site, observed::Observed};
/// fn submit(site: &mut Observed, order: &Order) {
///     let _ = site.submit(order);
/// }
/// ```
///
/// ```compile_fail
/// use tradewind_daemon::site::{Site, observed::Observed};
/// fn of_market(site: Observed) -> Box<dyn Site> {
///     Box::new(site)
/// }
/// ```
#[derive(Debug)]
pub struct Observed(Box<dyn Site>);

impl Observed {
    /// Takes a site that is used nowhere else.
    pub fn of(site: Box<dyn Site>) -> Observed {
        Observed(site)
    }

    /// Its pools, in the order in which surveys have them.
    pub fn pools(&self) -> &[PoolSetup] {
        self.0.pools()
    }

    /// What is there now, with the jobs that are over: those that are still listed, and others that ended
    /// `since` the survey before this one began; see [`Site::survey`].
    ///
    /// # Errors
    /// If the site does not know.
    pub fn survey(&mut self, since: Option<Time>) -> Result<Survey, SiteError> {
        let survey = self.0.survey()?;
        let forgotten = since.map(|since| self.0.forgotten(since)).unwrap_or_default();
        let mut ended = self.0.ended();
        let listed: BTreeSet<String> = ended.iter().map(|it| it.job.name.clone()).collect();
        ended.extend(forgotten.found.into_iter().filter(|it| !listed.contains(&it.job.name)));
        ended.truncate(MAX_ENDED);
        Ok(Survey { ended, unwatched: forgotten.unwatched, ..survey })
    }
}
