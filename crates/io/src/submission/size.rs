//! How large a submission is.

use super::{Submission, Work};

impl Submission {
    /// What an entry of a list or table takes beside its text, about: bytes.
    const ENTRY: usize = 96;
    /// What a submission takes without any text, about: bytes.
    const BARE: usize = 1_024;

    /// Bytes of memory that it takes, about. Linear in its parts.
    pub fn bytes(&self) -> usize {
        let texts = |all: &[String]| all.iter().map(|it| it.len() + Self::ENTRY).sum::<usize>();
        let pairs = |all: &[(String, String)]| {
            all.iter().map(|(name, value)| name.len() + value.len() + Self::ENTRY).sum::<usize>()
        };
        let work = match &self.work {
            Work::Script { text, arguments } => text.len() + texts(arguments),
            Work::Command(words) => texts(words),
        };
        let around = &self.surroundings;
        let paths = [&around.directory, &around.output, &around.error, &around.input];
        let paths: usize = paths.into_iter().flatten().map(String::len).sum();
        let terms = &self.terms;
        let array = self.array.as_ref().map_or(0, |it| it.indices.len() * size_of::<u32>());
        Self::BARE
            + self.name.len()
            + work
            + paths
            + self.environment_bytes()
            + around.environment.len() * Self::ENTRY
            + texts(&terms.sites)
            + texts(&terms.pools)
            + terms.attributes.len() * Self::ENTRY
            + self.after.len() * Self::ENTRY
            + pairs(&self.passed_through)
            + self.comment.as_ref().map_or(0, String::len)
            + array
    }

    /// Bytes of its environment as a process has it: `NAME=value` and an end, each.
    pub fn environment_bytes(&self) -> usize {
        let all = &self.surroundings.environment;
        all.iter().map(|(name, value)| name.len() + value.len() + 2).sum()
    }
}
