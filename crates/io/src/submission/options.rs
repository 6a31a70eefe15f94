//! Every option of `sbatch` (22.05) and of `tradewind submit`, and what happens to each.

use Support::{Honoured, PassedThrough, Refused};
use Takes::{Nothing, Perhaps, Value};

/// What happens to an option. None is ever ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It means what it says.
    Honoured,
    /// Kept with the job for the managers of sites that understand it.
    PassedThrough,
    /// An error that says why, or what to use instead.
    Refused,
}

/// Whether an option has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// No value, as `--hold`.
    Nothing,
    /// `--time 10`, `--time=10`, `-t 10`, `-t10`.
    Value,
    /// `--nice` or `--nice=10`, never with a blank.
    Perhaps,
}

/// Whose option it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// `#SBATCH`, and `SBATCH_` variables.
    Slurm,
    /// `#TRADEWIND`, and `TRADEWIND_` variables.
    Tradewind,
}

/// Description of one option of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// Long name without dashes.
    pub name: &'static str,
    /// Without its dash.
    pub short: Option<char>,
    /// Whether it has a value.
    pub takes: Takes,
    /// Whose it is.
    pub owner: Owner,
    /// What happens to it.
    pub kind: Support,
    /// What follows `SBATCH_` in the variable that sets it; empty: there is none.
    pub variable: &'static str,
    /// What it does, or why it is refused and what to use instead; Markdown.
    pub says: &'static str,
}

const NONE: char = '\0';

const fn of(
    name: &'static str,
    short: char,
    takes: Takes,
    variable: &'static str,
    says: &'static str,
) -> OptionSpec {
    let short = if short == NONE { None } else { Some(short) };
    OptionSpec { name, short, takes, owner: Owner::Slurm, kind: Honoured, variable, says }
}

const fn honoured(
    name: &'static str,
    short: char,
    takes: Takes,
    variable: &'static str,
    says: &'static str,
) -> OptionSpec {
    of(name, short, takes, variable, says)
}

const fn passed(
    name: &'static str,
    short: char,
    takes: Takes,
    variable: &'static str,
    says: &'static str,
) -> OptionSpec {
    OptionSpec { kind: PassedThrough, ..of(name, short, takes, variable, says) }
}

const fn refused(
    name: &'static str,
    short: char,
    takes: Takes,
    variable: &'static str,
    says: &'static str,
) -> OptionSpec {
    OptionSpec { kind: Refused, ..of(name, short, takes, variable, says) }
}

const fn own(name: &'static str, says: &'static str) -> OptionSpec {
    OptionSpec { owner: Owner::Tradewind, ..of(name, NONE, Value, "", says) }
}

impl OptionSpec {
    /// The option of this name (without dashes), or the only one that begins so, as `getopt_long`
    /// takes it.
    ///
    /// # Errors
    /// The names that begin so: none, or several.
    pub fn find(name: &str) -> Result<&'static OptionSpec, Vec<&'static str>> {
        if let Some(known) = OPTIONS.iter().find(|known| known.name == name) {
            return Ok(known);
        }
        let begin = |known: &&OptionSpec| !name.is_empty() && known.name.starts_with(name);
        let found: Vec<&'static OptionSpec> = OPTIONS.iter().filter(begin).collect();
        match found[..] {
            [only] => Ok(only),
            _ => Err(found.iter().map(|known| known.name).collect()),
        }
    }

    /// Whether a `#TRADEWIND` line may have it: Tradewind's own ones, and those of `sbatch` that
    /// are honoured.
    pub fn is_ours(&self) -> bool {
        self.owner == Owner::Tradewind || self.kind == Honoured
    }

    /// A row of the table in `docs/reference/submit.md`.
    pub fn row(&self) -> String {
        let short = self.short.map_or(String::new(), |short| format!("`-{short}`, "));
        let variable = match self.variable {
            "" => String::new(),
            variable => format!("`SBATCH_{variable}`"),
        };
        let kind = match self.kind {
            Honoured => "honoured",
            PassedThrough => "passed through",
            Refused => "refused",
        };
        let says = self.says.replace('|', "\\|");
        match self.owner {
            Owner::Slurm => {
                format!("| {short}`--{}` | {variable} | {kind} | {says} |", self.name)
            }
            Owner::Tradewind => format!("| `{}` | {says} |", self.name),
        }
    }
}

