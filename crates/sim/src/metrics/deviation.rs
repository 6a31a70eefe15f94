//! How unevenly the sites are loaded, over time.

use tradewind_model::Time;

use super::entry::{Better, Entry, Unit, Value};
use super::{Window, entry, stays};
use crate::result::Run;
use crate::workload::Workload;

/// How far the sites' loads are apart from `at` until the next point's `at`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// When it begins.
    pub at: Time,
    /// The standard deviation over all sites of the share of their processors that jobs hold.
    pub load: f64,
}

/// A site's processors: all, and those that jobs hold.
#[derive(Debug, Clone, Copy, Default)]
struct Site {
    all: i64,
    held: i64,
}

/// The deviation of load from each moment on at which a job starts or ends anywhere; the last
/// point is 0, when the last job has ended. Empty for fewer than two sites. Sites are the whole
/// population, so the squares are divided by their number. Processors that are closed count as
/// there, and not as held. O(n log n + n · sites) for n jobs.
pub fn load_deviation(workload: &Workload, run: &Run) -> Vec<Deviation> {
    let pools = &workload.pools;
    let mut sites = vec![Site::default(); pools.sites().len()];
    if sites.len() < 2 {
        return Vec::new();
    }
    for pool in pools.as_slice() {
        sites[pool.site.0 as usize].all += i64::from(pool.nodes);
    }
    let mut changes: Vec<(Time, usize, i64)> = Vec::with_capacity(2 * run.jobs.len());
    for stay in stays::all(workload, run).filter(|stay| stay.end > stay.start) {
        let (site, nodes) = (pools.pool(stay.pool).site.0 as usize, i64::from(stay.nodes));
        changes.extend([(stay.start, site, nodes), (stay.end, site, -nodes)]);
    }
    changes.sort_unstable();
    let point = |moment: &[(Time, usize, i64)]| {
        for (_, site, nodes) in moment {
            sites[*site].held += nodes;
        }
        Deviation { at: moment[0].0, load: deviation(&sites) }
    };
    changes.chunk_by(|one, two| one.0 == two.0).map(point).collect()
}

#[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
fn deviation(sites: &[Site]) -> f64 {
    let count = sites.len() as f64;
    let load = |site: &Site| site.held as f64 / site.all.max(1) as f64;
    let mean = sites.iter().map(load).sum::<f64>() / count;
    let squares: f64 = sites.iter().map(|site| (load(site) - mean).powi(2)).sum();
    (squares / count).sqrt()
}

/// Its mean over the window and its maximum in it; nothing for fewer than two sites.
#[expect(clippy::cast_precision_loss, reason = "quotients are for reading")]
pub(super) fn entries(workload: &Workload, run: &Run, window: Window) -> Vec<Entry> {
    if workload.pools.sites().len() < 2 {
        return Vec::new();
    }
    let points = load_deviation(workload, run);
    let (mut area, mut max) = (0.0, 0.0f64);
    for pair in points.windows(2) {
        let seconds = window.seconds_of(pair[0].at, pair[1].at);
        if seconds > 0 {
            area += pair[0].load * seconds as f64;
            max = max.max(pair[0].load);
        }
    }
    let span = window.span().0;
    let some = |value: f64| (span > 0).then_some(Value::Quotient(value));
    vec![
        entry("load_deviation_mean", Unit::Ratio, Better::Lower, some(area / span.max(1) as f64)),
        entry("load_deviation_max", Unit::Ratio, Better::Lower, some(max)),
    ]
}
