//! Energy and carbon, from the quote to the budget.

use serde_json::Value;

use crate::Stage;

const ELECTRIC: &str = "[[site]]
name = 'green'
kind = 'local'
carbon = 'carbon.csv'
energy_price = 0.5
[[site.pool]]
name = 'main'
nodes = 2
price = 0.001
watts = { idle = 10, busy = 3600 }
[[site.pool]]
name = 'frugal'
nodes = 2
price = 0.01
watts = 1800
";

/// `field` of the table `consumed`.
fn consumed(of: &Value, field: &str) -> f64 {
    of["consumed"][field].as_f64().unwrap_or(-1.0)
}

#[test]
fn energy_is_counted_quoted_and_limited() {
    let mut stage = Stage { folder: tempfile::tempdir().unwrap(), daemon: None };
    stage.write("carbon.csv", "time,value\n2020-01-01T00:00Z,400\n2020-01-01T01:00Z,250\n");
    stage.write("tradewind.toml", ELECTRIC);
    stage.start();
    // An hour on a node of `main` may take 3.6 kWh.
    let quotes = stage.json(&["quote", "--time", "1:00:00", "--", "true"]);
    let by = |criterion: &str| {
        let quotes = quotes["quotes"].as_array().unwrap();
        quotes.iter().find(|it| it["criterion"] == criterion).unwrap().clone()
    };
    assert_eq!(
        (consumed(&by("cost"), "energy_kwh"), consumed(&by("cost"), "carbon_g")),
        (3.6, 900.0)
    );
    for frugal in [by("energy"), by("carbon")] {
        assert_eq!(consumed(&frugal, "energy_kwh"), 1.8, "{frugal:#}");
        assert_eq!(
            (&frugal["nodes"][0]["pool"], &frugal["exact"]),
            (&"green/frugal".into(), &true.into())
        );
    }
    stage.text(&["submit", "--wait", "--time", "1:00:00", "--", "true"], 0);
    let job = stage.json(&["job", "1"]);
    let seconds = job["paid"].as_f64().unwrap() / job["parts"][0]["price"].as_f64().unwrap();
    let kilowatts = if job["parts"][0]["pool"] == "green/main" { 3.6 } else { 1.8 };
    let kwh = kilowatts * seconds / 3_600.0;
    assert!((consumed(&job, "energy_kwh") - kwh).abs() < 1e-6 && kwh > 0.0, "{job:#}");
    assert!((consumed(&job, "carbon_g") - 250.0 * kwh).abs() < 0.01, "{job:#}");
    assert!((consumed(&job, "energy_price") - kwh / 2.0).abs() < 1e-5, "{job:#}");
    let usage = stage.text(&["usage", "--by", "user", "--format", "csv"], 0);
    let head = "user,parts,node_seconds,charged,energy_kwh,carbon_g,energy_price\n";
    assert!(usage.starts_with(head), "{usage}");
    let report = stage.json(&["report"]);
    for sums in [&report["users"][0], &report["sites"][0], &stage.json(&["ledger"])["account"]] {
        assert_eq!(sums["consumed"], job["consumed"], "{sums:#}");
    }
    // What is left is enough for half an hour on the frugal nodes, and for nothing else.
    stage.text(&["budget", "admin", "--energy", "1"], 0);
    stage.text(&["submit", "--time", "1:00:00", "--", "true"], 0);
    let waits = stage.text(&["job", "2"], 0);
    let why = "user:admin has 1 kWh left of 1 kWh in all, and it may take";
    assert!(waits.contains("AssocGrpEnergyMinutes") && waits.contains(why), "{waits}");
    stage.text(&["submit", "--wait", "--time", "0:30:00", "--", "true"], 0);
    assert_eq!(stage.json(&["job", "3"])["parts"][0]["pool"], "green/frugal");
    let budget = stage.json(&["budget", "admin", "--energy", "none"]);
    assert!(budget.get("budget").is_none_or(Value::is_null), "{budget:#}");
    stage.text(&["wait", "2"], 0);
    // It is all there after a restart, and a series may change.
    stage.kill();
    stage.start();
    assert_eq!(stage.json(&["job", "1"])["consumed"], job["consumed"]);
}
