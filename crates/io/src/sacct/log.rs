//! A history becomes a log in the Standard Workload Format, and a list of names.

use std::io::{self, Write};

use tradewind_model::{Span, Time};

use super::names::{JobNames, Names, Renumbered};
use super::rows::{NONE, SacctRow};
use super::{Arrival, Counts, History, ProcessorUnit};
use crate::swf::{self, Header, Record};

/// The kinds of names in a list of names, in its order.
pub const KINDS: [&str; 5] = ["user", "account", "job-name", "qos", "partition"];

/// Numbers of names, in the order of the log.
pub(super) struct Numbers {
    users: Renumbered,
    accounts: Renumbered,
    jobs: Renumbered,
    qos: Renumbered,
    partitions: Renumbered,
}

impl History {
    fn numbers(&self) -> Numbers {
        let names = &self.names;
        Numbers {
            users: Renumbered::new(names.users.len()),
            accounts: Renumbered::new(names.accounts.len()),
            jobs: Renumbered::new(names.jobs.len()),
            qos: Renumbered::new(names.qos.len()),
            partitions: Renumbered::new(names.partitions.len()),
        }
    }

    /// Writes the log: comments, then a line per job in order of arrival. Times begin at 0.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_log(&self, to: &mut dyn Write) -> io::Result<()> {
        let first = self.rows.in_order().next().map_or(0, |row| row.submit);
        let mut text = String::new();
        swf::write_header(&mut text, &self.header(first));
        let mut numbers = self.numbers();
        for (number, row) in (1..).zip(self.rows.in_order()) {
            swf::write_record(&mut text, &numbers.record(number, first, &row));
            if text.len() > 1 << 16 {
                to.write_all(text.as_bytes())?;
                text.clear();
            }
        }
        to.write_all(text.as_bytes())
    }

    fn header(&self, first: u32) -> Header {
        let mut header = Header::default();
        let shown = self.partition_numbers();
        let (jobs, processors) = (self.counts.jobs.to_string(), self.processors().to_string());
        let (start, partitions) = (first.to_string(), shown.count().to_string());
        for (key, value) in [
            ("Version", "2.2"),
            ("Computer", "a Slurm cluster"),
            ("Installation", "made anonymous"),
            ("Conversion", "tradewind generate sacct"),
            ("MaxJobs", jobs.as_str()),
            ("MaxRecords", &jobs),
            ("UnixStartTime", &start),
            ("TimeZoneString", &self.zone),
            ("MaxProcs", &processors),
            ("MaxPartitions", &partitions),
        ] {
            header.set(key, value);
        }
        if self.unit == ProcessorUnit::Nodes {
            header.set("MaxNodes", &processors);
        }
        self.notes().iter().for_each(|note| header.note(note));
        header
    }

    /// What the log means, was made from, and what was assumed: one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "from the accounting of Slurm, read from `sacct`".to_owned(),
            format!("columns used: {}", self.columns.join(", ")),
            format!(
                "processors are {}; fields 5 and 8 of a job that ran are what it held",
                self.unit.words()
            ),
            "user, group (account), application (name of the job), queue (QOS) and partition are \
             numbers in order of first appearance"
                .to_owned(),
        ];
        notes.push(match self.arrival {
            Arrival::Submit => "jobs arrive when they were submitted".to_owned(),
            Arrival::Eligible
                if self.columns.iter().any(|it| it.eq_ignore_ascii_case("eligible")) =>
            {
                "jobs arrive when they were eligible: dependencies, `--begin` and holds are over \
                 then"
                    .to_owned()
            }
            Arrival::Eligible => "jobs arrive when they were submitted: there is no column \
                                  Eligible"
                .to_owned(),
        });
        notes.extend(self.counts.remarks());
        for (index, pool) in self.machine.pools.iter().enumerate() {
            let (number, size) = (index + 1, pool.processors);
            notes.push(format!("pool-{number} has {size}: {}", self.evidence(pool)));
        }
        notes
    }

    /// The numbers of partitions in the log.
    pub(super) fn partition_numbers(&self) -> Renumbered {
        let mut numbers = Renumbered::new(self.names.partitions.len());
        for row in self.rows.in_order() {
            numbers.take(row.partition.into());
        }
        numbers
    }

    /// Writes `kind,number,name` for each name in the log, as CSV: the key to the numbers. Names of
    /// jobs are only there if they were kept.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_names(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut numbers = self.numbers();
        for row in self.rows.in_order() {
            numbers.record(0, 0, &row);
        }
        let none = Names::default();
        let jobs = match &self.names.jobs {
            JobNames::Kept(names) => names,
            JobNames::Hashed(_) => &none,
        };
        let names = &self.names;
        let lists = [
            (&names.users, &numbers.users),
            (&names.accounts, &numbers.accounts),
            (jobs, &numbers.jobs),
            (&names.qos, &numbers.qos),
            (&names.partitions, &numbers.partitions),
        ];
        let mut csv = csv::Writer::from_writer(to);
        csv.write_record(["kind", "number", "name"])?;
        for (kind, (names, numbers)) in KINDS.iter().zip(lists) {
            let mut list: Vec<(u32, &str)> = Vec::new();
            for (old, name) in names.list().into_iter().enumerate() {
                list.extend(numbers.of(old).map(|number| (number, name)));
            }
            list.sort_unstable();
            for (number, name) in list {
                csv.write_record([*kind, &number.to_string(), name])?;
            }
        }
        csv.flush()
    }
}

