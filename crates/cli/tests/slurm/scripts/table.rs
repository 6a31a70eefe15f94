//! The scripts: what each says to `sbatch`, and how Tradewind is known to stand beside it.

use Expected::{Both, Equal, Otherwise, Refused};

/// How Tradewind stands beside `sbatch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// All that is compared is the same.
    Equal,
    /// Neither takes it: no node could ever have it.
    Both,
    /// Tradewind refuses it, and names this option.
    Refused(&'static str),
    /// Fewer nodes, if Slurm had more free; why.
    Otherwise(&'static str),
}

/// A script and its expected result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Script {
    /// Its file, and so its job, is called like this.
    pub(super) name: &'static str,
    /// Its `#SBATCH` lines, one option each; `@NAME@` is the number of that script's job.
    pub(super) options: &'static [&'static str],
    /// What it ends with.
    pub(super) code: i32,
    pub(super) expected: Expected,
}

const fn says(name: &'static str, options: &'static [&'static str], expected: Expected) -> Script {
    Script { name, options, code: 0, expected }
}

const RANGE: &str = "of a range of nodes Slurm gives as many as are free, Tradewind the minimum that \
                     is enough: each node has its price";

/// Those that this machine's Slurm runs by itself: from 23.02 on a job that asks for more tasks than
/// processors with `--overcommit` waits for ever, by plain `sbatch`, too.
pub(super) fn scripts() -> impl Iterator<Item = &'static Script> {
    let is_new = crate::cluster::version() >= (23, 2);
    SCRIPTS.iter().filter(move |it| !(is_new && it.name == "overcommit"))
}

static SCRIPTS: [Script; 64] = [
    says("nothing", &[], Equal),
    says("ntasks-8", &["--ntasks=8"], Equal),
    says("ntasks-6", &["-n 6"], Equal),
    says("ntasks-9", &["-n9"], Equal),
    says("tasks-of-2", &["--ntasks=3", "--cpus-per-task=2"], Equal),
    says("eight-of-2", &["--ntasks=8", "--cpus-per-task=2"], Equal),
    says("two-a-node", &["--ntasks=8", "--ntasks-per-node=2"], Equal),
    says("three-a-node", &["--ntasks=5", "--ntasks-per-node=3"], Equal),
    says("only-a-node", &["--ntasks-per-node=3"], Equal),
    says("nodes-a-node", &["--nodes=2", "--ntasks-per-node=4"], Equal),
    says("nodes-3", &["-N 3"], Equal),
    says("nodes-tasks", &["--nodes=2", "--ntasks=8"], Equal),
    says("more-nodes", &["--nodes=3", "--ntasks=4"], Equal),
    says("fewer-tasks", &["--nodes=4", "--ntasks=2"], Equal),
    says("nodes-2-2", &["--nodes=2-2", "--ntasks=8"], Equal),
    says("nodes-1-4", &["--nodes=1-4"], Otherwise(RANGE)),
    says("nodes-1-3", &["--nodes=1-3", "--ntasks=8"], Otherwise(RANGE)),
    says("least-nodes", &["--nodes=1-3", "--use-min-nodes"], Equal),
    says("one-node", &["--nodes=1", "--ntasks=8"], Both),
    says("big-tasks", &["--ntasks=2", "--cpus-per-task=8"], Both),
    says("five-a-node", &["--ntasks-per-node=5"], Both),
    says("cpus-4", &["-c 4"], Equal),
    says("nodes-cpus", &["--nodes=2", "--ntasks=2", "--cpus-per-task=4"], Equal),
    says("min-cpus", &["--mincpus=4", "--ntasks=2"], Equal),
    says("overcommit", &["--overcommit", "--ntasks=8", "--nodes=1"], Equal),
    says("no-threads", &["--hint=nomultithread", "--ntasks=8"], Equal),
    says("one-a-core", &["--ntasks-per-core=1", "--ntasks=4"], Equal),
    says("exclusive", &["--exclusive", "--ntasks=2"], Equal),
    says("memory", &["--mem=3000"], Equal),
    says("memory-2g", &["--mem=2G", "--ntasks=4"], Equal),
    says("memory-all", &["--mem=0", "--ntasks=2"], Equal),
    says("memory-cpu", &["--mem-per-cpu=900", "--ntasks=7"], Equal),
    says("memory-much", &["--mem=5G"], Both),
    says("memory-cpus", &["--mem-per-cpu=1500", "--ntasks=4"], Both),
    says("gpus-4", &["--gpus=4"], Equal),
    says("gpus-3", &["-G 3"], Equal),
    says("gpus-a-node", &["--gpus-per-node=2", "--nodes=2"], Equal),
    says("gpus-a-task", &["--gpus-per-task=1", "--ntasks=4"], Equal),
    says("gpus-tasks", &["--gpus=4", "--gpus-per-task=2"], Equal),
    says("gres", &["--gres=gpu:1", "--ntasks=4"], Equal),
    says("gres-2", &["--gres=gpu:2", "--ntasks=8"], Equal),
    says("gpu-memory", &["--gpus=2", "--mem-per-gpu=1000"], Equal),
    says("gpu-cpus", &["--gpus=2", "--cpus-per-gpu=2"], Equal),
    says("gres-3", &["--gres=gpu:3"], Both),
    says("time-1-30", &["--time=1:30"], Equal),
    says("time-10-00", &["--time=0:10:00"], Equal),
    says("time-day", &["-t 1-0"], Equal),
    says("time-day-minutes", &["--time=0-1:30"], Equal),
    says("time-all", &["--time=0-0:05:00"], Equal),
    says("time-unlimited", &["--time=UNLIMITED"], Refused("--time")),
    says("time-0", &["--time=0"], Refused("--time")),
    says("node-list", &["-w twin1"], Refused("--nodelist")),
    says("exclude", &["-x twin1"], Refused("--exclude")),
    says("licences", &["--licenses=matlab:1"], Both),
    says("reservation", &["--reservation=mine"], Refused("--reservation")),
    says("array-steps", &["--array=1-10:3%2"], Equal),
    says("array-list", &["--array=2,5,7", "--ntasks=8"], Equal),
    says("after-array", &["--dependency=afterany:@array-list@"], Equal),
    says("same-index", &["--array=2,5,7", "--dependency=aftercorr:@array-list@"], Equal),
    says("singleton", &["--job-name=nothing", "--dependency=singleton"], Equal),
    says("either", &["--dependency=afterok:@nothing@?afterok:@ntasks-8@"], Refused("--dependency")),
    says("requeue", &["--requeue", "--signal=B:USR1@30"], Equal),
    Script { code: 3, ..says("fails", &["--no-requeue", "--job-name=other"], Equal) },
    says("elsewhere", &["--chdir=/tmp", "--begin=now+1", "--ntasks=5"], Equal),
];
