//! Numbers, lengths of time, amounts of memory and job IDs as Slurm prints them.

/// What Slurm's backfilling assumes of a job without a time limit: 365 days, in seconds.
pub(super) const YEAR_S: u32 = 365 * 86_400;

/// A time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Seconds.
    Seconds(u32),
    /// That of the partition, which the row does not say.
    OfPartition,
    /// None.
    Unlimited,
    /// The row says nothing.
    Unknown,
}

/// `2-03:04:05`, `03:04:05`, `04:05` (minutes and seconds); a fraction of a second is dropped.
pub(super) fn clock(text: &str) -> Option<u32> {
    let text = text.split_once('.').map_or(text, |(whole, _)| whole);
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (digits(days)?, rest),
        None => (0, text),
    };
    let mut seconds = 0u64;
    let mut parts = 0;
    for part in rest.split(':') {
        let value = digits(part)?;
        parts += 1;
        if parts > 1 && value > 59 {
            return None;
        }
        seconds = seconds.checked_mul(60)?.checked_add(value)?;
    }
    let whole = days.checked_mul(86_400)?.checked_add(seconds)?;
    (2..=3).contains(&parts).then(|| u32::try_from(whole).ok()).flatten()
}

/// A column `Timelimit`.
pub(super) fn limit(text: &str) -> Option<Limit> {
    words(text).or_else(|| clock(text).map(Limit::Seconds))
}

/// A column `TimelimitRaw`: minutes.
pub(super) fn limit_raw(text: &str) -> Option<Limit> {
    let minutes = || digits(text)?.checked_mul(60).and_then(|it| u32::try_from(it).ok());
    words(text).or_else(|| minutes().map(Limit::Seconds))
}

fn words(text: &str) -> Option<Limit> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    match text {
        _ if is("UNLIMITED") || is("INFINITE") => Some(Limit::Unlimited),
        _ if is("Partition_Limit") => Some(Limit::OfPartition),
        _ if is("Unknown") || is("None") || is("INVALID") => Some(Limit::Unknown),
        _ => None,
    }
}

/// A count of processors or nodes, which older versions may shorten: `16`, `1K`, `1.50K`.
pub(super) fn count(text: &str) -> Option<u32> {
    scaled(text, 1).and_then(|it| u32::try_from(it).ok())
}

/// Whole seconds.
pub(super) fn seconds(text: &str) -> Option<u32> {
    u32::try_from(digits(text)?).ok()
}

/// Requested memory, in kibibytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// Of the whole job.
    OfJob(u64),
    /// Of each node (`4Gn`).
    PerNode(u64),
    /// Of each processor (`4Gc`).
    PerProcessor(u64),
}

/// A column `ReqMem`: `4000M`, `4Gn`, `512Mc`, `0`; without a unit, mebibytes.
pub(super) fn memory(text: &str) -> Option<Memory> {
    let (amount, make): (&str, fn(u64) -> Memory) = match text.as_bytes().last()? {
        b'n' => (&text[..text.len() - 1], Memory::PerNode),
        b'c' => (&text[..text.len() - 1], Memory::PerProcessor),
        _ => (text, Memory::OfJob),
    };
    kibibytes(amount).map(make)
}

/// An amount of memory in kibibytes.
fn kibibytes(text: &str) -> Option<u64> {
    let unit = text.as_bytes().last()?;
    match unit {
        b'0'..=b'9' => scaled(text, 1_048_576).map(|bytes| bytes / 1_024),
        _ => scaled(text, 1).map(|bytes| bytes.div_ceil(1_024)),
    }
}

/// A decimal number with at most one unit of 1,024's powers, times `factor`; rounded up.
fn scaled(text: &str, factor: u64) -> Option<u64> {
    let power = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        _ => 0,
    };
    let number = if power > 0 { &text[..text.len() - 1] } else { text };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let unit = 1_024u64.checked_pow(power)?.checked_mul(factor)?;
    let whole = digits(whole)?.checked_mul(unit)?;
    if part.is_empty() {
        return Some(whole);
    }
    let part = part.get(..part.len().min(6))?;
    let tens = 10u64.pow(part.len() as u32);
    let part = (u128::from(digits(part)?) * u128::from(unit)).div_ceil(u128::from(tens));
    whole.checked_add(u64::try_from(part).ok()?)
}

/// The value of a resource in `cpu=4,mem=16G,node=1,gres/gpu=2`.
pub(super) fn tres<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.split(',')
        .find_map(|item| item.split_once('=').filter(|(key, _)| *key == name))
        .map(|(_, value)| value)
}

/// The memory in a list of resources, of the whole job, in kibibytes.
pub(super) fn tres_memory(text: &str) -> Option<Memory> {
    kibibytes(tres(text, "mem")?).map(Memory::OfJob)
}

/// What a column `JobID` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobId {
    /// A job: its number, and which part of it: 0, or the index of a task of an array plus 1, or
    /// with [`HET`] the offset of a component.
    Job { job: u32, part: u32 },
    /// A step of a job: not a job.
    Step,
}

/// Set in the part of a component of a heterogeneous job.
pub(super) const HET: u32 = 1 << 31;

/// `123`, `123_4`, `123_[5-9%2]`, `123+0`; with `.batch`, `.extern` or `.0` a step.
pub(super) fn job_id(text: &str) -> Option<JobId> {
    let (job, step) = match text.split_once('.') {
        Some((job, step)) => (job, Some(step)),
        None => (text, None),
    };
    let (number, part) = if let Some((number, task)) = job.split_once('_') {
        (number, first_task(task)?.checked_add(1).filter(|it| it & HET == 0)?)
    } else if let Some((number, offset)) = job.split_once('+') {
        (number, small(offset).filter(|it| it & HET == 0)? | HET)
    } else {
        (job, 0)
    };
    let job = small(number)?;
    match step {
        Some("") => None,
        Some(_) => Some(JobId::Step),
        None => Some(JobId::Job { job, part }),
    }
}

/// The first task of `4` or `[5-9%2]` or `[1,3-5]`; a list that Slurm shortened ends with `...`.
fn first_task(text: &str) -> Option<u32> {
    match text.strip_prefix('[') {
        None => small(text),
        Some(list) => {
            let end = list.find(|c: char| !c.is_ascii_digit()).unwrap_or(list.len());
            let rest = &list[end..];
            rest.starts_with([']', '-', ',', '%', ':', '.']).then(|| small(&list[..end])).flatten()
        }
    }
}

fn small(text: &str) -> Option<u32> {
    u32::try_from(digits(text)?).ok()
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
