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
const LETTERS: [(char, &str, Field); 51] = [
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
    ('G', "GROUP", Field::Nothing("N/A")),
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
    ('S', "START_TIME", Field::Start),
    ('t', "ST", Field::StateShort),
    ('T', "STATE", Field::State),
    ('u', "USER", Field::User),
    ('U', "UID", Field::UserId),
    ('v', "RESERVATION", Field::Nothing("(null)")),
    ('V', "SUBMIT_TIME", Field::Submit),
    ('w', "WCKEY", Field::Nothing("(null)")),
    ('W', "LICENSES", Field::Licenses),
    ('x', "EXC_NODES", Field::Nothing("")),
    ('X', "CORE_SPEC", Field::Nothing("N/A")),
    ('y', "NICE", Field::Nice),
    ('Y', "SCHEDNODES", Field::Nothing("(null)")),
    ('z', "S:C:T", Field::Nothing("*:*:*")),
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
        let field = field.listed();
        columns.push(FormatColumn { head, field, width, side, before, behind });
        rest = next;
    }
    Ok(columns)
}

/// Names of fields: of `squeue -O`, of `sacct -o`. The head of the first, the width of the second
/// (negative: on the left).
const NAMES: [(&str, &str, i32, Field); 142] = [
    ("Account", "ACCOUNT", 10, Field::Account),
    ("AccrueTime", "ACCRUE_TIME", 19, Field::Eligible),
    ("AllocCPUS", "ALLOC_CPUS", 10, Field::Processors),
    ("AllocNodes", "ALLOC_NODES", 10, Field::Nodes),
    ("AllocSID", "ALLOC_SID", 10, Field::Nothing("0")),
    ("AllocTRES", "ALLOC_TRES", 10, Field::Tres),
    ("ArrayJobID", "ARRAY_JOB_ID", 12, Field::ArrayJob),
    ("ArrayTaskID", "ARRAY_TASK_ID", 12, Field::ArrayTask),
    ("AssocID", "ASSOC_ID", 10, Field::Nothing("0")),
    ("AveRSS", "AVE_RSS", 10, Field::Nothing("")),
    ("BatchFlag", "BATCH_FLAG", 10, Field::Batch),
    ("BatchHost", "EXEC_HOST", 10, Field::NodeList),
    ("BoardsPerNode", "BOARDS_PER_NODE", 10, Field::Nothing("0")),
    ("BurstBuffer", "BURST_BUFFER", 10, Field::Nothing("(null)")),
    ("BurstBufferState", "BURST_BUFFER_STATE", 10, Field::Nothing("(null)")),
    ("Cluster", "CLUSTER", 10, Field::Cluster),
    ("ClusterFeature", "CLUSTER_FEATURES", 10, Field::Nothing("(null)")),
    ("Command", "COMMAND", 20, Field::Command),
    ("Comment", "COMMENT", 14, Field::Comment),
    ("Constraints", "FEATURES", 15, Field::Nothing("")),
    ("Container", "CONTAINER", 20, Field::Nothing("(null)")),
    ("ContainerId", "CONTAINERID", 20, Field::Nothing("(null)")),
    ("Contiguous", "CONTIGUOUS", 10, Field::Nothing("0")),
    ("Cores", "CORES_PER_SOCKET", 10, Field::Nothing("*")),
    ("CoreSpec", "CORE_SPEC", 10, Field::Nothing("N/A")),
    ("Cost", "COST", 10, Field::Cost),
    ("cpus-per-task", "CPUS_PER_TASK", 13, Field::CpusPerTask),
    ("cpus-per-tres", "CPUS_PER_TRES", 13, Field::Nothing("N/A")),
    ("CPUTime", "CPU_TIME", 10, Field::ProcessorTime),
    ("CPUTimeRAW", "CPU_TIME_RAW", 10, Field::ProcessorSeconds),
    ("Deadline", "DEADLINE", 19, Field::Deadline),
    ("DelayBoot", "DELAY_BOOT", 10, Field::Nothing("0:00")),
    ("Dependency", "DEPENDENCY", 20, Field::Dependency),
    ("DerivedEC", "DERIVED_EC", 10, Field::ExitCode),
    ("DerivedExitCode", "DERIVED_EC", 15, Field::ExitCode),
    ("Elapsed", "TIME", 10, Field::Elapsed),
    ("ElapsedRaw", "TIME_RAW", 10, Field::ElapsedSeconds),
    ("Eligible", "ELIGIBLE_TIME", 19, Field::Eligible),
    ("EligibleTime", "ELIGIBLE_TIME", 19, Field::Eligible),
    ("End", "END_TIME", 19, Field::End),
    ("EndTime", "END_TIME", 19, Field::End),
    ("ExcNodes", "EXC_NODES", 10, Field::Nothing("")),
    ("exit_code", "EXIT_CODE", 8, Field::ExitCode),
    ("ExitCode", "EXIT_CODE", 8, Field::ExitCode),
    ("Feature", "FEATURES", 10, Field::Nothing("(null)")),
    ("Group", "GROUP", 9, Field::Nothing("")),
    ("GroupId", "GROUP", 10, Field::Nothing("N/A")),
    ("GroupName", "GROUP", 10, Field::Nothing("")),
    ("HetJobId", "HET_JOB_ID", 10, Field::Nothing("N/A")),
    ("HetJobIdSet", "HET_JOB_ID_SET", 14, Field::Nothing("N/A")),
    ("HetJobOffset", "HET_JOB_OFFSET", 14, Field::Nothing("N/A")),
    ("JobArrayID", "JOBID", 18, Field::Id),
    ("JobID", "JOBID", -12, Field::Id),
    ("JobIDRaw", "JOBID", -12, Field::IdRaw),
    ("JobName", "NAME", 10, Field::Name),
    ("LastSchedEval", "LAST_SCHED_EVAL", 19, Field::Nothing("N/A")),
    ("Licenses", "LICENSES", 10, Field::Licenses),
    ("MaxCPUs", "MAX_CPUS", 10, Field::Processors),
    ("MaxNodes", "MAX_NODES", 10, Field::Nodes),
    ("MaxRSS", "MAX_RSS", 10, Field::Nothing("")),
    ("MaxVMSize", "MAX_VMSIZE", 10, Field::Nothing("")),
    ("MCSLabel", "MCSLABEL", 10, Field::Nothing("(null)")),
    ("mem-per-tres", "MEM_PER_TRES", 13, Field::Nothing("N/A")),
    ("MinCpus", "MIN_CPUS", 10, Field::CpusPerTask),
    ("MinMemory", "MIN_MEMORY", 10, Field::Memory),
    ("MinTime", "TIME_MIN", 10, Field::Nothing("0:00")),
    ("MinTmpDisk", "MIN_TMP_DISK", 12, Field::Nothing("0")),
    ("Name", "NAME", 10, Field::Name),
    ("NCPUS", "CPUS", 10, Field::Processors),
    ("Network", "NETWORK", 10, Field::Nothing("(null)")),
    ("Nice", "NICE", 10, Field::Nice),
    ("NNodes", "NODES", 8, Field::Nodes),
    ("NodeList", "NODELIST", 15, Field::NodeList),
    ("NTasks", "TASKS", 8, Field::Tasks),
    ("NTPerBoard", "NTASKS_PER_BOARD", 16, Field::Nothing("0")),
    ("NTPerCore", "NTASKS_PER_CORE", 15, Field::Nothing("N/A")),
    ("NTPerNode", "NTASKS_PER_NODE", 15, Field::Nothing("0")),
    ("NTPerSocket", "NTASKS_PER_SOCKET", 17, Field::Nothing("N/A")),
    ("NumCPUs", "CPUS", 10, Field::Processors),
    ("NumNodes", "NODES", 10, Field::Nodes),
    ("NumTasks", "TASKS", 10, Field::Tasks),
    ("Origin", "ORIGIN", 10, Field::Nothing("NA")),
    ("OriginRaw", "ORIGIN_RAW", 10, Field::Nothing("NA")),
    ("OverSubscribe", "OVER_SUBSCRIBE", 14, Field::Nothing("NO")),
    ("Partition", "PARTITION", 10, Field::Partition),
    ("PendingTime", "PENDING_TIME", 12, Field::PendingSeconds),
    ("Planned", "PENDING_TIME", 10, Field::Pending),
    ("PreemptTime", "PREEMPT_TIME", 12, Field::Nothing("N/A")),
    ("Prefer", "PREFER", 10, Field::Nothing("(null)")),
    ("Priority", "PRIORITY", 10, Field::Priority),
    ("PriorityLong", "PRIORITY", 10, Field::Priority),
    ("Profile", "PROFILE", 10, Field::Nothing("NotSet")),
    ("QOS", "QOS", 10, Field::Qos),
    ("Reason", "REASON", 22, Field::Reason),
    ("ReasonList", "NODELIST(REASON)", 22, Field::NodesOrReason),
    ("Reboot", "REBOOT", 10, Field::Nothing("0")),
    ("ReqCPUS", "CPUS", 8, Field::Processors),
    ("ReqMem", "MIN_MEMORY", 10, Field::Memory),
    ("ReqNodes", "REQ_NODES", 20, Field::Nothing("")),
    ("ReqSwitch", "REQ_SWITCH", 10, Field::Nothing("0")),
    ("ReqTRES", "REQ_TRES", 10, Field::Tres),
    ("Requeue", "REQUEUE", 10, Field::Requeue),
    ("Reservation", "RESERVATION", 11, Field::Nothing("(null)")),
    ("ResizeTime", "RESIZE_TIME", 11, Field::Nothing("N/A")),
    ("RestartCnt", "RESTART_COUNT", 10, Field::Restarts),
    ("Restarts", "RESTARTS", 8, Field::Restarts),
    ("SchedNodes", "SCHEDNODES", 10, Field::Nothing("(null)")),
    ("SCT", "S:C:T", 10, Field::Nothing("*:*:*")),
    ("SiblingsActive", "ACTIVE_SIBLINGS", 15, Field::Nothing("NA")),
    ("SiblingsViable", "VIABLE_SIBLINGS", 15, Field::Nothing("NA")),
    ("Sockets", "SOCKETS_PER_NODE", 16, Field::Nothing("*")),
    ("SPerBoard", "SOCKETS_PER_BOARD", 17, Field::Nothing("0")),
    ("Start", "START_TIME", 19, Field::Start),
    ("StartTime", "START_TIME", 19, Field::Start),
    ("State", "STATE", 10, Field::State),
    ("StateCompact", "ST", 5, Field::StateShort),
    ("StdErr", "STDERR", 20, Field::Stderr),
    ("StdIn", "STDIN", 20, Field::Stdin),
    ("StdOut", "STDOUT", 20, Field::Stdout),
    ("Submit", "SUBMIT_TIME", 19, Field::Submit),
    ("SubmitTime", "SUBMIT_TIME", 19, Field::Submit),
    ("system_comment", "SYSTEM_COMMENT", 14, Field::Nothing("(null)")),
    ("Threads", "THREADS_PER_CORE", 16, Field::Nothing("*")),
    ("TimeLeft", "TIME_LEFT", 10, Field::TimeLeft),
    ("TimeLimit", "TIME_LIMIT", 10, Field::Limit),
    ("TimeLimitRaw", "TIME_LIMIT", 12, Field::LimitMinutes),
    ("TimeUsed", "TIME", 10, Field::TimeUsed),
    ("TotalCPU", "TOTAL_CPU", 10, Field::Nothing("00:00:00")),
    ("tres-alloc", "TRES_ALLOC", 20, Field::Tres),
    ("tres-bind", "TRES_BIND", 10, Field::Nothing("N/A")),
    ("tres-freq", "TRES_FREQ", 10, Field::Nothing("N/A")),
    ("tres-per-job", "TRES_PER_JOB", 12, Field::Nothing("N/A")),
    ("tres-per-node", "TRES_PER_NODE", 13, Field::Nothing("N/A")),
    ("tres-per-socket", "TRES_PER_SOCKET", 15, Field::Nothing("N/A")),
    ("tres-per-task", "TRES_PER_TASK", 13, Field::Nothing("N/A")),
    ("UID", "UID", 6, Field::UserId),
    ("User", "USER", 9, Field::User),
    ("UserId", "UID", 9, Field::UserId),
    ("UserName", "USER", 9, Field::User),
    ("Wait4Switch", "WAIT4SWITCH", 11, Field::Nothing("0:00")),
    ("WCKey", "WCKEY", 10, Field::Nothing("")),
    ("WorkDir", "WORK_DIR", 20, Field::WorkDir),
];

