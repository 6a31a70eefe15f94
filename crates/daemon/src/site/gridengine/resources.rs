//! Memory, GPUs and other countable resources: by which complexes jobs ask for them, and what hosts have.
//!
//! A complex is Grid Engine's word for an attribute that `-l` asks for. Of a consumable one each slot of a
//! job takes its amount (`YES`), or the job does (`JOB`); of others each host must have it. What a host has
//! is in its `complex_values`, the memory of the machine itself in its `load_values`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::cluster::GridEngineCluster;
use super::replies::{GridEngineJob, Instance};
use super::settings::{Pool, Unit};
use crate::site::SiteError;
use crate::site::managed::driver::Base;
use crate::site::resources::{Resources, generic};
use crate::site::room::Room;

/// What is known is asked for again after this time.
const READ: Duration = Duration::from_secs(600);
/// So many hosts are asked for at a time; the others are, at the next surveys.
const AT_ONCE: usize = 16;
/// Complexes that carry a node's memory, if the configuration names none: the first that jobs may ask for.
/// The first one only where it is counted: otherwise it is a limit that nothing is kept free for.
const MEMORY: [&str; 2] = ["h_vmem", "mem_free"];
/// It is a complex, too, and what tasks get anyway.
const SLOTS: &str = "slots";

/// How an amount counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Each slot takes it.
    Slot,
    /// The job takes it.
    Job,
    /// Each host must have it; nothing is taken.
    Host,
}

/// A complex with a number that jobs may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Complex {
    name: String,
    shortcut: String,
    is_memory: bool,
    counted: Counted,
    /// What a job takes that does not ask for it, as it is written.
    default: String,
}

/// The cluster's complexes and hosts.
#[derive(Debug, Default)]
pub(super) struct HostResources {
    /// The complex that carries memory, and that of GPUs, as configured.
    named: BTreeMap<String, String>,
    complexes: Option<(Instant, Vec<Complex>)>,
    hosts: BTreeMap<String, (Instant, Resources)>,
}

impl HostResources {
    /// With the names that the site's options give complexes: `mem`, `gpu`.
    pub(super) fn named(options: &[(String, String)]) -> HostResources {
        let named = options.iter().filter(|(name, _)| OPTIONS.contains(&name.as_str()));
        HostResources { named: named.cloned().collect(), ..HostResources::default() }
    }

