//! Peers that do not answer, and how doubt about their jobs ends.

use super::*;
use crate::live::peers::{PATIENCE, PeerSilence, WINDING_UP};
use crate::live::record::PeerRecord;
use crate::live::state::jobs::Settlement;

const VEGA: Peer = Peer(1);

impl Pair {
    /// Time passes at home alone: the peer is not reached.
    pub(super) fn pass_alone(&mut self, seconds: i64) {
        self.now = self.now + Span(seconds);
        self.step(0, Input::Tick);
        self.post.clear();
    }

    /// A pair whose job 1 is at the peer, which stops to answer.
    fn with_a_silent_peer(on_lost: OnLost) -> Pair {
        let mut pair = Pair::new();
        pair.submit(Submission { on_lost, ..job(3) }).unwrap();
        pair.talk();
        pair.pass(3);
        assert_eq!(pair.phase(0, 1), Phase::Away);
        pair.step(0, Input::Contact { peer: VEGA, there: false });
        pair
    }

    fn settle(&mut self, role: Role, outcome: Settlement) -> Result<Reply, RefusalKind> {
        let actor = Actor { user: "root".to_owned(), role };
        let asked = self.ask(0, actor, Ask::SettleAway { job: 1, outcome });
        asked.map_err(|refusal| refusal.kind)
    }

    fn balance(&self, account: &Account) -> i128 {
        self.lives[0].state().accounts().balance(account)
    }
}

#[test]
fn a_job_at_a_silent_peer_says_since_when_and_is_unknown_in_the_end() {
    let mut pair = Pair::with_a_silent_peer(OnLost::Fail);
    let since = pair.now;
    pair.pass_alone(5);
    let silence = |pair: &Pair| {
        let state = pair.lives[0].state();
        let job = &state.jobs[&1];
        (state.silence_of(job), state.is_unknown_at_peer(job, pair.now))
    };
    assert_eq!(silence(&pair), (None, false), "a message may be lost");
    pair.pass_alone(5);
    assert_eq!(silence(&pair), (Some(PeerSilence::Silent(since)), false));
    // Restarted, the market still knows since when.
    let state = pair.lives[0].state().clone();
    let settings = pair.lives[0].settings().clone();
    pair.lives[0] = Live::begin(state, settings, Arc::new(Easy), "easy", pair.now).unwrap().0;
    assert_eq!(silence(&pair), (Some(PeerSilence::Silent(since)), false));
    // A limit that counts work may be four times as long there.
    pair.pass_alone(4 * 100 + PATIENCE.0 + 100);
    assert_eq!(silence(&pair), (Some(PeerSilence::Silent(since)), true));
    pair.step(0, Input::Contact { peer: VEGA, there: true });
    assert_eq!(silence(&pair), (None, false));
}

#[test]
fn an_administrator_ends_the_doubt_about_a_lost_job() {
    let after = [
        (OnLost::Fail, Phase::Over(&Finish::NodeFail)),
        (OnLost::Hold, Phase::Held(&JobHold::Lost)),
        (OnLost::Rerun, Phase::Held(&JobHold::Nowhere)),
    ];
    for (on_lost, phase) in after {
        let mut pair = Pair::with_a_silent_peer(on_lost);
        let answers = pair.settle(Role::Administrator, Settlement::Lost);
        assert_eq!(answers, Err(RefusalKind::Conflict), "it may be silent for a moment only");
        let refused = pair.lives[0].settlement(pair.now, 1, Settlement::Lost).unwrap_err();
        assert_eq!(refused.message, "b does not answer, but only for a moment");
        pair.pass_alone(11);
        pair.pass_alone(PATIENCE.0 + 1);
        assert_eq!(pair.settle(Role::User, Settlement::Lost), Err(RefusalKind::Forbidden));
        let told = pair.lives[0].settlement(pair.now, 1, Settlement::Lost).unwrap();
        assert_eq!(told.contains("runs twice"), on_lost == OnLost::Rerun, "{told}");
        assert_eq!(pair.settle(Role::Administrator, Settlement::Lost), Ok(Reply::Done));
        assert_eq!(pair.phase(0, 1), phase);
        assert_eq!(
            (pair.balance(&Account::Held(1)), pair.balance(&Account::Peer("b".to_owned()))),
            (0, i128::from(Settings::default().new_user_grant.0))
        );
        let late = pair.reports();
        pair.hear(&late);
        assert_eq!(pair.phase(0, 1), phase, "what the peer says later has no effect");
    }
}

