//! What a campaign's folder remembers, so that a stopped campaign goes on where it was: the
//! campaign in `campaign.json`, and in each run's folder `done.json`, written last.

use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tradewind_campaign::plan::{Plan, Run};
use tradewind_campaign::summary::Summary;
use tradewind_campaign::workload::WorkloadFiles;
use tradewind_io::campaign::{Campaign, Keyword as _, Output};
use tradewind_io::{digest, wire};

use crate::exit::Failure;
use crate::output;

const CAMPAIGN: &str = "campaign.json";
const DONE: &str = "done.json";
/// Of a run, and of a campaign of several.
pub(super) const SUMMARY: &str = "summary.json";

/// Content of `campaign.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::commands) struct Record {
    /// Version of the program.
    pub(in crate::commands) version: String,
    pub(in crate::commands) title: Option<String>,
    /// What is run; two campaigns are the same if this is.
    pub(in crate::commands) campaign: Value,
    pub(in crate::commands) inputs: Vec<InputFile>,
    pub(in crate::commands) runs: Vec<RunRecord>,
}

/// One file that went in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands) struct InputFile {
    /// Without its folders.
    pub(in crate::commands) file: String,
    /// `None` if it could not be read.
    pub(in crate::commands) sha256: Option<String>,
}

/// One run of the campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands) struct RunRecord {
    /// Within the campaign's folder, with `/` between; empty for a single run.
    pub(in crate::commands) folder: String,
    /// A hash of all that its results depend on.
    pub(in crate::commands) id: String,
}

/// `done.json`: this run is finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands) struct DoneMarker {
    pub(in crate::commands) id: String,
    /// The SHA-256 of its `summary.json`: another file of that name is not this run's.
    pub(in crate::commands) summary: String,
    /// The other files of the run.
    pub(in crate::commands) files: Vec<String>,
}

impl Record {
    pub(super) fn new(campaign: &Campaign, plan: &Plan, sources: &[WorkloadFiles<'_>]) -> Record {
        let hashes: Vec<Vec<Option<String>>> = sources.iter().map(WorkloadFiles::hashes).collect();
        let file = |path: &String| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let files = sources.iter().flat_map(|source| source.paths().map(file));
        let inputs = files.zip(hashes.iter().flatten().cloned());
        let run = |run: &Run| RunRecord {
            folder: run.folder.to_string_lossy().replace('\\', "/"),
            id: run.id(campaign, &hashes[run.workload]),
        };
        Record {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            title: campaign.title.clone(),
            campaign: serde_json::to_value(campaign).unwrap_or_default(),
            inputs: inputs.map(|(file, sha256)| InputFile { file, sha256 }).collect(),
            runs: plan.runs.iter().map(run).collect(),
        }
    }

    /// The record in `folder`; `None` if there is none.
    pub(in crate::commands) fn read(folder: &Path) -> Result<Option<Record>, Failure> {
        let path = folder.join(CAMPAIGN);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(None),
            Err(error) => {
                return Err(Failure::data(format!("failed to read `{}`: {error}", path.display())));
            }
        };
        let strange = |what: String| {
            let message = format!("`{}` is not a campaign's record: {what}", path.display());
            Failure::data(message).hint("use another folder, or `--force` to overwrite this one")
        };
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|error| strange(error.to_string()))?;
        match record.runs.iter().find(|run| !is_below(&run.folder)) {
            Some(run) => Err(strange(format!("the folder `{}` is elsewhere", run.folder))),
            None => Ok(Some(record)),
        }
    }

    pub(in crate::commands) fn write(&self, folder: &Path) -> Result<(), Failure> {
        make(folder)?;
        output::write_file(&folder.join(CAMPAIGN), wire::to_json(self).as_bytes())
    }

    /// Whether there is one run only, whose files stand in the campaign's folder.
    pub(super) fn is_single(&self) -> bool {
        self.runs.iter().any(|run| run.folder.is_empty())
    }

    /// What each run writes.
    pub(super) fn outputs(&self) -> Vec<Output> {
        let words = self.campaign["outputs"].as_array().into_iter().flatten();
        words.filter_map(|word| Output::named(word.as_str()?)).collect()
    }

    /// How this campaign differs from `other`, in words; empty if it is the same.
    pub(in crate::commands) fn differences(&self, other: &Record) -> Vec<String> {
        differences(&self.campaign, &other.campaign)
    }

    /// What else than the campaign itself differs: the program and the files.
    pub(in crate::commands) fn causes(&self, other: &Record) -> Vec<String> {
        let mut causes = Vec::new();
        if self.version != other.version {
            causes.push(format!("tradewind {}, now {}", other.version, self.version));
        }
        for (ours, theirs) in self.inputs.iter().zip(&other.inputs) {
            if ours.sha256 != theirs.sha256 {
                causes.push(format!("`{}` has changed", ours.file));
            }
        }
        causes
    }
}

