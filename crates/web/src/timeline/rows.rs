//! Which rows of its pool a task is drawn in.
//!
//! Where the site's names of the nodes are known, a name keeps its row. Other tasks get the lowest
//! rows that are free all the while; where more hold nodes than there are (an owner's job that came
//! while ours ended), the last rows are drawn over.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Task;

/// Rows in one pool: the names that are known of them, and each task's ranges of rows, in the
/// order of `tasks`, ascending. O(n log n + r) for n tasks that take r ranges.
pub(super) fn assign(nodes: u32, tasks: &[&Task]) -> (Vec<Option<String>>, Vec<Vec<Range<u32>>>) {
    let names = known_names(nodes, tasks);
    let places: BTreeMap<&str, u32> =
        names.iter().zip(0..).map(|(name, row)| (*name, row)).collect();
    let mut ranges = vec![Vec::new(); tasks.len()];
    // Rows that are taken by a name must be known before others look for room.
    let named = |task: &Task| !task.names.is_empty();
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| (tasks[at].start, !named(tasks[at]), tasks[at].end, at));
    let fixed = Fixed::of(tasks, &places);
    let mut rows = Rows { free: Free::all(nodes), ends: BTreeSet::new(), held: BTreeMap::new() };
    for at in order {
        let task = tasks[at];
        if named(task) {
            ranges[at] =
                joined(task.names.iter().filter_map(|it| places.get(it.as_str()).copied()));
            continue;
        }
        rows.release(task.start);
        let blocked = fixed.within(task.start, task.end);
        let got = rows.take(task.nodes.min(nodes), nodes, &blocked);
        rows.ends.insert((task.end, at));
        rows.held.insert(at, got.clone());
        ranges[at] = got;
    }
    let mut all: Vec<Option<String>> = names.into_iter().map(|it| Some(it.to_owned())).collect();
    all.resize(nodes as usize, None);
    (all, ranges)
}

/// Names in natural order, at most as many as there are rows.
fn known_names<'a>(nodes: u32, tasks: &[&'a Task]) -> Vec<&'a str> {
    let names: BTreeSet<&str> =
        tasks.iter().flat_map(|task| task.names.iter().map(String::as_str)).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_cached_key(|name| natural(name));
    names.truncate(nodes as usize);
    names
}

/// `n2` before `n10`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let letters = rest.find(|it: char| it.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(letters);
        let digits = after.find(|it: char| !it.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        key.push((text.to_owned(), number.parse().unwrap_or(0)));
        rest = after;
    }
    key
}

/// Rows in order, as ranges.
pub(super) fn joined(rows: impl Iterator<Item = u32>) -> Vec<Range<u32>> {
    let rows: BTreeSet<u32> = rows.collect();
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for row in rows {
        match ranges.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => ranges.push(row..row + 1),
        }
    }
    ranges
}

/// What tasks with names hold, by start, and the longest of them in seconds.
struct Fixed {
    all: Vec<(i64, i64, Vec<u32>)>,
    longest: i64,
}

impl Fixed {
    fn of(tasks: &[&Task], places: &BTreeMap<&str, u32>) -> Fixed {
        let named = tasks.iter().filter(|task| !task.names.is_empty());
        let rows = |task: &Task| {
            task.names.iter().filter_map(|it| places.get(it.as_str()).copied()).collect()
        };
        let mut all: Vec<_> = named.map(|task| (task.start, task.end, rows(task))).collect();
        all.sort_unstable_by_key(|(start, end, _)| (*start, *end));
        let longest = all.iter().map(|(start, end, _)| end - start).max().unwrap_or(0);
        Fixed { all, longest }
    }

    /// Rows of which some part of `[start, end)` is held.
    fn within(&self, start: i64, end: i64) -> BTreeSet<u32> {
        let first = self.all.partition_point(|(begin, ..)| *begin < start - self.longest);
        let before = self.all.partition_point(|(begin, ..)| *begin < end);
        let near = self.all.get(first..before).unwrap_or_default().iter();
        let meets = near.filter(|(_, until, _)| *until > start);
        meets.flat_map(|(.., rows)| rows.iter().copied()).collect()
    }
}

/// Rows without names, as time goes on.
struct Rows {
    free: Free,
    ends: BTreeSet<(i64, usize)>,
    held: BTreeMap<usize, Vec<Range<u32>>>,
}

impl Rows {
    /// Gives back what ended by `now`.
    fn release(&mut self, now: i64) {
        while let Some(&(end, task)) = self.ends.first()
            && end <= now
        {
            self.ends.pop_first();
            for range in self.held.remove(&task).unwrap_or_default() {
                self.free.give(range);
            }
        }
    }

    /// The lowest free rows that are not blocked; if there are too few, blocked ones and then the
    /// last ones, which stay with the tasks that have them.
    fn take(&mut self, wanted: u32, nodes: u32, blocked: &BTreeSet<u32>) -> Vec<Range<u32>> {
        let mut got = self.free.take(wanted, blocked);
        let count = |got: &[Range<u32>]| got.iter().map(|it| it.end - it.start).sum::<u32>();
        let missing = wanted - count(&got).min(wanted);
        if missing > 0 {
            got.extend(self.free.take(missing, &BTreeSet::new()));
        }
        let missing = wanted - count(&got).min(wanted);
        let mine: BTreeSet<u32> = got.iter().cloned().flatten().collect();
        let over = (0..nodes).rev().filter(|row| !mine.contains(row)).take(missing as usize);
        let over: Vec<u32> = over.collect();
        match over.is_empty() {
            true => joined_ranges(got),
            false => joined(mine.into_iter().chain(over)),
        }
    }
}

fn joined_ranges(mut ranges: Vec<Range<u32>>) -> Vec<Range<u32>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut all: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

/// Free rows as ranges: by start, their end.
struct Free(BTreeMap<u32, u32>);

impl Free {
    fn all(nodes: u32) -> Free {
        Free(BTreeMap::from([(0, nodes)]))
    }

    fn give(&mut self, range: Range<u32>) {
        let (mut start, mut end) = (range.start, range.end);
        let meets: Vec<(u32, u32)> = self
            .0
            .range(..=end)
            .rev()
            .take_while(|(_, until)| **until >= start)
            .map(|(from, until)| (*from, *until))
            .collect();
        for (from, until) in meets {
            self.0.remove(&from);
            start = start.min(from);
            end = end.max(until);
        }
        self.0.insert(start, end);
    }

    /// The lowest rows, up to so many, that are free and not blocked.
    fn take(&mut self, wanted: u32, blocked: &BTreeSet<u32>) -> Vec<Range<u32>> {
        let mut got: Vec<Range<u32>> = Vec::new();
        let mut left = wanted;
        for (&from, &until) in &self.0 {
            let mut row = from;
            let mut stops = blocked.range(from..until).copied().chain([until]);
            while left > 0 && row < until {
                let stop = stops.next().unwrap_or(until);
                if stop > row {
                    let end = stop.min(row + left);
                    left -= end - row;
                    got.push(row..end);
                }
                row = stop + 1;
            }
            if left == 0 {
                break;
            }
        }
        got.iter().for_each(|range| self.cut(range));
        got
    }

    fn cut(&mut self, range: &Range<u32>) {
        let Some((&from, &until)) = self.0.range(..=range.start).next_back() else { return };
        self.0.remove(&from);
        if from < range.start {
            self.0.insert(from, range.start);
        }
        if range.end < until {
            self.0.insert(range.end, until);
        }
    }
}
