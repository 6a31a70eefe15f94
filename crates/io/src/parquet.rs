//! Tables as [Parquet](https://parquet.apache.org/docs/file-format/) files, which notebooks read and
//! write.
//!
//! Flat tables, any cell of which may be missing. Written are six kinds of columns; the same cells
//! give the same bytes. The format is the `parquet` crate's work; this is the part of it that we use,
//! with the choices that we make.

#[cfg(not(feature = "parquet"))]
mod absent;
#[cfg(feature = "parquet")]
mod reader;
#[cfg(feature = "parquet")]
mod writer;

#[cfg(not(feature = "parquet"))]
pub use absent::{AbsentReader as Reader, AbsentWriter as Writer, is_caught};
#[cfg(feature = "parquet")]
pub use reader::{Reader, is_caught};
#[cfg(feature = "parquet")]
pub use writer::Writer;

/// The first bytes of a Parquet file.
pub const MAGIC: &[u8] = b"PAR1";

/// A cell of a table that is read.
#[derive(Debug, Clone, PartialEq)]
pub enum TableCell {
    /// None: what Parquet calls null.
    Nothing,
    /// A whole number; of a moment, seconds since 1970.
    Whole(i64),
    /// A binary float.
    Float(f64),
    /// Bytes that are mostly text.
    Text(Vec<u8>),
}

/// Whether the program can read and write Parquet: not if it was built without the feature `parquet`.
pub const HAS_PARQUET: bool = cfg!(feature = "parquet");

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
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
pub struct ColumnHead {
    /// Name of the column.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
}

/// A column's cells; `None` is what Parquet calls null.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// For [`ColumnKind::Int32`].
    Int32(Vec<Option<i32>>),
    /// For [`ColumnKind::Int64`].
    Int64(Vec<Option<i64>>),
    /// For [`ColumnKind::Double`].
    Double(Vec<Option<f64>>),
    /// For [`ColumnKind::Flag`].
    Flag(Vec<Option<bool>>),
    /// For [`ColumnKind::Text`].
    Text(Vec<Option<String>>),
    /// For [`ColumnKind::Word`].
    Word {
        /// The different words.
        words: Vec<String>,
        /// Per row, an index of `words`.
        of: Vec<Option<u32>>,
    },
}

#[cfg(test)]
#[cfg(feature = "parquet")]
mod tests;
