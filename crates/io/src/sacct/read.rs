//! Lines become rows.

use std::collections::HashMap;

use tradewind_model::Pools;

use super::columns::{self, Columns, Field, Values};
use super::machine::{self, PartitionPools};
use super::names::{JobNames, Names};
use super::nodes::NodesSeen;
use super::rows::{self, NONE, Rows, SacctRow};
use super::state::{self, Stage, Status};
use super::times::{TimeCell, moment};
use super::values::{self, HET, JobId, Limit, Memory};
use super::{Arrival, Counts, History, KeepNames, ProcessorUnit, SacctOptions};
use crate::diagnostics::{Diagnostic, Diagnostics, excerpt};

/// Users, accounts: as many as there may be.
const MOST_NAMES: usize = 4_000_000;
/// Partitions, QOS.
const MOST_PARTITIONS: usize = 65_000;

const TIME_HINT: &str = "times are `2026-03-05T10:11:12`, seconds since 1970, `Unknown` or `None`: \
                         unset SLURM_TIME_FORMAT, or set it to `%s`";

/// Names by kind.
#[derive(Debug)]
pub(super) struct AllNames {
    pub(super) users: Names,
    pub(super) accounts: Names,
    pub(super) partitions: Names,
    pub(super) qos: Names,
    pub(super) jobs: JobNames,
}

/// Reads rows one by one.
#[derive(Debug)]
pub struct SacctReader {
    file: String,
    options: SacctOptions,
    line: u32,
    columns: Option<Columns>,
    unit: ProcessorUnit,
    ends: Vec<(usize, usize)>,
    rows: Rows,
    names: AllNames,
    nodes: NodesSeen,
    /// By partition: the most processors that a job had on one node.
    per_node: HashMap<u16, u32>,
    counts: Counts,
    diagnostics: Diagnostics,
    /// Whether the header or the file as a whole is useless.
    stopped: bool,
}

/// A value that cannot be read: its field, and what to do.
struct Bad {
    field: Field,
    hint: String,
}

impl Bad {
    fn new(field: Field, hint: impl Into<String>) -> Bad {
        Bad { field, hint: hint.into() }
    }
}

/// What keeps a row out of the log.
enum Skip {
    Bad(Bad),
    Step,
    Elsewhere,
    WithoutSubmit,
}

impl From<Bad> for Skip {
    fn from(bad: Bad) -> Skip {
        Skip::Bad(bad)
    }
}

impl SacctReader {
    /// A reader of `file`, as messages name it.
    pub fn new(file: &str, options: SacctOptions) -> SacctReader {
        let jobs = match options.names {
            KeepNames::Yes => JobNames::Kept(Names::default()),
            KeepNames::No => JobNames::Hashed(HashMap::new()),
        };
        let (users, accounts) = (Names::default(), Names::default());
        let (partitions, qos) = (Names::default(), Names::default());
        SacctReader {
            file: file.to_owned(),
            unit: options.unit.unwrap_or(ProcessorUnit::Cpus),
            options,
            line: 0,
            columns: None,
            ends: Vec::new(),
            rows: Rows::default(),
            names: AllNames { users, accounts, partitions, qos, jobs },
            nodes: NodesSeen::default(),
            per_node: HashMap::new(),
            counts: Counts::default(),
            diagnostics: Diagnostics::default(),
            stopped: false,
        }
    }

