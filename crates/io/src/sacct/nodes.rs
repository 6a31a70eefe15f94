//! Nodes that jobs ran on, by the partitions that use them.

use std::collections::{HashMap, HashSet};

use super::names::digest;

/// Nodes that are distinguished, over all partitions.
const MOST_NODES: usize = 1_000_000;
/// Lists of nodes that are remembered, so that they are not read again.
const MOST_LISTS: usize = 1_000_000;

/// Which partitions share nodes, and how many nodes they have.
#[derive(Debug, Default)]
pub(super) struct NodesSeen {
    /// By name's hash: a partition that uses it.
    nodes: HashMap<u64, u16>,
    lists: HashSet<u64>,
    /// By partition: another one with which it shares nodes, or itself.
    joined: Vec<u16>,
}

impl NodesSeen {
    /// Takes a `NodeList` of a job in `partition`.
    ///
    /// # Errors
    /// It is no list of nodes, or has more than a million.
    pub(super) fn add(&mut self, partition: u16, list: &str) -> Result<(), ()> {
        let key = digest((partition, list));
        if self.lists.contains(&key) {
            return Ok(());
        }
        let mut room = MOST_NODES;
        expand(list, &mut room, &mut |name| self.node(partition, name))?;
        if self.lists.len() < MOST_LISTS {
            self.lists.insert(key);
        }
        Ok(())
    }

    fn node(&mut self, partition: u16, name: &str) {
        let key = digest(name);
        match self.nodes.get(&key) {
            Some(other) => self.join(partition, *other),
            None if self.nodes.len() < MOST_NODES => {
                self.nodes.insert(key, partition);
            }
            None => {}
        }
    }

    fn join(&mut self, one: u16, other: u16) {
        let (one, other) = (self.pool(one), self.pool(other));
        let (low, high) = (one.min(other), one.max(other));
        if let Some(at) = self.joined.get_mut(usize::from(high)) {
            *at = low;
        }
    }

    /// The lowest partition with which `partition` shares nodes, directly or through others.
    pub(super) fn pool(&mut self, partition: u16) -> u16 {
        while self.joined.len() <= usize::from(partition) {
            self.joined.push(self.joined.len() as u16);
        }
        let mut at = partition;
        while self.joined[usize::from(at)] != at {
            let next = self.joined[usize::from(at)];
            self.joined[usize::from(at)] = self.joined[usize::from(next)];
            at = next;
        }
        at
    }

    /// How many nodes the pools have, by their lowest partition.
    pub(super) fn counts(&mut self) -> HashMap<u16, u32> {
        let partitions: Vec<u16> = self.nodes.values().copied().collect();
        let mut counts = HashMap::new();
        for partition in partitions {
            *counts.entry(self.pool(partition)).or_insert(0) += 1;
        }
        counts
    }
}

/// Calls `take` for each node of `a[1-3,07],b`; `room` is how many more there may be.
fn expand(list: &str, room: &mut usize, take: &mut impl FnMut(&str)) -> Result<(), ()> {
    let (mut depth, mut from) = (0u32, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1).ok_or(())?,
            b',' if depth == 0 => {
                one(&list[from..at], String::new(), room, take)?;
                from = at + 1;
            }
            _ => {}
        }
        if depth > 1 {
            return Err(());
        }
    }
    if depth > 0 { Err(()) } else { one(&list[from..], String::new(), room, take) }
}

/// One item of a list: plain text and brackets in turn, at most a few of them.
fn one(text: &str, begun: String, room: &mut usize, take: &mut impl FnMut(&str)) -> Result<(), ()> {
    /// Slurm's node names have one dimension, or a few on old machines.
    const MOST_BRACKETS: usize = 4;
    if text.matches('[').count() > MOST_BRACKETS {
        return Err(());
    }
    let Some((plain, rest)) = text.split_once('[') else {
        let name = begun + text;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(());
        }
        *room = room.checked_sub(1).ok_or(())?;
        take(&name);
        return Ok(());
    };
    let (ranges, rest) = rest.split_once(']').ok_or(())?;
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let digits = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            if digits { text.parse::<usize>().map_err(drop) } else { Err(()) }
        };
        let (first, last, width) = (number(low)?, number(high)?, low.len());
        // An empty range would cost time and use up no room.
        if first > last {
            return Err(());
        }
        for value in first..=last {
            one(rest, format!("{begun}{plain}{value:0width$}"), room, take)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Result<Vec<String>, ()> {
        let mut all = Vec::new();
        expand(list, &mut 100, &mut |name| all.push(name.to_owned()))?;
        Ok(all)
    }

    #[test]
    fn lists_of_nodes_are_expanded() {
        assert_eq!(names("a[1-3,07],b").unwrap(), ["a1", "a2", "a3", "a07", "b"]);
        assert_eq!(names("r[1-2]n[08-10]").unwrap().len(), 6);
        assert_eq!(names("r[1-2]n[08-10]").unwrap()[2], "r1n10");
        for wrong in
            ["a[1-200]", "a[1", "a]", "a[x]", "", "a,,b", "None assigned", "a[[1]]", "a[2-1]"]
        {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn partitions_that_share_a_node_are_one_pool() {
        let mut seen = NodesSeen::default();
        for (partition, list) in [(0, "a[1-4]"), (1, "b[1-2]"), (2, "a4,c1"), (3, "b2")] {
            seen.add(partition, list).unwrap();
        }
        assert_eq!((0..5).map(|it| seen.pool(it)).collect::<Vec<_>>(), [0, 1, 0, 1, 4]);
        let counts = seen.counts();
        assert_eq!((counts[&0], counts[&1]), (5, 2));
    }
}
