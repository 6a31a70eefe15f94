//! Columns: how wide, on which side, and what stands between them.

use super::fields::Field;
use super::refused;
use super::selected::SelectedJob;
use crate::exit::Failure;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FormatColumn {
    pub(super) head: String,
    pub(super) field: Field,
    /// Characters; `None`: as many as the text has.
    pub(super) width: Option<usize>,
    pub(super) side: Justify,
    /// What stands before and behind it.
    pub(super) before: String,
    pub(super) behind: String,
}

/// Where the text stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Justify {
    Left,
    Right,
}

impl FormatColumn {
    fn cell(&self, text: &str) -> String {
        let fitted = match (self.width, self.side) {
            (None, _) => text.to_owned(),
            (Some(width), side) => {
                let cut: String = text.chars().take(width).collect();
                match side {
                    Justify::Left => format!("{cut:<width$}"),
                    Justify::Right => format!("{cut:>width$}"),
                }
            }
        };
        format!("{}{fitted}{}", self.before, self.behind)
    }
}

/// The widest column: what is wider cannot be printed.
const WIDEST: usize = 4_096;

/// A width that can be printed.
pub(super) fn bounded(width: usize) -> usize {
    width.min(WIDEST)
}

/// The line of heads.
pub(super) fn heads(columns: &[FormatColumn]) -> String {
    line(columns.iter().map(|it| it.cell(&it.head)))
}

/// One job.
pub(super) fn row(columns: &[FormatColumn], row: &SelectedJob) -> String {
    line(columns.iter().map(|it| it.cell(&row.field(it.field))))
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let text: String = cells.collect();
    text + "\n"
}

/// The letters of `squeue -o` and what they are: heads as Slurm has them.
const LETTERS: [(char, &str, Field); 47] = [
    ('a', "ACCOUNT", Field::Account),
    ('A', "JOBID", Field::IdRaw),
    ('b', "TRES_PER_NODE", Field::Nothing("N/A")),
    ('B', "EXEC_HOST", Field::NodeList),
    ('c', "MIN_CPUS", Field::Processors),
    ('C', "CPUS", Field::Processors),
    ('d', "MIN_TMP_DISK", Field::Nothing("0")),
    ('D', "NODES", Field::Nodes),
    ('e', "END_TIME", Field::End),
    ('E', "DEPENDENCY", Field::Dependency),
    ('f', "FEATURES", Field::Nothing("(null)")),
    ('F', "ARRAY_JOB_ID", Field::ArrayJob),
    ('g', "GROUP", Field::Nothing("")),
    ('G', "GROUP", Field::Nothing("")),
    ('h', "OVER_SUBSCRIBE", Field::Nothing("NO")),
    ('H', "SOCKETS_PER_NODE", Field::Nothing("*")),
    ('i', "JOBID", Field::Id),
    ('I', "CORES_PER_SOCKET", Field::Nothing("*")),
    ('j', "NAME", Field::Name),
    ('J', "THREADS_PER_CORE", Field::Nothing("*")),
    ('k', "COMMENT", Field::Comment),
    ('K', "ARRAY_TASK_ID", Field::ArrayTask),
    ('l', "TIME_LIMIT", Field::Limit),
    ('L', "TIME_LEFT", Field::TimeLeft),
    ('m', "MIN_MEMORY", Field::Memory),
    ('M', "TIME", Field::TimeUsed),
    ('n', "REQ_NODES", Field::Nothing("")),
    ('N', "NODELIST", Field::NodeList),
    ('o', "COMMAND", Field::Command),
    ('O', "CONTIGUOUS", Field::Nothing("0")),
    ('p', "PRIORITY", Field::Priority),
    ('P', "PARTITION", Field::Partition),
    ('q', "QOS", Field::Qos),
    ('Q', "PRIORITY", Field::Priority),
    ('r', "REASON", Field::Reason),
    ('R', "NODELIST(REASON)", Field::NodesOrReason),
    ('s', "SELECT_JOBINFO", Field::Nothing("0")),
    ('S', "START_TIME", Field::Start),
    ('t', "ST", Field::StateShort),
    ('T', "STATE", Field::State),
    ('u', "USER", Field::User),
    ('U', "USER", Field::User),
    ('v', "RESERVATION", Field::Nothing("(null)")),
    ('V', "SUBMIT_TIME", Field::Submit),
    ('w', "WCKEY", Field::Nothing("")),
    ('x', "EXC_NODES", Field::Nothing("")),
    ('Z', "WORK_DIR", Field::WorkDir),
];

