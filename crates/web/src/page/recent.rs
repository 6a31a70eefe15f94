//! How the market was recently, as pictures with tables.

use tradewind_model::Price;

use super::chart::{
    ChartTable, Figure, Frame, Layer, StepLine, area_mark, areas, line_mark, lines, short,
};
use super::words;
use crate::documents::Credits;
use crate::views::trends::{PoolTrend, Trends};

/// A span of time that one may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeRange {
    /// In the address.
    pub(crate) value: &'static str,
    /// Label on the page.
    pub(crate) name: &'static str,
    /// Seconds of a step.
    pub(crate) step: i64,
    /// Number of spans.
    pub(crate) spans: usize,
}

/// All of them.
pub(crate) const BACK: [TimeRange; 4] = [
    TimeRange { value: "minutes", name: "Last ten minutes", step: 10, spans: 60 },
    TimeRange { value: "hour", name: "Last hour", step: 60, spans: 60 },
    TimeRange { value: "day", name: "Last day", step: 1_800, spans: 48 },
    TimeRange { value: "week", name: "Last week", step: 10_800, spans: 56 },
];

/// Pools whose prices are drawn at once.
pub(crate) const LINES: usize = super::chart::SHADES;

/// Seconds of an hour: prices are shown per hour.
const HOUR: f64 = 3_600.0;

/// A price that is planned: from when on, by pool.
pub(crate) type PlannedPrices = Vec<Vec<(i64, Price)>>;

/// Which of the pools, for people, and whether it is all of them.
pub(crate) struct Chosen<'a> {
    pub(crate) name: &'a str,
    pub(crate) pools: Vec<usize>,
    pub(crate) is_all: bool,
}

/// All pictures of these pools.
pub(crate) fn figures(trends: &Trends, chosen: &Chosen<'_>, ahead: &PlannedPrices) -> Vec<Figure> {
    let mut figures = vec![prices(trends, chosen, ahead), use_of(trends, chosen)];
    if chosen.is_all {
        figures.push(demand(trends));
    }
    figures.extend(income(trends, chosen));
    figures
}

fn hourly(price: Price) -> f64 {
    price.0 as f64 / 1e6 * HOUR
}

/// When what a span shows begins, and the last one's end.
fn stops(trends: &Trends) -> Vec<i64> {
    (0..trends.bins.spans).map(|span| trends.bins.begin(span)).collect()
}

fn frame(trends: &Trends, title: String, unit: &'static str) -> Frame {
    let span = (trends.bins.from, trends.bins.end());
    Frame { title, unit, span, now: None, max: None, stops: stops(trends) }
}

fn prices(trends: &Trends, chosen: &Chosen<'_>, ahead: &PlannedPrices) -> Figure {
    let bins = trends.bins;
    let drawn: Vec<usize> = chosen.pools.iter().copied().take(LINES).collect();
    // A quarter of the picture is what is planned.
    let until = trends.now + (trends.now - bins.from) / 3;
    let line = |(shade, place): (usize, &usize)| {
        let pool = &trends.pools[*place];
        let past = pool.prices.iter().map(|(at, price)| (*at, Some(hourly(*price))));
        let planned = ahead.get(*place).into_iter().flatten();
        let planned = planned.filter(|(at, _)| *at > trends.now);
        let planned = planned.map(|(at, price)| (*at, Some(hourly(*price))));
        StepLine { name: pool.name.clone(), steps: past.chain(planned).collect(), shade }
    };
    let all: Vec<StepLine> = drawn.iter().enumerate().map(line).collect();
    let frame = Frame {
        span: (bins.from, until),
        now: Some(trends.now),
        stops: (bins.from..until).step_by(bins.step as usize).collect(),
        ..frame(trends, format!("Prices of {} over time", chosen.name), "credits per node-hour")
    };
    let mut note = "Dashed, right of the line: what owners’ tables say for the hours ahead, if \
                    load stays as it is."
        .to_owned();
    if chosen.pools.len() > LINES {
        note += &format!(" The first {LINES} of {} pools are drawn.", chosen.pools.len());
    }
    let cut = drawn.iter().filter_map(|place| trends.pools[*place].thinned).max();
    if let Some(cut) = cut.filter(|cut| *cut > bins.from) {
        note += &format!(
            " Prices changed very often: before {} some changes are left out.",
            words::stamp(cut)
        );
    }
    Figure {
        id: "prices",
        title: "Prices".to_owned(),
        note,
        legend: legend(&all),
        svg: (!all.is_empty()).then(|| lines(&frame, &all)),
        empty: "There are no pools.",
        table: price_table(trends, &drawn, ahead),
    }
}

