//! `srun` inside a job: a step on its nodes.
//!
//! At a Slurm site it is the site's own `srun`, told the site's number of the job; its tasks learn
//! the market's. Elsewhere the nodes of a job are one machine, and the tasks are its processes.

use std::fs::{File, OpenOptions};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use signal_hook::consts::{SIGUSR1, SIGUSR2};
use signal_hook::flag;

use super::srun_options::{FILES, Given, is_letters, split};
use super::{hostlist, prolog, refused};
use crate::exit::{Exit, Failure, Outcome};

pub(super) fn run(words: &[String]) -> Outcome {
    let Ok(job) = std::env::var("TRADEWIND_JOB_ID") else {
        return Err(refused(
            "there are no interactive jobs: submit a script with sbatch; inside a job srun starts \
             its tasks",
        ));
    };
    let (options, command) = split(words);
    if command.is_empty() {
        return Err(refused("No command given to execute."));
    }
    match of_the_site() {
        Some(program) => pass_on(&program, &options, command),
        None => step(&job, &options, command),
    }
}

/// The next `srun` in `PATH` that is not this program, if the job runs at a Slurm site.
fn of_the_site() -> Option<PathBuf> {
    std::env::var_os("TRADEWIND_SITE_JOB_ID").filter(|it| !it.is_empty())?;
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let paths = std::env::var_os("PATH")?;
    let mut found = std::env::split_paths(&paths).map(|folder| folder.join("srun"));
    found.find(|path| path.canonicalize().is_ok_and(|it| it != own && it.is_file()))
}

/// Becomes the site's `srun`.
fn pass_on(program: &Path, options: &[Given], command: &[String]) -> Outcome {
    let mut call = Command::new(program);
    for Given { name, value } in options {
        let dashes = if name.len() == 1 || is_letters(name, value) { "-" } else { "--" };
        match value {
            Some(value) if FILES.iter().any(|(long, _)| long == name) => {
                call.arg(format!("--{name}={}", of_market(value)))
            }
            Some(value) if dashes == "--" => call.arg(format!("--{name}={value}")),
            Some(value) => call.arg(format!("-{name}")).arg(value),
            None => call.arg(format!("{dashes}{name}")),
        };
    }
    if let Some(beside) = std::env::args_os().next().map(PathBuf::from).and_then(|it| beside(&it)) {
        call.env("SLURM_TASK_PROLOG", beside);
    }
    if let Some(conf) = std::env::var_os("TRADEWIND_SITE_SLURM_CONF") {
        call.env("SLURM_CONF", conf);
    }
    let site = std::env::var("TRADEWIND_SITE_JOB_ID").unwrap_or_default();
    call.env("SLURM_JOB_ID", &site).env("SLURM_JOBID", &site).arg("--").args(command);
    let wrong = call.exec();
    Err(refused(format!("failed to run `{}`: {wrong}", program.display())))
}

/// The link for the tasks' prolog, beside the one under which the program was called.
fn beside(called: &Path) -> Option<PathBuf> {
    let found = match called.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => called.to_owned(),
        _ => {
            let paths = std::env::var_os("PATH")?;
            std::env::split_paths(&paths).map(|it| it.join("srun")).find(|it| it.is_file())?
        }
    };
    Some(found.with_file_name(prolog::NAME)).filter(|it| it.is_file())
}

/// Patterns that name the job, with the market's numbers; those that name a task are left.
fn of_market(text: &str) -> String {
    let variable = |name: &str| std::env::var(name).ok();
    let job = variable("TRADEWIND_JOB_ID").unwrap_or_default();
    let array = variable("SLURM_ARRAY_JOB_ID").unwrap_or_else(|| job.clone());
    let index = variable("SLURM_ARRAY_TASK_ID").unwrap_or_else(|| "0".to_owned());
    text.replace("%j", &job).replace("%A", &array).replace("%a", &index)
}

/// What a step asks for, as far as one machine can give it.
#[derive(Debug)]
struct Step {
    tasks: u32,
    nodes: u32,
    output: Option<String>,
    error: Option<String>,
    input: Option<String>,
    directory: Option<String>,
    kill: bool,
}

impl Step {
    fn read(options: &[Given]) -> Result<Step, Failure> {
        let variable = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
        let nodes = variable("SLURM_JOB_NUM_NODES").unwrap_or(1).max(1);
        let tasks = variable("SLURM_NTASKS").unwrap_or(nodes).max(1);
        let mut step = Step {
            tasks,
            nodes,
            output: None,
            error: None,
            input: None,
            directory: None,
            kill: false,
        };
        let (mut of_tasks, mut of_nodes) = (None, None);
        for Given { name, value } in options {
            let value = || value.clone().unwrap_or_default();
            let count = || {
                let wrong = || refused(format!("invalid number of --{name}: {}", value()));
                value().split('-').next().and_then(|it| it.parse::<u32>().ok()).ok_or_else(wrong)
            };
            match name.as_str() {
                "ntasks" | "n" => of_tasks = Some(count()?),
                "nodes" | "N" => of_nodes = Some(count()?),
                "output" => step.output = Some(value()),
                "error" => step.error = Some(value()),
                "input" => step.input = Some(value()),
                "chdir" | "D" => step.directory = Some(value()),
                "kill-on-bad-exit" | "K" => step.kill = true,
                "multi-prog" => return Err(refused("--multi-prog cannot be honoured here")),
                // The rest places tasks on nodes, which here are one machine.
                _ => {}
            }
        }
        if let Some(nodes) = of_nodes {
            if nodes > step.nodes {
                return Err(refused(format!(
                    "Unable to create step: {nodes} nodes are requested, and the job has {}",
                    step.nodes
                )));
            }
            step.nodes = nodes.max(1);
        }
        step.tasks = of_tasks.or(of_nodes).unwrap_or(step.tasks).clamp(1, 4_096);
        Ok(step)
    }
}

