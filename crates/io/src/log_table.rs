//! Logs as Parquet tables: a row is a job, a column a field of the Standard Workload Format.
//!
//! A table is read as the text of that format, so that one reader checks both. `docs/reference/swf.md`
//! has the names of the columns.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};

use tradewind_swf::{Header, Log, Record, write_header};

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::input::{Input, MAX_BYTES};
use crate::parquet::{Cell, Cells, ColumnHead, ColumnKind, MAGIC, Reader, Writer};

const FIELDS: usize = 18;

/// The columns that are written, in the format's order.
const COLUMNS: [ColumnHead; FIELDS] = [
    column("job_number", ColumnKind::Int64),
    column("submit_time", ColumnKind::Int64),
    column("wait_time", ColumnKind::Int64),
    column("run_time", ColumnKind::Int64),
    column("allocated_processors", ColumnKind::Int64),
    column("cpu_time", ColumnKind::Double),
    column("used_memory", ColumnKind::Double),
    column("requested_processors", ColumnKind::Int64),
    column("requested_time", ColumnKind::Int64),
    column("requested_memory", ColumnKind::Double),
    column("status", ColumnKind::Int64),
    column("user", ColumnKind::Int64),
    column("group", ColumnKind::Int64),
    column("application", ColumnKind::Int64),
    column("queue", ColumnKind::Int64),
    column("partition", ColumnKind::Int64),
    column("preceding_job", ColumnKind::Int64),
    column("think_time", ColumnKind::Int64),
];

/// Other names of columns, by field from 0: those of `jobs.parquet`, and short ones.
const OTHER_NAMES: [(&str, usize); 17] = [
    ("job_id", 0),
    ("job", 0),
    ("submit_s", 1),
    ("submit", 1),
    ("wait_s", 2),
    ("wait", 2),
    ("run_s", 3),
    ("run", 3),
    ("processors", 4),
    ("requested_s", 8),
    ("requested", 8),
    ("final_state", 10),
    ("user_id", 11),
    ("group_id", 12),
    ("queue_number", 14),
    ("partition_number", 15),
    ("executable", 13),
];

/// Columns of moments, which stand for times to wait and to run that are not there.
const START: [&str; 3] = ["start_time", "start_s", "start"];
const END: [&str; 3] = ["end_time", "end_s", "end"];

const SUBMIT: usize = 1;
const WAIT: usize = 2;
const RUN: usize = 3;
const STATUS: usize = 10;
/// Users, groups, applications, queues, partitions: their names become numbers.
const NAMED: std::ops::Range<usize> = 11..16;

const fn column(name: &'static str, kind: ColumnKind) -> ColumnHead {
    ColumnHead { name, kind }
}

/// Whether these bytes are those of a Parquet file.
pub fn is_table(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// A table in memory as the text of a log.
///
/// # Errors
/// It is damaged, has too few columns, or is larger than [`MAX_BYTES`] as text.
pub fn as_text(table: &Input) -> Result<Input, Diagnostics> {
    let reader = Reader::of_bytes(&table.bytes).map_err(|why| damaged(&table.name, &why))?;
    let text = LogText::new(&table.name, reader)?;
    let mut bytes = Vec::new();
    let read = text.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| damaged(&table.name, &error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        let what = format!("a log of more than {MAX_BYTES} bytes as text");
        let hint = "`simulate` reads such a log piece by piece, with one policy and no `--out`";
        return Err(Diagnostic::error(&table.name, what).with_hint(hint).into());
    }
    Ok(Input { name: table.name.clone(), bytes })
}

/// The table in a file as the text of a log, read piece by piece.
///
/// # Errors
/// See [`as_text`].
pub fn open(path: &str, file: File) -> Result<BufReader<LogText>, Diagnostics> {
    let reader = Reader::of_file(file).map_err(|why| damaged(path, &why))?;
    Ok(BufReader::with_capacity(1 << 16, LogText::new(path, reader)?))
}

fn damaged(name: &str, why: &str) -> Diagnostics {
    let it = Diagnostic::error(name, format!("a Parquet file that cannot be read: {why}"));
    it.with_hint("write it again, flat and whole; snappy, gzip and zstd are understood").into()
}

/// Where a field comes from; columns by their place among those that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldSource {
    Missing,
    RowNumber,
    Column(usize),
    /// The first less the second.
    Difference(usize, usize),
}

/// The lines of a log that are made of a table's rows.
pub struct LogText {
    reader: Reader,
    fields: [FieldSource; FIELDS],
    /// Of the columns of names, the numbers that names have got.
    numbers: BTreeMap<usize, BTreeMap<Vec<u8>, usize>>,
    rows: u64,
    text: Vec<u8>,
    /// What of it has been read.
    read: usize,
}

