//! `tradewind whatif`: the live market carried on in virtual time, as it is and as asked.

use std::fmt::Write as _;

use tradewind_io::duration;
use tradewind_model::Span;
use tradewind_web::documents::{Fate, JobChange, Totals, WhatIf, WhatIfQuestion};

use super::{Sheet, starts};
use crate::client::words::{length, moment};
use crate::client::{Market, MarketArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output;
use crate::tables::Side;

/// Arguments of `tradewind whatif`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind whatif --policy css
  tradewind whatif --policy 'easy[depth=4]' --horizon 2d
  tradewind whatif --without 7

Nothing changes: the live state is forked into the simulator. Jobs take as long as they may.")]
pub(crate) struct Args {
    /// This policy would decide.
    #[arg(long, value_name = "NAME", required_unless_present = "without")]
    policy: Option<String>,
    /// This job would not be there.
    #[arg(long, value_name = "ID")]
    without: Option<u64>,
    /// How far to look ahead: `2d`, `6h`.
    #[arg(long, value_name = "SPAN", value_parser = duration::parse_span)]
    horizon: Option<Span>,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format) -> Outcome {
    let question = WhatIfQuestion {
        policy: args.policy.clone(),
        without_job: args.without,
        horizon: args.horizon.map(|span| span.0),
    };
    let sent = Market::open(&args.place)?.post("/v1/whatif", &question);
    let sent = sent.map_err(Failure::of_arguments)?;
    let found: WhatIf = sent.read()?;
    match format {
        Format::Json => sent.print()?,
        Format::Csv => csv(&found.changes).print_csv()?,
        Format::Table => output::print_styled(&table(&found))?,
    }
    Ok(Exit::Ok)
}

fn table(it: &WhatIf) -> String {
    let columns = vec![
        ("", Side::Left),
        ("POLICY", Side::Left),
        ("STARTED", Side::Right),
        ("REFUSED", Side::Right),
        ("OPEN", Side::Right),
        ("MEAN WAIT", Side::Right),
        ("MAKESPAN", Side::Right),
        ("INCOME", Side::Right),
    ];
    let row = |name: &str, policy: &str, totals: &Totals| {
        vec![
            name.to_owned(),
            policy.to_owned(),
            totals.started.to_string(),
            totals.refused.to_string(),
            totals.open.to_string(),
            totals.mean_wait.map_or_else(|| "N/A".to_owned(), |it| length(it.round() as i64)),
            length(totals.makespan),
            totals.income.to_string(),
        ]
    };
    let rows = vec![
        row("as it is", &it.before, &it.totals_before),
        row("as asked", &it.after, &it.totals_after),
    ];
    let mut text = Sheet { columns, rows }.table();
    let (from, until) = (moment(it.from), moment(it.until));
    let _ = writeln!(
        text,
        "\nfrom {from} to {until}, jobs that end sooner: {}, later: {}, as before: {}",
        it.sooner, it.later, it.same
    );
    if !it.changes.is_empty() {
        let _ = write!(text, "\n{}", changes(&it.changes).table());
    }
    text
}

fn changes(all: &[JobChange]) -> Sheet {
    let columns = vec![
        ("JOBID", Side::Right),
        ("START", Side::Left),
        ("COST", Side::Right),
        ("START AS ASKED", Side::Left),
        ("COST AS ASKED", Side::Right),
    ];
    let start = |fate: &Fate| match (&fate.refused, fate.start) {
        (Some(why), _) => why.clone(),
        (None, Some(at)) => match &fate.ranges {
            Some(it) => format!("{} ({})", moment(at), starts::range(&it.within[1], at)),
            None => moment(at),
        },
        (None, None) => "N/A".to_owned(),
    };
    let cost = |fate: &Fate| fate.cost.map(|cost| cost.to_string()).unwrap_or_default();
    let row = |it: &JobChange| {
        let (before, after) = (&it.before, &it.after);
        vec![it.job.to_string(), start(before), cost(before), start(after), cost(after)]
    };
    Sheet { columns, rows: all.iter().map(row).collect() }
}

fn csv(all: &[JobChange]) -> Sheet {
    let heads = [
        "jobid",
        "before_start",
        "before_end",
        "before_cost",
        "before_refused",
        "after_start",
        "after_end",
        "after_cost",
        "after_refused",
        "before_early",
        "before_late",
        "after_early",
        "after_late",
    ];
    let fate = |it: &Fate| {
        let time = |at: Option<i64>| at.map(|at| at.to_string()).unwrap_or_default();
        let cost = it.cost.map(|cost| cost.to_string()).unwrap_or_default();
        [time(it.start), time(it.end), cost, it.refused.clone().unwrap_or_default()].to_vec()
    };
    let most = |it: &Fate| match &it.ranges {
        Some(it) => vec![it.within[1].from.to_string(), it.within[1].to.to_string()],
        None => vec![String::new(); 2],
    };
    let row = |it: &JobChange| {
        let (before, after) = (&it.before, &it.after);
        let number = vec![it.job.to_string()];
        [number, fate(before), fate(after), most(before), most(after)].concat()
    };
    Sheet {
        columns: heads.map(|head| (head, Side::Left)).to_vec(),
        rows: all.iter().map(row).collect(),
    }
}
