//! What is known of a job, by the names that Slurm gives it.

use serde_json::Value;

use super::hostlist;
use super::local_account::user_id;
use super::selected::SelectedJob;
use crate::client::words::{self, length, moment};

/// One fact of a job. Formats of all commands are made of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Account,
    ArrayJob,
    ArrayTask,
    Batch,
    Cluster,
    Command,
    Comment,
    CpusPerTask,
    Cost,
    Deadline,
    Dependency,
    Elapsed,
    ElapsedSeconds,
    End,
    Eligible,
    ExitCode,
    Id,
    IdRaw,
    Licenses,
    Limit,
    LimitMinutes,
    Memory,
    Name,
    Nice,
    Nodes,
    NodeList,
    NodesOrReason,
    Partition,
    Pending,
    PendingSeconds,
    Priority,
    Processors,
    ProcessorSeconds,
    ProcessorTime,
    Qos,
    Reason,
    Requeue,
    Restarts,
    Start,
    State,
    StateShort,
    Stdin,
    Stdout,
    Stderr,
    Submit,
    Tasks,
    TimeLeft,
    TimeUsed,
    Tres,
    User,
    UserId,
    WorkDir,
    /// The account, or `(null)`, as in lists of jobs.
    ListedAccount,
    /// The comment, or `(null)`, as in lists of jobs.
    ListedComment,
    /// Known to Slurm and not to the market: empty, or what Slurm prints for "none".
    Nothing(&'static str),
}

impl Field {
    /// As `squeue` has it, which writes `(null)` where `sacct` writes nothing.
    pub(super) fn listed(self) -> Field {
        match self {
            Field::Account => Field::ListedAccount,
            Field::Comment => Field::ListedComment,
            other => other,
        }
    }
}

impl SelectedJob {
    /// The fact as text.
    pub(super) fn field(&self, field: Field) -> String {
        let job = &self.job;
        match field {
            Field::Account => self.account().to_owned(),
            Field::ArrayJob => job.array.map_or(job.id, |it| it.first).to_string(),
            Field::ArrayTask => job.array.map_or("N/A".to_owned(), |it| it.index.to_string()),
            Field::Batch => "1".to_owned(),
            Field::Cluster => none_if_empty(&job.sites.join(","), "tradewind"),
            Field::Command => self.command(),
            Field::Comment => self.text("comment"),
            Field::CpusPerTask => self.asked["cpus_per_task"].as_i64().unwrap_or(1).to_string(),
            Field::Deadline => moment_or(self.asked["deadline"].as_i64(), "N/A"),
            Field::ListedAccount => none_if_empty(self.account(), "(null)"),
            Field::Licenses => none_if_empty(&self.licenses(), "(null)"),
            Field::ListedComment => none_if_empty(&self.text("comment"), "(null)"),
            Field::Cost => job.cost_so_far.to_string(),
            Field::Dependency => none_if_empty(&self.dependency(), "(null)"),
            Field::Elapsed => clock(self.used()),
            Field::ElapsedSeconds => self.used().to_string(),
            Field::End => moment_or(self.end(), "Unknown"),
            Field::Eligible | Field::Submit => moment(job.submitted),
            Field::ExitCode => {
                let exit = job.exit.map_or((0, 0), |it| (it.code, it.signal));
                format!("{}:{}", exit.0, exit.1)
            }
            Field::Id => self.id() + &self.behind(),
            Field::IdRaw => job.id.to_string() + &self.behind(),
            Field::Limit => self.limit().map_or("UNLIMITED".to_owned(), length),
            Field::LimitMinutes => {
                self.limit().map_or(String::new(), |it| ((it + 59) / 60).to_string())
            }
            Field::Memory => self.passed("mem").unwrap_or_default(),
            Field::Name => job.name.clone(),
            Field::Nice => (-self.asked["priority"].as_i64().unwrap_or(0)).to_string(),
            Field::Nodes => job.nodes.to_string(),
            Field::NodeList => hostlist::fold(&self.nodes()),
            Field::NodesOrReason => self.nodes_or_reason(),
            Field::Partition => self.partition(),
            Field::Pending => clock(self.pending()),
            Field::PendingSeconds => self.pending().to_string(),
            Field::ProcessorSeconds => (self.used() * self.processors()).to_string(),
            Field::Requeue => u8::from(self.asked["on_lost"] == "rerun").to_string(),
            Field::Stdin => none_if_empty(&self.file("input"), "/dev/null"),
            Field::Tres => format!("cpu={},node={}", self.processors(), job.nodes),
            Field::UserId => user_id(&job.user),
            Field::Priority => self.asked["priority"].as_i64().unwrap_or(0).to_string(),
            Field::Processors => self.processors().to_string(),
            Field::ProcessorTime => clock(self.used() * self.processors()),
            Field::Qos => self.passed("qos").unwrap_or_else(|| "normal".to_owned()),
            Field::Reason => job.reason.clone().unwrap_or_else(|| "None".to_owned()),
            Field::Restarts => job.restarts.to_string(),
            Field::Start => moment_or(self.start(), "N/A"),
            Field::State => job.state.clone(),
            Field::StateShort => words::short(&job.state).to_owned(),
            Field::Stdout => self.file("output"),
            Field::Stderr => none_if_empty(&self.file("error"), &self.file("output")),
            Field::Tasks => self.tasks().to_string(),
            Field::TimeLeft => {
                self.limit().map_or("UNLIMITED".to_owned(), |it| length((it - self.used()).max(0)))
            }
            Field::TimeUsed => length(self.used()),
            Field::User => job.user.clone(),
            Field::WorkDir => self.text("directory"),
            Field::Nothing(text) => text.to_owned(),
        }
    }

