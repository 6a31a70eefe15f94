//! What the machine's owner takes away by hand: a small file for each of his tasks.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::Deserialize;
use tradewind_model::Time;

use crate::site::files::at;
use crate::site::{LocalTask, PoolSetup};

/// Without an end it is over after a year.
const FOR_EVER: i64 = 365 * 24 * 60 * 60;

/// Content of the file `owner/NAME`, in JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnerFile {
    pool: String,
    slots: u32,
    /// Seconds since 1970; without: since the file was written.
    from: Option<i64>,
    /// Seconds since 1970; without: until the file is removed.
    until: Option<i64>,
}

/// What the owner has in each pool, in their order, and which files are no good. Those count as
/// if he wanted all of every pool: better an idle slot than a stranger in his way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub pools: Vec<BTreeMap<String, LocalTask>>,
    pub bad: Vec<String>,
}

impl Load {
    /// Reads all files of the folder but those whose name begins with a dot. What is over by
    /// `now` is left out.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn read(folder: &Path, pools: &[PoolSetup], now: Time) -> io::Result<Load> {
        let mut load = Load { pools: vec![BTreeMap::new(); pools.len()], bad: Vec::new() };
        for entry in fs::read_dir(folder).map_err(|error| at(folder, &error))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            match read(&path, pools) {
                Ok(None) => {}
                Ok(Some((pool, task))) if task.until > now => {
                    if let Some(tasks) = load.pools.get_mut(pool) {
                        tasks.insert(name, task);
                    }
                }
                Ok(Some(_)) => {}
                Err(why) => {
                    load.bad.push(format!("{}: {why}", path.display()));
                    for (setup, tasks) in pools.iter().zip(&mut load.pools) {
                        let until = Time(now.0 + FOR_EVER);
                        let task = LocalTask { nodes: setup.nodes, from: now, until };
                        tasks.insert(name.clone(), task);
                    }
                }
            }
        }
        load.bad.sort();
        Ok(load)
    }

    /// How many of the pool's slots he has at that moment; may be more than there are.
    pub(super) fn taken(&self, pool: usize, now: Time) -> u32 {
        let tasks = self.pools.get(pool).into_iter().flatten();
        let running = tasks.filter(|(_, task)| task.from <= now && now < task.until);
        running.fold(0, |sum: u32, (_, task)| sum.saturating_add(task.nodes))
    }
}

/// The pool and what is taken of it; `None`: the file was removed meanwhile.
fn read(path: &Path, pools: &[PoolSetup]) -> Result<Option<(usize, LocalTask)>, String> {
    let read = fs::metadata(path).and_then(|about| Ok((about.modified()?, fs::read(path)?)));
    let (modified, bytes) = match read {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let written = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    task(&bytes, written.cast_signed(), pools).map(Some)
}

/// The pool and what is taken of it, as the file says that was `written` then.
pub(super) fn task(
    bytes: &[u8],
    written: i64,
    pools: &[PoolSetup],
) -> Result<(usize, LocalTask), String> {
    let taken: OwnerFile = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let Some(pool) = pools.iter().position(|pool| pool.name == taken.pool) else {
        return Err(format!("no pool {:?}", taken.pool));
    };
    let bounded = |time: i64| Time(time.clamp(Time::MIN.0, Time::MAX.0));
    let from = taken.from.map_or(Time(written), bounded);
    let until = taken.until.map_or(Time(from.0 + FOR_EVER), bounded);
    Ok((pool, LocalTask { nodes: taken.slots, from, until }))
}