/// `%.18i %.9P`: letters with a width, and what stands between them.
///
/// # Errors
/// A letter that means nothing here.
pub(super) fn letters(text: &str) -> Result<Vec<FormatColumn>, Failure> {
    let mut columns: Vec<FormatColumn> = Vec::new();
    let (before, mut rest) = text.split_once('%').unwrap_or((text, ""));
    let mut before = before.to_owned();
    while !rest.is_empty() {
        let (side, spec) = match rest.strip_prefix('.') {
            Some(spec) => (Justify::Right, spec),
            None => (Justify::Left, rest),
        };
        let letters = spec.trim_start_matches(|it: char| it.is_ascii_digit());
        let width = spec[..spec.len() - letters.len()].parse().ok().map(bounded);
        let letter = letters.chars().next().unwrap_or('%');
        let found = LETTERS.iter().find(|(known, ..)| *known == letter);
        let (_, head, field) =
            found.ok_or_else(|| refused(format!("Invalid job format specification: {letter}")))?;
        let (behind, next) = letters[letter.len_utf8()..]
            .split_once('%')
            .map_or((&letters[letter.len_utf8()..], ""), |(behind, next)| (behind, next));
        let head = (*head).to_owned();
        let before = std::mem::take(&mut before);
        let behind = behind.to_owned();
        columns.push(FormatColumn { head, field: *field, width, side, before, behind });
        rest = next;
    }
    Ok(columns)
}

