//! `jobs.csv` with the columns of Batsim 5, as Evalys reads it.
//!
//! Times have six decimals as Batsim writes them; the stretch is rounded half up.

use std::io::{self, Write};

use tradewind_model::{Energy, Span, Time};

use crate::halves;

/// The columns, in order.
pub const COLUMNS: &str = "job_id,workload_name,profile,submission_time,\
requested_number_of_resources,requested_time,success,final_state,starting_time,execution_time,\
finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata";

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalState {
    /// The job ended by itself.
    Completed,
    /// Killed at its requested time.
    WalltimeReached,
}

/// A job's time on the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// How the job ended.
    pub state: FinalState,
    /// Its processors, as first and last of each range, ascending.
    pub processors: Vec<(u32, u32)>,
    /// What it consumed, if anything is known of electricity.
    pub energy: Option<Energy>,
}

/// One line of the file: a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatsimRow {
    /// Which of the logs it is from.
    pub log: usize,
    /// The log's number for the job.
    pub number: i64,
    /// When it was submitted; `None` if the log does not say.
    pub submit: Option<Time>,
    /// Processors that it wants.
    pub processors: Option<u32>,
    /// The time that it asked for.
    pub requested: Option<Span>,
    /// Start and end; `None` for a rejected job.
    pub life: Option<Life>,
}

/// Writes the whole file, with the row that `row` makes of each of so many `jobs`. `logs` are the
/// names of the logs; if there are several, a job's id is `LOG!number`, as Batsim has it.
///
/// # Errors
/// Those of `to`.
pub fn write_jobs_csv(
    to: &mut impl Write,
    logs: &[&str],
    jobs: usize,
    row: impl Fn(usize) -> BatsimRow + Sync,
) -> io::Result<()> {
    const ROWS: usize = 1 << 10;
    const BYTES_PER_ROW: usize = 256;
    let names: Vec<NameParts> = logs.iter().map(|log| NameParts::of(log, logs.len())).collect();
    let none = NameParts::of("", 1);
    to.write_all(COLUMNS.as_bytes())?;
    to.write_all(b"\n")?;
    halves::write_pieces(to, jobs.div_ceil(ROWS), |piece| {
        let mut bytes = Vec::with_capacity(ROWS * BYTES_PER_ROW);
        let first = piece * ROWS;
        for row in (first..jobs.min(first + ROWS)).map(&row) {
            write_row(&mut bytes, names.get(row.log).unwrap_or(&none), &row);
        }
        bytes
    })
}

/// What stands before and behind the number of a job, from its log's name.
struct NameParts {
    workload: String,
    before: String,
    behind: &'static str,
}

impl NameParts {
    fn of(log: &str, logs: usize) -> NameParts {
        let workload = quoted(log);
        match (logs, workload.strip_suffix('"')) {
            (0 | 1, _) => NameParts { before: String::new(), behind: "", workload },
            (_, Some(open)) => NameParts { before: format!("{open}!"), behind: "\"", workload },
            (_, None) => NameParts { before: format!("{workload}!"), behind: "", workload },
        }
    }
}

fn write_row(to: &mut Vec<u8>, names: &NameParts, row: &BatsimRow) {
    to.extend_from_slice(names.before.as_bytes());
    whole(to, row.number);
    to.extend_from_slice(names.behind.as_bytes());
    to.push(b',');
    to.extend_from_slice(names.workload.as_bytes());
    to.push(b',');
    whole(to, row.number);
    to.push(b',');
    match row.submit {
        Some(submit) => seconds(to, submit.0),
        None => to.push(b','),
    }
    whole(to, i64::from(row.processors.unwrap_or_default()));
    to.push(b',');
    seconds(to, row.requested.map_or(-1, |span| span.0));
    let (Some(life), Some(submit)) = (&row.life, row.submit) else {
        to.extend_from_slice(b"0,REJECTED,,,,,,,,,\n");
        return;
    };
    to.extend_from_slice(match life.state {
        FinalState::Completed => b"1,COMPLETED_SUCCESSFULLY,",
        FinalState::WalltimeReached => b"0,COMPLETED_WALLTIME_REACHED,",
    });
    let (run, turnaround) = (life.end - life.start, life.end - submit);
    for value in [life.start.0, run.0, life.end.0, (life.start - submit).0, turnaround.0] {
        seconds(to, value);
    }
    decimal(to, stretch_millionths(turnaround, run));
    for (index, &(first, last)) in life.processors.iter().enumerate() {
        if index > 0 {
            to.push(b' ');
        }
        whole(to, i64::from(first));
        if last > first {
            to.push(b'-');
            whole(to, i64::from(last));
        }
    }
    match life.energy {
        None => to.extend_from_slice(b",-1,\n"),
        Some(Energy(millijoules)) => {
            to.push(b',');
            // Joules, as Batsim has them.
            decimal(to, millijoules.saturating_mul(1_000));
            to.push(b'\n');
        }
    }
}

