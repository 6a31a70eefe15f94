use std::collections::BTreeMap;

use tradewind_io::submission::script::{Around, command_line, parse};
use tradewind_io::submission::{Submission, Work};
use tradewind_model::Time;

use super::*;

/// What `sbatch` would be given, as a submission.
fn asked(options: &str) -> Submission {
    let words: Vec<String> =
        format!("--time 1 {options}").split_whitespace().map(str::to_owned).collect();
    let (given, _) = command_line(&words).unwrap();
    let work = Some(Work::Command(vec!["true".to_owned()]));
    let (zone, variables) = (jiff::tz::TimeZone::UTC, BTreeMap::new());
    let around = Around { now: Time(1_800_000_000), zone: &zone, variables: &variables };
    parse("test", work, &given, &around).unwrap().0
}

/// Nodes of four processors, 4,000 MB and two accelerators.
fn whole_nodes() -> PoolWidth {
    let generic = [("gpu".to_owned(), 2)].into();
    PoolWidth { max: Some(Resources { memory: 4_000, generic }), size: Some(Size::Node(4)) }
}

/// As Slurm 22.05 has answered on such nodes, where it gives whole ones.
#[test]
fn whole_nodes_are_counted_as_slurm_counts_them() {
    let has = whole_nodes();
    for (options, nodes) in [
        ("", 1),
        ("-n 8", 2),
        ("-n 6", 2),
        ("-n 9", 3),
        ("-n 3 -c 2", 2),
        ("-n 6 -c 3", 6),
        ("-n 8 -c 2", 4),
        ("-n 8 --ntasks-per-node=2", 4),
        ("-n 5 --ntasks-per-node=3", 2),
        ("-N 2 --ntasks-per-node=4", 2),
        ("--ntasks-per-node=3", 1),
        ("-N 3", 3),
        ("-N 4 -n 2", 2),
        ("-N 2-2 -n 8", 2),
        ("-N 3 -n 4", 3),
        ("-n 7 --mem-per-cpu=900", 2),
        ("-n 4 --mem-per-cpu=1000", 1),
        ("--gpus=4", 2),
        ("--gpus=3", 2),
        ("--gpus=2", 1),
        ("--gpus=gpu:4", 2),
        ("-n 4 --gpus-per-task=1", 2),
        ("-n 6 --gpus-per-task=1 -c 2", 3),
        ("--gpus=4 --gpus-per-task=2", 2),
        ("-n 8 --gres=gpu:2", 2),
        ("-O -n 8 -N 1", 1),
        ("-n 2 --mincpus=4", 1),
        // Of a range the smallest number, where Slurm takes as many as are free.
        ("-N 1-4", 1),
        ("-N 1-3 -n 8", 2),
        ("-N 3-4 -n 8", 3),
    ] {
        assert_eq!(width(&asked(options), &has), Ok(nodes), "{options}");
    }
}

#[test]
fn what_fits_on_no_node_is_refused_as_slurm_does() {
    let has = whole_nodes();
    for options in [
        "-n 2 -c 8",
        "-N 1 -n 8",
        "--ntasks-per-node=5",
        "-n 4 --mem-per-cpu=1500",
        "--mem-per-cpu=5000",
        "--mincpus=5 -n 1",
        "-N 1-2 -n 9",
        "-n 2 --gpus-per-task=3",
    ] {
        assert!(width(&asked(options), &has).is_err(), "{options}");
    }
}

#[test]
fn units_are_shares_of_tasks() {
    let cores = |cores| PoolWidth { max: None, size: Some(Size::Cores(cores)) };
    for (options, cores, units) in [
        ("-n 8 -c 2", cores(2), 8),
        ("-n 8 -c 4", cores(2), 16),
        ("-n 8 -c 3", cores(2), 16),
        ("-n 8", cores(2), 8),
        ("-N 2 --ntasks-per-node=4", cores(1), 8),
        ("-N 3", cores(2), 3),
        // Of nodes of unknown size each has one task, or as many as may share one.
        ("-n 8 -c 4", PoolWidth::default(), 8),
        ("-n 9 --ntasks-per-node=4", PoolWidth::default(), 3),
    ] {
        assert_eq!(width(&asked(options), &cores), Ok(units), "{options}");
    }
}

#[test]
fn memory_counts_where_units_have_some() {
    let unit = UnitSize { cores: 4, memory: 16_000 };
    let size = Some(Size::Shared { unit, most: 8 });
    let has = PoolWidth { max: Some(Resources { memory: 128_000, ..Resources::default() }), size };
    for (options, units) in [
        ("-n 8", 8),
        ("-n 8 -c 5", 16),
        ("-n 2 --mem=16000", 2),
        ("-n 2 --mem=16001", 4),
        ("-n 2 -c 2 --mem-per-cpu=20G", 6),
        ("-N 3 --mem=40G", 9),
        ("-n 1 -c 32", 8),
    ] {
        assert_eq!(width(&asked(options), &has), Ok(units), "{options}");
    }
    for options in ["-n 1 -c 33", "-n 1 --mem=126G", "-n 1 --mem=0"] {
        let told = width(&asked(options), &has).unwrap_err();
        assert!(told.starts_with("32 processors and 128000 MB for a task"), "{told}");
    }
}

#[test]
fn more_processors_never_need_more_nodes() {
    for options in ["-n 8", "-n 7 -c 2", "-n 9 --ntasks-per-node=3", "--gpus=4 -n 5"] {
        let mut last = u32::MAX;
        for processors in 4..40 {
            let has = PoolWidth { size: Some(Size::Node(processors)), ..whole_nodes() };
            let width = width(&asked(options), &has).unwrap();
            assert!(width <= last, "{options} at {processors}: {width} after {last}");
            last = width;
        }
    }
}
