//! Jobs, tasks, money and rights, as the state keeps them.

use std::sync::Arc;

use serde_json::Value;
use tradewind_io::submission::Submission;
use tradewind_model::{Money, Time};

use super::wire::{
    Decode, DecodeFault, Encode, Fields, Object, alternative, choice, none, object,
    put_alternative, some,
};
use crate::live::choice::Choice;
use crate::live::money::{Account, Accounts, Motive, Posting};
use crate::live::recent_history::{PastOutage, PriceSince, RecentHistory};
use crate::live::rights::{Role, SignedIn};
use crate::live::site_health::{Health, SiteState};
use crate::live::sites::{PutOff, PutOffChange};
use crate::live::state::jobs::{
    Beginning, HeldLicences, JobEnd, LastStage, Run, RunNotice, Stage, StartBarrier,
};
use crate::live::state::{
    BookedPart, Booking, BreachReason, EarlierSecret, Finish, Happening, Job, JobHold,
    OfferOutcome, Part, Phase, Promise, Quote, Setback, Task, TaskGoal, TaskReport, Token, Why,
};
use crate::site::{Exit, Seen, Tag};
use tradewind_sched::policy::evaluate::{Against, Verdict, WeighedPool};
use tradewind_sched::policy::owners::JobDelay;

impl Encode for Tag {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }
}

impl Decode for Tag {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let tag = Tag::parse(&String::get(value)?);
        tag.ok_or_else(|| DecodeFault::new("expected a tag `tw-MARKET-JOB-ATTEMPT-PART`"))
    }
}

/// The stored form of a job is flat: `look` finds each field in the job, and `build` makes the job
/// of the fields. With its submission, and with the place of its submission in a list.
macro_rules! job {
    (
        fields: { $($field:ident),* $(,)? }
        |$job:ident| look: { $($look:tt)* }
        |$number:ident, $user:ident, $submission:ident| build: { $($build:tt)* }
    ) => {
        fn put_fields($job: &Job, submission: &impl Encode, out: &mut Vec<u8>) {
            let mut object = Object::begin(out);
            object.field("number", &$job.number);
            object.field("user", &$job.user);
            object.field("submission", submission);
            $($look)*
            $(object.field(stringify!($field), $field);)*
            object.end();
        }

        fn get_fields(
            mut fields: Fields,
            $number: u64,
            $user: String,
            $submission: Arc<Submission>,
        ) -> Result<Job, DecodeFault> {
            $(let $field = fields.take(stringify!($field))?;)*
            fields.end()?;
            $($build)*
        }
    };
}

job!(
    fields: {
        array, key, submitted, phase, id, attempt, capped, parts, expected, started, ended, paid,
        cancelled_by, booking, in_window, turn, choice, rendezvous, apart, history, width, processors,
        origin, away, redacted, promises, covered, covering, requeued_by, foreseen,
        consumed, notice, licences,
    }
    |job| look: {
        let Job {
            number: _, user: _, submission: _, stage: _, array, key, submitted, attempt, capped,
            nodes, processors, expected, paid, cancelled_by, booking, promises,
            covered, covering, choice, history, origin, foreseen, consumed,
        } = job;
        let (phase, id, parts, in_window) = (&job.phase(), &job.id(), &job.parts(), &job.in_window());
        let turn = &job.run().and_then(|run| run.turn);
        let requeued_by = &job.run().and_then(|run| run.requeued_by.as_ref());
        let notice = &job.run().and_then(|run| run.notice.as_ref());
        let licences = &job.run().and_then(|run| run.licences.as_ref());
        let (started, ended, redacted) = (&job.started(), &job.ended(), &job.redacted());
        let apart = &match job.run().map(|run| &run.beginning) {
            Some(Beginning::Apart(began)) if !began.is_empty() => Some(began),
            _ => None,
        };
        let (rendezvous, away) = (&job.barrier(), &job.away());
        let capped = &Some(*capped).filter(|capped| *capped > 0);
        let width = &Some(*nodes).filter(|nodes| *nodes != job.submission.tasks);
        let promises = &Some(promises).filter(|promises| !promises.is_empty());
        let money = |amount: Money| Some(amount).filter(|amount| *amount != Money::ZERO);
        let (covered, covering) = (&money(*covered), &money(*covering));
    }
    |number, user, submission| build: {
        let (beginning, capped): (_, Option<u32>) = (beginning(rendezvous, apart), capped);
        let nodes = Option::<u32>::unwrap_or(width, submission.tasks);
        let money = |amount: Option<Money>| amount.unwrap_or(Money::ZERO);
        let run = |id, started| Run {
            id, started, in_window, parts, beginning, turn, requeued_by, notice,
            licences,
        };
        let stage = match (phase, id, started, away) {
            (PhaseRow::Held(hold), ..) => Stage::Held(hold),
            (PhaseRow::Waiting, Some(id), ..) => Stage::Waiting(id),
            (PhaseRow::Running, Some(id), Some(started), _) => Stage::Running(run(id, started)),
            (PhaseRow::Handing, _, _, Some(away)) => Stage::Handing(away),
            (PhaseRow::Away, _, since, Some(away)) => Stage::Away(away, since),
            (PhaseRow::Over(finish), id, started, away) => {
                let last = match (away, id, started) {
                    (Some(away), _, since) => LastStage::Away(away, since),
                    (None, Some(id), Some(started)) => LastStage::Ran(run(id, started)),
                    (None, Some(id), None) => LastStage::Waiting(id),
                    (None, None, _) => LastStage::Held,
                };
                let at = Option::<Time>::ok_or_else(ended, || DecodeFault::new("it is missing").within("ended"))?;
                Stage::Over(JobEnd { finish, at, last, redacted })
            }
            _ => return Err(DecodeFault::new("more must be said of this one").within("phase")),
        };
        Ok(Job {
            number, user, submission, array, key, submitted, stage, attempt,
            capped: capped.unwrap_or(0), nodes, processors, expected, paid, cancelled_by, booking,
            promises: Option::<Vec<Promise>>::unwrap_or_default(promises),
            covered: money(covered), covering: money(covering), choice, history, origin, foreseen,
            consumed,
        })
    }
);

