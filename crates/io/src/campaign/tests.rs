use super::*;

/// Knows the policies `easy…` and `fcfs`.
fn check(name: &str) -> Option<(String, String)> {
    let known = name == "fcfs" || name.starts_with("easy");
    (!known).then(|| (format!("there is no policy `{name}`"), "did you mean `easy`?".to_owned()))
}

fn read(text: &str) -> Result<Campaign, String> {
    let input = Input::new("in/campaign.toml", text);
    let model = |name: &str| {
        (!name.starts_with("lublin"))
            .then(|| (format!("there is no model `{name}`"), String::new()))
    };
    parse(&input, Checks { policy: &check, model: &model, moldable: &model, preemptible: &model })
        .map(|(campaign, _)| campaign)
        .map_err(|wrong| wrong.to_string())
}

const WHOLE: &str = r#"
title = "estimates"
policies = ["fcfs", "easy[depth=4,order=shortest]"]
semantics = ["textbook", "pyss"]
overruns = ["kill", "extend"]
estimates = ["requested", "exact"]
loads = [0.7, 0.95]
seeds = "1..10"
trim = { warm-up = "1d", cool-down = 3600 }
outputs = ["summary"]

[[workload]]
log = ["a.swf.gz", "/logs/b.swf"]
procs = 128
from = "2d"
to = "9d"

[[workload]]
name = "all of a"
log = ["a.swf.gz"]
"#;

