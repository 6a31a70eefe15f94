//! Sites of a market that several daemons may own in turn.
//!
//! [`Fenced`] gives no order of a term of ownership that is not the newest of the site's folder
//! ([`Fence`]), so a daemon that was frozen between its decision and its order gives none. A daemon
//! that lacks the folder does not use the site: [`Elsewhere`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use tradewind_io::submission::signal::Warning;

use super::fence::Fence;
use super::managed::requests::Requests;
use super::{
    Aside, Demand, Excerpt, Finding, Go, Order, PoolSetup, Reading, Site, SiteError, Survey, Tag,
    Turn, Verdict, Wake,
};

/// A site that takes no orders of earlier terms.
#[derive(Debug)]
pub struct Fenced {
    site: Box<dyn Site>,
    fence: Fence,
}

impl Fenced {
    /// The site, with the fence of its folder.
    pub fn new(site: Box<dyn Site>, fence: Fence) -> Fenced {
        Fenced { site, fence }
    }

    fn admits(&self) -> Result<(), SiteError> {
        self.fence.admits().map_err(SiteError::Away)
    }
}

impl Site for Fenced {
    fn pools(&self) -> &[PoolSetup] {
        self.site.pools()
    }

    fn lists_by(&self) -> Option<&'static str> {
        self.site.lists_by()
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.admits()?;
        self.site.survey()
    }

    fn attend(&mut self, wake: Wake) {
        self.site.attend(wake);
    }

    fn expect(&mut self, demand: Demand) {
        self.site.expect(demand);
    }

    fn due(&self) -> Option<Instant> {
        self.site.due()
    }

    fn turn(&mut self) -> Turn {
        match self.admits() {
            Ok(()) => self.site.turn(),
            Err(stale) => Turn::Looked(Err(stale)),
        }
    }

    fn requests(&self) -> Option<Arc<Requests>> {
        self.site.requests()
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        self.admits()?;
        self.site.submit(order)
    }

    fn submit_all(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        match self.admits() {
            Ok(()) => self.site.submit_all(orders),
            Err(stale) => orders.iter().map(|_| Err(stale.clone())).collect(),
        }
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.admits()?;
        self.site.withdraw(tag)
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.admits()?;
        self.site.recall(tag)
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.admits()?;
        self.site.forget(tag)
    }

    fn forget_all(&mut self, tags: &[&Tag]) -> Vec<Result<(), SiteError>> {
        match self.admits() {
            Ok(()) => self.site.forget_all(tags),
            Err(stale) => tags.iter().map(|_| Err(stale.clone())).collect(),
        }
    }

    fn set_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        self.admits()?;
        self.site.set_aside(market, wanted)
    }

    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        self.admits()?;
        self.site.go(tag, go)
    }

    fn notify(&mut self, tag: &Tag, signal: Option<Warning>) -> Result<(), SiteError> {
        self.admits()?;
        self.site.notify(tag, signal)
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        self.site.output(tag, max)
    }

    fn reading(&mut self, tag: &Tag, wanted: &Excerpt) -> Result<Reading, SiteError> {
        self.site.reading(tag, wanted)
    }

    fn doctor(&mut self) -> Vec<Finding> {
        self.site.doctor()
    }

    fn remarks(&self) -> Vec<String> {
        self.site.remarks()
    }

    fn trials(&self) -> Vec<String> {
        self.site.trials()
    }

    fn trial(&mut self, pool: &str, patience: Duration) -> Finding {
        self.site.trial(pool, patience)
    }
}

/// A site whose folder this daemon has not: it counts as away, so that nothing of it is lost.
#[derive(Debug)]
pub struct Elsewhere {
    pools: Vec<PoolSetup>,
    why: String,
}

impl Elsewhere {
    /// With these pools; `why`: for people.
    pub fn new(pools: Vec<PoolSetup>, why: String) -> Elsewhere {
        Elsewhere { pools, why }
    }

    fn away<T>(&self) -> Result<T, SiteError> {
        Err(SiteError::Away(self.why.clone()))
    }
}

impl Site for Elsewhere {
    fn pools(&self) -> &[PoolSetup] {
        &self.pools
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.away()
    }

    fn submit(&mut self, _: &Order) -> Result<(), SiteError> {
        self.away()
    }

    fn withdraw(&mut self, _: &Tag) -> Result<(), SiteError> {
        self.away()
    }

    fn recall(&mut self, _: &Tag) -> Result<(), SiteError> {
        self.away()
    }

    fn forget(&mut self, _: &Tag) -> Result<(), SiteError> {
        self.away()
    }

    fn go(&mut self, _: &Tag, _: &Go) -> Result<(), SiteError> {
        self.away()
    }

    fn notify(&mut self, _: &Tag, _: Option<Warning>) -> Result<(), SiteError> {
        self.away()
    }

    fn output(&mut self, _: &Tag, _: usize) -> Result<Vec<u8>, SiteError> {
        self.away()
    }

    fn doctor(&mut self) -> Vec<Finding> {
        vec![Finding {
            what: "the site's folder".to_owned(),
            verdict: Verdict::Bad,
            found: self.why.clone(),
            remedy: "see docs/how-to/standby.md".to_owned(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_whose_folder_is_elsewhere_is_away() {
        let mut site = Elsewhere::new(Vec::new(), "its folder is elsewhere".to_owned());
        assert!(matches!(site.survey(), Err(SiteError::Away(_))));
        let tag = Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 };
        assert!(matches!(site.withdraw(&tag), Err(SiteError::Away(_))));
    }
}
