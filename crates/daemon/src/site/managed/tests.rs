//! Bundles run by plain shells of this machine, and their folders.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tradewind_io::submission::{OnLost, Surroundings, Work};
use tradewind_model::{Span, Time};

use super::bundle::{Paths, TaskScript, Words};
use super::gate::Gate;
use super::spool::{RecallOutcome, Spool, Trace};
use super::tool::{Prefix, Tool};
use crate::site::conformance::TaskBehaviour;
use crate::site::{Exit, Go, Order, SiteError, Tag};

const WORDS: Words = Words { id: "echo 42", nodes: "printf 'n1\\nn2\\n'", signal: "" };

struct Place {
    folder: TempDir,
    tool: Tool,
    spool: String,
    shell: &'static str,
    /// Counts what was started.
    started: AtomicU32,
}

impl Place {
    fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let spool = folder.path().join("spool").to_string_lossy().into_owned();
        let tool = Tool {
            site: "here".to_owned(),
            ours: Prefix::default(),
            users: Prefix::default(),
            environment: BTreeMap::new(),
            timeout: Duration::from_secs(20),
            connection: None,
            requests: std::sync::Arc::default(),
            gate: None,
        };
        Place { folder, tool, spool, shell: "/bin/sh", started: AtomicU32::new(0) }
    }

    fn spool(&self) -> Spool<'_> {
        Spool { tool: &self.tool, account: "", path: &self.spool }
    }

    /// The same place in a term of ownership.
    fn in_term(self, epoch: u64) -> Place {
        let gate = Some(Gate::new("m/x", "here", &self.spool, epoch));
        Place { tool: Tool { gate, ..self.tool }, ..self }
    }

    fn start(&self, order: &Order) -> Child {
        let home = self.folder.path().to_string_lossy();
        let variables: BTreeMap<String, String> = order.variables.clone();
        let bundle = TaskScript {
            order,
            variables: &variables,
            paths: &Paths::of(order, &home),
            spool: &self.spool,
            bells: "",
            start: Some(order.start).filter(|start| *start > Time(0)),
            grace: Duration::from_millis(300),
            words: &WORDS,
            gate: self.tool.gate.as_ref(),
        };
        // A file for each start, as a manager keeps one for each job: a shell reads its script while it
        // runs, and must not find one that is just being written.
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("bundle-{}-{number}", order.tag));
        std::fs::write(&path, bundle.script()).unwrap();
        let mut command = Command::new(self.shell);
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn trace(&self, tag: &Tag) -> Option<Trace> {
        self.spool().look(std::slice::from_ref(tag)).unwrap().remove(tag)
    }

    fn run(&self, order: &Order) -> (Trace, Option<i32>) {
        let status = self.start(order).wait().unwrap();
        (self.trace(&order.tag).unwrap_or_default(), status.code())
    }

    fn exit(&self, order: &Order) -> Exit {
        self.run(order).0.end.unwrap().exit
    }

    fn output(&self, job: u64) -> String {
        let path = self.folder.path().join(format!("tradewind-{job}.out"));
        let path = path.to_string_lossy();
        String::from_utf8(self.spool().tail(&path, 1 << 20).unwrap()).unwrap()
    }
}

fn order(job: u64, work: Work) -> Order {
    Order {
        tag: Tag { market: "m".to_owned(), job, attempt: 0, part: 0 },
        name: "name".to_owned(),
        user: "user".to_owned(),
        pool: "p".to_owned(),
        nodes: 2,
        start: Time(0),
        aside: false,
        gather: None,
        limit: Span(60),
        data: None,
        work,
        surroundings: Surroundings::default(),
        variables: BTreeMap::new(),
        on_lost: OnLost::Fail,
        is_preemptible: false,
        passed_through: Vec::new(),
    }
}

fn sh(job: u64, text: &str) -> Order {
    order(job, Work::Script { text: format!("#!/bin/sh\n{text}\n"), arguments: Vec::new() })
}

