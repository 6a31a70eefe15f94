//! The header line: which column has which field.

use crate::diagnostics::{Diagnostic, Diagnostics};

/// A field that is read. Others are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    JobId,
    Submit,
    Eligible,
    Start,
    End,
    ElapsedRaw,
    Elapsed,
    Timelimit,
    TimelimitRaw,
    AllocCpus,
    ReqCpus,
    AllocNodes,
    ReqNodes,
    AllocTres,
    ReqTres,
    ReqMem,
    State,
    User,
    Account,
    Partition,
    Qos,
    JobName,
    NodeList,
}

/// Names of columns in lower case. The second name of a field is an alias of Slurm's.
const NAMES: [(&str, Field); 28] = [
    ("jobid", Field::JobId),
    ("submit", Field::Submit),
    ("eligible", Field::Eligible),
    ("start", Field::Start),
    ("end", Field::End),
    ("elapsedraw", Field::ElapsedRaw),
    ("elapsed", Field::Elapsed),
    ("timelimit", Field::Timelimit),
    ("timelimitraw", Field::TimelimitRaw),
    ("alloccpus", Field::AllocCpus),
    ("ncpus", Field::AllocCpus),
    ("reqcpus", Field::ReqCpus),
    ("allocnodes", Field::AllocNodes),
    ("nnodes", Field::AllocNodes),
    ("reqnodes", Field::ReqNodes),
    ("alloctres", Field::AllocTres),
    ("reqtres", Field::ReqTres),
    ("reqmem", Field::ReqMem),
    ("state", Field::State),
    ("user", Field::User),
    ("uid", Field::User),
    ("account", Field::Account),
    ("partition", Field::Partition),
    ("qos", Field::Qos),
    ("qosraw", Field::Qos),
    ("jobname", Field::JobName),
    ("nodelist", Field::NodeList),
    ("nodes", Field::NodeList),
];

/// How many columns a header may have: Slurm knows about 120.
const MOST: usize = 1_000;

/// What to do about a missing column.
const HINT: &str = "run `sacct -aXDP -o JobID,Submit,Start,End,NNodes,NCPUS,Timelimit,State,User,\
                    Account,Partition` without `-n`";

/// Where the fields are.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    /// The column of each field, by [`Field`].
    at: Vec<(Field, usize)>,
    /// How many columns there are.
    pub(super) count: usize,
    /// Whether lines end with a delimiter, as `sacct -p` prints them.
    trailing: bool,
    /// As the header has them, for the log's comments.
    pub(super) used: Vec<String>,
}

impl Columns {
    /// Reads the header line.
    pub(super) fn read(file: &str, number: u32, line: &str) -> Result<Columns, Diagnostics> {
        let bare = line.strip_suffix('|').unwrap_or(line);
        let names: Vec<&str> = bare.split('|').take(MOST + 1).collect();
        let mut columns =
            Columns { count: names.len(), trailing: bare.len() < line.len(), ..Columns::default() };
        for (index, name) in names.iter().enumerate() {
            let name = name.trim();
            let found = NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
            // Of two columns with the same meaning, the first one counts.
            if let Some((_, field)) = found
                && columns.place(*field).is_none()
            {
                columns.at.push((*field, index));
                columns.used.push(name.to_owned());
            }
        }
        let mut problems = Diagnostics::default();
        let mut missing = |what: &str| {
            let it = Diagnostic::error(file, what).at_line(number);
            problems.push(it.with_hint(HINT));
        };
        if columns.count > MOST {
            missing(&format!("more than {MOST} columns"));
        } else if columns.place(Field::JobId).is_none() {
            missing("no header line with a column `JobID`, with `|` between columns");
        } else {
            columns.required().for_each(|name| missing(&format!("no column {name}")));
        }
        if problems.is_empty() { Ok(columns) } else { Err(problems) }
    }