    /// Asks for what is not known of the hosts of the pools, some of them at a time.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub(super) fn ask(
        &mut self,
        base: &Base,
        pools: &[Pool],
        instances: &[Instance],
    ) -> Result<(), SiteError> {
        let cluster = GridEngineCluster(&base.tool);
        if self.complexes.as_ref().is_none_or(|(at, _)| at.elapsed() >= READ) {
            let known = read_complexes(&cluster.text(&["qconf", "-sc"])?);
            self.complexes = Some((Instant::now(), known));
        }
        let own = |one: &&Instance| pools.iter().any(|pool| pool.has(one));
        let hosts: BTreeSet<&str> = instances.iter().filter(own).map(Instance::host).collect();
        self.hosts.retain(|host, _| hosts.contains(host.as_str()));
        let is_old =
            |host: &&&str| self.hosts.get(**host).is_none_or(|(at, _)| at.elapsed() >= READ);
        let old: Vec<&str> = hosts.iter().filter(is_old).take(AT_ONCE).copied().collect();
        for host in old {
            let about = cluster.settings(&["qconf", "-se", host])?;
            let has = self.of_host(&about);
            self.hosts.insert(host.to_owned(), (Instant::now(), has));
        }
        Ok(())
    }

    /// Whether nothing was asked for yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.complexes.is_none()
    }

    /// The most of each that a host of the pool has, as far as hosts were asked.
    pub(super) fn most(&self, pool: &Pool, instances: &[Instance]) -> Resources {
        let own = instances.iter().filter(|instance| pool.has(instance));
        let known = own.filter_map(|instance| self.hosts.get(instance.host()));
        known.fold(Resources::default(), |most, (_, has)| most.max(has))
    }

    /// The words of `-l` for what a job of so many nodes asks for by its options; a node has so many slots.
    ///
    /// # Errors
    /// What cannot be asked for, by name, for people.
    pub(super) fn words(
        &self,
        options: &[(String, String)],
        nodes: u32,
        unit: (Unit, u32),
    ) -> Result<Vec<String>, String> {
        let nodes = u64::from(nodes.max(1));
        let mut words = self.of_units(nodes, unit.0)?;
        for (name, value) in options {
            let name = name.trim_start_matches('-');
            match name {
                // Whole units have it.
                "mem" | "mem-per-cpu" if matches!(unit.0, Unit::Shared(_)) => {}
                "mem" | "mem-per-cpu" => {
                    words.extend(self.memory(nodes, unit, (name, value))?);
                }
                "gres" => words.extend(self.generic(nodes, unit.1, &generic(value))?),
                "gpus-per-node" => {
                    let wanted = value.split(',').map(|part| format!("gpu:{part}"));
                    let wanted = generic(&wanted.collect::<Vec<_>>().join(","));
                    words.extend(self.generic(nodes, unit.1, &wanted)?);
                }
                "gpus" => words.extend(self.all_gpus(nodes, unit.1, value)?),
                _ => {}
            }
        }
        Ok(words)
    }

    /// The word for the memory of so many units, if units have any.
    ///
    /// # Errors
    /// If the cluster does not count memory, for people.
    pub(super) fn of_units(&self, nodes: u64, unit: Unit) -> Result<Vec<String>, String> {
        let Unit::Shared(size) = unit else { return Ok(Vec::new()) };
        let complex = self.counted_memory().ok_or_else(uncounted)?;
        let amount = match complex.counted {
            Counted::Slot | Counted::Host => size.memory / u64::from(size.cores.max(1)),
            Counted::Job => size.memory.saturating_mul(nodes),
        };
        Ok(vec![format!("{}={amount}M", complex.name)])
    }

    /// Why units of this pool cannot have memory, if the cluster was asked.
    pub(super) fn problem(&self, pool: &Pool) -> Option<String> {
        let is_shared = matches!(pool.unit, Unit::Shared(_));
        let is_bad = is_shared && !self.is_unknown() && self.counted_memory().is_none();
        is_bad.then(uncounted)
    }

    /// What the queue instance has, as far as its host was asked.
    pub(super) fn room(&self, instance: &Instance) -> Room {
        let memory = self.hosts.get(instance.host()).map_or(0, |(_, has)| has.memory);
        Room { cores: instance.slots, memory }
    }

    /// Megabytes that a job takes on a host where it has so many slots, rounded up. Of an amount that the
    /// job takes once, it is not known on which of its hosts: it counts on each.
    pub(super) fn memory_of(&self, job: &GridEngineJob, slots: u32) -> u64 {
        let Some(complex) = self.counted_memory() else { return 0 };
        let asked = job.requests.get(&complex.name).or_else(|| job.requests.get(&complex.shortcut));
        let amount = u128::from(bytes(asked.unwrap_or(&complex.default)));
        let all = match complex.counted {
            Counted::Slot => amount * u128::from(slots),
            Counted::Job | Counted::Host => amount,
        };
        u64::try_from(all.div_ceil(1 << 20)).unwrap_or(u64::MAX)
    }

    fn memory(
        &self,
        nodes: u64,
        (unit, slots): (Unit, u32),
        (name, value): (&str, &str),
    ) -> Result<Option<String>, String> {
        let wanted = mebibytes(&with_unit(value));
        if wanted == 0 {
            // All of a node: it has it if it is a whole host.
            return match unit {
                Unit::Host => Ok(None),
                _ => Err(format!("`{name}={value}`: tasks share hosts here")),
            };
        }
        let complex = self.of_memory().ok_or_else(|| {
            format!("`{name}`: no complex for memory (`qconf -sc`: {})", MEMORY.join(", "))
        })?;
        let slots = u64::from(slots.max(1));
        let is_of_node = name == "mem";
        let of_node = if is_of_node { wanted } else { wanted.saturating_mul(slots) };
        let amount = match complex.counted {
            Counted::Slot if is_of_node => wanted.div_ceil(slots),
            Counted::Slot => wanted,
            Counted::Host => of_node,
            Counted::Job => of_node.saturating_mul(nodes),
        };
        Ok(Some(format!("{}={amount}M", complex.name)))
    }

    fn generic(
        &self,
        nodes: u64,
        slots: u32,
        wanted: &BTreeMap<String, u64>,
    ) -> Result<Vec<String>, String> {
        let one = |(name, count): (&String, &u64)| {
            if name.contains(':') {
                return Err(format!("`{name}`: resources have no types here"));
            }
            let complex = self.of_generic(name).ok_or_else(|| {
                format!("`{name}`: no complex of this name that jobs may ask for (`qconf -sc`)")
            })?;
            let slots = u64::from(slots.max(1));
            let amount = match complex.counted {
                Counted::Slot if count % slots == 0 => count / slots,
                Counted::Slot => {
                    return Err(format!(
                        "`{name}:{count}`: it is counted per slot, and a node has {slots} slots"
                    ));
                }
                Counted::Job if nodes > 1 => {
                    return Err(format!("`{name}`: it is counted per job, not per node"));
                }
                Counted::Job | Counted::Host => *count,
            };
            Ok(format!("{}={amount}", complex.name))
        };
        wanted.iter().filter(|(_, count)| **count > 0).map(one).collect()
    }

    /// `--gpus`: of all nodes together.
    fn all_gpus(&self, nodes: u64, slots: u32, value: &str) -> Result<Vec<String>, String> {
        let mut each = generic(&format!("gpu:{value}"));
        for count in each.values_mut() {
            if *count % nodes != 0 {
                return Err(format!("`gpus={value}`: {nodes} nodes cannot have equally many"));
            }
            *count /= nodes;
        }
        self.generic(nodes, slots, &each)
    }

    fn complex(&self, name: &str) -> Option<&Complex> {
        let (_, all) = self.complexes.as_ref()?;
        all.iter().find(|one| one.name == name || one.shortcut == name)
    }

    fn of_memory(&self) -> Option<&Complex> {
        if let Some(name) = self.named.get("mem") {
            return self.complex(name).filter(|one| one.is_memory);
        }
        let is_kept = |one: &&Complex| one.name != MEMORY[0] || one.counted != Counted::Host;
        MEMORY.into_iter().filter_map(|name| self.complex(name)).find(is_kept)
    }

    /// The same, if what is taken of it is counted.
    fn counted_memory(&self) -> Option<&Complex> {
        self.of_memory().filter(|one| one.counted != Counted::Host)
    }

    /// The complex of a generic resource of Slurm's kind: that of the same name, unless the options
    /// name one.
    fn of_generic(&self, name: &str) -> Option<&Complex> {
        let name = self.named.get(name).filter(|_| name != "mem").map_or(name, String::as_str);
        self.complex(name).filter(|one| !one.is_memory && one.name != SLOTS)
    }

    /// What a host has, by `qconf -se`.
    fn of_host(&self, about: &BTreeMap<String, String>) -> Resources {
        let list = |name: &str| {
            let pairs = about.get(name).map_or("", String::as_str).split(',');
            let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
            pairs.map(|(name, value)| (name.trim(), value.trim())).collect::<BTreeMap<_, _>>()
        };
        let (values, load) = (list("complex_values"), list("load_values"));
        let of = |one: &Complex| {
            values.get(one.name.as_str()).or_else(|| values.get(one.shortcut.as_str())).copied()
        };
        let machine = load.get("mem_total").map_or(0, |text| mebibytes(text));
        let memory = self.of_memory().map_or(0, |one| match (of(one), one.counted) {
            (Some(value), _) => mebibytes(value),
            (None, Counted::Host) => machine,
            // A queue has as much of it as anybody wants.
            (None, _) if one.name == MEMORY[0] => machine,
            (None, _) => 0,
        });
        let mut all = Resources { memory, ..Resources::default() };
        let known = self.complexes.iter().flat_map(|(_, all)| all);
        for one in known.filter(|one| !one.is_memory && one.name != SLOTS) {
            let count = of(one).and_then(|value| value.parse::<u64>().ok());
            for name in [&one.name, &one.shortcut] {
                all.generic.extend(count.map(|count| (name.clone(), count)));
            }
        }
        let gpus = self.of_generic("gpu").and_then(|one| all.generic.get(&one.name));
        if let Some(gpus) = gpus.copied() {
            all.generic.insert("gpu".to_owned(), gpus);
        }
        all
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl HostResources {
    /// Hosts with so many megabytes each, where each slot takes what it asks for, or 100 MB.
    pub(super) fn counting(hosts: &[(&str, u64)]) -> HostResources {
        let complexes = read_complexes("h_vmem hv MEMORY <= YES YES 100M 0");
        let has = |memory| (Instant::now(), Resources { memory, ..Resources::default() });
        let hosts = hosts.iter().map(|(host, memory)| ((*host).to_owned(), has(*memory)));
        let complexes = Some((Instant::now(), complexes));
        HostResources { complexes, hosts: hosts.collect(), ..HostResources::default() }
    }
}

/// Options of a site that are no options of `qsub`, but name complexes.
pub(super) const OPTIONS: [&str; 2] = ["mem", "gpu"];

/// Reads `qconf -sc`: a line for each complex, with name, shortcut, type, relation, whether jobs may
/// ask for it, and whether it is consumed. Those that have no number, or that jobs may not ask for, are
/// left out.
fn read_complexes(text: &str) -> Vec<Complex> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, shortcut, kind, "<=", "YES" | "FORCED", consumed, rest @ ..] = words.as_slice()
        else {
            return None;
        };
        let is_memory = match *kind {
            "MEMORY" => true,
            "INT" => false,
            _ => return None,
        };
        let counted = match *consumed {
            "YES" => Counted::Slot,
            "JOB" => Counted::Job,
            _ => Counted::Host,
        };
        let (name, shortcut) = ((*name).to_owned(), (*shortcut).to_owned());
        let default = rest.first().map_or("0", |text| text).to_owned();
        Some(Complex { name, shortcut, is_memory, counted, default })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(one).collect()
}

