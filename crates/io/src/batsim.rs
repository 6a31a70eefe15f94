//! `jobs.csv` with the columns of Batsim 5, as Evalys reads it.
//!
//! Times have six decimals as Batsim writes them; the stretch is rounded half up.

use std::io::Write as _;

use tradewind_model::{Span, Time};

/// The columns, in order.
pub const COLUMNS: &str = "job_id,workload_name,profile,submission_time,\
requested_number_of_resources,requested_time,success,final_state,starting_time,execution_time,\
finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata";

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalState {
    /// By itself.
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
    /// How.
    pub state: FinalState,
    /// Its processors, as first and last of each range, ascending.
    pub processors: Vec<(u32, u32)>,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The log's number for the job.
    pub number: i64,
    /// When it was submitted; `None` if the log does not say.
    pub submit: Option<Time>,
    /// Processors that it wants.
    pub processors: Option<u32>,
    /// The time that it asked for.
    pub requested: Option<Span>,
    /// `None`: rejected.
    pub life: Option<Life>,
}

/// The whole file. `workload` is the log's name.
pub fn jobs_csv(workload: &str, rows: &[Row]) -> Vec<u8> {
    const BYTES_PER_ROW: usize = 200;
    let mut to = Vec::with_capacity(rows.len() * BYTES_PER_ROW + COLUMNS.len() + 1);
    let workload = quoted(workload);
    to.extend_from_slice(COLUMNS.as_bytes());
    to.push(b'\n');
    for row in rows {
        write_row(&mut to, &workload, row);
    }
    to
}

fn write_row(to: &mut Vec<u8>, workload: &str, row: &Row) {
    whole(to, row.number);
    to.push(b',');
    to.extend_from_slice(workload.as_bytes());
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
    decimal(to, millionths(turnaround, run));
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
    to.extend_from_slice(b",-1,\n");
}

/// A whole number of seconds and a comma.
fn seconds(to: &mut Vec<u8>, value: i64) {
    whole(to, value);
    to.extend_from_slice(b".000000,");
}

/// A number of millionths, not negative, and a comma.
fn decimal(to: &mut Vec<u8>, millionths: i128) {
    // Writing to memory does not fail.
    let _ = write!(to, "{}.{:06},", millionths / 1_000_000, millionths % 1_000_000);
}

/// Digits by hand: a log has a million numbers, and formatting is most of writing them.
fn whole(to: &mut Vec<u8>, value: i64) {
    const MOST_DIGITS: usize = 20;
    let mut digits = [0u8; MOST_DIGITS];
    let mut at = MOST_DIGITS;
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        to.push(b'-');
    }
    to.extend_from_slice(&digits[at..]);
}

/// turnaround / run in millionths, rounded half up; a run of no length counts as a second.
fn millionths(turnaround: Span, run: Span) -> i128 {
    let run = i128::from(run.0.max(1));
    (i128::from(turnaround.0) * 1_000_000 + run / 2) / run
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

    #[test]
    fn numbers_are_written_as_ever() {
        for value in [0, 7, -1, 10, 1_234_567, i64::MAX, i64::MIN] {
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
        };
        let ran = Row {
            number: 7,
            submit: Some(Time(6)),
            processors: Some(5),
            requested: Some(Span(60)),
            life: Some(life),
        };
        let refused =
            Row { number: 8, submit: None, processors: None, requested: None, life: None };
        let text = String::from_utf8(jobs_csv("a,b", &[ran, refused])).unwrap();
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
}
