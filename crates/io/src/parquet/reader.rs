//! Columns of a file, some rows at a time.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::basic::{LogicalType, TimeUnit};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use bytes::{Buf, Bytes};

use super::TableCell;

/// Rows that are read at once.
const ROWS: usize = 8_192;

/// The bytes of a file. Ranges that lie outside are errors before any memory is taken for them.
enum TableBytes {
    File(File, u64),
    Memory(Bytes),
}

impl Length for TableBytes {
    fn len(&self) -> u64 {
        match self {
            TableBytes::File(_, size) => *size,
            TableBytes::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for TableBytes {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Box<dyn Read>> {
        if start > self.len() {
            return Err(outside());
        }
        match self {
            TableBytes::File(file, _) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(BufReader::new(file)))
            }
            TableBytes::Memory(bytes) => Ok(Box::new(bytes.slice(start as usize..).reader())),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len());
        let end = end.ok_or_else(outside)?;
        if let TableBytes::Memory(bytes) = self {
            return Ok(bytes.slice(start as usize..end as usize));
        }
        let mut bytes = Vec::with_capacity(length);
        self.get_read(start)?.take(length as u64).read_to_end(&mut bytes)?;
        match bytes.len() == length {
            true => Ok(bytes.into()),
            false => Err(outside()),
        }
    }
}

fn outside() -> ParquetError {
    ParquetError::EOF("a part of the table lies outside of the file".to_owned())
}

/// A Parquet file that is read row group by row group. Memory: a page of each column that is read.
pub struct Reader {
    file: SerializedFileReader<TableBytes>,
    /// The next row group.
    group: usize,
    columns: Vec<ColumnReader>,
    /// Rows of the present group that are left.
    left: usize,
    wanted: Vec<WantedColumn>,
}

#[derive(Debug, Clone, Copy)]
struct WantedColumn {
    at: usize,
    /// The level of a cell that is there.
    full: i16,
    /// Units per second, of a column of moments.
    per_second: Option<i64>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// In words, here and below: it is no Parquet file, or it is damaged.
    pub fn of_file(file: File) -> Result<Reader, String> {
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        Reader::new(TableBytes::File(file, size))
    }

    /// Opens a file that is in memory.
    ///
    /// # Errors
    /// See [`Reader::of_file`].
    pub fn of_bytes(bytes: &[u8]) -> Result<Reader, String> {
        Reader::new(TableBytes::Memory(Bytes::copy_from_slice(bytes)))
    }

    fn new(source: TableBytes) -> Result<Reader, String> {
        let file = sound(|| SerializedFileReader::new(source))?;
        Ok(Reader { file, group: 0, columns: Vec::new(), left: 0, wanted: Vec::new() })
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.path().string()).collect()
    }

    /// The file's own key-value metadata, in order.
    pub fn notes(&self) -> Vec<(String, String)> {
        let notes = self.file.metadata().file_metadata().key_value_metadata();
        let pair = |it: &::parquet::file::metadata::KeyValue| {
            (it.key.clone(), it.value.clone().unwrap_or_default())
        };
        notes.map(|all| all.iter().map(pair).collect()).unwrap_or_default()
    }