/// Names of fields: of `squeue -O`, of `sacct -o`. The head of the first, the width of the second
/// (negative: on the left).
const NAMES: [(&str, &str, i32, Field); 72] = [
    ("Account", "ACCOUNT", 10, Field::Account),
    ("AllocCPUS", "ALLOC_CPUS", 10, Field::Processors),
    ("AllocNodes", "ALLOC_NODES", 10, Field::Nodes),
    ("AllocTRES", "ALLOC_TRES", 10, Field::Nothing("")),
    ("ArrayJobID", "ARRAY_JOB_ID", 12, Field::ArrayJob),
    ("ArrayTaskID", "ARRAY_TASK_ID", 12, Field::ArrayTask),
    ("AveRSS", "AVE_RSS", 10, Field::Nothing("")),
    ("BatchFlag", "BATCH_FLAG", 10, Field::Batch),
    ("BatchHost", "EXEC_HOST", 10, Field::NodeList),
    ("Cluster", "CLUSTER", 10, Field::Cluster),
    ("Command", "COMMAND", 20, Field::Command),
    ("Comment", "COMMENT", 14, Field::Comment),
    ("Constraints", "FEATURES", 15, Field::Nothing("")),
    ("Cost", "COST", 10, Field::Cost),
    ("CPUTime", "CPU_TIME", 10, Field::ProcessorTime),
    ("CPUTimeRAW", "CPU_TIME_RAW", 10, Field::ProcessorTime),
    ("Dependency", "DEPENDENCY", 20, Field::Dependency),
    ("DerivedExitCode", "DERIVED_EC", 15, Field::ExitCode),
    ("Elapsed", "TIME", 10, Field::Elapsed),
    ("ElapsedRaw", "TIME_RAW", 10, Field::ElapsedSeconds),
    ("Eligible", "ELIGIBLE_TIME", 19, Field::Eligible),
    ("EligibleTime", "ELIGIBLE_TIME", 19, Field::Eligible),
    ("End", "END_TIME", 19, Field::End),
    ("EndTime", "END_TIME", 19, Field::End),
    ("ExitCode", "EXIT_CODE", 8, Field::ExitCode),
    ("exit_code", "EXIT_CODE", 8, Field::ExitCode),
    ("Feature", "FEATURES", 10, Field::Nothing("(null)")),
    ("Group", "GROUP", 9, Field::Nothing("")),
    ("JobArrayID", "JOBID", 18, Field::Id),
    ("JobID", "JOBID", -12, Field::Id),
    ("JobIDRaw", "JOBID", -12, Field::IdRaw),
    ("JobName", "NAME", 10, Field::Name),
    ("MaxRSS", "MAX_RSS", 10, Field::Nothing("")),
    ("MaxVMSize", "MAX_VMSIZE", 10, Field::Nothing("")),
    ("MinMemory", "MIN_MEMORY", 10, Field::Memory),
    ("Name", "NAME", 10, Field::Name),
    ("NCPUS", "CPUS", 10, Field::Processors),
    ("NNodes", "NODES", 8, Field::Nodes),
    ("NodeList", "NODELIST", 15, Field::NodeList),
    ("NTasks", "TASKS", 8, Field::Tasks),
    ("NumCPUs", "CPUS", 10, Field::Processors),
    ("NumNodes", "NODES", 10, Field::Nodes),
    ("NumTasks", "TASKS", 10, Field::Tasks),
    ("Partition", "PARTITION", 10, Field::Partition),
    ("Priority", "PRIORITY", 10, Field::Priority),
    ("PriorityLong", "PRIORITY", 10, Field::Priority),
    ("QOS", "QOS", 10, Field::Qos),
    ("Reason", "REASON", 22, Field::Reason),
    ("ReasonList", "NODELIST(REASON)", 22, Field::NodesOrReason),
    ("ReqCPUS", "CPUS", 8, Field::Processors),
    ("ReqMem", "MIN_MEMORY", 10, Field::Memory),
    ("ReqNodes", "NODES", 8, Field::Nodes),
    ("ReqTRES", "REQ_TRES", 10, Field::Nothing("")),
    ("Restarts", "RESTARTS", 8, Field::Restarts),
    ("RestartCnt", "RESTARTCNT", 10, Field::Restarts),
    ("Start", "START_TIME", 19, Field::Start),
    ("StartTime", "START_TIME", 19, Field::Start),
    ("State", "STATE", 10, Field::State),
    ("StateCompact", "ST", 5, Field::StateShort),
    ("StdErr", "STDERR", 20, Field::Stderr),
    ("StdOut", "STDOUT", 20, Field::Stdout),
    ("Submit", "SUBMIT_TIME", 19, Field::Submit),
    ("SubmitTime", "SUBMIT_TIME", 19, Field::Submit),
    ("TimeLeft", "TIME_LEFT", 10, Field::TimeLeft),
    ("TimeLimit", "TIME_LIMIT", 10, Field::Limit),
    ("TimeLimitRaw", "TIME_LIMIT", 12, Field::LimitMinutes),
    ("TimeUsed", "TIME", 10, Field::TimeUsed),
    ("TotalCPU", "TOTAL_CPU", 10, Field::Nothing("00:00:00")),
    ("User", "USER", 9, Field::User),
    ("UserName", "USER", 9, Field::User),
    ("WCKey", "WCKEY", 10, Field::Nothing("")),
    ("WorkDir", "WORK_DIR", 20, Field::WorkDir),
];

fn named(name: &str) -> Result<&'static (&'static str, &'static str, i32, Field), Failure> {
    let found = NAMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    found.ok_or_else(|| refused(format!("Invalid field requested: \"{name}\"")))
}

/// The names of all fields.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, ..)| *name)
}

