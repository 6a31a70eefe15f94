use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use tradewind_io::input::Input;
use tradewind_io::submission::{Submission, document};
use tradewind_model::{Consumption, Performance, Pools, Rates, Ratio, Series, Span, Time};
use tradewind_sched::negotiation::{Peer, Serial};

use super::wire::{Decode, Encode, parse};
use super::*;
use crate::live::budgets::{Budget, BudgetHolder};
use crate::live::income::{Earned, PoolMonth};
use crate::live::money::{Accounts, Posting};
use crate::live::peers::{PeerMessage, StatusQuery, StatusReport, Traveller};
use crate::live::projects::Project;
use crate::live::recent_history::RecentHistory;
use crate::live::sites::PutOff;
use crate::live::state::jobs::{Beginning, JobEnd, LastStage, Run, Stage};
use crate::live::state::peers::Peers;
use crate::live::state::{Job, Quote, Task, Token};
use crate::live::used::{UsageKey, UsageSum};
use crate::live::waits::Waits;
use crate::site::Tag;

/// Where generated values come from.
pub(super) struct Dice {
    random: Pcg64Mcg,
    /// Of numbers and texts only the first ones, which are like those of real markets.
    tame: bool,
}

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice { random: Pcg64Mcg::seed_from_u64(seed), tame: false }
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.random_range(0..all.len())]
    }

    /// The first three are tame.
    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        let max = if self.tame { 3 } else { all.len() };
        self.of(&all[..max.min(all.len())])
    }

    fn few<T: Any>(&mut self) -> Vec<T> {
        (0..self.of(&[0, 1, 1, 2, 3])).map(|_| T::any(self)).collect()
    }
}

/// A generated value: every alternative of every part comes up.
pub(super) trait Any {
    fn any(dice: &mut Dice) -> Self;
}

macro_rules! any {
    ($($type:ty: $dice:ident => $value:expr;)*) => { $(
        impl Any for $type {
            fn any($dice: &mut Dice) -> Self {
                $value
            }
        }
    )* };
}

any! {
    u32: dice => dice.one(&[1, 2, 12, 0, u32::MAX]);
    i32: dice => dice.one(&[0, 1, 9, 137, -1, i32::MIN]);
    u64: dice => dice.one(&[1, 7, 4711, 0, u64::MAX]);
    i64: dice => dice.one(&[60, 2_500_000, 1_750_000_000, 0, -5, i64::MAX, i64::MIN]);
    i128: dice => dice.one(&[1, 2_500_000, -2_500_000, 0, i128::MAX, i128::MIN]);
    bool: dice => dice.of(&[false, true]);
    String: dice => {
        let texts = ["ana", "alpha/fast", "two words", "", "é\"\\\n\u{0}\u{7f}😀"];
        dice.one(&texts).to_owned()
    };
    [u8; 32]: dice => dice.random.random();
    Ratio: dice => Ratio::from_thousandths(dice.of(&[1, 1000, 2500])).unwrap();
    Performance: dice => Performance::from_thousandths(dice.of(&[1, 1000, 2500])).unwrap();
    Tag: dice => Tag {
        market: dice.of(&["m", "ab-c"]).to_owned(),
        job: Any::any(dice),
        attempt: Any::any(dice),
        part: Any::any(dice),
    };
    Pools: dice => {
        let mut pools = vec![Pools::cluster(4).as_slice()[0].clone(); 2];
        for pool in &mut pools {
            (pool.attributes, pool.admission) = (Any::any(dice), Any::any(dice));
            pool.performance = Any::any(dice);
        }
        pools[1].name = "two".to_owned();
        let pools = Pools::new(Pools::cluster(4).sites().to_vec(), pools).unwrap();
        let pools = pools.with_preemption(vec![Any::any(dice)]);
        let links = tradewind_model::Links::new(dice.few().into_iter().take(1).collect());
        let pools = links.map_or(pools.clone(), |links| pools.with_links(links));
        let rates = vec![None, Option::<Series>::any(dice).map(Arc::new)];
        let pools = pools.with_rates(Rates::new(rates).agreed_at_start());
        match Option::any(dice) {
            Some(power) => pools.with_power(power),
            None => pools,
        }
    };
    Series: dice => {
        let series = Series::new(&[(Time(-5), 0), (Time(3_600), 250_000)]).unwrap();
        let every = dice.of(&[None, Some(Span(86_400))]);
        every.map_or(Ok(series.clone()), |every| series.repeated(every)).unwrap()
    };
    Consumption: dice => Consumption {
        energy: Any::any(dice),
        carbon: Any::any(dice),
        price: Any::any(dice),
    };
    Peer: dice => Peer(Any::any(dice));
    Serial: dice => Serial { epoch: Any::any(dice), number: Any::any(dice) };
    Traveller: dice => Traveller {
        job: Any::any(dice),
        user: "ana".to_owned(),
        submitted: Any::any(dice),
        array: Any::any(dice),
        submission: Arc::new(simple()),
    };
    Run: dice => Run {
        id: Any::any(dice),
        started: Any::any(dice),
        in_window: Any::any(dice),
        parts: Any::any(dice),
        beginning: match Any::any(dice) {
            true => Beginning::Together(Any::any(dice)),
            false => Beginning::Apart(Any::any(dice)),
        },
        turn: Any::any(dice),
        requeued_by: Any::any(dice),
        notice: Any::any(dice),
        licences: Any::any(dice),
    };
    LastStage: dice => match dice.of(&[0, 1, 2, 3]) {
        0 => LastStage::Held,
        1 => LastStage::Waiting(Any::any(dice)),
        2 => LastStage::Ran(Any::any(dice)),
        _ => LastStage::Away(Any::any(dice), Any::any(dice)),
    };
    JobEnd: dice => JobEnd {
        finish: Any::any(dice),
        at: Any::any(dice),
        last: Any::any(dice),
        redacted: Any::any(dice),
    };
    Stage: dice => match dice.of(&[0, 1, 2, 3, 4, 5]) {
        0 => Stage::Held(Any::any(dice)),
        1 => Stage::Waiting(Any::any(dice)),
        2 => Stage::Running(Any::any(dice)),
        3 => Stage::Over(Any::any(dice)),
        4 => Stage::Handing(Any::any(dice)),
        _ => Stage::Away(Any::any(dice), Any::any(dice)),
    };
    Job: dice => Job {
        number: Any::any(dice),
        user: Any::any(dice),
        submission: Any::any(dice),
        array: Any::any(dice),
        key: Any::any(dice),
        submitted: Any::any(dice),
        stage: Any::any(dice),
        attempt: Any::any(dice),
        capped: Any::any(dice),
        nodes: Any::any(dice),
        processors: Any::any(dice),
        foreseen: Any::any(dice),
        expected: Any::any(dice),
        paid: Any::any(dice),
        cancelled_by: Any::any(dice),
        booking: Any::any(dice),
        promises: Any::any(dice),
        covered: Any::any(dice),
        covering: Any::any(dice),
        choice: Any::any(dice),
        history: Any::any(dice),
        origin: Any::any(dice),
        consumed: Any::any(dice),
    };
    Accounts: dice => Accounts::of(Any::any(dice), Any::any(dice), Any::any(dice));
}

