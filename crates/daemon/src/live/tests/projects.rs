//! Who spends a project's money.

use crate::live::record::LedgerRecord;
use proptest::prelude::*;

use super::*;
use crate::live::projects::{MemberRole, ProjectEdit, SpendingLimits};

const USERS: [&str; 3] = ["ana", "ben", "cleo"];

fn root() -> Actor {
    Actor { user: "root".to_owned(), role: Role::Administrator }
}

fn user(name: &str) -> Actor {
    Actor { user: name.to_owned(), role: Role::User }
}

fn of_project(tasks: u32, seconds: i64) -> Submission {
    Submission { project: Some("apollo".to_owned()), ..job(tasks, seconds) }
}

impl Stage {
    fn wish(&mut self, actor: Actor, wish: ProjectChange) -> Result<Reply, Refusal> {
        let at = self.live.state().now();
        self.asked(at, actor, Ask::Project { project: "apollo".to_owned(), wish })
    }

    fn join(&mut self, name: &str, role: MemberRole) {
        self.wish(root(), ProjectChange::Join { user: name.to_owned(), role }).unwrap();
    }

    fn limit(&mut self, user: Option<&str>, total: Option<i64>, month: Option<i64>) {
        let credits = |it: i64| Money(it * 1_000_000);
        let limits = SpendingLimits { total: total.map(credits), month: month.map(credits) };
        self.wish(root(), ProjectChange::Limit { user: user.map(str::to_owned), limits }).unwrap();
    }

    fn grant(&mut self, to: &str, credits: i64, unknown: Unknown) -> Result<Reply, Refusal> {
        let (from, to) = (Account::Bank, Account::parse(to).unwrap());
        let (amount, note) = (Money(credits * 1_000_000), String::new());
        let at = self.live.state().now();
        self.asked(at, root(), Ask::Move { from, to, amount, note, unknown })
    }

    fn submit_for(&mut self, name: &str, submission: Submission) -> Result<Reply, Refusal> {
        let at = self.live.state().now();
        let submission = Arc::new(submission);
        self.asked(at, user(name), Ask::Submit { submission, key: None, quote: None })
    }

    /// The only job's task ran for so long.
    fn end(&mut self, job: u64, from: i64, until: i64) {
        let tags = self.live.state().tasks.keys().filter(|tag| tag.job == job);
        for tag in tags.cloned().collect::<Vec<Tag>>() {
            let site = self.live.state().tasks[&tag].pool.0;
            let over = ended(later(from), later(until), Exit::Code(0));
            self.survey(later(until), site, vec![(tag, over)], &[]);
        }
    }

    fn warnings(&self) -> Vec<(Option<String>, u32)> {
        let warned = |(_, record): &(Time, Record)| match record {
            Record::Ledger(LedgerRecord::Project {
                change: ProjectEdit::BudgetWarning { user, level, .. },
                ..
            }) => Some((user.clone(), *level)),
            _ => None,
        };
        self.records.iter().filter_map(warned).collect()
    }
}

fn with_project(credits: i64) -> Stage {
    let mut stage = Stage::new();
    stage.grant("project:apollo", credits, Unknown::Create).unwrap();
    stage
}

#[test]
fn strangers_spend_nothing() {
    let mut stage = with_project(500);
    stage.join("ana", MemberRole::Member);
    let refusal = stage.submit_for("bob", of_project(1, 60)).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Forbidden);
    assert_eq!(refusal.message, "bob is not a member of project apollo");
    assert!(refusal.hint.contains("tradewind project add apollo bob"), "{}", refusal.hint);
    let unknown = Submission { project: Some("apolo".to_owned()), ..job(1, 60) };
    let refusal = stage.submit_for("ana", unknown).unwrap_err();
    assert_eq!(
        (refusal.kind, refusal.hint.as_str()),
        (RefusalKind::Invalid, "did you mean `apollo`?")
    );
    assert_eq!(stage.submit_for("ana", of_project(1, 60)), Ok(Reply::Jobs(vec![1])));
    assert_eq!(stage.balance("project:apollo"), 470_000_000, "30 are held on a fast node");
    stage.end(1, 1, 11);
    assert_eq!(stage.balance("project:apollo"), 490_000_000);
    let income: Vec<_> = stage.live.state().income().0.values().collect();
    assert_eq!(income.len(), 1, "{income:?}");
    assert_eq!((income[0].node_seconds, income[0].income.0), (10, 10_000_000));
    let project = &stage.live.state().projects().0["apollo"];
    assert_eq!(
        (project.spent.total, project.by_user["ana"].total),
        (Money(10_000_000), Money(10_000_000))
    );
}

