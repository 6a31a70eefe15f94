//! Jobs, tasks, money and rights, as the state keeps them.

use std::sync::Arc;

use serde_json::Value;
use tradewind_io::submission::Submission;

use super::wire::{Decode, Encode, Fault, Fields, Object, choice, object};
use crate::live::choice::Choice;
use crate::live::gather::StartBarrier;
use crate::live::money::{Account, Accounts, Motive, Posting};
use crate::live::recent_history::{Asked, PastOutage, RecentHistory};
use crate::live::rights::{Role, SignedIn};
use crate::live::state::{
    Booking, EarlierSecret, Finish, Happening, Hold, Job, Part, Phase, Quote, Setback, Task,
    TaskGoal, TaskReport, Token, Why,
};
use crate::site::{Exit, Seen, Tag};
use tradewind_sched::policy::evaluate::{Against, Verdict, Weighed};

impl Encode for Tag {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_string().put(out);
    }
}

impl Decode for Tag {
    fn get(value: Value) -> Result<Self, Fault> {
        let tag = Tag::parse(&String::get(value)?);
        tag.ok_or_else(|| Fault::new("expected a tag `tw-MARKET-JOB-ATTEMPT-PART`"))
    }
}

/// A job with its submission, and with the place of its submission in a list.
macro_rules! job {
    ($($field:ident),* $(,)?) => {
        object!(Job { number, user, submission, $($field),* });

        /// Writes a job whose submission is elsewhere, at this place of a list.
        pub(super) fn put_job(job: &Job, place: u64, out: &mut Vec<u8>) {
            let Job { number, user, submission: _, $($field),* } = job;
            let mut object = Object::begin(out);
            object.field("number", number);
            object.field("user", user);
            object.field("submission", &place);
            $(object.field(stringify!($field), $field);)*
            object.end();
        }

        /// Reads it, with the list.
        pub(super) fn get_job(
            value: Value,
            submissions: &[Arc<Submission>],
        ) -> Result<Job, Fault> {
            let mut fields = Fields::of(value)?;
            let (number, user) = (fields.take("number")?, fields.take("user")?);
            let place: u64 = fields.take("submission")?;
            let submission = usize::try_from(place).ok().and_then(|it| submissions.get(it));
            let submission = submission.cloned();
            let submission = submission.ok_or_else(|| Fault::new("a submission is missing"))?;
            let job =
                Job { number, user, submission, $($field: fields.take(stringify!($field))?),* };
            fields.end()?;
            Ok(job)
        }
    };
}

job!(
    array,
    key,
    submitted,
    phase,
    id,
    attempt,
    capped,
    parts,
    expected,
    started,
    ended,
    paid,
    cancelled_by,
    booking,
    in_window,
    choice,
    rendezvous,
    apart,
    history,
    width,
    processors,
    origin,
    away,
    redacted,
);
choice!(Phase {
    "held" => Held(hold), "waiting" => Waiting, "running" => Running, "over" => Over(finish),
    "handing" => Handing, "away" => Away,
});
choice!(Hold {
    "user" => User, "dependency" => Dependency, "array" => Array, "funds" => Funds(needed),
    "booked" => Booked, "lost" => Lost, "rejected" => Rejected(words),
    "nowhere" => Nowhere, "capped" => Capped(why),
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
});
object!(Part { pool, nodes, price, limit, names, since, exit });
choice!(Happening {
    "submitted" => Submitted, "held" => Held(hold), "queued" => Queued, "planned" => Planned(place),
    "began" => Began, "setback" => Setback(setback), "cancelling" => Cancelling(by),
    "over" => Over(finish), "handing" => Handing(peer), "handed-over" => HandedOver(peer),
    "unkept" => Unkept(site, words), "came-back" => CameBack(why), "taken-in" => TakenIn(peer),
});
object!(Task { pool, wanted, known, go, begun, held });
object!(Choice { at, policy, others, left_out });
object!(Weighed { pool, price, length, verdict });
choice!(Verdict { "from" => From(start), "against" => Against(why) });
choice!(Against {
    "attribute" => Attribute(name), "slow" => Slow(has), "dear" => Dear(max), "size" => Size,
    "narrow" => Narrow(nodes), "budget" => Budget(max), "late" => Late(finish), "never" => Never,
});
object!(StartBarrier { at, slipped, began });
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
    "withheld" => Withheld(pool, from), "booked" => Booked(pool, job),
    "queued" => Queued(pool, number),
});
object!(RecentHistory { prices, closures, forgotten });
object!(Asked { points, thinned });
object!(PastOutage { why, nodes, from, until });
object!(Quote { number, user, tasks, work, times, booking, cost, expires });
object!(Booking { start, ends, place, prices });
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
    fn get(value: Value) -> Result<Self, Fault> {
        let mut fields = Fields::of(value)?;
        let (balances, postings) = (fields.take("balances")?, fields.take("postings")?);
        let accounts = Accounts::of(balances, postings, fields.take("posted")?);
        fields.end()?;
        Ok(accounts)
    }
}
