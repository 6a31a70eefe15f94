//! Check jobs: what they cost, what they show, and that they run nowhere else.

use super::*;
use crate::live::peers::{CheckSettings, PeerOutput};
use crate::live::state::jobs::RemoteProgress;
use crate::live::state::peers::PeerChecks;

const EVERY: Span = Span(3_600);
/// A minute on one node costs 60 credits.
const MOST: Money = Money(60_000_000);

/// A pair whose home sends check jobs to the peer, which answers.
fn pair() -> Pair {
    let mut pair = Pair::new();
    let check = CheckSettings { every: EVERY, most: MOST, user: "carl".to_owned() };
    let settings = Settings {
        peers: vec!["b".to_owned()],
        peer_checks: BTreeMap::from([("b".to_owned(), check)]),
        ..Settings::default()
    };
    let state = pair.lives[0].state().clone();
    pair.lives[0] = Live::begin(state, settings, Arc::new(Easy), "easy", DAWN).unwrap().0;
    pair
}

impl Pair {
    fn contact(&mut self) {
        self.step(0, Input::Contact { peer: Peer(1), there: true });
    }

    fn checks(&self) -> Option<PeerChecks> {
        self.lives[0].state().peers.directory[&Peer(1)].checks
    }

    /// The number that the script computes, by the shell of this machine.
    fn computed(&self, job: u64) -> String {
        let submission = &self.lives[1].state().jobs[&job].submission;
        let Work::Script { text, arguments } = &submission.work else { panic!("no script") };
        let shell =
            std::process::Command::new("sh").args(["-c", text, "check"]).args(arguments).output();
        String::from_utf8(shell.unwrap().stdout).unwrap()
    }

    /// The peer says that the check job has ended, with this output.
    fn ends(&mut self, finish: Finish, output: PeerOutput) {
        let transfer = self.lives[0].wanted()[&Peer(1)][0].transfer;
        let job = self.lives[0].wanted()[&Peer(1)][0].job;
        let (since, charged) = (Some(self.now), Money(1_000_000));
        let (nodes, receipt) = (vec![], None);
        let finish = Some(finish);
        let news = RemoteProgress { since, nodes, finish, charged, receipt };
        let fate = RemoteStatus::There(news);
        let reports = vec![StatusReport { job, transfer, fate }];
        let outputs = BTreeMap::from([(job, output)]);
        self.step(0, Input::Reported { peer: Peer(1), reports, outputs });
    }

    fn balance_of(&self, account: &Account) -> i128 {
        let grant = i128::from(Settings::default().new_user_grant.0);
        self.lives[0].state().accounts().balance(account) - grant
    }
}

#[test]
fn a_peer_that_answers_gets_a_check_job_and_is_paid_for_it() {
    let mut pair = pair();
    pair.pass(3);
    assert_eq!(pair.checks(), None, "it is not known whether it answers");
    pair.contact();
    pair.pass(5);
    assert_eq!(pair.phase(0, 1), Phase::Away);
    let guest = &pair.lives[1].state().jobs[&1];
    assert_eq!((guest.user.as_str(), guest.submission.terms.budget.is_some()), ("carl@a", true));
    let output = PeerOutput::Tail(format!("noise\n{}", pair.computed(1)));
    pair.ends(Finish::Completed, output);
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::Completed));
    let checks = pair.checks().unwrap();
    assert_eq!((checks.right, checks.wrong), (1, 0));
    let user = Account::User("carl".to_owned());
    let paid = (pair.balance_of(&user), pair.balance_of(&Account::Peer("b".to_owned())));
    assert_eq!(paid, (-1_000_000, 1_000_000));
    pair.pass(60);
    assert_eq!(pair.checks().unwrap().job, 1, "the next one is not due");
    pair.pass_alone(EVERY.0);
    assert_eq!(pair.checks().unwrap().job, 2);
    assert_eq!((pair.checks().unwrap().right, pair.checks().unwrap().wrong), (1, 0));
}