impl Numbers {
    fn record(&mut self, number: i64, first: u32, row: &SacctRow) -> Record {
        let span = |seconds: u32| (seconds != NONE).then(|| Span(seconds.into()));
        let width = Some(row.processors).filter(|it| *it > 0);
        let short = |number: u16| if number == u16::MAX { NONE } else { number.into() };
        Record {
            number,
            submit: Time(i64::from(row.submit) - i64::from(first)),
            wait: span(row.wait),
            run: span(row.run),
            processors: width.filter(|_| row.started()),
            cpu_time: None,
            memory: None,
            requested_processors: width,
            requested_time: span(row.limit),
            requested_memory: (row.memory != NONE).then(|| i64::from(row.memory) * 1_000),
            status: row.status.number(),
            user: self.users.take(row.user),
            group: self.accounts.take(row.group),
            application: self.jobs.take(row.application),
            queue: self.qos.take(short(row.queue)),
            partition: self.partitions.take(row.partition.into()),
            preceding: -1,
            think_time: -1,
        }
    }
}

impl Counts {
    /// What was left out or assumed: one sentence each, without a final period.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut say = |count: usize, what: &str| {
            if count > 0 {
                remarks.push(format!("{what}: {count}"));
            }
        };
        say(self.steps, "rows of job steps, left out");
        say(self.elsewhere, "rows of other partitions, left out");
        say(self.without_submit, "rows without a time of submission, left out");
        say(self.repeated, "rows that repeat a run of a job, left out");
        say(
            self.never_started,
            "jobs that never started, without a run time: a replay leaves them out",
        );
        say(self.running, "jobs that still ran, with the time that they had run");
        say(self.requeued, "runs that ended by a requeue or a preemption, each a job");
        say(self.components, "components of heterogeneous jobs, each a job");
        say(
            self.unlimited,
            "jobs without a time limit, with 365 days as Slurm's backfilling assumes",
        );
        say(
            self.of_partition,
            "jobs with the limit of their partition, with the longest limit of others there, or 365 days",
        );
        say(self.early, "jobs that started before they were eligible: they arrive at their start");
        say(self.without_processors, "jobs that ran without a number of processors");
        say(
            self.odd_nodes,
            "rows with a list of nodes that cannot be read, without effect on sizes",
        );
        remarks
    }
}