impl Encode for Job {
    fn put(&self, out: &mut Vec<u8>) {
        put_fields(self, &self.submission, out);
    }
}

impl Decode for Job {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let (number, user) = (fields.take("number")?, fields.take("user")?);
        let submission = fields.take("submission")?;
        get_fields(fields, number, user, submission)
    }
}

/// Writes a job whose submission is elsewhere, at this place of a list.
pub(super) fn put_job(job: &Job, place: u64, out: &mut Vec<u8>) {
    put_fields(job, &place, out);
}

/// Reads it, with the list.
pub(super) fn get_job(value: Value, submissions: &[Arc<Submission>]) -> Result<Job, DecodeFault> {
    let mut fields = Fields::of(value)?;
    let (number, user) = (fields.take("number")?, fields.take("user")?);
    let place: u64 = fields.take("submission")?;
    let submission = usize::try_from(place).ok().and_then(|it| submissions.get(it));
    let submission = submission.ok_or_else(|| DecodeFault::new("a submission is missing"))?;
    get_fields(fields, number, user, Arc::clone(submission))
}

fn beginning(barrier: Option<StartBarrier>, apart: Option<Vec<i64>>) -> Beginning {
    match barrier {
        Some(barrier) => Beginning::Together(barrier),
        None => Beginning::Apart(apart.unwrap_or_default()),
    }
}

/// A phase, as it is read.
enum PhaseRow {
    Held(JobHold),
    Waiting,
    Running,
    Over(Finish),
    Handing,
    Away,
}

impl Decode for PhaseRow {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let (name, carried) = alternative(value)?;
        let read = match name.as_str() {
            "held" => some(carried).and_then(Decode::get).map(PhaseRow::Held),
            "waiting" => none(carried.as_ref()).map(|()| PhaseRow::Waiting),
            "running" => none(carried.as_ref()).map(|()| PhaseRow::Running),
            "over" => some(carried).and_then(Decode::get).map(PhaseRow::Over),
            "handing" => none(carried.as_ref()).map(|()| PhaseRow::Handing),
            "away" => none(carried.as_ref()).map(|()| PhaseRow::Away),
            _ => Err(DecodeFault::unknown()),
        };
        read.map_err(|fault| fault.within(name))
    }
}

impl Encode for Phase<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Phase::Held(hold) => put_alternative("held", hold, out),
            Phase::Waiting => "waiting".put(out),
            Phase::Running => "running".put(out),
            Phase::Over(finish) => put_alternative("over", finish, out),
            Phase::Handing => "handing".put(out),
            Phase::Away => "away".put(out),
        }
    }
}