    /// The rows from the first one on are those of these columns.
    ///
    /// # Errors
    /// A column that has lists.
    pub fn read(&mut self, columns: &[usize]) -> Result<(), String> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        self.wanted.clear();
        for &at in columns {
            let column = schema.column(at);
            if column.max_rep_level() > 0 {
                return Err(format!("column `{}` has lists", column.path().string()));
            }
            let per_second = match column.logical_type_ref() {
                Some(LogicalType::Timestamp(of)) => Some(per_second(&of.unit)),
                _ => None,
            };
            self.wanted.push(WantedColumn { at, full: column.max_def_level(), per_second });
        }
        (self.group, self.left) = (0, 0);
        Ok(())
    }

    /// The next rows, by column; `None`: there are no more.
    ///
    /// # Errors
    /// See [`Reader::of_file`].
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<TableCell>>>, String> {
        while self.left == 0 {
            if !sound(|| self.next_group())? {
                return Ok(None);
            }
        }
        let rows = ROWS.min(self.left);
        self.left -= rows;
        let mut all = self.columns.iter_mut().zip(&self.wanted);
        sound(|| {
            all.try_fold(Vec::new(), |mut columns, (column, wanted)| {
                columns.push(cells(column, *wanted, rows)?);
                Ok(columns)
            })
        })
        .map(Some)
    }

    fn next_group(&mut self) -> Result<bool> {
        if self.group >= self.file.num_row_groups() {
            return Ok(false);
        }
        let group = self.file.get_row_group(self.group)?;
        self.group += 1;
        if !group.metadata().columns().iter().all(is_placed) {
            return Err(outside());
        }
        self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let columns = self.wanted.iter().map(|it| group.get_column_reader(it.at));
        self.columns = columns.collect::<Result<_>>()?;
        Ok(true)
    }
}

thread_local! {
    static ASKING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether a panic on this thread is the `parquet` crate's word for a damaged file, and is caught.
pub fn is_caught() -> bool {
    ASKING.get()
}

/// What the crate answers. It takes some damage of a file for a mistake of its caller, and panics.
fn sound<T>(ask: impl FnOnce() -> Result<T>) -> Result<T, String> {
    ASKING.set(true);
    let answer = catch_unwind(AssertUnwindSafe(ask));
    ASKING.set(false);
    match answer {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("its description contradicts itself".to_owned()),
    }
}

/// Whether the place of a column's data could be true; the crate panics at some others.
fn is_placed(column: &ColumnChunkMetaData) -> bool {
    column.data_page_offset() >= 0
        && column.dictionary_page_offset().is_none_or(|at| at >= 0)
        && column.compressed_size() >= 0
        && column.num_values() >= 0
}

fn per_second(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    }
}

/// The next cells of a column.
fn cells(column: &mut ColumnReader, wanted: WantedColumn, rows: usize) -> Result<Vec<TableCell>> {
    let WantedColumn { full, per_second, .. } = wanted;
    let whole = |it: i64| TableCell::Whole(per_second.map_or(it, |units| it.div_euclid(units)));
    match column {
        ColumnReader::Int64ColumnReader(of) => batch(of, (rows, full), whole),
        ColumnReader::Int32ColumnReader(of) => batch(of, (rows, full), |it| whole(it.into())),
        ColumnReader::BoolColumnReader(of) => {
            batch(of, (rows, full), |it| TableCell::Whole(it.into()))
        }
        ColumnReader::DoubleColumnReader(of) => batch(of, (rows, full), TableCell::Float),
        ColumnReader::FloatColumnReader(of) => {
            batch(of, (rows, full), |it| TableCell::Float(it.into()))
        }
        ColumnReader::ByteArrayColumnReader(of) => {
            batch(of, (rows, full), |it| TableCell::Text(it.data().to_vec()))
        }
        ColumnReader::Int96ColumnReader(of) => {
            batch(of, (rows, full), |it| TableCell::Whole(it.to_seconds()))
        }
        ColumnReader::FixedLenByteArrayColumnReader(_) => {
            Err(ParquetError::General("a column of bytes of one length".to_owned()))
        }
    }
}

fn batch<T: DataType>(
    of: &mut ColumnReaderImpl<T>,
    (rows, full): (usize, i16),
    cell: impl Fn(T::T) -> TableCell,
) -> Result<Vec<TableCell>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (records, ..) = of.read_records(rows - read, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Err(outside());
        }
        read += records;
    }
    let mut values = values.into_iter();
    // A column that cannot lack a cell has no levels.
    if full == 0 {
        return Ok(values.map(cell).collect());
    }
    let one = |level: i16| match level == full {
        true => values.next().map_or(TableCell::Nothing, &cell),
        false => TableCell::Nothing,
    };
    Ok(levels.into_iter().map(one).collect())
}
