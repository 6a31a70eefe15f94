//! Batch scripts run by plain `sbatch` and by Tradewind on two clusters of one kind: what their
//! jobs get and read is the same, or the option is refused by name, or the difference is in
//! the table, which the test prints.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer};
use table::{Expected, Script, scripts};

const NODES: u32 = 5;
/// Variables that say what cannot be the same twice, and why.
const OTHERWISE: [(&str, &str); 15] = [
    ("SLURM_JOB_ID", "each manager counts its own jobs"),
    ("SLURM_JOBID", "the same"),
    ("SLURM_ARRAY_JOB_ID", "the market's number of the array"),
    ("SLURM_JOB_NODELIST", "which nodes are free"),
    ("SLURM_NODELIST", "the same"),
    ("SLURM_TOPOLOGY_ADDR", "the first of these nodes"),
    ("SLURM_TASK_PID", "a process"),
    ("SLURM_CONF", "two clusters"),
    ("SLURM_WORKING_CLUSTER", "ports of two controllers"),
    ("SLURM_RESTART_COUNT", "set by Slurm when it requeues; the market requeues by itself"),
    ("SLURM_JOB_DEPENDENCY", "the market hands a job over when it waits for no other any more"),
    ("SLURM_JOB_START_TIME", "newer versions say when the job began"),
    ("SLURM_JOB_END_TIME", "and when its limit ends"),
    ("SLURM_JOB_SLUID", "a number that no other job has (26.05)"),
    ("SLURM_EXPORT_ENV", "the market hands variables over by itself"),
];
/// What is compared of `scontrol show job`.
const FIELDS: [&str; 15] = [
    "NumNodes",
    "NumCPUs",
    "NumTasks",
    "CPUs/Task",
    "TRES",
    "TimeLimit",
    "MinCPUsNode",
    "MinMemoryNode",
    "MinMemoryCPU",
    "TresPerJob",
    "TresPerNode",
    "TresPerTask",
    "MemPerTres",
    "NtasksPerN:B:S:C",
    "JobName",
];

/// What one task of a script saw: by name of the variable or field.
type Seen = BTreeMap<String, String>;
/// By index in its array; 0 where there is none.
type Tasks = BTreeMap<u32, Seen>;

/// What happened to a script: its job's exit code and what its tasks saw, or why it was refused.
type Fate = Result<(i64, Tasks), String>;

fn twin() -> Cluster {
    let mut plan = Plan::of("twin", NODES);
    plan.node = "CPUs=4 RealMemory=4000 Gres=gpu:2 State=UNKNOWN";
    plan.more[0].push_str(" OverSubscribe=EXCLUSIVE");
    // Of values that are given twice Slurm takes the last.
    for line in ["GresTypes=gpu", "SelectTypeParameters=CR_CPU_Memory", "MinJobAge=900"] {
        plan.more.push(line.to_owned());
    }
    Cluster::start(&plan)
}

/// The script's file in a folder of its own side; what it sees goes there, too.
fn write(script: &Script, side: &Path, numbers: &BTreeMap<&str, String>) -> PathBuf {
    let mut text = "#!/bin/sh\n".to_owned();
    if !script.options.iter().any(|it| it.starts_with("--time") || it.starts_with("-t")) {
        text.push_str("#SBATCH --time=2\n");
    }
    for option in script.options {
        let mut line = format!("#SBATCH {option}\n");
        for (name, number) in numbers {
            line = line.replace(&format!("@{name}@"), number);
        }
        text.push_str(&line);
    }
    let (name, side) = (script.name, side.display());
    text.push_str(&format!(
        "seen={side}/{name}.${{SLURM_ARRAY_TASK_ID:-0}}\n\
         {{ echo \"PWD=$PWD\"; env | grep ^SLURM_; scontrol -o show job \"$SLURM_JOB_ID\" | \
         tr ' ' '\\n' | sed 's/^/job /'; }} >\"$seen.part\"\n\
         mv \"$seen.part\" \"$seen.seen\"\nexit {}\n",
        script.code
    ));
    let path = PathBuf::from(format!("{side}/{name}"));
    std::fs::write(&path, text).unwrap();
    path
}