/// A submission that the API's document can say.
fn simple() -> Submission {
    let body = br#"{"name": "a", "command": ["true"], "nodes": 2, "time": 60, "budget": 3.5}"#;
    document::parse(&Input::new("test", body.to_vec())).unwrap()
}

impl<T: Any> Any for [T; 2] {
    fn any(dice: &mut Dice) -> Self {
        [T::any(dice), T::any(dice)]
    }
}

impl<T: Any> Any for Option<T> {
    fn any(dice: &mut Dice) -> Self {
        dice.of(&[false, true]).then(|| T::any(dice))
    }
}

impl<T: Any> Any for Arc<T> {
    fn any(dice: &mut Dice) -> Self {
        Arc::new(T::any(dice))
    }
}

impl<T: Any> Any for Arc<[T]> {
    fn any(dice: &mut Dice) -> Self {
        dice.few().into()
    }
}

impl<T: Any> Any for Vec<T> {
    fn any(dice: &mut Dice) -> Self {
        dice.few()
    }
}

impl<T: Any> Any for VecDeque<T> {
    fn any(dice: &mut Dice) -> Self {
        dice.few().into()
    }
}

impl<K: Any + Ord, V: Any> Any for BTreeMap<K, V> {
    fn any(dice: &mut Dice) -> Self {
        dice.few::<(K, V)>().into_iter().collect()
    }
}

impl<T: Any + Ord> Any for BTreeSet<T> {
    fn any(dice: &mut Dice) -> Self {
        dice.few::<T>().into_iter().collect()
    }
}

impl<A: Any, B: Any> Any for (A, B) {
    fn any(dice: &mut Dice) -> Self {
        (A::any(dice), B::any(dice))
    }
}

impl<A: Any, B: Any, C: Any> Any for (A, B, C) {
    fn any(dice: &mut Dice) -> Self {
        (A::any(dice), B::any(dice), C::any(dice))
    }
}

fn text(value: &impl Encode) -> String {
    let mut out = Vec::new();
    value.put(&mut out);
    String::from_utf8(out).unwrap()
}

