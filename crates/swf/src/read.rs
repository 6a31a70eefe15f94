//! Lines of numbers become records.

use tradewind_model::{Grid, Span, Time};

use super::{Header, Log, Record, Summary};
use crate::decimal::{self, DecimalError};
use crate::diagnostics::{Diagnostic, Diagnostics, excerpt};
use crate::halves;
use crate::input::{Input, line_of};

const FIELDS: usize = 18;

/// Logs of more bytes than this are read in two halves.
const LONG: usize = 1 << 18;
/// A guess that reserves memory.
const BYTES_PER_JOB: usize = 80;

/// Names for diagnostics, in order.
const NAMES: [&str; FIELDS] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time used",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// The largest number in a field that is only carried along.
const MAX_CARRIED: i64 = 1 << 50;

/// What a field may hold.
#[derive(Clone, Copy)]
enum FieldKind {
    /// A whole number, -1 for missing; a fraction is rounded up.
    Count { max: i64 },
    /// Up to three decimals (more are cut), -1 for missing; kept in thousandths.
    Decimal,
    /// Any whole number.
    Carried,
}

const SECONDS: FieldKind = FieldKind::Count { max: Span::MAX.0 };
const PROCESSORS: FieldKind = FieldKind::Count { max: Grid::MAX_NODES as i64 };

const KINDS: [FieldKind; FIELDS] = [
    FieldKind::Count { max: MAX_CARRIED },
    FieldKind::Count { max: Time::MAX.0 },
    SECONDS,
    SECONDS,
    PROCESSORS,
    FieldKind::Decimal,
    FieldKind::Decimal,
    PROCESSORS,
    SECONDS,
    FieldKind::Decimal,
    FieldKind::Carried,
    FieldKind::Carried,
    FieldKind::Carried,
    FieldKind::Carried,
    FieldKind::Carried,
    FieldKind::Carried,
    FieldKind::Carried,
    FieldKind::Carried,
];

pub(super) fn parse(input: &Input) -> Result<Log, Diagnostics> {
    parse_halves(input, LONG)
}

/// Reads a log of more than `long` bytes in two halves.
pub(super) fn parse_halves(input: &Input, long: usize) -> Result<Log, Diagnostics> {
    let mut reader = SwfReader { file: &input.name, ..SwfReader::default() };
    let bytes = input.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&input.bytes);
    // `contains` is many times quicker than `position`.
    if bytes.contains(&0) {
        let at = bytes.iter().position(|&byte| byte == 0).unwrap_or_default();
        reader.line = line_of(bytes, at);
        reader.error("a binary file, not a log".to_owned(), "logs are SWF text, plain or gzip");
        return Err(reader.diagnostics);
    }
    let sound = match middle(bytes, long) {
        Some((front, back)) => in_halves(&input.name, front, back),
        None => None,
    };
    let reader = sound.unwrap_or_else(|| {
        reader.read(bytes);
        reader
    });
    reader.finish()
}

/// Where two halves of a log of more than `long` bytes meet, at the end of a line.
fn middle(bytes: &[u8], long: usize) -> Option<(&[u8], &[u8])> {
    if bytes.len() <= long {
        return None;
    }
    let (_, back) = bytes.split_at(bytes.len() / 2);
    let rest = back.iter().position(|&byte| byte == b'\n')?;
    Some(bytes.split_at(bytes.len() - back.len() + rest + 1))
}

/// Reads both halves at once. `None` unless that is the same as one after the other: all lines are
/// sound, and the back half has no comments, which might continue those of the front half.
fn in_halves<'f>(file: &'f str, front: &[u8], back: &[u8]) -> Option<SwfReader<'f>> {
    let half = |bytes: &[u8], room: usize| {
        let jobs = Vec::with_capacity(room / BYTES_PER_JOB);
        let mut reader = SwfReader { file, jobs, ..SwfReader::default() };
        reader.read(bytes);
        reader
    };
    let all = front.len() + back.len();
    let (mut reader, back) = halves::both(|| half(front, all), || half(back, back.len()));
    let sound = reader.diagnostics.is_empty() && back.diagnostics.is_empty();
    let plain = back.header.entries.is_empty();
    (sound && plain).then(|| {
        reader.append(back);
        reader
    })
}

#[derive(Default)]
pub(super) struct SwfReader<'f> {
    pub(super) file: &'f str,
    pub(super) line: u32,
    pub(super) header: Header,
    pub(super) jobs: Vec<Record>,
    pub(super) undated: Vec<Record>,
    pub(super) summary: Summary,
    pub(super) diagnostics: Diagnostics,
}

