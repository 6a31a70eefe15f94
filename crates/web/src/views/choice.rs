//! Where a job could go or could have gone, pool by pool, as documents.

use tradewind_daemon::live::RESOURCES;
use tradewind_daemon::live::choice::{Against, Merit, Verdict, WeighedPool};
use tradewind_daemon::live::state::{Happening, Job, Setback, State};
use tradewind_daemon::site::resources::Resources;
use tradewind_model::{Money, PoolId, Span, Time};

use super::amounts;
use super::jobs::pool_name;
use super::words::moment;
use crate::documents::{self, Credits, OtherPool, Thousandths};

/// What a job got, for comparison: when it begins, how long it takes, what it costs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Got {
    start: Time,
    length: Span,
    cost: Money,
}

/// What was written down when the job got its nodes.
pub(crate) fn document(state: &State, job: &Job) -> Option<documents::Choice> {
    let choice = job.choice.as_ref()?;
    let got = Got {
        start: choice.at,
        length: job.parts().iter().map(|it| it.limit).max().unwrap_or_default(),
        cost: job.max(),
    };
    let other = |it: &WeighedPool| other(state, job, it, Some(got));
    Some(documents::Choice {
        at: choice.at.0,
        policy: choice.policy.clone(),
        why: why(choice.merit(job), job.parts().len() > 1),
        others: choice.others.iter().map(other).collect(),
        left_out: choice.left_out,
    })
}

/// A pool as it would have the job; beside what the job got, if it got anything.
pub(crate) fn other(state: &State, job: &Job, it: &WeighedPool, got: Option<Got>) -> OtherPool {
    let cost = it.price.of(job.nodes(), it.length) + state.licences_cost(job, it.length);
    let site = state.site_of(it.pool);
    let fails = state.site_health(site).state.is_failure() && !state.is_counted_on(site);
    let is_away = got.is_none() && fails;
    let start = match it.verdict {
        Verdict::From(start) if !is_away => Some(start),
        _ => None,
    };
    let verdict = match (&it.verdict, got) {
        _ if is_away => "its site fails: nothing is planned there".to_owned(),
        (Verdict::Against(Against::Attribute(name)), _) if name == RESOURCES => {
            closed(job, it.pool)
        }
        (Verdict::Against(why), _) => against(why, job),
        (Verdict::From(_), None) => "possible".to_owned(),
        (Verdict::From(start), Some(got)) => {
            beside(Got { start: *start, length: it.length, cost }, got)
        }
    };
    OtherPool {
        pool: pool_name(state, it.pool).to_owned(),
        price: it.price.into(),
        length: it.length.0,
        cost: cost.into(),
        start: start.map(|at| at.0),
        verdict,
    }
}

/// What speaks for what the job got.
fn why(merit: Merit, is_spread: bool) -> String {
    let Merit { others, at_once, at_once_cheaper, at_once_faster, cheaper } = merit;
    let no = if is_spread { "no pool alone" } else { "no other pool" };
    let among = match is_spread {
        true => "beside pools that could have begun all of it at once".to_owned(),
        false => format!("of {} pools that could begin it at once", at_once + 1),
    };
    match (others, at_once) {
        (0, _) => format!("{no} could have had all of it"),
        (_, 0) if cheaper == 0 => {
            format!("{no} could have begun it as soon, and none would have cost less")
        }
        (_, 0) => {
            format!("{no} could have begun it as soon; {cheaper} would have cost less, later")
        }
        _ if at_once_cheaper == 0 => format!("{among}, none would have cost less"),
        _ if at_once_faster == 0 => format!(
            "{among}, none would have been done sooner; {at_once_cheaper} would have cost less"
        ),
        _ => format!(
            "{among}, {at_once_cheaper} would have cost less, {at_once_faster} would have been done \
             sooner"
        ),
    }
}

/// Why a pool was not among those that the job asked for: a limit that it met there, or what its
/// nodes lack.
fn closed(job: &Job, pool: PoolId) -> String {
    let met = job.history.iter().rev().find_map(|(_, what)| match what {
        Happening::Setback(Setback::Capped(at, word)) if *at == pool => Some(word),
        _ => None,
    });
    if let Some(word) = met {
        return format!("the job met a limit there: {word}");
    }
    if job.submission.shape.is_some() {
        return "its tasks would need another number of its nodes, or do not fit on them, or a limit of \
                its site is in the way: `explain` tells which"
            .to_owned();
    }
    match Resources::asked(&job.submission.passed_through) == Resources::default() {
        true => "a limit of its site: `explain` tells which".to_owned(),
        false => {
            "no node of it has the memory or the generic resources that were asked for".to_owned()
        }
    }
}

/// Why a pool could not have the job.
fn against(why: &Against, job: &Job) -> String {
    let tasks = job.nodes();
    let credits = |amount: Money| amounts::credits(&amount.into());
    match why {
        Against::Attribute(name) => match name.as_str() {
            "site" => "another site was asked for".to_owned(),
            "pool" => "another pool was asked for".to_owned(),
            name => format!("its nodes do not have the {name} that was asked for"),
        },
        Against::Slow(has) => {
            format!(
                "too slow: its performance is {}",
                amounts::performance(&Thousandths::from(*has))
            )
        }
        Against::Dear(max) => {
            let max = amounts::credits(&amounts::hourly(&(*max).into()));
            format!("price above the {max} credits per node-hour that the job allows")
        }
        Against::NoLink => "no link brings its data to this site and back".to_owned(),
        Against::Size => "it takes no jobs of this size".to_owned(),
        Against::Narrow(nodes) => {
            format!("{nodes} of the {tasks} nodes that it needs: too small alone")
        }
        Against::Budget(max) => format!("beyond the budget of {} credits", credits(*max)),
        Against::Late(finish) => {
            format!("over by {} at the earliest, after the deadline", moment(*finish))
        }
        Against::Never => {
            let nodes =
                if tasks == 1 { "1 node is".to_owned() } else { format!("{tasks} nodes are") };
            format!("{nodes} never free there, as far as is known")
        }
    }
}

/// How a pool that suits differs from what the job got.
fn beside(it: Got, got: Got) -> String {
    let difference = |more: i128, word: &str, other: &str, told: &dyn Fn(i128) -> String| match more
    {
        0 => None,
        more if more > 0 => Some(format!("{} {word}", told(more))),
        less => Some(format!("{} {other}", told(-less))),
    };
    let credits = |amount: i128| format!("{} credits", amounts::credits(&Credits(amount)));
    let span = |seconds: i128| amounts::span(&i64::try_from(seconds).unwrap_or(i64::MAX));
    let apart = |a: i64, b: i64| i128::from(a) - i128::from(b);
    let told = [
        difference(apart(it.start.0, got.start.0), "later", "sooner", &span),
        difference(apart(it.length.0, got.length.0), "slower", "faster", &span),
        difference(apart(it.cost.0, got.cost.0), "more expensive", "cheaper", &credits),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    match told.is_empty() {
        true => "as good".to_owned(),
        false => told.join(", "),
    }
}
