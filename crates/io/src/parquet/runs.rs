//! Small numbers in few bits: Parquet's hybrid of run lengths and bit packing.

use super::thrift::varint;

/// Values are packed in groups of this many; a run is written as one if it is as long.
const GROUP: usize = 8;

/// Appends `values`, each of at most `width` bits (1 to 32).
///
/// Linear in the number of values. A run is seen only where a group begins: the file may be a few
/// bytes longer than it could be, never wrong.
pub(super) fn encode(to: &mut Vec<u8>, values: &[u32], width: u32) {
    let mut packed_from = 0;
    let mut at = 0;
    while at < values.len() {
        let run = values[at..].iter().take_while(|value| **value == values[at]).count();
        if run >= GROUP {
            pack(to, &values[packed_from..at], width);
            varint(to, (run as u64) << 1);
            to.extend_from_slice(&values[at].to_le_bytes()[..width.div_ceil(8) as usize]);
            at += run;
            packed_from = at;
        } else {
            at = values.len().min(at + GROUP);
        }
    }
    pack(to, &values[packed_from..], width);
}

/// One stretch of packed groups; the last one is filled up with zeros.
fn pack(to: &mut Vec<u8>, values: &[u32], width: u32) {
    if values.is_empty() {
        return;
    }
    varint(to, ((values.len().div_ceil(GROUP) as u64) << 1) | 1);
    bits(to, values, width);
    let whole = values.len().div_ceil(GROUP) * GROUP * width as usize / 8;
    let there = (values.len() * width as usize).div_ceil(8);
    to.resize(to.len() + whole - there, 0);
}

/// `values` of `width` bits each without gaps, the lowest bits first.
pub(super) fn bits(to: &mut Vec<u8>, values: &[u32], width: u32) {
    let (mut buffer, mut filled) = (0u64, 0u32);
    for value in values {
        buffer |= u64::from(*value) << filled;
        filled += width;
        while filled >= 8 {
            to.push(buffer as u8);
            buffer >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        to.push(buffer as u8);
    }
}

/// How many bits the numbers below `count` need, at least 1.
pub(super) fn width(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1)
}