impl SwfReader<'_> {
    pub(super) fn error(&mut self, message: String, hint: &str) {
        let it = Diagnostic::error(self.file, message).at_line(self.line);
        self.diagnostics.push(it.with_hint(hint));
    }

    /// The same for some lines of a longer log, which may not be binary.
    pub(super) fn take_lines(&mut self, bytes: &[u8]) {
        match bytes.contains(&0) {
            true => {
                self.line += 1;
                self.error(
                    "a binary file, not a log".to_owned(),
                    "logs are SWF text, plain or packed",
                );
            }
            false => self.read(bytes),
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        for line in bytes.split(|&byte| byte == b'\n') {
            self.line += 1;
            self.take(line);
        }
    }

    /// Takes what was read from the lines that follow.
    fn append(&mut self, mut next: SwfReader<'_>) {
        self.summary.add(&next.summary);
        let early = |(last, first): (&Record, &Record)| first.submit < last.submit;
        let meet = self.jobs.last().zip(next.jobs.first());
        self.summary.out_of_order += usize::from(meet.is_some_and(early));
        self.jobs.append(&mut next.jobs);
        self.undated.append(&mut next.undated);
    }

    fn take(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        match line.strip_prefix(b";") {
            Some(comment) => self.header.add(&String::from_utf8_lossy(comment)),
            None if line.is_empty() => {}
            None => self.record(line),
        }
    }

    fn record(&mut self, line: &[u8]) {
        let mut values = [-1i64; FIELDS];
        let mut count = 0;
        let mut sound = true;
        for word in (Words { line, at: 0 }) {
            if let Some(value) = values.get_mut(count) {
                match number(&word, KINDS[count]) {
                    Ok((number, rounded)) => {
                        *value = number;
                        self.summary.rounded += usize::from(rounded);
                    }
                    Err(message) => {
                        self.bad_field(count, message);
                        sound = false;
                    }
                }
            }
            count += 1;
        }
        if count != FIELDS {
            let hint = "a line of SWF has 18 fields, with -1 for what is missing";
            self.error(format!("{count} fields instead of {FIELDS}"), hint);
            return;
        }
        sound &= self.numbered(&values);
        if sound {
            self.add(&values);
        }
    }

    fn bad_field(&mut self, index: usize, message: String) {
        let place = format!("field {} ({})", index + 1, NAMES[index]);
        let it = Diagnostic::error(self.file, message).at_line(self.line).in_field(place);
        self.diagnostics.push(it.with_hint(hint(KINDS[index])));
    }

    /// Whether the job has a number, without which nothing can be said about it.
    fn numbered(&mut self, values: &[i64; FIELDS]) -> bool {
        if values[0] < 0 {
            self.bad_field(0, "missing".to_owned());
        }
        values[0] >= 0
    }

    fn add(&mut self, values: &[i64; FIELDS]) {
        let job = record(values);
        let summary = &mut self.summary;
        summary.jobs += 1;
        if values[1] < 0 {
            summary.without_submit += 1;
            self.undated.push(job);
            return;
        }
        summary.usable += usize::from(job.ran());
        summary.without_run += usize::from(job.run.is_none_or(|run| run.0 == 0));
        summary.without_processors += usize::from(job.held().is_none());
        summary.without_wait += usize::from(job.wait.is_none());
        summary.without_request += usize::from(job.requested_time.is_none_or(|it| it.0 == 0));
        let early = self.jobs.last().is_some_and(|before| job.submit < before.submit);
        summary.out_of_order += usize::from(early);
        self.jobs.push(job);
    }

    fn finish(mut self) -> Result<Log, Diagnostics> {
        // A job of 0 s can be replayed: it starts and ends at once.
        let replayed = |job: &Record| job.run.is_some() && job.held().is_some();
        if self.diagnostics.errors() == 0 && !self.jobs.iter().any(replayed) {
            let (message, hint) = match self.summary.jobs {
                0 => (
                    "no job in the log".to_owned(),
                    "is this a log in the Standard Workload Format?",
                ),
                jobs => (
                    format!("no job of {jobs} has a submit time, a run time and processors"),
                    "these are fields 2, 4, and 5 or 8; jobs that never ran cannot be replayed",
                ),
            };
            self.diagnostics.push(Diagnostic::error(self.file, message).with_hint(hint));
        }
        if self.diagnostics.errors() > 0 {
            return Err(self.diagnostics);
        }
        super::sort(&mut self.jobs);
        let name = self.file.to_owned();
        let SwfReader { header, jobs, undated, summary, .. } = self;
        Ok(Log { name, header, jobs, undated, summary })
    }
}

