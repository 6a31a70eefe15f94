//! The shipped examples are what they say they are.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use std::path::Path;

use tradewind_io::snapshot::{At, SnapshotOptions, side, take};
use tradewind_io::{grid, input, scenario, swf};
use tradewind_model::Span;

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples").join(name).to_str().unwrap().to_owned()
}

#[test]
fn the_small_log_is_made_by_the_generator() {
    let text = input::read(&example("small.swf")).unwrap();
    let expected = swf::write(&swf::sample(2026, 200, 64));
    assert!(
        text.bytes == expected.as_bytes(),
        "run `cargo run -p tradewind-io --example small_log`"
    );
}

#[test]
fn the_small_log_has_a_queue_at_the_documented_moment() {
    let log = swf::load(&example("small.swf")).unwrap();
    let taken = take(&log, &SnapshotOptions::new(At::Middle, Span(86_400), 1)).unwrap();
    let snapshot = &taken.scenario.snapshot;
    assert!(snapshot.jobs.len() >= 5, "{} jobs wait", snapshot.jobs.len());
    assert!(!taken.scenario.busy.unwrap().is_empty());
}

#[test]
fn the_batch_says_the_same_in_toml_and_json() {
    let (toml, warnings) = scenario::load(&example("batch.toml")).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    let (json, warnings) = scenario::load(&example("batch.json")).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    assert_eq!(toml, json);
    let text = String::from_utf8(input::read(&example("batch.json")).unwrap().bytes).unwrap();
    assert_eq!(text, toml.to_json(), "batch.json is batch.toml as we write it");
}

#[test]
fn the_testbed_is_that_of_the_paper() {
    let (grid, warnings) = grid::load(&example("edg.toml")).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    let pools = grid.pools(1);
    assert_eq!((pools.sites().len(), pools.as_slice().len(), pools.nodes()), (10, 30, 8_890));
    assert_eq!(pools.as_slice().iter().map(|pool| pool.nodes).max(), Some(1_301));
    for name in ["dam-side.toml", "paper-003-side.toml"] {
        let side = side::load(&example(name)).unwrap();
        assert!(side.drawn && side.jobs.is_empty(), "{name}");
    }
}