/// All of them: those of `sbatch` by name, then Tradewind's own.
pub static OPTIONS: [OptionSpec; 124] = [
    honoured("account", 'A', Value, "ACCOUNT", "the project that pays"),
    passed("acctg-freq", NONE, Value, "ACCTG_FREQ", "sampling of usage"),
    honoured(
        "array",
        'a',
        Value,
        "ARRAY_INX",
        "`0-9`, `1,3,5-7`, `0-9:2`, each with `%4`: at most 4 at once; at most 100,000 jobs in one array",
    ),
    refused(
        "batch",
        NONE,
        Value,
        "BATCH",
        "the script starts on the first node of the window: use `--constraint` for all nodes",
    ),
    passed("bb", NONE, Value, "", "burst buffer"),
    passed("bbf", NONE, Value, "", "burst buffer, from a file"),
    honoured("begin", 'b', Value, "", "does not start before; forms below"),
    honoured("chdir", 'D', Value, "", "where it runs"),
    refused(
        "cluster-constraint",
        NONE,
        Value,
        "",
        "sites have no features: name them with `--clusters`",
    ),
    honoured("clusters", 'M', Value, "CLUSTERS", "sites, with commas; `all` is anywhere"),
    honoured("comment", NONE, Value, "", "kept with the job"),
    honoured(
        "constraint",
        'C',
        Value,
        "CONSTRAINT",
        "`a&b`: nodes with both attributes; `a|b`: nodes of one of these classes; `a&(b|c)`",
    ),
    passed("container", NONE, Value, "CONTAINER", "OCI container"),
    refused(
        "contiguous",
        NONE,
        Nothing,
        "",
        "the market has chosen the nodes before the site is asked",
    ),
    passed("core-spec", 'S', Value, "CORE_SPEC", "cores kept for the system"),
    passed("cores-per-socket", NONE, Value, "", "kind of node"),
    passed("cpu-freq", NONE, Value, "", "frequency of processors"),
    passed("cpus-per-gpu", NONE, Value, "CPUS_PER_GPU", "processors"),
    honoured("cpus-per-task", 'c', Value, "", "processors of each task; see `--ntasks`"),
    honoured(
        "deadline",
        NONE,
        Value,
        "",
        "to be finished by; forms below; one that has passed is refused",
    ),
    passed("delay-boot", NONE, Value, "DELAY_BOOT", "nodes that must be rebooted"),
    honoured(
        "dependency",
        'd',
        Value,
        "",
        "`afterok:12:13,afterany:14`; types `after`, `afterok`, `afternotok`, `afterany`, `aftercorr`, \
         `singleton`; `,` is \"and\", `?` is refused; your own jobs; \
         administrators may name any job",
    ),
    passed("distribution", 'm', Value, "DISTRIBUTION", "order of tasks"),
    honoured("error", 'e', Value, "ERROR", "standard error; patterns below"),
    refused(
        "exclude",
        'x',
        Value,
        "",
        "the market chooses nodes by pool: use `--constraint` or `--partition`",
    ),
    honoured(
        "exclusive",
        NONE,
        Perhaps,
        "EXCLUSIVE",
        "always so: a node of a window is the job's alone; `user` and `mcs` are not known",
    ),
    honoured(
        "export",
        NONE,
        Value,
        "EXPORT",
        "`NAME`, `NAME=VALUE`, `ALL`, `NONE`, with commas; default `NONE`",
    ),
    refused("export-file", NONE, Value, "", "list the variables in `--export`"),
    passed("extra-node-info", 'B', Value, "", "kind of node"),
    refused("get-user-env", NONE, Perhaps, "GET_USER_ENV", "list the variables in `--export`"),
    refused("gid", NONE, Value, "", "jobs run as their own user"),
    passed("gpu-bind", NONE, Value, "GPU_BIND", "accelerators"),
    passed("gpu-freq", NONE, Value, "GPU_FREQ", "accelerators"),
    passed("gpus", 'G', Value, "GPUS", "accelerators"),
    passed("gpus-per-node", NONE, Value, "GPUS_PER_NODE", "accelerators"),
    passed("gpus-per-socket", NONE, Value, "", "accelerators"),
    passed("gpus-per-task", NONE, Value, "GPUS_PER_TASK", "accelerators"),
    passed("gres", NONE, Value, "GRES", "generic resources"),
    passed("gres-flags", NONE, Value, "GRES_FLAGS", "generic resources"),
    refused("help", 'h', Nothing, "", "of `tradewind submit` itself: `tradewind submit --help`"),
    passed("hint", NONE, Value, "HINT", "use of processors"),
    honoured("hold", 'H', Nothing, "", "waits until it is released"),
    honoured("ignore-pbs", NONE, Nothing, "IGNORE_PBS", "always so: `#PBS` lines are comments"),
    honoured("input", 'i', Value, "INPUT", "standard input; patterns below"),
    honoured(
        "job-name",
        'J',
        Value,
        "JOB_NAME",
        "at most 128 characters; default: the script's file name",
    ),
    honoured(
        "kill-on-invalid-dep",
        NONE,
        Value,
        "",
        "`yes`: always so, a job whose dependency cannot be met any more is cancelled; `no` is refused",
    ),
    honoured(
        "licenses",
        'L',
        Value,
        "",
        "[licences that the market counts](../how-to/licences.md): `abaqus:4,matlab`; 1 where no number is given; all are needed",
    ),
    honoured(
        "mail-type",
        NONE,
        Value,
        "",
        "`BEGIN`, `END`, `FAIL`, `ALL`, `NONE`, with commas; other types are refused",
    ),
    honoured("mail-user", NONE, Value, "", "one plain address; default: the user's own"),
    passed("mcs-label", NONE, Value, "", "security label"),
    passed("mem", NONE, Value, "MEM_PER_NODE", "memory"),
    passed("mem-bind", NONE, Value, "MEM_BIND", "memory"),
    passed("mem-per-cpu", NONE, Value, "MEM_PER_CPU", "memory"),
    passed("mem-per-gpu", NONE, Value, "MEM_PER_GPU", "memory"),
    passed("mincpus", NONE, Value, "", "processors"),
    passed("network", NONE, Value, "NETWORK", "network"),
    honoured("nice", NONE, Perhaps, "", "lowers the priority by so much, 100 without a number"),
    refused(
        "no-kill",
        'k',
        Perhaps,
        "NO_KILL",
        "a job of this market needs all its nodes: use `--on-lost=rerun`",
    ),
    honoured("no-requeue", NONE, Nothing, "NO_REQUEUE", "`on-lost=fail`"),
    refused(
        "nodefile",
        'F',
        Value,
        "",
        "the market chooses nodes by pool: use `--constraint` or `--partition`",
    ),
    refused(
        "nodelist",
        'w',
        Value,
        "",
        "the market chooses nodes by pool: use `--constraint` or `--partition`",
    ),
    honoured(
        "nodes",
        'N',
        Value,
        "",
        "number of nodes; of a range such as `1-4`, the smallest number that is enough for the tasks",
    ),
    honoured(
        "ntasks",
        'n',
        Value,
        "",
        "tasks; without `--nodes` the job gets as many nodes as they need at each pool, by the size of \
         its nodes",
    ),
    passed("ntasks-per-core", NONE, Value, "", "placing of tasks"),
    passed("ntasks-per-gpu", NONE, Value, "", "placing of tasks"),
    honoured("ntasks-per-node", NONE, Value, "", "tasks of a node at most; see `--ntasks`"),
    passed("ntasks-per-socket", NONE, Value, "", "placing of tasks"),
    honoured("open-mode", NONE, Value, "OPEN_MODE", "`append` or `truncate`; default `truncate`"),
    honoured("output", 'o', Value, "OUTPUT", "standard output; patterns below"),
    passed("overcommit", 'O', Nothing, "OVERCOMMIT", "placing of tasks"),
    refused("oversubscribe", 's', Nothing, "", "a node of a window is the job's alone"),
    refused(
        "parsable",
        NONE,
        Nothing,
        "",
        "of the command, not of a script: `tradewind submit --parsable`",
    ),
    honoured(
        "partition",
        'p',
        Value,
        "PARTITION",
        "pools, with commas: `fast` or, as `sites` shows them, `alpha/fast`",
    ),
    passed("power", NONE, Value, "POWER", "power plugin"),
    refused(
        "prefer",
        NONE,
        Value,
        "",
        "the market does not know wishes: use `--constraint`, or `minimize=`",
    ),
    honoured(
        "priority",
        NONE,
        Value,
        "",
        "higher comes first, where the policy cares and the user may say so",
    ),
    passed("profile", NONE, Value, "PROFILE", "profiling"),
    passed("propagate", NONE, Perhaps, "", "limits of the shell"),
    passed("qos", 'q', Value, "QOS", "quality of service"),
    refused("quiet", 'Q', Nothing, "", "an output option: use `tradewind --quiet submit`"),
    passed("reboot", NONE, Nothing, "", "nodes that must be rebooted"),
    honoured("requeue", NONE, Nothing, "REQUEUE", "`on-lost=rerun`"),
    refused(
        "reservation",
        NONE,
        Value,
        "RESERVATION",
        "the market counts reservations as the owner's: ask for a pool that its owner offers inside it (`options` of the site)",
    ),
    passed(
        "signal",
        NONE,
        Value,
        "SIGNAL",
        "a [signal before the limit](#a-signal-before-the-limit), at every site",
    ),
    passed("sockets-per-node", NONE, Value, "", "kind of node"),
    refused(
        "spread-job",
        NONE,
        Nothing,
        "SPREAD_JOB",
        "the market has chosen the nodes before the site is asked",
    ),
    refused("switches", NONE, Value, "REQ_SWITCH", "the market does not know the network's shape"),
    refused("test-only", NONE, Nothing, "", "ask `tradewind quote` instead"),
    passed("thread-spec", NONE, Value, "THREAD_SPEC", "threads kept for the system"),
    passed("threads-per-core", NONE, Value, "THREADS_PER_CORE", "kind of node"),
    honoured(
        "time",
        't',
        Value,
        "TIMELIMIT",
        "required; wall-clock time (see `times`), or by class: `fast:10m,slow:30m`; forms below",
    ),
    refused("time-min", NONE, Value, "", "a window has one length: give `--time`"),
    passed("tmp", NONE, Value, "", "disk space"),
    refused("uid", NONE, Value, "", "jobs run as their own user"),
    refused("usage", NONE, Nothing, "", "of `tradewind submit` itself: `tradewind submit --help`"),
    honoured(
        "use-min-nodes",
        NONE,
        Nothing,
        "USE_MIN_NODES",
        "always so: the smallest number of nodes that is enough",
    ),
    refused("verbose", 'v', Nothing, "DEBUG", "an output option: use `tradewind --verbose submit`"),
    refused("version", 'V', Nothing, "", "of `tradewind` itself: `tradewind --version`"),
    refused(
        "wait",
        'W',
        Nothing,
        "WAIT",
        "of the command, not of a script: `tradewind submit --wait`",
    ),
    honoured(
        "wait-all-nodes",
        NONE,
        Value,
        "WAIT_ALL_NODES",
        "`1`: always so, all nodes of a window start together; `0` is refused",
    ),
    passed("wckey", NONE, Value, "WCKEY", "workload key"),
    honoured(
        "wrap",
        NONE,
        Value,
        "",
        "on the command line, instead of a script: a line for `/bin/sh`",
    ),
    own("budget", "the maximum cost of the job, credits"),
    own("class", "classes of nodes, separated by commas: the attribute `class` is one of them"),
    own(
        "data-in",
        "[how much data it reads](../how-to/data.md), and where that is, as in `2T@alpha`: a site, or another end of a link",
    ),
    own(
        "data-out",
        "how much data it leaves behind, and where that is to be, as in `100G@alpha`; without `@`, where its input is",
    ),
    own("earliest-start", "the same as `--begin`"),
    own(
        "gather",
        "how long parts at several sites wait for each other to start together, as in `90s`; `no`: each starts by itself",
    ),
    own(
        "groups",
        "instead of `--nodes` and `--time`: [groups of tasks](#groups-of-tasks) that differ and start together, `1x1h@2@gpu,3x10m` (nodes x time, then `@` with a minimum performance or a constraint)",
    ),
    own("max-price", "the maximum price of a node, credits per node-second"),
    own("min-performance", "of each node; 1 is the reference node"),
    own(
        "minimize",
        "`start`, `finish`, `runtime`, `cost`, `processor-time`, `energy` or `sum:ATTRIBUTE`",
    ),
    own(
        "on-breach",
        "`requeue`, `cancel` or `hold`: what happens if the accepted quote is not kept",
    ),
    own(
        "on-lost",
        "`fail`, `rerun` or `hold`: what happens when its nodes fail, or when it is unknown whether it ran",
    ),
    OptionSpec {
        takes: Nothing,
        ..own(
            "preemptible",
            "its nodes may be taken back for the site's owners, [after the site's notice and for a lower price](../how-to/preemptible.md#in-a-live-market), or by Slurm for jobs of higher priority: then it is planned again",
        )
    },
    own("peers", "it is passed on to none but these markets, with commas, as `peers` shows them"),
    own("exclude-peers", "it is passed on to none of these markets"),
    own("quote", "the number of the quote that is accepted"),
    own(
        "shapes",
        "instead of `--nodes` and `--time`: [shapes](#shapes) of which it gets one, `64x1h,32x1:50,16x3:30` (nodes x time), or a range of nodes with Downey's speed-up law, `16..64x2h,a=48,sigma=1`",
    ),
    own("sites", "the same as `--clusters`"),
    own(
        "spread",
        "`site`: all nodes lie at one site, whichever it is, as parallel programs that exchange messages need; `grid`, the default: at one or several",
    ),
    OptionSpec {
        takes: Nothing,
        ..own("stay-home", "it is not passed on to another market, even if peers are configured")
    },
    own(
        "times",
        "what `--time` counts: `wall` is wall-clock time, the same on all nodes; `work` is seconds on a node of performance 1, shorter on faster nodes. The default is set by the project or the site's owner, otherwise `wall`",
    ),
    own("value", "what its completion in time is worth, credits"),
];
