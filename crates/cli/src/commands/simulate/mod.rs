//! `tradewind simulate`: logs replayed under one or several policies, by one or several rules.
//!
//! `args` says what and how; `tradewind_campaign` makes runs of it and does each; `single` replays one log for another command, `outputs`
//! writes its files, `store` remembers which are finished, `folder` says whose folder it is,
//! `overview` puts them side by side, `verdicts` says which of them is the best for sure, and
//! `report` makes a page of them.

mod args;
mod common;
mod comparisons;
mod defaults;
pub(super) mod folder;
mod measures;
mod outputs;
pub(super) mod overview;
pub(super) mod overview_files;
mod part;
mod report;
pub(super) mod single;
mod stays;
pub(super) mod store;
mod verdicts;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tradewind_campaign::checks;
use tradewind_campaign::plan::Plan;
use tradewind_campaign::replay::{self, Manner, Signals};
use tradewind_campaign::streamed::{self, Kept};
use tradewind_campaign::summary::Summary;
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_io::campaign::Campaign;
use tradewind_sim::stream::Streamed;

use crate::command_policy::Commands;
use crate::exit::{Exit, Failure, Outcome, Problem};
use crate::options::Format;
use crate::policy::{self, Lots, PolicySpec};
use crate::progress::Progress;
use crate::report::Report;
use crate::worker_pool;
pub(crate) use args::Args;
use args::CampaignSettings;
pub(super) use args::word;
use folder::Folder;
use overview::Overview;
use store::Record;
use verdicts::Verdicts;

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let settings = args.settings();
    let campaign = args.campaign(report)?;
    let plan = Plan::of(&campaign)?;
    if plan.left_out > 0 {
        let why = "the semantics `pyss` fix what happens to overruns";
        report.note(&format!("combinations left out: {}; {why}", plan.left_out));
    }
    let kept = if settings.out.is_some() { Kept::Files } else { Kept::Summary };
    let open = match streamed::why_whole(&campaign, &plan, settings.watch(), kept) {
        None => WorkloadFiles::open_for_streams,
        Some(why) => {
            report.detail(|| format!("logs are read whole: {why}"));
            WorkloadFiles::open
        }
    };
    let sources: Vec<WorkloadFiles<'_>> = campaign.workloads.iter().map(open).collect();
    checks::plan(&plan, &sources)?;
    let record = Record::new(&campaign, &plan, &sources);
    let folder = settings.out.as_deref().map(|out| Folder::new(out, &record));
    match &folder {
        Some(folder) => folder.prepare(settings.force)?,
        None => report.note("no file is written without `--out DIR`"),
    }
    note_seeds(&campaign, &plan, report);
    let work = Work {
        campaign: &campaign,
        plan: &plan,
        sources: &sources,
        settings: &settings,
        record: &record,
        folder: folder.as_ref(),
    };
    work.run(format, report)
}

fn note_seeds(campaign: &Campaign, plan: &Plan, report: &Report) {
    let lots: Vec<(&str, Option<Lots>)> =
        plan.policies().map(|policy| (policy.text(), policy.lots())).collect();
    let seeds = campaign.seeds();
    if let Some(seeds) = seeds {
        report.seeds(&seeds.to_string());
        if !campaign.draws() && lots.iter().all(|(_, lots)| *lots != Some(Lots::Run)) {
            report.note("nothing in this campaign is random: every seed gives the same");
        }
    }
    for (name, lots) in lots {
        match lots {
            Some(Lots::Own(seed)) => report.seeds(&format!("{seed} in `{name}`")),
            Some(Lots::Run) if seeds.is_none() => {
                report.seeds(&format!("{} in `{name}`", policy::SEED));
            }
            _ => {}
        }
    }
}

/// A campaign that is about to be run.
struct Work<'a> {
    campaign: &'a Campaign,
    plan: &'a Plan,
    sources: &'a [WorkloadFiles<'a>],
    settings: &'a CampaignSettings,
    record: &'a Record,
    /// `None`: nothing is written.
    folder: Option<&'a Folder<'a>>,
}