/// What the tasks of the script have written.
fn tasks(script: &Script, side: &Path) -> Tasks {
    let names = std::fs::read_dir(side).unwrap().map(|it| it.unwrap().file_name());
    let mut all = Tasks::new();
    for name in names.map(|name| name.into_string().unwrap()) {
        let index = name.strip_prefix(script.name).and_then(|it| it.strip_prefix('.'));
        let index = index.and_then(|it| it.strip_suffix(".seen")?.parse().ok());
        if let Some(index) = index {
            all.insert(index, seen(&std::fs::read_to_string(side.join(name)).unwrap()));
        }
    }
    all
}

fn seen(text: &str) -> Seen {
    let kept = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let is_kept = match name.strip_prefix("job ") {
            Some(field) => FIELDS.contains(&field),
            None => !OTHERWISE.iter().any(|(variable, _)| *variable == name),
        };
        is_kept.then(|| (name.to_owned(), value.to_owned()))
    });
    kept.collect()
}

/// Runs all scripts by plain `sbatch`, from the folder in which the market's tasks run.
fn plainly(cluster: &Cluster, side: &Path, work: &Path) -> BTreeMap<&'static str, Fate> {
    let mut numbers = BTreeMap::new();
    let mut refused = BTreeMap::new();
    for script in scripts() {
        let path = write(script, side, &numbers);
        let output = std::process::Command::new("sbatch")
            .args(["--parsable", "--output=/dev/null"])
            .arg(path)
            .env("SLURM_CONF", cluster.conf())
            .current_dir(work)
            .output()
            .unwrap();
        match output.status.success() {
            true => {
                let number = String::from_utf8(output.stdout).unwrap().trim().to_owned();
                numbers.insert(script.name, number);
            }
            false => {
                refused.insert(script.name, String::from_utf8(output.stderr).unwrap());
            }
        }
    }
    for (script, number) in &numbers {
        if scripts().any(|it| it.name == *script && it.refused().is_some()) {
            cluster.run(&["scancel", number]);
        }
    }
    cluster.until("all plain jobs are over", |it| {
        it.say(&["squeue", "-h", "-o", "%i"]).trim().is_empty()
    });
    let fate = |script: &'static Script| match refused.remove(script.name) {
        Some(why) => (script.name, Err(why)),
        None => {
            let all = cluster.say(&["scontrol", "-o", "show", "job", &numbers[script.name]]);
            let codes = all.split_whitespace().filter_map(|it| it.strip_prefix("ExitCode="));
            let codes = codes.filter_map(|it| it.split(':').next()?.parse::<i64>().ok());
            (script.name, Ok((codes.max().unwrap_or(0), tasks(script, side))))
        }
    };
    scripts().map(fate).collect()
}

/// Runs all scripts by `tradewind submit`.
fn by_market(market: &Market, side: &Path) -> BTreeMap<&'static str, Fate> {
    let mut numbers = BTreeMap::new();
    let mut refused = BTreeMap::new();
    for script in scripts() {
        let path = write(script, side, &numbers);
        let output = market.run(&["submit", "--parsable", &path.to_string_lossy()]);
        match output.status.success() {
            true => {
                let number = String::from_utf8(output.stdout).unwrap();
                let first = number.trim().split(|c: char| !c.is_ascii_digit()).next().unwrap();
                numbers.insert(script.name, first.to_owned());
            }
            false => {
                refused.insert(script.name, String::from_utf8(output.stderr).unwrap());
            }
        }
    }
    let jobs = market.all_over();
    let fate = |script: &'static Script| match refused.remove(script.name) {
        Some(why) => (script.name, Err(why)),
        None => {
            let first: u64 = numbers[script.name].parse().unwrap();
            let own = jobs.values().filter(|it| it["id"] == first || it["array"]["first"] == first);
            let bad =
                |it: &&Value| !["COMPLETED", "FAILED"].contains(&it["state"].as_str().unwrap());
            let codes: Vec<&Value> = own.collect();
            if let Some(bad) = codes.iter().copied().find(bad) {
                let whole = market.job(bad["id"].as_u64().unwrap());
                panic!("{}: {whole:#}\n{}", script.name, market.log());
            }
            let codes = codes.iter().filter_map(|it| it["exit"]["code"].as_i64());
            (script.name, Ok((codes.max().unwrap_or(0), tasks(script, side))))
        }
    };
    scripts().map(fate).collect()
}

