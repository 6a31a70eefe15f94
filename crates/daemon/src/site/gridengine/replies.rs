//! What the commands of Grid Engine say.
//!
//! Answers are read as a whole or not at all: one that was cut off is no XML, and one that is XML
//! but of something else is no answer.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use roxmltree::{Document, Node};
use tradewind_model::{Span, Time};

use crate::site::queued::MAX_DEPENDENCIES;

/// So many requests of a job are read.
const MAX_REQUESTS: usize = 64;

/// Of `qstat -f -r -u '*' -s prs -xml`: one moment of the whole cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Status {
    /// Queues on hosts.
    pub instances: Vec<Instance>,
    /// Jobs that run or wait; those of an array by task.
    pub jobs: Vec<GridEngineJob>,
}

/// A queue on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instance {
    /// `QUEUE@HOST`.
    pub name: String,
    pub slots: u32,
    pub used: u32,
    /// Letters; empty: all is well.
    pub state: String,
}

impl Instance {
    pub(super) fn queue(&self) -> &str {
        self.name.split_once('@').map_or(self.name.as_str(), |(queue, _)| queue)
    }

    pub(super) fn host(&self) -> &str {
        self.name.split_once('@').map_or("", |(_, host)| host)
    }

    /// Whether it takes jobs. Suspended, disabled, in error, unreachable, orphaned or ambiguous
    /// ones do not, nor those whose load is too high.
    pub(super) fn is_well(&self) -> bool {
        self.state.is_empty()
    }
}

/// A job, one task of an array, or all of its tasks that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct GridEngineJob {
    /// The manager's number, with `.TASK` for one of an array.
    pub id: String,
    pub name: String,
    /// The account that it runs as.
    pub owner: String,
    /// Letters: `r` runs, `t` is on its way to its host, `w` waits, `h` is held, `E` in error, `d` is
    /// being deleted, `s`, `S`, `T` suspended.
    pub state: String,
    /// Since when it runs.
    pub since: Option<Time>,
    /// Slots in each queue instance; empty if it waits.
    pub places: BTreeMap<String, u32>,
    /// How long it may run; `None`: for ever.
    pub limit: Option<Span>,
    /// What it asks for by `-l`: amounts of complexes, as they were written.
    pub requests: BTreeMap<String, String>,
    /// Queues that it asks for; none: any will do.
    pub queues: Vec<String>,
    /// Of all its hosts together; of a range, the minimum.
    pub slots: u32,
    /// In hundred-thousandths, if it is shown.
    pub priority: Option<u64>,
    /// If it is shown: only of jobs that wait.
    pub submitted: Option<Time>,
    /// The tasks of an array that it stands for, as they are listed.
    pub tasks: String,
    /// The jobs that must end first.
    pub after: Vec<String>,
}

impl GridEngineJob {
    pub(super) fn is_placed(&self) -> bool {
        !self.places.is_empty()
    }
}

/// An advance reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AdvanceReservation {
    pub id: String,
    pub name: String,
    /// The account that made it.
    pub owner: String,
    /// Letters: `w` waits, `r` has begun, `d` is being deleted, `W`, `E` broken.
    pub state: String,
    pub from: Time,
    pub until: Time,
    /// Slots in each queue instance; only in an answer to `qrstat -ar`.
    pub places: BTreeMap<String, u32>,
}

impl Status {
    /// Reads it.
    ///
    /// # Errors
    /// If it is not the whole answer.
    pub(super) fn read(text: &str) -> Result<Status, String> {
        let document = parse(text)?;
        let root = of_kind(&document, "job_info")?;
        let (Some(queues), Some(waiting)) = (child(root, "queue_info"), child(root, "job_info"))
        else {
            return Err("its answer has no jobs and no queues".to_owned());
        };
        let mut status = Status::default();
        let mut jobs: BTreeMap<String, GridEngineJob> = BTreeMap::new();
        for queue in children(queues, "Queue-List") {
            let instance = instance(queue)?;
            for node in children(queue, "job_list") {
                let mut found = job(node)?;
                let slots = number(node, "slots")?;
                found.places.insert(instance.name.clone(), slots);
                match jobs.get_mut(&found.id) {
                    Some(known) => known.places.append(&mut found.places),
                    None => drop(jobs.insert(found.id.clone(), found)),
                }
            }
            status.instances.push(instance);
        }
        for node in children(waiting, "job_list") {
            let found = job(node)?;
            jobs.entry(found.id.clone()).or_insert(found);
        }
        status.jobs = jobs.into_values().collect();
        Ok(status)
    }
}

