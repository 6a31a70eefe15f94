//! What a job has of each of its nodes, as `squeue --json` lists it: `job_resources`, which differs by
//! version. Cores are counted as they are read, since a list of ten thousand jobs has a million.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::listing::SlurmJob;
use crate::site::room::Room;

/// A job's part of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::site) struct HeldPart {
    pub node: String,
    pub cpus: u32,
    /// Megabytes.
    pub memory: u64,
}

impl SlurmJob {
    /// What it has of a node. Where Slurm does not list it, an even share of all, rounded up.
    pub(super) fn held_on(&self, node: &str) -> Room {
        if let Some(part) = self.parts.iter().find(|part| part.node == node) {
            return Room { cores: part.cpus, memory: part.memory };
        }
        let nodes = self.nodes.len().max(1);
        let cores = self.cpus.div_ceil(u32::try_from(nodes).unwrap_or(u32::MAX));
        Room { cores, memory: self.memory.div_ceil(nodes as u64) }
    }
}

/// `job_resources`; empty for jobs without nodes.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
pub(super) struct RawResources {
    /// Before 23.11.
    allocated_nodes: RawParts,
    /// Since then with `allocation`; before that the names alone.
    nodes: RawParts,
}

#[derive(Default)]
struct RawParts(Vec<RawPart>);

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct RawPart {
    #[serde(alias = "nodename")]
    name: String,
    memory_allocated: Value,
    memory: Value,
    cpus: Value,
    sockets: Cores,
}

/// How many cores of a tree of sockets are allocated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Cores(u32);

/// A number, bare or wrapped.
fn number(value: &Value) -> Option<u64> {
    value.get("number").unwrap_or(value).as_u64()
}

impl RawResources {
    /// By node; `cpus` of all nodes together. Empty where this is not listed.
    pub(super) fn parts(&self, cpus: u32) -> Vec<HeldPart> {
        let RawParts(listed) = match self.allocated_nodes.0.is_empty() {
            true => &self.nodes,
            false => &self.allocated_nodes,
        };
        let cores: u64 = listed.iter().map(|part| u64::from(part.sockets.0)).sum();
        let part = |raw: &RawPart| {
            let told = raw.cpus.get("count").and_then(number);
            // A core has the same number of processors on each node.
            let by_cores =
                || (u64::from(cpus) * u64::from(raw.sockets.0)).checked_div(cores).unwrap_or(0);
            let memory = raw.memory.get("allocated").unwrap_or(&raw.memory_allocated);
            HeldPart {
                node: raw.name.clone(),
                cpus: u32::try_from(told.unwrap_or_else(by_cores)).unwrap_or(u32::MAX),
                memory: number(memory).unwrap_or(0),
            }
        };
        listed.iter().map(part).collect()
    }
}

impl<'de> Deserialize<'de> for RawParts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<RawParts, D::Error> {
        struct Parts;
        impl<'de> Visitor<'de> for Parts {
            type Value = RawParts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("nodes of a job")
            }

            fn visit_str<E>(self, _: &str) -> Result<RawParts, E> {
                Ok(RawParts::default())
            }

