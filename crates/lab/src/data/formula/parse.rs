//! Text becomes formulas: a parser by recursive descent, without a lexer.

use super::{Each, Expr, Format, Op, Sign, TextPart};

type Parsed<T> = Result<T, String>;

pub(super) fn formula(text: &str) -> Parsed<Expr> {
    whole(text, Parser::expr)
}

pub(super) fn each(text: &str) -> Parsed<Each> {
    whole(text, Parser::each)
}

pub(super) fn template(text: &str) -> Parsed<Vec<TextPart>> {
    Parser { text, at: 0 }.parts(None)
}

/// `name` or `name(a, b)`.
pub(super) fn head(text: &str) -> Parsed<(String, Vec<String>)> {
    whole(text, |parser| {
        let name = parser.word()?;
        let parameters = if parser.eat("(") { parser.names(")")? } else { Vec::new() };
        Ok((name, parameters))
    })
}

fn whole<'a, T>(text: &'a str, of: fn(&mut Parser<'a>) -> Parsed<T>) -> Parsed<T> {
    let mut parser = Parser { text, at: 0 };
    let parsed = of(&mut parser)?;
    parser.space();
    if parser.rest().is_empty() { Ok(parsed) } else { Err(parser.unexpected("the end")) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// Operators by how tightly they bind; longer ones before their beginnings.
const LEVELS: [&[(&str, Op)]; 5] = [
    &[("or", Op::Or)],
    &[("and", Op::And)],
    &[
        ("<=", Op::AtMost),
        (">=", Op::AtLeast),
        ("==", Op::Equal),
        ("!=", Op::Unequal),
        ("<", Op::Below),
        (">", Op::Above),
    ],
    &[("+", Op::Plus), ("-", Op::Minus)],
    &[("*", Op::Times), ("/", Op::Over)],
];

const RESERVED: [&str; 9] = ["or", "and", "not", "if", "then", "else", "for", "in", "where"];

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether `token` is next, which is then read. A word must end where `token` does.
    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let Some(rest) = self.rest().strip_prefix(token) else { return false };
        let is_word = token.starts_with(|first: char| first.is_alphabetic());
        if is_word && rest.starts_with(in_word) {
            return false;
        }
        self.at += token.len();
        true
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(&format!("`{token}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.rest().chars().take(12).collect::<String>().as_str() {
            "" => format!("{wanted} is missing at the end of the formula"),
            found => format!("{wanted} was expected where `{found}` stands"),
        }
    }

    fn expr(&mut self) -> Parsed<Expr> {
        if !self.eat("if") {
            return self.binary(0);
        }
        let condition = self.expr()?;
        self.expect("then")?;
        let yes = self.expr()?;
        self.expect("else")?;
        Ok(Expr::If(Box::new([condition, yes, self.expr()?])))
    }

    fn binary(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, op)) = operators.iter().find(|(token, _)| self.eat(token)) {
            left = Expr::Binary(*op, Box::new([left, self.binary(level + 1)?]));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        if self.eat("not") {
            return Ok(Expr::Not(Box::new(self.unary()?)));
        }
        if self.eat("-") {
            return Ok(Expr::Binary(Op::Minus, Box::new([Expr::Number(0.0), self.unary()?])));
        }
        self.atom()
    }

    fn atom(&mut self) -> Parsed<Expr> {
        if self.eat("(") {
            let inner = self.expr()?;
            return self.expect(")").map(|()| inner);
        }
        if self.eat("[") {
            return self.list();
        }
        if self.eat("\"") {
            return self.parts(Some('"')).map(Expr::Text);
        }
        self.space();
        if self.rest().starts_with(|first: char| first.is_ascii_digit()) {
            return self.number();
        }
        let name = self.word()?;
        if !self.eat("(") {
            return Ok(Expr::Name(name));
        }
        let arguments = self.items(")", Vec::new())?;
        Ok(Expr::Call(name, arguments))
    }

    fn number(&mut self) -> Parsed<Expr> {
        let inside = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        let end = self.rest().find(|c| !inside(c)).unwrap_or(self.rest().len());
        let digits = self.rest()[..end].replace('_', "");
        let number = digits.parse().map_err(|_| self.unexpected("a number"))?;
        self.at += end;
        Ok(Expr::Number(number))
    }

    fn word(&mut self) -> Parsed<String> {
        self.space();
        let end = self.rest().find(|c| !in_word(c)).unwrap_or(self.rest().len());
        let word = &self.rest()[..end];
        if word.is_empty() || RESERVED.contains(&word) {
            return Err(self.unexpected("a name"));
        }
        self.at += end;
        Ok(word.to_owned())
    }

    /// What follows `[`: items, or one item with `for`.
    fn list(&mut self) -> Parsed<Expr> {
        if self.eat("]") {
            return Ok(Expr::List(Vec::new()));
        }
        let first = self.expr()?;
        if self.eat("for") {
            let each = self.each()?;
            return self.expect("]").map(|()| Expr::Every(Box::new(first), Box::new(each)));
        }
        if self.eat("]") {
            return Ok(Expr::List(vec![first]));
        }
        self.expect(",")?;
        self.items("]", vec![first]).map(Expr::List)
    }

    fn items(&mut self, end: &str, mut items: Vec<Expr>) -> Parsed<Vec<Expr>> {
        while !self.eat(end) {
            items.push(self.expr()?);
            if !self.eat(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn names(&mut self, end: &str) -> Parsed<Vec<String>> {
        let mut names = vec![self.word()?];
        while self.eat(",") {
            names.push(self.word()?);
        }
        self.expect(end).map(|()| names)
    }

    /// What follows `for`.
    fn each(&mut self) -> Parsed<Each> {
        let names = self.names("in")?;
        let list = self.expr()?;
        let condition = if self.eat("where") { Some(self.expr()?) } else { None };
        Ok(Each { names, list, condition })
    }

    /// A text up to `end`, or all of it.
    fn parts(&mut self, end: Option<char>) -> Parsed<Vec<TextPart>> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        while let Some(next) = self.rest().chars().next() {
            self.at += next.len_utf8();
            match next {
                _ if Some(next) == end => {
                    parts.push(TextPart::Plain(plain));
                    return Ok(parts);
                }
                '{' => {
                    parts.push(TextPart::Plain(std::mem::take(&mut plain)));
                    let value = self.expr()?;
                    parts.push(TextPart::Value(value, self.format()?));
                }
                _ => plain.push(next),
            }
        }
        parts.push(TextPart::Plain(plain));
        if end.is_none() { Ok(parts) } else { Err(self.unexpected("`\"`")) }
    }

    /// What follows a formula in a text: `}`, `:.1}` or `:+.1}`.
    fn format(&mut self) -> Parsed<Format> {
        if !self.eat(":") {
            return self.expect("}").map(|()| Format::Shortest);
        }
        let sign = if self.eat("+") { Sign::Always } else { Sign::OfLosses };
        self.expect(".")?;
        let digit = self.rest().chars().next().and_then(|digit| digit.to_digit(10));
        let decimals = digit.ok_or_else(|| self.unexpected("a number of decimals"))? as usize;
        self.at += 1;
        self.expect("}").map(|()| Format::Fixed { decimals, sign })
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
