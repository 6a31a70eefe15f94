//! A log as a table is the same log; tables of others are read by the names of their columns.

use ::parquet::basic::{
    Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use ::parquet::data_type::Int64Type;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use std::sync::Arc;

use super::*;
use crate::swf;

fn table(log: &Log) -> Vec<u8> {
    write(Vec::new(), log).unwrap()
}

fn read(bytes: &[u8]) -> Result<Log, Diagnostics> {
    swf::parse(&Input::new("t.parquet", bytes))
}

fn log(lines: &str) -> Log {
    swf::parse(&Input::new("t.parquet", lines)).unwrap()
}

#[test]
fn a_log_as_a_table_is_the_same_log() {
    let text = "; Version: 2.2\n; MaxProcs: 64\n; Note: one\n; Note: two\n; Queue:\n\
         1 0 10 0 0 -1 -1 8 -1 -1 0 1 -5 -1 -1 -1 -1 -1\n\
         3 5 -1 300 8 12.5 0.001 16 600 4.25 1 7 2 9 3 4 2 60\n\
         2 -1 -1 -1 -1 -1 -1 4 600 -1 5 -1 -1 -1 -1 -1 -1 -1\n";
    let log = log(text);
    assert_eq!(read(&table(&log)).unwrap(), log);
}

#[test]
fn a_long_log_comes_in_pieces() {
    let line = |at: i64| format!("{at} {at} 1 30 4 -1 -1 4 60 -1 1 {} 1 1 1 1 -1 -1\n", at % 9);
    let log = log(&format!("; MaxProcs: 64\n{}", (1..150_000).map(line).collect::<String>()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.parquet");
    std::fs::write(&path, table(&log)).unwrap();
    let records = swf::records(path.to_str().unwrap()).unwrap();
    assert_eq!(records.header, log.header);
    let jobs: Vec<Record> = records.map(Result::unwrap).collect();
    assert!(jobs == log.jobs, "{} of {}", jobs.len(), log.jobs.len());
}

/// Cells of a foreign table, of which some may be missing.
type Column = (&'static str, Option<LogicalType>, Vec<Option<i64>>);

fn foreign(columns: &[Column]) -> Vec<u8> {
    let field = |(name, logical, _): &Column| {
        let field = Type::primitive_type_builder(name, Physical::INT64);
        let field = field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical.clone());
        Arc::new(field.build().unwrap())
    };
    let schema =
        Type::group_type_builder("schema").with_fields(columns.iter().map(field).collect());
    let packed = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(packed).build();
    let schema = Arc::new(schema.build().unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for (.., cells) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<i64> = cells.iter().flatten().copied().collect();
        let levels: Vec<i16> = cells.iter().map(|it| i16::from(it.is_some())).collect();
        column.typed::<Int64Type>().write_batch(&values, Some(&levels), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

fn moments(seconds: &[Option<i64>]) -> (Option<LogicalType>, Vec<Option<i64>>) {
    let kind = LogicalType::timestamp(true, TimeUnit::MICROS);
    (Some(kind), seconds.iter().map(|it| it.map(|it| it * 1_000_000 + 5)).collect())
}

#[test]
fn moments_of_others_are_seconds_waits_and_runs() {
    let (kind, submit) = moments(&[Some(1_700_000_000), Some(1_700_000_100)]);
    let start = moments(&[Some(1_700_000_020), None]).1;
    let end = moments(&[Some(1_700_000_080), None]).1;
    let bytes = foreign(&[
        ("Submit_Time", kind.clone(), submit),
        ("start_time", kind.clone(), start),
        ("end_time", kind, end),
        ("processors", None, vec![Some(4), Some(8)]),
    ]);
    let log = read(&bytes).unwrap();
    let told: Vec<_> = log
        .jobs
        .iter()
        .map(|it| (it.number, it.submit.0, it.wait, it.run, it.processors))
        .collect();
    let span = |seconds| Some(tradewind_model::Span(seconds));
    let first = (1, 1_700_000_000, span(20), span(60), Some(4));
    assert_eq!(told, [first, (2, 1_700_000_100, None, None, Some(8))]);
}

#[test]
fn what_is_missing_is_named() {
    let bytes = foreign(&[("submit", None, vec![Some(1)]), ("run", None, vec![Some(1)])]);
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("t.parquet: the table has no column of processors"), "{error}");
    assert!(error.contains("this table has `submit`, `run`"), "{error}");
    let bytes = foreign(&[
        ("submit", None, vec![Some(1), Some(-7)]),
        ("run", None, vec![Some(1), Some(1)]),
        ("processors", None, vec![Some(1), Some(1)]),
    ]);
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("t.parquet:2: field 2 (submit time): `-7` is out of range"), "{error}");
}

#[test]
fn words_become_numbers() {
    let mut text = LogText {
        reader: Reader::of_bytes(&table(&log("1 0 1 2 3 -1 -1 3 9 -1 1 1 1 1 1 1 -1 -1\n")))
            .unwrap(),
        fields: [FieldSource::Missing; FIELDS],
        numbers: BTreeMap::new(),
        rows: 0,
        text: Vec::new(),
        read: 0,
    };
    for (field, word) in
        [(11, "ana"), (11, "ben"), (11, "ana"), (11, "17"), (14, "long"), (10, "CANCELLED by 5")]
    {
        text.push_text(field, word.as_bytes());
        text.text.push(b' ');
    }
    text.push_text(1, b"2024-01-01 10:00");
    assert_eq!(String::from_utf8(text.text).unwrap(), "1 2 1 17 1 5 2024-01-01_10:00");
}

/// A damaged file is an error, or says something else: it ends nothing.
#[test]
fn damaged_tables_are_refused_without_a_panic() {
    let line = |at: i64| format!("{at} {at} 1 30 4 -1 -1 4 60 -1 1 {} 1 1 1 1 -1 -1\n", at % 9);
    let whole = table(&log(&(1..300).map(line).collect::<String>()));
    let mut random = 1u64;
    let mut draw = |below: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut refused = 0;
    for turn in 0..3_000 {
        let mut bytes = whole.clone();
        // Most of a file is data; what describes them is at its end.
        let from = if turn % 2 == 0 { bytes.len() - 3_000 } else { 4 };
        for _ in 0..=draw(3) {
            let at = from + draw(bytes.len() - from);
            bytes[at] = draw(256) as u8;
        }
        if turn % 10 == 0 {
            bytes.truncate(4 + draw(whole.len()));
        }
        refused += usize::from(read(&bytes).is_err());
    }
    assert!(refused > 1_000, "{refused}");
    assert!(!crate::parquet::is_caught());
}