/// What the field may hold, in words.
fn hint(kind: FieldKind) -> String {
    match kind {
        FieldKind::Count { max } => format!("write 0 to {max}, or -1 for what is missing"),
        _ => "write -1 for what is missing".to_owned(),
    }
}

fn record(values: &[i64; FIELDS]) -> Record {
    let given = |index: usize| Some(values[index]).filter(|value| *value >= 0);
    let span = |index: usize| given(index).map(Span);
    let count = |index: usize| given(index).map(|value| value as u32);
    Record {
        number: values[0],
        submit: Time(values[1]),
        wait: span(2),
        run: span(3),
        processors: count(4),
        cpu_time: given(5),
        memory: given(6),
        requested_processors: count(7),
        requested_time: span(8),
        requested_memory: given(9),
        status: values[10],
        user: values[11],
        group: values[12],
        application: values[13],
        queue: values[14],
        partition: values[15],
        preceding: values[16],
        think_time: values[17],
    }
}

/// A word of a line.
struct Token<'l> {
    text: &'l [u8],
    /// Its value, if it is a sign and up to 15 digits: nearly every word is.
    whole: Option<i64>,
}

/// The words of a line. Splitting and counting are one: reading a log is most of a quick replay.
struct Words<'l> {
    line: &'l [u8],
    at: usize,
}

impl<'l> Iterator for Words<'l> {
    type Item = Token<'l>;

    fn next(&mut self) -> Option<Token<'l>> {
        const MOST_DIGITS: usize = 15;
        let rest = self.line.get(self.at..)?;
        let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &rest[blank..];
        let sign = usize::from(rest[0] == b'-');
        let (mut value, mut length) = (0i64, sign);
        while let Some(digit) = rest.get(length).map(|byte| byte.wrapping_sub(b'0'))
            && digit < 10
        {
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
            length += 1;
        }
        let digits = length - sign;
        let over = rest.get(length).is_none_or(u8::is_ascii_whitespace);
        let whole = (over && (1..=MOST_DIGITS).contains(&digits)).then_some(value);
        if !over {
            length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        }
        self.at += blank + length;
        let whole = whole.map(|value| if sign == 1 { -value } else { value });
        Some(Token { text: &rest[..length], whole })
    }
}

/// The field's value, and whether it was rounded to a whole number.
fn number(word: &Token<'_>, kind: FieldKind) -> Result<(i64, bool), String> {
    let (value, rounded) = match (word.whole, kind) {
        (Some(value), FieldKind::Decimal) if value >= 0 => (value * 1_000, false),
        (Some(value), _) => (value, false),
        (None, _) => fraction(word.text, kind)?,
    };
    let (min, max) = match kind {
        FieldKind::Count { max } => (-1, max),
        FieldKind::Decimal => (-1, MAX_CARRIED * 1_000),
        FieldKind::Carried => (-MAX_CARRIED, MAX_CARRIED),
    };
    if value < min || value > max {
        let shown = String::from_utf8_lossy(word.text);
        return Err(format!("`{}` is out of range", excerpt(&shown)));
    }
    Ok((value, rounded))
}

/// The slow way: any decimal. Counts are rounded up, decimals cut to thousandths.
fn fraction(word: &[u8], kind: FieldKind) -> Result<(i64, bool), String> {
    let text = String::from_utf8_lossy(word);
    let refused = |err: DecimalError| match err {
        DecimalError::NotANumber => format!("`{}` is not a number", excerpt(&text)),
        _ => format!("`{}` is out of range", excerpt(&text)),
    };
    // Digits beyond the ninth decimal mean nothing in a log.
    let billionths = match text.split_once('.') {
        Some((whole, part)) if part.len() > 9 && part.bytes().all(|c| c.is_ascii_digit()) => {
            decimal::parse(&format!("{whole}.{}", &part[..9]), 9)
        }
        _ => decimal::parse(&text, 9),
    };
    // A number too large for nine decimals is still whole.
    let billionths = match billionths {
        Ok(n) => n,
        Err(err @ DecimalError::OutOfRange) => {
            let whole = decimal::parse(&text, 0).map_err(|_| refused(err))?;
            return Ok((whole, false));
        }
        Err(err) => return Err(refused(err)),
    };
    Ok(match kind {
        FieldKind::Decimal if billionths < 0 => (billionths.div_euclid(1_000_000_000), false),
        FieldKind::Decimal => (billionths / 1_000_000, false),
        _ => {
            let rounded = billionths % 1_000_000_000 != 0;
            (-(-billionths).div_euclid(1_000_000_000), rounded)
        }
    })
}