/// Rows of a table of changes.
const ROWS: usize = 200;

/// Every change that is known in the time that is shown, and those that are planned.
fn price_table(trends: &Trends, drawn: &[usize], ahead: &PlannedPrices) -> ChartTable {
    let mut rows: Vec<(i64, usize, Vec<String>)> = Vec::new();
    for &place in drawn {
        let pool = &trends.pools[place];
        let shown = pool.prices.partition_point(|(at, _)| *at <= trends.bins.from).max(1) - 1;
        let past = pool.prices.iter().skip(shown).map(|it| (it, "asked"));
        let planned = ahead.get(place).into_iter().flatten().filter(|it| it.0 > trends.now);
        for ((at, price), kind) in past.chain(planned.map(|it| (it, "planned"))) {
            let price = words::hourly(&Credits::from(*price));
            rows.push((*at, place, vec![pool.name.clone(), price, kind.to_owned()]));
        }
    }
    rows.sort_by_key(|(at, place, _)| (std::cmp::Reverse(*at), *place));
    rows.truncate(ROWS);
    let head = ["Pool", "Credits per node-hour", "Kind"].map(str::to_owned).to_vec();
    ChartTable { head, rows: rows.into_iter().map(|(at, _, cells)| (at, cells)).collect() }
}

/// What nodes were for, from the bottom up: name and class.
const USES: [(&str, &str); 4] = [
    ("busy with the market’s jobs", "worked"),
    ("allocated, work not begun", "held"),
    ("owners’ own load", "owners"),
    ("down or not offered", "missing"),
];

fn uses(pool: &PoolTrend) -> [&Vec<i64>; 4] {
    [&pool.worked, &pool.held, &pool.owners, &pool.missing]
}

/// Parts of the pools' time in a span, in percent, by [`USES`]; `None`: nothing is known.
pub(crate) fn shares(trends: &Trends, pools: &[usize], span: usize) -> Option<[f64; 4]> {
    let seconds = trends.seconds(span);
    let nodes: i64 = pools.iter().map(|at| i64::from(trends.pools[*at].nodes)).sum();
    let all = (seconds > 0 && nodes > 0).then_some(seconds * nodes)? as f64;
    let sum = |of: usize| {
        let of_pool = |at: &usize| uses(&trends.pools[*at])[of].get(span).copied().unwrap_or(0);
        pools.iter().map(of_pool).sum::<i64>() as f64 * 100.0 / all
    };
    let (worked, held) = (sum(0), sum(1));
    // What is known by halves may be more than there is: a site sees its tasks now and then.
    let worked = worked.clamp(0.0, 100.0);
    let idle = (held - worked).clamp(0.0, 100.0 - worked);
    let owners = sum(2).clamp(0.0, 100.0 - worked - idle);
    Some([worked, idle, owners, sum(3).clamp(0.0, 100.0 - worked - idle - owners)])
}