#[test]
fn an_administrator_is_no_member_either() {
    let mut stage = with_project(500);
    let submission = Arc::new(of_project(1, 60));
    let ask = Ask::Submit { submission, key: None, quote: None };
    assert_eq!(stage.asked(DAY, root(), ask).unwrap_err().kind, RefusalKind::Forbidden);
}

#[test]
fn managers_choose_members_and_administrators_managers() {
    let mut stage = with_project(500);
    stage.join("ana", MemberRole::Manager);
    let join = |user: &str, role| ProjectChange::Join { user: user.to_owned(), role };
    let kind = |answer: Result<Reply, Refusal>| answer.map(|_| ()).map_err(|it| it.kind);
    assert_eq!(
        kind(stage.wish(user("ben"), join("ben", MemberRole::Member))),
        Err(RefusalKind::Invalid)
    );
    assert_eq!(kind(stage.wish(user("ana"), join("ben", MemberRole::Member))), Ok(()));
    assert_eq!(
        kind(stage.wish(user("ben"), join("cleo", MemberRole::Member))),
        Err(RefusalKind::Forbidden)
    );
    assert_eq!(
        kind(stage.wish(user("ana"), join("ben", MemberRole::Manager))),
        Err(RefusalKind::Forbidden)
    );
    let limit = |user: Option<&str>, total| {
        let limits = SpendingLimits { total: Some(Money(total)), month: None };
        ProjectChange::Limit { user: user.map(str::to_owned), limits }
    };
    assert_eq!(kind(stage.wish(user("ana"), limit(Some("ben"), 5))), Ok(()));
    assert_eq!(kind(stage.wish(user("ana"), limit(Some("ben"), -5))), Err(RefusalKind::Invalid));
    assert_eq!(kind(stage.wish(user("ana"), limit(None, 5))), Err(RefusalKind::Forbidden));
    assert_eq!(kind(stage.wish(user("ana"), limit(Some("cleo"), 5))), Err(RefusalKind::Unknown));
    stage.join("cleo", MemberRole::Manager);
    let leave = |user: &str| ProjectChange::Leave { user: user.to_owned() };
    assert_eq!(kind(stage.wish(user("ana"), leave("cleo"))), Err(RefusalKind::Forbidden));
    assert_eq!(kind(stage.wish(user("cleo"), leave("cleo"))), Ok(()));
    assert_eq!(
        kind(stage.wish(user("ana"), join("b b", MemberRole::Member))),
        Err(RefusalKind::Invalid)
    );
}

#[test]
fn who_is_removed_keeps_what_runs_and_no_more() {
    let mut stage = with_project(500);
    stage.join("ana", MemberRole::Member);
    for _ in 0..3 {
        stage.submit_for("ana", of_project(3, 60)).unwrap();
    }
    assert_eq!((stage.phase(1), stage.phase(2)), (Phase::Running, Phase::Waiting));
    stage.wish(root(), ProjectChange::Leave { user: "ana".to_owned() }).unwrap();
    let hold = JobHold::Rejected("ana is not a member of project apollo".to_owned());
    let held = Phase::Held(&hold);
    assert_eq!([stage.phase(1), stage.phase(2), stage.phase(3)], [Phase::Running, held, held]);
    let release = Ask::Release { job: 2 };
    stage.asked(later(1), user("ana"), release).unwrap();
    assert_eq!(stage.phase(2), held);
    stage.join("ana", MemberRole::Member);
    assert_eq!([stage.phase(2), stage.phase(3)], [Phase::Waiting, Phase::Waiting]);
}

#[test]
fn limits_hold_jobs_back() {
    let mut stage = with_project(500);
    stage.join("ana", MemberRole::Member);
    stage.join("ben", MemberRole::Member);
    stage.limit(Some("ana"), Some(40), None);
    stage.submit_for("ana", of_project(1, 60)).unwrap();
    stage.submit_for("ana", of_project(1, 60)).unwrap();
    assert_eq!(stage.phase(1), Phase::Running);
    assert_eq!(
        stage.phase(2),
        Phase::Held(&JobHold::Funds(Money(30_000_000))),
        "10 are left to ana"
    );
    stage.submit_for("ben", of_project(1, 60)).unwrap();
    assert_eq!(stage.phase(3), Phase::Running, "ben has no limit");
    stage.limit(None, Some(65), None);
    stage.submit_for("ben", of_project(1, 60)).unwrap();
    assert_eq!(
        stage.phase(4),
        Phase::Held(&JobHold::Funds(Money(30_000_000))),
        "5 are left to all"
    );
    stage.limit(None, None, None);
    assert!(matches!(stage.phase(4), Phase::Running | Phase::Waiting));
    stage.limit(Some("ana"), None, None);
    assert!(matches!(stage.phase(2), Phase::Running | Phase::Waiting));
}

