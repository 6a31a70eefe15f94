//! Grid Engine, asked by its commands.

use std::collections::BTreeMap;

use super::replies::{self, AdvanceReservation, Details, QacctRow, Status};
use super::words;
use crate::site::SiteError;
use crate::site::managed::tool::{Call, CommandOutput, Purpose, Tool, Who};

/// The cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct GridEngineCluster<'a>(pub &'a Tool);

impl GridEngineCluster<'_> {
    /// Queues and jobs of one moment.
    pub(super) fn status(self) -> Result<Status, SiteError> {
        let call = Call::ours(&["qstat", "-f", "-r", "-u", "*", "-s", "prs", "-xml"]);
        let answer = self.0.must(&call)?;
        let status = self.read(&call, Status::read(&answer.text()))?;
        match status.instances.is_empty() {
            // A cell that is not ours, or one that is just being set up: nothing can be said.
            true => Err(self.0.misread(&call.words.join(" "), "there is no queue at all")),
            false => Ok(status),
        }
    }

    /// All advance reservations, with places for those that `wanted` names.
    pub(super) fn reservations(
        self,
        wanted: impl Fn(&AdvanceReservation) -> bool,
    ) -> Result<Vec<AdvanceReservation>, SiteError> {
        let call = Call::ours(&["qrstat", "-u", "*", "-xml"]);
        let answer = self.0.must(&call)?;
        let mut all = self.read(&call, replies::reservations(&answer.text()))?;
        let ids: Vec<&str> =
            all.iter().filter(|one| wanted(one)).map(|one| one.id.as_str()).collect();
        if !ids.is_empty() {
            let ids = ids.join(",");
            let call = Call::ours(&["qrstat", "-ar", &ids, "-xml"]);
            // One that is over by now makes the command fail; the answer has the others.
            let answer = self.0.run(&call)?;
            let found = self.read(&call, replies::reservations(&answer.text()))?;
            let mut places: BTreeMap<_, _> =
                found.into_iter().map(|one| (one.id, one.places)).collect();
            for one in &mut all {
                one.places = places.remove(&one.id).unwrap_or_default();
            }
        }
        Ok(all)
    }

    /// What the lists do not tell of these jobs; those that are over by now are left out.
    pub(super) fn details<'a>(
        self,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<Details, SiteError> {
        let ids: Vec<&str> = ids.collect();
        if ids.is_empty() {
            return Ok(Details::default());
        }
        let ids = ids.join(",");
        let call = Call::ours(&["qstat", "-j", &ids, "-xml"]);
        let answer = self.0.run(&call)?;
        self.read(&call, Details::read(&answer.text()))
    }

    /// The answer to these words.
    pub(super) fn text(self, words: &[&str]) -> Result<String, SiteError> {
        Ok(self.0.must(&Call::ours(words))?.text())
    }

    /// Name and value of each line of an answer of `qconf`.
    pub(super) fn settings(self, words: &[&str]) -> Result<BTreeMap<String, String>, SiteError> {
        self.0.must(&Call::ours(words)).map(|answer| pairs(&answer.text()))
    }

    /// The record of a job of `owner` that is over, by its name. Records come some seconds late, and on some
    /// clusters cannot be read from here: `None`.
    pub(super) fn account(self, owner: &str, name: &str) -> Result<Option<QacctRow>, SiteError> {
        let answer = self.0.run(&Call::ours(&["qacct", "-o", owner, "-j", name]))?;
        Ok(answer.is_good().then(|| QacctRow::read(&answer.text())).flatten())
    }

    /// Hands a job in.
    pub(super) fn submit(
        self,
        account: &str,
        words: Vec<String>,
        script: &str,
    ) -> Result<(), SiteError> {
        let (who, input) = (Who::User(account), script.as_bytes());
        let call = Call { who, words, input, purpose: Purpose::Order };
        let answer = self.0.run(&call)?;
        let text = answer.text();
        let number = text.trim();
        if answer.is_good()
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Ok(());
        }
        Err(match words::refusal(&answer.err) {
            Some(why) if !answer.is_good() => SiteError::Refused(why),
            _ => self.failed(&call, &answer),
        })
    }

    /// Deletes the job of this name. An unknown one is no error.
    pub(super) fn delete(self, account: &str, name: &str) -> Result<(), SiteError> {
        self.undo(account, &["qdel", name])
    }

    /// Reserves; `Err` of the inner one: the cluster says no.
    pub(super) fn reserve(
        self,
        account: &str,
        words: Vec<String>,
    ) -> Result<Result<(), String>, SiteError> {
        let who = Who::User(account);
        let call = Call { who, words, input: &[], purpose: Purpose::Order };
        let answer = self.0.run(&call)?;
        if answer.is_good() {
            return Ok(Ok(()));
        }
        let said = format!("{}{}", answer.err, answer.text());
        let between = ["qmaster", "commlib", "gdi", "error: "];
        match answer.code {
            Some(1) if !between.iter().any(|word| said.contains(word)) => {
                Ok(Err(said.trim().lines().next().unwrap_or("it did not say why").to_owned()))
            }
            _ => Err(self.failed(&call, &answer)),
        }
    }

    /// Gives a reservation up, and with it the jobs in it. An unknown one is no error.
    pub(super) fn unreserve(self, account: &str, id: &str) -> Result<(), SiteError> {
        self.undo(account, &["qrdel", id])
    }

    fn undo(self, account: &str, words: &[&str]) -> Result<(), SiteError> {
        let call = Call::by(Who::User(account), words).order();
        let answer = self.0.run(&call)?;
        let said = format!("{}{}", answer.text(), answer.err);
        match answer.is_good() || said.contains("does not exist") || said.contains("in deletion") {
            true => Ok(()),
            false => Err(self.failed(&call, &answer)),
        }
    }

    fn failed(self, call: &Call<'_>, answer: &CommandOutput) -> SiteError {
        let why = self.0.failure(call, answer);
        match words::is_unheard(&answer.err) {
            true => SiteError::Away(why),
            false => SiteError::Unknown(why),
        }
    }

    fn read<T>(self, call: &Call<'_>, read: Result<T, String>) -> Result<T, SiteError> {
        read.map_err(|why| self.0.misread(&call.words.join(" "), &why))
    }
}

/// Name and value of each line of what `qconf` says.
pub(super) fn pairs(text: &str) -> BTreeMap<String, String> {
    // A line may go on after a backslash.
    let text = text.replace("\\\n", " ");
    let pairs = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}
