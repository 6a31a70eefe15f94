//! Reader, writer and, for tests, maker of generated values, all from one list of fields.

use serde_json::{Map, Value};

/// What is wrong with a text that should be a record or a state, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DecodeFault {
    /// From the outside inwards.
    place: Vec<String>,
    what: String,
    /// Whether it is a name that this release does not know.
    is_unknown: bool,
}

/// As in `submitted.submission.tasks: expected a whole number from 0 to 4294967295`.
impl std::fmt::Display for DecodeFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place.is_empty() {
            true => write!(f, "{}", self.what),
            false => write!(f, "{}: {}", self.place.join("."), self.what),
        }
    }
}

impl std::error::Error for DecodeFault {}

impl DecodeFault {
    /// A fault at the current place.
    pub(super) fn new(what: impl Into<String>) -> DecodeFault {
        DecodeFault { place: vec![], what: what.into(), is_unknown: false }
    }

    /// A name that this release does not know, at the current place.
    pub(super) fn unknown() -> DecodeFault {
        DecodeFault { is_unknown: true, ..DecodeFault::new("it is not known here") }
    }

    /// The same of what the market itself has written: what this release does not know is of a later
    /// one.
    pub(super) fn of_journal(mut self) -> DecodeFault {
        if self.is_unknown {
            self.what.push_str("; a later release has written it: use that release");
        }
        self
    }

    /// The same, seen from one step further out.
    pub(super) fn within(mut self, place: impl Into<String>) -> DecodeFault {
        self.place.insert(0, place.into());
        self
    }
}

/// What can be written.
pub(super) trait Encode {
    /// Adds it as JSON on one line.
    fn put(&self, out: &mut Vec<u8>);

    /// Whether a field of this value is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

/// What can be read.
pub(super) trait Decode: Sized {
    /// What was written as this.
    fn get(value: Value) -> Result<Self, DecodeFault>;

    /// What a field that was left out is.
    fn absent() -> Option<Self> {
        None
    }
}

/// The names of all alternatives.
pub(super) trait Names {
    const NAMES: &[&str];
}

/// Parses any JSON.
pub(super) fn parse(body: &[u8]) -> Result<Value, DecodeFault> {
    serde_json::from_slice(body)
        .map_err(|error| DecodeFault::new(format!("it is no JSON: {error}")))
}

/// Writer of one JSON object.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    open: bool,
}

impl<'a> Object<'a> {
    /// Writes the opening brace.
    pub(super) fn begin(out: &'a mut Vec<u8>) -> Object<'a> {
        out.push(b'{');
        Object { out, open: false }
    }

    /// Adds a field, unless it is to be left out.
    pub(super) fn field(&mut self, name: &str, value: &impl Encode) {
        if value.is_absent() {
            return;
        }
        if self.open {
            self.out.push(b',');
        }
        self.open = true;
        name.put(self.out);
        self.out.push(b':');
        value.put(self.out);
    }

    /// Writes the closing brace.
    pub(super) fn end(self) {
        self.out.push(b'}');
    }
}

/// Reads `{…}`, field by field.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Of an object.
    pub(super) fn of(value: Value) -> Result<Fields, DecodeFault> {
        match value {
            Value::Object(map) => Ok(Fields(map)),
            _ => Err(DecodeFault::new("expected an object")),
        }
    }

    /// The field of this name.
    pub(super) fn take<T: Decode>(&mut self, name: &str) -> Result<T, DecodeFault> {
        match self.0.swap_remove(name) {
            Some(value) => T::get(value).map_err(|fault| fault.within(name)),
            None => T::absent().ok_or_else(|| DecodeFault::new("it is missing").within(name)),
        }
    }

    /// Nothing else may be there.
    pub(super) fn end(self) -> Result<(), DecodeFault> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(DecodeFault::unknown().within(name)),
        }
    }
}

