//! Networks between sites, and how long the data of jobs takes over them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Site, SiteId, Span};

/// A network between two places: sites, or others where data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Both ends. Data goes in both directions.
    pub between: [String; 2],
    /// What one job gets of it, in bits per second; at least 1.
    pub bandwidth: u64,
}

/// All networks that are known. Between two places there is at most one, and data takes no way over
/// a third place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Links {
    all: Vec<Link>,
    by_ends: BTreeMap<[String; 2], u64>,
    places: BTreeSet<String>,
}

/// Why links do not make a network, or data has no place in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinksError {
    /// From a place to itself.
    #[error("a link from `{0}` to itself")]
    Loop(String),
    /// The same two places twice.
    #[error("there are two links between `{0}` and `{1}`")]
    Twice(String, String),
    /// Nothing ever comes over it.
    #[error("the link between `{0}` and `{1}` has no bandwidth")]
    NoBandwidth(String, String),
    /// Neither a site nor the end of a link.
    #[error("there is no site `{0}`, and no link to it")]
    UnknownPlace(String),
}

impl Links {
    /// These links.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn new(all: Vec<Link>) -> Result<Links, LinksError> {
        let mut links = Links::default();
        all.into_iter().try_for_each(|link| links.add(link))?;
        Ok(links)
    }

    /// One link more. Logarithmic in the links.
    ///
    /// # Errors
    /// What is wrong with it; then nothing is added.
    pub fn add(&mut self, link: Link) -> Result<(), LinksError> {
        let [one, other] = link.between.clone();
        if one == other {
            return Err(LinksError::Loop(one));
        }
        if link.bandwidth == 0 {
            return Err(LinksError::NoBandwidth(one, other));
        }
        let ends = ends(&one, &other);
        if self.by_ends.contains_key(&ends) {
            return Err(LinksError::Twice(one, other));
        }
        self.by_ends.insert(ends, link.bandwidth);
        self.places.extend([one, other]);
        self.all.push(link);
        Ok(())
    }

    /// In the order in which they were given.
    pub fn as_slice(&self) -> &[Link] {
        &self.all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All ends of links, in order of their names.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(String::as_str)
    }

    /// How long so many bytes take from one place to the other: no time where both are one or nothing is to
    /// be brought, else rounded up to seconds. `None` if there is no link, or it takes longer than
    /// [`StageTimes::MAX`].
    pub fn transfer(&self, bytes: u64, from: &str, to: &str) -> Option<Span> {
        if from == to || bytes == 0 {
            return Some(Span::ZERO);
        }
        let bandwidth = u128::from(*self.by_ends.get(&ends(from, to))?);
        let seconds = (u128::from(bytes) * 8).div_ceil(bandwidth);
        i64::try_from(seconds).ok().map(Span).filter(|span| *span <= StageTimes::MAX)
    }

    /// What the job's data means at each of the sites.
    ///
    /// # Errors
    /// [`LinksError::UnknownPlace`] if data lies, or is to be brought, where no link and no site is.
    pub fn stage(&self, sites: &[Site], data: JobData) -> Result<Arc<Staging>, LinksError> {
        let is_known = |place: &String| {
            self.places.contains(place) || sites.iter().any(|site| site.name == *place)
        };
        let used = [(data.input, &data.from), (data.output, &data.to)];
        if let Some((_, place)) = used.into_iter().find(|(bytes, it)| *bytes > 0 && !is_known(it)) {
            return Err(LinksError::UnknownPlace(place.clone()));
        }
        let times = |site: &Site| {
            let stage_in = self.transfer(data.input, &data.from, &site.name)?;
            let stage_out = self.transfer(data.output, &site.name, &data.to)?;
            Some(StageTimes { stage_in, stage_out })
        };
        let by_site = sites.iter().map(times).collect();
        Ok(Arc::new(Staging { data, by_site }))
    }
}

/// In order of their names.
fn ends(one: &str, other: &str) -> [String; 2] {
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    [first.to_owned(), second.to_owned()]
}

/// What a job reads before its work and leaves behind after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobData {
    /// Bytes that are brought to each site where it runs before its work begins.
    pub input: u64,
    /// Where these lie: a site, or another end of links.
    pub from: String,
    /// Bytes that are brought away from each of these sites after its work.
    pub output: u64,
    /// Where to.
    pub to: String,
}

