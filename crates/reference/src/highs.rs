//! HiGHS as a program beside us: a model of binary columns as LP text in, a solution file out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

/// A maximisation over binary columns.
#[derive(Debug, Clone, Default)]
pub struct Model {
    gains: Vec<i64>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    terms: Vec<(Column, i64)>,
    bound: Bound,
}

/// A column of a [`Model`], by its place.
pub type Column = usize;

/// What a row's sum may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The sum equals this number.
    Exactly(i64),
    /// This or less.
    AtMost(i64),
    /// This or more.
    AtLeast(i64),
}

/// What the solver said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The columns that are 1 in an optimum, by their places.
    Optimal(Vec<bool>),
    /// No choice keeps to all rows.
    Infeasible,
    /// It stopped for another reason, in its words, or it could not be asked.
    Unsolved(String),
}

impl Model {
    /// A new column, and what it adds to the sum to maximise.
    pub fn column(&mut self, gain: i64) -> Column {
        self.gains.push(gain);
        self.gains.len() - 1
    }

    /// A new row: each column with its factor. An empty one says nothing and is left out.
    pub fn row(&mut self, bound: Bound, terms: impl IntoIterator<Item = (Column, i64)>) {
        let terms: Vec<_> = terms.into_iter().collect();
        if !terms.is_empty() {
            self.rows.push(Row { terms, bound });
        }
    }

    /// Asks HiGHS for an optimum at gap 0, on one thread, within so many seconds.
    ///
    /// The program is `$HIGHS/bin/highs`, its libraries in `$HIGHS/lib`; without the variable,
    /// where `scripts/highs.sh` puts them.
    pub fn solve(&self, most_seconds: f64) -> Answer {
        match self.ask(most_seconds) {
            Ok(text) => self.read(&text),
            Err(error) => Answer::Unsolved(error.to_string()),
        }
    }

    fn ask(&self, most_seconds: f64) -> io::Result<String> {
        let home = env::var_os("HIGHS").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/highs"),
            PathBuf::from,
        );
        let folder = tempfile::tempdir()?;
        let file = |name: &str| folder.path().join(name);
        fs::write(file("model.lp"), self.text())?;
        fs::write(file("options"), OPTIONS)?;
        let program = home.join("bin/highs");
        let output = Command::new(&program)
            .env("LD_LIBRARY_PATH", home.join("lib"))
            .args(["--time_limit", &most_seconds.to_string()])
            .args(["--options_file".into(), file("options")])
            .args(["--solution_file".into(), file("solution")])
            .arg(file("model.lp"))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| {
                let what = "run scripts/highs.sh, or name a folder with bin/highs by HIGHS";
                io::Error::new(error.kind(), format!("{}: {error}: {what}", program.display()))
            })?;
        fs::read_to_string(file("solution")).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stdout);
            io::Error::other(format!("HiGHS left no solution ({}): {said}", output.status))
        })
    }

    /// CPLEX's LP format. Every column is in the first sum, so that their order is ours.
    fn text(&self) -> String {
        let mut text = String::from("Maximize\n gain:");
        sum(&mut text, self.gains.iter().copied().enumerate());
        text.push_str("\nSubject To\n");
        for (at, row) in self.rows.iter().enumerate() {
            let _ = write!(text, " r{at}:");
            sum(&mut text, row.terms.iter().copied());
            let _ = match row.bound {
                Bound::Exactly(bound) => writeln!(text, " = {bound}"),
                Bound::AtMost(bound) => writeln!(text, " <= {bound}"),
                Bound::AtLeast(bound) => writeln!(text, " >= {bound}"),
            };
        }
        text.push_str("Binary\n");
        for column in 0..self.gains.len() {
            let _ = writeln!(text, " x{column}");
        }
        text.push_str("End\n");
        text
    }

    fn read(&self, solution: &str) -> Answer {
        let mut lines = solution.lines().skip_while(|line| *line != "Model status").skip(1);
        match lines.next().unwrap_or("no status") {
            "Optimal" => {}
            "Infeasible" => return Answer::Infeasible,
            other => return Answer::Unsolved(other.to_owned()),
        }
        let columns = lines.skip_while(|line| !line.starts_with("# Columns")).skip(1);
        let value = |line: &str| line.split_once(' ').and_then(|(_, it)| it.parse::<f64>().ok());
        let chosen: Vec<bool> =
            columns.take(self.gains.len()).filter_map(value).map(|it| it > 0.5).collect();
        if chosen.len() == self.gains.len() {
            Answer::Optimal(chosen)
        } else {
            Answer::Unsolved("its solution file is cut off".to_owned())
        }
    }
}

/// What [`Model::solve`] promises.
const OPTIONS: &str = "threads = 1\nmip_rel_gap = 0\nmip_abs_gap = 0\noutput_flag = false\n";

/// Terms over several lines: readers of the format may limit a line's length.
fn sum(text: &mut String, terms: impl Iterator<Item = (Column, i64)>) {
    for (count, (column, factor)) in terms.enumerate() {
        let separator = if count % 10 == 9 { "\n " } else { "" };
        let _ = write!(text, " {factor:+} x{column}{separator}");
    }
}
