//! Files that are brought before a task and taken away after it, by commands of the owner's
//! choice, as the task's user.

use super::tool::{Call, Purpose, Tool, Who};
use crate::site::{SiteError, Tag};

/// Whose files, and where.
#[derive(Debug, Clone, Copy)]
pub struct StagedFiles<'a> {
    /// Runs commands.
    pub tool: &'a Tool,
    /// As whom: `{user}` in the commands.
    pub account: &'a str,
    /// For which task: its job's number is `{job}` in the commands.
    pub tag: &'a Tag,
    /// Where it runs: `{directory}` in the commands.
    pub directory: &'a str,
}

impl StagedFiles<'_> {
    /// Runs the commands in order until one fails. They may be run again.
    ///
    /// # Errors
    /// [`SiteError::Refused`] with its complaint if one fails; if there is no answer, that.
    pub fn run(&self, commands: &[Vec<String>]) -> Result<(), SiteError> {
        for command in commands {
            let word = |word: &String| {
                let word = word.replace("{user}", self.account);
                let word = word.replace("{job}", &self.tag.job.to_string());
                word.replace("{directory}", self.directory)
            };
            let words = command.iter().map(word).collect();
            let call =
                Call { who: Who::User(self.account), words, input: &[], purpose: Purpose::Order };
            let answer = self.tool.run(&call)?;
            if !answer.is_good() {
                return Err(SiteError::Refused(self.tool.failure(&call, &answer)));
            }
        }
        Ok(())
    }
}
