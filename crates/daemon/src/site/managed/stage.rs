//! Files that are brought before a task and taken away after it, by commands of the owner's
//! choice, as the task's user.

use std::collections::BTreeMap;
use std::time::Duration;

use tradewind_model::JobData;

use super::tool::{Call, CommandTrouble, Purpose, Tool, Who};
use crate::site::{SiteError, Tag};

/// Whose files, and where.
#[derive(Debug, Clone)]
pub struct StagedFiles {
    /// Runs commands.
    pub tool: Tool,
    /// As whom: `{user}` in the commands.
    pub account: String,
    /// For which task: its job's number is `{job}` in the commands.
    pub tag: Tag,
    /// Where it runs: `{directory}` in the commands.
    pub directory: String,
    /// Of a job with data, see [`data_words`].
    pub data: BTreeMap<String, String>,
}

/// What stands for a job's data in commands, by name: `from` and `input`, `to` and `output`; bytes, and
/// where they are or are to be. Only of what is not nothing, and not at this site already.
pub fn data_words(data: &JobData, site: &str) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    let both = [("from", "input", &data.from, data.input), ("to", "output", &data.to, data.output)];
    for (place, amount, name, bytes) in both {
        if bytes > 0 && name != site {
            words.insert(place.to_owned(), name.clone());
            words.insert(amount.to_owned(), bytes.to_string());
        }
    }
    words
}

/// The words that [`data_words`] may have.
const DATA_WORDS: [&str; 4] = ["from", "input", "to", "output"];

impl StagedFiles {
    /// The same, with more time for each command.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> StagedFiles {
        self.tool.timeout = timeout;
        self
    }

    /// Runs the commands in order until one fails. They may be run again. A command with a word of data
    /// is for jobs that have it.
    ///
    /// # Errors
    /// [`SiteError::Refused`] with its complaint if one fails or takes too long; if none can be run now,
    /// that.
    pub fn run(&self, commands: &[Vec<String>]) -> Result<(), SiteError> {
        for command in commands.iter().filter(|command| self.is_meant(command)) {
            let who = Who::User(&self.account);
            let words = command.iter().map(|word| self.filled(word)).collect();
            let call = Call { who, words, input: &[], purpose: Purpose::Order };
            let answer = match self.tool.run(&call) {
                Err(CommandTrouble::Killed(why)) => return Err(SiteError::Refused(why)),
                answer => answer?,
            };
            if !answer.is_good() {
                return Err(SiteError::Refused(self.tool.failure(&call, &answer)));
            }
        }
        Ok(())
    }

    fn is_meant(&self, command: &[String]) -> bool {
        let names = |name: &str| command.iter().any(|word| word.contains(&format!("{{{name}}}")));
        DATA_WORDS.iter().all(|name| self.data.contains_key(*name) || !names(name))
    }

    fn filled(&self, word: &str) -> String {
        let word = word.replace("{user}", &self.account);
        let word = word.replace("{job}", &self.tag.job.to_string());
        let word = word.replace("{directory}", &self.directory);
        let with = |word: String, (name, value): (&String, &String)| {
            word.replace(&format!("{{{name}}}"), value)
        };
        self.data.iter().fold(word, with)
    }
}
