//! Tools for Slurm from the Python package index, unchanged, on a market of two clusters: they find
//! `sbatch` and the others first in `PATH`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use super::cluster::{Cluster, Plan};
use super::market::{Market, Offer, PROGRAM};

/// The folder of programs of the environment that has the tools, installed if they are missing.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let mut script = Command::new(root.join("scripts/packages.sh"));
        let made = script.args(["tools", "submitit, Snakemake and others"]).output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "the tools are not available: {said}");
        let python = root.join(String::from_utf8(made.stdout).unwrap().trim());
        python.parent().unwrap().to_owned()
    })
}

/// A market of two clusters, with Slurm's commands for it in a folder.
struct Bench {
    market: Market,
    _clusters: [Cluster; 2],
}

impl Bench {
    fn new() -> Bench {
        let alpha = Cluster::start(&Plan::of("alpha", 2));
        let beta = Cluster::start(&Plan::of("beta", 2));
        let offers = [Offer::new(&alpha, "alpha", 2, "1"), Offer::new(&beta, "beta", 2, "1")];
        let market = Market::start("", &offers);
        let links = market.path("bin").to_string_lossy().into_owned();
        market.until("both clusters are seen", || {
            ["alpha", "beta"].iter().all(|site| market.pool(site)["free"] == 2)
        });
        let made = Command::new(PROGRAM).args(["shims", &links]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Bench { market, _clusters: [alpha, beta] }
    }

    /// One of the tools, with the commands and the tools first in its path.
    fn tool(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let (links, tools) = (self.market.path("bin"), programs());
        let mut command = self.command(program);
        command.env("PATH", format!("{}:{}:{path}", links.display(), tools.display()));
        command
    }

    /// A program, with the commands first in its path.
    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let links = self.market.path("bin");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=20", "400", program]).current_dir(self.market.work());
        command.env("PATH", format!("{}:{path}", links.display()));
        command.env("TRADEWIND_STATE", self.market.path("state"));
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("HOME", self.market.work());
        for name in ["TRADEWIND_URL", "TRADEWIND_TOKEN", "SLURM_CONF"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// What it prints; it must end well.
    fn run(&self, command: &mut Command) -> String {
        let Output { status, stdout, stderr } = command.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{command:?}: {status}\n{out}\n{err}\n{}", self.market.log());
        out.into_owned()
    }

    /// Runs one of the scripts beside this test, with a folder for its files.
    fn uses(&self, tool: &str) {
        let script = format!("{}/tests/tools/use_{tool}.py", env!("CARGO_MANIFEST_DIR"));
        let folder = self.market.path("work").join(tool);
        std::fs::create_dir(&folder).unwrap();
        let out = self.run(self.tool("python").arg(script).arg(folder));
        assert!(out.contains(" works"), "{out}");
    }
}

#[test]
fn tools_for_slurm_run_unchanged() {
    let bench = Bench::new();
    bench.uses("submitit");
    bench.uses("parsl");
    bench.uses("dask");
    bench.uses("psij");
    let all = bench.market.all_over();
    bench.market.check_money(&all);
    // submitit's own tests, which call our commands where they call any.
    bench.run(
        bench
            .tool("python")
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .args(["--pyargs", "submitit.slurm"]),
    );
}

#[test]
fn snakemake_runs_its_jobs_on_the_market() {
    let bench = Bench::new();
    let rules = format!("{}/tests/tools/Snakefile", env!("CARGO_MANIFEST_DIR"));
    let mut command = bench.tool("snakemake");
    command.args(["--snakefile", &rules, "--executor", "slurm", "--jobs", "4"]);
    command.args(["--default-resources", "runtime=5", "--seconds-between-status-checks", "2"]);
    command.args(["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "30"]);
    bench.run(&mut command);
    assert_eq!(bench.market.written("sum.txt"), "0\n1\n2\n3\n");
    let all = bench.market.all_over();
    assert_eq!(all.len(), 5);
    assert!(all.values().all(|job| job["state"] == "COMPLETED"), "{all:#?}");
    bench.market.check_money(&all);
}

#[test]
fn a_job_of_sbatch_runs_in_one_cluster() {
    let bench = Bench::new();
    for site in ["alpha", "beta"] {
        let site = format!("--clusters={site}");
        bench.run(bench.command("sbatch").args([&site, "--time=5", "--wrap", "sleep 20"]));
    }
    let tasks = "srun --output=node-%t.out hostname";
    bench.run(bench.command("sbatch").args(["--wait", "--nodes=2", "--time=2", "--wrap", tasks]));
    let nodes = [0, 1].map(|task| bench.market.written(&format!("node-{task}.out")));
    assert!(nodes.iter().all(|it| !it.is_empty()), "{nodes:?}");
}

#[test]
fn a_script_knows_itself_by_the_number_of_the_market() {
    let bench = Bench::new();
    // The market's numbers and the cluster's differ from here on.
    for _ in 0..3 {
        bench.run(bench.command("sbatch").args(["--hold", "--wrap", "true"]));
    }
    let script = bench.market.path("work").join("job.sh");
    let text = "#!/bin/bash\n#SBATCH --nodes=2 --time=2 --output=%j.out\n\
                until squeue -h -j $SLURM_JOB_ID -t R | grep -q .; do sleep 0.1; done\n\
                squeue -h -j $SLURM_JOB_ID -o '%i %T'\n\
                srun -N2 -n2 --output=step-%j-%t.out bash -c 'echo $SLURM_JOB_ID $SLURM_PROCID'\n\
                scontrol show job $SLURM_JOB_ID | head -n 1\n";
    std::fs::write(&script, text).unwrap();
    let out = bench.run(bench.command("sbatch").args(["--wait", "job.sh"]));
    assert_eq!(out, "Submitted batch job 4\n");
    assert_eq!(bench.market.written("4.out"), "4 RUNNING\nJobId=4 JobName=job.sh\n");
    let steps = [0, 1].map(|task| bench.market.written(&format!("step-4-{task}.out")));
    assert_eq!(steps, ["4 0\n", "4 1\n"]);
}
