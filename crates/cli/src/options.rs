//! Options that all commands share.

use clap::{Args, ValueEnum};

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// How to print the result on standard output.
    #[arg(long, global = true, value_enum, default_value_t, help_heading = "Output")]
    pub(crate) format: Format,
    /// Print errors and seeds only on standard error.
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print sizes and times on standard error, too.
    #[arg(short, long, global = true, conflicts_with = "quiet", help_heading = "Output")]
    pub(crate) verbose: bool,
}

impl Global {
    /// For a command that says nothing but errors.
    pub(crate) fn quiet() -> Global {
        Global { format: Format::Table, quiet: true, verbose: false }
    }
}

/// How to print a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// Tables for reading.
    #[default]
    Table,
    /// The whole document, for programs.
    Json,
    /// One line per result, for spreadsheets.
    Csv,
}
