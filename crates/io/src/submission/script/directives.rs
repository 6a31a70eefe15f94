//! The lines of a script that have options.

use super::super::Submission;
use super::super::options::Owner;
use crate::diagnostics::{Diagnostic, Diagnostics};

const MARKS: [(&str, Owner); 2] = [("#SBATCH", Owner::Slurm), ("#TRADEWIND", Owner::Tradewind)];

/// Why components are refused, and what to do.
pub(super) const HETEROGENEOUS: &str = "components are given as groups of tasks here";
pub(super) const INSTEAD: &str = "write `#TRADEWIND groups=1x1h@gpu,3x10m` or `--groups`: nodes x \
                                  time of each component, then `@` with a constraint or a minimum \
                                  performance";

/// Whether this line of `#SBATCH` begins the next component of a heterogeneous job.
fn separates(rest: &str) -> bool {
    rest.starts_with([' ', '\t']) && ["hetjob", "packjob"].contains(&rest.trim())
}

/// A line with options.
pub(super) struct DirectiveLine<'t> {
    /// Number of the line, from 1.
    pub(super) number: u32,
    pub(super) owner: Owner,
    /// What follows the mark.
    pub(super) rest: &'t str,
}

/// The lines with options of the script `text`: as in `sbatch`, marks stand at the beginning of a
/// line, and the first line that is neither blank nor a comment ends them.
pub(super) fn lines<'t>(
    file: &str,
    text: &'t str,
    problems: &mut Diagnostics,
) -> Vec<DirectiveLine<'t>> {
    check(file, text, problems);
    let mut lines = Vec::new();
    let mut open = true;
    for (number, line) in (1..).zip(text.lines()) {
        let mark = MARKS.iter().find_map(|(mark, owner)| Some((line.strip_prefix(mark)?, *owner)));
        let begin = line.trim_start();
        open &= begin.is_empty() || begin.starts_with('#');
        match mark {
            Some((rest, Owner::Slurm)) if open && separates(rest) => {
                let message = format!("`#SBATCH {}`: {HETEROGENEOUS}", rest.trim());
                let problem = Diagnostic::error(file, message);
                problems.push(problem.at_line(number).with_hint(INSTEAD));
            }
            Some((rest, owner)) if open => lines.push(DirectiveLine { number, owner, rest }),
            Some(_) => {
                let message = "options behind the first command set nothing";
                let hint = "move the line up, or begin it with `##`";
                problems.push(Diagnostic::warning(file, message).at_line(number).with_hint(hint));
            }
            None if open && line.starts_with("#PBS ") => {
                let message = "`#PBS` lines set nothing";
                let hint = "write `#SBATCH` lines instead";
                problems.push(Diagnostic::warning(file, message).at_line(number).with_hint(hint));
            }
            None => {}
        }
    }
    lines
}

/// What `sbatch` wants of a script.
fn check(file: &str, text: &str, problems: &mut Diagnostics) {
    let mut error = |line: u32, message: &str, hint: &str| {
        problems.push(Diagnostic::error(file, message).at_line(line).with_hint(hint));
    };
    let line_of = |at: usize| text[..at].matches('\n').count() as u32 + 1;
    if text.len() > Submission::MAX_SCRIPT {
        error(1, "the script is longer than 4 MiB", "keep data in files of their own");
    }
    if !text.starts_with("#!") {
        let hint = "begin the first line with `#!` and an interpreter, such as `#!/bin/sh`";
        error(1, "the script names no interpreter", hint);
    }
    if let Some(at) = text.find("\r\n") {
        error(line_of(at), "a line break of DOS", "convert the script: `sed -i 's/\\r$//' SCRIPT`");
    }
    if let Some(at) = text.find('\0') {
        error(line_of(at), "a zero byte", "a script is text");
    }
}
