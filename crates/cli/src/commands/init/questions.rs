//! Questions on a terminal, and what counts as an answer.

use std::io::{BufRead as _, Write as _};

use clap::ValueEnum as _;
use tradewind_io::decimal;

use super::SiteKind;
use crate::exit::Failure;

/// How what is not given is found out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Questions {
    /// On a terminal; otherwise defaults hold.
    pub(super) is_asked: bool,
}

/// What is wrong with an answer.
type Check = fn(&str) -> Result<(), String>;

impl Questions {
    /// What the site is.
    ///
    /// # Errors
    /// If no answer comes.
    pub(super) fn kind(self, usual: SiteKind) -> Result<SiteKind, Failure> {
        if !self.is_asked {
            return Ok(usual);
        }
        let all = SiteKind::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value);
        let lines: Vec<String> = all
            .map(|it| {
                format!("  {:<8}{}", it.get_name(), it.get_help().cloned().unwrap_or_default())
            })
            .collect();
        tell(&format!("What is the site?\n{}\n", lines.join("\n")));
        let name = |kind: SiteKind| {
            kind.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default()
        };
        let text = self.text("kind", None, &name(usual), |text| {
            SiteKind::from_str(text, true)
                .map(drop)
                .map_err(|_| "there are: local, slurm, ssh, shadow".to_owned())
        })?;
        SiteKind::from_str(&text, true).map_err(Failure::usage)
    }

    /// What was given; else the answer, which is `usual` if it is empty.
    ///
    /// # Errors
    /// If what was given is none, or no answer comes.
    pub(super) fn text(
        self,
        what: &str,
        given: Option<&str>,
        usual: &str,
        check: Check,
    ) -> Result<String, Failure> {
        if let Some(given) = given {
            return match check(given) {
                Ok(()) => Ok(given.to_owned()),
                Err(why) => Err(Failure::usage(format!("`{given}` as {what}: {why}"))),
            };
        }
        if !self.is_asked {
            return Ok(usual.to_owned());
        }
        loop {
            let text = answer(&match usual {
                "" => format!("{what}: "),
                usual => format!("{what} [{usual}]: "),
            })?;
            let text = if text.is_empty() { usual.to_owned() } else { text };
            match check(&text) {
                Ok(()) => return Ok(text),
                Err(why) => tell(&format!("  {why}\n")),
            }
        }
    }

    /// An answer that has no default; `option` is the option that gives it.
    ///
    /// # Errors
    /// If it is not asked for, or does not come.
    pub(super) fn needed(self, what: &str, option: &str, check: Check) -> Result<String, Failure> {
        match self.is_asked {
            true => self.text(what, None, "", check),
            false => Err(Failure::usage(format!("`{option}` is missing: {what}"))),
        }
    }
}

fn tell(text: &str) {
    // If it cannot be told, the answer does not come either.
    let _ = write!(std::io::stderr(), "{text}").and_then(|()| std::io::stderr().flush());
}

/// One line, without spaces around it.
fn answer(question: &str) -> Result<String, Failure> {
    tell(question);
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) => Err(Failure::usage("the input ended: no file was written")
            .hint("give options, or `--yes` for the defaults")),
        Ok(_) => Ok(line.trim().to_owned()),
        Err(error) => Err(Failure::usage(format!("failed to read the answer: {error}"))),
    }
}

/// Of a site or a user.
pub(super) fn name(text: &str) -> Result<(), String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && text.len() <= 64 && text.chars().all(sound) {
        true => Ok(()),
        false => Err("letters, digits, `-`, `_` and `.`, at most 64".to_owned()),
    }
}

pub(super) fn nodes(text: &str) -> Result<(), String> {
    match text.parse::<u32>() {
        Ok(1..=16_777_216) => Ok(()),
        _ => Err("a whole number from 1 to 16,777,216".to_owned()),
    }
}

pub(super) fn price(text: &str) -> Result<(), String> {
    let micro = decimal::parse(text, 6).ok().filter(|micro| *micro >= 0);
    micro.map(drop).ok_or_else(|| "a number from 0 with at most six decimals".to_owned())
}

/// A destination of `ssh`, and nothing that it takes for an option.
pub(super) fn login(text: &str) -> Result<(), String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.@:[]".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    match begins && text.len() <= 255 && text.chars().all(sound) {
        true => Ok(()),
        false => Err("write USER@HOST, or a host of ~/.ssh/config".to_owned()),
    }
}

pub(super) fn login_or_here(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { login(text) }
}