    /// `.batch` of a step.
    fn behind(&self) -> String {
        self.step.map(|step| format!(".{step}")).unwrap_or_default()
    }

    fn text(&self, name: &str) -> String {
        self.asked[name].as_str().unwrap_or_default().to_owned()
    }

    /// As Slurm lists them: `abaqus:4,matlab:1`.
    fn licenses(&self) -> String {
        let one = |(name, count): (&String, &u32)| format!("{name}:{count}");
        self.job.licences.iter().map(one).collect::<Vec<_>>().join(",")
    }

    fn passed(&self, option: &str) -> Option<String> {
        let all = self.asked["passed_through"].as_array()?;
        let found = all.iter().find(|it| it["option"] == option)?;
        found["value"].as_str().map(str::to_owned)
    }

    /// Whether it has begun.
    pub(super) fn has_started(&self) -> bool {
        self.job.started.is_some()
    }

    /// When it started, or is expected to.
    pub(super) fn start(&self) -> Option<i64> {
        self.job.started.or(self.job.expected_start.map(|it| it.at))
    }

    /// When it ended, or at the latest ends.
    pub(super) fn end(&self) -> Option<i64> {
        let at_limit = || Some(self.job.started?.saturating_add(self.limit()?));
        self.job.ended.or_else(at_limit)
    }

    /// Seconds that it has run.
    pub(super) fn used(&self) -> i64 {
        let until = self.job.ended.unwrap_or_else(words::now);
        self.job.started.map_or(0, |began| (until - began).max(0))
    }

    /// Seconds that it has waited.
    fn pending(&self) -> i64 {
        let until = self.job.started.or(self.job.ended).unwrap_or_else(words::now);
        (until - self.job.submitted).max(0)
    }

    /// Its time limit in seconds, where it runs or as it was asked for.
    pub(super) fn limit(&self) -> Option<i64> {
        let of_parts = self.job.parts.iter().map(|it| it.limit).max();
        of_parts.or_else(|| self.asked["time"].as_i64())
    }

    pub(super) fn tasks(&self) -> i64 {
        self.asked["ntasks"].as_i64().unwrap_or_else(|| i64::from(self.job.nodes))
    }

    /// As many as its tasks asked for, one of each node at least.
    pub(super) fn processors(&self) -> i64 {
        let each = self.asked["cpus_per_task"].as_i64().unwrap_or(1);
        self.tasks().saturating_mul(each).max(i64::from(self.job.nodes))
    }

    /// The script's name with its arguments, or the command.
    pub(super) fn command(&self) -> String {
        let list = |name: &str| {
            let all = self.asked[name].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        none_if_empty(&list("command"), "(null)")
    }

    /// Where it writes, as a path.
    pub(super) fn file(&self, name: &str) -> String {
        let text = self.text(name);
        let (first, index) = self.job.array.map_or((self.job.id, 0), |it| (it.first, it.index));
        let text = text
            .replace("%j", &self.job.id.to_string())
            .replace("%A", &first.to_string())
            .replace("%a", &index.to_string());
        match text.is_empty() || text.starts_with('/') {
            true => text,
            false => format!("{}/{text}", self.text("directory")),
        }
    }

    fn dependency(&self) -> String {
        let all = self.asked["after"].as_array().into_iter().flatten();
        let one = |it: &Value| match it["job"].as_u64() {
            Some(job) => format!("{}:{job}", it["when"].as_str().unwrap_or_default()),
            None => it["when"].as_str().unwrap_or_default().to_owned(),
        };
        all.map(one).collect::<Vec<_>>().join(",")
    }

    fn nodes_or_reason(&self) -> String {
        match (self.job.state.as_str(), &self.job.reason) {
            ("PENDING", reason) => format!("({})", reason.as_deref().unwrap_or("None")),
            _ => hostlist::fold(&self.nodes()),
        }
    }
}

fn none_if_empty(text: &str, none: &str) -> String {
    if text.is_empty() { none.to_owned() } else { text.to_owned() }
}

/// A moment, or what stands for none.
pub(super) fn moment_or(at: Option<i64>, none: &str) -> String {
    at.map_or_else(|| none.to_owned(), moment)
}

/// A length of time with all its parts, as `sacct` has it: `00:01:05`, `1-02:03:04`.
pub(super) fn clock(seconds: i64) -> String {
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if days > 0 { format!("{days}-{text}") } else { text }
}
