//! The records of the journal.

use super::wire::choice;
use crate::live::Record;

choice!(Record {
    "created" => Created { market },
    "gridded" => Gridded { pools, owners },
    "began" => Began { release, policy, usage },
    "decided" => Decided { commands },
    "submitted" => Submitted { job, user, submission, array, key },
    "held" => Held { job, hold },
    "joined" => Joined { job, demand },
    "started" => Started { job },
    "expected" => Expected { starts },
    "left" => Left { job, hold },
    "acknowledged" => Acknowledged { tag },
    "declined" => Declined { tag, why },
    "withdrawn" => Withdrawn { tag },
    "saw" => Saw { tag, seen },
    "forgot" => Forgot { tag },
    "released" => Released { job, pool },
    "interrupted" => Interrupted { job, setback },
    "stopping" => Stopping { job },
    "cancelling" => Cancelling { job, by },
    "ended" => Ended { job, finish },
    "dropped" => Dropped { job },
    "announced" => Announced { what, why },
    "closed" => Closed { why },
    "reopened" => Reopened { why },
    "priced" => Priced { pool, price },
    "tariff" => Tariff { pool, text },
    "moved" => Moved { from, to, amount, note },
    "admitted" => Admitted { token, user, role, hash, note },
    "expelled" => Expelled { token },
    "quoted" => Quoted { quote },
    "taken" => Taken { quote, job },
    "reached" => Reached { site, away },
});