            fn visit_unit<E>(self) -> Result<RawParts, E> {
                Ok(RawParts::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<RawParts, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = all.next_element()? {
                    parts.push(part);
                }
                Ok(RawParts(parts))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<RawParts, A::Error> {
                let mut parts = RawParts::default();
                while let Some(key) = all.next_key::<String>()? {
                    match key.as_str() {
                        "allocation" => parts = all.next_value()?,
                        _ => {
                            all.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(parts)
            }
        }
        from.deserialize_any(Parts)
    }
}

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Cores, D::Error> {
        struct SocketVisitor;
        impl<'de> Visitor<'de> for SocketVisitor {
            type Value = Cores;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("sockets with cores")
            }

            fn visit_str<E>(self, word: &str) -> Result<Cores, E> {
                let is_allocated =
                    word.get(..9).is_some_and(|it| it.eq_ignore_ascii_case("allocated"));
                Ok(Cores(u32::from(is_allocated)))
            }

            fn visit_unit<E>(self) -> Result<Cores, E> {
                Ok(Cores(0))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Cores, E> {
                Ok(Cores(0))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Cores, E> {
                Ok(Cores(0))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Cores, E> {
                Ok(Cores(0))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Cores, E> {
                Ok(Cores(0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Cores, A::Error> {
                let mut sum = 0_u32;
                while let Some(Cores(count)) = all.next_element()? {
                    sum = sum.saturating_add(count);
                }
                Ok(Cores(sum))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Cores, A::Error> {
                let mut sum = 0_u32;
                while let Some((_, Cores(count))) = all.next_entry::<IgnoredAny, Cores>()? {
                    sum = sum.saturating_add(count);
                }
                Ok(Cores(sum))
            }
        }
        from.deserialize_any(SocketVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_lists_of_each_node_counts() {
        let parts = vec![
            HeldPart { node: "b".to_owned(), cpus: 1, memory: 10 },
            HeldPart { node: "a".to_owned(), cpus: 7, memory: 90 },
        ];
        let job = |cpus, memory| SlurmJob { cpus, memory, ..SlurmJob::default() };
        let uneven = SlurmJob { parts, ..job(8, 100) };
        assert_eq!(uneven.held_on("a"), Room { cores: 7, memory: 90 });
        assert_eq!(uneven.held_on("b"), Room { cores: 1, memory: 10 });
        let nodes = vec!["a".to_owned(), "b".to_owned()];
        let unlisted = SlurmJob { nodes, ..job(7, 101) };
        assert_eq!(unlisted.held_on("a"), Room { cores: 4, memory: 51 });
    }

    /// Recorded: nine processors and 900 MB on two nodes.
    #[test]
    fn both_forms_say_what_a_job_has_of_each_node() {
        let socket = |number: u32| format!(r#""{number}": {{"cores": {{"0": "allocated"}}}}"#);
        let sockets = |count: u32| (0..count).map(socket).collect::<Vec<_>>().join(", ");
        let old = format!(
            r#"{{"nodes": "k[1-2]", "allocated_cores": 9, "allocated_nodes": [
                {{"sockets": {{{}}}, "nodename": "k1", "memory_used": 0, "memory_allocated": 300}},
                {{"sockets": {{{}}}, "nodename": "k2", "memory_used": 0, "memory_allocated": 600}}
            ]}}"#,
            sockets(3),
            sockets(6)
        );
        let core = |status: &str| {
            format!(r#"{{"index": 0, "cores": [{{"index": 0, "status": ["{status}"]}}]}}"#)
        };
        let new = format!(
            r#"{{"select_type": ["CORE"], "cpus": 9, "nodes": {{"list": "k[1-2]", "allocation": [
                {{"name": "k1", "cpus": {{"count": 3, "used": 0}},
                  "memory": {{"used": 0, "allocated": 300}}, "sockets": [{}, {}]}},
                {{"name": "k2", "cpus": {{"count": 6}}, "memory": {{"allocated": {{"number": 600}}}},
                  "sockets": [{}]}}
            ]}}}}"#,
            core("ALLOCATED"),
            core("UNALLOCATED"),
            core("ALLOCATED")
        );
        let part = |node: &str, cpus, memory| HeldPart { node: node.into(), cpus, memory };
        for text in [old, new] {
            let raw: RawResources = serde_json::from_str(&text).unwrap();
            assert_eq!(raw.parts(9), [part("k1", 3, 300), part("k2", 6, 600)], "{text}");
        }
        let none: RawResources = serde_json::from_str(r#"{"nodes": null}"#).unwrap();
        assert_eq!(none.parts(4), []);
        let count: Cores = serde_json::from_str(&core("ALLOCATED")).unwrap();
        assert_eq!(count, Cores(1));
    }
}