#[test]
fn what_is_no_right_answer_lowers_the_standing_and_is_not_paid() {
    let tail = |text: &str| PeerOutput::Tail(text.to_owned());
    for (finish, output) in [
        (Finish::Completed, tail("answer 70000\n")),
        (Finish::Completed, tail("")),
        (Finish::Completed, PeerOutput::Unreadable),
        (Finish::Completed, PeerOutput::Unknown),
        (Finish::Failed(1), PeerOutput::Unreadable),
        (Finish::Cancelled, PeerOutput::Unreadable),
        (Finish::NodeFail, PeerOutput::Unreadable),
    ] {
        let mut pair = pair();
        pair.contact();
        pair.pass(5);
        pair.ends(finish.clone(), output);
        assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::NodeFail), "{finish:?}");
        let checks = pair.checks().unwrap();
        assert_eq!((checks.right, checks.wrong), (0, 1), "{finish:?}");
        assert_eq!(pair.balance_of(&Account::Peer("b".to_owned())), 0, "{finish:?}");
        let standing = pair.lives[0].state().peers.directory[&Peer(1)].standing.unwrap();
        assert!(standing.score(pair.now) < 1_000, "{finish:?}");
    }
}

#[test]
fn wrong_answers_cost_a_peer_its_jobs_and_its_check_jobs() {
    let mut pair = pair();
    for _ in 0..5 {
        pair.contact();
        // A search that was not answered is repeated after some seconds.
        pair.pass(20);
        if !pair.lives[0].wanted().is_empty() {
            pair.ends(Finish::Completed, PeerOutput::Tail("answer 70000".to_owned()));
        }
        pair.pass_alone(EVERY.0);
    }
    assert_eq!(pair.checks().unwrap().wrong, 2, "a peer that is not trusted gets none");
    pair.submit(job(3)).unwrap();
    pair.pass(5);
    let last = pair.lives[0].state().jobs.last;
    assert_eq!(pair.phase(0, last), Phase::Held(&JobHold::Nowhere));
}

#[test]
fn a_check_job_that_is_not_taken_is_cancelled_and_runs_nowhere() {
    let mut pair = pair();
    pair.contact();
    pair.step(0, Input::Tick);
    pair.post.clear();
    assert_eq!(pair.phase(0, 1), Phase::Held(&JobHold::Nowhere));
    // Its user holds it and releases it: there are free nodes here, but it is not for them.
    for ask in [Ask::Hold { job: 1 }, Ask::Release { job: 1 }] {
        let carl = Actor { user: "carl".to_owned(), role: Role::User };
        pair.ask(0, carl, ask).unwrap();
    }
    assert_eq!(pair.phase(0, 1), Phase::Held(&JobHold::Nowhere));
    assert_eq!(pair.tags(0), vec![]);
    pair.pass_alone(EVERY.0);
    assert_eq!(pair.phase(0, 1), Phase::Over(&Finish::Cancelled));
    assert_eq!(pair.phase(0, 2), Phase::Held(&JobHold::Nowhere));
    let checks = pair.checks().unwrap();
    assert_eq!((checks.right, checks.wrong), (0, 0));
    assert_eq!(pair.balance_of(&Account::User("carl".to_owned())), 0);
    // Without check jobs in the configuration the last one does not wait for ever.
    let state = pair.lives[0].state().clone();
    let settings = Settings { peers: vec!["b".to_owned()], ..Settings::default() };
    pair.lives[0] = Live::begin(state, settings, Arc::new(Easy), "easy", pair.now).unwrap().0;
    pair.pass_alone(1);
    assert_eq!(pair.phase(0, 2), Phase::Over(&Finish::Cancelled));
}

#[test]
fn an_account_that_is_empty_pays_for_no_check() {
    let mut pair = pair();
    let check = CheckSettings { every: EVERY, most: MOST, user: "carl".to_owned() };
    let settings = Settings {
        peers: vec!["b".to_owned()],
        peer_checks: BTreeMap::from([("b".to_owned(), check)]),
        new_user_grant: Money(59_000_000),
        ..Settings::default()
    };
    let state = pair.lives[0].state().clone();
    pair.lives[0] = Live::begin(state, settings, Arc::new(Easy), "easy", DAWN).unwrap().0;
    pair.contact();
    pair.pass(20);
    // Its limit costs 60 credits there.
    assert_eq!(pair.phase(0, 1), Phase::Held(&JobHold::Nowhere));
    let held = pair.lives[0].state().accounts().balance(&Account::Held(1));
    assert_eq!(held, 0);
}
