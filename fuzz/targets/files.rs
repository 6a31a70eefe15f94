//! Files of the offline commands: scenarios, grids, logs, campaigns, outages, side models, tables,
//! rows of Slurm's accounting.
//! The first byte says under which name the rest is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tradewind_io::input::{Input, unpacked};
use tradewind_io::snapshot::{At, SnapshotOptions, side, take};
use tradewind_io::{
    campaign, decimal, duration, grid, outages, sacct, scenario, settings, swf, wire,
};
use tradewind_model::{Pools, Span};

const NAMES: [&str; 7] = ["x", "x.json", "x.toml", "x.csv", "x.swf", "x.gz", "x.txt"];

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let name = NAMES[usize::from(*first) % NAMES.len()];
    let packed = Input::new(name, rest);
    let Ok(input) = unpacked(&packed) else { return };
    match name {
        "x.swf" => log(&input),
        "x.txt" => rows(&input),
        _ => documents(&input),
    }
    if let Ok(text) = input.text() {
        let _ = (decimal::parse(text, 6), decimal::parse_credits(text));
        let _ = (duration::parse_span(text), duration::parse_time(text));
    }
});

fn log(input: &Input) {
    let Ok(log) = swf::parse(input) else { return };
    let options = SnapshotOptions::new(At::Middle, Span(1_000), 1);
    let _ = take(&log, &SnapshotOptions { processors: Some(64), ..options });
    // What was read can be written and read again.
    let back = swf::parse(&Input::new("x.swf", swf::write(&log))).expect("our own log");
    assert_eq!((back.header, back.jobs, back.undated), (log.header, log.jobs, log.undated));
}

fn rows(input: &Input) {
    let options = sacct::SacctOptions::new(jiff::tz::TimeZone::UTC);
    let mut reader = sacct::SacctReader::new("x.txt", options);
    input.bytes.split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
    let Ok(history) = reader.finish() else { return };
    let mut bytes = Vec::new();
    history.write_log(&mut bytes).expect("a vector takes all bytes");
    history.write_names(&mut bytes).expect("a vector takes all bytes");
    if history.processors() > 0 {
        let _ = grid::parse(&Input::new("x.toml", history.grid())).expect("our own grid");
    }
}

fn documents(input: &Input) {
    if let Ok((scenario, _)) = scenario::parse(input) {
        let (back, _) =
            scenario::parse(&Input::new("y.json", scenario.to_json())).expect("our own");
        assert_eq!(back, scenario);
    }
    let _ = wire::combine::parse(input);
    let _ = side::parse(input);
    let _ = grid::parse(input);
    let _ = outages::parse(input, &outages::Targets::of(&Pools::cluster(8)));
    let nothing = |_: &str| None;
    let _ = campaign::parse(
        input,
        campaign::Checks { policy: &nothing, model: &nothing, moldable: &nothing },
    );
    let _ = settings::parse(input);
}