#[test]
fn ends_are_told_as_they_were() {
    let bash = std::path::Path::new("/bin/bash").exists().then_some("/bin/bash");
    for shell in ["/bin/sh"].into_iter().chain(bash) {
        let place = Place { shell, ..Place::new() };
        for code in [0, 1, 7, 127, 255] {
            let (trace, status) = place.run(&sh(code, &format!("exit {code}")));
            let end = trace.end.clone().unwrap();
            assert_eq!(end.exit, Exit::Code(i32::try_from(code).unwrap()), "{shell}");
            assert_eq!(status, Some(i32::try_from(code).unwrap()), "{shell}");
            let here = trace.here.unwrap();
            assert_eq!((here.id.as_str(), here.nodes), ("42", vec!["n1".into(), "n2".into()]));
            assert!(here.at <= end.since.unwrap() && end.since.unwrap() <= end.at);
        }
        for signal in [9, 10, 12, 15] {
            let (trace, status) = place.run(&sh(1_000 + signal, &format!("kill -{signal} $$")));
            assert_eq!(trace.end.unwrap().exit, Exit::Signal(i32::try_from(signal).unwrap()));
            assert_eq!(status, None, "{shell} {signal}");
        }
    }
}

#[test]
fn words_and_variables_arrive_as_they_are() {
    let place = Place::new();
    let odd =
        ["", "two words", "it's \"so\"", "$(exit 9) `exit 9` $HOME", "a\nb\n", "-n", "żółw \\"];
    let text = "for one in \"$@\"; do printf '%s|' \"$one\"; done; printf '%s|' \"$N\" \"$V\"";
    let arguments = odd.map(str::to_owned).to_vec();
    let mut script = order(1, Work::Script { text: format!("#!/bin/sh\n{text}\n"), arguments });
    script.surroundings.environment.insert("V".to_owned(), "theirs".to_owned());
    script.surroundings.environment.insert("odd.name".to_owned(), "x".to_owned());
    script.variables.insert("N".to_owned(), "%N".to_owned());
    script.variables.insert("V".to_owned(), odd.join("&"));
    assert_eq!(place.exit(&script), Exit::Code(0));
    assert_eq!(place.output(1), format!("{}|n1,n2|{}|", odd.join("|"), odd.join("&")));
    let argv = ["printf", "%s|"].iter().chain(&odd).map(|word| (*word).to_owned()).collect();
    assert_eq!(place.exit(&order(2, Work::Command(argv))), Exit::Code(0));
    assert_eq!(place.output(2), format!("{}|", odd.join("|")));
}

#[test]
fn work_runs_once_at_most() {
    let place = Place::new();
    let mut once = sh(1, "echo once");
    once.surroundings.append = tradewind_io::submission::Append::Append;
    let mut all: Vec<Child> = (0..5).map(|_| place.start(&once)).collect();
    for child in &mut all {
        child.wait().unwrap();
    }
    assert_eq!(place.exit(&once), Exit::Code(0));
    assert_eq!(place.output(1), "once\n");
    let never = sh(2, "echo never");
    assert_eq!(place.spool().claim(&never.tag).unwrap(), None);
    let claimed = Trace { is_claimed: true, ..Trace::default() };
    assert_eq!(place.run(&never).0, claimed);
    assert_eq!(place.spool().claim(&never.tag).unwrap(), None, "claimed before, by us");
    assert_eq!(place.spool().take_back(&never.tag).unwrap(), RecallOutcome::Back);
    assert_eq!(place.spool().take_back(&once.tag).unwrap(), RecallOutcome::TooLate);
    assert_eq!(place.output(2), "");
    assert!(place.spool().claim(&once.tag).unwrap().unwrap().end.is_some());
    place.spool().clear(&[once.tag.clone(), never.tag.clone()]).unwrap();
    assert_eq!(place.run(&once).0, Trace::default());
    assert_eq!(place.output(1), "once\n");
}

#[test]
fn what_cannot_begin_says_why() {
    let place = Place::new();
    let mut nowhere = sh(1, "echo no");
    nowhere.surroundings.directory = Some("no/such/place".to_owned());
    let mut mute = sh(2, "echo no");
    mute.surroundings.output = Some("no/such/place/out".to_owned());
    let mut blind = sh(3, "echo no");
    blind.surroundings.input = Some("no-such-input".to_owned());
    let strange = order(4, Work::Command(vec!["no-such-program".to_owned(), "x".to_owned()]));
    for (order, wanted) in [
        (nowhere, "no/such/place: not there"),
        (mute, "no/such/place/out: "),
        (blind, "no-such-input: no file"),
        (strange, "no-such-program: no such program"),
    ] {
        let end = place.run(&order).0.end.unwrap();
        assert_eq!(end.since, None);
        assert!(matches!(&end.exit, Exit::NotStarted(why) if why.contains(wanted)), "{end:?}");
    }
}