#[test]
fn a_month_begins_with_its_whole_limit() {
    let mut stage = with_project(500);
    stage.join("ana", MemberRole::Member);
    stage.limit(None, None, Some(30));
    stage.submit_for("ana", of_project(1, 60)).unwrap();
    stage.end(1, 1, 31);
    stage.submit_for("ana", of_project(1, 60)).unwrap();
    assert_eq!(stage.phase(2), Phase::Held(&JobHold::Funds(Money(30_000_000))));
    // DAY is a day in January.
    stage.step(later(31 * 86_400), Input::Tick);
    assert_eq!(stage.phase(2), Phase::Running);
}

#[test]
fn people_are_warned_once_at_each_level() {
    let mut stage = with_project(60);
    stage.join("ana", MemberRole::Member);
    stage.limit(Some("ana"), Some(50), None);
    let spend = |stage: &mut Stage, job: u64, from: i64, seconds: i64| {
        stage.submit_for("ana", of_project(1, 2 * seconds)).unwrap();
        stage.end(job, from, from + seconds);
        stage.warnings()
    };
    let ana = || Some("ana".to_owned());
    assert_eq!(spend(&mut stage, 1, 1, 24), []);
    assert_eq!(spend(&mut stage, 2, 30, 3), [(ana(), 50)]);
    assert_eq!(spend(&mut stage, 3, 40, 13).last(), Some(&(ana(), 80)));
    let before = stage.warnings().len();
    // 40 of 120 are a third, and half of it is warned of again.
    stage.grant("project:apollo", 60, Unknown::Refuse).unwrap();
    stage.limit(Some("ana"), None, None);
    assert_eq!(stage.warnings().len(), before);
    assert_eq!(spend(&mut stage, 4, 60, 20)[before..], [(None, 50)]);
    let forecast = stage.live.state().forecast_of("apollo", later(100)).unwrap();
    assert_eq!((forecast.left, forecast.spent), (Money(60_000_000), Money(60_000_000)));
    assert_eq!(forecast.days, 1);
    assert_eq!(forecast.day, Some(later(100).0 / 86_400 + 1));
}

#[test]
fn money_for_unknown_names_stays_where_it_is() {
    let mut stage = with_project(500);
    stage.submit_for("ana", job(1, 60)).unwrap();
    let mut said = |to: &str, unknown| {
        let answer = stage.grant(to, 5, unknown);
        answer.map(|_| String::new()).unwrap_or_else(|it| format!("{}; {}", it.message, it.hint))
    };
    let refuse = Unknown::Refuse;
    assert_eq!(said("user: ana", refuse), "there is no user ` ana`; did you mean `ana`?");
    assert_eq!(said("user: ana", Unknown::Create), "there is no user ` ana`; did you mean `ana`?");
    assert_eq!(said("owner:c", Unknown::Create), "there is no site `c`; did you mean `a`?");
    assert_eq!(
        said("peer:far", Unknown::Create),
        "there is no peer `far`; the configuration names every peer"
    );
    assert_eq!(
        said("project:apolo", refuse),
        "there is no project `apolo`; did you mean `apollo`? `--create` makes a new project"
    );
    assert_eq!(said("user:ben", refuse), "there is no user `ben`; `--create` makes a new user");
    for known in ["user:ana", "owner:a", "project:apollo"] {
        assert_eq!(said(known, refuse), "", "{known}");
    }
    assert_eq!(said("user:ben", Unknown::Create), "");
    assert_eq!(said("user:ben", refuse), "");
}

/// What a journal of an older release comes to: no record of projects or rules.
#[test]
fn projects_of_older_journals_have_those_who_spent_as_members() {
    let mut stage = with_project(1_000);
    stage.join("ana", MemberRole::Member);
    stage.join("ben", MemberRole::Member);
    let at_b = || {
        let mut it = of_project(2, 60);
        it.terms.sites = vec!["b".to_owned()];
        it
    };
    stage.submit_for("ana", at_b()).unwrap();
    stage.end(1, 1, 11);
    stage.submit_for("ana", at_b()).unwrap();
    stage.submit_for("ben", at_b()).unwrap();
    assert_eq!((stage.phase(2), stage.phase(3)), (Phase::Running, Phase::Waiting));
    let is_old = |record: &Record| {
        !matches!(
            record,
            Record::Ledger(LedgerRecord::Project { .. })
                | Record::Ledger(LedgerRecord::RuledBy { .. })
        )
    };
    let old = stage.records.iter().filter(|(_, record)| is_old(record));
    let mut state = State::empty(DAY);
    old.for_each(|(at, record)| state.apply(*at, record).unwrap());
    assert_eq!((state.ledger.projects.0.len(), state.ledger.rules), (0, None));
    assert!(state.income().0.is_empty(), "older releases counted none");
    let at = state.now();
    let (live, step) = Live::begin(state, Settings::default(), Arc::new(Easy), "easy", at).unwrap();
    stage.live = live;
    let project = stage.live.state().projects().0["apollo"].clone();
    assert_eq!(project.members.keys().collect::<Vec<_>>(), ["ana"]);
    assert_eq!(project.spent.total, stage.live.state().jobs[&1].paid);
    assert_eq!(stage.phase(2), Phase::Running);
    assert!(matches!(stage.phase(3), Phase::Held(JobHold::Rejected(_))), "{:?}", stage.phase(3));
    assert_eq!(
        stage.submit_for("ben", of_project(1, 60)).unwrap_err().kind,
        RefusalKind::Forbidden
    );
    // It was written down: once.
    assert!(
        step.records.iter().any(|it| matches!(it, Record::Ledger(LedgerRecord::Project { .. })))
    );
    let again = stage.live.state().clone();
    let (_, step) = Live::begin(again, Settings::default(), Arc::new(Easy), "easy", at).unwrap();
    assert!(step.records.iter().all(is_old));
}

