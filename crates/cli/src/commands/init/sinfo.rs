//! What `sinfo` prints.

use std::io::BufRead;

use super::file::PoolText;

/// So many partitions are listed at most.
const MOST: usize = 1_000;

/// Lines `PARTITION|NODES`; one partition may have several, for nodes that differ. What else is
/// printed, such as a greeting, is left out.
pub(super) fn rows(lines: &mut dyn BufRead) -> Vec<PoolText> {
    let mut pools: Vec<PoolText> = Vec::new();
    for line in lines.lines().map_while(Result::ok) {
        let Some((partition, nodes)) = line.trim().split_once('|') else { continue };
        let Ok(nodes) = nodes.parse::<u32>() else { continue };
        let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if nodes == 0 || partition.is_empty() || !partition.chars().all(sound) {
            continue;
        }
        match pools.iter().position(|pool| pool.name == partition) {
            Some(at) => pools[at].nodes = pools[at].nodes.saturating_add(nodes),
            None if pools.len() < MOST => {
                pools.push(PoolText { name: partition.to_owned(), nodes });
            }
            None => {}
        }
    }
    pools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_have_all_their_nodes() {
        let mut text: &[u8] =
            b"Welcome | to alpha\nmain|4\ndebug|1\nmain|2\nempty|0\nodd name|3\n$(x)|4\n";
        let pool = |name: &str, nodes| PoolText { name: name.to_owned(), nodes };
        assert_eq!(rows(&mut text), [pool("main", 6), pool("debug", 1)]);
    }
}
