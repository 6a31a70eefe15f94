//! Which of Slurm's words say that a job met a limit, and how long that holds.
//!
//! `sbatch` names a limit of an association or a QOS by one word on a line of its own, which is
//! also the reason of a job that waits; limits of partitions by sentences, which differ between
//! versions. What is not known here is a refusal like any other.

use crate::site::limits::{Cap, Holds};

/// Reasons of jobs that wait, and words of `sbatch`, that begin with neither `Assoc` nor `QOS`.
const WORDS: [(&str, Holds); 12] = [
    ("PartitionTimeLimit", Holds::ForThisJob),
    ("PartitionNodeLimit", Holds::ForThisJob),
    ("MaxMemPerLimit", Holds::ForThisJob),
    ("AssociationTimeLimit", Holds::ForThisJob),
    ("AssociationJobLimit", Holds::ForNow),
    ("AssociationResourceLimit", Holds::ForNow),
    ("MaxSubmitJobsPerAccount", Holds::ForNow),
    ("MaxJobsPerAccount", Holds::ForNow),
    ("InvalidAccount", Holds::ForThisUser),
    ("AccountNotAllowed", Holds::ForThisUser),
    ("InvalidQOS", Holds::ForThisJob),
    ("QOSNotAllowed", Holds::ForThisJob),
];

/// Parts of sentences, in lower case, and the word that we use for them. The first that is found
/// counts.
const SENTENCES: [(&str, Holds, &str); 14] = [
    ("invalid account or account/partition", Holds::ForThisUser, "InvalidAccount"),
    ("account not permitted to use this partition", Holds::ForThisUser, "AccountNotAllowed"),
    ("group not permitted to use this partition", Holds::ForThisUser, "GroupNotAllowed"),
    ("qos not permitted to use this partition", Holds::ForThisJob, "QOSNotAllowed"),
    ("invalid qos", Holds::ForThisJob, "InvalidQOS"),
    ("time limit is invalid", Holds::ForThisJob, "PartitionTimeLimit"),
    ("time limit specification", Holds::ForThisJob, "PartitionTimeLimit"),
    ("node count specification invalid", Holds::ForThisJob, "PartitionNodeLimit"),
    ("more nodes than permitted", Holds::ForThisJob, "PartitionNodeLimit"),
    ("memory required by task is not available", Holds::ForThisJob, "MaxMemPerLimit"),
    ("unable to accept job", Holds::ForNow, "MaxJobCount"),
    ("job queue full", Holds::ForNow, "MaxJobCount"),
    ("resource temporarily unavailable", Holds::ForNow, "MaxJobCount"),
    ("violates accounting/qos policy", Holds::ForNow, "JobViolatesPolicy"),
];

/// What `sbatch` said on standard error when it would not take a job.
pub(super) fn of_refusal(said: &str) -> Option<Cap> {
    let words = said.split(|c: char| c.is_whitespace() || ":,;()".contains(c));
    words.into_iter().find_map(of_word).or_else(|| of_sentence(said))
}

/// The reason for which a job waits.
pub(super) fn of_reason(reason: &str) -> Option<Cap> {
    of_word(reason.trim()).or_else(|| of_sentence(reason))
}

fn of_sentence(said: &str) -> Option<Cap> {
    let said = said.to_lowercase();
    let found = SENTENCES.iter().find(|(part, ..)| said.contains(part));
    found.map(|(_, holds, word)| Cap { holds: *holds, word: (*word).to_owned() })
}

fn of_word(word: &str) -> Option<Cap> {
    let known = WORDS.iter().find(|(known, _)| *known == word).map(|(_, holds)| *holds);
    let holds = known.or_else(|| of_family(word))?;
    Some(Cap { holds, word: word.to_owned() })
}

