//! The options that count become a submission.

use std::collections::BTreeMap;

use tradewind_model::{
    Attribute, Attributes, Criterion, JobData, JobShape, Money, Price, Request, Shapes, Span,
    Spread, TaskGroup,
};

use super::super::options::{OPTIONS, Support};
use super::super::signal;
use super::super::{
    Append, Conditions, Mail, OnBreach, OnLost, PeerChoice, Shape, Submission, Surroundings,
    TimeLimit, Work,
};
use super::super::{groups, lists};
use super::chosen::{ChosenOption, OptionPlace};
use super::moments::{Now, moment};
use super::shape::{self, Said};
use super::{Around, Wrong, limits, wrong};
use crate::decimal;
use crate::diagnostics::{Diagnostic, Diagnostics, did_you_mean, excerpt};
use crate::fields::scaled;
use crate::hidden::is_hidden;
use crate::{scenario, shapes};

/// Hands out the options one by one and notes what is wrong with them.
struct OptionReader<'a> {
    chosen: BTreeMap<&'static str, ChosenOption>,
    around: &'a Around<'a>,
    problems: &'a mut Diagnostics,
}

/// Options that say nodes and time of a job of equal tasks.
const SIZES: [&str; 6] = ["nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "gpus", "time"];

/// The submission, if nothing about it is wrong.
pub(super) fn submission(
    file: &str,
    work: Option<Work>,
    chosen: BTreeMap<&'static str, ChosenOption>,
    around: &Around<'_>,
    problems: &mut Diagnostics,
) -> Option<Submission> {
    let mut reader = OptionReader { chosen, around, problems };
    let work = reader.work(file, work);
    let name = reader.value("job-name", job_name);
    let groups = reader.groups();
    let shapes = if groups.is_none() { reader.shapes() } else { None };
    let (tasks, shape, time, shapes) = match (shapes, &groups) {
        (_, Some(groups)) => {
            let (tasks, longest) = groups::whole(groups);
            (tasks, None, Some(reader.counted(longest)?), None)
        }
        (Some(shapes), None) => {
            let (first, time) = (*shapes.first()?, reader.counted(shapes.first()?.time)?);
            (first.nodes, None, Some(time), Shapes::new(&shapes).ok().flatten())
        }
        (None, None) => {
            let ((tasks, shape), time) = (reader.shape(), reader.time(file));
            (tasks, shape, time, None)
        }
    };
    let terms = Conditions { shapes, ..reader.terms(time.as_ref()) }.with_groups(groups);
    let surroundings = reader.surroundings();
    let (mail, on_lost) = (reader.mail(), reader.on_lost());
    reader.always_so();
    let passed_through = reader.passed_through();
    let work = work?;
    Some(Submission {
        name: name.unwrap_or_else(|| default_name(file, &work)),
        work,
        tasks,
        shape,
        time: time?,
        terms,
        project: reader.value("account", text),
        surroundings,
        after: reader.value("dependency", lists::dependencies).unwrap_or_default(),
        array: reader.value("array", lists::array),
        held: reader.chosen.contains_key("hold"),
        stay_home: reader.chosen.contains_key("stay-home"),
        on_lost,
        on_preempted: reader.chosen.contains_key("preemptible").then_some(OnLost::Rerun),
        on_breach: reader.value("on-breach", on_breach),
        gather: reader.value("gather", limits::gather),
        mail,
        comment: reader.value("comment", text),
        quote: reader.value("quote", quote),
        passed_through,
    })
}

impl OptionReader<'_> {
    /// What `read` makes of the option `name`.
    fn value<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, Wrong>) -> Option<T> {
        let chosen = self.chosen.get(name)?;
        let result = read(chosen.value.as_deref().unwrap_or_default());
        result.map_err(|wrong| self.problems.push(chosen.place.error(wrong))).ok()
    }

    /// Which of several options that say the same counts.
    fn latest(&self, names: &[&'static str]) -> &'static str {
        let given = names.iter().filter_map(|name| self.chosen.get(name));
        given.max_by_key(|it| it.rank).map_or("", |it| it.option.name)
    }

    fn place(&self, name: &str) -> Option<OptionPlace> {
        self.chosen.get(name).map(|it| it.place.clone())
    }

    fn work(&mut self, file: &str, work: Option<Work>) -> Option<Work> {
        let wrapped = self.value("wrap", text);
        match (work, wrapped) {
            (None, Some(line)) => {
                Some(Work::Script { text: format!("#!/bin/sh\n{line}\n"), arguments: Vec::new() })
            }
            (None, None) if self.chosen.contains_key("wrap") => None,
            (Some(_), Some(_)) => {
                let it = wrong("there is a script or a command already", "leave out `--wrap`");
                let place = self.place("wrap");
                self.problems.extend(place.map(|place| place.error(it)));
                None
            }
            (Some(Work::Command(words)), None) if words.is_empty() => {
                self.nothing_to_run(file);
                None
            }
            (Some(work), None) => Some(work),
            (None, None) => {
                self.nothing_to_run(file);
                None
            }
        }
    }

    fn nothing_to_run(&mut self, file: &str) {
        let hint = "give a script, a command, or `--wrap` with a line for `/bin/sh`";
        self.problems.push(Diagnostic::error(file, "there is nothing to run").with_hint(hint));
    }

    /// Number of nodes where their size is unknown, and what else is said of tasks and nodes.
    fn shape(&mut self) -> (u32, Option<Shape>) {
        let count = |text: &str| limits::count(text, Request::MAX_TASKS);
        let said = Said {
            nodes: self.value("nodes", shape::nodes),
            tasks: self.value("ntasks", count),
            per_node: self.value("ntasks-per-node", count),
            cpus: self.value("cpus-per-task", count),
            has_gpus: self.chosen.contains_key("gpus"),
        };
        let place = self.place("ntasks").or_else(|| self.place("nodes"));
        match said.shape() {
            Ok((units, shape, warning)) => {
                let warning = place.zip(warning).map(|(place, it)| place.warning(it));
                self.problems.extend(warning);
                (units, shape)
            }
            Err(it) => {
                self.problems.extend(place.map(|place| place.error(it)));
                (1, None)
            }
        }
    }

    /// Nothing else says nodes or time beside the option `given`.
    fn alone(&mut self, given: &str, others: &[&str]) {
        for name in others {
            let Some(place) = self.place(name) else { continue };
            let message = format!("`{name}` beside `{given}`, which say nodes and time");
            self.problems.push(place.error(wrong(message, "leave one of them out")));
        }
    }

    /// The groups, if any are given: then nothing else says nodes or time.
    fn groups(&mut self) -> Option<Vec<TaskGroup>> {
        if !self.chosen.contains_key("groups") {
            return None;
        }
        let others = [&SIZES[..], &["shapes"]].concat();
        self.alone("groups", &others);
        if let Some(place) = self.place("array") {
            self.problems.push(place.error(groups::no_array()));
        }
        // Anything is right for going on after a mistake.
        Some(self.value("groups", groups::parse).unwrap_or_default())
    }

    /// The shapes, if any are given: then nothing else says nodes or time.
    fn shapes(&mut self) -> Option<Vec<JobShape>> {
        let read = |text: &str| shapes::parse(text).map_err(|(message, hint)| wrong(message, hint));
        let given = self.chosen.contains_key("shapes");
        let found = self.value("shapes", read);
        if given {
            self.alone("shapes", &SIZES);
        }
        // Anything is right for going on after a mistake.
        let any = || vec![JobShape { nodes: 1, time: Span(1) }];
        given.then(|| found.unwrap_or_else(any))
    }

    /// One limit, counted as `times` says.
    fn counted(&mut self, limit: Span) -> Option<TimeLimit> {
        let limit = TimeLimit::one(limit);
        match self.chosen.contains_key("times") {
            true => Some(limit.counted_by(self.value("times", limits::times)?)),
            false => Some(limit),
        }
    }

    fn time(&mut self, file: &str) -> Option<TimeLimit> {
        if !self.chosen.contains_key("time") {
            let hint = "write `#SBATCH --time=10` (minutes) into the script, or give `--time 10`";
            let it = Diagnostic::error(file, "there is no time limit").in_field("--time");
            self.problems.push(it.with_hint(hint));
        }
        let limit = self.value("time", limits::limit);
        let Some(times) = self.value("times", limits::times) else { return limit };
        match limit? {
            TimeLimit::Classes(_) => {
                let it = wrong(TimeLimit::BY_CLASS, TimeLimit::BY_CLASS_HINT);
                let place = self.place("times");
                self.problems.extend(place.map(|place| place.error(it)));
                None
            }
            limit => Some(limit.counted_by(times)),
        }
    }

    fn terms(&mut self, time: Option<&TimeLimit>) -> Conditions {
        let now = Now { at: self.around.now, zone: self.around.zone };
        let earliest = self.latest(&["begin", "earliest-start"]);
        let sites = self.latest(&["clusters", "sites"]);
        let terms = Conditions {
            min_performance: self.value("min-performance", groups::performance),
            max_price: self.value("max-price", credits).map(|it| Price(it.0)),
            budget: self.value("budget", credits),
            value: self.value("value", credits),
            earliest_start: self.value(earliest, |text| moment(text, &now)),
            deadline: self.value("deadline", |text| moment(text, &now)),
            criterion: self.value("minimize", criterion).unwrap_or_default(),
            priority: self.priority(),
            attributes: self.attributes(time),
            sites: self.value(sites, site_names).unwrap_or_default(),
            pools: self.value("partition", lists::names).unwrap_or_default(),
            spread: self.value("spread", spread).unwrap_or_default(),
            peers: self.peers(),
            shapes: None,
            groups: None,
            licences: self.value("licenses", lists::licences),
            data: self.data(),
        };
        if let (Some(start), Some(end)) = (terms.earliest_start, terms.deadline)
            && start >= end
        {
            let it = wrong("the deadline is not after the earliest start", "change one of them");
            let place = self.place("deadline");
            self.problems.extend(place.map(|place| place.error(it)));
        }
        terms
    }

    /// What it reads and leaves behind.
    fn data(&mut self) -> Option<JobData> {
        let input = self.value("data-in", lists::data_in);
        let output = self.value("data-out", lists::data_out);
        let is_alone = !self.chosen.contains_key("data-in");
        if let (true, Some((_, None))) = (is_alone, &output) {
            let it = wrong("it is not said where the output is to be", "write `100G@SITE`");
            let place = self.place("data-out");
            self.problems.extend(place.map(|place| place.error(it)));
        }
        if input.is_none() && output.is_none() {
            return None;
        }
        let (input, from) = input.unwrap_or_default();
        let (output, to) = output.unwrap_or_default();
        let to = match output {
            0 => String::new(),
            _ => to.unwrap_or_else(|| from.clone()),
        };
        Some(JobData { input, from, output, to })
    }

    /// To which other markets it may be passed on.
    fn peers(&mut self) -> Option<PeerChoice> {
        let only = self.value("peers", lists::names);
        let not = self.value("exclude-peers", lists::names);
        if only.is_some() && not.is_some() {
            let it = wrong(
                "peers are named twice: those that may have it, and those that may not",
                "keep `--peers` alone: it may go to no others",
            );
            let place = self.place("exclude-peers");
            self.problems.extend(place.map(|place| place.error(it)));
        }
        only.map(PeerChoice::Only).or(not.map(PeerChoice::Not))
    }

    fn priority(&mut self) -> i64 {
        let usual = self.value("priority", whole).unwrap_or(0);
        let nice = |text: &str| if text.is_empty() { Ok(100) } else { whole(text) };
        usual - self.value("nice", nice).unwrap_or(0)
    }

    /// What nodes must offer: features, and their class.
    fn attributes(&mut self, time: Option<&TimeLimit>) -> Attributes {
        let mut all = self.value("constraint", lists::constraint).unwrap_or_default();
        let named = all.contains_key(lists::CLASS).then_some("constraint");
        let classes = self.value("class", |text| {
            let names = lists::names(text)?;
            Ok(lists::one_of(&names.iter().map(String::as_str).collect::<Vec<_>>()))
        });
        let again = classes.is_some().then_some("class");
        let by_time = matches!(time, Some(TimeLimit::Classes(_)));
        let twice = match (named, again, by_time) {
            (Some(_), Some(again), _) => Some(again),
            (Some(one), None, true) | (None, Some(one), true) => Some(one),
            _ => None,
        };
        if let Some(place) = twice.and_then(|name| self.place(name)) {
            let hint = "name classes once: in `time`, in `class`, or in `--constraint`";
            self.problems.push(place.error(wrong("classes of nodes are given twice", hint)));
        }
        all.extend(classes.map(|it: Attribute| (lists::CLASS.to_owned(), it)));
        all
    }

    fn surroundings(&mut self) -> Surroundings {
        let variables = self.around.variables;
        Surroundings {
            directory: self.value("chdir", text),
            output: self.value("output", text),
            error: self.value("error", text),
            input: self.value("input", text),
            append: self.value("open-mode", open_mode).unwrap_or_default(),
            environment: self
                .value("export", |text| lists::export(text, variables))
                .unwrap_or_default(),
        }
    }

    fn mail(&mut self) -> Option<Mail> {
        let to = self.value("mail-user", lists::address);
        if !self.chosen.contains_key("mail-type") {
            let it = wrong("no mail is sent without `--mail-type`", "add `--mail-type=END,FAIL`");
            let place = self.place("mail-user");
            self.problems.extend(place.map(|place| place.warning(it)));
        }
        self.value("mail-type", |text| lists::mail(text, to)).flatten()
    }

    fn on_lost(&mut self) -> OnLost {
        match self.latest(&["requeue", "no-requeue", "on-lost"]) {
            "requeue" => OnLost::Rerun,
            "on-lost" => self.value("on-lost", on_lost).unwrap_or_default(),
            _ => OnLost::default(),
        }
    }

    /// Options that ask for what is always so.
    fn always_so(&mut self) {
        let only = |good: &'static [&'static str], hint: &'static str| {
            move |text: &str| match good.contains(&text) {
                true => Ok(()),
                false => Err(wrong(format!("`{}` is not supported", excerpt(text)), hint)),
            }
        };
        let alone = "write `--exclusive`: a node of a window is the job's alone";
        self.value("exclusive", only(&["", "exclusive"], alone));
        let gone = "a job whose dependency cannot be met any more is cancelled: write `yes`";
        self.value("kill-on-invalid-dep", only(&["yes"], gone));
        let all = "all nodes of a window start together: write `1`";
        self.value("wait-all-nodes", only(&["1"], all));
    }

    fn passed_through(&mut self) -> Vec<(String, String)> {
        let passed = OPTIONS.iter().filter(|known| known.kind == Support::PassedThrough);
        let mut all = Vec::new();
        for known in passed {
            let plain = |text: &str| match text.chars().any(is_hidden) {
                true => Err(control()),
                false if known.name == signal::OPTION => {
                    signal::parse(text).map(|_| text.to_owned())
                }
                false => Ok(text.to_owned()),
            };
            all.extend(self.value(known.name, plain).map(|value| (known.name.to_owned(), value)));
        }
        all
    }
}

