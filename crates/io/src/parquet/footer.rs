//! The end of a file: the schema, and where everything is.

use super::pages::{Bounds, encoding};
use super::{Field, Kind, thrift};

/// `CompressionCodec` in the format's Thrift definition.
const GZIP: i32 = 2;
/// `FieldRepetitionType`: every column may lack values.
const OPTIONAL: i32 = 1;
/// `ConvertedType` of text.
const UTF8: i32 = 0;
/// Version 1 of the format: data pages of version 1 and nothing that old readers lack.
const FORMAT_VERSION: i32 = 1;

/// What the footer says of a column chunk.
#[derive(Debug)]
pub(super) struct ChunkNote {
    /// Where the dictionary begins in the file, if there is one.
    pub(super) dictionary_at: Option<i64>,
    /// Where the data begin in the file.
    pub(super) data_at: i64,
    pub(super) rows: i64,
    pub(super) nulls: i64,
    /// Bytes before and after compression, headers included.
    pub(super) plain_size: i64,
    pub(super) size: i64,
    pub(super) bounds: Option<Bounds>,
}

/// What the footer says of a row group.
#[derive(Debug)]
pub(super) struct GroupNote {
    pub(super) rows: i64,
    pub(super) chunks: Vec<ChunkNote>,
}

/// Everything between the last row group and the footer's length.
pub(super) struct Footer<'a> {
    pub(super) fields: &'a [Field],
    pub(super) groups: &'a [GroupNote],
    pub(super) notes: &'a [(String, String)],
    pub(super) created_by: &'a str,
}

impl Footer<'_> {
    /// `FileMetaData` in the format's Thrift definition.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut to = Vec::new();
        let rows = self.groups.iter().map(|group| group.rows).sum();
        let schema: Vec<Option<&Field>> =
            std::iter::once(None).chain(self.fields.iter().map(Some)).collect();
        thrift::record(&mut to, |file| {
            file.i32(1, FORMAT_VERSION);
            file.records(2, &schema, |field, element| match field {
                None => root(element, self.fields.len()),
                Some(field) => leaf(element, field),
            });
            file.i64(3, rows);
            file.records(4, self.groups, |note, group| self.group(group, note));
            file.records(5, self.notes, |(key, value), pair| {
                pair.binary(1, key.as_bytes());
                pair.binary(2, value.as_bytes());
            });
            file.binary(6, self.created_by.as_bytes());
            // The order of bounds is the one of the type.
            file.records(7, self.fields, |_, order| order.record(1, |_| {}));
        });
        to
    }

    fn group(&self, to: &mut thrift::Fields<'_>, note: &GroupNote) {
        let plain_size = note.chunks.iter().map(|chunk| chunk.plain_size).sum();
        let size = note.chunks.iter().map(|chunk| chunk.size).sum();
        let chunks: Vec<(&Field, &ChunkNote)> = self.fields.iter().zip(&note.chunks).collect();
        to.records(1, &chunks, |(field, chunk), column| {
            column.i64(2, 0);
            column.record(3, |about| describe(about, field, chunk));
        });
        to.i64(2, plain_size);
        to.i64(3, note.rows);
        to.i64(6, size);
    }
}

fn root(to: &mut thrift::Fields<'_>, columns: usize) {
    to.binary(4, b"schema");
    to.i32(5, columns as i32);
}

fn leaf(to: &mut thrift::Fields<'_>, field: &Field) {
    to.i32(1, physical(field.kind));
    to.i32(3, OPTIONAL);
    to.binary(4, field.name.as_bytes());
    if matches!(field.kind, Kind::Text | Kind::Word) {
        to.i32(6, UTF8);
        to.record(10, |logical| logical.record(1, |_| {}));
    }
}

/// `ColumnMetaData` in the format's Thrift definition.
fn describe(to: &mut thrift::Fields<'_>, field: &Field, chunk: &ChunkNote) {
    to.i32(1, physical(field.kind));
    match field.kind {
        Kind::Word => {
            to.i32s(2, &[encoding::PLAIN, encoding::RLE, encoding::RLE_DICTIONARY]);
        }
        _ => to.i32s(2, &[encoding::PLAIN, encoding::RLE]),
    }
    to.texts(3, &[field.name]);
    to.i32(4, GZIP);
    to.i64(5, chunk.rows);
    to.i64(6, chunk.plain_size);
    to.i64(7, chunk.size);
    to.i64(9, chunk.data_at);
    if let Some(at) = chunk.dictionary_at {
        to.i64(11, at);
    }
    to.record(12, |statistics| {
        statistics.i64(3, chunk.nulls);
        if let Some(bounds) = &chunk.bounds {
            statistics.binary(5, &bounds.most);
            statistics.binary(6, &bounds.least);
        }
    });
}

/// `Type` in the format's Thrift definition.
fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Flag => 0,
        Kind::Int32 => 1,
        Kind::Int64 => 2,
        Kind::Double => 5,
        Kind::Text | Kind::Word => 6,
    }
}
