use proptest::prelude::*;
use tradewind_model::{Attribute, Criterion, Money, Span, Time, Times};

use super::super::options::Support;
use super::super::{Append, TimeLimit, When};
use super::*;

/// 2026-03-28 14:00 UTC.
const NOW: Time = Time(1_774_706_400);

fn script(lines: &str) -> Work {
    Work::Script { text: format!("#!/bin/sh\n{lines}\necho\n"), arguments: Vec::new() }
}

fn read(
    work: Option<Work>,
    words: &[&str],
    variables: &[(&str, &str)],
) -> Result<(Submission, Diagnostics), Diagnostics> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let (mut given, _) = environment(&variables);
    given.extend(command_line(&words)?.0);
    let around = Around { now: NOW, zone: &TimeZone::UTC, variables: &variables };
    parse("dir/job.sh", work, &given, &around)
}

fn good(lines: &str) -> Submission {
    read(Some(script(lines)), &[], &[]).unwrap_or_else(|all| panic!("{lines}: {all}")).0
}

fn bad(lines: &str) -> String {
    match read(Some(script(lines)), &[], &[]) {
        Ok((submission, _)) => panic!("{lines}: {submission:?}"),
        Err(all) => all.to_string(),
    }
}

#[test]
fn components_of_heterogeneous_jobs_are_refused_with_what_stands_for_them() {
    for mark in ["hetjob", "packjob"] {
        let said = bad(&format!("#SBATCH -N1 -t 5\n#SBATCH {mark}\n#SBATCH -N2 -t 5"));
        let named = format!("dir/job.sh:3: `#SBATCH {mark}`: components are given as groups");
        assert!(said.contains(&named) && said.contains("groups=1x1h@gpu,3x10m"), "{said}");
    }
    let words = ["-N1", "-t5", ":", "-N2", "job.sh"].map(str::to_owned);
    let said = command_line(&words).unwrap_err().to_string();
    assert!(said.contains("command line: `:`: components are given as groups"), "{said}");
}

#[test]
fn a_script_says_all_that_a_job_needs() {
    let it = good(
        "#SBATCH -J demo -N 2 --time=1-02:00 # two nodes\n\n  # a comment\n\
         #SBATCH --begin=16:00 -p fast,slow -M alpha -C 'gpu&ib' -A climate --array=0-3%2\n\
         #SBATCH -d afterok:7 -D /data -o out-%j --open-mode=append --requeue --hold --qos=high\n\
         #TRADEWIND budget=12.5 max-price=0.000001 value=40 min-performance=1.5 minimize=cost\n\
         #TRADEWIND deadline=2026-03-30 quote=7 priority=5",
    );
    assert_eq!((it.name.as_str(), it.tasks), ("demo", 2));
    assert_eq!(it.time, TimeLimit::one(Span(93_600)));
    assert_eq!(it.terms.earliest_start, Some(NOW + Span(7_200)));
    assert_eq!(it.terms.deadline, Some(Time(1_774_828_800)));
    assert_eq!((it.terms.pools.len(), it.terms.sites), (2, vec!["alpha".to_owned()]));
    assert_eq!(it.terms.attributes.get("ib"), Some(&Attribute::Flag(true)));
    assert_eq!(it.terms.budget, Some(Money(12_500_000)));
    assert_eq!(it.terms.max_price.map(|price| price.0), Some(1));
    assert_eq!((it.terms.criterion, it.terms.priority), (Criterion::Cost, 5));
    assert_eq!(it.array.map(|array| (array.indices.len(), array.at_once)), Some((4, Some(2))));
    assert_eq!(it.after.iter().map(|it| (it.when, it.job)).collect::<Vec<_>>(), [(When::Ok, 7)]);
    assert_eq!(it.surroundings.append, Append::Append);
    assert!(it.held && it.on_lost == super::super::OnLost::Rerun);
    assert_eq!(it.passed_through, [("qos".to_owned(), "high".to_owned())]);
    assert_eq!((it.project.as_deref(), it.quote), (Some("climate"), Some(7)));
}

