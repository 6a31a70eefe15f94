//! Everything that is wrong with an input: file, line, field, message, hint.

#[cfg(test)]
mod tests;

use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, but is probably not what was meant.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One problem. Messages are in lower case without a final period; values stand in back-ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file as the user named it; `-` is standard input.
    pub file: String,
    /// Number of the line, from 1.
    pub line: Option<u32>,
    /// From 1, in bytes.
    pub column: Option<u32>,
    /// Where in the document, such as `jobs[3].budget` (indices from 0).
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error in `file` as a whole.
    pub fn error(file: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            file: file.to_owned(),
            line: None,
            column: None,
            field: None,
            message: message.into(),
            hint: None,
        }
    }

    /// A warning about `file` as a whole.
    pub fn warning(file: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(file, message) }
    }

    /// The same, at `line` (from 1).
    pub fn at_line(mut self, line: u32) -> Diagnostic {
        self.line = Some(line);
        self
    }

    /// The same, at `column` (from 1) of its line.
    pub fn at_column(mut self, column: u32) -> Diagnostic {
        self.column = Some(column);
        self
    }

    /// The same, about `field`.
    pub fn in_field(mut self, field: impl Into<String>) -> Diagnostic {
        self.field = Some(field.into()).filter(|field| !field.is_empty());
        self
    }

    /// The same, with advice.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }
}

/// `error: FILE:LINE:COLUMN: field: message`, then `  hint: …` on a line of its own.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity.name(), self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All problems of one input, in the order found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    /// How many problems are kept; beyond that they are only counted, so that a gigantic broken
    /// file does not fill the memory.
    pub const KEPT: usize = 1_000;
    /// How many problems are printed.
    pub const SHOWN: usize = 50;

    /// Adds one problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        if self.kept.len() < Self::KEPT {
            self.kept.push(diagnostic);
        }
    }

    /// How many errors were found, kept or not.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// How many warnings were found, kept or not.
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// Whether nothing at all was found.
    pub fn is_empty(&self) -> bool {
        self.errors + self.warnings == 0
    }

    /// The problems that were kept (at most [`Diagnostics::KEPT`]).
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.kept.iter()
    }

    /// `value` and the warnings if there was no error, else all problems by line.
    ///
    /// # Errors
    /// All problems, if one of them is an error or there is no value.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<(T, Diagnostics), Diagnostics> {
        self.kept.sort_by_key(|it| it.line);
        match value {
            Some(value) if self.errors == 0 => Ok((value, self)),
            _ => Err(self),
        }
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, all: T) {
        all.into_iter().for_each(|it| self.push(it));
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        let mut all = Diagnostics::default();
        all.push(diagnostic);
        all
    }
}

/// One problem per line, the first [`Diagnostics::SHOWN`] of them, then `… and N more`. No final
/// line break.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.kept.len().min(Self::SHOWN);
        for (i, diagnostic) in self.kept[..shown].iter().enumerate() {
            let line_break = if i > 0 { "\n" } else { "" };
            write!(f, "{line_break}{diagnostic}")?;
        }
        match self.errors + self.warnings - shown {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Diagnostics {}

/// The candidate that `word` probably meant, if one is close enough (a third of its letters).
pub fn suggestion<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    let distance = |candidate: &&str| strsim::damerau_levenshtein(&word, candidate);
    candidates.into_iter().min_by_key(distance).filter(|best| distance(best) <= allowed)
}

/// `did you mean `x`?`, or else the list of what is known.
pub fn did_you_mean(word: &str, known: &[&str]) -> String {
    match suggestion(word, known.iter().copied()) {
        Some(best) => format!("did you mean `{best}`?"),
        None => format!("known here: {}", list(known)),
    }
}

/// The words in back-ticks, with commas between.
pub fn list(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|it| format!("`{it}`")).collect();
    quoted.join(", ")
}

/// A piece of the user's text for a message: one line, at most 40 characters.
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut out: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}
