//! In the place of the file, in a program that was built without Parquet.

use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;

use super::{Cell, Cells, ColumnHead};

const ABSENT: &str = "this program was built without Parquet";

/// Whether a panic on this thread is caught: never.
pub fn is_caught() -> bool {
    false
}

/// A Parquet file that cannot be read.
#[derive(Debug)]
pub struct Reader(());

impl Reader {
    /// No file.
    ///
    /// # Errors
    /// Always: the program was built without Parquet.
    pub fn of_file(_: File) -> Result<Reader, String> {
        Err(ABSENT.to_owned())
    }

    /// No file.
    ///
    /// # Errors
    /// Always: the program was built without Parquet.
    pub fn of_bytes(_: &[u8]) -> Result<Reader, String> {
        Err(ABSENT.to_owned())
    }

    /// Never called.
    pub fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Never called.
    pub fn notes(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn read(&mut self, _: &[usize]) -> Result<(), String> {
        Ok(())
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<Cell>>>, String> {
        Ok(None)
    }
}

/// A Parquet file that cannot be written.
#[derive(Debug)]
pub struct Writer<W: Write>(PhantomData<W>);

impl<W: Write + Send> Writer<W> {
    /// No file.
    ///
    /// # Errors
    /// Always: the program was built without Parquet.
    pub fn new(_: W, _: &'static [ColumnHead]) -> io::Result<Writer<W>> {
        let why = format!("{ABSENT}: ask for CSV, or build it with `cargo build --release`");
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