#[test]
fn a_script_says_what_its_limit_counts() {
    use super::super::Counted;
    let counted = |text: &str| match good(text).time {
        TimeLimit::One { limit: Span(60), counted } => counted,
        other => panic!("{other:?}"),
    };
    assert_eq!(counted("#SBATCH -t 1"), Counted::Default);
    assert_eq!(counted("#SBATCH -t 1\n#TRADEWIND times=work"), Counted::Job(Times::Work));
    assert_eq!(counted("#SBATCH -t 1\n#TRADEWIND times=wall"), Counted::Job(Times::Wall));
    let wrong = |text: &str| read(None, &["--wrap", "true", "-t", text, "--times", "wall"], &[]);
    let wrong = wrong("fast:10m").unwrap_err().to_string();
    assert!(wrong.contains("--times: limits by class are wall-clock time"), "{wrong}");
}

#[test]
fn what_is_not_said_has_plain_defaults() {
    let it = good("#SBATCH -t 1");
    assert_eq!((it.name.as_str(), it.tasks), ("job.sh", 1));
    assert!(!it.held && it.mail.is_none() && it.passed_through.is_empty());
    assert!(it.surroundings.environment.is_empty());
    let words = Work::Command(vec!["/bin/sleep".to_owned(), "5".to_owned()]);
    assert_eq!(read(Some(words), &["-t1"], &[]).unwrap().0.name, "sleep");
    let wrapped = read(None, &["-t1", "--wrap", "hostname; date"], &[]).unwrap().0;
    let text = "#!/bin/sh\nhostname; date\n".to_owned();
    assert_eq!(wrapped.work, Work::Script { text, arguments: Vec::new() });
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_script() {
    let lines = "#TRADEWIND time=7m\n#SBATCH --time=8 -J a\n#SBATCH --job-name=b";
    let env = [("SBATCH_TIMELIMIT", "6"), ("SBATCH_JOB_NAME", "c"), ("TRADEWIND_BUDGET", "3")];
    let seconds = |words: &[&str], env: &[(&str, &str)]| {
        let it = read(Some(script(lines)), words, env).unwrap().0;
        let TimeLimit::One { limit, .. } = it.time else { panic!("{:?}", it.time) };
        (limit.0, it.name, it.terms.budget)
    };
    assert_eq!(seconds(&[], &[]), (420, "b".to_owned(), None));
    assert_eq!(seconds(&[], &env), (360, "c".to_owned(), Some(Money::credits(3))));
    let words = ["--time=4", "-t", "5", "--budget", "2"];
    assert_eq!(seconds(&words, &env), (300, "c".to_owned(), Some(Money::credits(2))));
    let again = read(Some(script("#SBATCH -t1 --requeue")), &["--no-requeue"], &[]).unwrap().0;
    assert_eq!(again.on_lost, super::super::OnLost::Fail);
}

/// Number of nodes where their size is unknown, and what else was said: least and most nodes,
/// tasks, tasks of a node, processors of a task.
#[test]
fn tasks_and_nodes_are_kept_as_they_were_said() {
    for (options, nodes, said) in [
        ("", 1, None),
        ("-N 3", 3, None),
        ("-N 3-3", 3, None),
        ("-N 1k", 1_024, None),
        ("-N 2-4", 2, Some([2, 4, 0, 0, 0])),
        ("-n 4", 4, Some([0, 0, 4, 0, 0])),
        ("-n 4 -c 2", 4, Some([0, 0, 4, 0, 2])),
        ("-n 9 --ntasks-per-node=4", 3, Some([0, 0, 9, 4, 0])),
        ("-N 2 -n 8", 2, Some([2, 2, 8, 0, 0])),
        ("-N 2 --ntasks-per-node=2", 2, Some([2, 2, 0, 2, 0])),
        ("-N 1-3 -n 8", 1, Some([1, 3, 8, 0, 0])),
        // As `sbatch` does it.
        ("-N 4 -n 2", 2, Some([2, 2, 2, 0, 0])),
        ("--gpus=4", 1, Some([0; 5])),
        ("-N 2 --gpus=4", 2, None),
    ] {
        let it = good(&format!("#SBATCH -t1 {options}"));
        let kept = it.shape.map(|it| {
            [it.nodes, it.max_nodes, it.tasks, it.tasks_per_node, it.cpus_per_task]
                .map(Option::unwrap_or_default)
        });
        assert_eq!((it.tasks, kept), (nodes, said), "{options}");
        let names = it.passed_through.iter().map(|(name, _)| name.as_str());
        assert_eq!(names.filter(|name| *name != "gpus").count(), 0, "{options}");
    }
    for (options, expected) in [
        ("-N 4-2", "begins with the larger number"),
        ("-N 2 -n 8 --ntasks-per-node=3", "do not fit"),
        ("-N 0", "not a number of them"),
        ("-n x", "not a number of them"),
        ("-c 0", "not a number of them"),
    ] {
        assert!(bad(&format!("#SBATCH -t1 {options}")).contains(expected), "{options}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_with_their_lines() {
    let all = bad(
        "#SBATCH --tiem=5 --nodelist=n1\n#SBATCH -N 2-4 'x\n#TRADEWIND budget=-1 qos=a dedline=1\n\
         #SBATCH stray\n",
    );
    for expected in [
        "error: dir/job.sh: --time: there is no time limit",
        "job.sh:2: #SBATCH: unknown option `--tiem`\n  hint: did you mean `--time`?",
        "job.sh:2: --nodelist: `--nodelist` is refused\n  hint: the market chooses nodes",
        "job.sh:3: #SBATCH: the quote `'` is not closed",
        "job.sh:4: budget: `-1` is no amount of credits",
        "job.sh:4: #TRADEWIND: `qos` is an option of `sbatch`\n  hint: write `#SBATCH --qos`",
        "did you mean `deadline`?",
        "job.sh:5: #SBATCH: `stray` is no option",
    ] {
        assert!(all.contains(expected), "{expected}\nis not in\n{all}");
    }
}

#[test]
fn scripts_are_looked_at_as_sbatch_does() {
    let late = read(Some(script("#SBATCH -t1\ntrue\n#SBATCH -N 2")), &[], &[]).unwrap();
    assert_eq!(late.0.tasks, 1);
    assert!(late.1.to_string().contains("job.sh:4: options behind the first command"));
    let pbs = read(Some(script("#PBS -l x\n#SBATCH -t1\n##SBATCH -N 2")), &[], &[]).unwrap();
    assert!(pbs.0.tasks == 1 && pbs.1.to_string().contains("`#PBS` lines"));
    assert!(bad("#SBATCH -t1\r").contains("line break of DOS"));
    assert!(bad("#SBATCH -t1\0").contains("a zero byte"));
    let bare = Work::Script { text: "echo\n".to_owned(), arguments: Vec::new() };
    assert!(read(Some(bare), &["-t1"], &[]).unwrap_err().to_string().contains("no interpreter"));
    assert!(read(None, &["-t1"], &[]).unwrap_err().to_string().contains("nothing to run"));
    let both = read(Some(script("#SBATCH -t1")), &["--wrap=x"], &[]);
    assert!(both.unwrap_err().to_string().contains("leave out `--wrap`"));
}

#[test]
fn classes_are_given_once() {
    let it = good("#TRADEWIND time=fast:10m,slow:30m");
    let expected = Attribute::OneOf(vec!["fast".to_owned(), "slow".to_owned()]);
    assert_eq!(it.time.class(), Some(("class".to_owned(), expected)));
    assert_eq!(
        good("#SBATCH -t1\n#TRADEWIND class=fast").terms.attributes.get("class"),
        Some(&Attribute::Text("fast".to_owned()))
    );
    for lines in [
        "#TRADEWIND time=fast:10m class=slow",
        "#TRADEWIND time=fast:10m\n#SBATCH -C a|b",
        "#TRADEWIND time=10 class=slow\n#SBATCH -C a|b",
    ] {
        assert!(bad(lines).contains("classes of nodes are given twice"), "{lines}");
    }
}

#[test]
fn the_environment_is_read_as_sbatch_reads_it() {
    let read = |name: &str, value: &str| {
        let variables = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let (given, warnings) = environment(&variables);
        let given = given.first().map(|it| format!("{} {:?}", it.option.name, it.value));
        (given.unwrap_or_default(), warnings.to_string())
    };
    assert_eq!(read("SBATCH_TIMELIMIT", "5").0, "time Some(\"5\")");
    assert_eq!(read("SBATCH_REQUEUE", "1").0, "requeue None");
    assert_eq!(read("SBATCH_DEBUG", "0").0, "");
    assert_eq!(read("SLURM_CLUSTERS", "a").0, "clusters Some(\"a\")");
    assert_eq!(read("TRADEWIND_MAX_PRICE", "5").0, "max-price Some(\"5\")");
    for quiet in ["TRADEWIND_TOKEN", "SLURM_JOB_ID", "PATH", "SBATCHX"] {
        assert_eq!(read(quiet, "x"), (String::new(), String::new()), "{quiet}");
    }
    assert!(read("SBATCH_TIMELIMT", "5").1.contains("did you mean `SBATCH_TIMELIMIT`?"));
    let refused = super::tests::read(Some(script("")), &["-t1"], &[("SBATCH_RESERVATION", "x")]);
    assert!(refused.unwrap_err().to_string().contains("environment: SBATCH_RESERVATION: "));
}

/// A good value of each option that is honoured, and something that shows beside `--time=1`.
const SAMPLES: [(&str, &str); 54] = [
    ("account", "x"),
    ("array", "1-2"),
    ("begin", "16:00"),
    ("budget", "1"),
    ("chdir", "/x"),
    ("class", "x"),
    ("clusters", "x"),
    ("comment", "x"),
    ("constraint", "x"),
    ("cpus-per-task", "2"),
    ("data-in", "2T@x"),
    ("data-out", "2T@x"),
    ("deadline", "tomorrow"),
    ("dependency", "after:1"),
    ("earliest-start", "16:00"),
    ("error", "x"),
    ("exclude-peers", "x"),
    ("exclusive", ""),
    ("export", "A=b"),
    ("gather", "90s"),
    ("hold", ""),
    ("ignore-pbs", ""),
    ("input", "x"),
    ("job-name", "x"),
    ("kill-on-invalid-dep", "yes"),
    ("licenses", "abaqus:4"),
    ("mail-type", "END"),
    ("mail-user", "x"),
    ("max-price", "1"),
    ("min-performance", "1"),
    ("minimize", "cost"),
    ("nice", ""),
    ("no-requeue", ""),
    ("nodes", "2"),
    ("ntasks", "2"),
    ("ntasks-per-node", "2"),
    ("on-breach", "hold"),
    ("on-lost", "hold"),
    ("open-mode", "append"),
    ("output", "x"),
    ("partition", "x"),
    ("peers", "x"),
    ("preemptible", ""),
    ("priority", "1"),
    ("quote", "7"),
    ("requeue", ""),
    ("sites", "x"),
    ("spread", "site"),
    ("stay-home", ""),
    ("time", "2"),
    ("times", "work"),
    ("use-min-nodes", ""),
    ("value", "1"),
    ("wait-all-nodes", "1"),
];

#[test]
fn no_option_is_ignored() {
    // What is always so, or shows only together with another option.
    let quiet = [
        "exclusive",
        "ignore-pbs",
        "kill-on-invalid-dep",
        "mail-user",
        "no-requeue",
        "use-min-nodes",
        "wait-all-nodes",
    ];
    let bare = |lines: &str| Submission { work: Work::Command(Vec::new()), ..good(lines) };
    let plain = bare("#SBATCH --time=1");
    for option in &OPTIONS {
        let mark = if option.owner == Owner::Slurm { "#SBATCH --" } else { "#TRADEWIND " };
        let line = |value: &str| match value {
            "" => format!("#SBATCH --time=1\n{mark}{}", option.name),
            value => format!("#SBATCH --time=1\n{mark}{}={value}", option.name),
        };
        let sample = SAMPLES.iter().find(|(name, _)| *name == option.name);
        match (option.kind, sample) {
            // It takes the place of `--time`.
            _ if option.name == "shapes" => {
                assert!(bad(&line("4x1h")).contains("`time` beside `shapes`"));
                let shapes = good("#TRADEWIND shapes=4x1h,2x90m").terms.shapes;
                assert_eq!(shapes.map(|all| all.as_slice().len()), Some(2));
                let told = bad("#TRADEWIND shapes='?'");
                assert!(told.contains("job.sh:2: ") && told.contains("\n  hint: "), "{told}");
            }
            _ if option.name == "groups" => {
                assert!(bad(&line("1x1h,2x1h")).contains("`time` beside `groups`"));
                let told = bad("#TRADEWIND groups='?'");
                assert!(told.contains("job.sh:2: ") && told.contains("\n  hint: "), "{told}");
            }
            _ if option.name == "wrap" => assert!(bad(&line("x")).contains("--wrap")),
            (Support::Refused, _) => {
                let value = if option.takes == Takes::Value { "x" } else { "" };
                let told = bad(&line(value));
                assert!(told.contains("job.sh:3: ") && told.contains("is refused"), "{told}");
                assert!(!option.says.is_empty());
            }
            (Support::PassedThrough, _) => {
                let value = match option.takes {
                    Takes::Value if option.name == "signal" => "B:USR1@90",
                    Takes::Value => "x",
                    _ => "",
                };
                let expected = vec![(option.name.to_owned(), value.to_owned())];
                assert_eq!(good(&line(value)).passed_through, expected);
            }
            (Support::Honoured, Some((name, value))) => {
                let same = bare(&line(value)).eq(&plain);
                assert_eq!(same, quiet.contains(name), "{name}");
                if option.takes == Takes::Value {
                    let told = bad(&line("'\u{1}?'"));
                    assert!(told.contains("job.sh:3: ") && told.contains("\n  hint: "), "{told}");
                }
            }
            (Support::Honoured, None) => panic!("no sample of {}", option.name),
        }
    }
}

proptest! {
    /// Options in any order, mark and spelling give the same submission.
    #[test]
    fn options_come_back_however_they_are_written(
        picks in proptest::collection::btree_set(0..SAMPLES.len(), 1..12),
        spelling in proptest::collection::vec(0..3usize, 12),
        seed in any::<u64>(),
    ) {
        // Both of a pair say the same, so that the order would matter, or exclude each other.
        let pairs = [
            "class", "earliest-start", "sites", "requeue", "no-requeue", "ntasks", "time", "peers",
        ];
        let mut picks: Vec<(&str, &str)> = picks.iter().map(|&i| SAMPLES[i]).collect();
        picks.retain(|(name, _)| !pairs.contains(name));
        let plain: Vec<String> = picks.iter().map(|(name, value)| spell(name, value, 0)).collect();
        picks.sort_by_key(|(name, _)| seed.rotate_left(name.len() as u32) ^ name.as_bytes()[1] as u64);
        let odd = picks.iter().zip(spelling).map(|((name, value), how)| spell(name, value, how));
        let odd: Vec<String> = odd.collect();
        let text = |lines: &[String]| format!("#SBATCH -t 1\n{}", lines.join("\n"));
        prop_assert_eq!(good(&text(&plain)).terms, good(&text(&odd)).terms);
        let (mut one, mut two) = (good(&text(&plain)), good(&text(&odd)));
        one.work = Work::Command(Vec::new());
        two.work = Work::Command(Vec::new());
        prop_assert_eq!(one, two);
    }

    #[test]
    fn any_script_is_read_or_refused(
        lines in proptest::collection::vec("#SBATCH [-a-z=0-9 '\"#\\\\]{0,30}|#TRADEWIND \\PC{0,20}|\\PC{0,20}", 0..6),
        words in proptest::collection::vec("-{0,2}[a-zN]{0,5}=?\\PC{0,5}", 0..4),
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Err(all) = read(Some(script(&lines.join("\n"))), &words, &[]) {
            prop_assert!(all.iter().all(|it| it.hint.is_some()), "{all}");
        }
    }
}

fn spell(name: &str, value: &str, how: usize) -> String {
    let known = OptionSpec::find(name).unwrap();
    match (known.owner, how, known.short) {
        (Owner::Tradewind, _, _) if value.is_empty() => format!("#TRADEWIND {name}"),
        (Owner::Tradewind, _, _) => format!("#TRADEWIND {name}='{value}'"),
        (_, 1, _) if known.takes == Takes::Value => format!("#SBATCH   --{name} \"{value}\"  # x"),
        (_, 2, Some(short)) if known.takes == Takes::Value => format!("#SBATCH -{short}{value}"),
        _ if value.is_empty() => format!("#SBATCH --{name}"),
        _ => format!("#SBATCH --{name}={value}"),
    }
}

#[test]
fn a_signal_that_is_none_is_refused_where_it_stands() {
    for value in ["USR9", "B:USR1@soon", "X:USR1"] {
        let told = bad(&format!("#SBATCH --time=1\n#SBATCH --signal={value}"));
        assert!(told.contains("job.sh:3: ") && told.contains("signal"), "{told}");
    }
    let kept = good("#SBATCH --time=1\n#SBATCH --signal=B:SIGUSR1@30").passed_through;
    assert_eq!(kept, [("signal".to_owned(), "B:SIGUSR1@30".to_owned())]);
}

#[test]
fn groups_stand_for_nodes_and_time_of_the_whole_job() {
    let it = good("#TRADEWIND groups=1x1h@2@gpu,3x10m min-performance=1.5 budget=9");
    let groups = it.terms.groups.clone().unwrap();
    assert_eq!((it.tasks, &it.time), (4, &TimeLimit::one(Span(3_600))));
    assert_eq!((groups[1].tasks, groups[1].work), (3, Span(600)));
    assert_eq!(groups[0].attributes.keys().collect::<Vec<_>>(), ["gpu"]);
    let document = crate::submission::document::value(&it).to_string();
    let again = crate::input::Input::new("job.json", document.into_bytes());
    assert_eq!(
        crate::submission::document::parse(&again).unwrap(),
        it,
        "it is read as it is written"
    );
    for (lines, named) in [
        ("#TRADEWIND groups=1x1h,2x1h\n#SBATCH -N2", "`nodes` beside `groups`"),
        ("#TRADEWIND groups=1x1h,2x1h shapes=2x1h", "`shapes` beside `groups`"),
        ("#TRADEWIND groups=1x1h,2x1h\n#SBATCH -a 1-3", "an array of jobs with `groups`"),
        ("#TRADEWIND groups=1x1h", "a single group"),
    ] {
        let said = bad(lines);
        assert!(said.contains(named), "{lines}: {said}");
    }
    for (text, named) in [
        (r#"{"groups": [{"nodes": 1, "time": 60}], "nodes": 2}"#, "stands beside `groups`"),
        (r#"{"groups": [{"nodes": 1}, {"nodes": 1, "time": 60}]}"#, "`time` is missing"),
        (r#"{"groups": [{"nodes": 1, "work": 60}, {"nodes": 1, "time": 60}]}"#, "unknown key"),
        (r#"{"groups": "1x1h,2x1h", "array": "1-3"}"#, "an array of jobs with `groups`"),
    ] {
        let document = format!("{{\"name\": \"a\", \"command\": [\"true\"], {}", &text[1..]);
        let input = crate::input::Input::new("job.json", document.into_bytes());
        let said = crate::submission::document::parse(&input).unwrap_err().to_string();
        assert!(said.contains(named), "{text}: {said}");
    }
}