/// It is read as it was written, and on one line.
fn survives<T: Any + Encode + Decode + PartialEq + std::fmt::Debug>(dice: &mut Dice) {
    let value = T::any(dice);
    let written = text(&value);
    assert!(!written.contains('\n'), "{written}");
    let read = T::get(parse(written.as_bytes()).unwrap());
    assert_eq!(read.as_ref(), Ok(&value), "{written}");
}

fn kind(line: &str) -> String {
    line.trim_start_matches("{\"").split('"').next().unwrap().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_record_is_read_as_it_was_written(seed: u64) {
        survives::<Record>(&mut Dice::new(seed));
    }

    #[test]
    fn so_are_the_parts_of_a_state(seed: u64) {
        let dice = &mut Dice::new(seed);
        survives::<Job>(dice);
        survives::<Task>(dice);
        survives::<Quote>(dice);
        survives::<Token>(dice);
        survives::<Posting>(dice);
        survives::<Peers>(dice);
        survives::<RecentHistory>(dice);
        survives::<Project>(dice);
        survives::<(UsageKey, UsageSum)>(dice);
        survives::<(PoolMonth, Earned)>(dice);
        survives::<(BudgetHolder, Budget)>(dice);
        survives::<PutOff>(dice);
        survives::<PeerMessage>(dice);
        survives::<StatusQuery>(dice);
        survives::<StatusReport>(dice);
        survives::<Accounts>(dice);
        survives::<tradewind_model::MarketState>(dice);
    }

    /// A record with one byte changed, put in or taken out is another record or an error.
    #[test]
    fn what_is_malformed_is_an_error(seed: u64, at in 0.0..1.0, byte: u8, what in 0..3) {
        let mut body = Json.record(&Record::any(&mut Dice::new(seed)));
        let at = (body.len() as f64 * at) as usize;
        match what {
            0 => body[at] = byte,
            1 => body.insert(at, byte),
            _ => body.truncate(at),
        }
        if let Ok(record) = Json.read_record(&body) {
            prop_assert_eq!(Json.read_record(&Json.record(&record)), Ok(record));
        } else {
            prop_assert!(!Json.read_record(&body).unwrap_err().to_string().is_empty());
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        ("", "it is no JSON: EOF while parsing a value at line 1 column 0"),
        ("[]", "expected a name, or an object with one"),
        (r#"{"a":1,"b":2}"#, "expected a name, or an object with one"),
        (r#""created""#, "created: expected more than the name"),
        (r#"{"created":{"market":7}}"#, "created.market: expected a text"),
        (r#"{"created":{}}"#, "created.market: it is missing"),
        (
            r#"{"created":{"market":"a","x":1}}"#,
            "created.x: it is not known here; a later release has written it: use that release",
        ),
        (
            r#"{"foretold":{"job":1}}"#,
            "foretold: it is not known here; a later release has written it: use that release",
        ),
        (
            r#"{"dropped":{"job":-1}}"#,
            "dropped.job: expected a whole number from 0 to 18446744073709551615",
        ),
        (
            r#"{"dropped":{"job":1.5}}"#,
            "dropped.job: expected a whole number from 0 to 18446744073709551615",
        ),
        (
            r#"{"held":{"job":1,"hold":{"user":1}}}"#,
            "held.hold.user: expected nothing but the name",
        ),
        (r#"{"held":{"job":1,"hold":"funds"}}"#, "held.hold.funds: expected more than the name"),
        (r#"{"expected":{"starts":[[1,2],[3]]}}"#, "expected.starts.1: expected a list of two"),
        (r#"{"forgot":{"tag":"x"}}"#, "forgot.tag: expected a tag `tw-MARKET-JOB-ATTEMPT-PART`"),
        (
            r#"{"gridded":{"pools":{"sites":[],"pools":[]},"owners":[]}}"#,
            "gridded.pools: there are no nodes",
        ),
    ];
    for (body, said) in cases {
        assert_eq!(Json.read_record(body.as_bytes()).unwrap_err().to_string(), said);
    }
    let deep = format!("{{\"created\":{}", "[".repeat(100_000));
    assert!(Json.read_record(deep.as_bytes()).is_err());
}

#[test]
fn a_peer_learns_what_is_wrong_with_its_messages() {
    let post = |letter: &str| {
        let text = format!(r#"{{"protocol":1,"market":"m","sent":5,"letters":[{letter}]}}"#);
        peers::Post::read(parse(text.as_bytes()).unwrap()).map_err(|wrong| wrong.to_string())
    };
    let offer = r#"{"quote":{"start":1,"price":1,"cost":-1,"load":0},"expires":9}"#;
    let volunteer = format!(
        r#"{{"settled":[1,0],"word":{{"volunteer":{{"inquiry":[1,0],"offer":{offer}}}}}}}"#
    );
    assert!(post(r#"{"settled":[1,0],"word":{"cancel":{"inquiry":[1,0]}}}"#).is_ok());
    for (letter, said) in [
        (volunteer.as_str(), "letters.0: a time, a price or a lead is out of range"),
        ("7", "letters.0: expected an object"),
        (r#"{"settled":[1,0],"word":"hello"}"#, "letters.0.word.hello: it is not known here"),
        (
            r#"{"settled":[1,0],"word":{"migrate":{"transfer":[1,0],"inquiry":[1,0],"job":{"user":"a b"}}}}"#,
            "letters.0.word.migrate.job.user: expected a name of letters, digits and `_-.@`",
        ),
    ] {
        assert_eq!(post(letter).unwrap_err(), said);
    }
    let other = r#"{"protocol":2,"market":"m","sent":5,"letters":[]}"#;
    let wrong = peers::Post::read(parse(other.as_bytes()).unwrap()).unwrap_err().to_string();
    assert_eq!(wrong, "protocol: expected 1: the peer is of another release");
}

const GOLDEN: &str = include_str!("golden/records-1.jsonl");

/// Makes the file again: `cargo test -p tradewind-daemon -- --ignored make_the_golden_records`.
/// Only before a release, or with new lines behind those that are there.
#[test]
#[ignore = "lines of a released format never change"]
fn make_the_golden_records() {
    let (mut seen, mut lines) = (BTreeSet::new(), BTreeMap::<usize, String>::new());
    for seed in 0..20_000 {
        let mut dice = Dice { tame: true, ..Dice::new(seed) };
        let line = text(&Record::any(&mut dice));
        let words: BTreeSet<String> = line.split('"').map(str::to_owned).collect();
        let is_name = |word: &String| !word.contains(|c: char| c.is_ascii_digit());
        let names = words.into_iter().filter(is_name).filter(|word| !word.contains(","));
        // Every name that the format has, in as many lines as it takes.
        if names.filter(|name| seen.insert(name.clone())).count() > 0 {
            let place = Record::all_names().iter().position(|name| **name == kind(&line)).unwrap();
            *lines.entry(place).or_default() += &format!("{line}\n");
        }
    }
    let all: String = lines.into_values().collect();
    let to = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/codec/golden");
    std::fs::write(to.join("records-1.jsonl"), all).unwrap();
}

#[test]
fn records_of_format_1_are_read_for_ever() {
    let mut kinds = BTreeSet::new();
    for line in GOLDEN.lines() {
        let record =
            Json.read_record(line.as_bytes()).unwrap_or_else(|fault| panic!("{fault}: {line}"));
        assert_eq!(text(&record), line);
        kinds.insert(kind(line));
    }
    let mut missing = Record::all_names();
    missing.retain(|name| !kinds.contains(*name));
    assert!(missing.is_empty(), "add lines of {missing:?}");
}

#[test]
fn ranges_of_earlier_releases_begin_again() {
    let level = ["500000000"; 7].join(",");
    let open = "[7,[100,60,60,1,3600,0,0,10,60,70,80,90,60,1,3]]";
    let read = |scores: &str| {
        let head = format!(r#"{{"levels":[{level},-200,50,50],"held":[[0,[0,3]]]}}"#);
        let text = format!(r#"{{"head":{head},"scores":[{scores}],"open":[{open}]}}"#);
        Waits::get(parse(text.as_bytes()).unwrap())
    };
    let waits = read("[1,[430000,2,1048576,1048576]]").unwrap();
    let forecaster = &waits.forecaster;
    let fresh = Waits::default().forecaster;
    assert_eq!(forecaster.results(), 0);
    assert_eq!(forecaster.level_memory(), fresh.level_memory());
    assert_eq!(waits.held.len(), 1, "the score is kept");
    // Upper bounds were the first bits.
    let over: Vec<u8> = forecaster.open_memory().map(|(_, open)| open.over).collect();
    assert_eq!(over, [3]);
    assert!(read("[1,[-1,2,3,4,5]]").is_err());
}

#[test]
fn a_stage_is_not_read_without_its_data() {
    let dice = &mut Dice::new(1);
    for (stage, field) in [
        (Stage::Running(Any::any(dice)), "started"),
        (Stage::Waiting(Any::any(dice)), "id"),
        (Stage::Handing(Any::any(dice)), "away"),
        (Stage::Over(Any::any(dice)), "ended"),
    ] {
        let job = Job { stage, ..Any::any(dice) };
        let mut value = parse(text(&job).as_bytes()).unwrap();
        assert!(value.as_object_mut().unwrap().remove(field).is_some());
        assert!(Job::get(value).is_err(), "a job that is {:?} needs `{field}`", job.stage);
    }
}