#[test]
fn everything_is_read() {
    let campaign = read(WHOLE).unwrap();
    assert_eq!(campaign.policies, ["fcfs", "easy[depth=4,order=shortest]"]);
    assert_eq!(campaign.semantics, [Semantics::Textbook, Semantics::Pyss]);
    assert_eq!(campaign.overruns, [Overrun::Kill, Overrun::Extend]);
    assert_eq!(campaign.estimates, [EstimateKind::Requested, EstimateKind::Exact]);
    assert_eq!(campaign.loads.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0.7", "0.95"]);
    assert_eq!(campaign.seeds.map(|seeds| seeds.to_string()), Some("1..10".to_owned()));
    assert_eq!(campaign.trim, Trim { warm_up: Span(86_400), cool_down: Span(3_600) });
    assert_eq!(campaign.outputs, [Output::Summary]);
    let [two, one] = campaign.workloads.as_slice() else { unreachable!() };
    assert_eq!((two.name.as_str(), one.name.as_str()), ("a+b", "all of a"));
    assert_eq!(two.logs, ["in/a.swf.gz", "/logs/b.swf"]);
    assert_eq!(
        (two.procs, two.from, two.to),
        (Some(128), Some(Time(172_800)), Some(Time(777_600)))
    );
}

#[test]
fn the_minimal_file_has_defaults() {
    let campaign = read("policies = ['easy']\n[[workload]]\nlog = ['a.swf']").unwrap();
    assert_eq!((campaign.semantics, campaign.overruns), {
        (vec![Semantics::Textbook], vec![Overrun::Kill])
    });
    assert_eq!((campaign.loads, campaign.seeds, campaign.trim), (vec![], None, Trim::default()));
    assert_eq!(campaign.outputs, Output::DEFAULT);
}

#[test]
fn what_is_drawn_has_a_seed() {
    let log = read("policies = ['easy']\n[[workload]]\nlog = ['a.swf']").unwrap();
    assert_eq!((log.draws(), log.seeds()), (false, None));
    let users = "policies = ['easy']\n[[workload]]\nlog = ['a.swf']\nusers = 9";
    assert_eq!(read(users).unwrap().seeds(), Some(Seeds::DEFAULT));
    let model = "policies = ['easy']\n[[workload]]\nmodel = 'lublin[jobs=9]'\nprocs = 64";
    let model = read(model).unwrap();
    assert_eq!((model.draws(), model.workloads[0].name.as_str()), (true, "lublin[jobs=9]"));
}

#[test]
fn paths_do_not_make_another_campaign() {
    let spec = |path: &str| {
        let campaign = read(&format!("policies = ['easy']\n[[workload]]\nlog = ['{path}']"));
        serde_json::to_string(&campaign.unwrap()).unwrap()
    };
    assert_eq!(spec("a.swf.gz"), spec("/elsewhere/a.swf"));
    assert_ne!(spec("a.swf"), spec("b.swf"));
}

/// Each mistake with what is said of it.
#[test]
fn every_mistake_is_said_with_its_line_and_field() {
    let cases = [
        ("policies = ['easy']", "policies = ['esay']", "3: policies[0]: there is no policy `esay`"),
        ("policies = ['easy']", "policies = []", "3: policies: an empty list"),
        (
            "policies = ['easy']",
            "policies = ['easy', 'easy']",
            "policies[1]: `easy` is named twice",
        ),
        ("policies = ['easy']", "polices = ['easy']", "did you mean `policies`?"),
        ("seeds = 3", "seeds = '9..1'", "4: seeds: the first seed 9 is above the last 1"),
        ("seeds = 3", "seeds = true", "4: seeds: expected a text"),
        ("seeds = 3", "seed = '1..3'", "4: seed: more than one seed"),
        ("seeds = 3", "seeds = 3\nseed = 4", "5: seed: `seeds` is given as well"),
        ("seeds = 3", "loads = [0]", "4: loads[0]: `0` is out of range"),
        ("seeds = 3", "loads = [0.7, 0.70]", "4: loads[1]: the load 0.7 is given twice"),
        ("seeds = 3", "estimates = ['exakt']", "did you mean `exact`?"),
        ("seeds = 3", "trim = {warmup = 3}", "did you mean `warm-up`?"),
        ("seeds = 3", "trim = {warm-up = 'long'}", "trim.warm-up: `long` is not a time"),
        ("procs = 4", "procs = 0", "7: workload[0].procs: `0` is out of range"),
        ("procs = 4", "from = 9\nto = 9", "8: workload[0].to: `from` 9 is not before `to` 9"),
        ("procs = 4", "name = 'a/b'", "workload[0].name: `a/b` cannot name a folder"),
        ("procs = 4", "[[workload]]\nlog = ['b/a.swf']", "a second workload `a`"),
        ("log = ['a.swf']", "log = 'a.swf'", "6: workload[0].log: expected a list"),
        ("log = ['a.swf']", "", "`log` or `model` is missing"),
        ("log = ['a.swf']", "log = ['a.swf']\nmodel = 'lublin'", "`log` and `model` are given"),
        ("log = ['a.swf']", "model = 'lubin'", "6: workload[0].model: there is no model `lubin`"),
        ("log = ['a.swf']\nprocs = 4", "model = 'lublin'", "`procs` is missing"),
        ("log = ['a.swf']", "model = 'lublin'\nusers = 3", "7: workload[0]: `users` are those"),
    ];
    let good = "\n\npolicies = ['easy']\nseeds = 3\n[[workload]]\nlog = ['a.swf']\nprocs = 4\n";
    assert!(read(good).is_ok());
    for (from, to, said) in cases {
        let wrong = read(&good.replace(from, to)).unwrap_err();
        assert!(wrong.contains(said), "{to}: {wrong}");
        assert!(wrong.contains("\n  hint: "), "{to}: {wrong}");
    }
    let all = cases.iter().take(1).chain(cases.iter().skip(8).take(1)).chain(&cases[13..14]);
    let text = all.fold(good.to_owned(), |text, (from, to, _)| text.replace(from, to));
    assert_eq!(read(&text).unwrap_err().matches("error: ").count(), 3);
}

#[test]
fn one_seed_has_a_name_of_its_own() {
    let text = "policies = ['easy']\nseed = 3\n[[workload]]\nlog = ['a.swf']\nprocs = 4\n";
    let seeds = read(text).unwrap().seeds;
    assert_eq!(seeds.map(|seeds| seeds.to_string()), Some("3".to_owned()));
}
