//! `[[site.owners]]`: a log of owners' jobs and the scheduler of their queue.

use std::path::Path;

use tradewind_model::{OwnersFirst, PoolId, SiteId, Span, Standing, Time};

use crate::campaign::{Keyword as _, Overrun, beside};
use crate::diagnostics::{Diagnostic, did_you_mean, excerpt};
use crate::fields::{Fields, Notes};
use crate::outages::{Target, TargetKind, Targets};
use crate::owners_first;
use crate::value::Value;

const KEYS: [&str; 13] = [
    "log",
    "policy",
    "pool",
    "market",
    "guard",
    "max_delay",
    "tested",
    "horizon",
    "overrun",
    "wider",
    "from",
    "to",
    "start",
];

/// The most waiting jobs that a site's scheduler examines at a time.
const TESTED_MAX: i64 = 10_000;
/// The furthest that a site's scheduler looks ahead: 366 days.
const HORIZON_MAX: i64 = 366 * 86_400;

/// What happens to owners' jobs that are wider than the widest pool that they may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wider {
    /// They are a mistake in the file.
    #[default]
    Error,
    /// They are left out.
    Drop,
}

/// Owners' jobs with a queue of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersQueue {
    /// Whose.
    pub site: SiteId,
    /// The pools that they may use.
    pub pools: Vec<PoolId>,
    /// The path of their log.
    pub log: String,
    /// The policy of the site's scheduler, as written.
    pub policy: String,
    /// Where the market's jobs stand.
    pub market: Standing,
    /// What these jobs' owners may rely on.
    pub owners_first: OwnersFirst,
    /// How many waiting jobs it examines at a time, if there is a limit.
    pub tested: Option<u32>,
    /// How far it looks ahead, if there is a limit.
    pub horizon: Option<Span>,
    /// What happens to a job at the end of its time limit.
    pub overrun: Overrun,
    /// What happens to jobs that are too wide.
    pub wider: Wider,
    /// Jobs submitted earlier are left out.
    pub from: Option<Time>,
    /// Jobs submitted then or later are left out.
    pub to: Option<Time>,
    /// When the first of the other jobs is submitted, if not as in the log.
    pub start: Option<Time>,
    /// Where this is in the file.
    pub place: String,
    /// The lines of `log` and `policy`.
    pub lines: (u32, u32),
}

impl OwnersQueue {
    /// What is wrong with the log, for those who read it.
    pub fn wrong_log(&self, grid: &str, message: impl Into<String>) -> Diagnostic {
        let field = format!("{}.log", self.place);
        Diagnostic::error(grid, message).at_line(self.lines.0).in_field(field)
    }

    /// What is wrong with the policy, for those who know policies.
    pub fn wrong_policy(&self, grid: &str, message: impl Into<String>) -> Diagnostic {
        let field = format!("{}.policy", self.place);
        Diagnostic::error(grid, message).at_line(self.lines.1).in_field(field)
    }
}

/// The queues of all sites that have been read so far.
#[derive(Default)]
pub(super) struct OwnersReader {
    pub(super) queues: Vec<OwnersQueue>,
}

impl OwnersReader {
    /// Reads one entry of a site; `file` is the name of the grid file.
    pub(super) fn queue(
        &mut self,
        (value, path, file): (&Value<'_>, String, &str),
        targets: &Targets,
        site: SiteId,
        notes: &mut Notes<'_>,
    ) {
        let Some(fields) = Fields::of(value, path, &KEYS, notes) else { return };
        fields.require(&["log", "policy"], notes);
        let pools = self.pools(&fields, targets, site, notes);
        let tested = fields.whole("tested", 1..=TESTED_MAX, notes);
        let overruns: Vec<(&str, Overrun)> =
            Overrun::WORDS.iter().map(|(name, overrun, _)| (*name, *overrun)).collect();
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let market = fields.word("market", &Standing::WORDS, notes).unwrap_or_default();
        let queue = OwnersQueue {
            site,
            pools: pools.unwrap_or_default(),
            log: fields
                .text("log", notes)
                .map(|log| beside(folder, log.trim()))
                .unwrap_or_default(),
            policy: fields.text("policy", notes).unwrap_or_default().trim().to_owned(),
            market,
            owners_first: owners_first::read(&fields, (market, "market"), notes),
            tested: tested.and_then(|tested| u32::try_from(tested).ok()),
            horizon: fields.span("horizon", 1..=HORIZON_MAX, notes),
            overrun: fields.word("overrun", &overruns, notes).unwrap_or(Overrun::Kill),
            wider: fields
                .word("wider", &[("error", Wider::Error), ("drop", Wider::Drop)], notes)
                .unwrap_or_default(),
            from: fields.time("from", notes),
            to: fields.time("to", notes),
            start: fields.time("start", notes),
            place: fields.path.clone(),
            lines: (fields.line_of("log"), fields.line_of("policy")),
        };
        if queue.from.zip(queue.to).is_some_and(|(from, to)| from >= to) {
            let message = "`to` is not after `from`: no job is left".to_owned();
            notes.error(fields.line_of("to"), &fields.place("to"), message, "exchange the two");
        }
        self.queues.push(queue);
    }

    /// The pools that are named, or all of the site; none may have another queue.
    fn pools(
        &self,
        fields: &Fields<'_, '_>,
        targets: &Targets,
        site: SiteId,
        notes: &mut Notes<'_>,
    ) -> Option<Vec<PoolId>> {
        let ours: Vec<&Target> = targets.0.iter().filter(|it| it.site == site).collect();
        let (line, place) = (fields.line_of("pool"), fields.place("pool"));
        let chosen: Vec<&Target> = match fields.text("pool", notes) {
            None => ours.into_iter().filter(|it| it.kind == TargetKind::Pool).collect(),
            Some(name) => {
                let found = ours.iter().find(|it| it.name == name);
                let names: Vec<&str> = ours.iter().map(|it| it.name.as_str()).collect();
                let Some(found) = found else {
                    let message = format!("the site has no pool `{}`", excerpt(name));
                    notes.error(line, &place, message, &did_you_mean(name, &names));
                    return None;
                };
                vec![found]
            }
        };
        let pools =
            chosen.iter().flat_map(|it| (0..).zip(&it.nodes).map(|(at, _)| it.first.0 + at));
        let pools: Vec<PoolId> = pools.map(PoolId).collect();
        let other = self.queues.iter().find(|it| it.pools.iter().any(|pool| pools.contains(pool)));
        if let Some(other) = other {
            let message = format!("its pools have an owners' queue already, `{}`", other.place);
            notes.error(
                line,
                &place,
                message,
                "a pool has one queue: name other pools with `pool`",
            );
        }
        Some(pools)
    }
}