fn instance(node: Node<'_, '_>) -> Result<Instance, String> {
    Ok(Instance {
        name: text(node, "name")?.to_owned(),
        slots: number(node, "slots_total")?,
        used: number(node, "slots_used")?,
        state: text(node, "state").unwrap_or_default().to_owned(),
    })
}

fn job(node: Node<'_, '_>) -> Result<GridEngineJob, String> {
    let id = text(node, "JB_job_number")?;
    let id = match text(node, "tasks") {
        Ok(task) => format!("{id}.{task}"),
        Err(_) => id.to_owned(),
    };
    let requests: BTreeMap<String, String> = children(node, "hard_request")
        .filter_map(|one| Some((one.attribute("name")?.to_owned(), one.text()?.trim().to_owned())))
        .take(MAX_REQUESTS)
        .collect();
    let limit = requests.get("h_rt").and_then(|text| text.parse().ok().map(Span));
    // The short form of the name is cut in some versions.
    let name = text(node, "full_job_name").or_else(|_| text(node, "JB_name"))?;
    let since = text(node, "JAT_start_time").ok();
    let submitted = text(node, "JB_submission_time").ok();
    let all = |name| children(node, name).filter_map(|one| Some(one.text()?.trim().to_owned()));
    Ok(GridEngineJob {
        id,
        name: name.to_owned(),
        owner: text(node, "JB_owner")?.to_owned(),
        state: text(node, "state")?.to_owned(),
        since: since.map(time).transpose()?,
        places: BTreeMap::new(),
        limit,
        requests,
        queues: all("hard_req_queue").collect(),
        slots: number(node, "slots").unwrap_or(1),
        priority: text(node, "JAT_prio").ok().and_then(decimal),
        submitted: submitted.map(time).transpose()?,
        tasks: text(node, "tasks").unwrap_or_default().to_owned(),
        after: all("predecessor_jobs").take(MAX_DEPENDENCIES).collect(),
    })
}

/// `0.75000` in hundred-thousandths.
fn decimal(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{:0<5}", part.get(..5).unwrap_or(part)).parse().ok()
}

/// Of `qrstat -u '*' -xml`, and with places of `qrstat -ar … -xml`.
///
/// # Errors
/// If it is not the whole answer.
pub(super) fn reservations(answer: &str) -> Result<Vec<AdvanceReservation>, String> {
    let document = parse(answer)?;
    let root = of_kind(&document, "qrstat")?;
    let one = |node: Node<'_, '_>| {
        let slots = node.descendants().filter(|one| one.has_tag_name("granted_slots"));
        let place = |one: Node<'_, '_>| {
            let slots = one.attribute("slots")?.parse().ok()?;
            Some((one.attribute("queue_instance")?.to_owned(), slots))
        };
        Ok(AdvanceReservation {
            id: text(node, "id")?.to_owned(),
            name: text(node, "name").unwrap_or_default().to_owned(),
            owner: text(node, "owner")?.to_owned(),
            state: text(node, "state")?.to_owned(),
            from: time(text(node, "start_time")?)?,
            until: time(text(node, "end_time")?)?,
            places: slots.filter_map(place).collect(),
        })
    };
    children(root, "ar_summary").map(one).collect()
}

/// Of `qstat -j … -xml`, by the jobs' numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Details {
    /// In which reservation each job runs.
    pub reservation: BTreeMap<String, String>,
    /// Why it is in error.
    pub reason: BTreeMap<String, String>,
    /// Whether it asks for nodes to be kept free for it (`-R y`).
    pub asks: BTreeMap<String, bool>,
}