fn use_of(trends: &Trends, chosen: &Chosen<'_>) -> Figure {
    let by_span: Vec<Option<[f64; 4]>> =
        (0..trends.bins.spans).map(|span| shares(trends, &chosen.pools, span)).collect();
    let layer = |(at, (name, kind)): (usize, &(&str, &'static str))| Layer {
        name: (*name).to_owned(),
        kind,
        values: by_span.iter().map(|it| it.map(|it| it[at])).collect(),
    };
    let layers: Vec<Layer> = USES.iter().enumerate().map(layer).collect();
    let title = format!("What nodes of {} were for, over time", chosen.name);
    let frame = Frame { max: Some(100.0), ..frame(trends, title, "% of node time") };
    let told = |span: usize| {
        let it = by_span[span]?;
        let told = it.map(|part| format!("{part:.1} %"));
        let allocated = format!("{:.1} %", it[0] + it[1]);
        Some([&[allocated][..], &told].concat())
    };
    let mut head = vec!["Allocated".to_owned()];
    head.extend(USES.map(|(name, _)| name.to_owned()));
    Figure {
        id: "use",
        title: "Utilisation".to_owned(),
        note: "Allocated: the market’s jobs have these nodes. Busy: their work runs there."
            .to_owned(),
        legend: USES.iter().map(|(name, kind)| (area_mark(kind), (*name).to_owned())).collect(),
        svg: Some(areas(&frame, &layers)),
        empty: "",
        table: table(trends, head, told),
    }
}

/// What lines are called.
fn legend(all: &[StepLine]) -> Vec<(String, String)> {
    all.iter().map(|line| (line_mark(line.shade), line.name.clone())).collect()
}

/// A line with a value for each span.
fn line(trends: &Trends, shade: usize, name: &str, of: impl Fn(usize) -> Option<f64>) -> StepLine {
    let steps = (0..trends.bins.spans).map(|span| (trends.bins.begin(span), of(span))).collect();
    StepLine { name: name.to_owned(), steps, shade }
}

/// A row for each span of which something is known.
fn table(
    trends: &Trends,
    head: Vec<String>,
    of: impl Fn(usize) -> Option<Vec<String>>,
) -> ChartTable {
    let row = |span: usize| Some((trends.bins.begin(span), of(span)?));
    ChartTable { head, rows: (0..trends.bins.spans).rev().filter_map(row).collect() }
}

/// Nodes asked for, in use, and supplied in a span, in the mean; `None`: nothing is known.
fn demand_in(trends: &Trends, span: usize) -> Option<[f64; 3]> {
    let seconds = Some(trends.seconds(span)).filter(|it| *it > 0)? as f64;
    let sum = |of: fn(&PoolTrend) -> &Vec<i64>| {
        trends.pools.iter().map(|it| of(it)[span]).sum::<i64>() as f64 / seconds
    };
    let (held, waited) = (sum(|it| &it.held), trends.waited[span] as f64 / seconds);
    let nodes: f64 = trends.pools.iter().map(|it| f64::from(it.nodes)).sum();
    let supply = (nodes - sum(|it| &it.owners) - sum(|it| &it.missing)).max(0.0);
    Some([held + waited, held, supply])
}

fn demand(trends: &Trends) -> Figure {
    let names = ["asked for: in use and waited for", "in use by the market’s jobs", "supply"];
    let by_span: Vec<Option<[f64; 3]>> =
        (0..trends.bins.spans).map(|span| demand_in(trends, span)).collect();
    let at = |at: usize| line(trends, at, names[at], |span| by_span[span].map(|it| it[at]));
    let all = [0, 1, 2].map(at);
    let largest = by_span.iter().flatten().flatten().copied().fold(0.0, f64::max);
    let head = names.iter().map(|name| format!("Nodes {name}")).collect();
    let told = |span: usize| Some(by_span[span]?.map(|it| short(it, largest)).to_vec());
    Figure {
        id: "demand",
        title: "Demand and supply".to_owned(),
        note:
            "Supply is what owners leave to the market: all nodes but those with their own load, \
               those that are not offered and those that are down."
                .to_owned(),
        legend: legend(&all),
        svg: Some(lines(&frame(trends, "Demand and supply over time".to_owned(), "nodes"), &all)),
        empty: "",
        table: table(trends, head, told),
    }
}

/// Who earned, as far as the reader may know: all sites, or the pools that are chosen.
fn earners<'a>(trends: &'a Trends, chosen: &Chosen<'_>) -> Vec<(String, &'a Vec<i128>)> {
    let sites = trends.sites.iter().map(|site| (&site.name, &site.income));
    let pools = chosen.pools.iter().map(|at| &trends.pools[*at]);
    let pools = pools.map(|pool| (&pool.name, &pool.income));
    let all: Vec<_> = if chosen.is_all { sites.collect() } else { pools.collect() };
    all.into_iter().filter_map(|(name, income)| Some((name.clone(), income.as_ref()?))).collect()
}

