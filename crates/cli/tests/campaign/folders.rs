//! Folders of campaigns: what another campaign or another program left there.

use super::*;

/// Whatever was in a folder: what is said is of the campaign that was asked for.
#[test]
fn a_folder_that_changes_hands_keeps_nothing_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let log = log();
    let fresh = |name: &str, args: &[&str]| {
        assert_eq!(code(&simulate(&at(name), &[&[log.as_str()], args].concat())), 0);
        files(&at(name))
    };
    let fcfs = ["--policy", "fcfs"];
    let two = ["--policy", "easy,conservative", "--report"];
    let plain = ["--policy", "easy,conservative", "--outputs", "summary"];
    let wants = [&fcfs[..], &two, &plain, &fcfs];
    for (turn, args) in wants.into_iter().enumerate() {
        let want = fresh(&format!("fresh-{turn}"), args);
        let options = [log.as_str(), "--format", "json", "--force"];
        let output = simulate(&at("y"), &[&options[..], args].concat());
        assert_eq!(code(&output), 0, "{}", said(&output));
        assert!(!said(&output).contains("there already"), "{}", said(&output));
        let mut got = files(&at("y"));
        // Folders of runs that are not of this campaign are left alone.
        got.retain(|path, _| {
            args == fcfs.as_slice() && path.components().count() == 1 || args != fcfs.as_slice()
        });
        assert_eq!(got.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>(), "{args:?}");
        assert_eq!(got, want, "{args:?}");
    }
    let (y, z) = (at("y").display().to_string(), at("z").display().to_string());
    assert_eq!(code(&tradewind(&["merge", &y, "--out", &z])), 0);
    assert_eq!(json(&at("z/summary.json"))["policy"], "fcfs");
}

#[test]
fn a_summary_that_is_not_the_runs_own_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (out, log) = (folder.path().join("y"), log());
    let run = || simulate(&out, &[&log, "--policy", "fcfs"]);
    let first = run();
    let whole = files(&out);
    let summary = String::from_utf8(whole[Path::new("summary.json")].clone()).unwrap();
    for other in ["{\"a\":1}", "", &summary.replace("fcfs", "easy")] {
        std::fs::write(out.join("summary.json"), other).unwrap();
        let again = run();
        assert_eq!((code(&again), &again.stdout), (0, &first.stdout), "{other}");
        assert!(!said(&again).contains("there already"), "{other}");
        assert_eq!(files(&out), whole, "{other}");
    }
    assert!(said(&run()).contains("1 of 1 runs were there already"));
}

#[test]
fn a_campaign_that_cannot_run_leaves_a_finished_one_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (out, log) = (folder.path().join("w"), log());
    let missing = folder.path().join("missing").display().to_string();
    assert_eq!(code(&simulate(&out, &[&log, "--policy", "easy,sjf"])), 0);
    let whole = files(&out);
    for wrong in [
        &[missing.as_str()][..],
        &[&log, "--side", &missing],
        &[&log, "--grid", &missing],
        &[&log, "--from", "900d"],
        &[&log, "--warm-up", "900d"],
    ] {
        for (force, exit) in [(&[][..], 2), (&["--force"], 3)] {
            let output = simulate(&out, &[wrong, &["--policy", "easy,sjf"], force].concat());
            assert_eq!(code(&output), exit, "{wrong:?}: {}", said(&output));
            assert_eq!(files(&out), whole, "{wrong:?}");
        }
    }
}

#[test]
fn files_of_others_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let log = log();
    for (name, policies) in
        [("jobs.csv", "easy"), ("summary.csv", "easy,sjf"), ("sjf/schedule.json", "easy,sjf")]
    {
        let out = folder.path().join(policies).join(name.replace('/', "-"));
        let file = out.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "precious").unwrap();
        let args = [log.as_str(), "--policy", policies];
        let refused = simulate(&out, &args);
        assert_eq!(code(&refused), 2, "{name}: {}", said(&refused));
        assert!(said(&refused).contains(name) && said(&refused).contains("--force"));
        assert_eq!(files(&out).len(), 1, "{name}");
        assert_eq!(std::fs::read(&file).unwrap(), b"precious");
        assert_eq!(code(&simulate(&out, &[&args[..], &["--force"]].concat())), 0);
        assert_ne!(std::fs::read(&file).unwrap(), b"precious");
    }
}