impl LogText {
    fn new(name: &str, mut reader: Reader) -> Result<LogText, Diagnostics> {
        let columns: Vec<String> =
            reader.names().iter().map(|name| name.to_ascii_lowercase()).collect();
        let mut wanted = Vec::new();
        let fields = fields(&columns, &mut wanted);
        if let Some(missing) = missing(&fields) {
            let it = Diagnostic::error(name, format!("the table has no column of {missing}"));
            let mut columns = columns;
            columns.truncate(40);
            let hint = format!(
                "columns are named as the fields of the format (`submit_time`, `run_time`, \
                 `requested_processors`, …); this table has {}",
                columns.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
            );
            return Err(it.with_hint(hint).into());
        }
        reader.read(&wanted).map_err(|why| damaged(name, &why))?;
        let text = header(&reader.notes()).into_bytes();
        Ok(LogText { reader, fields, numbers: BTreeMap::new(), rows: 0, text, read: 0 })
    }

    /// Makes the lines of the next rows; `false`: there are no more.
    fn fill(&mut self) -> Result<bool, String> {
        let Some(columns) = self.reader.next_rows()? else { return Ok(false) };
        self.text.clear();
        self.read = 0;
        for row in 0..columns.first().map_or(0, Vec::len) {
            self.rows += 1;
            for field in 0..FIELDS {
                self.push(field, &columns, row);
                self.text.push(if field + 1 < FIELDS { b' ' } else { b'\n' });
            }
        }
        Ok(true)
    }

    fn push(&mut self, field: usize, columns: &[Vec<Cell>], row: usize) {
        let cell = |at: usize| columns.get(at).and_then(|it| it.get(row)).unwrap_or(&Cell::Nothing);
        match self.fields[field] {
            FieldSource::Missing => self.push_whole(-1),
            FieldSource::RowNumber => self.push_whole(self.rows.cast_signed()),
            FieldSource::Difference(later, earlier) => match (cell(later), cell(earlier)) {
                (Cell::Whole(later), Cell::Whole(earlier)) => {
                    self.push_whole(later.saturating_sub(*earlier).max(-1));
                }
                (Cell::Float(later), Cell::Float(earlier)) => {
                    self.push_float((later - earlier).max(-1.0));
                }
                (later @ Cell::Text(_), _) => self.push_cell(field, later),
                _ => self.push_whole(-1),
            },
            FieldSource::Column(at) => self.push_cell(field, cell(at)),
        }
    }

    fn push_cell(&mut self, field: usize, cell: &Cell) {
        match cell {
            Cell::Nothing => self.push_whole(-1),
            Cell::Whole(number) => self.push_whole(*number),
            Cell::Float(number) => self.push_float(*number),
            Cell::Text(text) => self.push_text(field, text),
        }
    }

    fn push_whole(&mut self, number: i64) {
        // Writing to a vector cannot fail.
        let _ = write!(self.text, "{number}");
    }

    fn push_float(&mut self, number: f64) {
        match number.is_nan() {
            true => self.push_whole(-1),
            false => drop(write!(self.text, "{number}")),
        }
    }

    /// Words become numbers where the format has numbers for them; others stay, for the reader to
    /// refuse.
    fn push_text(&mut self, field: usize, text: &[u8]) {
        let text = text.trim_ascii();
        let is_number = std::str::from_utf8(text).is_ok_and(|it| it.parse::<i64>().is_ok());
        if text.is_empty() {
            self.push_whole(-1);
        } else if field == STATUS && !is_number {
            self.push_whole(status(text));
        } else if NAMED.contains(&field) && !is_number {
            let known = self.numbers.entry(field).or_default();
            let next = known.len() + 1;
            let number = *known.entry(text.to_vec()).or_insert(next);
            self.push_whole(number as i64);
        } else {
            let word = |byte: &u8| if byte.is_ascii_whitespace() { b'_' } else { *byte };
            self.text.extend(text.iter().map(word));
        }
    }
}

impl Read for LogText {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.read == self.text.len() {
            if !self.fill().map_err(io::Error::other)? {
                return Ok(0);
            }
        }
        let read = (&self.text[self.read..]).read(to)?;
        self.read += read;
        Ok(read)
    }
}

/// Field 11 of a state's name, as Slurm and our own tables have it.
fn status(word: &[u8]) -> i64 {
    let is = |name: &str| word.to_ascii_lowercase().starts_with(name.as_bytes());
    match () {
        () if is("completed") => 1,
        () if is("cancelled") => 5,
        () if ["failed", "timeout", "node_fail", "out_of", "killed", "lost"]
            .into_iter()
            .any(is) =>
        {
            0
        }
        () => -1,
    }
}

