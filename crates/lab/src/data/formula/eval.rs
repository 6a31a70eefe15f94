//! What a formula comes to.

use super::value::binary;
use super::{
    Definition, Definitions, Each, Expr, Fault, Format, Formula, FormulaValue, Result, Template,
    TextPart, functions,
};
use crate::case::Case;
use crate::findings::Published;
use crate::tally::Tally;

/// Definitions that use each other may not go deeper: one that uses itself has no end.
const DEPTH: u32 = 40;

/// What formulas may look at.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) case: &'a Case,
    pub(crate) tally: &'a Tally,
    /// The numbers of the study.
    pub(crate) published: &'a [Published],
}

/// Where names are looked up: local ones first, then the tables of definitions in their order.
pub(crate) struct Scope<'a> {
    seen: Seen<'a>,
    tables: Vec<&'a Definitions>,
    locals: Vec<(String, FormulaValue)>,
    depth: u32,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(seen: Seen<'a>, tables: Vec<&'a Definitions>) -> Scope<'a> {
        Scope { seen, tables, locals: Vec::new(), depth: 0 }
    }

    fn value(&mut self, formula: &'a Formula) -> Result<FormulaValue> {
        self.eval(&formula.expr).map_err(|fault| fault.at(formula.offset))
    }

    /// What `of` reads from the value.
    pub(crate) fn read<T>(
        &mut self,
        formula: &'a Formula,
        of: impl FnOnce(&FormulaValue) -> Result<T>,
    ) -> Result<T> {
        of(&self.value(formula)?).map_err(|fault| fault.at(formula.offset))
    }

    pub(crate) fn text(&mut self, template: &'a Template) -> Result<String> {
        self.fill(&template.parts).map_err(|fault| fault.at(template.offset))
    }

    /// `of` for every item of `each`; once where there is none.
    pub(crate) fn every<T>(
        &mut self,
        each: Option<&'a Each>,
        mut of: impl FnMut(&mut Scope<'a>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let Some(each) = each else { return Ok(vec![of(self)?]) };
        let list = self.eval(&each.list)?;
        let known = self.locals.len();
        let mut all = Vec::new();
        for item in list.list()? {
            self.bind(&each.names, item)?;
            let wanted = match &each.condition {
                Some(condition) => self.eval(condition)?.truth()?,
                None => true,
            };
            if wanted {
                all.push(of(self)?);
            }
            self.locals.truncate(known);
        }
        Ok(all)
    }

    /// Gives an item its name, or its parts theirs.
    fn bind(&mut self, names: &[String], item: &FormulaValue) -> Result<()> {
        let [name] = names else {
            let parts = item.list()?;
            if parts.len() < names.len() {
                return Err(Fault::new(format!("an item has fewer than {} parts", names.len())));
            }
            self.locals.extend(names.iter().cloned().zip(parts.iter().cloned()));
            return Ok(());
        };
        self.locals.push((name.clone(), item.clone()));
        Ok(())
    }

    fn eval(&mut self, expr: &'a Expr) -> Result<FormulaValue> {
        Ok(match expr {
            Expr::Number(number) => FormulaValue::Number(*number),
            Expr::Text(parts) => FormulaValue::Text(self.fill(parts)?),
            Expr::Name(name) => self.named(name)?,
            Expr::Call(name, arguments) => self.call(name, arguments)?,
            Expr::List(items) => FormulaValue::List(self.all(items)?),
            Expr::Every(value, each) => {
                FormulaValue::List(self.every(Some(each), |scope| scope.eval(value))?)
            }
            Expr::Not(truth) => FormulaValue::Truth(!self.eval(truth)?.truth()?),
            Expr::Binary(op, sides) => {
                let [left, right] = sides.as_ref();
                binary(*op, &self.eval(left)?, &self.eval(right)?)?
            }
            Expr::If(parts) => {
                let [condition, yes, no] = parts.as_ref();
                // Both are tried, so that a fault in either is found whatever is measured.
                let (yes, no) = (self.eval(yes)?, self.eval(no)?);
                if self.eval(condition)?.truth()? { yes } else { no }
            }
        })
    }

    fn all(&mut self, items: &'a [Expr]) -> Result<Vec<FormulaValue>> {
        items.iter().map(|item| self.eval(item)).collect()
    }

    fn fill(&mut self, parts: &'a [TextPart]) -> Result<String> {
        let mut text = String::new();
        for part in parts {
            match part {
                TextPart::Plain(plain) => text.push_str(plain),
                TextPart::Value(expr, format) => text.push_str(&self.written(expr, *format)?),
            }
        }
        Ok(text)
    }

    fn written(&mut self, expr: &'a Expr, format: Format) -> Result<String> {
        self.eval(expr)?.write(format)
    }

    fn definition(&self, name: &str) -> Option<&'a Definition> {
        self.tables.iter().find_map(|table| table.0.get(name))
    }

    fn named(&mut self, name: &str) -> Result<FormulaValue> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        match (name, self.definition(name)) {
            (_, Some(definition)) => self.apply(name, definition, Vec::new()),
            ("true", _) => Ok(FormulaValue::Truth(true)),
            ("false", _) => Ok(FormulaValue::Truth(false)),
            _ => Err(Fault::new(format!("nothing is known of `{name}`"))),
        }
    }

    fn call(&mut self, name: &str, arguments: &'a [Expr]) -> Result<FormulaValue> {
        let arguments = self.all(arguments)?;
        match self.definition(name) {
            Some(definition) => self.apply(name, definition, arguments),
            None => functions::call(&self.seen, name, &arguments),
        }
    }

    fn apply(
        &mut self,
        name: &str,
        definition: &'a Definition,
        arguments: Vec<FormulaValue>,
    ) -> Result<FormulaValue> {
        let parameters = &definition.parameters;
        if parameters.len() != arguments.len() {
            return Err(Fault::new(format!("`{name}` takes {} arguments", parameters.len())));
        }
        if self.depth == DEPTH {
            return Err(Fault::new(format!("the definition of `{name}` has no end")));
        }
        let own = parameters.iter().cloned().zip(arguments).collect();
        let outer = std::mem::replace(&mut self.locals, own);
        self.depth += 1;
        let value = self.value(&definition.body);
        self.depth -= 1;
        self.locals = outer;
        value
    }
}
