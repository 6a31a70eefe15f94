//! The machine of a log, as nodes on sites.

use tradewind_model::{Attributes, Grid, Node, Site, SiteId, Times};

use super::{Refusal, SnapshotOptions};
use crate::swf::{Log, Record};

/// A machine, before the side model says what its nodes are worth.
pub(super) struct Machine {
    /// Made from the log's file name.
    pub(super) name: String,
    pub(super) processors: u32,
    /// Processors of one host.
    per_host: u32,
    from_header: bool,
}

impl Machine {
    pub(super) fn of(log: &Log, options: &SnapshotOptions) -> Result<Machine, Refusal> {
        let header = log.header.max_procs();
        let widest = log.jobs.iter().filter_map(Record::held).max().unwrap_or(1);
        let Some(processors) = options.processors.or(header) else {
            let hint = format!("give `--procs N`; the widest job holds {widest}");
            return Err((log.header.no_max_procs(), hint));
        };
        if processors == 0 || processors as usize > Grid::MAX_NODES {
            let hint = format!("at least 1 and at most {}", Grid::MAX_NODES);
            return Err((format!("{processors} processors are out of range"), hint));
        }
        if options.sites == 0 || options.sites > processors {
            let hint = format!("at least 1 and at most {processors}, one processor each");
            return Err((format!("{} sites are out of range", options.sites), hint));
        }
        let per_host = match (header, log.header.max_nodes()) {
            (Some(all), Some(hosts)) if all % hosts == 0 => all / hosts,
            _ => 1,
        };
        let from_header = options.processors.is_none();
        Ok(Machine { name: name(&log.name), processors, per_host, from_header })
    }

    /// The nodes: one per processor, in hosts and sites of neighbours.
    pub(super) fn grid(&self, options: &SnapshotOptions) -> Result<Grid, Refusal> {
        let site = |k: u32| match options.sites {
            1 => Site { name: self.name.clone() },
            _ => Site { name: format!("{}-{}", self.name, k + 1) },
        };
        let hosts = self.processors.div_ceil(self.per_host);
        let worth = options.side.hosts(options.seed, hosts);
        let digits = self.processors.to_string().len().max(4);
        let node = |n: u32| {
            let host = n / self.per_host;
            let (performance, price) = worth[host as usize];
            Node {
                name: format!("p{:0digits$}", n + 1),
                site: SiteId(
                    (u64::from(n) * u64::from(options.sites) / u64::from(self.processors)) as u32,
                ),
                host: (self.per_host > 1).then(|| format!("h{:0digits$}", host + 1)),
                performance,
                price,
                attributes: Attributes::new(),
                times: Times::Work,
            }
        };
        let mut nodes: Vec<Node> = (0..self.processors).map(node).collect();
        options.side.name_nodes(&mut nodes)?;
        Grid::new((0..options.sites).map(site).collect(), nodes)
            .map_err(|err| (err.to_string(), String::new()))
    }

    pub(super) fn assumptions(&self, options: &SnapshotOptions) -> Vec<String> {
        let source = if self.from_header { "the log's header" } else { "the command line" };
        let hosts = match self.per_host {
            1 => "one node each".to_owned(),
            n => format!("one node each, {n} per host"),
        };
        let mut all = vec![format!("{} processors as {source} says, {hosts}", self.processors)];
        if options.sites > 1 {
            all.push(format!("split into {} sites of neighbouring processors", options.sites));
        }
        all
    }
}

/// The file's name up to what begins with a digit: `LLNL-Thunder-2007-1.1-cln.swf.gz` is
/// `llnl-thunder`.
fn name(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.split(".swf").next().unwrap_or_default().to_lowercase();
    let starts_with_digit = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    let parts: Vec<&str> = stem
        .split('-')
        .filter(|part| !part.is_empty())
        .take_while(|part| !starts_with_digit(part))
        .collect();
    let name = parts.join("-");
    if name.is_empty() { "site".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sites_are_named_after_the_log() {
        for (path, expected) in [
            ("a/LLNL-Thunder-2007-1.1-cln.swf.gz", "llnl-thunder"),
            ("HPC2N-2002-2.2-cln.swf.gz", "hpc2n"),
            ("small.swf", "small"),
            ("-", "site"),
            ("2007.swf", "site"),
        ] {
            assert_eq!(super::name(path), expected);
        }
    }
}
