//! The file, by the `parquet` crate.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use ::parquet::data_type::{ByteArray, DataType};
use ::parquet::errors::Result;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::{Cells, ColumnHead, ColumnKind};

/// Who wrote the file, in the form that readers look for.
pub(super) const CREATED_BY: &str =
    concat!("tradewind version ", env!("CARGO_PKG_VERSION"), " (build none)");
/// On a log of 300,000 jobs, level 1 makes files a third larger; level 6 makes them 6 % smaller, but
/// the whole replay a quarter slower.
const GZIP_LEVEL: u32 = 2;

impl Cells {
    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        match self {
            Cells::Int32(cells) => cells.len(),
            Cells::Int64(cells) => cells.len(),
            Cells::Double(cells) => cells.len(),
            Cells::Flag(cells) => cells.len(),
            Cells::Text(cells) => cells.len(),
            Cells::Word { of, .. } => of.len(),
        }
    }

    fn kind(&self) -> ColumnKind {
        match self {
            Cells::Int32(_) => ColumnKind::Int32,
            Cells::Int64(_) => ColumnKind::Int64,
            Cells::Double(_) => ColumnKind::Double,
            Cells::Flag(_) => ColumnKind::Flag,
            Cells::Text(_) => ColumnKind::Text,
            Cells::Word { .. } => ColumnKind::Word,
        }
    }
}

/// A Parquet file being written, row group by row group. Memory: one row group's cells, and a few
/// hundred bytes per group and column for the footer.
#[derive(Debug)]
pub struct Writer<W: Write> {
    file: SerializedFileWriter<W>,
    fields: &'static [ColumnHead],
}

impl<W: Write + Send> Writer<W> {
    /// A file with these columns.
    ///
    /// # Errors
    /// Those of `to`, here and below.
    pub fn new(to: W, fields: &'static [ColumnHead]) -> io::Result<Writer<W>> {
        let file = SerializedFileWriter::new(to, schema(fields)?, Arc::new(properties(fields)?))?;
        Ok(Writer { file, fields })
    }

    /// Appends rows as one row group: one column of cells per field. No rows, no group.
    ///
    /// # Errors
    /// Also when the columns are not those of the file, or of unequal length. After an error the
    /// file cannot be finished.
    pub fn group(&mut self, columns: &[Cells]) -> io::Result<()> {
        let rows = columns.first().map_or(0, Cells::len);
        let fits = columns.len() == self.fields.len()
            && columns
                .iter()
                .zip(self.fields)
                .all(|(cells, field)| cells.kind() == field.kind && cells.len() == rows);
        if !fits {
            return Err(misfit());
        }
        if rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for cells in columns {
            let mut column = group.next_column()?.ok_or_else(misfit)?;
            write(column.untyped(), cells)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the end of the file, with `notes` as its key-value metadata.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self, notes: &[(String, String)]) -> io::Result<W> {
        for (key, value) in notes {
            self.file.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
        }
        let mut to = self.file.into_inner()?;
        to.flush()?;
        Ok(to)
    }
}

fn misfit() -> io::Error {
    io::Error::other("cells that do not fit the columns of the table")
}

fn schema(fields: &[ColumnHead]) -> Result<TypePtr> {
    let columns: Result<Vec<TypePtr>> = fields.iter().map(|it| column(it).map(Arc::new)).collect();
    Type::group_type_builder("schema").with_fields(columns?).build().map(Arc::new)
}

fn column(field: &ColumnHead) -> Result<Type> {
    let (physical, logical) = match field.kind {
        ColumnKind::Int32 => (Physical::INT32, None),
        ColumnKind::Int64 => (Physical::INT64, None),
        ColumnKind::Double => (Physical::DOUBLE, None),
        ColumnKind::Flag => (Physical::BOOLEAN, None),
        ColumnKind::Text | ColumnKind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(field.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn properties(fields: &[ColumnHead]) -> Result<WriterProperties> {
    let all = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::GZIP(GzipLevel::try_new(GZIP_LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    let each = fields.iter().fold(all, |all, field| {
        let column = ColumnPath::from(field.name);
        all.set_column_dictionary_enabled(column, field.kind == ColumnKind::Word)
    });
    Ok(each.build())
}

fn write(to: &mut ColumnWriter<'_>, cells: &Cells) -> io::Result<()> {
    match (to, cells) {
        (ColumnWriter::Int32ColumnWriter(to), Cells::Int32(cells)) => batch(to, cells),
        (ColumnWriter::Int64ColumnWriter(to), Cells::Int64(cells)) => batch(to, cells),
        (ColumnWriter::DoubleColumnWriter(to), Cells::Double(cells)) => batch(to, cells),
        (ColumnWriter::BoolColumnWriter(to), Cells::Flag(cells)) => batch(to, cells),
        (ColumnWriter::ByteArrayColumnWriter(to), Cells::Text(cells)) => {
            let bytes = |cell: &Option<String>| cell.as_deref().map(ByteArray::from);
            batch(to, &cells.iter().map(bytes).collect::<Vec<_>>())
        }
        (ColumnWriter::ByteArrayColumnWriter(to), Cells::Word { words, of }) => {
            let words: Vec<ByteArray> = words.iter().map(|it| it.as_str().into()).collect();
            let word = |index: u32| words.get(index as usize).cloned().ok_or_else(misfit);
            let cells: io::Result<Vec<_>> = of.iter().map(|it| it.map(word).transpose()).collect();
            batch(to, &cells?)
        }
        _ => Err(misfit()),
    }
}

/// The cells of a column, as the values that there are and a level per row: 1 for a value, 0 for
/// none.
fn batch<T: DataType>(to: &mut ColumnWriterImpl<'_, T>, cells: &[Option<T::T>]) -> io::Result<()> {
    let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    to.write_batch(&values, Some(&levels), None)?;
    Ok(())
}