    /// What is required and missing.
    fn required(&self) -> impl Iterator<Item = &'static str> {
        let any = |fields: &[Field]| fields.iter().any(|field| self.place(*field).is_some());
        let counts = [Field::AllocCpus, Field::AllocNodes, Field::AllocTres];
        let requests = [Field::ReqCpus, Field::ReqNodes, Field::ReqTres];
        [
            ("`Submit`", any(&[Field::Submit])),
            ("`Start`", any(&[Field::Start])),
            ("`End` (or `ElapsedRaw`)", any(&[Field::End, Field::ElapsedRaw, Field::Elapsed])),
            ("`NCPUS` or `NNodes`", any(&counts) || any(&requests)),
            ("`Timelimit` (or `TimelimitRaw`)", any(&[Field::Timelimit, Field::TimelimitRaw])),
            ("`State`", any(&[Field::State])),
            ("`User`", any(&[Field::User])),
            ("`Account`", any(&[Field::Account])),
            ("`Partition`", any(&[Field::Partition])),
        ]
        .into_iter()
        .filter_map(|(name, there)| (!there).then_some(name))
    }

    /// The index of the field's column.
    pub(super) fn place(&self, field: Field) -> Option<usize> {
        self.at.iter().find(|(known, _)| *known == field).map(|(_, index)| *index)
    }
}

/// The name of a field for messages, as Slurm writes it.
pub(super) fn name(field: Field) -> &'static str {
    match field {
        Field::JobId => "JobID",
        Field::Submit => "Submit",
        Field::Eligible => "Eligible",
        Field::Start => "Start",
        Field::End => "End",
        Field::ElapsedRaw => "ElapsedRaw",
        Field::Elapsed => "Elapsed",
        Field::Timelimit => "Timelimit",
        Field::TimelimitRaw => "TimelimitRaw",
        Field::AllocCpus => "NCPUS",
        Field::ReqCpus => "ReqCPUS",
        Field::AllocNodes => "NNodes",
        Field::ReqNodes => "ReqNodes",
        Field::AllocTres => "AllocTRES",
        Field::ReqTres => "ReqTRES",
        Field::ReqMem => "ReqMem",
        Field::State => "State",
        Field::User => "User",
        Field::Account => "Account",
        Field::Partition => "Partition",
        Field::Qos => "QOS",
        Field::JobName => "JobName",
        Field::NodeList => "NodeList",
    }
}

/// One line of values.
pub(super) struct Values<'l> {
    line: &'l str,
    columns: &'l Columns,
    /// Where each column begins and ends in the line, in bytes.
    ends: &'l [(usize, usize)],
}

impl<'l> Values<'l> {
    /// Splits a line into `room`, which is reused. Delimiters within a job's name are part of it.
    ///
    /// # Errors
    /// How many values there are, if there are too few or too many.
    pub(super) fn split(
        line: &'l str,
        columns: &'l Columns,
        room: &'l mut Vec<(usize, usize)>,
    ) -> Result<Values<'l>, usize> {
        room.clear();
        let line = if columns.trailing { line.strip_suffix('|').unwrap_or(line) } else { line };
        let mut from = 0;
        for (at, _) in line.match_indices('|') {
            room.push((from, at));
            from = at + 1;
        }
        room.push((from, line.len()));
        let extra = room.len().checked_sub(columns.count).ok_or(room.len())?;
        if extra > 0 {
            let name = columns.place(Field::JobName).ok_or(room.len())?;
            room[name].1 = room[name + extra].1;
            room.drain(name + 1..=name + extra);
        }
        Ok(Values { line, columns, ends: room })
    }

    /// The value of a field; `None` if there is no such column or the value is empty.
    pub(super) fn get(&self, field: Field) -> Option<&'l str> {
        let (from, to) = *self.ends.get(self.columns.place(field)?)?;
        self.line.get(from..to).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The column of the line at which the field begins, from 1, in bytes.
    pub(super) fn column(&self, field: Field) -> Option<u32> {
        let (from, _) = self.ends.get(self.columns.place(field)?)?;
        u32::try_from(from + 1).ok()
    }
}
