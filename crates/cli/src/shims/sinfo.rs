//! `sinfo`: pools and their nodes.

use tradewind_web::documents::{Pool, Site, SiteList};

use super::selected::own_name;
use super::{args, refused};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::output;

const USUAL: &str = "%9P %.5a %.10l %.6D %.6t %N";
const SUMMARY: &str = "%9P %.5a %.10l %.16F %N";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[arg(short, long)]
    all: bool,
    #[arg(short = 'M', long, visible_alias = "cluster")]
    clusters: Vec<String>,
    #[arg(short = 'e', long)]
    exact: bool,
    #[arg(short = 'o', long)]
    format: Option<String>,
    #[arg(short = 'h', long)]
    noheader: bool,
    #[arg(long, num_args = 0..=1, default_missing_value = "list", require_equals = true)]
    json: Option<String>,
    #[arg(short, long)]
    long: bool,
    #[arg(short, long)]
    partition: Vec<String>,
    #[arg(short, long)]
    responding: bool,
    #[arg(short, long)]
    summarize: bool,
    #[arg(short = 't', long)]
    states: Vec<String>,
    #[arg(short, long)]
    verbose: bool,
}

/// Nodes of a pool in one state.
struct NodeGroup<'a> {
    site: &'a Site,
    pool: &'a Pool,
    name: String,
    state: &'static str,
    nodes: u32,
}

pub(super) fn run(words: &[String]) -> Outcome {
    let args: Args = args::read("sinfo", words)?;
    let sent = Market::open(&MarketArgs::default())?.get("/v1/sites")?;
    let SiteList { sites, .. } = sent.read()?;
    let all = groups(&sites, args.summarize);
    let within = |list: &[String], names: &[&str]| {
        list.is_empty() || list.iter().any(|it| it == "all" || names.contains(&it.as_str()))
    };
    let (partitions, clusters) = (args::list(&args.partition), args::list(&args.clusters));
    let states: Vec<String> = args::list(&args.states).iter().map(|it| it.to_lowercase()).collect();
    let shown: Vec<&NodeGroup<'_>> = all
        .iter()
        .filter(|it| within(&partitions, &[&it.name, &it.pool.name, own_name(&it.pool.name)]))
        .filter(|it| within(&clusters, &[&it.site.name]))
        .filter(|it| within(&states, &[it.state, short(it.state)]))
        .collect();
    if args.json.is_some() {
        return output::json(&document(&shown)).map(|()| Exit::Ok);
    }
    let usual = if args.summarize { SUMMARY } else { USUAL };
    let columns = columns(args.format.as_deref().unwrap_or(usual))?;
    let mut text = String::new();
    if !args.noheader {
        text.push_str(&line(&columns, |it| it.head.to_owned()));
    }
    for group in shown {
        text.push_str(&line(&columns, |it| value(group, it.letter)));
    }
    output::print(&text).map(|()| Exit::Ok)
}

/// Pools by state; as one each in a summary. `POOL` where one site has it, else `SITE/POOL`.
fn groups(sites: &[Site], summary: bool) -> Vec<NodeGroup<'_>> {
    let pools = || sites.iter().flat_map(|site| site.pools.iter().map(move |pool| (site, pool)));
    let mut all = Vec::new();
    for (site, pool) in pools() {
        let own = own_name(&pool.name);
        let same = pools().filter(|(_, it)| own_name(&it.name) == own).count();
        let name = if same == 1 { own.to_owned() } else { pool.name.clone() };
        let taken = pool.local + pool.ours;
        let reserved = pool.withheld + pool.booked;
        let mut states = vec![
            ("down", pool.down),
            ("reserved", reserved),
            ("allocated", taken),
            ("idle", pool.free),
        ];
        states.retain(|(_, nodes)| *nodes > 0);
        if summary || states.is_empty() {
            let state = if pool.nodes == 0 || pool.down == pool.nodes { "down" } else { "idle" };
            states = vec![(state, pool.nodes)];
        }
        for (state, nodes) in states {
            all.push(NodeGroup { site, pool, name: name.clone(), state, nodes });
        }
    }
    all
}

fn short(state: &str) -> &str {
    match state {
        "allocated" => "alloc",
        "reserved" => "resv",
        other => other,
    }
}