    /// Takes the next line, without its line break. The first one that is not blank is the header.
    pub fn line(&mut self, bytes: &[u8]) {
        self.line = self.line.saturating_add(1);
        let bytes = if self.line == 1 {
            bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
        } else {
            bytes
        };
        if self.stopped || bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if bytes.contains(&0) {
            self.stop("a binary file, not text", "give what `sacct -aXDP` prints, plain or gzip");
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches('\r');
        let Some(columns) = self.columns.take() else {
            self.header(text);
            return;
        };
        self.counts.rows += 1;
        self.row(&columns, text);
        self.columns = Some(columns);
    }

    fn stop(&mut self, message: &str, hint: &str) {
        let it = Diagnostic::error(&self.file, message).at_line(self.line).with_hint(hint);
        self.diagnostics.push(it);
        self.stopped = true;
    }

    fn header(&mut self, text: &str) {
        match Columns::read(&self.file, self.line, text) {
            Ok(columns) => {
                let has = |field| columns.place(field).is_some();
                let counted = has(Field::AllocCpus) || has(Field::ReqCpus);
                let known = counted || has(Field::AllocTres) || has(Field::ReqTres);
                let unit = if known { ProcessorUnit::Cpus } else { ProcessorUnit::Nodes };
                self.unit = self.options.unit.unwrap_or(unit);
                self.columns = Some(columns);
            }
            Err(problems) => {
                self.diagnostics.extend(problems.iter().cloned());
                self.stopped = true;
            }
        }
    }

    fn row(&mut self, columns: &Columns, text: &str) {
        let mut room = std::mem::take(&mut self.ends);
        match Values::split(text, columns, &mut room) {
            Err(count) => {
                let what = format!("{count} values instead of {}", columns.count);
                let hint = "is the line complete? a name of a job may contain `|` only if the \
                            header has a column JobName";
                let it = Diagnostic::error(&self.file, what).at_line(self.line).with_hint(hint);
                self.diagnostics.push(it);
            }
            Ok(values) => match self.take(&values) {
                Ok(_) if self.rows.len() >= rows::MOST => {
                    self.stop("more than 100,000,000 jobs", "give a shorter period");
                }
                Ok(row) => self.rows.push(row),
                Err(Skip::Step) => self.counts.steps += 1,
                Err(Skip::Elsewhere) => self.counts.elsewhere += 1,
                Err(Skip::WithoutSubmit) => self.counts.without_submit += 1,
                Err(Skip::Bad(bad)) => self.bad(&values, bad),
            },
        }
        self.ends = room;
    }

    fn bad(&mut self, values: &Values<'_>, bad: Bad) {
        let what = match values.get(bad.field) {
            Some(text) => format!("`{}` cannot be read", excerpt(text)),
            None => "missing".to_owned(),
        };
        let it = Diagnostic::error(&self.file, what).at_line(self.line);
        let it = match values.column(bad.field) {
            Some(column) => it.at_column(column),
            None => it,
        };
        self.diagnostics.push(it.in_field(columns::name(bad.field)).with_hint(bad.hint));
    }

    fn take(&mut self, values: &Values<'_>) -> Result<SacctRow, Skip> {
        let hint = "write a job's number, such as `123`, `123_4`, `123_[5-9]` or `123+0`";
        let bad = || Bad::new(Field::JobId, hint);
        let id = values.get(Field::JobId).and_then(values::job_id).ok_or_else(bad)?;
        let JobId::Job { job, part } = id else { return Err(Skip::Step) };
        // A job that waits for several partitions names them all.
        let partition = values.get(Field::Partition).unwrap_or_default();
        let partition = partition.split(',').next().unwrap_or_default();
        if !self.options.partitions.is_empty() && !self.options.partitions.contains(partition) {
            return Err(Skip::Elsewhere);
        }
        let stage = state::stage(values.get(Field::State).unwrap_or_default());
        let stage = stage.map_err(|hint| Bad::new(Field::State, hint))?;
        let life = self.life(values, stage)?;
        let limit = limit(values)?;
        let (processors, nodes) = self.width(values, life.wait != NONE)?;
        let memory = memory(values, processors, nodes)?;
        let partition = self.partition(partition)?;
        if life.wait != NONE {
            self.machine(values, partition, processors, nodes);
        }
        let row = SacctRow {
            submit: life.submit,
            wait: life.wait,
            run: life.run,
            processors,
            limit,
            memory,
            job,
            part,
            user: NONE,
            group: NONE,
            application: NONE,
            queue: u16::MAX,
            partition,
            status: life.status,
            ended: life.ended,
        };
        Ok(self.named(values, row))
    }

    /// The row with the numbers of its names.
    fn named(&mut self, values: &Values<'_>, row: SacctRow) -> SacctRow {
        let names = &mut self.names;
        let number = |names: &mut Names, field, most| {
            values.get(field).and_then(|name| names.number(name, most))
        };
        let queue = number(&mut names.qos, Field::Qos, MOST_PARTITIONS);
        SacctRow {
            user: number(&mut names.users, Field::User, MOST_NAMES).unwrap_or(NONE),
            group: number(&mut names.accounts, Field::Account, MOST_NAMES).unwrap_or(NONE),
            application: values.get(Field::JobName).map_or(NONE, |name| names.jobs.number(name)),
            queue: queue.and_then(|it| u16::try_from(it).ok()).unwrap_or(u16::MAX),
            ..row
        }
    }

    fn partition(&mut self, name: &str) -> Result<u16, Bad> {
        let number = self.names.partitions.number(name, MOST_PARTITIONS);
        let hint = "there are more than 65,000 names: is this the column of partitions?";
        let number = number.and_then(|it| u16::try_from(it).ok());
        number.ok_or_else(|| Bad::new(Field::Partition, hint))
    }

    /// When the job arrived, started and ended.
    fn life(&mut self, values: &Values<'_>, stage: Stage) -> Result<JobTimes, Skip> {
        let zone = &self.options.zone;
        let time = |field: Field| match values.get(field) {
            None => Ok(TimeCell::None),
            Some(text) => moment(text, zone).ok_or_else(|| Bad::new(field, TIME_HINT)),
        };
        let submitted = time(Field::Submit)?.earliest().ok_or(Skip::WithoutSubmit)?;
        let eligible = time(Field::Eligible)?.not_before(submitted);
        let eligible = eligible.filter(|_| self.options.arrival == Arrival::Eligible);
        let submit = eligible.map_or(submitted, |at| at.max(submitted));
        let (start, end) = (time(Field::Start)?, time(Field::End)?);
        let elapsed = elapsed(values)?;
        // A job that was cancelled while it waited has a start in some versions, but no nodes.
        let nowhere = values.get(Field::NodeList).is_some_and(|text| text == "None assigned");
        let start = start.not_before(submit).filter(|_| stage != Stage::Waiting && !nowhere);
        let status = match stage {
            Stage::Ended(status) => status,
            _ => Status::Unknown,
        };
        let ended = matches!(stage, Stage::Ended(_));
        let Some(start) = start else {
            return Ok(JobTimes { submit, wait: NONE, run: NONE, status, ended });
        };
        self.counts.early += usize::from(start < submit);
        let submit = submit.min(start);
        let until = end.not_before(start);
        let run = match (elapsed, until) {
            (Some(elapsed), _) => Some(elapsed),
            (None, Some(end)) if end >= start => Some(end - start),
            (None, Some(_)) => {
                return Err(Bad::new(Field::End, "it ends before it starts").into());
            }
            (None, None) if ended => {
                return Err(Bad::new(Field::End, "a job that ended has an end").into());
            }
            (None, None) => None,
        };
        let run = run.filter(|run| *run < rows::OF_PARTITION);
        Ok(JobTimes { submit, wait: start - submit, run: run.unwrap_or(NONE), status, ended })
    }

    /// Processors in the log's unit, and nodes; 0 where unknown.
    fn width(&self, values: &Values<'_>, started: bool) -> Result<(u32, u32), Bad> {
        let most = Pools::MAX_NODES;
        let given = |field: Field, text: &str| {
            let hint = format!("write a number up to {most}");
            values::count(text).filter(|it| *it <= most).ok_or_else(|| Bad::new(field, hint))
        };
        let count = |field: Field| values.get(field).map(|text| given(field, text)).transpose();
        let listed = |field: Field, name: &str| {
            let text = values.get(field).and_then(|text| values::tres(text, name));
            text.map(|text| given(field, text)).transpose()
        };
        let of = |alloc, request, name| -> Result<u32, Bad> {
            let held = count(alloc)?.or(listed(Field::AllocTres, name)?);
            let held = held.filter(|it| *it > 0);
            let wanted = count(request)?.or(listed(Field::ReqTres, name)?);
            let wanted = wanted.filter(|it| *it > 0);
            let best = if started { held.or(wanted) } else { wanted.or(held) };
            Ok(best.unwrap_or(0))
        };
        let nodes = of(Field::AllocNodes, Field::ReqNodes, "node")?;
        match self.unit {
            ProcessorUnit::Nodes => Ok((nodes, nodes)),
            ProcessorUnit::Cpus => Ok((of(Field::AllocCpus, Field::ReqCpus, "cpu")?, nodes)),
        }
    }

    /// What the row says about the machine.
    fn machine(&mut self, values: &Values<'_>, partition: u16, processors: u32, nodes: u32) {
        if nodes > 0 {
            let each = self.per_node.entry(partition).or_insert(1);
            *each = (*each).max(processors.div_ceil(nodes));
        }
        if let Some(list) = values.get(Field::NodeList)
            && self.nodes.add(partition, list).is_err()
        {
            self.counts.odd_nodes += 1;
        }
    }

    /// All jobs in order.
    ///
    /// # Errors
    /// Everything that is wrong with the file, or that it has no job.
    pub fn finish(mut self) -> Result<History, Diagnostics> {
        if self.columns.is_none() && !self.stopped {
            self.stop("the file is empty", "was `sacct` stopped, or did it print nothing?");
        }
        if self.diagnostics.errors() == 0 && self.rows.len() == 0 {
            let hint = "is the period right, and may you see all users' jobs? see `sacct -a`";
            self.stop("no job in the file", hint);
        }
        if self.diagnostics.errors() > 0 {
            return Err(self.diagnostics);
        }
        self.counts.repeated = self.rows.settle();
        self.count_all();
        machine::fill_in(&mut self.rows, self.names.partitions.len());
        self.history()
    }

    fn count_all(&mut self) {
        let counts = &mut self.counts;
        for row in self.rows.in_order() {
            counts.jobs += 1;
            counts.never_started += usize::from(!row.started());
            counts.running += usize::from(row.started() && !row.ended);
            counts.requeued += usize::from(row.started() && row.status == Status::Interrupted);
            counts.components += usize::from(row.part & HET != 0);
            counts.unlimited += usize::from(row.limit == values::YEAR_S);
            counts.of_partition += usize::from(row.limit == rows::OF_PARTITION);
            counts.without_processors += usize::from(row.started() && row.processors == 0);
        }
    }

    fn history(mut self) -> Result<History, Diagnostics> {
        let partitions = self.names.partitions.len();
        let machine = PartitionPools::of(&self.rows, &mut self.nodes, &self.per_node, partitions);
        let Some(machine) = machine.bounded() else {
            let what = format!("jobs hold more than {} processors at one time", Pools::MAX_NODES);
            let hint = "give one partition (`--partition`), or whole nodes (`--unit nodes`)";
            return Err(Diagnostic::error(&self.file, what).with_hint(hint).into());
        };
        Ok(History {
            counts: self.counts,
            unit: self.unit,
            arrival: self.options.arrival,
            zone: self.options.zone.iana_name().unwrap_or("UTC").to_owned(),
            columns: self.columns.map(|columns| columns.used).unwrap_or_default(),
            rows: self.rows,
            names: self.names,
            machine,
        })
    }
}

/// When a job was where, in seconds.
#[derive(Clone, Copy)]
struct JobTimes {
    submit: u32,
    wait: u32,
    run: u32,
    status: Status,
    ended: bool,
}

/// How long it ran, without suspensions.
fn elapsed(values: &Values<'_>) -> Result<Option<u32>, Bad> {
    let hint = "write seconds in ElapsedRaw, `2-03:04:05` in Elapsed";
    if let Some(text) = values.get(Field::ElapsedRaw) {
        return values::seconds(text).map(Some).ok_or_else(|| Bad::new(Field::ElapsedRaw, hint));
    }
    let text = values.get(Field::Elapsed).filter(|text| *text != "INVALID");
    text.map(|text| values::clock(text).ok_or_else(|| Bad::new(Field::Elapsed, hint))).transpose()
}

/// The time limit in seconds, or one of the marks of [`rows`].
fn limit(values: &Values<'_>) -> Result<u32, Bad> {
    let hint = "write `2-03:04:05`, `UNLIMITED` or `Partition_Limit`; TimelimitRaw has minutes";
    let limit = match (values.get(Field::Timelimit), values.get(Field::TimelimitRaw)) {
        (Some(text), _) => values::limit(text).ok_or_else(|| Bad::new(Field::Timelimit, hint))?,
        (None, Some(text)) => {
            values::limit_raw(text).ok_or_else(|| Bad::new(Field::TimelimitRaw, hint))?
        }
        (None, None) => Limit::Unknown,
    };
    Ok(match limit {
        Limit::Seconds(seconds) => seconds.min(values::YEAR_S - 1),
        Limit::Unlimited => values::YEAR_S,
        Limit::OfPartition => rows::OF_PARTITION,
        Limit::Unknown => NONE,
    })
}

/// Requested memory per processor in kibibytes.
fn memory(values: &Values<'_>, processors: u32, nodes: u32) -> Result<u32, Bad> {
    let hint = "write an amount such as `4000M`, `4Gn` or `512Mc`";
    let memory = match values.get(Field::ReqMem) {
        Some(text) => Some(values::memory(text).ok_or_else(|| Bad::new(Field::ReqMem, hint))?),
        None => values.get(Field::ReqTres).and_then(values::tres_memory),
    };
    let Some(memory) = memory.filter(|_| processors > 0) else { return Ok(NONE) };
    let (processors, nodes) = (u64::from(processors), u64::from(nodes.max(1)));
    let each = match memory {
        Memory::OfJob(all) => all / processors,
        Memory::PerNode(one) => one.saturating_mul(nodes) / processors,
        Memory::PerProcessor(one) => one,
    };
    Ok(u32::try_from(each).ok().filter(|it| (1..NONE).contains(it)).unwrap_or(NONE))
}