/// The name of an alternative and what it carries: `"name"` or `{"name":…}`.
pub(super) fn alternative(value: Value) -> Result<(String, Option<Value>), DecodeFault> {
    let wrong = || DecodeFault::new("expected a name, or an object with one");
    match value {
        Value::String(name) => Ok((name, None)),
        Value::Object(map) if map.len() == 1 => {
            map.into_iter().next().map(|(name, value)| (name, Some(value))).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// What an alternative must carry.
pub(super) fn some(carried: Option<Value>) -> Result<Value, DecodeFault> {
    carried.ok_or_else(|| DecodeFault::new("expected more than the name"))
}

/// An alternative that carries nothing.
pub(super) fn none(carried: Option<&Value>) -> Result<(), DecodeFault> {
    match carried {
        None => Ok(()),
        Some(_) => Err(DecodeFault::new("expected nothing but the name")),
    }
}

/// `{"name":…}`, also where what it carries is no value.
pub(super) fn put_alternative(name: &str, carried: &impl Encode, out: &mut Vec<u8>) {
    out.push(b'{');
    name.put(out);
    out.push(b':');
    carried.put(out);
    out.push(b'}');
}

/// A struct, by all its fields: an object, under their names or those that are given.
macro_rules! object {
    ($type:ident { $($field:ident $(= $key:literal)?),* $(,)? }) => {
        impl $crate::codec::wire::Encode for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let $type { $($field),* } = self;
                let mut object = $crate::codec::wire::Object::begin(out);
                $(object.field(choice!(@key $field $($key)?), $field);)*
                object.end();
            }
        }

        impl $crate::codec::wire::Decode for $type {
            fn get(value: serde_json::Value) -> Result<Self, $crate::codec::wire::DecodeFault> {
                let mut fields = $crate::codec::wire::Fields::of(value)?;
                let it = $type { $($field: fields.take(choice!(@key $field $($key)?))?),* };
                fields.end()?;
                Ok(it)
            }
        }

        #[cfg(test)]
        impl $crate::codec::tests::Any for $type {
            fn any(dice: &mut $crate::codec::tests::Dice) -> Self {
                $type { $($field: $crate::codec::tests::Any::any(dice)),* }
            }
        }
    };
}

/// An enum, by all its alternatives: the name alone, or an object of the name and what it carries.
/// A field of the alternative `absent` is left out.
macro_rules! choice {
    ($type:ident { $(
        $name:literal => $variant:ident $(( $($item:ident),* ))? $({ $($field:ident $(= $key:literal)?),* })?
    ),* $(,)? } $(, absent: $usual:ident)?) => {
        impl $crate::codec::wire::Encode for $type {
            $(
                fn is_absent(&self) -> bool {
                    *self == Self::$usual
                }
            )?

            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(( $($item),* ))? $({ $($field),* })? => {
                        choice!(@put out, $name $(( $($item),* ))? $({ $($field $(= $key)?),* })?);
                    })*
                }
            }
        }

        impl $crate::codec::wire::Decode for $type {
            fn get(value: serde_json::Value) -> Result<Self, $crate::codec::wire::DecodeFault> {
                let (name, carried) = $crate::codec::wire::alternative(value)?;
                let read = match name.as_str() {
                    $($name => {
                        choice!(@get carried, $variant $(( $($item),* ))? $({ $($field $(= $key)?),* })?)
                    })*
                    _ => Err($crate::codec::wire::DecodeFault::unknown()),
                };
                read.map_err(|fault| fault.within(name))
            }

            $(
                fn absent() -> Option<Self> {
                    Some(Self::$usual)
                }
            )?
        }

        #[cfg(test)]
        impl $crate::codec::tests::Any for $type {
            fn any(dice: &mut $crate::codec::tests::Dice) -> Self {
                let names = [$($name),*];
                match dice.of(&names) {
                    $($name => choice!(@any dice, $variant $(( $($item),* ))? $({ $($field),* })?),)*
                    _ => unreachable!(),
                }
            }
        }

        impl $crate::codec::wire::Names for $type {
            const NAMES: &[&str] = &[$($name),*];
        }
    };

    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };

    (@put $out:ident, $name:literal) => { $crate::codec::wire::Encode::put($name, $out) };
    (@put $out:ident, $name:literal ( $a:ident )) => {
        $crate::codec::wire::put_alternative($name, $a, $out)
    };
    (@put $out:ident, $name:literal ( $a:ident, $b:ident )) => {
        $crate::codec::wire::put_alternative($name, &($a, $b), $out)
    };
    (@put $out:ident, $name:literal { $($field:ident $(= $key:literal)?),* }) => {{
        $out.push(b'{');
        $crate::codec::wire::Encode::put($name, $out);
        $out.push(b':');
        let mut object = $crate::codec::wire::Object::begin($out);
        $(object.field(choice!(@key $field $($key)?), $field);)*
        object.end();
        $out.push(b'}');
    }};

    (@get $carried:ident, $variant:ident) => {
        $crate::codec::wire::none($carried.as_ref()).map(|()| Self::$variant)
    };
    (@get $carried:ident, $variant:ident ( $a:ident )) => {
        $crate::codec::wire::some($carried).and_then($crate::codec::wire::Decode::get)
            .map(|$a| Self::$variant($a))
    };
    (@get $carried:ident, $variant:ident ( $a:ident, $b:ident )) => {
        $crate::codec::wire::some($carried).and_then($crate::codec::wire::Decode::get)
            .map(|($a, $b)| Self::$variant($a, $b))
    };
    (@get $carried:ident, $variant:ident { $($field:ident $(= $key:literal)?),* }) => {
        $crate::codec::wire::some($carried).and_then(|carried| {
            let mut fields = $crate::codec::wire::Fields::of(carried)?;
            let it = Self::$variant { $($field: fields.take(choice!(@key $field $($key)?))?),* };
            fields.end()?;
            Ok(it)
        })
    };

    (@any $dice:ident, $variant:ident) => { Self::$variant };
    (@any $dice:ident, $variant:ident ( $($item:ident),* )) => {{
        $(let $item = $crate::codec::tests::Any::any($dice);)*
        Self::$variant($($item),*)
    }};
    (@any $dice:ident, $variant:ident { $($field:ident),* }) => {
        Self::$variant { $($field: $crate::codec::tests::Any::any($dice)),* }
    };
}

pub(super) use {choice, object};
