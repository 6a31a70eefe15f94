//! A workload of a campaign becomes jobs. Files are read once, whatever number of runs need them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tradewind_io::campaign::{self, Keyword, LogField, Workload as Spec};
use tradewind_io::diagnostics::Diagnostics;
use tradewind_io::input::{self, Input};
use tradewind_io::swf::transform::{self, Resample, Slice, SliceClock};
use tradewind_io::{digest, grid, swf};
use tradewind_model::{Admission, Attribute, Performance, Pools, Standing, Terms, Time};
use tradewind_sim::load;
use tradewind_sim::workload::{self, LogJob, OwnersLoad, Workload};

use crate::failure::Failure;
use crate::grid_terms;
use crate::homes::Newcomer;
use crate::links::{self, Linked};
use crate::memory;
use crate::plan::Run;
use crate::policy::{Layout, PolicySpec};
use crate::sites::{self, Asking, Sites};
use crate::streamed::{self, LogFacts};
use crate::{model, moldable, preemptible, rules};

/// The files of one workload, and their content once it was asked for.
pub struct WorkloadFiles<'a> {
    spec: &'a Spec,
    files: Vec<File>,
    /// Owners' logs that the grid file names.
    owners: Vec<(String, File)>,
    /// The digest of the electricity that the grid file describes, in other files perhaps.
    power: Option<String>,
    read: OnceLock<Result<Machine, Failure>>,
    /// What is known of a log that was streamed.
    streamed: OnceLock<LogFacts>,
}

struct File {
    path: String,
    /// As stored: packed, if it is.
    input: OnceLock<Result<Input, Diagnostics>>,
    sha256: Option<String>,
}

impl File {
    fn read(path: &str) -> File {
        let input = input::read_packed(path);
        let sha256 = input.as_ref().ok().map(|input| digest::sha256(&input.bytes));
        File { path: path.to_owned(), input: OnceLock::from(input), sha256 }
    }

    /// The same; its content is kept only once it was asked for.
    fn look_at(path: &str) -> File {
        let sha256 = digest::sha256_of_file(path).ok();
        File { path: path.to_owned(), input: OnceLock::new(), sha256 }
    }

    fn input(&self) -> Result<&Input, &Diagnostics> {
        self.input.get_or_init(|| input::read_packed(&self.path)).as_ref()
    }

    /// What it says as a grid file, if it is a sound one.
    fn grid(&self) -> Option<grid::GridFile> {
        let input = self.input().ok()?;
        Some(grid::parse(&*input::unpacked(input).ok()?).ok()?.0)
    }
}

/// What does not depend on a seed.
struct Machine {
    /// Those of the files; none with a model.
    logs: Vec<swf::Log>,
    sites: Sites,
}

/// Jobs ready to be replayed, and what they come from.
pub struct Prepared<'a> {
    /// As they are replayed, but for the times of submissions at another load.
    pub logs: Cow<'a, [swf::Log]>,
    /// Of each log its dated jobs, then the others; the workload's jobs refer to these.
    pub jobs: Vec<LogJob>,
    /// The jobs that are replayed, on their pools.
    pub workload: Workload,
    /// What the pools are.
    pub layout: Layout,
    /// The names of the logs of the workload's owners.
    pub owners: Vec<String>,
    /// Which jobs are submitted when others are over, if any may be.
    pub linked: Option<Linked>,
}