fn default_name(file: &str, work: &Work) -> String {
    let path = match work {
        Work::Command(words) => words.first().map_or(file, String::as_str),
        Work::Script { .. } => file,
    };
    let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    let plain = name.chars().filter(|c| !is_hidden(*c)).take(Submission::MAX_NAME);
    Some(plain.collect::<String>())
        .filter(|it| !it.trim().is_empty() && it != "-")
        .unwrap_or_else(|| "job".to_owned())
}

fn control() -> Wrong {
    wrong("the value has control characters", "keep to letters, digits and signs on one line")
}

/// A text that is not empty and has no control characters.
fn text(text: &str) -> Result<String, Wrong> {
    if text.trim().is_empty() {
        return Err(wrong("an empty value", "write something, or leave the option out"));
    }
    if text.chars().any(is_hidden) {
        return Err(control());
    }
    Ok(text.to_owned())
}

fn job_name(name: &str) -> Result<String, Wrong> {
    let name = text(name)?;
    if name.chars().count() > Submission::MAX_NAME {
        let message = format!("a name of more than {} characters", Submission::MAX_NAME);
        return Err(wrong(message, "shorten it; `--comment` takes more"));
    }
    Ok(name)
}

fn whole(text: &str) -> Result<i64, Wrong> {
    // As far as Slurm's nice values go; sums of two fit the model's priorities.
    let range = -2_147_483_645..=2_147_483_645;
    let scale = crate::fields::DecimalScale { decimals: 0, range };
    scaled(text, &scale).map_err(|(message, hint)| wrong(message, hint))
}

