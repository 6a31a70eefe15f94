//! `tradewind events`: what is written down, as it happens.

use std::time::Duration;

use tradewind_web::documents::Event;

use crate::client::words::{moment, nodes};
use crate::client::{Market, MarketArgs, Patience};
use crate::exit::{Exit, Failure, Outcome};
use crate::options::Format;
use crate::output::print;
use crate::report::Report;

/// Before a stream that ended is asked for again.
const PAUSE: Duration = Duration::from_millis(500);

/// Arguments of `tradewind events`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind events --follow
  tradewind events --job 7
  tradewind events --after 0 --format json | jq .kind

Without `--follow` it ends when it has seen what there is; from the beginning of what is kept, or
after a row of the journal. With it, it goes on, also over a restart of the market. JSON is one
event a line.")]
pub(crate) struct Args {
    /// Go on as events happen.
    #[arg(short, long)]
    follow: bool,
    /// About this job only.
    #[arg(long, value_name = "ID")]
    job: Option<u64>,
    /// After this row of the journal.
    #[arg(long, value_name = "ROW")]
    after: Option<u64>,
    #[command(flatten)]
    place: MarketArgs,
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    if format == Format::Csv {
        print("seq,at,kind,jobid,user,state,reason,site,pools,nodes,time,amount,message\n")?;
    }
    let mut after = args.after.or((!args.follow).then_some(0));
    let mut patience = Patience::new(&args.place);
    loop {
        let path = path(args, after);
        let until = if args.follow { None } else { Some(Duration::from_secs(1)) };
        let mut lost = None;
        let told = Market::open(&args.place).and_then(|market| {
            market.events(&path, until, |data| {
                let printed = tell(data, format);
                match printed {
                    Ok(seq) => after = Some(seq),
                    Err(failure) => lost = Some(failure.clone()),
                }
                lost.clone().map_or(Ok(()), Err)
            })
        });
        match (lost, told) {
            (Some(failure), _) => return Err(failure),
            (None, Ok(())) if !args.follow => return Ok(Exit::Ok),
            (None, Ok(())) => {
                patience.heard();
                report.detail(|| "the stream ended; asking again".to_owned());
                std::thread::sleep(PAUSE);
            }
            (None, Err(failure)) => patience.pause(failure)?,
        }
    }
}

/// Prints an event; its row.
fn tell(data: &str, format: Format) -> Result<u64, Failure> {
    let event: Event = serde_json::from_str(data)
        .map_err(|wrong| Failure::negative(format!("an event is not understood: {wrong}")))?;
    print(&line(&event, data, format)?)?;
    Ok(event.seq)
}

fn path(args: &Args, after: Option<u64>) -> String {
    let fields = [("after", after), ("job", args.job)];
    let given = fields.into_iter().filter_map(|(key, value)| Some(format!("{key}={}", value?)));
    format!("/v1/events?{}", given.collect::<Vec<_>>().join("&"))
}

fn line(event: &Event, data: &str, format: Format) -> Result<String, Failure> {
    match format {
        Format::Json => Ok(format!("{data}\n")),
        Format::Csv => crate::output::csv(&[row(event)]),
        Format::Table => Ok(sentence(event)),
    }
}

/// `2026-11-21T14:03:02 planned job 7 (ana) alpha/main`.
fn sentence(event: &Event) -> String {
    if event.kind == "reset" {
        return format!("{:19}  reset       events up to row {} were missed\n", "", event.seq);
    }
    let mut text = format!("{}  {:<10}", moment(event.at), event.kind);
    let mut add = |part: Option<String>| {
        if let Some(part) = part {
            text.push_str("  ");
            text.push_str(&part);
        }
    };
    let user = event.user.as_ref().map(|user| format!(" ({user})")).unwrap_or_default();
    add(event.job.map(|job| format!("job {job}{user}")));
    add(event.state.clone());
    add(event.site.clone());
    add(Some(event.pools.join(", ")).filter(|pools| !pools.is_empty()));
    add(event.nodes.map(nodes));
    add(event.time.map(moment));
    add(event.amount.map(|amount| format!("{amount} credits")));
    add(event.message.clone().or(event.reason.clone()));
    format!("{}\n", text.trim_end())
}

fn row(event: &Event) -> Vec<String> {
    let number = |it: Option<i64>| it.map(|it| it.to_string()).unwrap_or_default();
    let text = |it: &Option<String>| it.clone().unwrap_or_default();
    vec![
        event.seq.to_string(),
        event.at.to_string(),
        event.kind.clone(),
        event.job.map(|job| job.to_string()).unwrap_or_default(),
        text(&event.user),
        text(&event.state),
        text(&event.reason),
        text(&event.site),
        event.pools.join(" "),
        number(event.nodes.map(i64::from)),
        number(event.time),
        event.amount.map(|it| it.to_string()).unwrap_or_default(),
        text(&event.message),
    ]
}