#[test]
fn the_limit_holds_to_the_second() {
    let place = Place::new();
    for (job, act) in
        [(1, TaskBehaviour::Exit { after: 50, code: 0 }), (2, TaskBehaviour::Stubborn)]
    {
        let mut order = order(job, act.script());
        order.limit = Span(1);
        let began = Instant::now();
        let end = place.run(&order).0.end.unwrap();
        assert_eq!(end.exit, Exit::TimeLimit);
        assert!((1_000..30_000).contains(&(end.at - end.since.unwrap())), "{end:?}");
        assert!(began.elapsed() < Duration::from_secs(40));
    }
    let order = order(3, TaskBehaviour::Exit { after: 50, code: 0 }.script());
    let mut child = place.start(&order);
    until(|| place.trace(&order.tag).is_some_and(|trace| trace.began.is_some()));
    place.spool().stop(&order.tag).unwrap();
    child.wait().unwrap();
    assert_eq!(place.trace(&order.tag).unwrap().end.unwrap().exit, Exit::Withdrawn);
}

/// Whoever keeps the limit may look at any time, also while the beginning is being written.
#[test]
fn half_a_beginning_is_no_limit() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let tools = place.folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let date = tools.join("date");
    std::fs::write(&date, "#!/bin/sh\nsleep 3\nexec /bin/date \"$@\"\n").unwrap();
    std::fs::set_permissions(&date, PermissionsExt::from_mode(0o755)).unwrap();
    let mut order = sh(1, "exit 7");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    order.surroundings.environment.insert("PATH".to_owned(), path);
    assert_eq!(place.exit(&order), Exit::Code(7));
}

/// The time of day may be set, and users have commands of their own.
#[test]
fn a_clock_that_goes_back_is_no_limit() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let tools = place.folder.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    let date = tools.join("date");
    let an_hour_ago = "#!/bin/sh\necho $(( $(/bin/date +%s%3N) - 3600000 ))\n";
    std::fs::write(&date, an_hour_ago).unwrap();
    std::fs::set_permissions(&date, PermissionsExt::from_mode(0o755)).unwrap();
    let mut order = sh(1, "sleep 4; exit 7");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    order.surroundings.environment.insert("PATH".to_owned(), path);
    assert_eq!(place.exit(&order), Exit::Code(7));
}

#[test]
fn gathered_work_begins_when_it_is_told() {
    let place = Place::new();
    let mut early = sh(1, "printf '%s' \"$OTHER\"");
    early.gather = Some(Span(30));
    let mut child = place.start(&early);
    until(|| place.trace(&early.tag).is_some_and(|trace| trace.here.is_some()));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(place.trace(&early.tag).unwrap().began, None);
    let at = Time(crate::site::clock::now().0 + 3);
    let variables = BTreeMap::from([("OTHER".to_owned(), "it's\n$HOME".to_owned())]);
    place.spool().go(&early.tag, &Go { at, variables }).unwrap();
    let late = Go { at: Time(0), variables: BTreeMap::new() };
    place.spool().go(&early.tag, &late).unwrap();
    child.wait().unwrap();
    let trace = place.trace(&early.tag).unwrap();
    let offset = trace.began.unwrap() - at.0 * 1_000;
    assert!((0..5_000).contains(&offset), "{offset} ms");
    assert_eq!(trace.end.unwrap().since, trace.began);
    assert_eq!(place.output(1), "it's\n$HOME");

    let mut alone = sh(2, "echo no");
    alone.gather = Some(Span(1));
    let end = place.run(&alone).0.end.unwrap();
    assert_eq!((end.since, end.exit), (None, Exit::Withdrawn));
    let mut called_off = sh(3, "echo no");
    called_off.gather = Some(Span(30));
    let mut child = place.start(&called_off);
    until(|| place.trace(&called_off.tag).is_some_and(|trace| trace.here.is_some()));
    place.spool().stop(&called_off.tag).unwrap();
    child.wait().unwrap();
    let end = place.trace(&called_off.tag).unwrap().end.unwrap();
    assert_eq!((end.since, end.exit), (None, Exit::Withdrawn));
    let mut told_before = sh(4, "echo yes");
    told_before.gather = Some(Span(30));
    place.spool().go(&told_before.tag, &late).unwrap();
    assert_eq!(place.exit(&told_before), Exit::Code(0));
}

