//! Rules of counting: taken up where no earlier release may own the market again, kept to otherwise.

use super::*;
use crate::codec::{Codec as _, Json};
use crate::live::record::LedgerRecord;

/// A market of rules 2, as the release of these rules has written it.
fn older() -> State {
    let mut state = Stage::new().live.state().clone();
    state.ledger.rules = Some(2);
    state
}

/// The rules that a daemon writes down when it begins.
fn taken_up(state: State, rules: RuleChange) -> Option<u32> {
    let (at, settings) = (state.now(), Settings { rules, ..Settings::default() });
    let (live, step) = Live::begin(state, settings, Arc::new(Easy), "easy", at).unwrap();
    let written = step.records.iter().find_map(|record| match record {
        Record::Ledger(LedgerRecord::RuledBy { version }) => Some(*version),
        _ => None,
    });
    assert_eq!(written.is_some(), live.state().ledger.rules == Some(RuleChange::KNOWN));
    written
}

#[test]
fn rules_are_taken_up_at_once_or_left_to_a_later_term() {
    assert_eq!(taken_up(older(), RuleChange::AtOnce), Some(RuleChange::KNOWN));
    assert_eq!(taken_up(older(), RuleChange::Later), None);
    // A market that just begins, and one that the earlier release cannot read anyway.
    let mut new = older();
    new.ledger.rules = None;
    assert_eq!(taken_up(new, RuleChange::Later), Some(RuleChange::KNOWN));
    let mut electric = older();
    let now = electric.now();
    let gridded = MarketRecord::Gridded {
        pools: Arc::new(super::energy::electric()),
        owners: vec!["olga".to_owned(), "otto".to_owned()],
    };
    electric.apply(now, &gridded.into()).unwrap();
    assert_eq!(taken_up(electric, RuleChange::Later), Some(RuleChange::KNOWN));
}

#[test]
fn an_owner_that_said_nothing_may_come_back() {
    let after = |known: Option<u32>| RuleChange::after(known);
    assert_eq!(after(None), RuleChange::Later);
    assert_eq!(after(Some(RuleChange::KNOWN - 1)), RuleChange::Later);
    assert_eq!(after(Some(RuleChange::KNOWN)), RuleChange::AtOnce);
    assert_eq!(after(Some(RuleChange::KNOWN + 1)), RuleChange::AtOnce);
}

#[test]
fn rules_of_a_later_release_are_refused_in_rows_and_snapshots() {
    let mut state = older();
    let later = LedgerRecord::RuledBy { version: RuleChange::KNOWN + 1 };
    let now = state.now();
    let said = state.apply(now, &later.into()).unwrap_err().to_string();
    assert_eq!(
        said,
        "from here on rules 4 count, and this release knows 3: a later one has written it, use \
         that release"
    );
    let text = String::from_utf8(Json.state(&older())).unwrap();
    let of = |rules: u32| text.replace(r#""rules":2"#, &format!(r#""rules":{rules}"#));
    assert!(Json.read_state(Json::VERSION, of(3).as_bytes()).is_ok());
    let said = Json.read_state(Json::VERSION, of(4).as_bytes()).unwrap_err().to_string();
    assert!(said.starts_with("rules: from here on rules 4 count"), "{said}");
}
