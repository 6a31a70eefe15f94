//! What was written is read back, row by row, by the crate's own reader.

use std::fs::File;
use std::io::Write;

use ::parquet::basic::{Compression, Encoding};
use ::parquet::file::metadata::{KeyValue, ParquetMetaData};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::statistics::Statistics;
use ::parquet::record::Field as Value;
use proptest::prelude::*;

use super::writer::CREATED_BY;
use super::*;

const ALL: &[ColumnHead] = &[
    ColumnHead { name: "int32", kind: ColumnKind::Int32 },
    ColumnHead { name: "int64", kind: ColumnKind::Int64 },
    ColumnHead { name: "double", kind: ColumnKind::Double },
    ColumnHead { name: "flag", kind: ColumnKind::Flag },
    ColumnHead { name: "text", kind: ColumnKind::Text },
    ColumnHead { name: "word", kind: ColumnKind::Word },
];

fn written<W: Write + Send>(to: W, groups: &[Vec<Cells>]) -> W {
    let mut writer = Writer::new(to, ALL).unwrap();
    groups.iter().for_each(|group| writer.group(group).unwrap());
    writer.finish(&[("key".to_owned(), "värde".to_owned())]).unwrap()
}

fn reader(groups: &[Vec<Cells>]) -> SerializedFileReader<File> {
    let file = written(tempfile::tempfile().unwrap(), groups);
    SerializedFileReader::new(file).unwrap()
}

fn rows_read(reader: &dyn FileReader) -> Vec<Vec<Value>> {
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(_, cell)| cell.clone()).collect()).collect()
}

fn rows_meant(group: &[Cells]) -> Vec<Vec<Value>> {
    (0..group[0].len()).map(|row| group.iter().map(|cells| value(cells, row)).collect()).collect()
}

fn value(cells: &Cells, row: usize) -> Value {
    let value = match cells {
        Cells::Int32(cells) => cells[row].map(Value::Int),
        Cells::Int64(cells) => cells[row].map(Value::Long),
        Cells::Double(cells) => cells[row].map(Value::Double),
        Cells::Flag(cells) => cells[row].map(Value::Bool),
        Cells::Text(cells) => cells[row].clone().map(Value::Str),
        Cells::Word { words, of } => of[row].map(|it| Value::Str(words[it as usize].clone())),
    };
    value.unwrap_or(Value::Null)
}

/// Cells in stretches, so that runs and nulls have all lengths.
fn cells<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Vec<Option<T>>> {
    let stretch = (proptest::option::weighted(0.8, value), 1..20usize);
    proptest::collection::vec(stretch, 12)
        .prop_map(|all| all.into_iter().flat_map(|(it, n)| std::iter::repeat_n(it, n)).collect())
        .boxed()
}

/// The columns of a row group, which has no rows now and then.
fn group() -> impl Strategy<Value = Vec<Cells>> {
    let words = proptest::collection::vec("[a-zå]{0,9}", 1..40);
    (
        0..12usize,
        cells(any::<i32>()),
        cells(any::<i64>()),
        cells(-1e300..1e300),
        cells(any::<bool>()),
        cells("\\PC{0,5}".prop_map(String::from)),
        (words, cells(any::<proptest::sample::Index>())),
    )
        .prop_map(|(few, mut a, mut b, mut c, mut d, mut e, (words, mut f))| {
            let min = [b.len(), c.len(), d.len(), e.len(), f.len()].into_iter().min();
            let rows = if few == 0 { 0 } else { a.len().min(min.unwrap()) };
            a.truncate(rows);
            b.truncate(rows);
            c.truncate(rows);
            d.truncate(rows);
            e.truncate(rows);
            f.truncate(rows);
            let of = f.iter().map(|it| it.map(|it| it.index(words.len()) as u32)).collect();
            vec![
                Cells::Int32(a),
                Cells::Int64(b),
                Cells::Double(c),
                Cells::Flag(d),
                Cells::Text(e),
                Cells::Word { words, of },
            ]
        })
}