/// Fields of `sacct` of which the market knows nothing: they are empty.
const EMPTY: [&str; 46] = [
    "AdminComment",
    "AveCPU",
    "AveCPUFreq",
    "AveDiskRead",
    "AveDiskWrite",
    "AvePages",
    "AveVMSize",
    "BlockID",
    "ConsumedEnergy",
    "ConsumedEnergyRaw",
    "DBIndex",
    "Extra",
    "FailedNode",
    "Flags",
    "GID",
    "Layout",
    "MaxDiskRead",
    "MaxDiskReadNode",
    "MaxDiskReadTask",
    "MaxDiskWrite",
    "MaxDiskWriteNode",
    "MaxDiskWriteTask",
    "MaxPages",
    "MaxPagesNode",
    "MaxPagesTask",
    "MaxRSSNode",
    "MaxRSSTask",
    "MaxVMSizeNode",
    "MaxVMSizeTask",
    "MinCPU",
    "MinCPUNode",
    "MinCPUTask",
    "QOSREQ",
    "ReqCPUFreq",
    "ReservationId",
    "SubmitLine",
    "Suspended",
    "SystemComment",
    "SystemCPU",
    "TRESUsageInAve",
    "TRESUsageInMax",
    "TRESUsageInTot",
    "TRESUsageOutAve",
    "TRESUsageOutTot",
    "UserCPU",
    "WCKeyID",
];

