//! What is drawn: failures and the owner's load.

use tradewind_model::{Pools, Span};

use super::{Failures, LicenceUse, OwnerLoad};
use crate::fields::{DecimalScale, Fields, Notes};
use crate::value::Value;

const FAILURE_KEYS: [&str; 6] = ["mtbf", "shape", "repair", "repair_law", "repair_sigma", "burst"];
const LOAD_KEYS: [&str; 4] = ["share", "steps", "task", "period"];

/// A share of the whole.
pub(super) const SHARE: DecimalScale = DecimalScale { decimals: 3, range: 0..=1_000 };
/// Shapes and standard deviations.
const FACTOR: DecimalScale = DecimalScale { decimals: 3, range: 1..=100_000 };
/// Range of a number of nodes.
const NODES: DecimalScale = DecimalScale { decimals: 0, range: 1..=Pools::MAX_NODES as i64 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DistributionKind {
    Exponential,
    Lognormal,
}

fn small(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Reads `[site.failures]`.
pub(super) fn failures(value: &Value<'_>, path: String, notes: &mut Notes<'_>) -> Option<Failures> {
    let fields = Fields::of(value, path, &FAILURE_KEYS, notes)?;
    fields.require(&["mtbf"], notes);
    let laws = [
        ("exponential", DistributionKind::Exponential),
        ("lognormal", DistributionKind::Lognormal),
    ];
    let law = fields.word("repair_law", &laws, notes).unwrap_or(DistributionKind::Exponential);
    let sigma = fields.scaled("repair_sigma", &FACTOR, notes).map(small);
    if sigma.is_some() && law == DistributionKind::Exponential {
        let (line, place) = (fields.line_of("repair_sigma"), fields.place("repair_sigma"));
        let message = "an exponential law has no other parameter than its mean".to_owned();
        notes.error(line, &place, message, "write `repair_law = \"lognormal\"`, or leave it out");
    }
    let burst = fields.range("burst", &NODES, notes).unwrap_or((1, 1));
    let shape = fields.scaled("shape", &FACTOR, notes).map_or(1_000, small);
    let repair = fields.span("repair", 1..=Span::MAX.0, notes).unwrap_or(Span(4 * 3_600));
    let mtbf = fields.span("mtbf", 1..=Span::MAX.0, notes)?;
    let repair_sigma = match law {
        DistributionKind::Exponential => None,
        DistributionKind::Lognormal => Some(sigma.unwrap_or(1_000)),
    };
    let burst = (small(burst.0), small(burst.1));
    Some(Failures { mtbf, shape, repair, repair_sigma, burst })
}

/// Reads `jobs` of a licence: which jobs take it along, and how many of it.
pub(super) fn licence_use(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<LicenceUse> {
    let value = fields.get("jobs")?;
    let jobs = Fields::of(value, fields.place("jobs"), &["share", "each"], notes)?;
    jobs.require(&["share"], notes);
    let share = jobs.scaled("share", &SHARE, notes).map_or(0, small);
    let each = jobs.range("each", &NODES, notes).unwrap_or((1, 1));
    let count = fields.whole("count", 1..=i64::from(Pools::MAX_NODES), notes).unwrap_or(each.1);
    if each.1 > count {
        let message = format!("a job may take {}, and there are {count}", each.1);
        notes.error(jobs.line_of("each"), &jobs.place("each"), message, "ask for fewer");
    }
    Some(LicenceUse { share, each: (small(each.0), small(each.1)) })
}

/// Reads `[site.load]`.
pub(super) fn load(value: &Value<'_>, path: String, notes: &mut Notes<'_>) -> Option<OwnerLoad> {
    let fields = Fields::of(value, path, &LOAD_KEYS, notes)?;
    let share = fields.range("share", &SHARE, notes).unwrap_or((100, 500));
    let steps = fields.whole("steps", 0..=10_000, notes).unwrap_or(4);
    let tasks = fields.spans("task", notes).unwrap_or((Span(900), Span(4 * 3_600)));
    let period = fields.span("period", 1..=Span::MAX.0, notes).unwrap_or(Span(86_400));
    let share = (small(share.0), small(share.1));
    Some(OwnerLoad { share, steps: small(steps), tasks, period })
}
