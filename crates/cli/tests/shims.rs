//! Slurm's commands on a market with a local site: what scripts type, and what they read.
#![expect(clippy::unwrap_used, reason = "a test that cannot run its programs has failed")]

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tradewind");

/// A market, and a folder with the commands.
struct Stage {
    folder: tempfile::TempDir,
    daemon: Child,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let config = "[[site]]\nname = \"here\"\nkind = \"local\"\nowner = \"lab\"\n\
                      pool = [{ name = \"main\", nodes = 3, price = 0.01 }]\n";
        std::fs::write(folder.path().join("tradewind.toml"), config).unwrap();
        let links = folder.path().join("bin");
        let made = Command::new(PROGRAM).arg("shims").arg(&links).output().unwrap();
        let said = String::from_utf8(made.stdout).unwrap();
        assert_eq!(
            said,
            format!("export PATH={}:$PATH\n", links.canonicalize().unwrap().display())
        );
        let mut up = Command::new(PROGRAM);
        up.args(["up", "--quiet", "--shared-account", "--listen", "127.0.0.1:0", "--state"]);
        up.arg(folder.path().join("state"))
            .arg("--config")
            .arg(folder.path().join("tradewind.toml"));
        let daemon = up.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let stage = Stage { folder, daemon };
        let begun = Instant::now();
        while !stage.run("sinfo", &["-h"]).stdout.starts_with(b"main") {
            assert!(begun.elapsed() < Duration::from_secs(60), "the market does not come up");
            std::thread::sleep(Duration::from_millis(50));
        }
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, name: &str, words: &[&str]) -> Command {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(self.path("bin").join(name));
        command.args(words).current_dir(self.folder.path()).env("PATH", path);
        command.env("TRADEWIND_STATE", self.path("state")).stdin(Stdio::null());
        let foreign = ["TRADEWIND_URL", "TRADEWIND_TOKEN", "TRADEWIND_JOB_ID", "SQUEUE_FORMAT"];
        for name in foreign {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, name: &str, words: &[&str]) -> Output {
        self.command(name, words).output().unwrap()
    }

    /// What a command prints that ends well.
    fn text(&self, name: &str, words: &[&str]) -> String {
        let output = self.run(name, words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name} {words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command complains of that ends with 1.
    fn refusal(&self, name: &str, words: &[&str]) -> String {
        let output = self.run(name, words);
        // Of options that are wrong `sbatch` says so by its code.
        let code = output.status.code();
        assert!(code == Some(1) || name == "sbatch" && code == Some(255), "{name} {words:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        drop(self.daemon.kill());
        drop(self.daemon.wait());
    }
}

#[test]
fn the_variables_of_the_shims_are_those_of_all_commands() {
    let stage = Stage::new();
    symlink(PROGRAM, stage.path("bin/tradewind")).unwrap();
    assert!(stage.text("tradewind", &["whoami"]).contains("admin"));

    // A URL says where, a file as whom; an option goes before its variable.
    let (url, token) = (stage.read("state/url"), stage.path("token"));
    std::fs::copy(stage.path("state/admin.token"), &token).unwrap();
    let asked = |words: &[&str]| {
        let mut command = stage.command("tradewind", words);
        command.env_remove("TRADEWIND_STATE").env("HOME", stage.folder.path());
        command.env_remove("XDG_STATE_HOME").env("TRADEWIND_URL", url.trim());
        command.env("TRADEWIND_TOKEN_FILE", &token).output().unwrap()
    };
    assert_eq!(asked(&["whoami"]).status.code(), Some(0));
    let wrong = asked(&["whoami", "--token-file", "nowhere"]);
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(2) && said.contains("nowhere"), "{said}");
    let wrong = asked(&["whoami", "--ca", "nowhere.pem"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("nowhere.pem"));
}

#[test]
fn a_job_from_submission_to_accounting() {
    let stage = Stage::new();
    let script = "#!/bin/sh\n#SBATCH --nodes=2 --job-name=pair\n\
                  echo job $SLURM_JOB_ID of $SLURM_JOB_NUM_NODES in $SLURM_SUBMIT_DIR\n\
                  until squeue -h -j $SLURM_JOB_ID -t R | grep -q .; do sleep 0.1; done\n\
                  squeue -h -j $SLURM_JOB_ID -o '%i|%T|%D'\n\
                  srun -n 3 -o step-%j-%t sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS on $SLURM_NODEID'\n\
                  srun -N 1 -n 1 sh -c 'kill -USR2 $PPID; sleep 0.2; echo signals are for tasks'\n\
                  srun -N 1 sh -c 'exit 5'\n";
    stage.write("pair.sh", script);
    // Jobs do not see the state folder: variables name the market.
    std::fs::copy(stage.path("state/admin.token"), stage.path("token")).unwrap();
    let mut command = stage.command("sbatch", &["--wait", "pair.sh"]);
    command.env("TRADEWIND_URL", stage.read("state/url").trim());
    let output = command.env("TRADEWIND_TOKEN_FILE", stage.path("token")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Submitted batch job 1\n");
    assert_eq!(output.status.code(), Some(5), "that of the job");
    let folder = stage.folder.path().canonicalize().unwrap();
    let said = format!("job 1 of 2 in {}\n1|RUNNING|2\nsignals are for tasks\n", folder.display());
    assert_eq!(stage.read("slurm-1.out"), said);
    let steps = ["0", "1", "2"].map(|task| stage.read(&format!("step-1-{task}")));
    assert_eq!(steps, ["0 of 3 on 0\n", "1 of 3 on 0\n", "2 of 3 on 1\n"]);

    let fields = "JobID,JobName,State,ExitCode,NNodes";
    assert_eq!(
        stage.text("sacct", &["-j", "1", "-P", "-o", fields]),
        "JobID|JobName|State|ExitCode|NNodes\n1|pair|FAILED|5:0|2\n1.batch|batch|FAILED|5:0|2\n"
    );
    assert_eq!(
        stage.text("sacct", &["-Xnj", "1", "--format=jobid%4,state%-8"]),
        "   1 FAILED   \n"
    );
    assert_eq!(
        stage.text("squeue", &["-h", "--states=all", "-O", "JobID:4,ExitCode:.6"]),
        "1      5:0\n"
    );
    let shown = stage.text("scontrol", &["show", "job", "1"]);
    for field in ["JobId=1 JobName=pair", "JobState=FAILED Reason=NonZeroExitCode", "ExitCode=5:0"]
    {
        assert!(shown.contains(field), "{shown}");
    }
    let json: Value = serde_json::from_str(&stage.text("sacct", &["-j", "1", "--json"])).unwrap();
    let job = &json["jobs"][0];
    assert_eq!((&job["job_id"], &job["job_state"][0]), (&1.into(), &"FAILED".into()));
    assert_eq!(job["exit_code"]["return_code"]["number"], 5);
}

#[test]
fn arrays_have_slurms_numbers() {
    let stage = Stage::new();
    let first =
        stage.text("sbatch", &["--parsable", "--hold", "-a", "0-2,5%2", "--wrap", "sleep 60"]);
    assert_eq!(first, "1\n");
    let wide = "%.12i %t";
    assert_eq!(stage.text("squeue", &["-h", "-o", wide]), "   1_[0-2,5] PD\n");
    assert_eq!(
        stage.text("squeue", &["-hr", "-o", "%i %F %K"]),
        "1_0 1 0\n1_1 1 1\n1_2 1 2\n1_5 1 5\n"
    );
    stage.text("scancel", &["1_[1-2]"]);
    assert_eq!(
        stage.text("sacct", &["-Xn", "-P", "-j", "1", "-o", "JobID,JobIDRaw,State"]),
        "1_0|1|PENDING\n1_1|2|CANCELLED\n1_2|3|CANCELLED\n1_5|4|PENDING\n"
    );
    stage.text("scontrol", &["release", "1_5"]);
    let begun = Instant::now();
    while stage.text("squeue", &["-h", "-t", "R", "-o", "%i"]) != "1_5\n" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", stage.text("squeue", &[]));
        std::thread::sleep(Duration::from_millis(50));
    }
    stage.text("scancel", &["--me", "-n", "wrap"]);
    let begun = Instant::now();
    while !stage.text("squeue", &["-h"]).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", stage.text("squeue", &[]));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_by_its_name() {
    let stage = Stage::new();
    let nodelist = stage.refusal("sbatch", &["--nodelist=a", "--wrap", "true"]);
    assert!(
        nodelist.starts_with("sbatch: error: ") && nodelist.contains("--nodelist"),
        "{nodelist}"
    );
    for (name, words, part) in [
        ("sbatch", &["--nonsense", "--wrap", "true"][..], "--nonsense"),
        ("sbatch", &["missing.sh"], "missing.sh"),
        ("sbatch", &[], "batch script is empty"),
        ("squeue", &["--steps"], "--steps"),
        ("squeue", &["-o", "%!"], "Invalid job format specification: !"),
        ("squeue", &["-O", "bogus"], "Invalid job format specification: bogus"),
        ("squeue", &["-t", "NONSENSE"], "Invalid job state specified: NONSENSE"),
        ("squeue", &["-j", "77"], "Invalid job id specified"),
        ("sacct", &["-o", "Nonsense"], "Invalid field requested: \"Nonsense\""),
        ("sacct", &["-S", "sometime"], "Invalid time specification: sometime"),
        ("scancel", &["abc"], "Invalid job id specified: abc"),
        ("scancel", &[], "No job identification provided"),
        ("scancel", &["--signal=USR1", "1"], "USR1"),
        (
            "scontrol",
            &["update", "JobId=1", "Bogus=5"],
            "Update of this parameter is not supported",
        ),
        ("scontrol", &["update", "JobId=1"], "No changes specified"),
        ("scontrol", &["update", "TimeLimit=5"], "No valid entity in update command"),
        ("scontrol", &["update", "JobId=77", "TimeLimit=5"], "Invalid job id specified for job 77"),
        ("scontrol", &["requeuehold", "1"], "requeuehold cannot be honoured"),
        ("scontrol", &["reboot"], "invalid keyword: reboot"),
        ("sinfo", &["-N"], "-N"),
        ("srun", &["hostname"], "there are no interactive jobs"),
        ("sacctmgr", &["add", "user", "eve"], "only `show` is offered"),
    ] {
        let said = stage.refusal(name, words);
        assert!(said.contains(part), "{name} {words:?}: {said}");
        // As Slurm has it: these two say nothing of themselves.
        let is_bare = name == "scontrol" || said.starts_with("slurm_load_jobs error: ");
        assert_eq!(said.starts_with(&format!("{name}: error: ")), !is_bare, "{said}");
    }
    assert_eq!(stage.run("sbatch", &["--nonsense", "--wrap", "true"]).status.code(), Some(255));
    assert_eq!(stage.run("sbatch", &["--time=abc", "--wrap", "true"]).status.code(), Some(255));
    assert_eq!(stage.run("sbatch", &["-N99", "--wrap", "true"]).status.code(), Some(1));
    let unknown = stage.run("scancel", &["77"]);
    assert_eq!((unknown.status.code(), unknown.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_job_that_waits_is_updated() {
    let stage = Stage::new();
    for name in ["first", "second"] {
        stage.text("sbatch", &["--hold", "--time=10", "-J", name, "--wrap", "true"]);
    }
    let shown = |format: &str, job: &str| stage.text("squeue", &["-h", "-j", job, "-o", format]);
    stage.text("scontrol", &["update", "JobId=1", "TimeLimit=20", "Name=other", "NumNodes=2"]);
    assert_eq!(shown("%j %l %D %T", "1"), "other 20:00 2 PENDING\n");
    stage.text("scontrol", &["update", "jobid=1,2", "TimeLimit=+5"]);
    assert_eq!(shown("%l", "1,2"), "25:00\n15:00\n");
    stage.text("scontrol", &["update", "JobId=2", "Dependency=afterok:1", "Comment=why", "Nice=7"]);
    assert_eq!(shown("%E %k %y", "2"), "afterok:1 why 7\n");
    stage.text("scontrol", &["update", "JobId=2", "Dependency=", "Comment="]);
    assert_eq!(shown("%E %k", "2"), "(null) (null)\n");
    let mut update = Command::new(PROGRAM);
    update.args(["update", "2", "--time=1:30", "--job-name=mine", "--state"]);
    assert!(update.arg(stage.path("state")).status().unwrap().success());
    assert_eq!(shown("%j %l", "2"), "mine 1:30\n");
    let too_many = stage.run("scontrol", &["update", "JobId=2", "NumNodes=99"]);
    let said = String::from_utf8(too_many.stderr).unwrap();
    assert!(too_many.status.code() == Some(1) && said.contains("99"), "{said}");
    stage.text("scontrol", &["release", "1"]);
    let begun = Instant::now();
    while shown("%T", "1") != "COMPLETED\n" && !shown("%T", "1").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", stage.text("squeue", &[]));
        std::thread::sleep(Duration::from_millis(50));
    }
    let over = stage.run("scontrol", &["update", "JobId=1", "TimeLimit=1"]);
    let said = String::from_utf8(over.stderr).unwrap();
    assert!(over.status.code() == Some(1) && said.contains("is over"), "{said}");
}

#[test]
fn the_account_on_this_machine_is_the_caller() {
    let stage = Stage::new();
    stage.text("sbatch", &["--hold", "--wrap", "true"]);
    let listed = |user: &str| {
        let mut command = stage.command("squeue", &["-h", "-o", "%i", "-u", user]);
        String::from_utf8(command.env("USER", "eve").output().unwrap().stdout).unwrap()
    };
    let own = Command::new("id").arg("-un").output().unwrap().stdout;
    assert_eq!(listed(String::from_utf8(own).unwrap().trim()), "1\n");
    assert_eq!(
        (listed("eve"), listed("admin"), listed("bob")),
        ("1\n".into(), "1\n".into(), String::new())
    );
}

#[test]
fn settings_are_those_of_slurm() {
    let stage = Stage::new();
    assert!(stage.text("sbatch", &["--version"]).starts_with("slurm 24.11"));
    assert_eq!(
        stage.text("sinfo", &[]),
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n\
         main         up   infinite      3   idle n/a\n"
    );
    assert_eq!(stage.text("sinfo", &["-h", "-o", "%P %F"]), "main 0/3/0/3\n");
    assert!(stage.text("scontrol", &["show", "config"]).contains("\nMinJobAge               = "));
    assert!(
        stage.text("scontrol", &["show", "partition", "main"]).starts_with("PartitionName=main\n")
    );
    assert_eq!(stage.text("scontrol", &["show", "hostnames", "n[1-2],x"]), "n1\nn2\nx\n");
    // The script may come by standard input, and its time from a variable.
    let mut command = stage.command("sbatch", &["-J", "typed"]);
    command.env("TRADEWIND_DEFAULT_TIME", "7").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"#!/bin/sh\ntrue\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(stage.text("squeue", &["-h", "-t", "all", "-o", "%j %l"]), "typed 7:00\n");
    let when = String::from_utf8(stage.run("sbatch", &["--test-only", "--wrap", "true"]).stderr);
    assert!(when.unwrap().starts_with("sbatch: Job to start at "), "nothing is submitted");
    assert_eq!(stage.text("squeue", &["-h", "-t", "all"]).lines().count(), 1);
}

#[test]
fn a_folder_with_other_programs_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        Command::new(PROGRAM).arg("shims").args(more).arg(folder.path()).output().unwrap()
    };
    assert!(run(&[]).status.success());
    assert!(run(&[]).status.success(), "its own links are renewed");
    std::fs::remove_file(folder.path().join("sbatch")).unwrap();
    symlink("/bin/true", folder.path().join("sbatch")).unwrap();
    let refused = run(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("sbatch"));
    assert_eq!(
        std::fs::read_link(folder.path().join("sbatch")).unwrap(),
        PathBuf::from("/bin/true")
    );
    assert!(run(&["--force"]).status.success());
    assert_ne!(
        std::fs::read_link(folder.path().join("sbatch")).unwrap(),
        PathBuf::from("/bin/true")
    );
}