fn named(name: &str) -> Option<(&'static str, &'static str, i32, Field)> {
    NAMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)).copied()
}

/// A field of `sacct`.
fn accounted(name: &str) -> Result<(&'static str, i32, Field), Failure> {
    let empty = || {
        let known = EMPTY.iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some((*known, 10, Field::Nothing("")))
    };
    let found = named(name).map(|(name, _, width, field)| (name, width, field)).or_else(empty);
    found.ok_or_else(|| refused(format!("Invalid field requested: \"{name}\"")))
}

/// The names of all fields.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, ..)| *name).chain(EMPTY)
}

/// `JobID:20,State:.10`, as `squeue -O` has it: 20 characters wide if nothing is said.
///
/// # Errors
/// A name that means nothing here.
pub(super) fn long_names(text: &str) -> Result<Vec<FormatColumn>, Failure> {
    const WIDTH: usize = 20;
    let one = |item: &str| {
        let (name, spec) = item.split_once(':').unwrap_or((item, ""));
        let unknown = || refused(format!("Invalid job format specification: {name}"));
        let (_, head, _, field) = named(name.trim()).ok_or_else(unknown)?;
        let (side, spec) = match spec.strip_prefix('.') {
            Some(spec) => (Justify::Right, spec),
            None => (Justify::Left, spec),
        };
        let behind = spec.trim_start_matches(|it: char| it.is_ascii_digit());
        let width = spec[..spec.len() - behind.len()].parse().map_or(WIDTH, bounded);
        Ok(FormatColumn {
            head: head.to_owned(),
            field: field.listed(),
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
        let (name, usual, field) = accounted(name.trim())?;
        let width = spec.parse::<i32>().unwrap_or(usual);
        let side = if width < 0 { Justify::Left } else { Justify::Right };
        let behind = match parsable {
            Parsable::No => " ",
            Parsable::Between(_) if at == last => "",
            Parsable::Between(text) | Parsable::Behind(text) => text,
        };
        let width = usize::try_from(width.unsigned_abs()).ok().map(bounded);
        Ok(FormatColumn {
            head: name.to_owned(),
            field,
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
        assert!(letters("%!").is_err());
        assert_eq!(heads(&letters("%99999999i").unwrap()).len(), WIDEST + 1);
    }

    /// Heads that `squeue -o` of Slurm 24.11.5 prints, by letter.
    const LETTERS_OF_SLURM: &str = "\
        a=ACCOUNT A=JOBID b=TRES_PER_NODE B=EXEC_HOST c=MIN_CPUS C=CPUS d=MIN_TMP_DISK \
        D=NODES e=END_TIME E=DEPENDENCY f=FEATURES F=ARRAY_JOB_ID g=GROUP G=GROUP \
        h=OVER_SUBSCRIBE H=SOCKETS_PER_NODE i=JOBID I=CORES_PER_SOCKET j=NAME \
        J=THREADS_PER_CORE k=COMMENT K=ARRAY_TASK_ID l=TIME_LIMIT L=TIME_LEFT m=MIN_MEMORY \
        M=TIME n=REQ_NODES N=NODELIST o=COMMAND O=CONTIGUOUS p=PRIORITY P=PARTITION q=QOS \
        Q=PRIORITY r=REASON R=NODELIST(REASON) S=START_TIME t=ST T=STATE u=USER U=UID \
        v=RESERVATION V=SUBMIT_TIME w=WCKEY W=LICENSES x=EXC_NODES X=CORE_SPEC y=NICE \
        Y=SCHEDNODES z=S:C:T Z=WORK_DIR";

    /// Heads that `squeue -O` of Slurm 24.11.5 prints, by name.
    const NAMES_OF_SLURM: &str = "\
        Account=ACCOUNT AccrueTime=ACCRUE_TIME AllocNodes=ALLOC_NODES AllocSID=ALLOC_SID \
        ArrayJobID=ARRAY_JOB_ID ArrayTaskID=ARRAY_TASK_ID AssocID=ASSOC_ID \
        BatchFlag=BATCH_FLAG BatchHost=EXEC_HOST BoardsPerNode=BOARDS_PER_NODE \
        BurstBuffer=BURST_BUFFER BurstBufferState=BURST_BUFFER_STATE Cluster=CLUSTER \
        ClusterFeature=CLUSTER_FEATURES Command=COMMAND Comment=COMMENT Container=CONTAINER \
        ContainerId=CONTAINERID Contiguous=CONTIGUOUS Cores=CORES_PER_SOCKET \
        CoreSpec=CORE_SPEC cpus-per-task=CPUS_PER_TASK cpus-per-tres=CPUS_PER_TRES \
        Deadline=DEADLINE DelayBoot=DELAY_BOOT Dependency=DEPENDENCY DerivedEC=DERIVED_EC \
        EligibleTime=ELIGIBLE_TIME EndTime=END_TIME exit_code=EXIT_CODE ExcNodes=EXC_NODES \
        Feature=FEATURES GroupId=GROUP GroupName=GROUP HetJobId=HET_JOB_ID \
        HetJobIdSet=HET_JOB_ID_SET HetJobOffset=HET_JOB_OFFSET JobArrayId=JOBID JobId=JOBID \
        LastSchedEval=LAST_SCHED_EVAL Licenses=LICENSES MaxCPUs=MAX_CPUS MaxNodes=MAX_NODES \
        MCSLabel=MCSLABEL mem-per-tres=MEM_PER_TRES MinCpus=MIN_CPUS MinMemory=MIN_MEMORY \
        MinTime=TIME_MIN MinTmpDisk=MIN_TMP_DISK Name=NAME Network=NETWORK Nice=NICE \
        NodeList=NODELIST NTPerBoard=NTASKS_PER_BOARD NTPerCore=NTASKS_PER_CORE \
        NTPerNode=NTASKS_PER_NODE NTPerSocket=NTASKS_PER_SOCKET NumCPUs=CPUS NumNodes=NODES \
        NumTasks=TASKS Origin=ORIGIN OriginRaw=ORIGIN_RAW OverSubscribe=OVER_SUBSCRIBE \
        Partition=PARTITION PendingTime=PENDING_TIME PreemptTime=PREEMPT_TIME Prefer=PREFER \
        Priority=PRIORITY PriorityLong=PRIORITY Profile=PROFILE QOS=QOS Reason=REASON \
        ReasonList=NODELIST(REASON) Reboot=REBOOT ReqNodes=REQ_NODES ReqSwitch=REQ_SWITCH \
        Requeue=REQUEUE Reservation=RESERVATION ResizeTime=RESIZE_TIME \
        RestartCnt=RESTART_COUNT SchedNodes=SCHEDNODES SCT=S:C:T \
        SiblingsActive=ACTIVE_SIBLINGS SiblingsViable=VIABLE_SIBLINGS \
        Sockets=SOCKETS_PER_NODE SPerBoard=SOCKETS_PER_BOARD StartTime=START_TIME \
        State=STATE StateCompact=ST STDERR=STDERR STDIN=STDIN STDOUT=STDOUT \
        SubmitTime=SUBMIT_TIME system_comment=SYSTEM_COMMENT Threads=THREADS_PER_CORE \
        TimeLeft=TIME_LEFT TimeLimit=TIME_LIMIT TimeUsed=TIME tres-alloc=TRES_ALLOC \
        tres-bind=TRES_BIND tres-freq=TRES_FREQ tres-per-job=TRES_PER_JOB \
        tres-per-node=TRES_PER_NODE tres-per-socket=TRES_PER_SOCKET \
        tres-per-task=TRES_PER_TASK UserId=UID UserName=USER Wait4Switch=WAIT4SWITCH \
        WCKey=WCKEY WorkDir=WORK_DIR";

    #[test]
    fn heads_are_those_that_slurm_prints() {
        let all = |text: &'static str| text.split(' ').filter_map(|it| it.split_once('='));
        for (letter, head) in all(LETTERS_OF_SLURM) {
            assert_eq!(heads(&letters(&format!("%{letter}")).unwrap()), format!("{head}\n"));
        }
        for (name, head) in all(NAMES_OF_SLURM) {
            let columns = long_names(&format!("{name}:40")).unwrap();
            assert_eq!(heads(&columns).trim(), head, "{name}");
        }
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