/// Where each field comes from, with the columns that are wanted for it.
fn fields(columns: &[String], wanted: &mut Vec<usize>) -> [FieldSource; FIELDS] {
    let find = |name: &str| columns.iter().position(|it| it == name);
    let mut want = |at: usize| match wanted.iter().position(|it| *it == at) {
        Some(place) => place,
        None => {
            wanted.push(at);
            wanted.len() - 1
        }
    };
    let of = |field: usize| {
        let others = OTHER_NAMES.iter().filter(|(_, it)| *it == field).map(|(name, _)| *name);
        std::iter::once(COLUMNS[field].name).chain(others).find_map(find)
    };
    let first = |names: [&str; 3]| names.into_iter().find_map(find);
    std::array::from_fn(|field| match (of(field), field) {
        (Some(at), _) => FieldSource::Column(want(at)),
        (None, 0) => FieldSource::RowNumber,
        (None, WAIT) => difference(first(START), of(SUBMIT), &mut want),
        (None, RUN) => difference(first(END), first(START), &mut want),
        (None, _) => FieldSource::Missing,
    })
}

fn difference(
    later: Option<usize>,
    earlier: Option<usize>,
    mut want: impl FnMut(usize) -> usize,
) -> FieldSource {
    match later.zip(earlier) {
        Some((later, earlier)) => FieldSource::Difference(want(later), want(earlier)),
        None => FieldSource::Missing,
    }
}

/// What a log cannot do without.
fn missing(fields: &[FieldSource; FIELDS]) -> Option<&'static str> {
    let lacks = |field: usize| fields[field] == FieldSource::Missing;
    [
        (lacks(SUBMIT), "times of submission (`submit_time`)"),
        (lacks(RUN), "run times (`run_time`, or `start_time` and `end_time`)"),
        (lacks(4) && lacks(7), "processors (`allocated_processors` or `requested_processors`)"),
    ]
    .into_iter()
    .find_map(|(lacks, what)| lacks.then_some(what))
}

/// The header's lines: the file's notes whose keys could be a header's.
fn header(notes: &[(String, String)]) -> String {
    let is_key = |key: &str| {
        key.starts_with(|first: char| first.is_ascii_uppercase())
            && key.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let notes = notes.iter().filter(|(key, _)| is_key(key));
    let one_line = |value: &String| value.replace(['\r', '\n'], " ");
    let entries = notes.map(|(key, value)| (key.clone(), one_line(value))).collect();
    let mut text = String::new();
    write_header(&mut text, &Header { entries });
    text
}

/// Rows per row group.
const GROUP_ROWS: usize = 1 << 17;

/// Writes the log as a table, with the header as notes; jobs without a submit time last. Reading it
/// gives the same jobs, and the same header but for text without a key.
///
/// # Errors
/// Those of `to`, and if the program was built without Parquet.
pub fn write<W: Write + Send>(to: W, log: &Log) -> io::Result<W> {
    let mut writer = Writer::new(to, &COLUMNS)?;
    let jobs: Vec<&Record> = log.jobs.iter().chain(&log.undated).collect();
    for jobs in jobs.chunks(GROUP_ROWS) {
        writer.group(&cells(jobs))?;
    }
    writer.finish(&log.header.entries)
}

/// Jobs by column.
fn cells(jobs: &[&Record]) -> Vec<Cells> {
    let whole =
        |of: fn(&Record) -> Option<i64>| Cells::Int64(jobs.iter().map(|it| of(it)).collect());
    let carried = |of: fn(&Record) -> i64| {
        Cells::Int64(jobs.iter().map(|it| Some(of(it)).filter(|it| *it != -1)).collect())
    };
    let thousandths = |of: fn(&Record) -> Option<i64>| {
        Cells::Double(jobs.iter().map(|it| of(it).map(|it| it as f64 / 1_000.0)).collect())
    };
    vec![
        whole(|it| Some(it.number)),
        whole(|it| Some(it.submit.0).filter(|it| *it >= 0)),
        whole(|it| it.wait.map(|it| it.0)),
        whole(|it| it.run.map(|it| it.0)),
        whole(|it| it.processors.map(i64::from)),
        thousandths(|it| it.cpu_time),
        thousandths(|it| it.memory),
        whole(|it| it.requested_processors.map(i64::from)),
        whole(|it| it.requested_time.map(|it| it.0)),
        thousandths(|it| it.requested_memory),
        carried(|it| it.status),
        carried(|it| it.user),
        carried(|it| it.group),
        carried(|it| it.application),
        carried(|it| it.queue),
        carried(|it| it.partition),
        carried(|it| it.preceding),
        carried(|it| it.think_time),
    ]
}

#[cfg(test)]
#[cfg(feature = "parquet")]
mod tests;