impl Details {
    /// Reads it. Numbers that are unknown by now are left out.
    ///
    /// # Errors
    /// If it is not the whole answer.
    pub(super) fn read(answer: &str) -> Result<Details, String> {
        let document = parse(answer)?;
        let mut details = Details::default();
        let jobs = document.descendants().filter(|node| child(*node, "JB_job_number").is_some());
        for node in jobs {
            let id = text(node, "JB_job_number")?.to_owned();
            if let Ok(reservation) = text(node, "JB_ar")
                && reservation != "0"
            {
                details.reservation.insert(id.clone(), reservation.to_owned());
            }
            if let Ok(asks) = text(node, "JB_reserve") {
                details.asks.insert(id.clone(), ["true", "1", "y"].contains(&asks));
            }
            let reason = node.descendants().find(|one| one.has_tag_name("QIM_message"));
            if let Some(reason) = reason.and_then(|one| one.text()) {
                details.reason.insert(id, plainly(reason).to_owned());
            }
        }
        Ok(details)
    }
}

/// The reason without date and process: `DATE TIME [UID:PID]: error: can't …`.
fn plainly(reason: &str) -> &str {
    let rest = reason.split_once("]: ").map_or(reason, |(_, rest)| rest);
    rest.trim().trim_start_matches("error: ")
}

/// What `qacct -j` knows of a job that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QacctRow {
    /// Since when it ran.
    pub since: Option<Time>,
    /// Until when.
    pub until: Option<Time>,
    /// Why it did not end by itself; 0: it did.
    pub failed: i32,
    /// Above 128: a signal.
    pub status: i32,
}

impl QacctRow {
    /// The last record of the answer: a job that was sent to a second host has two.
    pub(super) fn read(answer: &str) -> Option<QacctRow> {
        let record = answer.rsplit("=====\n").next()?;
        let value = |name: &str| {
            let line = record.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim())
        };
        let first = |name: &str| value(name)?.split_whitespace().next()?.parse().ok();
        Some(QacctRow {
            since: value("start_time").and_then(date),
            until: value("end_time").and_then(date),
            failed: first("failed")?,
            status: first("exit_status")?,
        })
    }
}

/// `Sat Nov 21 23:36:46 2026`, in the time zone that we asked in: UTC.
fn date(text: &str) -> Option<Time> {
    let rest = text.split_once(' ')?.1.trim();
    let moment = DateTime::strptime("%b %e %H:%M:%S %Y", rest).ok()?;
    Some(Time(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()))
}

/// `2026-11-21T23:36:46` in UTC; some versions write seconds since 1970.
fn time(text: &str) -> Result<Time, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Time(seconds));
    }
    let read = |text: &str| {
        let moment: DateTime = text.parse().ok()?;
        Some(Time(moment.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()))
    };
    read(text).ok_or_else(|| format!("{text:?} in its answer is no time"))
}

fn parse(text: &str) -> Result<Document<'_>, String> {
    Document::parse(text).map_err(|error| format!("its answer is damaged or cut off: {error}"))
}

fn of_kind<'a, 'i>(document: &'a Document<'i>, kind: &str) -> Result<Node<'a, 'i>, String> {
    let root = document.root_element();
    match root.has_tag_name(kind) {
        true => Ok(root),
        false => Err(format!("its answer is <{}>, not <{kind}>", root.tag_name().name())),
    }
}

fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> + use<'a, 'i> {
    node.children().filter(move |one| one.has_tag_name(name))
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

fn text<'a>(node: Node<'a, '_>, name: &'static str) -> Result<&'a str, String> {
    let found = child(node, name).and_then(|one| one.text()).map(str::trim);
    found.filter(|text| !text.is_empty()).ok_or_else(|| format!("its answer lacks <{name}>"))
}

fn number(node: Node<'_, '_>, name: &'static str) -> Result<u32, String> {
    let found = text(node, name)?;
    found.parse().map_err(|_| format!("<{name}> in its answer is {found:?}, no number"))
}

#[cfg(test)]
mod tests;
