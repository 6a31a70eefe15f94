//! Sites of a market that several daemons may own in turn.
//!
//! What an adapter must remember is in a folder. The folder also has the file `epoch`: the newest
//! term of ownership in which it was opened. [`Fenced`] gives no order with an earlier one, so a
//! daemon that was frozen between its decision and its order gives none. Each term has a lock of its
//! own, because a frozen process still has that of its term. A daemon that lacks the folder does
//! not use the site: [`Elsewhere`].

use std::fmt::Debug;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::managed::requests::Requests;
use super::{
    Aside, Demand, Finding, Go, Order, PoolSetup, Reading, Site, SiteError, Survey, Tag, Turn,
    Verdict, Wake,
};

/// The file with the newest epoch.
const EPOCH: &str = "epoch";

/// The newest epoch in which a folder was opened; `None`: it never had one.
fn newest(folder: &Path) -> io::Result<Option<u64>> {
    match fs::read_to_string(folder.join(EPOCH)) {
        Ok(text) => text.trim().parse().map(Some).map_err(io::Error::other),
        Err(wrong) if wrong.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(wrong) => Err(wrong),
    }
}

/// The name of the lock that an adapter takes in its folder.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn lock_name(folder: &Path) -> io::Result<String> {
    Ok(newest(folder)?.map_or_else(|| "lock".to_owned(), |epoch| format!("lock-{epoch}")))
}

/// Refuses orders of earlier terms.
#[derive(Debug)]
pub struct Fence {
    folder: PathBuf,
    epoch: u64,
}

impl Fence {
    /// From now on earlier terms can give no orders to the site of this folder, which is made if
    /// necessary.
    ///
    /// # Errors
    /// If a later term has opened the folder, or it cannot be used.
    pub fn raise(folder: &Path, epoch: u64) -> io::Result<Fence> {
        fs::create_dir_all(folder)?;
        let before = newest(folder)?;
        if let Some(found) = before.filter(|found| *found > epoch) {
            return Err(io::Error::other(stale(epoch, found)));
        }
        let part = folder.join("epoch.part");
        let mut file = fs::File::create(&part)?;
        writeln!(file, "{epoch}")?;
        file.sync_all()?;
        fs::rename(&part, folder.join(EPOCH))?;
        fs::File::open(folder)?.sync_all()?;
        for earlier in before.filter(|it| *it < epoch) {
            drop(fs::remove_file(folder.join(format!("lock-{earlier}"))));
        }
        Ok(Fence { folder: folder.to_owned(), epoch })
    }

    /// # Errors
    /// If a later term has opened the folder since, or it cannot be read.
    fn admits(&self) -> Result<(), SiteError> {
        match newest(&self.folder) {
            Ok(Some(found)) if found <= self.epoch => Ok(()),
            Ok(Some(found)) => Err(SiteError::Away(stale(self.epoch, found))),
            Ok(None) => Err(SiteError::Away("the site's folder has lost its epoch".to_owned())),
            Err(wrong) => Err(SiteError::Away(format!("the site's epoch cannot be read: {wrong}"))),
        }
    }
}

fn stale(ours: u64, found: u64) -> String {
    format!("another daemon owns the market: the site knows epoch {found}, this order is of {ours}")
}

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
}

impl Site for Fenced {
    fn pools(&self) -> &[PoolSetup] {
        self.site.pools()
    }

    fn lists_by(&self) -> Option<&'static str> {
        self.site.lists_by()
    }

    fn survey(&mut self) -> Result<Survey, SiteError> {
        self.fence.admits()?;
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
        match self.fence.admits() {
            Ok(()) => self.site.turn(),
            Err(stale) => Turn::Looked(Err(stale)),
        }
    }

    fn requests(&self) -> Option<Arc<Requests>> {
        self.site.requests()
    }

    fn submit(&mut self, order: &Order) -> Result<(), SiteError> {
        self.fence.admits()?;
        self.site.submit(order)
    }

    fn submit_all(&mut self, orders: &[&Order]) -> Vec<Result<(), SiteError>> {
        match self.fence.admits() {
            Ok(()) => self.site.submit_all(orders),
            Err(stale) => orders.iter().map(|_| Err(stale.clone())).collect(),
        }
    }

    fn withdraw(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.fence.admits()?;
        self.site.withdraw(tag)
    }

    fn recall(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.fence.admits()?;
        self.site.recall(tag)
    }

    fn forget(&mut self, tag: &Tag) -> Result<(), SiteError> {
        self.fence.admits()?;
        self.site.forget(tag)
    }

    fn forget_all(&mut self, tags: &[&Tag]) -> Vec<Result<(), SiteError>> {
        match self.fence.admits() {
            Ok(()) => self.site.forget_all(tags),
            Err(stale) => tags.iter().map(|_| Err(stale.clone())).collect(),
        }
    }

    fn set_aside(
        &mut self,
        market: &str,
        wanted: &[Aside],
    ) -> Result<Vec<(u64, String)>, SiteError> {
        self.fence.admits()?;
        self.site.set_aside(market, wanted)
    }

    fn go(&mut self, tag: &Tag, go: &Go) -> Result<(), SiteError> {
        self.fence.admits()?;
        self.site.go(tag, go)
    }

    fn output(&mut self, tag: &Tag, max: usize) -> Result<Vec<u8>, SiteError> {
        self.site.output(tag, max)
    }

    fn reading(&mut self, tag: &Tag, max: usize) -> Result<Reading, SiteError> {
        self.site.reading(tag, max)
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
    fn a_folder_knows_the_newest_term_and_refuses_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(lock_name(folder).unwrap(), "lock");
        let first = Fence::raise(folder, 3).unwrap();
        assert_eq!(lock_name(folder).unwrap(), "lock-3");
        first.admits().unwrap();
        let second = Fence::raise(folder, 5).unwrap();
        let refused = first.admits().unwrap_err().to_string();
        assert!(refused.contains("epoch 5") && refused.contains("of 3"), "{refused}");
        second.admits().unwrap();
        assert!(Fence::raise(folder, 4).unwrap_err().to_string().contains("epoch 5"));
        fs::remove_file(folder.join(EPOCH)).unwrap();
        assert!(second.admits().is_err(), "what is unknown is not allowed");
    }

    #[test]
    fn a_site_whose_folder_is_elsewhere_is_away() {
        let mut site = Elsewhere::new(Vec::new(), "its folder is elsewhere".to_owned());
        assert!(matches!(site.survey(), Err(SiteError::Away(_))));
        let tag = Tag { market: "m".to_owned(), job: 1, attempt: 0, part: 0 };
        assert!(matches!(site.withdraw(&tag), Err(SiteError::Away(_))));
    }
}
