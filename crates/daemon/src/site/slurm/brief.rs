//! Slurm's jobs without JSON, which takes it twenty times as long: what surveys need most often.

use super::asked::AskedNodes;
use super::listing::SlurmJob;
use super::{hostlist, limits, moment};

/// What [`jobs`] reads, as `squeue --format` has it.
const FIELDS: [&str; 18] = [
    "%A", "%u", "%T", "%V", "%S", "%e", "%P", "%N", "%r", "%Q", "%C", "%D", "%l", "%a", "%E", "%K",
    "%v", "%k",
];

/// The format for an answer that [`jobs`] can read. `mark` stands behind every field and must be
/// a new one each time: comments may have any text in them, also line breaks and other jobs'
/// fields, but not what nobody could know when they were written.
pub(super) fn format(mark: &str) -> String {
    FIELDS.map(|field| format!("{field}{mark}")).concat()
}

/// The jobs of a brief answer: how often they were begun, how they ended and what they have of
/// memory and accelerators it does not say.
///
/// # Errors
/// If it is cut off.
pub(super) fn jobs(answer: &str, mark: &str) -> Result<Vec<SlurmJob>, String> {
    let mut fields: Vec<&str> = answer.split(mark).collect();
    // Behind the last mark there is a line break, if anything was listed.
    let rest = fields.pop().unwrap_or_default();
    let is_whole = match fields.is_empty() {
        true => rest.is_empty(),
        false => rest == "\n" && fields.len().is_multiple_of(FIELDS.len()),
    };
    if !is_whole {
        return Err("the answer was cut off".to_owned());
    }
    let rows = fields.chunks_exact(FIELDS.len());
    rows.map(|row| job(row).ok_or_else(|| format!("no job: {row:?}"))).collect()
}

fn job(row: &[&str]) -> Option<SlurmJob> {
    let [
        id,
        user,
        state,
        submitted,
        start,
        end,
        partitions,
        nodes,
        reason,
        priority,
        cpus,
        asked @ ..,
        comment,
    ] = row
    else {
        return None;
    };
    let time = |text: &str| moment::parse(text).map_or(0, |time| time.0);
    let job = SlurmJob {
        // A line break of the row before comes first.
        id: id.trim_start().parse().ok()?,
        comment: (*comment).to_owned(),
        user: (*user).to_owned(),
        state: (*state).to_owned(),
        reason: (*reason).to_owned(),
        submitted: time(submitted),
        start: time(start),
        end: time(end),
        partitions: partitions.split(',').map(str::to_owned).collect(),
        nodes: hostlist::expand(nodes),
        cpus: cpus.parse().ok()?,
        is_held: *priority == "0",
        ..SlurmJob::default()
    };
    let is_asked = job.is_waiting() || job.is_over();
    let asked = is_asked.then(|| self::asked(priority, asked)).flatten();
    Some(SlurmJob { asked: asked.map(Box::new), ..job })
}

/// What a job asks for, of the fields behind its processors.
fn asked(priority: &str, fields: &[&str]) -> Option<AskedNodes> {
    let [nodes, limit, account, dependency, array, reservation] = fields else { return None };
    Some(AskedNodes {
        nodes: nodes.parse().unwrap_or(0),
        limit: limits::span(limit),
        priority: priority.parse().ok(),
        account: (*account).to_owned(),
        dependency: (*dependency).to_owned(),
        array: (*array).to_owned(),
        reservation: (*reservation).to_owned(),
        is_exclusive: false,
    })
}

#[cfg(test)]
mod tests {
    use tradewind_model::Span;

    use super::*;

    const ROW: [&str; 18] = [
        "7",
        "ana",
        "RUNNING",
        "2026-11-22T03:11:39",
        "2026-11-22T03:14:20",
        "NONE",
        "main,big",
        "a[1-2]",
        "None",
        "4294901759",
        "8",
        "2",
        "10:00",
        "(null)",
        "(null)",
        "N/A",
        "(null)",
        "tw-m-1-0-0 17",
    ];

    /// Rows as Slurm writes them.
    fn answer(rows: &[[&str; 18]], mark: &str) -> String {
        let row = |row: &[&str; 18]| row.map(|field| format!("{field}{mark}")).concat() + "\n";
        rows.iter().map(row).collect()
    }

    #[test]
    fn fields_are_read_whatever_a_comment_says() {
        let forged = answer(&[ROW], "<old>");
        let evil = format!("x\n{forged}8 ana COMPLETED\n\n");
        let mut other = ROW;
        (other[0], other[2], other[7], other[9], other[17]) = ("9", "PENDING", "", "0", &evil);
        let text = answer(&[ROW, other, ROW], "<new>");
        let all = jobs(&text, "<new>").unwrap();
        assert_eq!(all.iter().map(|job| job.id).collect::<Vec<_>>(), [7, 9, 7]);
        assert_eq!((all[1].comment.as_str(), all[1].is_held), (evil.as_str(), true));
        let first = &all[0];
        assert_eq!((first.end, first.start - first.submitted, first.cpus), (0, 161, 8));
        assert_eq!((first.nodes.len(), first.partitions.len(), first.is_held), (2, 2, false));
        assert_eq!(format("<new>").matches("<new>").count(), ROW.len());
        assert_eq!(jobs("", "<new>"), Ok(Vec::new()));
        let asked = all[1].asked.as_deref().unwrap();
        assert_eq!((asked.nodes, asked.limit, asked.priority), (2, Some(Span(600)), Some(0)));
        assert_eq!(first.asked, None, "it runs");
    }

    #[test]
    fn limits_of_waiting_jobs_may_be_absurd() {
        for (limit, wanted) in [
            ("3:00", Some(Span(180))),
            ("365-00:00:00", Some(Span(365 * 86_400))),
            ("UNLIMITED", None),
            ("INVALID", None),
            ("NOT_SET", None),
            ("Partition_Limit", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            let mut row = ROW;
            (row[2], row[9], row[12]) = ("PENDING", "?", limit);
            let job = jobs(&answer(&[row], "|"), "|").unwrap().remove(0);
            let asked = job.asked.unwrap();
            assert_eq!((asked.limit, asked.priority), (wanted, None), "{limit}");
        }
    }

    #[test]
    fn an_answer_that_is_cut_off_is_none() {
        let text = answer(&[ROW, ROW], "<m>");
        let row = text.len() / 2;
        for end in (1..text.len()).filter(|end| *end != row) {
            assert!(jobs(text.get(..end).unwrap(), "<m>").is_err(), "{end}");
        }
        assert!(jobs("slurm_load_jobs error: no\n", "<m>").is_err());
    }
}