struct SinfoColumn {
    letter: char,
    head: &'static str,
    width: Option<usize>,
    right: bool,
    behind: String,
}

/// The letters of `sinfo -o` that mean something here, and their heads.
const LETTERS: [(char, &str); 43] = [
    ('a', "AVAIL"),
    ('A', "NODES(A/I)"),
    ('b', "ACTIVE_FEATURES"),
    ('B', "MAX_CPUS_PER_NODE"),
    ('c', "CPUS"),
    ('C', "CPUS(A/I/O/T)"),
    ('d', "TMP_DISK"),
    ('D', "NODES"),
    ('e', "FREE_MEM"),
    ('E', "REASON"),
    ('f', "AVAIL_FEATURES"),
    ('F', "NODES(A/I/O/T)"),
    ('g', "GROUPS"),
    ('G', "GRES"),
    ('h', "OVERSUBSCRIBE"),
    ('H', "TIMESTAMP"),
    ('i', "RESERVATION"),
    ('I', "PRIO_JOB_FACTOR"),
    ('l', "TIMELIMIT"),
    ('L', "DEFAULTTIME"),
    ('m', "MEMORY"),
    ('M', "PREEMPT_MODE"),
    ('n', "HOSTNAMES"),
    ('N', "NODELIST"),
    ('o', "NODE_ADDR"),
    ('O', "CPU_LOAD"),
    ('p', "PRIO_TIER"),
    ('P', "PARTITION"),
    ('r', "ROOT"),
    ('R', "PARTITION"),
    ('s', "JOB_SIZE"),
    ('S', "ALLOCNODES"),
    ('t', "STATE"),
    ('T', "STATE"),
    ('u', "USER"),
    ('U', "USER"),
    ('v', "VERSION"),
    ('V', "CLUSTER"),
    ('w', "WEIGHT"),
    ('X', "SOCKETS"),
    ('Y', "CORES"),
    ('z', "S:C:T"),
    ('Z', "THREADS"),
];

fn columns(text: &str) -> Result<Vec<SinfoColumn>, Failure> {
    let mut all = Vec::new();
    for spec in text.split('%').skip(1) {
        let (right, spec) = spec.strip_prefix('.').map_or((false, spec), |spec| (true, spec));
        let rest = spec.trim_start_matches(|it: char| it.is_ascii_digit());
        let width = spec[..spec.len() - rest.len()].parse().ok().map(super::format::bounded);
        let letter = rest.chars().next().unwrap_or('%');
        let (_, head) = LETTERS
            .iter()
            .find(|(known, _)| *known == letter)
            .ok_or_else(|| refused(format!("Invalid node format specification: {letter}")))?;
        let behind = rest[letter.len_utf8()..].to_owned();
        all.push(SinfoColumn { letter, head, width, right, behind });
    }
    Ok(all)
}

fn line(columns: &[SinfoColumn], text: impl Fn(&SinfoColumn) -> String) -> String {
    let cell = |it: &SinfoColumn| {
        let text = text(it);
        let fitted = match (it.width, it.right) {
            (None, _) => text,
            (Some(width), true) => format!("{text:>width$.width$}"),
            (Some(width), false) => format!("{text:<width$.width$}"),
        };
        fitted + &it.behind
    };
    columns.iter().map(cell).collect::<String>() + "\n"
}

fn value(group: &NodeGroup<'_>, letter: char) -> String {
    let pool = group.pool;
    let taken = pool.local + pool.ours;
    let other = pool.down + pool.withheld + pool.booked;
    match letter {
        'a' => if group.site.state.is_counted_on() { "up" } else { "down" }.to_owned(),
        'A' => format!("{taken}/{}", pool.free),
        'D' => group.nodes.to_string(),
        'E' => group.site.reason.clone().unwrap_or_else(|| "none".to_owned()),
        'C' | 'F' => format!("{taken}/{}/{other}/{}", pool.free, pool.nodes),
        'f' | 'b' => {
            let all = pool.attributes.iter().map(|(name, value)| format!("{name}={value}"));
            let text = all.collect::<Vec<_>>().join(",");
            if text.is_empty() { "(null)".to_owned() } else { text }
        }
        'g' => "all".to_owned(),
        'G' => "(null)".to_owned(),
        'h' => "EXCLUSIVE".to_owned(),
        'l' => "infinite".to_owned(),
        'L' => "1:00:00".to_owned(),
        's' => "1-infinite".to_owned(),
        'P' | 'R' => group.name.clone(),
        't' => short(group.state).to_owned(),
        'T' => group.state.to_owned(),
        'V' => group.site.name.clone(),
        'B' => "UNLIMITED".to_owned(),
        'd' => "0".to_owned(),
        'H' | 'u' | 'U' => "Unknown".to_owned(),
        'i' => String::new(),
        'I' | 'p' | 'w' => "1".to_owned(),
        'M' => "OFF".to_owned(),
        'r' => "no".to_owned(),
        'S' => "all".to_owned(),
        'v' => super::SPOKEN.to_owned(),
        // Nodes and their processors have no names and sizes in the market's list.
        _ => "n/a".to_owned(),
    }
}

