//! Jobs as users of Slurm name them.

use super::refused;
use crate::exit::Failure;

/// A job as a user names it: `12`, `12_3`, `12_[1-3,7]`, `12.batch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobName {
    /// Number of the job, or of the array's first.
    pub(super) number: u64,
    /// Indices in the array; empty: the whole job.
    pub(super) indices: Vec<u32>,
    /// The step that is meant.
    pub(super) step: Option<String>,
}

impl JobName {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none.
    pub(super) fn read(text: &str) -> Result<JobName, Failure> {
        let wrong = || refused(format!("Invalid job id specified: {text}"));
        let (name, step) = match text.split_once('.') {
            Some((name, step)) => (name, Some(step.to_owned())),
            None => (text, None),
        };
        let (number, indices) = match name.split_once('_') {
            Some((number, indices)) => (number, Some(indices)),
            None => (name, None),
        };
        let number = number.parse().map_err(|_| wrong())?;
        let indices = match indices {
            Some(text) => self::indices(text).ok_or_else(wrong)?,
            None => Vec::new(),
        };
        Ok(JobName { number, indices, step })
    }

    /// All of a list; brackets keep their commas.
    ///
    /// # Errors
    /// The first that is none.
    pub(super) fn list(given: &[String]) -> Result<Vec<JobName>, Failure> {
        let mut all = Vec::new();
        for text in given {
            let mut inside = false;
            let parts = text.split(|letter| {
                match letter {
                    '[' => inside = true,
                    ']' => inside = false,
                    _ => {}
                }
                letter == ',' && !inside
            });
            for part in parts.map(str::trim).filter(|it| !it.is_empty()) {
                all.push(JobName::read(part)?);
            }
        }
        Ok(all)
    }
}

/// `3`, `[1-3,7]`, `[0-9%2]`.
fn indices(text: &str) -> Option<Vec<u32>> {
    const MOST: usize = 10_000;
    let inside = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => text,
    };
    let ranges = inside.split('%').next()?;
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if to.checked_sub(from)? as usize >= MOST - all.len() {
            return None;
        }
        all.extend(from..=to);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_named_as_slurm_names_them() {
        let name = |number, indices: &[u32], step: Option<&str>| JobName {
            number,
            indices: indices.to_vec(),
            step: step.map(str::to_owned),
        };
        let given = ["12,13_4".to_owned(), "14_[1-3,7%2],15.batch".to_owned()];
        assert_eq!(
            JobName::list(&given).unwrap(),
            [
                name(12, &[], None),
                name(13, &[4], None),
                name(14, &[1, 2, 3, 7], None),
                name(15, &[], Some("batch")),
            ]
        );
        for bad in ["x", "1_x", "1_[2-1]", "1_[0-4000000000]", "1_[0-5000,1-5000]", "-1"] {
            assert!(JobName::read(bad).is_err(), "{bad}");
        }
    }
}
