//! Thrift's compact protocol, as far as a Parquet file's headers need it.
//!
//! Source: `thrift-compact-protocol.md` of Apache Thrift.

/// Types of fields and list elements.
mod tag {
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const STRUCT: u8 = 12;
}

/// A field with an id up to this much above the one before has a header of one byte.
const SHORT_DELTA: u8 = 15;
/// A list shorter than this has a header of one byte.
const SHORT_LIST: usize = 15;

/// `value` in seven bits per byte, the lowest first.
pub(super) fn varint(to: &mut Vec<u8>, mut value: u64) {
    const MORE: u8 = 0x80;
    while value >= u64::from(MORE) {
        to.push(value as u8 | MORE);
        value >>= 7;
    }
    to.push(value as u8);
}

fn zigzag(to: &mut Vec<u8>, value: i64) {
    varint(to, ((value << 1) ^ (value >> 63)) as u64);
}

fn bytes(to: &mut Vec<u8>, value: &[u8]) {
    varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

/// One struct with `write` for its fields.
pub(super) fn record(to: &mut Vec<u8>, write: impl FnOnce(&mut Fields<'_>)) {
    let mut fields = Fields { to, last: 0 };
    write(&mut fields);
    fields.to.push(0);
}

/// The fields of one struct, to be written in ascending order of their ids.
pub(super) struct Fields<'a> {
    to: &'a mut Vec<u8>,
    last: u8,
}

impl Fields<'_> {
    fn head(&mut self, id: u8, tag: u8) {
        debug_assert!(id > self.last && id - self.last <= SHORT_DELTA);
        self.to.push(((id - self.last) << 4) | tag);
        self.last = id;
    }

    fn list_head(&mut self, id: u8, len: usize, tag: u8) {
        self.head(id, tag::LIST);
        if len < SHORT_LIST {
            self.to.push(((len as u8) << 4) | tag);
        } else {
            self.to.push(0xf0 | tag);
            varint(self.to, len as u64);
        }
    }

    /// A number of 32 bits.
    pub(super) fn i32(&mut self, id: u8, value: i32) {
        self.head(id, tag::I32);
        zigzag(self.to, i64::from(value));
    }

    /// A number of 64 bits.
    pub(super) fn i64(&mut self, id: u8, value: i64) {
        self.head(id, tag::I64);
        zigzag(self.to, value);
    }

    /// Bytes or text.
    pub(super) fn binary(&mut self, id: u8, value: &[u8]) {
        self.head(id, tag::BINARY);
        bytes(self.to, value);
    }

    /// A struct.
    pub(super) fn record(&mut self, id: u8, write: impl FnOnce(&mut Fields<'_>)) {
        self.head(id, tag::STRUCT);
        record(self.to, write);
    }

    /// A list of numbers of 32 bits.
    pub(super) fn i32s(&mut self, id: u8, values: &[i32]) {
        self.list_head(id, values.len(), tag::I32);
        for value in values {
            zigzag(self.to, i64::from(*value));
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, id: u8, values: &[&str]) {
        self.list_head(id, values.len(), tag::BINARY);
        for value in values {
            bytes(self.to, value.as_bytes());
        }
    }

    /// A list of structs, one per item.
    pub(super) fn records<T>(&mut self, id: u8, items: &[T], write: impl Fn(&T, &mut Fields<'_>)) {
        self.list_head(id, items.len(), tag::STRUCT);
        for item in items {
            record(self.to, |fields| write(item, fields));
        }
    }
}