fn document(groups: &[&NodeGroup<'_>]) -> serde_json::Value {
    let one = |it: &&NodeGroup<'_>| {
        serde_json::json!({
            "cluster": it.site.name,
            "partition": {"name": it.name},
            "node": {"state": [it.state.to_uppercase()]},
            "nodes": {"total": it.nodes},
        })
    };
    super::json::whole("sinfo", "sinfo", &groups.iter().map(one).collect::<Vec<_>>())
}

/// As `scontrol show partition` shows them.
///
/// # Errors
/// A name that no pool has.
pub(super) fn partitions(
    sites: &[Site],
    names: &[&str],
    one_line: bool,
) -> Result<String, Failure> {
    let all = groups(sites, true);
    let is_named = |it: &&NodeGroup<'_>| {
        names.is_empty() || names.iter().any(|name| *name == it.name || *name == it.pool.name)
    };
    let shown: Vec<&NodeGroup<'_>> = all.iter().filter(is_named).collect();
    if shown.is_empty() && !names.is_empty() {
        return Err(refused(format!("Partition {} not found", names.join(","))));
    }
    let page = |it: &&NodeGroup<'_>| {
        let up = if it.site.state.is_counted_on() { "UP" } else { "DOWN" };
        let lines = [
            format!("PartitionName={}", it.name),
            "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL".to_owned(),
            "AllocNodes=ALL Default=NO QoS=N/A".to_owned(),
            "DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO Hidden=NO".to_owned(),
            "MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0".to_owned(),
            format!("State={up} TotalNodes={} OverSubscribe=EXCLUSIVE", it.pool.nodes),
            format!("Cluster={} Price={}", it.site.name, it.pool.price),
        ];
        if one_line { lines.join(" ") + "\n" } else { lines.join("\n   ") + "\n\n" }
    };
    Ok(shown.iter().map(page).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heads that `sinfo -o` of Slurm 24.11.5 prints, by letter.
    const LETTERS_OF_SLURM: &str = "\
        a=AVAIL A=NODES(A/I) b=ACTIVE_FEATURES B=MAX_CPUS_PER_NODE c=CPUS C=CPUS(A/I/O/T) \
        d=TMP_DISK D=NODES e=FREE_MEM E=REASON f=AVAIL_FEATURES F=NODES(A/I/O/T) g=GROUPS \
        G=GRES h=OVERSUBSCRIBE H=TIMESTAMP i=RESERVATION I=PRIO_JOB_FACTOR l=TIMELIMIT \
        L=DEFAULTTIME m=MEMORY M=PREEMPT_MODE n=HOSTNAMES N=NODELIST o=NODE_ADDR O=CPU_LOAD \
        p=PRIO_TIER P=PARTITION r=ROOT R=PARTITION s=JOB_SIZE S=ALLOCNODES t=STATE T=STATE \
        u=USER U=USER v=VERSION V=CLUSTER w=WEIGHT X=SOCKETS Y=CORES z=S:C:T Z=THREADS";

    #[test]
    fn heads_are_those_that_slurm_prints() {
        for (letter, head) in LETTERS_OF_SLURM.split(' ').filter_map(|it| it.split_once('=')) {
            let columns = columns(&format!("%{letter}")).unwrap();
            assert_eq!(line(&columns, |it| it.head.to_owned()), format!("{head}\n"));
        }
    }
}
