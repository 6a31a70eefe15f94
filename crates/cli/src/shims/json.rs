//! `--json`: the fields of Slurm's data parser 0.0.42 that the market has.

use serde_json::{Value, json};

use super::SPOKEN;
use super::fields::Field;
use super::hostlist;
use super::selected::SelectedJob;

/// The document of a command.
pub(super) fn jobs(command: &str, rows: &[SelectedJob]) -> Value {
    whole(command, "jobs", &rows.iter().map(job).collect::<Vec<_>>())
}

/// `items` under `name`, with what stands around them.
pub(super) fn whole(command: &str, name: &str, items: &[Value]) -> Value {
    let mut version = SPOKEN.split('.');
    let mut next = || version.next().unwrap_or_default();
    let (major, minor, micro) = (next(), next(), next());
    json!({
        name: items,
        "meta": {
            "plugin": {"type": "", "name": "", "data_parser": "data_parser/v0.0.42"},
            "command": [command],
            "slurm": {
                "version": {"major": major, "minor": minor, "micro": micro},
                "release": SPOKEN, "cluster": "tradewind"
            }
        },
        "errors": [],
        "warnings": []
    })
}

/// A number that may be missing, as Slurm writes it.
fn number(value: Option<i64>) -> Value {
    json!({"set": value.is_some(), "infinite": false, "number": value.unwrap_or(0)})
}

fn job(row: &SelectedJob) -> Value {
    let job = &row.job;
    let exit = job.exit.map_or((0, 0), |it| (it.code, it.signal));
    let status = match exit {
        (_, signal) if signal > 0 => "SIGNALED",
        (0, _) => "SUCCESS",
        _ => "ERROR",
    };
    let index = job.array.map(|it| i64::from(it.index));
    let first = job.array.and_then(|it| i64::try_from(it.first).ok());
    json!({
        "account": row.account(),
        "array_job_id": number(first.or(Some(0))),
        "array_task_id": number(index),
        "batch_flag": true,
        "cluster": row.field(Field::Cluster),
        "command": row.command(),
        "comment": row.field(Field::Comment),
        "cpus": number(Some(row.processors())),
        "current_working_directory": row.field(Field::WorkDir),
        "dependency": row.field(Field::Dependency),
        "end_time": number(row.end()),
        "exit_code": {
            "status": [status],
            "return_code": number(Some(exit.0.into())),
            "signal": {"id": number(Some(exit.1.into())), "name": ""}
        },
        "job_id": job.id,
        "job_state": [job.state],
        "name": job.name,
        "node_count": number(Some(job.nodes.into())),
        "nodes": hostlist::fold(&row.nodes()),
        "partition": row.partition(),
        "priority": number(row.asked["priority"].as_i64().or(Some(0))),
        "qos": row.field(Field::Qos),
        "restart_cnt": job.restarts,
        "standard_error": row.field(Field::Stderr),
        "standard_output": row.field(Field::Stdout),
        "start_time": number(row.start()),
        "state": {"current": [job.state], "reason": row.field(Field::Reason)},
        "state_reason": row.field(Field::Reason),
        "submit_time": number(Some(job.submitted)),
        "tasks": number(Some(row.tasks())),
        "time": {
            "elapsed": row.used(), "start": row.start().unwrap_or(0), "end": row.end().unwrap_or(0),
            "submission": job.submitted, "limit": number(row.limit().map(|it| (it + 59) / 60))
        },
        "time_limit": number(row.limit().map(|it| (it + 59) / 60)),
        "user_name": job.user,
        "user": job.user,
        "tradewind": {"cost_so_far": job.cost_so_far, "cost_at_most": job.cost_at_most}
    })
}