impl<'a> WorkloadFiles<'a> {
    /// Reads the files of a workload, but does not look into them yet.
    pub fn open(spec: &'a Spec) -> WorkloadFiles<'a> {
        WorkloadFiles::with(spec, spec.files().map(|path| File::read(path)).collect())
    }

    /// The same, for a campaign whose logs can be streamed: long ones are not read yet.
    pub fn open_for_streams(spec: &'a Spec) -> WorkloadFiles<'a> {
        let file = |path: &String| match streamed::is_long(path) {
            true => File::look_at(path),
            false => File::read(path),
        };
        WorkloadFiles::with(spec, spec.files().map(file).collect())
    }

    fn with(spec: &'a Spec, files: Vec<File>) -> WorkloadFiles<'a> {
        let grid = spec.grid.as_ref().and_then(|_| files.get(spec.logs.len()));
        let grid = grid.and_then(File::grid);
        let power = grid.as_ref().and_then(grid::GridFile::power_digest);
        let queues = grid.map(|grid| grid.owners).unwrap_or_default();
        let owners = queues.into_iter().map(|queue| (File::read(&queue.log), queue.log));
        let owners = owners.map(|(file, path)| (path, file)).collect();
        let (read, streamed) = (OnceLock::new(), OnceLock::new());
        WorkloadFiles { spec, files, owners, power, read, streamed }
    }

    /// Whether the log is to be streamed: it is a long one that nothing has read whole yet.
    pub fn streams(&self) -> bool {
        self.files.iter().any(|file| file.input.get().is_none())
    }

    /// A run has streamed the log.
    pub(super) fn was_streamed(&self, facts: LogFacts) {
        self.streamed.get_or_init(|| facts);
    }

    /// What is known of the logs, if they were read and found sound.
    pub fn facts(&self) -> Option<Vec<LogFacts>> {
        let of = |log: &swf::Log| LogFacts {
            name: log.name.clone(),
            header: log.header.clone(),
            jobs: log.jobs.len(),
            without_request: log.summary.without_request,
            repeated: log.repeated(),
        };
        match self.read.get() {
            Some(read) => Some(read.as_ref().ok()?.logs.iter().map(of).collect()),
            None => self.streamed.get().cloned().map(|facts| vec![facts]),
        }
    }

    /// The hash of each file that could be read.
    pub fn hashes(&self) -> Vec<Option<String>> {
        let owners = self.owners.iter().map(|(_, file)| file);
        let files = self.files.iter().chain(owners).map(|file| file.sha256.clone());
        files.chain(self.power.clone().map(Some)).collect()
    }

    /// The path of each file, in the same order.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.spec.files().chain(self.owners.iter().map(|(path, _)| path))
    }

    /// How many jobs there are, if they were read and found sound.
    pub fn known_jobs(&self) -> Option<usize> {
        let count = |log: &swf::Log| log.jobs.len() + log.undated.len();
        Some(match self.read.get()? {
            Ok(machine) => machine.logs.iter().map(count).sum(),
            Err(_) => 0,
        })
    }

    /// The pools, as far as they are known before logs are read: those of the grid file, or a plain
    /// cluster. `None` if the grid file is not sound.
    pub fn listed_pools(&self) -> Option<Pools> {
        if self.spec.grid.is_none() {
            return Some(Pools::cluster(1));
        }
        Some(self.files.get(self.spec.logs.len())?.grid()?.pools(0))
    }

    /// Whether the grid file, if it is sound, says that jobs have data.
    pub fn has_data(&self) -> bool {
        let at = self.spec.grid.as_ref().map(|_| self.spec.logs.len());
        let grid = at.and_then(|at| self.files.get(at)?.grid());
        grid.is_some_and(|grid| grid.uses_data())
    }

    /// A pool of the grid file that does not take all jobs, if the file is sound and has one.
    pub fn limited_pool(&self) -> Option<String> {
        self.spec.grid.as_ref()?;
        let grid = self.files.get(self.spec.logs.len())?.grid()?;
        let pools = grid.pools(0);
        let limited = pools.as_slice().iter().find(|pool| pool.admission != Admission::NONE);
        limited.map(|pool| pool.name.clone())
    }

    /// Whether the memory of shared nodes is counted.
    pub(super) fn counts_memory(&self) -> bool {
        self.spec.memory.is_some() && self.spec.grid.is_none()
    }

    /// A pool of the grid file whose memory is not known, if it is to be counted.
    pub(super) fn pool_without_memory(&self) -> Option<String> {
        self.spec.memory.and(self.spec.grid.as_ref())?;
        let pools = self.listed_pools()?;
        let unknown = pools.as_slice().iter().find(|pool| pool.node_memory().is_none());
        unknown.map(|pool| pool.name.clone())
    }

    /// Whether its jobs become moldable.
    pub(super) fn is_moldable(&self) -> bool {
        self.spec.moldable.is_some()
    }

    /// Of how many jobs of the logs no memory is known, and how many are there, if it is counted.
    pub fn without_memory(&self) -> Option<(usize, usize)> {
        let field = self.spec.memory?;
        let machine = self.read.get()?.as_ref().ok()?;
        let jobs = || machine.logs.iter().flat_map(|log| &log.jobs);
        Some((jobs().filter(|job| memory::of(field, job).is_none()).count(), jobs().count()))
    }

    /// A field by which jobs keep to pools, where no pool of the grid file says of which part of the
    /// log's machine it is, and the path of that file.
    pub(super) fn missing_part(&self) -> Option<(&'static str, &str)> {
        let (path, pools) = (self.spec.grid.as_deref()?, self.listed_pools()?);
        let has = |name: &str| {
            let of = |pool: &tradewind_model::Pool| pool.attributes.get(name).cloned();
            pools.as_slice().iter().any(|pool| matches!(of(pool), Some(Attribute::Text(_))))
        };
        let names = self.spec.keep_to.iter().map(|field| field.name());
        names.into_iter().find(|name| !has(name)).map(|name| (name, path))
    }

    /// A pool of the grid file whose price changes with time, if the file is sound and has one.
    pub(super) fn changing_pool(&self) -> Option<(String, Layout)> {
        self.spec.grid.as_ref()?;
        let grid = self.files.get(self.spec.logs.len())?.grid()?;
        let pools = grid.pools(0);
        let (_, pool) = pools.iter().find(|(id, _)| pools.rate(*id).is_some())?;
        let layout = if grid.has_queues() { Layout::Queues } else { Layout::Pools };
        Some((pool.name.clone(), layout))
    }

    /// The logs as they are, and the processors of the machine, if they were read and found sound.
    pub fn logs_and_processors(&self) -> Option<(&[swf::Log], u32)> {
        let machine = self.read.get()?.as_ref().ok()?;
        Some((&machine.logs, machine.sites.pools(0).nodes()))
    }

    /// What was taken for granted about logs that were read, and about policies.
    pub fn assumptions(&self, policies: &[&PolicySpec]) -> Vec<String> {
        let repeated = self.facts().into_iter().flatten().filter(|log| log.repeated > 0);
        let repeated = repeated.map(|LogFacts { name, repeated, .. }| {
            format!("{name}: jobs with the number of another one, which results do not tell apart: {repeated}")
        });
        let Some(Ok(machine)) = self.read.get() else {
            let says = self.streamed.get().and_then(|log| log.header.max_procs());
            return repeated.chain(self.small_machine(says)).collect();
        };
        let name = &self.spec.name;
        let layout = machine.sites.layout();
        let meant = policies.iter().map(|policy| (policy.text(), policy.on(layout)));
        let other = meant.filter(|(text, meant)| *text != meant.text());
        let other = other.map(|(text, meant)| {
            let meant = meant.text();
            format!("{name}: pools are cut into queues, so `{text}` stands for `{meant}`")
        });
        let alone = policies.iter().filter(|policy| policy.migrates()).map(|it| it.text());
        let alone = alone.filter(|_| machine.sites.pools(0).as_slice().len() == 1);
        let alone = alone
            .map(|text| format!("{name}: one site, so no other site can take a job of `{text}`"));
        let owners = machine.sites.owners_logs().filter_map(|source| source.note(name));
        other.chain(alone).chain(repeated).chain(owners).chain(self.about_logs(machine)).collect()
    }

    fn about_logs(&self, machine: &Machine) -> Vec<String> {
        let name = &self.spec.name;
        if let Some(grid) = machine.sites.grid() {
            if self.spec.homes() != campaign::Homes::Log {
                return Vec::new();
            }
            let homeless = machine.logs.iter().enumerate();
            let homeless = homeless.filter(|(index, log)| grid.home(&log.name, *index).is_none());
            let said = |name: &str| {
                format!(
                    "{name}: no site of the grid is for this log, so its jobs have no home: write \
                     `log = \"{name}\"` at a site, or deal them out with --homes"
                )
            };
            return homeless.map(|(_, log)| said(&log.name)).collect();
        }
        let guessed = self.spec.logs.len() > 1 && self.spec.procs.is_none();
        let count = machine.sites.pools(0).nodes();
        let said = format!("{name}: one machine of {count} processors, the most that a log names");
        let says = machine.logs.iter().filter_map(|log| log.header.max_procs()).max();
        guessed.then_some(said).into_iter().chain(self.small_machine(says)).collect()
    }

    /// If the machine is given and smaller than a log says: jobs may be wider than it.
    fn small_machine(&self, says: Option<u32>) -> Option<String> {
        let (given, says) = (self.spec.procs?, says?);
        let said = format!(
            "{}: the log's machine has {says} processors, and `--procs` says {given}: jobs that \
             are wider cannot run",
            self.spec.name
        );
        (given < says).then_some(said)
    }

    /// What a run is made of.
    pub fn prepare(&self, run: &Run) -> Result<Prepared<'_>, Failure> {
        let machine = self.read.get_or_init(|| self.machine()).as_ref().map_err(Failure::clone)?;
        let seed = run.seed.unwrap_or_default();
        let pools = machine.sites.pools(seed);
        self.suits(run, &pools)?;
        self.owners_suit(run, machine)?;
        let logs = self.drawn(machine, seed, pools.nodes())?;
        let asking = machine.sites.terms(self.spec.homes(), seed, &pools);
        let logged = jobs_of(&logs, &asking, self.spec);
        let jobs = self.moved(&logged, run, pools.nodes())?;
        let (semantics, overrun) = (rules::semantics(run.semantics), rules::overrun(run.overrun));
        let mut workload = workload::prepare(&jobs, pools, semantics, overrun);
        if let Cow::Owned(_) = jobs {
            load::keep_order(&mut workload.jobs, &logged);
        }
        if run.decider.ours().is_some_and(|policy| policy.half_life().is_some() || policy.learns())
        {
            name_users(&mut workload.jobs);
        }
        if let Some(law) = &self.spec.moldable {
            let processors = workload.processors();
            moldable::read(law)?.apply(&mut workload.jobs, processors, seed);
        }
        if let Some(rule) = &self.spec.preemptible {
            let records = logs.iter().flat_map(|log| log.jobs.iter().chain(&log.undated));
            let queues: Vec<i64> = records.map(|record| record.queue).collect();
            let queue = |source: usize| queues.get(source).copied();
            preemptible::read(rule)?.apply(&mut workload.jobs, queue, seed);
        }
        if let Some(grid) = machine.sites.grid() {
            grid_terms::draw(&mut workload.jobs, grid, seed);
        }
        let by = self.spec.dependencies;
        let linked = by.map(|by| links::link(&mut workload, &logs, by)).transpose()?;
        workload.owners = machine.sites.owners(&workload.pools);
        self.no_line(&workload)?;
        workload.outages = machine.sites.outages(seed, &workload);
        self.policy_suits(run, &workload)?;
        let jobs = match jobs {
            Cow::Owned(jobs) => jobs,
            Cow::Borrowed(_) => logged,
        };
        let owners = machine.sites.owners_logs().map(|source| source.name().to_owned()).collect();
        Ok(Prepared { logs, jobs, workload, layout: machine.sites.layout(), owners, linked })
    }

    /// The jobs as often as they are to be submitted: squeezed, then at another load.
    fn moved<'j>(
        &self,
        logged: &'j [LogJob],
        run: &Run,
        nodes: u32,
    ) -> Result<Cow<'j, [LogJob]>, Failure> {
        let jobs = match self.spec.squeeze {
            Some(divisor) => Cow::Owned(load::squeezed(logged, divisor)),
            None => Cow::Borrowed(logged),
        };
        let Some(to) = run.load else { return Ok(jobs) };
        load::scaled(&jobs, nodes, to.thousandths()).map(Cow::Owned).ok_or_else(|| {
            let message = format!("{}: cannot be brought to load {to}", self.spec.name);
            Failure::data(message).hint("it needs jobs that ran, submitted over some time")
        })
    }

    /// The rules of pyss are about one cluster.
    fn suits(&self, run: &Run, pools: &Pools) -> Result<(), Failure> {
        let plain = !pools.counts_memory()
            && pools.as_slice().len() == 1
            && pools.as_slice()[0].performance == Performance::REFERENCE;
        let pyss = run.semantics == campaign::Semantics::Pyss;
        match pyss && !plain {
            _ if pyss && self.spec.moldable.is_some() => {
                let failure = Failure::usage(format!("{}: `pyss` knows no shapes", self.spec.name));
                Err(failure.hint("use `--semantics textbook` with `--moldable`"))
            }
            false => Ok(()),
            true => {
                let message = format!("{}: `pyss` is about one cluster", self.spec.name);
                Err(Failure::usage(message).hint("use `--semantics textbook` on a grid"))
            }
        }
    }

    /// Some policies cannot decide for every workload.
    fn policy_suits(&self, run: &Run, workload: &Workload) -> Result<(), Failure> {
        let policy = run.decider.ours().filter(|policy| !policy.suits(workload));
        policy.map_or(Ok(()), |policy| {
            let (name, text) = (&self.spec.name, policy.text());
            let why = "is about one cluster, and jobs that ask for processors and time only";
            let failure = Failure::usage(format!("{name}: policy `{text}` {why}"));
            Err(failure.hint("use `easy[backfill=shortest]` with `--estimate learned`"))
        })
    }

    /// Owners take nodes back only where the market's jobs are behind their queue.
    fn no_line(&self, workload: &Workload) -> Result<(), Failure> {
        let in_line = |load: &OwnersLoad| load.market == Standing::InLine;
        if self.spec.preemptible.is_none() || !workload.owners.iter().any(in_line) {
            return Ok(());
        }
        let name = &self.spec.name;
        let message = format!("{name}: preemptible jobs do not stand in line with the owners'");
        Err(Failure::usage(message).hint("write `market = \"behind\"` in the grid file"))
    }

    /// The rules of pyss know no owners.
    fn owners_suit(&self, run: &Run, machine: &Machine) -> Result<(), Failure> {
        let pyss = run.semantics == campaign::Semantics::Pyss;
        match pyss && machine.sites.owners_logs().next().is_some() {
            false => Ok(()),
            true => {
                let message = format!("{}: `pyss` knows no owners' queues", self.spec.name);
                Err(Failure::usage(message).hint("use `--semantics textbook`"))
            }
        }
    }

    /// The logs, or what a seed makes of them or of a model.
    fn drawn<'m>(
        &self,
        machine: &'m Machine,
        seed: u64,
        nodes: u32,
    ) -> Result<Cow<'m, [swf::Log]>, Failure> {
        if let Some(text) = &self.spec.model {
            let model = model::read(text, nodes)?;
            return Ok(Cow::Owned(vec![self.sliced(model.draw(seed))]));
        }
        let Some(users) = self.spec.users else { return Ok(Cow::Borrowed(&machine.logs)) };
        let options = Resample { users: Some(users), ..Resample::default() };
        let resampled = |log: &swf::Log| match is_empty(log) {
            true => Ok(log.clone()),
            false => transform::resample(log, seed, options)
                .map_err(|error| Failure::data(format!("{}: {error}", self.spec.name))),
        };
        machine.logs.iter().map(resampled).collect::<Result<_, _>>().map(Cow::Owned)
    }

    fn machine(&self) -> Result<Machine, Failure> {
        let (mut logs, mut spans): (Vec<swf::Log>, Vec<(Time, Time)>) = Default::default();
        let inputs = self.files.iter().map(File::input);
        let inputs: Vec<&Input> =
            inputs.collect::<Result<_, _>>().map_err(|wrong| Failure::from(wrong.clone()))?;
        let (packed_logs, others) = inputs.split_at(self.spec.logs.len());
        for packed in packed_logs {
            let mut log = swf::parse(&*input::unpacked(packed)?)?;
            log.name = campaign::log_name(&log.name).to_owned();
            if logs.iter().any(|other| other.name == log.name) {
                let failure = Failure::usage(format!("two logs are named `{}`", log.name));
                return Err(failure.hint("rename one: their jobs are distinguished by it"));
            }
            spans.push(log.span());
            logs.push(self.sliced(log));
        }
        let largest = logs.iter().filter_map(|log| log.header.max_procs()).max();
        let processors = || {
            self.spec.procs.or(largest).ok_or_else(|| {
                let first = logs.first().map(|log| log.header.no_max_procs());
                let message =
                    format!("{}: {}", self.spec.logs.join(", "), first.unwrap_or_default());
                Failure::data(message).hint("say how many processors the machine has: `--procs N`")
            })
        };
        let owners: Vec<_> = {
            let input = |(_, file): &(String, File)| file.input().cloned().map_err(Clone::clone);
            self.owners.iter().map(input).collect()
        };
        let inputs = sites::Inputs { owners: &owners, ..sites::split(self.spec, others) };
        let sites = Sites::read(&inputs, self.spec.nodes, &processors)?;
        Ok(Machine { logs: self.checked(logs, &spans)?, sites })
    }

    fn sliced(&self, log: swf::Log) -> swf::Log {
        let (from, to) = (self.spec.from, self.spec.to);
        match from.is_none() && to.is_none() {
            true => log,
            false => transform::slice(&log, Slice { from, to, clock: SliceClock::Kept }),
        }
    }

    /// There must be something to replay. `spans`: from the first submission to the last end of
    /// each log as it was read.
    fn checked(
        &self,
        logs: Vec<swf::Log>,
        spans: &[(Time, Time)],
    ) -> Result<Vec<swf::Log>, Failure> {
        if self.spec.model.is_some() || !logs.iter().all(is_empty) {
            return Ok(logs);
        }
        let first = spans.iter().map(|(first, _)| first.0).min().unwrap_or(0);
        let last = spans.iter().map(|(_, last)| last.0).max().unwrap_or(0);
        let days = |seconds: i64| {
            format!("{seconds} s (day {}.{})", seconds / 86_400, seconds % 86_400 / 8_640)
        };
        let failure = Failure::data(format!("{}: no job in this time", self.spec.name));
        Err(failure.hint(format!(
            "on the log's clock the first job is submitted at {}, and the last ends at {}; jobs \
             submitted at `from` or later and before `to` are replayed",
            days(first),
            days(last)
        )))
    }
}

