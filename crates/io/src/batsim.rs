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
    const BYTES_PER_ROW: usize = 180;
    let mut to = Vec::with_capacity(rows.len() * BYTES_PER_ROW + COLUMNS.len() + 1);
    let workload = quoted(workload);
    let _ = writeln!(to, "{COLUMNS}");
    for row in rows {
        // Writing to memory does not fail.
        let _ = write_row(&mut to, &workload, row);
    }
    to
}

fn write_row(to: &mut Vec<u8>, workload: &str, row: &Row) -> std::io::Result<()> {
    let Row { number, processors, .. } = row;
    write!(to, "{number},{workload},{number},")?;
    if let Some(submit) = row.submit {
        write!(to, "{submit}.000000")?;
    }
    write!(to, ",{},", processors.unwrap_or_default())?;
    match row.requested {
        Some(requested) => write!(to, "{requested}.000000,")?,
        None => to.extend_from_slice(b"-1.000000,"),
    }
    let (Some(life), Some(submit)) = (&row.life, row.submit) else {
        to.extend_from_slice(b"0,REJECTED,,,,,,,,,\n");
        return Ok(());
    };
    let state = match life.state {
        FinalState::Completed => "1,COMPLETED_SUCCESSFULLY",
        FinalState::WalltimeReached => "0,COMPLETED_WALLTIME_REACHED",
    };
    let (run, wait, turnaround) = (life.end - life.start, life.start - submit, life.end - submit);
    write!(to, "{state},{}.000000,{run}.000000,{}.000000,", life.start, life.end)?;
    let stretch = millionths(turnaround, run);
    write!(to, "{wait}.000000,{turnaround}.000000,")?;
    write!(to, "{}.{:06},", stretch / 1_000_000, stretch % 1_000_000)?;
    for (index, (first, last)) in life.processors.iter().enumerate() {
        let blank = if index > 0 { " " } else { "" };
        match first == last {
            true => write!(to, "{blank}{first}")?,
            false => write!(to, "{blank}{first}-{last}")?,
        }
    }
    to.extend_from_slice(b",-1,\n");
    Ok(())
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