fn credits(text: &str) -> Result<Money, Wrong> {
    decimal::parse_credits(text)
        .map_err(|_| wrong(format!("`{}` is no amount of credits", excerpt(text)), AMOUNTS))
}

fn quote(text: &str) -> Result<u64, Wrong> {
    let number = limits::digits(text).filter(|number| (1..i64::MAX).contains(number));
    let number = number.map(i64::unsigned_abs);
    let hint = "write the number that `tradewind quote` printed";
    number.ok_or_else(|| wrong(format!("`{}` is no quote's number", excerpt(text)), hint))
}

const AMOUNTS: &str = "write digits such as `12.5`, 0 or more, with at most six decimals";

const CRITERIA: [&str; 6] =
    ["start", "finish", "runtime", "cost", "processor-time", "sum:ATTRIBUTE"];

fn criterion(text: &str) -> Result<Criterion, Wrong> {
    scenario::criterion(text).ok_or_else(|| {
        let message = format!("unknown criterion `{}`", excerpt(text));
        wrong(message, did_you_mean(text, &CRITERIA))
    })
}

fn spread(text: &str) -> Result<Spread, Wrong> {
    let found = Spread::ALL.iter().find(|(_, name)| *name == text);
    found.map(|(spread, _)| *spread).ok_or_else(|| {
        let names = Spread::ALL.map(|(_, name)| name);
        wrong(format!("unknown value `{}`", excerpt(text)), did_you_mean(text, &names))
    })
}

/// Sites; `all` is every one.
fn site_names(text: &str) -> Result<Vec<String>, Wrong> {
    match text {
        "all" => Ok(Vec::new()),
        _ => lists::names(text),
    }
}

fn open_mode(text: &str) -> Result<Append, Wrong> {
    match text {
        "append" | "a" => Ok(Append::Append),
        "truncate" | "t" => Ok(Append::Truncate),
        _ => Err(wrong(format!("unknown mode `{}`", excerpt(text)), "`append` or `truncate`")),
    }
}

fn on_breach(text: &str) -> Result<OnBreach, Wrong> {
    OnBreach::of(text).ok_or_else(|| {
        let names = OnBreach::ALL.map(|(name, _)| name);
        wrong(format!("unknown value `{}`", excerpt(text)), did_you_mean(text, &names))
    })
}

fn on_lost(text: &str) -> Result<OnLost, Wrong> {
    match text {
        "fail" => Ok(OnLost::Fail),
        "rerun" => Ok(OnLost::Rerun),
        "hold" => Ok(OnLost::Hold),
        _ => {
            let message = format!("unknown value `{}`", excerpt(text));
            Err(wrong(message, did_you_mean(text, &["fail", "rerun", "hold"])))
        }
    }
}
