//! What happened to a job, as entries of its document.

use tradewind_daemon::live::state::{Happening, Job, JobHold, Setback, State};
use tradewind_model::Time;

use super::words;
use crate::documents::HistoryEntry;

/// All entries, in their order.
pub(crate) fn history(state: &State, job: &Job) -> Vec<HistoryEntry> {
    let entry = |(at, what): &(Time, Happening), is_given_back: bool| {
        let (what, detail) = words::happening(state, job.nodes(), what);
        let detail = match is_given_back {
            true => Some("its nodes went back to their owner".to_owned()),
            false => detail,
        };
        HistoryEntry { at: at.0, what: what.to_owned(), detail }
    };
    let all: Vec<(Time, Happening)> = job.history.iter().cloned().collect();
    let shown = (0..all.len()).filter(|place| !is_part_of_change(&all[*place..]));
    shown.map(|place| entry(&all[place], is_given_back(&all[..=place]))).collect()
}

/// A job that is changed leaves the queue for that moment: this hold is no wish of its user.
fn is_part_of_change(rest: &[(Time, Happening)]) -> bool {
    use Happening::{Held, Queued, Updated};
    match rest {
        [(held, Held(JobHold::User)), (at, Updated(_)), (back, Queued), ..] => {
            held == at && at == back
        }
        _ => false,
    }
}

/// The last of these took nodes away of which the job had notice: they went back to their owner.
fn is_given_back(until: &[(Time, Happening)]) -> bool {
    let Some(((_, Happening::Setback(Setback::Preempted)), before)) = until.split_last() else {
        return false;
    };
    let mut of_run = before.iter().rev().take_while(|(_, it)| *it != Happening::Began);
    of_run.any(|(_, it)| matches!(it, Happening::NoticeGiven(..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_one_entry_and_a_hold_of_the_user_stays() {
        let held = |at| (Time(at), Happening::Held(JobHold::User));
        let updated = |at| (Time(at), Happening::Updated("ana".to_owned()));
        let queued = |at| (Time(at), Happening::Queued);
        assert!(is_part_of_change(&[held(5), updated(5), queued(5)]));
        assert!(!is_part_of_change(&[held(4), updated(5), queued(5)]), "held by its user");
        assert!(!is_part_of_change(&[held(5), updated(5)]), "still held");
    }

    #[test]
    fn nodes_go_back_to_their_owner_after_a_notice_only() {
        let at = |it| (Time(5), it);
        let notice = at(Happening::NoticeGiven(Time(9), "olga takes 2 nodes back".to_owned()));
        let taken = at(Happening::Setback(Setback::Preempted));
        let began = at(Happening::Began);
        assert!(is_given_back(&[began.clone(), notice.clone(), taken.clone()]));
        assert!(!is_given_back(&[began.clone(), taken.clone()]), "by a job of higher priority");
        let later = [began.clone(), notice.clone(), taken.clone(), began, taken];
        assert!(!is_given_back(&later), "the notice was of an earlier run");
        assert!(!is_given_back(&[notice]));
    }
}
