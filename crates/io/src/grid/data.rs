//! Data of jobs, drawn: logs have none.

use std::sync::Arc;

use tradewind_model::random::{stream, within};
use tradewind_model::{JobData, Links, Pools, Site, Staging};

use super::distributions::SHARE;
use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{Fields, Notes};
use crate::links;
use crate::value::{Value, ValueKind};

const KEYS: [&str; 4] = ["jobs", "input", "output", "at"];

/// Which jobs have data, how much, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataUse {
    /// How many of a thousand.
    share: u32,
    /// KiB from and to.
    input: (i64, i64),
    output: (i64, i64),
    /// Each as likely; output is brought to where the input lies.
    at: Vec<String>,
}

impl DataUse {
    /// The table `data`.
    pub(super) fn read(
        fields: &Fields<'_, '_>,
        (links, sites): (&Links, &[Site]),
        notes: &mut Notes<'_>,
    ) -> Option<DataUse> {
        let it = Fields::of(fields.get("data")?, "data".to_owned(), &KEYS, notes)?;
        it.require(&["jobs"], notes);
        let share = it.scaled("jobs", &SHARE, notes).and_then(|it| u32::try_from(it).ok());
        let mut known: Vec<&str> = sites.iter().map(|site| site.name.as_str()).collect();
        let everywhere: Vec<String> = known.iter().map(|&name| name.to_owned()).collect();
        known.extend(links.places());
        let at = match it.list("at", notes) {
            Some(items) => {
                items.iter().filter_map(|item| place(item, &it, &known, notes)).collect()
            }
            None => everywhere,
        };
        if at.is_empty() {
            let hint = "name sites, or other ends of links";
            notes.error(it.line_of("at"), &it.place("at"), "an empty list".to_owned(), hint);
        }
        let (input, output) = (sizes(&it, "input", notes), sizes(&it, "output", notes));
        if input.is_none() && output.is_none() {
            let hint = "say how much jobs read or write: `input = [\"1 GB\", \"2 TB\"]`";
            notes.error(it.line, &it.path, "neither `input` nor `output`".to_owned(), hint);
        }
        let none = (0, 0);
        let (input, output) = (input.unwrap_or(none), output.unwrap_or(none));
        Some(DataUse { share: share?, input, output, at })
    }

    /// The data of the job of this number, if it has any: drawn with a stream of its own.
    pub(super) fn of(&self, (seed, job): (u64, u64), pools: &Pools) -> Option<Arc<Staging>> {
        let mut lots = stream(seed, "data", job);
        if within(&mut lots, 1, 1_000) > i64::from(self.share) {
            return None;
        }
        let last = i64::try_from(self.at.len()).ok()? - 1;
        let at = usize::try_from(within(&mut lots, 0, last)).ok()?;
        let place = self.at.get(at)?;
        let mut kib = |(low, high): (i64, i64)| {
            // Each power of two is as likely, and each amount between two of them.
            let power = within(&mut lots, log2(low), log2(high));
            let (low, high) = (low.max(1 << power), high.min((2 << power) - 1));
            within(&mut lots, low, high)
        };
        let mut bytes = |range: (i64, i64)| match range {
            (0, 0) => 0,
            range => kib(range).unsigned_abs() << 10,
        };
        let (input, output) = (bytes(self.input), bytes(self.output));
        let data = JobData { input, from: place.clone(), output, to: place.clone() };
        let none = Links::default();
        pools.links().unwrap_or(&none).stage(pools.sites(), data).ok()
    }
}

fn log2(kib: i64) -> i64 {
    i64::from(kib.max(1).ilog2())
}

fn place(
    item: &Value<'_>,
    it: &Fields<'_, '_>,
    known: &[&str],
    notes: &mut Notes<'_>,
) -> Option<String> {
    let name = match &item.kind {
        ValueKind::Text(text) => &**text,
        _ => "",
    };
    if known.contains(&name) {
        return Some(name.to_owned());
    }
    let message = format!("there is no site `{}`, and no link to it", excerpt(name));
    notes.error(item.line, &it.place("at"), message, &did_you_mean(name, known));
    None
}

/// One size, or a list of the smallest and the largest, in KiB; not nothing.
fn sizes(it: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<(i64, i64)> {
    let value = it.get(key)?;
    let kib = |value: &Value<'_>| match &value.kind {
        ValueKind::Text(text) => {
            let bytes = links::size(text).filter(|bytes| (1 << 10..1 << 60).contains(bytes));
            bytes.and_then(|bytes| i64::try_from(bytes >> 10).ok())
        }
        _ => None,
    };
    let range = match &value.kind {
        ValueKind::List(items) => match &items[..] {
            [low, high] => kib(low).zip(kib(high)).filter(|(low, high)| low <= high),
            _ => None,
        },
        _ => kib(value).map(|size| (size, size)),
    };
    if range.is_none() {
        let message = format!("expected a size or two, found {}", value.describe());
        let hint = "write `\"10 GB\"`, or the smallest and the largest: `[\"1 GB\", \"2 TB\"]`";
        notes.error(value.line, &it.place(key), message, hint);
    }
    range
}