impl Script {
    fn refused(&self) -> Option<&'static str> {
        match self.expected {
            Expected::Refused(option) => Some(option),
            _ => None,
        }
    }

    /// Whether it is as the table has it; if not, what is different.
    fn compare(&self, plain: &Fate, market: &Fate) -> Result<String, String> {
        match (self.expected, plain, market) {
            (Expected::Both, Err(_), Err(_)) => Ok("refused by both".to_owned()),
            (Expected::Refused(option), _, Err(why)) => {
                let line = format!("{}:", self.name);
                match why.contains(option) && why.contains(&line) {
                    true => Ok(format!("refused by name: `{option}`")),
                    false => Err(format!("refused without `{option}` or a line: {why}")),
                }
            }
            (Expected::Equal | Expected::Otherwise(_), Ok(plain), Ok(market)) => {
                let differs = differences(plain, market);
                let nodes = |it: &(i64, Tasks)| it.1[&0]["job NumNodes"].parse::<u32>().unwrap();
                match self.expected {
                    _ if differs.is_empty() => Ok("equal".to_owned()),
                    Expected::Otherwise(why) if nodes(market) < nodes(plain) => {
                        Ok(format!("differs: {why}"))
                    }
                    _ => Err(differs.join("\n    ")),
                }
            }
            (_, plain, market) => Err(format!("plain: {plain:?}\n    market: {market:?}")),
        }
    }
}

/// What is not the same, with both values.
fn differences(plain: &(i64, Tasks), market: &(i64, Tasks)) -> Vec<String> {
    let mut all = Vec::new();
    let indices = |of: &(i64, Tasks)| of.1.keys().copied().collect::<Vec<u32>>();
    if plain.0 != market.0 {
        all.push(format!("exit code: {} and {}", plain.0, market.0));
    }
    if indices(plain) != indices(market) || plain.1.is_empty() {
        all.push(format!("tasks: {:?} and {:?}", indices(plain), indices(market)));
    }
    for (index, one) in &plain.1 {
        let Some(other) = market.1.get(index) else { continue };
        let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        for name in names.into_iter().filter(|name| one.get(*name) != other.get(*name)) {
            all.push(format!("{index} {name}: {:?} and {:?}", one.get(name), other.get(name)));
        }
    }
    all
}

#[test]
fn scripts_mean_what_they_mean_to_sbatch() {
    let clusters = std::thread::scope(|scope| {
        let other = scope.spawn(twin);
        (twin(), other.join().unwrap())
    });
    let offer = Offer::new(&clusters.1, "twin", NODES, "0.001");
    let market = Market::start("", &[offer]);
    market.until("the cluster was looked at", || market.pool("twin")["free"] == NODES);
    let sides = ["plain", "market"].map(|name| market.path(name));
    sides.iter().for_each(|side| std::fs::create_dir(side).unwrap());
    // Where its client is run, too.
    let work = sides[0].parent().unwrap().to_owned();
    let (plain, ours) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| plainly(&clusters.0, &sides[0], &work));
        let ours = by_market(&market, &sides[1]);
        (plain.join(), ours)
    });
    let plain = plain.unwrap();
    let mut wrong = Vec::new();
    for script in scripts() {
        match script.compare(&plain[script.name], &ours[script.name]) {
            Ok(told) => println!("{:20} {:50} {told}", script.name, script.options.join(" ")),
            Err(why) => wrong.push(format!("{} {:?}\n    {why}", script.name, script.options)),
        }
    }
    for (name, why) in OTHERWISE {
        println!("not compared: {name}: {why}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    market.check_money(&market.all_over());
}