fn uncounted() -> String {
    let names = MEMORY.join(", ");
    format!("memory of units: no complex for memory is `consumable` (`qconf -sc`: {names})")
}

/// As people write memory for Slurm: without a unit megabytes.
fn with_unit(value: &str) -> String {
    match value.ends_with(|c: char| c.is_ascii_digit()) {
        true => format!("{value}M"),
        false => value.to_ascii_uppercase(),
    }
}

/// An amount of memory as Grid Engine writes it, in whole mebibytes; 0 if it is none.
fn mebibytes(text: &str) -> u64 {
    bytes(text) >> 20
}

/// An amount of memory as Grid Engine writes it: `24032.007812M`, `8G`, `512` (bytes); small letters are
/// powers of 1000. 0 if it is none.
fn bytes(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let thousandths = format!("{whole}{:0<3}", part.get(..3).unwrap_or(part));
    let Ok(thousandths) = thousandths.parse::<u64>() else { return 0 };
    let bytes: u64 = match unit.trim_end_matches(['B', 'b', 'i']) {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        _ => return 0,
    };
    let bytes = u128::from(thousandths) * u128::from(bytes) / 1_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::size::UnitSize;

    const COMPLEXES: &str = "\
#name               shortcut   type        relop   requestable consumable default  urgency
#------------------------------------------------------------------------------------------
arch                a          RESTRING    ==      YES         NO         NONE     0
gpu                 g          INT         <=      YES         YES        0        0
h_rt                h_rt       TIME        <=      YES         NO         0:0:0    0
h_vmem              h_vmem     MEMORY      <=      YES         NO         0        0
license             lic        INT         <=      YES         JOB        0        0
mem_free            mf         MEMORY      <=      YES         NO         0        0
mem_total           mt         MEMORY      <=      YES         NO         0        0
hidden              hid        INT         <=      NO          YES        0        0
slots               s          INT         <=      YES         YES        1        1000
# >#< starts a comment but comments are not saved across edits --------
";

    fn known(text: &str, options: &[(&str, &str)]) -> HostResources {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let complexes = Some((Instant::now(), read_complexes(text)));
        let named = HostResources::named(&options.collect::<Vec<_>>());
        HostResources { complexes, ..named }
    }

    fn counted() -> String {
        counted_as("YES")
    }

    fn counted_as(how: &str) -> String {
        let before = "h_vmem     MEMORY      <=      YES         ";
        COMPLEXES.replace(&format!("{before}NO"), &format!("{before}{how}"))
    }

    /// What is asked for by one option.
    fn asked(
        known: &HostResources,
        nodes: u32,
        unit: (Unit, u32),
        (name, value): (&str, &str),
    ) -> Result<String, String> {
        let options = [(name.to_owned(), value.to_owned())];
        known.words(&options, nodes, unit).map(|words| words.join(","))
    }

    fn host(values: &str) -> BTreeMap<String, String> {
        let load = "arch=lx-amd64,num_proc=2,mem_total=24032.507812M,mem_free=1.5G";
        let pairs = [("complex_values", values), ("load_values", load)];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_host_has_what_is_set_for_it_and_the_memory_of_its_machine() {
        let plain = known(COMPLEXES, &[]);
        for (values, has) in [
            ("NONE", "24032 MB"),
            ("gpu=4,license=2,hidden=9,slots=8", "24032 MB, g 4, gpu 4, lic 2, license 2"),
            ("g=1, h_vmem=8G", "24032 MB, g 1, gpu 1"),
        ] {
            assert_eq!(plain.of_host(&host(values)).to_string(), has, "{values}");
        }
        let counted = known(&counted(), &[("gpu", "license")]);
        assert_eq!(counted.of_host(&host("h_vmem=8G")).to_string(), "8192 MB");
        assert_eq!(counted.of_host(&host("NONE")).to_string(), "24032 MB");
        assert_eq!(
            counted.of_host(&host("h_vmem=8g,license=3")).to_string(),
            "7629 MB, gpu 3, lic 3, license 3"
        );
        let named = known(COMPLEXES, &[("mem", "mem_total")]);
        assert_eq!(named.of_host(&host("NONE")).memory, 24_032);
        assert_eq!(known("", &[]).of_host(&host("gpu=2")), Resources::default());
    }

    #[test]
    fn amounts_are_those_of_slots_jobs_or_hosts() {
        let (counted, plain) = (known(&counted(), &[]), known(COMPLEXES, &[]));
        let cores = |slots| (Unit::Slots(slots), slots);
        for (known, nodes, unit, option, words) in [
            (&counted, 1, cores(1), ("mem", "3G"), "h_vmem=3072M"),
            (&counted, 2, cores(2), ("mem", "3001"), "h_vmem=1501M"),
            (&counted, 2, cores(2), ("mem-per-cpu", "2g"), "h_vmem=2048M"),
            (&plain, 2, cores(2), ("mem", "3001M"), "mem_free=3001M"),
            (&plain, 2, cores(2), ("mem-per-cpu", "1000"), "mem_free=2000M"),
            (&plain, 1, (Unit::Host, 8), ("mem", "0"), ""),
            (&plain, 3, cores(2), ("gres", "gpu:4"), "gpu=2"),
            (&plain, 3, cores(1), ("gpus-per-node", "2"), "gpu=2"),
            (&plain, 3, cores(1), ("gpus", "6"), "gpu=2"),
            (&plain, 1, cores(4), ("gres", "license:1,gpu:8"), "gpu=2,license=1"),
            (&plain, 1, cores(4), ("gres", "none"), ""),
            (&plain, 1, cores(4), ("qos", "low"), ""),
        ] {
            assert_eq!(asked(known, nodes, unit, option).unwrap(), words, "{option:?}");
        }
    }

    #[test]
    fn units_have_the_memory_that_was_bought() {
        let unit = Unit::Shared(UnitSize { cores: 4, memory: 16_000 });
        let (counted, plain) = (known(&counted(), &[]), known(COMPLEXES, &[]));
        for option in [("qos", "low"), ("mem", "1G"), ("mem-per-cpu", "0")] {
            assert_eq!(
                asked(&counted, 2, (unit, 4), option).unwrap(),
                "h_vmem=4000M",
                "{option:?}"
            );
        }
        let once = known(&counted_as("JOB"), &[]);
        assert_eq!(once.of_units(3, unit).unwrap(), ["h_vmem=48000M"]);
        let refused = asked(&plain, 1, (unit, 4), ("qos", "low")).unwrap_err();
        assert!(refused.contains("`consumable`"), "{refused}");
        assert_eq!(plain.of_units(1, Unit::Host).unwrap(), [""; 0]);
    }

    #[test]
    fn a_job_takes_what_it_asks_for_or_the_default() {
        let hosts = HostResources::counting(&[]);
        let memory = |requests: &[(&str, &str)], slots| {
            let pairs = requests.iter().map(|(name, amount)| (*name, *amount));
            let requests = pairs.map(|(name, amount)| (name.to_owned(), amount.to_owned()));
            let job = GridEngineJob { requests: requests.collect(), ..GridEngineJob::default() };
            hosts.memory_of(&job, slots)
        };
        assert_eq!(memory(&[("h_vmem", "1.5G"), ("h_rt", "9")], 3), 4_608);
        assert_eq!(memory(&[("hv", "1000000")], 3), 3, "rounded up in sum");
        assert_eq!((memory(&[], 3), memory(&[("h_vmem", "x")], 3)), (300, 0));
        let once = known(&counted_as("JOB"), &[]);
        let job = GridEngineJob {
            requests: [("h_vmem".to_owned(), "2G".to_owned())].into(),
            ..GridEngineJob::default()
        };
        assert_eq!((once.memory_of(&job, 3), known(COMPLEXES, &[]).memory_of(&job, 3)), (2_048, 0));
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused_by_name() {
        let plain = known(COMPLEXES, &[]);
        let cores = |slots| (Unit::Slots(slots), slots);
        for (nodes, unit, option, why) in [
            (1, cores(1), ("mem", "0"), "`mem=0`"),
            (1, cores(2), ("gres", "gpu:1"), "`gpu:1`: it is counted per slot"),
            (2, cores(1), ("gres", "license:1"), "`license`: it is counted per job"),
            (1, cores(1), ("gres", "gpu:tesla:1"), "types"),
            (1, cores(1), ("gres", "shard:1"), "`shard`: no complex"),
            (1, cores(1), ("gres", "slots:1"), "`slots`"),
            (3, cores(1), ("gpus", "4"), "`gpus=4`"),
        ] {
            let refused = asked(&plain, nodes, unit, option).unwrap_err();
            assert!(refused.contains(why), "{option:?}: {refused}");
        }
        let none = asked(&known("", &[]), 1, cores(1), ("mem", "5")).unwrap_err();
        assert!(none.contains("no complex for memory"), "{none}");
    }

    #[test]
    fn memory_is_read_as_it_is_written() {
        for (text, amount) in [
            ("24032.007812M", 24_032),
            ("1.5G", 1_536),
            ("8g", 7_629),
            ("1T", 1 << 20),
            ("2097152", 2),
            ("2048K", 2),
            ("0.999M", 0),
            ("INFINITY", 0),
            ("NONE", 0),
            ("", 0),
        ] {
            assert_eq!(mebibytes(text), amount, "{text}");
        }
    }
}