/// `None`: there is no owner whose income the reader may see.
fn income(trends: &Trends, chosen: &Chosen<'_>) -> Option<Figure> {
    let mut seen = earners(trends, chosen);
    if seen.is_empty() {
        return None;
    }
    let total: i128 = seen.iter().flat_map(|(_, income)| income.iter()).sum();
    let mut note = format!(
        "Settled, not held: jobs pay when they end. {} credits in the time that is shown.",
        words::credits(&Credits(total))
    );
    if seen.len() > LINES {
        note += &format!(" The first {LINES} of {} are drawn.", seen.len());
        seen.truncate(LINES);
    }
    let known = |span: usize| trends.seconds(span) > 0;
    let of = |(shade, (name, income)): (usize, &(String, &Vec<i128>))| {
        let rate = |span: usize| income[span] as f64 / 1e6 * HOUR / trends.bins.step as f64;
        line(trends, shade, name, |span| known(span).then(|| rate(span)))
    };
    let all: Vec<StepLine> = seen.iter().enumerate().map(of).collect();
    let head = seen.iter().map(|(name, _)| format!("{name}, credits in the span")).collect();
    let told = |span: usize| {
        let told = seen.iter().map(|(_, income)| words::credits(&Credits(income[span])));
        known(span).then(|| told.collect())
    };
    Some(Figure {
        id: "income",
        title: "Owners’ income".to_owned(),
        note,
        legend: legend(&all),
        svg: Some(lines(
            &frame(trends, "Owners’ income over time".to_owned(), "credits per hour"),
            &all,
        )),
        empty: "",
        table: table(trends, head, told),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::trends::{Bins, SiteTrend};

    fn trends() -> Trends {
        let pool = |name: &str, site| PoolTrend {
            name: name.to_owned(),
            site,
            nodes: 2,
            held: vec![0, 100],
            worked: vec![0, 50],
            owners: vec![0, 60],
            missing: vec![0, 400],
            prices: vec![(50, Price(1_000_000))],
            thinned: Some(150),
            income: (site == 0).then(|| vec![0, 18_000_000]),
        };
        Trends {
            bins: Bins { from: 100, step: 100, spans: 2 },
            now: 300,
            known: 200,
            waited: vec![0, 300],
            pools: vec![pool("a/x", 0), pool("b/<y", 1)],
            sites: vec![
                SiteTrend { name: "a".to_owned(), income: Some(vec![0, 36_000_000]) },
                SiteTrend { name: "b".to_owned(), income: None },
            ],
        }
    }

    #[test]
    fn parts_never_exceed_the_whole_and_the_unknown_is_left_out() {
        let trends = trends();
        assert_eq!(shares(&trends, &[0], 0), None, "the market had not begun");
        assert_eq!(shares(&trends, &[0], 1), Some([25.0, 25.0, 30.0, 20.0]));
        assert_eq!(shares(&trends, &[], 1), None);
    }

    #[test]
    fn pictures_say_units_and_what_is_left_out() {
        let (trends, ahead) = (trends(), vec![vec![(350, Price(2_000_000))], Vec::new()]);
        let all = Chosen { name: "all sites", pools: vec![0, 1], is_all: true };
        let found = figures(&trends, &all, &ahead);
        let ids: Vec<&str> = found.iter().map(|it| it.id).collect();
        assert_eq!(ids, ["prices", "use", "demand", "income"]);
        assert!(found[0].note.contains("some changes are left out"));
        let svg = found[0].svg.as_deref().unwrap();
        assert!(svg.contains("credits per node-hour") && svg.contains(">now<"), "{svg}");
        assert!(svg.contains("line ahead s0") && !svg.contains("<y"), "{svg}");
        assert_eq!(found[0].table.rows[0].1, ["a/x", "7,200", "planned"]);
        assert_eq!(found[0].table.rows.len(), 3);
        assert_eq!(found[1].table.rows.len(), 1, "of the span that is known");
        assert_eq!(found[2].table.rows[0].1, ["5", "2", "0"]);
        assert_eq!(found[3].legend.len(), 1, "income of others is theirs");
        let one = Chosen { name: "b/<y", pools: vec![1], is_all: false };
        let ids: Vec<&str> = figures(&trends, &one, &ahead).iter().map(|it| it.id).collect();
        assert_eq!(ids, ["prices", "use"]);
        let one = Chosen { name: "a/x", pools: vec![0], is_all: false };
        let own = &figures(&trends, &one, &ahead)[2];
        assert_eq!((own.id, own.legend[0].1.as_str()), ("income", "a/x"), "not the site's");
        assert_eq!(own.table.rows[0].1, ["18"]);
    }
}