/// Something that a user does: kind, user, another user, a number.
type Deed = (u8, usize, usize, i64);

fn deed(stage: &mut Stage, at: Time, (kind, who, whom, number): Deed) {
    let (name, other) = (USERS[who], USERS[whom].to_owned());
    let last = stage.live.state().last_job();
    let job = number.unsigned_abs() % (last + 2);
    let project = "apollo".to_owned();
    let role = if number % 3 == 0 { MemberRole::Manager } else { MemberRole::Member };
    let actor = if number % 2 == 0 { root() } else { user(name) };
    match kind {
        0..=3 => {
            let mut it = of_project(1 + (number % 3) as u32, 10 + number);
            it.on_lost = [OnLost::Fail, OnLost::Rerun, OnLost::Hold][number as usize % 3];
            it.held = number % 5 == 0;
            let key = (number % 4 == 0).then(|| format!("k{number}"));
            let ask = Ask::Submit { submission: Arc::new(it), key, quote: None };
            let _ = stage.asked(at, user(name), ask);
        }
        4 => {
            let ask = Ask::Project { project, wish: ProjectChange::Join { user: other, role } };
            let _ = stage.asked(at, actor, ask);
        }
        5 | 6 => {
            let ask = Ask::Project { project, wish: ProjectChange::Leave { user: other } };
            let _ = stage.asked(at, actor, ask);
        }
        7 => {
            let user = (number % 3 > 0).then_some(other);
            let limits = SpendingLimits { total: Some(Money(number * 1_000_000)), month: None };
            let ask = Ask::Project { project, wish: ProjectChange::Limit { user, limits } };
            let _ = stage.asked(at, actor, ask);
        }
        8 => drop(stage.asked(at, user(name), Ask::Release { job })),
        9 => drop(stage.asked(at, user(name), Ask::Cancel { job })),
        10 => drop(stage.asked(at, user(name), Ask::Hold { job })),
        11 => drop(stage.grant("project:apollo", 1 + number, Unknown::Create)),
        // Tasks end, well, badly or because their nodes died.
        _ => {
            let exits = [Exit::Code(0), Exit::Code(1), Exit::NodeFailed, Exit::Preempted];
            let exit = exits[number as usize % 4].clone();
            let Some((tag, site)) =
                stage.live.state().tasks.iter().map(|(tag, it)| (tag.clone(), it.pool.0)).next()
            else {
                return;
            };
            stage.survey(at, site, vec![(tag, ended(at, at + Span(number), exit))], &[]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever is asked in whatever order: money for a job of the project is set aside only while
    /// its user is a member, and comes back in the same step if it is not.
    #[test]
    fn no_sequence_lets_a_stranger_spend(
        deeds in proptest::collection::vec((0_u8..16, 0..3_usize, 0..3_usize, 0_i64..60), 1..60)
    ) {
        let mut stage = with_project(200);
        for (place, it) in deeds.into_iter().enumerate() {
            let at = later(10 * place as i64);
            let before = stage.live.state().clone();
            deed(&mut stage, at, it);
            let state = stage.live.state();
            prop_assert_eq!(state.ledger.accounts.sum(), 0);
            for (number, job) in &state.jobs {
                let held = |state: &State| state.ledger.accounts.balance(&Account::Held(*number));
                if held(state) > held(&before) {
                    prop_assert!(state.ledger.projects.may_spend("apollo", &job.user), "job {number}");
                }
            }
            let project = &state.ledger.projects.0["apollo"];
            let spent: Money = project.by_user.values().map(|it| it.total).sum();
            prop_assert_eq!(project.spent.total, spent);
            let paid: Money = state.jobs.values().map(|job| job.paid).sum();
            prop_assert_eq!(paid, spent);
        }
    }
}
