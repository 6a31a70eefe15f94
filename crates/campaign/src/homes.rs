//! At which site of a grid each job is submitted.

use tradewind_io::campaign::Homes as Rule;
use tradewind_io::swf;
use tradewind_model::{Pools, SiteId, random};

/// Deals jobs to sites.
pub(crate) struct Homes {
    rule: Rule,
    seed: u64,
    sites: Vec<HomeSite>,
}

#[derive(Debug, Clone, Copy)]
struct HomeSite {
    id: SiteId,
    /// In all its pools.
    nodes: u32,
    /// Of its widest pool.
    widest: u32,
}

/// A job that needs a home.
pub(crate) struct Newcomer<'a> {
    pub(crate) job: &'a swf::Record,
    /// Its place in its log.
    pub(crate) place: usize,
    /// The log's place among the logs.
    pub(crate) log: usize,
    /// Where the jobs of its log are submitted, if the grid file says so.
    pub(crate) home_of_log: Option<SiteId>,
}

impl Newcomer<'_> {
    /// Numbers of different logs are different.
    #[expect(clippy::cast_sign_loss, reason = "any 64 bits will do")]
    fn key(&self, number: i64) -> u64 {
        ((self.log as u64) << 48) ^ number as u64
    }
}

impl Homes {
    pub(crate) fn new(rule: Rule, seed: u64, pools: &Pools) -> Homes {
        let mut sites: Vec<HomeSite> = Vec::new();
        for pool in pools.as_slice() {
            match sites.iter_mut().find(|site| site.id == pool.site) {
                Some(site) => {
                    site.nodes = site.nodes.saturating_add(pool.nodes);
                    site.widest = site.widest.max(pool.nodes);
                }
                None => {
                    sites.push(HomeSite { id: pool.site, nodes: pool.nodes, widest: pool.nodes });
                }
            }
        }
        Homes { rule, seed, sites }
    }

    /// The home of a job. Dealt jobs go to sites with a pool that is wide enough, if there are
    /// any. O(sites).
    pub(crate) fn of(&self, newcomer: &Newcomer<'_>) -> Option<SiteId> {
        if self.rule == Rule::Log {
            return newcomer.home_of_log;
        }
        let job = newcomer.job;
        let width = job.held().unwrap_or(1);
        let all = || self.sites.iter().copied();
        let mut fit: Vec<HomeSite> = all().filter(|site| site.widest >= width).collect();
        if fit.is_empty() {
            fit = self.sites.clone();
        }
        match self.rule {
            Rule::Log => newcomer.home_of_log,
            Rule::Dealt => Some(fit[newcomer.place % fit.len()].id),
            Rule::Nodes => self.drawn("home", newcomer.key(job.number), &fit),
            Rule::Users => {
                let own = self.drawn("home-of-user", newcomer.key(job.user), &self.sites);
                let fits = fit.iter().any(|site| Some(site.id) == own);
                if fits { own } else { self.drawn("home", newcomer.key(job.number), &fit) }
            }
        }
    }

    /// One of the sites, each as likely as it has nodes.
    fn drawn(&self, noun: &str, key: u64, sites: &[HomeSite]) -> Option<SiteId> {
        let nodes = sites.iter().map(|site| i64::from(site.nodes)).sum();
        let mut node = random::within(&mut random::stream(self.seed, noun, key), 1, nodes);
        let found = sites.iter().find(|site| {
            node -= i64::from(site.nodes);
            node <= 0
        });
        found.map(|site| site.id)
    }
}

#[cfg(test)]
mod tests {
    use tradewind_io::input::Input;
    use tradewind_io::{grid, swf};

    use super::*;

    /// Sites of 8 and 8, 64, and 16 nodes.
    fn pools() -> Pools {
        let text = "[[site]]\nname = 'a'\npool = [{ name = 'a1', nodes = 8 }, \
                    { name = 'a2', nodes = 8 }]\n[[site]]\nname = 'b'\n\
                    pool = [{ name = 'b', nodes = 64 }]\n[[site]]\nname = 'c'\n\
                    pool = [{ name = 'c', nodes = 16 }]\n";
        grid::parse(&Input { name: "grid.toml".into(), bytes: text.into() }).unwrap().0.pools(1)
    }

    /// So many jobs of so many processors, of ten users.
    fn log(jobs: usize, processors: u32) -> swf::Log {
        let line = |n| {
            format!("{n} {n} 0 10 {processors} -1 -1 -1 10 -1 1 {} -1 -1 -1 -1 -1 -1\n", n % 10)
        };
        let text: String = (1..=jobs).map(line).collect();
        swf::parse(&Input { name: "log.swf".into(), bytes: text.into() }).unwrap()
    }

    /// Number of jobs each site gets.
    fn dealt(rule: Rule, seed: u64, processors: u32) -> [usize; 3] {
        let (homes, log) = (Homes::new(rule, seed, &pools()), log(960, processors));
        let mut counts = [0; 3];
        for (place, job) in log.jobs.iter().enumerate() {
            let home_of_log = Some(SiteId(2));
            let newcomer = Newcomer { job, place, log: 0, home_of_log };
            counts[homes.of(&newcomer).unwrap().0 as usize] += 1;
        }
        counts
    }

    #[test]
    fn jobs_go_where_they_fit() {
        assert_eq!(dealt(Rule::Log, 1, 1), [0, 0, 960]);
        assert_eq!(dealt(Rule::Dealt, 1, 8), [320, 320, 320]);
        assert_eq!(dealt(Rule::Dealt, 1, 16), [0, 480, 480], "a2 is not a part of a1");
        for rule in [Rule::Nodes, Rule::Users] {
            assert_eq!(dealt(rule, 1, 17), [0, 960, 0]);
            assert_eq!(dealt(rule, 1, 65).iter().sum::<usize>(), 960, "the rule must refuse it");
        }
    }

    #[test]
    fn lots_are_in_proportion_to_nodes_and_of_the_seed() {
        let [a, b, c] = dealt(Rule::Nodes, 1, 1);
        assert!((120..=200).contains(&a) && (580..=700).contains(&b), "{a} {b} {c}");
        assert_ne!([a, b, c], dealt(Rule::Nodes, 2, 1));
        let users = dealt(Rule::Users, 1, 1);
        assert!(users.iter().all(|count| count % 96 == 0), "users stay together: {users:?}");
    }
}