choice!(JobHold {
    "user" => User, "dependency" => Dependency, "array" => Array, "funds" => Funds(needed),
    "booked" => Booked, "lost" => Lost, "rejected" => Rejected(words),
    "nowhere" => Nowhere, "capped" => Capped(why), "breached" => Breached,
    "over-budget" => OverBudget(words), "window" => Window,
});
choice!(Finish {
    "completed" => Completed, "failed" => Failed(code), "killed" => Killed(signal),
    "timeout" => Timeout, "cancelled" => Cancelled, "out-of-memory" => OutOfMemory,
    "node-fail" => NodeFail, "refused" => Refused(reason), "dependency" => Dependency(job),
    "returned" => Returned(why),
});
choice!(Setback {
    "refused" => Refused(words), "displaced" => Displaced, "lost" => Lost, "funds" => Funds,
    "preempted" => Preempted, "slipped" => BarrierTimedOut(pool, why), "capped" => Capped(pool, word),
    "requeued" => Requeued(by), "over-budget" => OverBudget,
});
object!(HeldLicences { share, price });
object!(Part { pool, nodes, price, limit, staging, names, since, exit });
choice!(Happening {
    "submitted" => Submitted, "held" => Held(hold), "queued" => Queued, "planned" => Planned(place),
    "lined" => Lined(pool), "began" => Began, "setback" => Setback(setback), "cancelling" => Cancelling(by),
    "over" => Over(finish), "handing" => Handing(peer), "handed-over" => HandedOver(peer),
    "unkept" => Unkept(site, words), "came-back" => CameBack(why), "taken-in" => TakenIn(peer),
    "doubted" => Doubted(peer, why), "settled-by-hand" => SettledByHand(outcome, by),
    "kept" => Kept, "breached" => Breached(why), "requeueing" => Requeueing(by),
    "notice" => NoticeGiven(ends, why),
    "updated" => Updated(by),
});
object!(Task { pool, wanted, known, go, begun, held, notice });
object!(RunNotice { given, ends, why });
object!(Choice { at, policy, others, left_out });
object!(WeighedPool { pool, price, length, verdict });
choice!(Verdict { "from" => From(start), "against" => Against(why) });
choice!(Against {
    "attribute" => Attribute(name), "slow" => Slow(has), "dear" => Dear(max), "size" => Size, "no-link" => NoLink,
    "narrow" => Narrow(nodes), "budget" => Budget(max), "late" => Late(finish), "never" => Never,
});
object!(StartBarrier { at, timed_out = "slipped", began });
choice!(TaskGoal { "run" => Run, "stop" => Stop, "recall" => Recall });
choice!(TaskReport {
    "nothing" => Nothing, "declined" => Declined(words), "withdrawn" => Withdrawn(why),
    "acknowledged" => Acknowledged, "seen" => Seen(seen) });
choice!(Seen {
    "waiting" => Waiting, "running" => Running { since, nodes }, "ended" => Ended { since, at, exit },
});
choice!(Exit {
    "code" => Code(code), "signal" => Signal(signal), "time-limit" => TimeLimit,
    "withdrawn" => Withdrawn, "out-of-memory" => OutOfMemory, "node-failed" => NodeFailed, "preempted" => Preempted,
    "lost" => Lost, "not-started" => NotStarted(words),
    "refused" => Refused(words),
});
choice!(Why {
    "local" => Local(pool, name), "stray" => Stray(pool, tag), "down" => Down(pool),
    "withheld" => Withheld(pool, from), "reclaimed" => Reclaimed(pool, at), "booked" => Booked(pool, job),
    "away" => Away(pool), "queued" => Queued(pool, number), "away-later" => AwayLater(pool),
});
object!(Health { state, since, reason, has_answered, retry });
object!(JobDelay { sum, since });
object!(PutOff { jobs, longest });
object!(PutOffChange { began, paused, left });
choice!(SiteState {
    "up" => Up, "joining" => Joining, "never-reached" => NeverReached, "lost" => Lost,
    "hanging" => Hanging, "refusing" => Refusing, "partly-drained" => PartlyDrained,
    "drained" => Drained,
});
object!(RecentHistory { prices, outages = "closures", forgotten });
object!(PriceSince { points, thinned });
object!(PastOutage { why, nodes, from, until });
object!(Quote { number, user, tasks, work, times, booking, cost, expires, slack });
object!(Promise { quote, accepted, nodes, window, cost, slack, on_breach, outcome });
choice!(OfferOutcome {
    "open" => Open, "kept" => Kept(began), "breached" => Breached(at, why), "void" => Void(why),
});
choice!(BreachReason {
    "away" => Away(site, since), "down" => Down(pool, nodes), "owners-job" => OwnersJob(pool, name),
    "overdue" => Overdue(pool, name), "withheld" => Withheld(pool), "occupied" => Occupied(pool, job),
    "refused" => Refused(words), "not-started" => NotStarted(pool), "lost" => Lost(pool),
    "preempted" => Preempted(pool), "not-free" => NotFree(pool),
});
object!(Booking { start, ends, place, prices, groups });
object!(BookedPart { group, share, end, price });
object!(Token { user, role, hash, note, issued, expires, earlier, signed_in });
object!(EarlierSecret { hash, until });
object!(SignedIn { provider, projects });
choice!(Role { "user" => User, "owner" => Owner, "administrator" => Administrator, "peer" => Peer });
choice!(Account {
    "bank" => Bank, "user" => User(name), "project" => Project(name), "held" => Held(job),
    "owner" => Owner(site), "peer" => Peer(name),
});
choice!(Motive {
    "grant" => Grant(note), "hold" => Hold(job), "settle" => Settle(job), "refund" => Refund(job),
    "cover" => Cover(job),
});
object!(Posting { number, at, from, to, amount, motive });

impl Encode for Accounts {
    fn put(&self, out: &mut Vec<u8>) {
        let balances: Vec<(&Account, i128)> = self.balances().collect();
        let postings: Vec<&Posting> = self.postings().collect();
        let mut object = Object::begin(out);
        object.field("balances", &balances);
        object.field("postings", &postings);
        object.field("posted", &self.posted());
        object.end();
    }
}

impl Decode for Accounts {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let mut fields = Fields::of(value)?;
        let (balances, postings) = (fields.take("balances")?, fields.take("postings")?);
        let accounts = Accounts::of(balances, postings, fields.take("posted")?);
        fields.end()?;
        Ok(accounts)
    }
}