/// A whole number of seconds and a comma.
fn seconds(to: &mut Vec<u8>, value: i64) {
    whole(to, value);
    to.extend_from_slice(b".000000,");
}

/// A number of millionths, not negative, and a comma.
fn decimal(to: &mut Vec<u8>, millionths: i64) {
    whole(to, millionths / 1_000_000);
    let mut digits = *b".000000,";
    let mut rest = millionths % 1_000_000;
    for digit in digits[1..7].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    to.extend_from_slice(&digits);
}

/// Digits by hand, two at a time: a log has a million numbers, and formatting is most of writing
/// them.
fn whole(to: &mut Vec<u8>, value: i64) {
    const MOST_DIGITS: usize = 20;
    let mut digits = [0u8; MOST_DIGITS];
    let mut at = MOST_DIGITS;
    let mut rest = value.unsigned_abs();
    while rest >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest > 0 || at == MOST_DIGITS {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    if value < 0 {
        to.push(b'-');
    }
    to.extend_from_slice(&digits[at..]);
}

/// `00` to `99`.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut at = 0;
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// The stretch, turnaround / run, in millionths, rounded half up; a run of no length counts as a
/// second. Times are at most 2^40, so that nothing overflows.
pub fn stretch_millionths(turnaround: Span, run: Span) -> i64 {
    let run = run.0.max(1);
    (turnaround.0 * 1_000_000 + run / 2) / run
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(number: i64) -> BatsimRow {
        BatsimRow { log: 0, number, submit: None, processors: None, requested: None, life: None }
    }

    fn csv(logs: &[&str], rows: &[BatsimRow]) -> String {
        let mut bytes = Vec::new();
        write_jobs_csv(&mut bytes, logs, rows.len(), |job| rows[job].clone()).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn numbers_are_written_as_ever() {
        let small = -1_100..1_100;
        for value in small.chain([123_456, 1_234_567, 100_100, i64::MAX, i64::MIN]) {
            let mut to = Vec::new();
            whole(&mut to, value);
            assert_eq!(String::from_utf8(to).unwrap(), value.to_string());
        }
    }

    #[test]
    fn rows_have_all_columns() {
        let life = Life {
            start: Time(10),
            end: Time(13),
            state: FinalState::Completed,
            processors: vec![(0, 3), (5, 5)],
            energy: None,
        };
        let ran = BatsimRow {
            log: 0,
            number: 7,
            submit: Some(Time(6)),
            processors: Some(5),
            requested: Some(Span(60)),
            life: Some(life),
        };
        let refused = rejected(8);
        let mut electric = ran.clone();
        electric.life.as_mut().unwrap().energy = Some(Energy(1_250_500));
        let text = csv(&["a"], &[electric]);
        assert!(text.ends_with(",0-3 5,1250.500000,\n"), "{text}");
        let text = csv(&["a,b"], &[ran, refused]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "7,\"a,b\",7,6.000000,5,60.000000,1,COMPLETED_SUCCESSFULLY,10.000000,3.000000,\
             13.000000,4.000000,7.000000,2.333333,0-3 5,-1,"
        );
        assert_eq!(lines[2], "8,\"a,b\",8,,0,-1.000000,0,REJECTED,,,,,,,,,");
        let commas = |line: &str| line.matches(',').count();
        assert_eq!([commas(lines[0]), commas(lines[2])], [16, 17]);
    }

    #[test]
    fn rows_of_many_jobs_are_in_order() {
        for jobs in [0, 1, 1_023, 1_024, 5_000] {
            let rows: Vec<BatsimRow> = (0..jobs).map(rejected).collect();
            let text = csv(&["a"], &rows);
            let ids = text.lines().skip(1).map(|line| line.split(',').next().unwrap());
            assert!(ids.map(|id| id.parse::<i64>().unwrap()).eq(0..jobs));
        }
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let mut full = &mut [0u8; 100_000][..];
        assert!(write_jobs_csv(&mut full, &["a"], 50_000, |job| rejected(job as i64)).is_err());
    }

    #[test]
    fn several_logs_name_their_jobs() {
        let row = |log| BatsimRow { log, ..rejected(8) };
        let text = csv(&["a", "b,c"], &[row(0), row(1)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("a!8,a,8,,"), "{}", lines[1]);
        assert!(lines[2].starts_with("\"b,c!8\",\"b,c\",8,,"), "{}", lines[2]);
    }
}
