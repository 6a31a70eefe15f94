//! What a job asks for, kept where no cgroup keeps it: the memory of each of its processes by the kernel's
//! limit of data, its processors by affinity.

use std::fs;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// Limits of a task's processes, as its sheet has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessLimits {
    /// Kilobytes that each process may allocate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Processors on which they run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorShare>,
}

/// So many processors, beginning with those of the task's first slot: slots are numbered over all local
/// sites, and processors are dealt out evenly to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessorShare {
    pub count: u32,
    /// The number of the pool's first slot.
    pub first: u32,
    /// Slots that share the machine.
    pub slots: u32,
}

/// The program that starts the task has these limits, too, and needs so much: kilobytes.
const LEAST: u64 = 64 << 10;

/// Becomes what is said behind the number. A limit that is lower already stays.
const WITHIN: &str = "ulimit -d \"$0\" 2>/dev/null; exec \"$@\"";

impl ProcessLimits {
    pub(super) fn is_none(&self) -> bool {
        *self == ProcessLimits::default()
    }

    /// What stands before a command that is to run with these limits in this slot of its pool.
    pub(super) fn words(&self, slot: u32) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(memory) = self.memory {
            words.extend(["/bin/sh", "-c", WITHIN].map(str::to_owned));
            words.push(memory.max(LEAST).to_string());
        }
        let list = self.processors.map(|share| share.among(&processors(), slot));
        if let Some(list) = list.filter(|list| !list.is_empty()) {
            let list: Vec<String> = list.iter().map(u32::to_string).collect();
            words.extend(["taskset".to_owned(), "-c".to_owned(), list.join(",")]);
        }
        words
    }
}

impl ProcessorShare {
    fn among(&self, all: &[u32], slot: u32) -> Vec<u32> {
        let number = u64::from(self.first) + u64::from(slot);
        let begin = number * all.len() as u64 / u64::from(self.slots.max(1));
        let begin = usize::try_from(begin).unwrap_or(0) % all.len().max(1);
        let mut some: Vec<u32> = all.iter().copied().cycle().skip(begin).take(all.len()).collect();
        some.truncate(usize::try_from(self.count).unwrap_or(usize::MAX));
        some
    }
}

/// Whether this machine can keep such limits: tried once.
pub(super) fn is_kept() -> bool {
    let Some(first) = processors().first().copied() else { return false };
    let script = format!("ulimit -d {LEAST} && exec taskset -c {first} true");
    let mut probe = Command::new("/bin/sh");
    probe.args(["-c", &script]).env_clear().env("PATH", super::sheet::PATH).current_dir("/");
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// The processors that this process may use.
fn processors() -> Vec<u32> {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map_or_else(Vec::new, |list| numbers(list.trim()))
}

/// The numbers in a list such as `0-3,8`.
fn numbers(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_dealt_out_to_the_slots_of_the_machine() {
        let all = numbers("0-3,8,10-11");
        assert_eq!(all, [0, 1, 2, 3, 8, 10, 11]);
        let four = [0, 1, 2, 3];
        let share = |count, first, slots| ProcessorShare { count, first, slots };
        // A processor for each slot, over two sites.
        let own: Vec<Vec<u32>> = (0..2).map(|slot| share(1, 0, 4).among(&four, slot)).collect();
        assert_eq!(own, [[0], [1]]);
        let own: Vec<Vec<u32>> = (0..2).map(|slot| share(1, 2, 4).among(&four, slot)).collect();
        assert_eq!(own, [[2], [3]]);
        assert_eq!(share(3, 2, 4).among(&four, 0), [2, 3, 0]);
        assert_eq!(share(9, 0, 4).among(&four, 3), [3, 0, 1, 2]);
        // More slots than processors, and fewer.
        assert_eq!(share(1, 0, 8).among(&four, 7), [3]);
        assert_eq!(share(2, 0, 2).among(&four, 1), [2, 3]);
        assert_eq!(share(1, 0, 4).among(&[], 0), [0_u32; 0]);
    }
}
