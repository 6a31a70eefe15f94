//! Runs of long logs that are streamed give what they give when the log is read whole.
#![expect(clippy::unwrap_used, reason = "a test that cannot prepare a run has failed")]

use std::path::Path;
use std::sync::Arc;

use tradewind_campaign::failure::Failure;
use tradewind_campaign::plan::Plan;
use tradewind_campaign::replay::{self, Manner, OwnPolicy, Signals, Watch};
use tradewind_campaign::streamed::{self, Kept};
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_io::campaign::{
    Campaign, EstimateKind, Output, Overrun, Semantics, Trim, Workload as Spec,
};
use tradewind_sim::ReplaySettings;
use tradewind_sim::check::Checker;
use tradewind_sim::workload::Workload;

/// A log of more than 4 MiB, as its lines end in blanks. One job is too wide, one has no submit time,
/// one no processors, and two have the same number.
fn long_log() -> String {
    let line = |at: i64| {
        let (submit, run, wide) = (at * 120, 60 + at * 37 % 900, 1 + at * 7 % 60);
        let asked = if at % 9 == 0 { -1 } else { run * (1 + at % 3) - 20 };
        let (submit, wide) = match at {
            700 => (-1, wide),
            701 => (submit, 65),
            702 => (submit, -1),
            _ => (submit, wide),
        };
        let number = at + i64::from(at == 5);
        let job = format!("{number} {submit} -1 {run} {wide} -1 -1 {wide} {asked}");
        format!("{job} -1 1 {} 1 1 1 1 -1 -1{:5000}\n", at % 7, "")
    };
    let header = "; MaxProcs: 64\n; UnixStartTime: 820454400\n".to_owned();
    header + &(0..900).map(line).collect::<String>()
}

fn campaign(log: &Path) -> Campaign {
    let spec = Spec {
        name: "log".to_owned(),
        logs: vec![log.to_str().unwrap().to_owned()],
        ..Spec::default()
    };
    Campaign {
        title: None,
        workloads: vec![spec],
        policies: ["fcfs", "easy[backfill=shortest]", "conservative"].map(str::to_owned).to_vec(),
        command: None,
        semantics: vec![Semantics::Textbook],
        overruns: vec![Overrun::Kill, Overrun::Extend],
        estimates: vec![EstimateKind::Learned],
        loads: Vec::new(),
        seeds: None,
        trim: Trim::default(),
        outputs: vec![Output::Summary],
    }
}

struct NoOther;

impl OwnPolicy for NoOther {
    fn replay(
        &self,
        text: &str,
        _: &Workload,
        _: ReplaySettings,
        _: Box<dyn Checker>,
    ) -> Result<tradewind_sim::Run, Failure> {
        Err(Failure::usage(text))
    }
}

#[test]
fn summaries_and_notes_are_those_of_the_whole_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.swf");
    std::fs::write(&path, long_log()).unwrap();
    for procs in [None, Some(50)] {
        let mut campaign = campaign(&path);
        campaign.workloads[0].procs = procs;
        let plan = Plan::of(&campaign).unwrap();
        assert_eq!(streamed::why_whole(&campaign, &plan, Watch::Nothing, Kept::Files), None);
        let spec = &campaign.workloads[0];
        let [long, whole] = [WorkloadFiles::open_for_streams(spec), WorkloadFiles::open(spec)];
        assert!(long.streams() && !whole.streams());
        assert_eq!(long.hashes(), whole.hashes());
        let signals = Arc::new(Signals::default());
        for run in &plan.runs {
            let (summary, of) = streamed::replay(&campaign, run, &long, &signals).unwrap().unwrap();
            let manner = Manner { watch: Watch::Nothing, own: &NoOther };
            let finished = replay::replay(&campaign, run, &whole, manner, &signals).unwrap();
            assert_eq!(summary.to_json(), finished.summary.to_json(), "{}", run.name());
            assert_eq!(of.passes, finished.run.passes);
        }
        assert_eq!(long.facts(), whole.facts());
        let policies: Vec<_> = plan.policies().collect();
        assert_eq!(long.assumptions(&policies), whole.assumptions(&policies));
        assert!(long.streams(), "nothing has read the log whole");
    }
}

#[test]
fn logs_that_are_not_in_order_or_damaged_are_left_to_be_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.swf");
    let text = long_log();
    let mut unsorted: Vec<&str> = text.lines().collect();
    unsorted.swap(100, 800);
    let damaged = format!("{text}1 2 3\n");
    let nameless = text.replace("MaxProcs", "Machine");
    for text in [unsorted.join("\n"), damaged, nameless] {
        std::fs::write(&path, text).unwrap();
        let campaign = campaign(&path);
        let plan = Plan::of(&campaign).unwrap();
        let files = WorkloadFiles::open_for_streams(&campaign.workloads[0]);
        let signals = Arc::new(Signals::default());
        let result = streamed::replay(&campaign, &plan.runs[0], &files, &signals);
        assert!(result.unwrap().is_none());
        assert_eq!(files.facts(), None);
    }
}

#[test]
fn what_needs_every_job_is_read_whole() {
    let mut campaign = campaign(Path::new("log.swf"));
    let plan = Plan::of(&campaign).unwrap();
    let why = |campaign: &Campaign, watch, kept| {
        streamed::why_whole(campaign, &Plan::of(campaign).unwrap(), watch, kept)
    };
    assert!(why(&campaign, Watch::EveryStep, Kept::Summary).unwrap().contains("`--check`"));
    assert_eq!(plan.runs.len(), 6);
    campaign.outputs.push(Output::Jobs);
    assert_eq!(why(&campaign, Watch::Nothing, Kept::Summary), None);
    assert!(why(&campaign, Watch::Nothing, Kept::Files).unwrap().contains("a row for each job"));
    campaign.policies.push("css".to_owned());
    assert!(why(&campaign, Watch::Nothing, Kept::Summary).unwrap().contains("`css`"));
    campaign.workloads[0].squeeze = Some(2);
    assert!(why(&campaign, Watch::Nothing, Kept::Summary).unwrap().contains("one log"));
}
