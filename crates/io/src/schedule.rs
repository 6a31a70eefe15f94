//! `schedule.csv` and `schedule.json`: the aggregates that Batsim writes beside `jobs.csv`, the
//! one as its version 4 does, the other as its version 5.
//!
//! Source: `src/export.cpp` of Batsim 4.2.1 and 5.0.0-rc2. Where ours differ, and what stands for
//! what we do not simulate (energy, sleeping machines), is in `docs/reference/outputs.md`.

use std::collections::BTreeMap;

use tradewind_model::{Span, Time};

/// A job that ran, as plain numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// When it was submitted.
    pub submit: Time,
    /// When it started.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Processor-seconds that it occupied, earlier runs that were interrupted included.
    pub processor_time: i128,
    /// Whether it was killed.
    pub killed: bool,
}

/// Sums over the jobs of a run, fed one job at a time in any order.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    finished: u64,
    killed: u64,
    rejected: u64,
    wait: i128,
    turnaround: i128,
    slowdown: Millionths,
    max_wait: i64,
    max_turnaround: i64,
    max_slowdown: Millionths,
    computing: i128,
    ends: Option<(Time, Time)>,
}

/// The machine that the jobs ran on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machines {
    /// Number of processors.
    pub processors: u32,
    /// For how many processor-seconds between the first submission and the last end some were
    /// not there.
    pub unavailable: i128,
}

/// A number with six decimals, as Batsim prints all that is not a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Millionths(i128);

impl Millionths {
    fn whole(value: i128) -> Millionths {
        Millionths(value * 1_000_000)
    }

    /// `value` / `by`, rounded half up; 0 if there is nothing to divide by.
    fn quotient(value: i128, by: i128) -> Millionths {
        Millionths::whole(value).over(by)
    }

    fn over(self, by: i128) -> Millionths {
        Millionths(if by > 0 { (self.0 + by / 2).div_euclid(by) } else { 0 })
    }
}

impl std::fmt::Display for Millionths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let amount = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:06}", amount / 1_000_000, amount % 1_000_000)
    }
}

impl Tally {
    /// Counts a job that ran.
    pub fn finished(&mut self, job: &Stay) {
        let (wait, turnaround) = (job.start - job.submit, job.end - job.submit);
        let run = job.end - job.start;
        // As the column `stretch` of `jobs.csv` has it.
        let slowdown = Millionths::quotient(turnaround.0.into(), run.max(Span(1)).0.into());
        self.finished += 1;
        self.killed += u64::from(job.killed);
        self.wait += i128::from(wait.0);
        self.turnaround += i128::from(turnaround.0);
        self.slowdown.0 += slowdown.0;
        self.max_wait = self.max_wait.max(wait.0);
        self.max_turnaround = self.max_turnaround.max(turnaround.0);
        self.max_slowdown = self.max_slowdown.max(slowdown);
        self.computing += job.processor_time;
        let (first, last) = self.ends.unwrap_or((job.submit, job.end));
        self.ends = Some((first.min(job.submit), last.max(job.end)));
    }

    /// Counts a job that was not run.
    pub fn rejected(&mut self) {
        self.rejected += 1;
    }

    /// The first submission and the last end of the jobs that ran.
    pub fn ends(&self) -> Option<(Time, Time)> {
        self.ends
    }

    /// `schedule.csv`: a line of keys and a line of values.
    pub fn csv(&self, machines: Machines) -> String {
        let mut values = self.values(machines);
        let last = self.ends.map_or(0, |(_, last)| last.0);
        values.insert("makespan", Millionths::whole(last.into()).to_string());
        values.insert("scheduling_time", Millionths(0).to_string());
        values.insert("simulation_time", Millionths(0).to_string());
        values.insert("batsim_version", VERSION.to_owned());
        let keys: Vec<&str> = values.keys().copied().collect();
        let values: Vec<String> = values.into_values().collect();
        format!("{}\n{}\n", keys.join(","), values.join(","))
    }

    /// `schedule.json`: one object.
    pub fn json(&self, machines: Machines) -> String {
        let mut values = self.values(machines);
        values.insert("batsim_version", format!("\"{VERSION}\""));
        let lines: Vec<String> =
            values.iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }

    /// What both have, with the makespan of version 5, which counts from the first submission.
    fn values(&self, machines: Machines) -> BTreeMap<&'static str, String> {
        let jobs = i128::from(self.finished + self.rejected);
        let successes = self.finished - self.killed;
        let makespan = i128::from(self.ends.map_or(0, |(first, last)| (last - first).0));
        let there_was = makespan * i128::from(machines.processors);
        let idle = there_was - self.computing - machines.unavailable;
        let whole = |value: i128| Millionths::whole(value).to_string();
        let mean = |sum: i128| Millionths::quotient(sum, jobs).to_string();
        let zero = || Millionths(0).to_string();
        BTreeMap::from([
            ("consumed_joules", zero()),
            ("makespan", whole(makespan)),
            ("max_slowdown", self.max_slowdown.to_string()),
            ("max_turnaround_time", whole(self.max_turnaround.into())),
            ("max_waiting_time", whole(self.max_wait.into())),
            ("mean_slowdown", self.slowdown.over(jobs).to_string()),
            ("mean_turnaround_time", mean(self.turnaround)),
            ("mean_waiting_time", mean(self.wait)),
            ("nb_computing_machines", machines.processors.to_string()),
            ("nb_grouped_switches", "0".to_owned()),
            ("nb_jobs", jobs.to_string()),
            ("nb_jobs_finished", self.finished.to_string()),
            ("nb_jobs_killed", self.killed.to_string()),
            ("nb_jobs_rejected", self.rejected.to_string()),
            ("nb_jobs_success", successes.to_string()),
            ("nb_machine_switches", "0".to_owned()),
            ("success_rate", mean(successes.into())),
            ("time_computing", whole(self.computing)),
            ("time_idle", whole(idle)),
            ("time_sleeping", zero()),
            ("time_switching_off", zero()),
            ("time_switching_on", zero()),
            ("time_unavailable", whole(machines.unavailable)),
        ])
    }
}

/// Stands where Batsim names itself.
const VERSION: &str = concat!("tradewind-", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINES: Machines = Machines { processors: 4, unavailable: 6 };

    fn tally() -> Tally {
        let mut tally = Tally::default();
        let stay = |submit, start, end, processor_time, killed| Stay {
            submit: Time(submit),
            start: Time(start),
            end: Time(end),
            processor_time,
            killed,
        };
        tally.finished(&stay(5, 5, 15, 20, false));
        tally.finished(&stay(6, 15, 18, 12, true));
        tally.rejected();
        tally
    }

    #[test]
    fn means_count_the_rejected_too() {
        let values = tally().values(MACHINES);
        let expected = [
            ("makespan", "13.000000"),
            ("mean_waiting_time", "3.000000"),
            ("mean_turnaround_time", "7.333333"),
            ("mean_slowdown", "1.666667"),
            ("max_slowdown", "4.000000"),
            ("max_waiting_time", "9.000000"),
            ("success_rate", "0.333333"),
            ("nb_jobs", "3"),
            ("nb_jobs_killed", "1"),
            ("time_computing", "32.000000"),
            ("time_idle", "14.000000"),
            ("time_unavailable", "6.000000"),
        ];
        for (key, value) in expected {
            assert_eq!(values[key], value, "{key}");
        }
    }

    #[test]
    fn version_4_has_one_row_and_the_last_end_as_makespan() {
        let text = tally().csv(MACHINES);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "batsim_version,consumed_joules,makespan,max_slowdown,max_turnaround_time,\
             max_waiting_time,mean_slowdown,mean_turnaround_time,mean_waiting_time,\
             nb_computing_machines,nb_grouped_switches,nb_jobs,nb_jobs_finished,nb_jobs_killed,\
             nb_jobs_rejected,nb_jobs_success,nb_machine_switches,scheduling_time,simulation_time,\
             success_rate,time_computing,time_idle,time_sleeping,time_switching_off,\
             time_switching_on,time_unavailable"
        );
        let values: Vec<&str> = lines[1].split(',').collect();
        assert_eq!([lines.len(), values.len()], [2, 26]);
        assert_eq!(values[2], "18.000000");
    }

    #[test]
    fn version_5_is_json_without_times_of_a_real_clock() {
        let value: serde_json::Value = serde_json::from_str(&tally().json(MACHINES)).unwrap();
        let object = value.as_object().unwrap();
        assert_eq!(object.len(), 24);
        assert_eq!(object["makespan"].to_string(), "13.000000");
        assert!(!object.contains_key("scheduling_time"));
    }

    #[test]
    fn nothing_ran() {
        let mut tally = Tally::default();
        tally.rejected();
        let values = tally.values(Machines { processors: 4, unavailable: 0 });
        assert_eq!(values["mean_waiting_time"], "0.000000");
        assert_eq!(values["time_idle"], "0.000000");
        assert!(Tally::default().csv(MACHINES).contains(",0.000000,"));
    }
}