/// The footer's counts and bounds of the column of [`Kind::Int64`] are those of its cells.
fn check_statistics(file: &ParquetMetaData, index: usize, group: &[Cells]) {
    let Cells::Int64(cells) = &group[1] else { panic!("another column") };
    let Some(Statistics::Int64(noted)) = file.row_group(index).column(1).statistics() else {
        panic!("no statistics")
    };
    let there = || cells.iter().flatten();
    assert_eq!((noted.min_opt(), noted.max_opt()), (there().min(), there().max()));
    assert_eq!(noted.null_count_opt(), Some((cells.len() - there().count()) as u64));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_comes_back(mut groups in proptest::collection::vec(group(), 0..4)) {
        let reader = reader(&groups);
        groups.retain(|group| group[0].len() > 0);
        let meant: Vec<_> = groups.iter().flat_map(|group| rows_meant(group)).collect();
        prop_assert_eq!(rows_read(&reader), meant);
        prop_assert_eq!(reader.num_row_groups(), groups.len());
        for (index, group) in groups.iter().enumerate() {
            check_statistics(reader.metadata(), index, group);
        }
    }

    #[test]
    fn same_cells_same_bytes(groups in proptest::collection::vec(group(), 0..3)) {
        prop_assert_eq!(written(Vec::new(), &groups), written(Vec::new(), &groups));
    }
}

#[test]
fn the_footer_says_what_the_file_is() {
    let group = vec![
        Cells::Int32(vec![Some(1)]),
        Cells::Int64(vec![Some(2)]),
        Cells::Double(vec![Some(0.5)]),
        Cells::Flag(vec![Some(true)]),
        Cells::Text(vec![Some("x".to_owned())]),
        Cells::Word { words: vec!["y".to_owned()], of: vec![Some(0)] },
    ];
    let reader = reader(&[group]);
    let about = reader.metadata().file_metadata();
    assert_eq!(about.created_by(), Some(CREATED_BY));
    let notes = about.key_value_metadata().unwrap();
    assert_eq!(notes, &[KeyValue::new("key".to_owned(), "värde".to_owned())]);
    let names = about.schema_descr().columns().iter().map(|it| it.name().to_owned());
    assert!(names.eq(ALL.iter().map(|field| field.name)));
    for (column, field) in reader.metadata().row_group(0).columns().iter().zip(ALL) {
        assert!(matches!(column.compression(), Compression::GZIP(_)), "{}", field.name);
        let by_number = column.encodings().any(|it| it == Encoding::RLE_DICTIONARY);
        assert_eq!(by_number, field.kind == ColumnKind::Word, "{}", field.name);
    }
}

#[test]
fn columns_must_fit() {
    let fails = |fields: &'static [ColumnHead], columns: &[Cells]| {
        let mut writer = Writer::new(Vec::new(), fields).unwrap();
        writer.group(columns).is_err()
    };
    let (word, ints) = (&ALL[5..], &ALL[..2]);
    assert!(fails(word, &[]));
    assert!(fails(word, &[Cells::Int32(vec![None])]));
    assert!(fails(word, &[Cells::Text(vec![None])]));
    assert!(fails(word, &[Cells::Word { words: vec!["a".to_owned()], of: vec![Some(1)] }]));
    assert!(fails(ints, &[Cells::Int32(vec![None]), Cells::Int64(vec![])]));
    assert!(!fails(ints, &[Cells::Int32(vec![None]), Cells::Int64(vec![None])]));
}

#[test]
fn a_file_with_half_a_group_cannot_be_finished() {
    let mut writer = Writer::new(Vec::new(), &ALL[5..]).unwrap();
    writer.group(&[Cells::Word { words: vec![], of: vec![Some(0)] }]).unwrap_err();
    assert!(writer.finish(&[]).is_err());
}