/// Runs the tasks as processes of this machine, and ends with the highest of their codes.
fn step(job: &str, options: &[Given], command: &[String]) -> Outcome {
    let step = Step::read(options)?;
    // A site sends signals to all processes of a job. These are for the tasks, as Slurm's `srun` has it.
    for signal in [SIGUSR1, SIGUSR2] {
        drop(flag::register(signal, Arc::new(AtomicBool::new(false))));
    }
    let mut tasks = Tasks::default();
    for task in 0..step.tasks {
        tasks.0.push(start(job, &step, task, command)?);
    }
    let mut highest = 0;
    while let Some(code) = tasks.next_end()? {
        highest = highest.max(code);
        if code != 0 && step.kill {
            tasks.kill();
        }
    }
    Ok(Exit::Job(highest))
}

/// Tasks that have not ended; none runs on when the step is over.
#[derive(Debug, Default)]
struct Tasks(Vec<Child>);

impl Tasks {
    /// Waits for one of them: its exit code; `None` if there is none.
    fn next_end(&mut self) -> Result<Option<u8>, Failure> {
        const PAUSE: Duration = Duration::from_millis(20);
        while !self.0.is_empty() {
            for at in 0..self.0.len() {
                let Some(child) = self.0.get_mut(at) else { break };
                let ended = child.try_wait();
                let failed = |wrong| refused(format!("a task cannot be waited for: {wrong}"));
                if let Some(status) = ended.map_err(failed)? {
                    drop(self.0.swap_remove(at));
                    let signal = status.signal().map(|it| it.saturating_add(128));
                    let code = status.code().or(signal).unwrap_or(1);
                    return Ok(Some(u8::try_from(code).unwrap_or(u8::MAX)));
                }
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }

    fn kill(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.kill();
        for child in &mut self.0 {
            drop(child.wait());
        }
    }
}

fn start(job: &str, step: &Step, task: u32, command: &[String]) -> Result<Child, Failure> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(refused("No command given to execute."));
    };
    let node = u64::from(task) * u64::from(step.nodes) / u64::from(step.tasks.max(1));
    let of_node = step.tasks.div_ceil(step.nodes);
    let names = std::env::var("SLURM_JOB_NODELIST").ok().and_then(|it| hostlist::unfold(&it));
    let name = names.and_then(|it| it.get(usize::try_from(node).ok()?).cloned());
    let mut call = Command::new(program);
    call.args(arguments)
        .env("SLURM_JOB_ID", job)
        .env("SLURM_JOBID", job)
        .env("SLURM_PROCID", task.to_string())
        .env("SLURM_LOCALID", (task % of_node.max(1)).to_string())
        .env("SLURM_NODEID", node.to_string())
        .env("SLURM_NTASKS", step.tasks.to_string())
        .env("SLURM_NPROCS", step.tasks.to_string())
        .env("SLURM_STEP_NUM_TASKS", step.tasks.to_string())
        .env("SLURM_STEP_NUM_NODES", step.nodes.to_string())
        .env("SLURM_NNODES", step.nodes.to_string())
        .env("SLURM_STEP_ID", "0")
        .env("SLURM_STEPID", "0");
    if let Some(name) = name {
        call.env("SLURMD_NODENAME", name);
    }
    if let Some(directory) = &step.directory {
        call.current_dir(directory);
    }
    files(&mut call, step, task, node)?;
    call.spawn().map_err(|wrong| refused(format!("execve(): {program}: {wrong}")))
}

/// Its three files: `--output` without `--error` gets both.
fn files(call: &mut Command, step: &Step, task: u32, node: u64) -> Result<(), Failure> {
    let name = |text: &str| {
        let text =
            of_market(text).replace("%t", &task.to_string()).replace("%n", &node.to_string());
        text.replace("%s", "0").replace("%J", &of_market("%j.0"))
    };
    let failed = |path: &str, wrong| refused(format!("Could not open {path}: {wrong}"));
    let append = std::env::var("SLURM_OPEN_MODE").is_ok_and(|it| it == "a");
    let open = |path: &str| -> Result<File, Failure> {
        let mut options = OpenOptions::new();
        // Tasks that share a file must not write over each other.
        options.create(true).append(true);
        if !append && task == 0 {
            let _ = File::create(path);
        }
        options.open(path).map_err(|wrong| failed(path, wrong))
    };
    if let Some(text) = step.output.as_deref().filter(|it| *it != "none") {
        let file = open(&name(text))?;
        if step.error.is_none() {
            let both = file.try_clone().map_err(|wrong| failed(text, wrong))?;
            call.stderr(both);
        }
        call.stdout(file);
    }
    if let Some(text) = &step.error {
        call.stderr(open(&name(text))?);
    }
    match step.input.as_deref() {
        Some("none") => drop(call.stdin(Stdio::null())),
        Some(text) => {
            let path = name(text);
            call.stdin(File::open(&path).map_err(|wrong| failed(&path, wrong))?);
        }
        // All tasks cannot read the same: the first does.
        None if task > 0 => drop(call.stdin(Stdio::null())),
        None => {}
    }
    Ok(())
}
