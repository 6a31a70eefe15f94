//! Files of the offline commands: scenarios, grids, logs, campaigns, outages, side models, tables,
//! rows of Slurm's accounting, series in files of their own, and logs that are read piece by piece.
//! The first byte says under which name the rest is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tradewind_io::input::{Input, unpacked};
use tradewind_io::snapshot::{At, SnapshotOptions, side, take};
use tradewind_io::{
    campaign, decimal, duration, grid, outages, sacct, scenario, settings, swf, wire,
};
use tradewind_model::{Pools, Span};

const NAMES: [&str; 9] =
    ["x", "x.json", "x.toml", "x.csv", "x.swf", "x.gz", "x.txt", SERIES, STREAMED];
/// The values of a grid's price.
const SERIES: &str = "series.csv";
/// A log as a file, packed or not.
const STREAMED: &str = "streamed.swf";
/// Bytes that the reader of such a log takes at once.
const PIECE: usize = 1 << 18;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let name = NAMES[usize::from(*first) % NAMES.len()];
    match name {
        SERIES => return series(rest),
        STREAMED => return streamed(rest),
        _ => {}
    }
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

/// A file in the folder for temporary ones.
fn file(name: &str, bytes: &[u8]) -> String {
    let folder = std::env::temp_dir().join("tradewind-fuzz");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path.to_str().expect("a name in UTF-8").to_owned()
}

/// What is read piece by piece is what is read at once. The end of the first piece is somewhere in
/// the bytes, behind a long comment.
fn streamed(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let mut log = bytes.to_vec();
    if cut % 2 == 1 {
        let behind = bytes.len() * usize::from(*cut) / 256;
        log = vec![b';'; PIECE - behind - 1];
        log.push(b'\n');
        log.extend(bytes);
    }
    let whole = unpacked(&Input::new("x.swf", log.as_slice())).and_then(|it| swf::parse(&it));
    let records = swf::records(&file("log.swf", &log));
    let pieces = records.and_then(|mut records| {
        let jobs = records.by_ref().collect::<Result<Vec<_>, _>>()?;
        Ok((jobs, records.undated))
    });
    if let (Ok(whole), Ok((mut jobs, undated))) = (whole, pieces) {
        jobs.sort_by_key(|job| (job.submit, job.number));
        let mut all = whole.jobs;
        all.sort_by_key(|job| (job.submit, job.number));
        assert_eq!(jobs.len(), all.len());
        assert_eq!(undated.len(), whole.undated.len());
    }
}

fn series(bytes: &[u8]) {
    file(SERIES, bytes);
    let pool = "pool = [{ name = 'n', nodes = 2 }]";
    let grid = format!("[[site]]\nname = 's'\nprice = '{SERIES}'\n{pool}\n");
    let path = file("grid.toml", grid.as_bytes());
    let _ = grid::parse(&Input::new(&path, grid));
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
        campaign::Checks {
            policy: &nothing,
            model: &nothing,
            moldable: &nothing,
            preemptible: &nothing,
        },
    );
    let _ = settings::parse(input);
}
