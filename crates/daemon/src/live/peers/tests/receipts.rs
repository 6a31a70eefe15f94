//! Peers that must sign what happened to jobs.

use super::*;
use crate::live::peers::{PeerLimits, Receipts};
use crate::live::state::jobs::{BrokenOffer, Receipt, RemoteProgress};

/// A pair whose home wants receipts, with a job that is at the peer.
fn pair(receipts: Receipts) -> Pair {
    let mut pair = Pair::new();
    let limits = PeerLimits { receipts, ..PeerLimits::default() };
    let settings = Settings {
        peers: vec!["b".to_owned()],
        peer_limits: BTreeMap::from([("b".to_owned(), limits)]),
        ..Settings::default()
    };
    let state = pair.lives[0].state().clone();
    pair.lives[0] = Live::begin(state, settings, Arc::new(Easy), "easy", DAWN).unwrap().0;
    pair.submit(job(3)).unwrap();
    pair.talk();
    pair.pass(3);
    assert_eq!(pair.phase(0, 1), Phase::Away);
    pair
}

impl Pair {
    /// The peer says this of the job, with a signature that was found good or without.
    fn says(&mut self, finish: Option<Finish>, charged: i64, signature: Option<&str>) {
        let transfer = self.lives[0].wanted()[&Peer(1)][0].transfer;
        let until = finish.as_ref().map(|_| self.now);
        let receipt = signature.map(|it| Receipt { until, signature: it.to_owned() });
        let news = RemoteProgress {
            since: Some(self.now),
            nodes: vec![],
            finish,
            charged: Money(charged),
            receipt,
        };
        let fate = RemoteStatus::There(news);
        self.hear(&[StatusReport { job: 1, transfer, fate }]);
    }

    fn broken(&self) -> u64 {
        let standing = self.lives[0].state().peers.directory[&Peer(1)].standing;
        standing.unwrap_or_default().broken
    }

    fn earned(&self) -> i128 {
        let account = Account::Peer("b".to_owned());
        self.lives[0].state().accounts().balance(&account)
            - i128::from(Settings::default().new_user_grant.0)
    }
}

#[test]
fn an_end_that_is_not_signed_is_not_paid() {
    let mut pair = pair(Receipts::Required);
    assert_eq!(pair.lives[0].wanted()[&Peer(1)][0].receipt, Receipts::Required);
    pair.says(None, 0, None);
    let started = |pair: &Pair| pair.lives[0].state().jobs[&1].started();
    assert_eq!(started(&pair), None, "a start that is not signed is none");
    pair.says(Some(Finish::Completed), 1_000_000, None);
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::NodeFail));
    let away = pair.lives[0].state().jobs[&1].away();
    assert_eq!(away.and_then(|away| away.doubtful), Some(BrokenOffer::NoReceipt));
    assert_eq!((pair.broken(), pair.earned()), (1, 0));
}

#[test]
fn a_signed_end_is_paid_and_its_receipt_is_kept() {
    let mut pair = pair(Receipts::Required);
    pair.says(None, 0, Some("one"));
    let signature = |pair: &Pair| {
        let news = pair.lives[0].state().jobs[&1].away()?.news.clone();
        Some(news?.receipt?.signature)
    };
    assert_eq!(signature(&pair).as_deref(), Some("one"));
    pair.says(Some(Finish::Completed), 1_000_000, Some("two"));
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::Completed));
    assert_eq!(signature(&pair).as_deref(), Some("two"));
    assert_eq!((pair.broken(), pair.earned()), (0, 1_000_000));
}

#[test]
fn a_peer_states_when_a_job_ended_only_if_a_receipt_is_wanted() {
    for (receipts, is_due) in [(Receipts::Unasked, false), (Receipts::Required, true)] {
        let mut pair = pair(receipts);
        let ask = Ask::Cancel { job: 1 };
        let root = Actor { user: "root".to_owned(), role: Role::Administrator };
        pair.ask(1, root, ask).unwrap();
        let tag = pair.tags(1).remove(0);
        pair.refuse(&tag);
        let report = pair.reports().remove(0);
        let RemoteStatus::There(news) = report.fate else { panic!("{report:?}") };
        assert_eq!(news.receipt.is_some(), is_due);
        assert_eq!(news.receipt.and_then(|it| it.until).is_some(), is_due);
    }
}