/// Limits of associations and of QOS: `AssocGrpCpuLimit`, `QOSMaxWallDurationPerJobLimit`.
fn of_family(word: &str) -> Option<Holds> {
    let limit = word.strip_prefix("Assoc").or_else(|| word.strip_prefix("QOS"))?;
    let is_of_job = ["PerJob", "PerNode"].iter().any(|part| limit.contains(part));
    match limit {
        "JobLimit" | "ResourceLimit" | "UsageThreshold" => Some(Holds::ForNow),
        "TimeLimit" => Some(Holds::ForThisJob),
        _ if limit.starts_with("Min") => Some(Holds::ForThisJob),
        _ if limit.starts_with("Max") && is_of_job => Some(Holds::ForThisJob),
        _ if limit.starts_with("Max") || limit.starts_with("Grp") => Some(Holds::ForNow),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Holds::{ForNow, ForThisJob, ForThisUser};

    const POLICY: &str = "Batch job submission failed: Job violates accounting/QOS policy (job \
                          submit limit, user's size and/or time limits)";

    fn refused(words: &[&str]) -> Option<(Holds, String)> {
        let said: String = words.iter().map(|line| format!("sbatch: error: {line}\n")).collect();
        of_refusal(&said).map(|cap| (cap.holds, cap.word))
    }

    /// As `sbatch` of 22.05 says it; tried on a cluster with slurmdbd.
    #[test]
    fn sbatch_names_the_limit_that_a_job_met() {
        for (word, holds) in [
            ("AssocMaxSubmitJobLimit", ForNow),
            ("AssocGrpSubmitJobsLimit", ForNow),
            ("QOSMaxSubmitJobPerUserLimit", ForNow),
            ("QOSGrpSubmitJobsLimit", ForNow),
            ("MaxSubmitJobsPerAccount", ForNow),
            ("QOSMaxCpuPerUserLimit", ForNow),
            ("QOSMaxWallDurationPerJobLimit", ForThisJob),
            ("QOSMaxNodePerJobLimit", ForThisJob),
            ("QOSMaxCpuPerJobLimit", ForThisJob),
            ("QOSMinNode", ForThisJob),
        ] {
            assert_eq!(refused(&[word, POLICY]), Some((holds, word.to_owned())), "{word}");
        }
        let failed = |why: &str| refused(&[&format!("Batch job submission failed: {why}")]);
        for (why, holds, word) in [
            (
                "Invalid account or account/partition combination specified",
                ForThisUser,
                "InvalidAccount",
            ),
            ("Invalid qos specification", ForThisJob, "InvalidQOS"),
            (
                "Requested time limit is invalid (missing or exceeds some limit)",
                ForThisJob,
                "PartitionTimeLimit",
            ),
            ("Node count specification invalid", ForThisJob, "PartitionNodeLimit"),
            ("Memory required by task is not available", ForThisJob, "MaxMemPerLimit"),
            ("Resource temporarily unavailable", ForNow, "MaxJobCount"),
        ] {
            assert_eq!(failed(why), Some((holds, word.to_owned())), "{why}");
        }
        let full = "Slurm temporarily unable to accept job, sleeping and retrying";
        assert_eq!(refused(&[full]), Some((ForNow, "MaxJobCount".to_owned())));
        assert_eq!(refused(&[POLICY]), Some((ForNow, "JobViolatesPolicy".to_owned())));
    }

    #[test]
    fn other_refusals_are_no_caps() {
        for said in [
            "Batch job submission failed: Requested node configuration is not available",
            "invalid partition specified: nosuch",
            "Batch job submission failed: Invalid partition name specified",
            "Unable to open file /tmp/x",
            "AssociationSomethingNew",
            "",
        ] {
            assert_eq!(refused(&[said]), None, "{said}");
        }
    }

    #[test]
    fn a_job_may_wait_for_a_limit() {
        let reason = |text: &str| of_reason(text).map(|cap| cap.holds);
        for text in [
            "AssocMaxJobsLimit",
            "AssocGrpJobsLimit",
            "AssocGrpNodeLimit",
            "AssocGrpCpuLimit",
            "AssocGrpCPUMinutesLimit",
            "QOSMaxJobsPerUserLimit",
            "QOSGrpJobsLimit",
            "QOSMaxGRESPerUser",
        ] {
            assert_eq!(reason(text), Some(ForNow), "{text}");
        }
        for text in [
            "PartitionTimeLimit",
            "PartitionNodeLimit",
            "MaxMemPerLimit",
            "AssocMaxWallDurationPerJobLimit",
            "AssocMaxNodePerJobLimit",
            "AssocMaxCpuMinutesPerJobLimit",
            "QOSMaxCpuPerNode",
            "QOSMinCpuNotSatisfied",
            "Job's QOS not permitted to use this partition (qosp allows high not normal)",
        ] {
            assert_eq!(reason(text), Some(ForThisJob), "{text}");
        }
        let account =
            "Job's account not permitted to use this partition (acct allows other not root)";
        assert_eq!(reason(account), Some(ForThisUser));
        for text in ["None", "Priority", "Resources", "JobHeldUser", "BeginTime", "Dependency"] {
            assert_eq!(reason(text), None, "{text}");
        }
    }
}