#[test]
fn work_begins_on_the_second_of_its_start() {
    let place = Place::new();
    let at = |ahead| Time(crate::site::clock::now().0 + ahead);
    let soon = Order { start: at(4), ..sh(1, "exit 7") };
    let (trace, _) = place.run(&soon);
    let offset = trace.began.unwrap() - soon.start.0 * 1_000;
    assert!((0..5_000).contains(&offset), "{offset} ms");
    assert_eq!(trace.end.map(|end| (end.since, end.exit)), Some((trace.began, Exit::Code(7))));
    let called_off = Order { start: at(9), ..sh(2, "echo no") };
    let mut child = place.start(&called_off);
    until(|| place.trace(&called_off.tag).is_some_and(|trace| trace.here.is_some()));
    place.spool().stop(&called_off.tag).unwrap();
    child.wait().unwrap();
    let end = place.trace(&called_off.tag).unwrap().end.unwrap();
    assert_eq!((end.since, end.exit), (None, Exit::Withdrawn));
    // By the clock of a node that is a day behind.
    let odd = Order { start: at(86_400), ..sh(3, "true") };
    assert_eq!(place.exit(&odd), Exit::Code(0));
}

fn until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not come about");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_tilde_is_the_home() {
    let show = "\nHOME='/a b' known=yes\nfor one in '~' '~/c d' '/e~' 'f/~' '~g'; do at_home \"$one\"; echo \"$place\"; done";
    let program = format!("{}{show}", include_str!("home.sh"));
    let output = Command::new("/bin/sh").args(["-c", &program]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "/a b\n/a b/c d\n/e~\nf/~\n~g\n");
}

/// A script that says which signals reach it, and its child those that reach that, with the second
/// since its beginning.
fn listener(job: u64, signal: &str) -> Order {
    let text = r#"
begin=$(date +%s)
said() { echo "$1 $(($(date +%s) - begin))" >>"$2"; }
trap 'said script "$0.heard"; over=yes' USR1
trap 'said script-term "$0.heard"; over=yes' TERM
sh -c 'trap "echo child >>\"$1\"; exit" USR1; echo ready >>"$1"; while :; do sleep 0.1; done' sh "$0.heard" &
until [ -n "$over" ]; do wait $!; done
kill %1 2>/dev/null
sleep 1
exit 3
"#;
    let mut order = sh(job, text);
    order.limit = Span(8);
    order.passed_through = vec![("signal".to_owned(), signal.to_owned())];
    order
}

/// What was heard, without the child's beginning.
fn heard(place: &Place, order: &Order) -> Vec<String> {
    let tag = order.tag.to_string();
    let path = std::path::Path::new(&place.spool).join(tag).join("script.heard");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| *line != "ready").map(str::to_owned).collect()
}

#[test]
fn a_signal_before_the_limit_comes_in_time_and_once() {
    let bash = std::path::Path::new("/bin/bash").exists().then_some("/bin/bash");
    for shell in ["/bin/sh"].into_iter().chain(bash) {
        let place = Place { shell, ..Place::new() };
        let to_script = listener(1, "B:USR1@5");
        assert_eq!(place.exit(&to_script), Exit::Code(3), "{shell}");
        let said = heard(&place, &to_script);
        let second: i64 = said[0].strip_prefix("script ").unwrap().parse().unwrap();
        assert!((2..=6).contains(&second) && said.len() == 1, "{shell}: {said:?}");
        // To all others, where the manager knows no steps; the script goes on to its limit.
        let to_others = listener(2, "SIGUSR1@6");
        assert_eq!(place.exit(&to_others), Exit::TimeLimit, "{shell}");
        let said = heard(&place, &to_others);
        assert_eq!(said.first().map(String::as_str), Some("child"), "{shell}: {said:?}");
        assert!(!said.iter().any(|it| it.starts_with("script ")), "{shell}: {said:?}");
        // Longer before than it may run: at its beginning.
        let at_once = listener(3, "B:10@3600");
        let exit = place.exit(&at_once);
        // Whether or not it had time to set its trap.
        assert!([Exit::Signal(10), Exit::Code(3)].contains(&exit), "{shell}: {exit:?}");
    }
}

