//! What runs are compared by, in tables and reports.

use tradewind_io::chart::{Better, Unit};

use super::overview::Overview;

/// What is compared: the metric, its name for people, its unit, which way is better.
pub(super) type Measure = (&'static str, &'static str, Unit, Better);

/// Who ran comes first, and the worst stands beside the mean.
pub(super) const MEASURES: [Measure; 31] = [
    ("jobs", "jobs that ran", Unit::Count, Better::Neither),
    ("refused", "refused jobs", Unit::Count, Better::Lower),
    ("killed", "killed jobs", Unit::Count, Better::Lower),
    ("offered_load", "offered load", Unit::Share, Better::Neither),
    ("mean_wait_s", "mean wait", Unit::Seconds, Better::Lower),
    ("p95_wait_s", "wait, 95 % of jobs", Unit::Seconds, Better::Lower),
    ("p99_wait_s", "wait, 99 % of jobs", Unit::Seconds, Better::Lower),
    ("max_wait_s", "longest wait", Unit::Seconds, Better::Lower),
    ("mean_bounded_slowdown", "mean bounded slowdown", Unit::Ratio, Better::Lower),
    ("p95_bounded_slowdown", "bounded slowdown, 95 % of jobs", Unit::Ratio, Better::Lower),
    ("p99_bounded_slowdown", "bounded slowdown, 99 % of jobs", Unit::Ratio, Better::Lower),
    ("max_bounded_slowdown", "largest bounded slowdown", Unit::Ratio, Better::Lower),
    ("utilisation", "utilisation", Unit::Share, Better::Higher),
    ("makespan_s", "makespan", Unit::Seconds, Better::Lower),
    ("mean_queue_jobs", "mean queue", Unit::Count, Better::Lower),
    ("backfill_ratio", "backfilled", Unit::Share, Better::Neither),
    ("site_backfill_ratio", "backfilled at home", Unit::Share, Better::Neither),
    ("messages_per_job", "messages per job", Unit::Ratio, Better::Lower),
    ("lost_work_node_s", "lost processor time", Unit::Seconds, Better::Lower),
    ("fairness", "fairness", Unit::Ratio, Better::Higher),
    ("deadline_success", "deadlines met", Unit::Share, Better::Higher),
    ("load_deviation_mean", "deviation of load", Unit::Share, Better::Lower),
    ("mean_cost", "mean cost", Unit::Credits, Better::Lower),
    ("total_income", "owners' income", Unit::Credits, Better::Neither),
    ("users_surplus", "users' surplus", Unit::Credits, Better::Higher),
    ("owners_surplus", "owners' surplus", Unit::Credits, Better::Higher),
    ("welfare", "welfare", Unit::Credits, Better::Higher),
    ("energy_kwh", "energy of jobs", Unit::KilowattHours, Better::Lower),
    ("carbon_g", "emissions of jobs", Unit::Grams, Better::Lower),
    ("energy_price", "electricity of jobs", Unit::Credits, Better::Lower),
    ("idle_energy_kwh", "idle energy", Unit::KilowattHours, Better::Lower),
];

/// Those of which any run has a value, other than 0.
pub(super) fn measures(overview: &Overview) -> impl Iterator<Item = Measure> {
    MEASURES.into_iter().filter(|(key, ..)| {
        overview.runs.iter().any(|run| run.number(key).is_some_and(|value| value != 0.0))
    })
}