#[test]
fn a_job_that_ran_at_a_peer_that_is_gone_is_completed_and_paid_in_full() {
    let mut pair = Pair::with_a_silent_peer(OnLost::Rerun);
    pair.pass_alone(11);
    pair.pass_alone(PATIENCE.0 + 1);
    assert_eq!(pair.settle(Role::Administrator, Settlement::Ran), Ok(Reply::Done));
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::Completed));
    let earned = pair.balance(&Account::Peer("b".to_owned()));
    assert_eq!(earned - i128::from(Settings::default().new_user_grant.0), 3 * 100 * 1_000_000);
    assert_eq!(pair.settle(Role::Administrator, Settlement::Ran), Err(RefusalKind::Conflict));
}

#[test]
fn a_peer_that_answers_settles_its_jobs_itself() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    pair.talk();
    pair.pass(3);
    assert_eq!(pair.settle(Role::Administrator, Settlement::Lost), Err(RefusalKind::Conflict));
}

#[test]
fn jobs_of_a_peer_that_is_taken_out_of_the_configuration_can_be_settled_at_once() {
    let mut pair = Pair::new();
    pair.submit(job(3)).unwrap();
    while pair.phase(0, 1) != Phase::Handing {
        let Some((to, letter)) = pair.post.pop_front() else { break };
        let (market, sent) = (format!("m{}", 1 - to), pair.now);
        pair.ask(to, peer(1 - to), Ask::Letters { market, sent, letters: vec![letter] }).unwrap();
    }
    let state = pair.lives[0].state().clone();
    let settings = Settings { peers: Vec::new(), ..Settings::default() };
    pair.lives[0] = Live::begin(state, settings, Arc::new(Easy), "easy", pair.now).unwrap().0;
    let state = pair.lives[0].state();
    assert_eq!(state.silence_of(&state.jobs[&1]), Some(PeerSilence::Removed(pair.now)));
    assert!(state.is_unknown_at_peer(&state.jobs[&1], pair.now));
    assert_eq!(pair.settle(Role::Administrator, Settlement::Lost), Ok(Reply::Done));
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::NodeFail));
    let durable = &pair.lives[0].state().peers.durable;
    assert!(durable.handing.is_empty(), "it is not in doubt any more");
    assert_eq!(pair.lives[0].negotiated(), Some(durable));
}

#[test]
fn jobs_of_a_removed_peer_are_wound_up_by_themselves() {
    let after = [
        (OnLost::Fail, Phase::Over(&Finish::NodeFail)),
        (OnLost::Hold, Phase::Held(&JobHold::Lost)),
        // It may run there still: it must not run here by itself.
        (OnLost::Rerun, Phase::Held(&JobHold::Lost)),
    ];
    for (on_lost, phase) in after {
        for is_in_doubt in [false, true] {
            let mut pair = Pair::new();
            pair.submit(Submission { on_lost, ..job(3) }).unwrap();
            match is_in_doubt {
                false => pair.talk(),
                true => {
                    while pair.phase(0, 1) != Phase::Handing {
                        let (to, letter) = pair.post.pop_front().unwrap();
                        let (market, sent) = (format!("m{}", 1 - to), pair.now);
                        let ask = Ask::Letters { market, sent, letters: vec![letter] };
                        pair.ask(to, peer(1 - to), ask).unwrap();
                    }
                }
            }
            let state = pair.lives[0].state();
            let due = state.due_from_peer(&state.jobs[&1]).unwrap();
            let before = if is_in_doubt { Phase::Handing } else { Phase::Away };
            let state = state.clone();
            let settings = Settings { peers: Vec::new(), ..Settings::default() };
            let begun = Live::begin(state, settings, Arc::new(Easy), "easy", pair.now);
            pair.lives[0] = begun.unwrap().0;
            pair.pass_alone((due - pair.now).0.max(PATIENCE.0));
            assert_eq!(pair.phase(0, 1), before, "it may still run there");
            let step = pair.lives[0].step(pair.now + Span(1), Input::Tick).unwrap();
            assert_eq!(pair.phase(0, 1), phase, "{on_lost:?} {is_in_doubt}");
            let said = |record: &Record| {
                matches!(record, Record::Peer(PeerRecord::SettledByHand { by, .. })
                    if by == WINDING_UP)
            };
            assert_eq!(step.records.iter().filter(|it| said(it)).count(), 1);
            assert_eq!(pair.balance(&Account::Held(1)), 0);
        }
    }
}
