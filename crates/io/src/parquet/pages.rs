//! One column of one row group as bytes: its dictionary, its values, and what the footer says
//! about them.

use std::io::{self, Write as _};

use flate2::write::GzEncoder;
use flate2::{Compression, Crc};

use super::{Cells, runs, thrift};

/// `Encoding` in the format's Thrift definition.
pub(super) mod encoding {
    pub(crate) const PLAIN: i32 = 0;
    pub(crate) const RLE: i32 = 3;
    pub(crate) const RLE_DICTIONARY: i32 = 8;
}

/// `PageType` in the format's Thrift definition.
mod page {
    pub(super) const DATA: i32 = 0;
    pub(super) const DICTIONARY: i32 = 2;
}

/// The ends of a column's values, in the format's plain encoding.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) least: Vec<u8>,
    pub(super) most: Vec<u8>,
}

/// A column chunk.
pub(super) struct Chunk {
    /// The pages, one after the other.
    pub(super) bytes: Vec<u8>,
    /// Where the data page begins in `bytes`: 0 without a dictionary.
    pub(super) data_from: usize,
    /// The size of the pages if nothing were compressed.
    pub(super) plain_size: usize,
    pub(super) rows: usize,
    pub(super) nulls: usize,
    pub(super) bounds: Option<Bounds>,
}

/// The pages of a column.
///
/// # Errors
/// When a page is larger than the format allows (2 GiB).
pub(super) fn chunk(cells: &Cells) -> io::Result<Chunk> {
    let mut chunk = Chunk {
        bytes: Vec::new(),
        data_from: 0,
        plain_size: 0,
        rows: cells.len(),
        nulls: 0,
        bounds: None,
    };
    if let Cells::Word { words, .. } = cells {
        let mut dictionary = Vec::new();
        words.iter().for_each(|word| text(&mut dictionary, word));
        chunk.page(page::DICTIONARY, words.len(), &dictionary)?;
        chunk.data_from = chunk.bytes.len();
    }
    let mut body = Vec::new();
    let present = present(cells);
    chunk.nulls = present.iter().filter(|level| **level == 0).count();
    runs::encode(&mut body, &present, 1);
    body.splice(0..0, (body.len() as u32).to_le_bytes());
    chunk.bounds = values(&mut body, cells);
    chunk.page(page::DATA, cells.len(), &body)?;
    Ok(chunk)
}

impl Chunk {
    fn page(&mut self, kind: i32, count: usize, body: &[u8]) -> io::Result<()> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(body)?;
        let packed = packed.finish()?;
        let mut crc = Crc::new();
        crc.update(&packed);
        let (count, before) = (size(count)?, self.bytes.len());
        let (plain, small) = (size(body.len())?, size(packed.len())?);
        thrift::record(&mut self.bytes, |header| {
            header.i32(1, kind);
            header.i32(2, plain);
            header.i32(3, small);
            header.i32(4, crc.sum() as i32);
            match kind {
                page::DICTIONARY => header.record(7, |dictionary| {
                    dictionary.i32(1, count);
                    dictionary.i32(2, encoding::PLAIN);
                }),
                _ => header.record(5, |data| {
                    let words = self.data_from > 0;
                    data.i32(1, count);
                    data.i32(2, if words { encoding::RLE_DICTIONARY } else { encoding::PLAIN });
                    data.i32(3, encoding::RLE);
                    data.i32(4, encoding::RLE);
                }),
            }
        });
        self.plain_size += self.bytes.len() - before + body.len();
        self.bytes.extend_from_slice(&packed);
        Ok(())
    }
}

/// `value` as the format's signed 32 bits.
pub(super) fn size(value: usize) -> io::Result<i32> {
    i32::try_from(value).map_err(|_| io::Error::other("a Parquet page of more than 2 GiB"))
}

/// 1 for each cell that has a value, 0 for each that has none.
fn present(cells: &Cells) -> Vec<u32> {
    fn levels<T>(cells: &[Option<T>]) -> Vec<u32> {
        cells.iter().map(|cell| u32::from(cell.is_some())).collect()
    }
    match cells {
        Cells::Int32(cells) => levels(cells),
        Cells::Int64(cells) => levels(cells),
        Cells::Double(cells) => levels(cells),
        Cells::Flag(cells) => levels(cells),
        Cells::Text(cells) => levels(cells),
        Cells::Word { of, .. } => levels(of),
    }
}

/// Appends the values that there are, and says between which bounds they lie where readers use
/// that to skip row groups.
fn values(to: &mut Vec<u8>, cells: &Cells) -> Option<Bounds> {
    match cells {
        Cells::Int32(cells) => {
            cells.iter().flatten().for_each(|value| to.extend_from_slice(&value.to_le_bytes()));
            bounds(cells.iter().flatten(), |value| value.to_le_bytes().to_vec())
        }
        Cells::Int64(cells) => {
            cells.iter().flatten().for_each(|value| to.extend_from_slice(&value.to_le_bytes()));
            bounds(cells.iter().flatten(), |value| value.to_le_bytes().to_vec())
        }
        Cells::Double(cells) => {
            cells.iter().flatten().for_each(|value| to.extend_from_slice(&value.to_le_bytes()));
            None
        }
        Cells::Flag(cells) => {
            let flags: Vec<u32> = cells.iter().flatten().map(|flag| u32::from(*flag)).collect();
            runs::bits(to, &flags, 1);
            None
        }
        Cells::Text(cells) => {
            cells.iter().flatten().for_each(|value| text(to, value));
            None
        }
        Cells::Word { words, of } => {
            let width = runs::width(words.len());
            to.push(width as u8);
            let indices: Vec<u32> = of.iter().flatten().copied().collect();
            runs::encode(to, &indices, width);
            let used = indices.iter().filter_map(|index| words.get(*index as usize));
            bounds(used, |word| word.as_bytes().to_vec())
        }
    }
}

fn bounds<T: Ord>(
    values: impl Iterator<Item = T> + Clone,
    plain: impl Fn(T) -> Vec<u8>,
) -> Option<Bounds> {
    let (least, most) = (values.clone().min()?, values.max()?);
    Some(Bounds { least: plain(least), most: plain(most) })
}

/// A text in the plain encoding.
fn text(to: &mut Vec<u8>, value: &str) {
    to.extend_from_slice(&(value.len() as u32).to_le_bytes());
    to.extend_from_slice(value.as_bytes());
}