fn is_empty(log: &swf::Log) -> bool {
    log.jobs.is_empty() && log.undated.is_empty()
}

impl Prepared<'_> {
    /// The log and the record that each job comes from.
    pub fn records(&self) -> impl Iterator<Item = (usize, &swf::Record)> {
        self.logs.iter().enumerate().flat_map(|(index, log)| {
            log.jobs.iter().chain(&log.undated).map(move |record| (index, record))
        })
    }

    /// The log of each job.
    pub fn log_of(&self) -> impl Iterator<Item = usize> {
        self.records().map(|(log, _)| log)
    }
}

/// The jobs of all logs. Users of different logs are different, whatever their numbers.
fn jobs_of(logs: &[swf::Log], asking: &Asking<'_>, spec: &Spec) -> Vec<LogJob> {
    const USERS_APART: i64 = 1 << 51;
    let count = logs.iter().map(|log| log.jobs.len() + log.undated.len()).sum();
    let mut jobs = Vec::with_capacity(count);
    for (index, log) in logs.iter().enumerate() {
        let users = USERS_APART.saturating_mul(index as i64);
        let home_of_log = asking.home(&log.name, index);
        let terms = |place: usize, job: &swf::Record| {
            let name = match logs.len() {
                _ if asking.is_silent() => return None,
                1 => job.number.to_string(),
                _ => format!("{}!{}", log.name, job.number),
            };
            let mut terms = asking.of(&name, &Newcomer { job, place, log: index, home_of_log })?;
            terms.attributes.extend(spec.keep_to.iter().filter_map(|field| part(*field, job)));
            Some(Arc::new(Terms { user: terms.user.saturating_add(users), ..terms }))
        };
        let read = |(place, job): (usize, &swf::Record)| LogJob {
            terms: memory::with(terms(place, job), spec, (job, users)),
            ..dated(job, users)
        };
        jobs.extend(log.jobs.iter().enumerate().map(read));
        let undated = log.undated.iter().enumerate();
        jobs.extend(undated.map(|it| LogJob { submit: None, ..read(it) }));
    }
    jobs
}

/// The part of the log's machine in which a job was, as an attribute of nodes.
fn part(field: LogField, job: &swf::Record) -> Option<(String, Attribute)> {
    let number = match field {
        LogField::Queue => job.queue,
        LogField::Partition => job.partition,
    };
    (number >= 0).then(|| (field.name().to_owned(), Attribute::Text(number.to_string())))
}

/// Jobs that ask for nothing say whose they are.
fn name_users(jobs: &mut [workload::Job]) {
    let mut users: BTreeMap<i64, Arc<Terms>> = BTreeMap::new();
    for job in jobs.iter_mut().filter(|job| job.terms.is_none()) {
        let user = job.user;
        let terms = users.entry(user).or_insert_with(|| Arc::new(Terms { user, ..Terms::NONE }));
        job.terms = Some(Arc::clone(terms));
    }
}

/// A job of the log; its width is what it got, or else what it asked for.
pub fn dated(job: &swf::Record, users: i64) -> LogJob {
    LogJob {
        number: job.number,
        submit: Some(job.submit),
        run: job.run,
        processors: job.held(),
        requested: job.requested_time.filter(|span| span.0 > 0),
        user: job.user.saturating_add(users),
        terms: None,
    }
}
