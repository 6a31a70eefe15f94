//! In the place of the file, in a program that was built without Parquet.

use std::io::{self, Write};
use std::marker::PhantomData;

use super::{Cells, ColumnHead};

/// A Parquet file that cannot be written.
#[derive(Debug)]
pub struct Writer<W: Write>(PhantomData<W>);

impl<W: Write + Send> Writer<W> {
    /// No file.
    ///
    /// # Errors
    /// Always: the program was built without Parquet.
    pub fn new(_: W, _: &'static [ColumnHead]) -> io::Result<Writer<W>> {
        let why = "this program was built without Parquet: ask for CSV, or build it with \
                   `cargo build --release`";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn group(&mut self, _: &[Cells]) -> io::Result<()> {
        Ok(())
    }

    /// Never called.
    ///
    /// # Errors
    /// Always.
    pub fn finish(self, _: &[(String, String)]) -> io::Result<W> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