#[test]
fn a_signal_from_outside_reaches_the_work_and_its_end_is_written_down() {
    let bash = std::path::Path::new("/bin/bash").exists().then_some("/bin/bash");
    for shell in ["/bin/sh"].into_iter().chain(bash) {
        let place = Place { shell, ..Place::new() };
        for (job, signal, wanted) in
            [(1, Signal::USR1, "script "), (2, Signal::TERM, "script-term ")]
        {
            let order = Order { limit: Span(60), passed_through: Vec::new(), ..listener(job, "") };
            let mut child = place.start(&order);
            let tag = order.tag.to_string();
            let ready = std::path::Path::new(&place.spool).join(tag).join("script.heard");
            let end = Instant::now() + Duration::from_secs(60);
            while !ready.exists() {
                assert!(Instant::now() < end, "it does not begin");
                std::thread::sleep(Duration::from_millis(20));
            }
            kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(3), "{shell}");
            let said = heard(&place, &order);
            assert!(said.len() == 1 && said[0].starts_with(wanted), "{shell}: {said:?}");
            let end = place.trace(&order.tag).unwrap().end.unwrap();
            assert_eq!(end.exit, Exit::Code(3), "{shell}");
        }
    }
}

#[test]
fn work_is_interrupted_as_if_it_ran_in_front() {
    let place = Place::new();
    let order = sh(1, "kill -INT $$; sleep 5; exit 4");
    assert_eq!(place.exit(&order), Exit::Signal(2), "the signal is not ignored");
}

#[test]
fn orders_of_earlier_terms_are_refused() {
    let place = Place::new().in_term(5);
    let tag = |job| order(job, Work::Command(Vec::new())).tag;
    assert_eq!(place.spool().claim(&tag(1)), Ok(None));
    let place = place.in_term(6);
    place.spool().begin_term().unwrap();
    place.spool().begin_term().unwrap();
    let place = place.in_term(5);
    let go = Go { at: Time(0), variables: BTreeMap::new() };
    let spool = place.spool();
    let refused = [
        spool.claim(&tag(2)).map(|_| ()),
        spool.take_back(&tag(2)).map(|_| ()),
        spool.stop(&tag(1)),
        spool.go(&tag(2), &go),
        spool.clear(&[tag(1)]),
        spool.begin_term(),
        spool.keep(&[tag(2)]),
    ];
    for said in refused {
        let Err(SiteError::Away(why)) = &said else { panic!("{said:?}") };
        assert!(why.contains("another daemon owns the market") && why.contains("epoch 6"), "{why}");
    }
    // Looking is no order, and nothing was done.
    assert!(place.trace(&tag(1)).unwrap().is_claimed && place.trace(&tag(2)).is_none());
    // A later term may come first; of two at the same moment the later one wins.
    let place = place.in_term(7);
    assert_eq!(place.spool().claim(&tag(3)), Ok(None));
    assert!(place.in_term(6).spool().stop(&tag(3)).is_err());
}

#[test]
fn what_was_under_way_when_its_owner_was_succeeded_never_begins() {
    let bash = std::path::Path::new("/bin/bash").exists().then_some("/bin/bash");
    for shell in ["/bin/sh"].into_iter().chain(bash) {
        let place = Place { shell, ..Place::new() }.in_term(5);
        place.spool().begin_term().unwrap();
        let [early, known, late] = [1, 2, 3].map(|job| sh(job, &format!("echo {job}")));
        assert_eq!(place.exit(&early), Exit::Code(0));
        let place = place.in_term(9);
        place.spool().begin_term().unwrap();
        let many: Vec<Tag> = (100..1_300).map(|job| sh(job, "").tag).collect();
        place.spool().keep(&[&many[..], std::slice::from_ref(&known.tag)].concat()).unwrap();
        // The scripts of the earlier term, which the manager begins now.
        let place = place.in_term(5);
        let (trace, code) = place.run(&late);
        assert_eq!((trace, code), (Trace::default(), Some(127)), "{shell}");
        assert_eq!(place.exit(&known), Exit::Code(0), "{shell}");
        assert_eq!((place.output(2), place.output(3)), ("2\n".to_owned(), String::new()));
        // The owner's own submission of the same task runs.
        let place = place.in_term(9);
        assert_eq!(place.exit(&late), Exit::Code(0));
        // One that is over and forgotten is not kept any more, whatever is left of its folder.
        place.spool().clear(std::slice::from_ref(&known.tag)).unwrap();
        std::fs::remove_dir(std::path::Path::new(&place.spool).join(known.tag.to_string()))
            .unwrap();
        let place = place.in_term(5);
        assert_eq!(place.run(&known).1, Some(127), "{shell}");
        assert_eq!(place.exit(&sh(1_299, "exit 3")), Exit::Code(3), "others are");
        let terms = std::fs::read_dir(std::path::Path::new(&place.spool).join(".terms-m%2Fx-here"));
        assert_eq!(terms.unwrap().count(), 1, "earlier ones are cleared away");
    }
}
