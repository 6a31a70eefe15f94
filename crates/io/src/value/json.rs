//! A small JSON reader that keeps line numbers and number text, which serde's reader does not.
//! RFC 8259, strictly; a repeated key is an error.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Entry, MAX_DEPTH, Value, ValueKind};
use crate::diagnostics::Diagnostic;

/// The tree of `text`.
pub(super) fn parse<'i>(file: &str, text: &'i str) -> Result<Value<'i>, Diagnostic> {
    let mut reader = JsonReader { text, at: 0, line: 1, line_start: 0, depth: 0 };
    let document = reader.value().and_then(|value| {
        reader.skip_space();
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader
                .problem("something follows the end of the document")
                .or_hint("a file holds one document")),
        }
    });
    document.map_err(|problem| {
        let column = (problem.at - problem.line_start + 1) as u32;
        let it = Diagnostic::error(file, problem.message);
        it.at_line(problem.line).at_column(column).with_hint(problem.hint.unwrap_or(SYNTAX))
    })
}

struct JsonReader<'i> {
    text: &'i str,
    at: usize,
    line: u32,
    line_start: usize,
    depth: u32,
}

struct Problem {
    message: String,
    hint: Option<&'static str>,
    at: usize,
    line: u32,
    line_start: usize,
}

impl Problem {
    /// With this hint, unless the file ends too early, which says more.
    fn or_hint(mut self, hint: &'static str) -> Problem {
        self.hint = self.hint.or(Some(hint));
        self
    }
}

/// For what no other hint fits.
const SYNTAX: &str = "JSON has keys and texts in double quotes, and commas between items only";
const TRUNCATED: &str = "the file is probably truncated";

impl<'i> JsonReader<'i> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn problem(&self, message: impl Into<String>) -> Problem {
        let hint = self.peek().is_none().then_some(TRUNCATED);
        let message = message.into();
        Problem { message, hint, at: self.at, line: self.line, line_start: self.line_start }
    }

    /// A problem that says what stands here instead of what was `wanted`.
    fn unexpected(&self, wanted: &str) -> Problem {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => self.problem(format!("expected {wanted}, found `{}`", c.escape_default())),
            None => self.problem(format!("expected {wanted}, but the file ends here")),
        }
    }

    fn skip_space(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\r' => {}
                b'\n' => {
                    self.line += 1;
                    self.line_start = self.at + 1;
                }
                _ => return,
            }
            self.at += 1;
        }
    }

    /// Skips space, then takes `wanted` if it is next.
    fn takes(&mut self, wanted: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value<'i>, Problem> {
        self.skip_space();
        let line = self.line;
        let kind = match self.peek() {
            Some(b'{') => self.nested(JsonReader::table)?,
            Some(b'[') => self.nested(JsonReader::list)?,
            Some(b'"') => ValueKind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => ValueKind::Number(self.number()?),
            _ => self.word()?,
        };
        Ok(Value { kind, line })
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<ValueKind<'i>, Problem>,
    ) -> Result<ValueKind<'i>, Problem> {
        if self.depth == MAX_DEPTH {
            let problem = self.problem(format!("nested deeper than {MAX_DEPTH} levels"));
            return Err(problem.or_hint("nothing that is read here needs so many"));
        }
        self.depth += 1;
        self.at += 1;
        let kind = read(self);
        self.depth -= 1;
        kind
    }

    fn list(&mut self) -> Result<ValueKind<'i>, Problem> {
        let mut items = Vec::new();
        if self.takes(b']') {
            return Ok(ValueKind::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.takes(b']') {
                return Ok(ValueKind::List(items));
            }
            if !self.takes(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    fn table(&mut self) -> Result<ValueKind<'i>, Problem> {
        let mut entries: Vec<Entry<'i>> = Vec::new();
        let mut seen = BTreeSet::new();
        if self.takes(b'}') {
            return Ok(ValueKind::Table(entries));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let line = self.line;
            let before = self.at;
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                self.at = before;
                let key = crate::diagnostics::excerpt(&key);
                let problem = self.problem(format!("the key `{key}` is given twice"));
                return Err(problem.or_hint("join the two, or drop one"));
            }
            if !self.takes(b':') {
                return Err(self.unexpected("`:`"));
            }
            entries.push(Entry { key, line, value: self.value()? });
            if self.takes(b'}') {
                return Ok(ValueKind::Table(entries));
            }
            if !self.takes(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    fn word(&mut self) -> Result<ValueKind<'i>, Problem> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let kind = match &rest[..length] {
            "null" => ValueKind::Null,
            "true" => ValueKind::Flag(true),
            "false" => ValueKind::Flag(false),
            "" => return Err(self.unexpected("a value")),
            word => {
                let word = crate::diagnostics::excerpt(word);
                let mut problem = self.problem(format!("`{word}` is not a JSON value"));
                problem.hint = Some("numbers are written in digits, text in double quotes");
                return Err(problem);
            }
        };
        self.at += length;
        Ok(kind)
    }

    fn digits(&mut self) -> Result<(), Problem> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Cow<'i, str>, Problem> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let zero_first = self.peek() == Some(b'0');
        let whole = self.at;
        self.digits()?;
        if zero_first && self.at > whole + 1 {
            self.at = whole;
            return Err(self.problem("a number does not begin with a needless zero"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Cow::Borrowed(&self.text[start..self.at]))
    }

    /// A string, from its opening to its closing quote.
    fn string(&mut self) -> Result<Cow<'i, str>, Problem> {
        self.at += 1;
        let mut out = Cow::Borrowed("");
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().take_while(|&c| c != b'"' && c != b'\\' && c >= b' ').count();
            if out.is_empty() {
                out = Cow::Borrowed(&rest[..plain]);
            } else {
                out.to_mut().push_str(&rest[..plain]);
            }
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.to_mut().push(self.escape()?),
                _ => return Err(self.unexpected("the closing `\"`")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        self.at += 1;
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.unexpected("an escape such as `\\n`")),
        };
        self.at += 1;
        Ok(c)
    }

    /// `uXXXX`, or two of them for a character beyond the first plane.
    fn unicode(&mut self) -> Result<char, Problem> {
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 1;
            let second = self.hex4()?;
            if !(0xdc00..0xe000).contains(&second) {
                return Err(self.problem("half of a surrogate pair"));
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).ok_or_else(|| self.problem("half of a surrogate pair"))
    }

    fn hex4(&mut self) -> Result<u32, Problem> {
        self.at += 1;
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() != 4 || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err(self.problem("expected four hexadecimal digits"));
        }
        self.at += 4;
        Ok(u32::from_str_radix(digits, 16).unwrap_or_default())
    }
}
