//! Numbers, texts and collections. Maps are lists of pairs: few of their keys are texts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::wire::{Decode, DecodeFault, Encode};

macro_rules! whole {
    ($($type:ty),*) => { $(
        impl Encode for $type {
            fn put(&self, out: &mut Vec<u8>) {
                // Writing to a vector cannot fail.
                let _ = write!(out, "{self}");
            }
        }

        impl Decode for $type {
            fn get(value: Value) -> Result<Self, DecodeFault> {
                let (min, max) = (<$type>::MIN, <$type>::MAX);
                let wrong = || DecodeFault::new(format!("expected a whole number from {min} to {max}"));
                let Value::Number(number) = value else { return Err(wrong()) };
                number.as_str().parse().map_err(|_| wrong())
            }
        }
    )* };
}

whole!(u32, i32, u64, i64, i128);

impl Encode for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Decode for bool {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        value.as_bool().ok_or_else(|| DecodeFault::new("expected true or false"))
    }
}

impl Encode for str {
    fn put(&self, out: &mut Vec<u8>) {
        // Neither a text nor a vector makes trouble.
        let _ = serde_json::to_writer(out, self);
    }
}

impl Encode for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_str().put(out);
    }
}

impl Decode for String {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(DecodeFault::new("expected a text")),
        }
    }
}

impl<T: Encode> Encode for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.put(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Decode> Decode for Option<T> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        match value {
            Value::Null => Ok(None),
            value => T::get(value).map(Some),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: Encode + ?Sized> Encode for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
}

impl<T: Decode> Decode for Arc<T> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        T::get(value).map(Arc::new)
    }
}

impl<T: Decode> Decode for Arc<[T]> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Vec::get(value).map(Arc::from)
    }
}

/// Writes a JSON array.
fn put_all<T: Encode>(all: impl IntoIterator<Item = T>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, one) in all.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        one.put(out);
    }
    out.push(b']');
}

fn list(value: Value) -> Result<Vec<Value>, DecodeFault> {
    match value {
        Value::Array(all) => Ok(all),
        _ => Err(DecodeFault::new("expected a list")),
    }
}

/// Reads a JSON array.
fn get_all<T: Decode, C: FromIterator<T>>(value: Value) -> Result<C, DecodeFault> {
    let one = |(index, value)| {
        T::get(value).map_err(|fault: DecodeFault| fault.within(index_name(index)))
    };
    list(value)?.into_iter().enumerate().map(one).collect()
}

fn index_name(index: usize) -> String {
    index.to_string()
}

impl<T: Encode> Encode for [T] {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        get_all(value)
    }
}

impl<T: Encode> Encode for [T; 2] {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_slice().put(out);
    }
}

impl<T: Decode> Decode for [T; 2] {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        Vec::get(value)?.try_into().map_err(|_| DecodeFault::new("expected two"))
    }
}

impl<T: Encode> Encode for VecDeque<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }
}

impl<T: Decode> Decode for VecDeque<T> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        get_all(value)
    }
}

impl<T: Encode> Encode for BTreeSet<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }
}

impl<T: Decode + Ord> Decode for BTreeSet<T> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        get_all(value)
    }
}

impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }
}

impl<K: Decode + Ord, V: Decode> Decode for BTreeMap<K, V> {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let pairs: Vec<(K, V)> = get_all(value)?;
        let many = pairs.len();
        let map = BTreeMap::from_iter(pairs);
        match map.len() == many {
            true => Ok(map),
            false => Err(DecodeFault::new("the same key twice")),
        }
    }
}

impl<A: Encode, B: Encode> Encode for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        self.0.put(out);
        out.push(b',');
        self.1.put(out);
        out.push(b']');
    }
}

impl<A: Decode, B: Decode> Decode for (A, B) {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let two = <[Value; 2]>::try_from(list(value)?);
        let [a, b] = two.map_err(|_| DecodeFault::new("expected a list of two"))?;
        let a = A::get(a).map_err(|fault| fault.within(index_name(0)))?;
        Ok((a, B::get(b).map_err(|fault| fault.within(index_name(1)))?))
    }
}

impl<A: Encode, B: Encode, C: Encode> Encode for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        self.0.put(out);
        out.push(b',');
        self.1.put(out);
        out.push(b',');
        self.2.put(out);
        out.push(b']');
    }
}

impl<A: Decode, B: Decode, C: Decode> Decode for (A, B, C) {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let three = <[Value; 3]>::try_from(list(value)?);
        let [a, b, c] = three.map_err(|_| DecodeFault::new("expected a list of three"))?;
        let a = A::get(a).map_err(|fault| fault.within(index_name(0)))?;
        let b = B::get(b).map_err(|fault| fault.within(index_name(1)))?;
        Ok((a, b, C::get(c).map_err(|fault| fault.within(index_name(2)))?))
    }
}

/// 32 bytes as 64 hexadecimal digits.
impl Encode for [u8; 32] {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        for byte in self {
            let _ = write!(out, "{byte:02x}");
        }
        out.push(b'"');
    }
}

impl Decode for [u8; 32] {
    fn get(value: Value) -> Result<Self, DecodeFault> {
        let wrong = || DecodeFault::new("expected 64 hexadecimal digits");
        let digits = value.as_str().filter(|text| text.len() == 64).ok_or_else(wrong)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0]).ok_or_else(wrong)? * 16 + digit(pair[1]).ok_or_else(wrong)?;
        }
        Ok(bytes)
    }
}