impl Work<'_> {
    fn run(&self, format: Format, report: &Report) -> Outcome {
        let mine: Vec<usize> = (0..self.plan.runs.len())
            .filter(|at| self.settings.shard.is_none_or(|shard| shard.has(*at)))
            .collect();
        let mut summaries: BTreeMap<usize, Summary> = BTreeMap::new();
        if let Some(folder) = self.folder.filter(|_| !self.settings.force) {
            let there = |at: &usize| Some((*at, folder.summary(*at)?));
            summaries.extend(mine.iter().filter_map(there));
        }
        let todo: Vec<usize> =
            mine.iter().copied().filter(|at| !summaries.contains_key(at)).collect();
        if !summaries.is_empty() {
            report.note(&format!("{} of {} runs were there already", summaries.len(), mine.len()));
        }
        let signals = Arc::new(Signals::default());
        worker_pool::listen(&signals.stop);
        let mut failures = Vec::new();
        for (at, result) in todo.iter().zip(self.work(&todo, &signals, report)) {
            match result {
                Some(Ok(summary)) => drop(summaries.insert(*at, summary)),
                Some(Err(failure)) => failures.push(failure),
                None => {}
            }
        }
        let kept = summaries.len();
        let overview = self.overview(&mine, summaries);
        if let Some(folder) = self.folder {
            if kept > 0 || mine.is_empty() {
                folder.begin()?;
            }
            // Where nothing ran, what was said before is not worse.
            if kept > 0 && self.settings.shard.is_none() {
                folder.write_overview(&overview)?;
            }
        }
        if signals.stopped() {
            report.note(&format!("stopped; {kept} of {} runs are kept", mine.len()));
            if self.folder.is_some() {
                report.note("the same command resumes the rest");
            }
            return Ok(Exit::Interrupted);
        }
        let policies: Vec<&PolicySpec> = self.plan.policies().collect();
        let assumed = |source: &WorkloadFiles<'_>| source.assumptions(&policies);
        self.sources.iter().flat_map(assumed).for_each(|note| report.note(&note));
        self.note_rejected(&overview, report);
        let taken = defaults::lines(self.campaign, self.sources, &overview);
        taken.iter().for_each(|line| report.note(line));
        for message in overview.losses() {
            let hint = "values that fit the prices come from `--side`; with `clearing=list` a value is \
                        no limit";
            report.warning(&Problem { message, hint: Some(hint.to_owned()) });
        }
        Verdicts::of(&overview).sentences().iter().for_each(|note| report.note(note));
        if kept > 0 {
            overview.print(format)?;
        }
        conclude(failures, kept, report)
    }

    /// Does the runs; results in the order of `todo`, `None` for those that were stopped before.
    fn work(
        &self,
        todo: &[usize],
        signals: &Arc<Signals>,
        report: &Report,
    ) -> Vec<Option<Result<Summary, Failure>>> {
        let mut progress = Progress::new(report, "jobs");
        let tick = |done: usize| {
            let ended = signals.ended.load(Ordering::Relaxed);
            let all = self.jobs_of(todo).max(ended);
            progress.set(ended, all, || format!("{done} of {} runs", todo.len()));
        };
        let one = |at: usize| self.one(todo[at], signals, report);
        let results =
            worker_pool::work(todo.len(), self.settings.threads, &signals.stop, tick, one);
        progress.finish();
        results
    }

    /// The jobs of these runs, as far as their logs have been read; others count as their mean.
    fn jobs_of(&self, runs: &[usize]) -> u64 {
        let known = |at: &usize| self.sources[self.plan.runs[*at].workload].known_jobs();
        let counts: Vec<usize> = runs.iter().filter_map(known).collect();
        let sum: usize = counts.iter().sum();
        (sum * runs.len() / counts.len().max(1)) as u64
    }

    fn one(&self, at: usize, signals: &Arc<Signals>, report: &Report) -> Result<Summary, Failure> {
        let run = &self.plan.runs[at];
        let own = &Commands { answer_within: self.settings.answer_within };
        let manner = Manner { watch: self.settings.watch(), own };
        let started = Instant::now();
        let source = &self.sources[run.workload];
        if source.streams()
            && let Some((summary, of)) = streamed::replay(self.campaign, run, source, signals)?
        {
            report.detail(|| {
                let (Streamed { jobs, passes, .. }, took) = (of, started.elapsed().as_secs_f64());
                format!("{}: {jobs} jobs, {passes} passes in {took:.3} s, streamed", run.name())
            });
            if let Some(folder) = self.folder {
                folder.write_run(at, |path| outputs::write_summary(path, &summary))?;
            }
            return Ok(summary);
        }
        let finished = replay::replay(self.campaign, run, source, manner, signals)?;
        report.detail(|| {
            let (jobs, passes) = (finished.run.jobs.len(), finished.run.passes);
            let took = started.elapsed().as_secs_f64();
            format!("{}: {jobs} jobs, {passes} passes in {took:.3} s", run.name())
        });
        if let Some(folder) = self.folder {
            let started = Instant::now();
            folder.write_run(at, |path| outputs::write(path, &self.campaign.outputs, &finished))?;
            report.detail(|| {
                format!("{}: written in {:.3} s", run.name(), started.elapsed().as_secs_f64())
            });
        }
        Ok(finished.summary)
    }

    fn overview(&self, mine: &[usize], mut summaries: BTreeMap<usize, Summary>) -> Overview {
        let mut overview = Overview { runs: Vec::new(), missing: Vec::new() };
        for at in mine {
            match summaries.remove(at) {
                Some(summary) => overview.runs.push(summary),
                None => overview.missing.push(self.record.runs[*at].folder.clone()),
            }
        }
        overview
    }

    /// How many jobs can never run, by reason, once for each workload and semantics; and policies
    /// that refused all.
    fn note_rejected(&self, overview: &Overview, report: &Report) {
        let mut said: Vec<String> = Vec::new();
        for run in &overview.runs {
            for rejection in run.rejections().chain(run.all_refused()) {
                let note = match self.campaign.workloads.len() {
                    1 => rejection,
                    _ => format!("{}: {rejection}", run.cell("log")),
                };
                if !said.contains(&note) {
                    report.note(&note);
                    said.push(note);
                }
            }
        }
    }
}

/// Lists what failed; the worst decides the exit code. Runs of one bad log fail alike: said once.
fn conclude(failures: Vec<Failure>, kept: usize, report: &Report) -> Outcome {
    let bug = failures.iter().any(|failure| failure.exit == Exit::Bug);
    let Some(first) = failures.first() else { return Ok(Exit::Ok) };
    let alike = failures.iter().all(|failure| failure.exit == first.exit);
    let exit = match (bug, kept == 0 && alike) {
        (true, _) => Exit::Bug,
        (false, true) => first.exit,
        (false, false) => Exit::Data,
    };
    let count = failures.len();
    let mut all = Failure { exit, problems: Vec::new() };
    for problem in failures.into_iter().flat_map(|failure| failure.problems) {
        if !all.problems.contains(&problem) {
            all.problems.push(problem);
        }
    }
    if kept > 0 {
        report.note(&format!("{count} of {} runs failed; the others are kept", kept + count));
    }
    Err(all)
}