/// By key; of one workload each by the keys of these.
fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let empty = serde_json::Map::new();
    let [ours, theirs] = [ours, theirs].map(|value| value.as_object().unwrap_or(&empty));
    let mut keys: Vec<&String> = ours.keys().collect();
    keys.extend(theirs.keys().filter(|key| !ours.contains_key(*key)));
    let shown = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(value) => value.to_string(),
    };
    let differs = keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key));
    let said = |key: &String| {
        let (now, before) = (ours.get(key), theirs.get(key));
        let single = |value: Option<&Value>| match value?.as_array()?.as_slice() {
            [only] if only.is_object() => Some(only.clone()),
            _ => None,
        };
        match single(now).zip(single(before)) {
            Some((now, before)) => differences(&now, &before),
            None => vec![format!("{key}: {}, now {}", shown(before), shown(now))],
        }
    };
    differs.flat_map(said).collect()
}

impl RunRecord {
    pub(in crate::commands) fn path(&self, campaign: &Path) -> PathBuf {
        match self.folder.as_str() {
            "" => campaign.to_owned(),
            folder => campaign.join(folder),
        }
    }

    /// In a few words, for messages.
    pub(in crate::commands) fn name(&self) -> &str {
        if self.folder.is_empty() { "the run" } else { &self.folder }
    }

    /// What was written down in the run's folder when a run was finished there, of this campaign
    /// or of another; `None` if the summary there is not that run's.
    pub(in crate::commands) fn done(&self, campaign: &Path) -> Option<DoneMarker> {
        self.read(campaign).map(|(done, _)| done)
    }

    /// The same, if it was this run.
    pub(in crate::commands) fn finished(&self, campaign: &Path) -> Option<DoneMarker> {
        self.done(campaign).filter(|done| done.id == self.id)
    }

    /// The summary of a finished run.
    pub(in crate::commands) fn summary(&self, campaign: &Path) -> Option<Summary> {
        let (done, summary) = self.read(campaign)?;
        Some(summary).filter(|_| done.id == self.id)
    }

    fn read(&self, campaign: &Path) -> Option<(DoneMarker, Summary)> {
        let done = self.said(campaign)?;
        let text = std::fs::read(self.path(campaign).join(SUMMARY)).ok()?;
        let summary = Summary::read(&text)?;
        Some((done, summary)).filter(|(done, _)| done.summary == digest::sha256(&text))
    }

    /// `done.json`, whether it still holds or not.
    fn said(&self, campaign: &Path) -> Option<DoneMarker> {
        let bytes = std::fs::read(self.path(campaign).join(DONE)).ok()?;
        let done: Option<DoneMarker> = serde_json::from_slice(&bytes).ok();
        done.filter(|done| done.files.iter().all(|file| is_below(file)))
    }

    /// Whether the run's folder says that anything was ever finished there.
    pub(super) fn is_marked(&self, campaign: &Path) -> bool {
        self.said(campaign).is_some()
    }

    /// Removes the files of the run that was finished in this folder, of whichever campaign.
    pub(super) fn clear(&self, campaign: &Path) {
        let folder = self.path(campaign);
        let files = self.said(campaign).map(|done| done.files).unwrap_or_default();
        // What says that it is finished goes first.
        remove(&folder, std::iter::once(DONE).chain(files.iter().map(String::as_str)));
    }

    /// Makes the run's folder, and forgets that anything was ever finished there.
    pub(super) fn open(&self, campaign: &Path) -> Result<PathBuf, Failure> {
        let folder = self.path(campaign);
        make(&folder)?;
        self.clear(campaign);
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            // What a process left that was stopped while writing.
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "part") {
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(folder)
    }

    /// Writes down that the run is finished.
    pub(in crate::commands) fn close(
        &self,
        campaign: &Path,
        files: Vec<String>,
    ) -> Result<(), Failure> {
        let (folder, id) = (self.path(campaign), self.id.clone());
        let path = folder.join(SUMMARY);
        let text = std::fs::read(&path).map_err(|error| {
            Failure::data(format!("failed to read `{}`: {error}", path.display()))
        })?;
        let done = DoneMarker { id, summary: digest::sha256(&text), files };
        output::write_file(&folder.join(DONE), wire::to_json(&done).as_bytes())
    }
}

/// Whether a path from a file stays within the folder of that file.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Makes a folder and those above it.
pub(in crate::commands) fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("failed to make the folder `{}`: {error}", folder.display());
        Failure::data(message).hint("name a folder that may be written to: `--out DIR`")
    })
}

/// Removes files that we wrote; it is no error if they are not there.
pub(super) fn remove<'a>(folder: &Path, names: impl Iterator<Item = &'a str>) {
    names.for_each(|name| drop(std::fs::remove_file(folder.join(name))));
}
