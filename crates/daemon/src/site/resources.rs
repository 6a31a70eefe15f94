//! Memory and generic resources: what jobs ask managers for, and what nodes have.

use std::collections::BTreeMap;
use std::fmt;

/// Resources of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources {
    /// Memory in megabytes.
    pub memory: u64,
    /// Others by name, and by name and type: `gpu`, `gpu:tesla`.
    pub generic: BTreeMap<String, u64>,
}

impl Resources {
    /// What a job needs of each of its nodes at least, by its options for managers. Generic
    /// resources that cannot be read ask for nothing, memory for 1 MB: the manager may say no.
    pub fn asked(options: &[(String, String)]) -> Resources {
        let mut all = Resources::default();
        for (name, value) in options {
            match name.as_str() {
                // Of a processor or an accelerator: a node must have as much, at least. 0 is all
                // that a node has: where memory cannot be asked for, that cannot either.
                "mem" | "mem-per-cpu" | "mem-per-gpu" => {
                    all.memory = all.memory.max(megabytes(value)).max(1);
                }
                "gres" => all.widen(&generic(value)),
                "gpus-per-node" => all.widen(&generic(&of_gpu(value))),
                "gpus" | "gpus-per-task" | "gpus-per-socket" => {
                    all.widen(&[("gpu".to_owned(), 1)].into());
                }
                _ => {}
            }
        }
        all
    }

    /// Whether a node with these could have what is asked for.
    pub fn hold(&self, asked: &Resources) -> bool {
        let has =
            |(name, min): (&String, &u64)| self.generic.get(name).copied().unwrap_or(0) >= *min;
        self.memory >= asked.memory && asked.generic.iter().all(has)
    }

    /// The more of each, of nodes that differ.
    pub fn max(mut self, other: &Resources) -> Resources {
        self.memory = self.memory.max(other.memory);
        self.widen(&other.generic);
        self
    }

    fn widen(&mut self, generic: &BTreeMap<String, u64>) {
        for (name, count) in generic {
            let max = self.generic.entry(name.clone()).or_default();
            *max = (*max).max(*count);
        }
    }
}

/// `4000 MB, gpu 2`.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = (self.memory > 0).then(|| format!("{} MB", self.memory));
        let generic = self.generic.iter().filter(|(_, count)| **count > 0);
        let generic = generic.map(|(name, count)| format!("{name} {count}"));
        let all: Vec<String> = memory.into_iter().chain(generic).collect();
        match all.is_empty() {
            true => f.write_str("nothing that could be asked for"),
            false => f.write_str(&all.join(", ")),
        }
    }
}

/// `4000M`, `3.5G`, as Slurm writes it, or `8g`, as people do; without a unit megabytes. 0 if it is
/// none of these.
pub fn megabytes(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let amount: f64 = digits.parse().unwrap_or(0.0);
    let factor = match unit.chars().next().map(|c| c.to_ascii_uppercase()) {
        Some('K') => 1.0 / 1_024.0,
        Some('G') => 1_024.0,
        Some('T') => 1_048_576.0,
        _ => 1.0,
    };
    (amount * factor).ceil() as u64
}

/// `gpu:tesla:2(S:0-1),gpu:4,tmp:1` by name, all types together, and by name and type.
pub fn generic(text: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for part in parts(text) {
        let part = part.split('(').next().unwrap_or(part).trim();
        let mut words = part.split(':').filter(|word| *word != "no_consume");
        let Some(name) = words.next().filter(|name| !["", "none"].contains(name)) else { continue };
        let (counts, types): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let count = counts.first().map_or(1, |text| count(text));
        let mut add = |name: String| {
            let sum: &mut u64 = all.entry(name).or_default();
            *sum = sum.saturating_add(count);
        };
        add(name.to_owned());
        if let Some(kind) = types.first() {
            add(format!("{name}:{kind}"));
        }
    }
    all
}

/// Reads a count such as `2` or `4K`.
fn count(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let factor = match unit.chars().next().map(|c| c.to_ascii_uppercase()) {
        Some('K') => 1 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        Some('T') => 1 << 40,
        _ => 1_u64,
    };
    digits.parse::<u64>().unwrap_or(0).saturating_mul(factor)
}

/// `tesla:2,1` as `gpu:tesla:2,gpu:1`.
fn of_gpu(value: &str) -> String {
    let parts: Vec<String> = value.split(',').map(|part| format!("gpu:{part}")).collect();
    parts.join(",")
}

/// The parts between commas that are outside parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(options: &[(&str, &str)]) -> Resources {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Resources::asked(&options.iter().map(own).collect::<Vec<_>>())
    }

    #[test]
    fn counts_that_do_not_fit_in_64_bits_are_as_many_as_fit() {
        let all = generic(&format!("gpu:a:{},gpu:b:2", u64::MAX));
        assert_eq!((all["gpu"], all["gpu:b"]), (u64::MAX, 2));
    }

    #[test]
    fn requests_are_read_as_sbatch_reads_them() {
        for (options, wanted) in [
            (&[("mem", "3000")][..], "3000 MB"),
            (&[("mem", "8g"), ("mem-per-cpu", "500M"), ("qos", "low")], "8192 MB"),
            (&[("mem", "1K")], "1 MB"),
            (&[("gres", "gpu:tesla:2,license:1")], "gpu 2, gpu:tesla 2, license 1"),
            (&[("gres", "gpu"), ("gpus-per-node", "a100:2,1")], "gpu 3, gpu:a100 2"),
            (&[("gres", "bandwidth:lustre:4K")], "bandwidth 4096, bandwidth:lustre 4096"),
            (&[("gpus", "12")], "gpu 1"),
            (&[("mem", "0"), ("gres", "none")], "1 MB"),
            (&[("qos", "low"), ("gres", "")], "nothing that could be asked for"),
        ] {
            assert_eq!(asked(options).to_string(), wanted, "{options:?}");
        }
    }

    #[test]
    fn nodes_hold_what_they_have_and_no_more() {
        let node = |memory, list| Resources { memory, generic: generic(list) };
        let big = node(4_000, "gpu:tesla:2(S:0-1),gpu:a100:no_consume:1,tmp:1");
        assert_eq!(big.to_string(), "4000 MB, gpu 3, gpu:a100 1, gpu:tesla 2, tmp 1");
        for (options, holds) in [
            (("mem", "4000"), true),
            (("mem", "4001"), false),
            (("gres", "gpu:3"), true),
            (("gres", "gpu:tesla:3"), false),
            (("gres", "shard:1"), false),
            (("gpus-per-task", "1"), true),
        ] {
            assert_eq!(big.hold(&asked(&[options])), holds, "{options:?}");
        }
        assert!(node(0, "(null)").hold(&asked(&[])));
    }

    proptest! {
        #[test]
        fn of_nodes_that_differ_the_most_of_each_counts(
            one in (0_u64..9, 0_u64..4), other in (0_u64..9, 0_u64..4), want in (0_u64..9, 0_u64..4),
        ) {
            let of = |(memory, gpus): (u64, u64)| {
                Resources { memory, generic: [("gpu".to_owned(), gpus)].into() }
            };
            let max = of(one).max(&of(other));
            let either = |pick: fn(&(u64, u64)) -> u64| {
                pick(&one) >= pick(&want) || pick(&other) >= pick(&want)
            };
            prop_assert_eq!(max.hold(&of(want)), either(|it| it.0) && either(|it| it.1));
        }
    }
}