/// `JobID:20,State:.10`, as `squeue -O` has it: 20 characters wide if nothing is said.
///
/// # Errors
/// A name that means nothing here.
pub(super) fn long_names(text: &str) -> Result<Vec<FormatColumn>, Failure> {
    const WIDTH: usize = 20;
    let one = |item: &str| {
        let (name, spec) = item.split_once(':').unwrap_or((item, ""));
        let (_, head, _, field) = named(name.trim())?;
        let (side, spec) = match spec.strip_prefix('.') {
            Some(spec) => (Justify::Right, spec),
            None => (Justify::Left, spec),
        };
        let behind = spec.trim_start_matches(|it: char| it.is_ascii_digit());
        let width = spec[..spec.len() - behind.len()].parse().map_or(WIDTH, bounded);
        Ok(FormatColumn {
            head: (*head).to_owned(),
            field: *field,
            width: Some(width),
            side,
            before: String::new(),
            behind: behind.to_owned(),
        })
    };
    text.split(',').filter(|it| !it.trim().is_empty()).map(one).collect()
}

/// How `sacct` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsable<'a> {
    /// In columns.
    No,
    /// With this between fields.
    Between(&'a str),
    /// The same, and at the end.
    Behind(&'a str),
}

/// `JobID%30,State%-10`, as `sacct -o` has it.
///
/// # Errors
/// A name that means nothing here.
pub(super) fn accounting(text: &str, parsable: Parsable<'_>) -> Result<Vec<FormatColumn>, Failure> {
    let items: Vec<&str> = text.split(',').filter(|it| !it.trim().is_empty()).collect();
    let last = items.len().saturating_sub(1);
    let one = |(at, item): (usize, &&str)| {
        let (name, spec) = item.split_once('%').unwrap_or((item, ""));
        let (name, _, usual, field) = named(name.trim())?;
        let width = spec.parse::<i32>().unwrap_or(*usual);
        let side = if width < 0 { Justify::Left } else { Justify::Right };
        let behind = match parsable {
            Parsable::No => " ",
            Parsable::Between(_) if at == last => "",
            Parsable::Between(text) | Parsable::Behind(text) => text,
        };
        let width = usize::try_from(width.unsigned_abs()).ok().map(bounded);
        Ok(FormatColumn {
            head: (*name).to_owned(),
            field: *field,
            width: width.filter(|_| parsable == Parsable::No),
            side,
            before: String::new(),
            behind: behind.to_owned(),
        })
    };
    items.iter().enumerate().map(one).collect()
}

/// The line under the heads.
pub(super) fn dashes(columns: &[FormatColumn]) -> String {
    let dashes = |it: &FormatColumn| "-".repeat(it.width.unwrap_or(it.head.len()));
    line(columns.iter().map(|it| format!("{}{}{}", it.before, dashes(it), it.behind)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_keep_what_stands_between_them() {
        let columns = letters("%.7i|%9P x%T").unwrap();
        assert_eq!(heads(&columns), "  JOBID|PARTITION xSTATE\n");
        assert_eq!(heads(&letters("%i|%T").unwrap()), "JOBID|STATE\n");
        assert!(letters("%y").is_err());
        assert_eq!(heads(&letters("%99999999i").unwrap()).len(), WIDEST + 1);
    }

    #[test]
    fn names_have_widths_of_their_command() {
        let columns = long_names("JobID:8,state:.6|").unwrap();
        assert_eq!(heads(&columns), "JOBID    STATE|\n");
        let columns = accounting("jobid,State%6", Parsable::No).unwrap();
        assert_eq!(
            heads(&columns) + &dashes(&columns),
            "JobID         State \n------------ ------ \n"
        );
        let columns = accounting("JobID,State", Parsable::Between("|")).unwrap();
        assert_eq!(heads(&columns), "JobID|State\n");
        let columns = accounting("JobID,State", Parsable::Behind(";")).unwrap();
        assert_eq!(heads(&columns), "JobID;State;\n");
        assert!(accounting("Nonsense", Parsable::No).is_err());
    }
}