/// How long a job's data takes to a site and away from it: parts of the time for which it has its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StageTimes {
    /// Before the work.
    pub stage_in: Span,
    /// After the work.
    pub stage_out: Span,
}

impl StageTimes {
    /// Longer transfers are taken for impossible: about 34 years.
    pub const MAX: Span = Span(1 << 30);

    /// Of both.
    pub fn total(self) -> Span {
        self.stage_in + self.stage_out
    }
}

/// A job's data, and what it means at each site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staging {
    data: JobData,
    /// By site; `None`: it cannot be brought there, or away.
    by_site: Vec<Option<StageTimes>>,
}

impl Staging {
    /// What is to be brought.
    pub fn data(&self) -> &JobData {
        &self.data
    }

    /// The same by site.
    pub fn by_site(&self) -> &[Option<StageTimes>] {
        &self.by_site
    }

    /// As it was: see [`Staging::data`] and [`Staging::by_site`].
    pub fn restored(data: JobData, by_site: Vec<Option<StageTimes>>) -> Staging {
        Staging { data, by_site }
    }

    /// How long it takes to the site and away; `None` if there is no way.
    pub fn at(&self, site: SiteId) -> Option<StageTimes> {
        self.by_site.get(site.0 as usize).copied().flatten()
    }

    /// The same added up; no time where there is no way: no job runs there.
    pub fn total(&self, site: SiteId) -> Span {
        self.at(site).map_or(Span::ZERO, StageTimes::total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(one: &str, other: &str, bandwidth: u64) -> Link {
        Link { between: [one.to_owned(), other.to_owned()], bandwidth }
    }

    fn sites() -> Vec<Site> {
        ["a", "b", "c"].map(|name| Site { name: name.to_owned() }).to_vec()
    }

    #[test]
    fn data_takes_bytes_by_bandwidth_rounded_up_in_both_directions() {
        let links = Links::new(vec![link("b", "a", 8_000), link("store", "b", 1)]).unwrap();
        assert_eq!(links.transfer(1_000, "a", "b"), Some(Span(1)));
        assert_eq!(links.transfer(1_001, "b", "a"), Some(Span(2)));
        assert_eq!(links.transfer(1_001, "a", "a"), Some(Span(0)), "it is there");
        assert_eq!(links.transfer(0, "a", "c"), Some(Span(0)), "nothing to bring");
        assert_eq!(links.transfer(1, "a", "store"), None, "no way over a third place");
        assert_eq!(links.transfer(u64::MAX, "store", "b"), None, "for ever");
        assert_eq!(links.places().collect::<Vec<_>>(), ["a", "b", "store"]);
    }

    #[test]
    fn a_job_is_staged_at_each_site() {
        let links = Links::new(vec![link("a", "b", 8), link("store", "b", 4)]).unwrap();
        let data = |from: &str, to: &str| JobData {
            input: 3,
            from: from.into(),
            output: 2,
            to: to.into(),
        };
        let staging = links.stage(&sites(), data("a", "store")).unwrap();
        let at = |site| staging.at(SiteId(site));
        assert_eq!(at(0), None, "its output cannot be brought away");
        assert_eq!(at(1), Some(StageTimes { stage_in: Span(3), stage_out: Span(4) }));
        assert_eq!([at(2), at(3)], [None, None]);
        assert_eq!([staging.total(SiteId(1)), staging.total(SiteId(2))], [Span(7), Span(0)]);
        let unknown = links.stage(&sites(), data("a", "d"));
        assert_eq!(unknown, Err(LinksError::UnknownPlace("d".to_owned())));
        let none = JobData { output: 0, to: String::new(), ..data("c", "") };
        assert_eq!(links.stage(&sites(), none).unwrap().total(SiteId(2)), Span(0));
    }

    #[test]
    fn links_are_checked() {
        let wrong = |all: &[Link]| Links::new(all.to_vec()).unwrap_err();
        assert_eq!(wrong(&[link("a", "a", 1)]), LinksError::Loop("a".to_owned()));
        let twice = wrong(&[link("a", "b", 1), link("b", "a", 2)]);
        assert_eq!(twice, LinksError::Twice("b".to_owned(), "a".to_owned()));
        let none = wrong(&[link("a", "b", 0)]);
        assert_eq!(none, LinksError::NoBandwidth("a".to_owned(), "b".to_owned()));
    }
}
