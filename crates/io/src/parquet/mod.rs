//! Tables as [Parquet](https://parquet.apache.org/docs/file-format/) files, which notebooks read.
//!
//! A writer of our own for flat tables: six kinds of columns, every one of which may lack values.
//! It uses no more of the format than its first version has (plain and dictionary encoding, gzip),
//! so every reader knows it; and it adds nothing to what the program links. The same cells give
//! the same bytes.

mod footer;
mod pages;
mod runs;
#[cfg(test)]
mod tests;
mod thrift;

use std::io::{self, Write};

use footer::{ChunkNote, Footer, GroupNote};

/// A file begins and ends with this.
const MAGIC: &[u8; 4] = b"PAR1";
/// Who wrote the file, in the form that readers look for.
const CREATED_BY: &str = concat!("tradewind version ", env!("CARGO_PKG_VERSION"), " (build none)");

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 32 bits.
    Int32,
    /// Whole numbers of 64 bits.
    Int64,
    /// Binary floats of 64 bits.
    Double,
    /// Yes or no.
    Flag,
    /// Text, mostly different in each row.
    Text,
    /// Text, mostly one of a few: stored once and referred to by number.
    Word,
}

/// A column's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// A column's cells; `None` is what Parquet calls null.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// For [`Kind::Int32`].
    Int32(Vec<Option<i32>>),
    /// For [`Kind::Int64`].
    Int64(Vec<Option<i64>>),
    /// For [`Kind::Double`].
    Double(Vec<Option<f64>>),
    /// For [`Kind::Flag`].
    Flag(Vec<Option<bool>>),
    /// For [`Kind::Text`].
    Text(Vec<Option<String>>),
    /// For [`Kind::Word`].
    Word {
        /// The different words.
        words: Vec<String>,
        /// Per row, an index of `words`.
        of: Vec<Option<u32>>,
    },
}

impl Cells {
    /// Their number.
    fn len(&self) -> usize {
        match self {
            Cells::Int32(cells) => cells.len(),
            Cells::Int64(cells) => cells.len(),
            Cells::Double(cells) => cells.len(),
            Cells::Flag(cells) => cells.len(),
            Cells::Text(cells) => cells.len(),
            Cells::Word { of, .. } => of.len(),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Cells::Int32(_) => Kind::Int32,
            Cells::Int64(_) => Kind::Int64,
            Cells::Double(_) => Kind::Double,
            Cells::Flag(_) => Kind::Flag,
            Cells::Text(_) => Kind::Text,
            Cells::Word { .. } => Kind::Word,
        }
    }

    /// Whether every row's word is one of the words.
    fn is_whole(&self) -> bool {
        match self {
            Cells::Word { words, of } => {
                of.iter().flatten().all(|index| (*index as usize) < words.len())
            }
            _ => true,
        }
    }
}

/// A Parquet file being written, row group by row group. Memory: one row group's cells, and a few
/// hundred bytes per group and column for the footer.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    fields: &'static [Field],
    groups: Vec<GroupNote>,
    position: i64,
}

impl<W: Write> Writer<W> {
    /// A file with these columns.
    ///
    /// # Errors
    /// Those of `to`, here and below.
    pub fn new(mut to: W, fields: &'static [Field]) -> io::Result<Writer<W>> {
        to.write_all(MAGIC)?;
        Ok(Writer { to, fields, groups: Vec::new(), position: MAGIC.len() as i64 })
    }

    /// Appends rows as one row group: one column of cells per field. No rows, no group.
    ///
    /// # Errors
    /// Also when the columns are not those of the file, or of unequal length.
    pub fn group(&mut self, columns: &[Cells]) -> io::Result<()> {
        let rows = columns.first().map_or(0, Cells::len);
        let fits = columns.len() == self.fields.len()
            && columns.iter().zip(self.fields).all(|(cells, field)| {
                cells.kind() == field.kind && cells.len() == rows && cells.is_whole()
            });
        if !fits {
            return Err(io::Error::other("cells that do not fit the columns of the table"));
        }
        if rows == 0 {
            return Ok(());
        }
        let mut chunks = Vec::with_capacity(columns.len());
        for cells in columns {
            chunks.push(self.chunk(cells)?);
        }
        self.groups.push(GroupNote { rows: rows as i64, chunks });
        Ok(())
    }

    fn chunk(&mut self, cells: &Cells) -> io::Result<ChunkNote> {
        let chunk = pages::chunk(cells)?;
        self.to.write_all(&chunk.bytes)?;
        let at = self.position;
        self.position += chunk.bytes.len() as i64;
        Ok(ChunkNote {
            dictionary_at: (chunk.data_from > 0).then_some(at),
            data_at: at + chunk.data_from as i64,
            rows: chunk.rows as i64,
            nulls: chunk.nulls as i64,
            plain_size: chunk.plain_size as i64,
            size: chunk.bytes.len() as i64,
            bounds: chunk.bounds,
        })
    }

    /// Writes the end of the file, with `notes` as its key-value metadata.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(mut self, notes: &[(String, String)]) -> io::Result<W> {
        let footer =
            Footer { fields: self.fields, groups: &self.groups, notes, created_by: CREATED_BY };
        let bytes = footer.bytes();
        self.to.write_all(&bytes)?;
        self.to.write_all(&pages::size(bytes.len())?.to_le_bytes())?;
        self.to.write_all(MAGIC)?;
        self.to.flush()?;
        Ok(self.to)
    }
}
