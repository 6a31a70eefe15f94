//! Values of options that are lists in a text: arrays, dependencies, classes, variables, mail.

use std::collections::{BTreeMap, BTreeSet};

use tradewind_model::{Attribute, Attributes, Pools};

use super::options::{OPTIONS, OptionSpec, Support};
use super::script::{Wrong, digits, wrong};
use super::{Array, Dependency, Mail, Submission, When};
use crate::diagnostics::{did_you_mean, excerpt};
use crate::links;

const ARRAY: &str = "write `0-9`, `1,3,5-7`, `0-9:2`, and `%4` behind it for 4 at once";

/// `0-9`, `1,3,5-7`, `0-9:2`, each with `%4`.
pub(super) fn array(text: &str) -> Result<Array, Wrong> {
    let refused = |what: &str| wrong(format!("`{}` is no part of an array", excerpt(what)), ARRAY);
    let (list, at_once) = match text.split_once('%') {
        Some((list, max)) => match digits(max).and_then(|max| u32::try_from(max).ok()) {
            Some(max @ 1..) => (list, Some(max)),
            _ => return Err(refused(max)),
        },
        None => (text, None),
    };
    let number = |text: &str| digits(text).and_then(|n| u32::try_from(n).ok());
    let mut indices = BTreeSet::new();
    let mut named = 0;
    for part in list.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (Some(low), Some(high), Some(step @ 1..)) = (number(low), number(high), number(step))
        else {
            return Err(refused(part));
        };
        if low > high || (part.contains(':') && !range.contains('-')) {
            return Err(refused(part));
        }
        // One more than allowed is enough to see that there are too many.
        let few = (low..=high).step_by(step as usize).take(Submission::MAX_ARRAY + 1);
        indices.extend(few.inspect(|_| named += 1));
        // Those that are named again count again: a short text must not be minutes of work.
        if named > Submission::MAX_ARRAY {
            let message = format!("an array of more than {} jobs", Submission::MAX_ARRAY);
            return Err(wrong(message, "submit it in parts"));
        }
    }
    Ok(Array { indices: indices.into_iter().collect(), at_once })
}

/// The text that [`array`] reads.
pub(super) fn array_text(array: &Array) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &index in &array.indices {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(index) => *last = index,
            _ => parts.push((index, index)),
        }
    }
    let show = |(low, high): &(u32, u32)| match low == high {
        true => low.to_string(),
        false => format!("{low}-{high}"),
    };
    let list = parts.iter().map(show).collect::<Vec<_>>().join(",");
    match array.at_once {
        Some(max) => format!("{list}%{max}"),
        None => list,
    }
}

pub(super) const WHEN: [(&str, When); 6] = [
    ("after", When::Begun),
    ("afterany", When::Any),
    ("aftercorr", When::Corresponding),
    ("afternotok", When::NotOk),
    ("afterok", When::Ok),
    ("singleton", When::Singleton),
];

/// Reads dependencies such as `afterok:12:13,afterany:14`.
pub(super) fn dependencies(text: &str) -> Result<Vec<Dependency>, Wrong> {
    if text.contains('?') {
        let message = "`?` (one of several) is not supported between dependencies";
        return Err(wrong(message, "separate them by `,`: all must be met"));
    }
    let mut all = Vec::new();
    for part in text.split(',') {
        let mut words = part.split(':');
        let kind = words.next().unwrap_or_default().trim();
        let Some((_, when)) = WHEN.iter().find(|(name, _)| *name == kind) else {
            return Err(unknown_kind(kind));
        };
        let jobs: Vec<&str> = words.collect();
        if *when == When::Singleton {
            if !jobs.is_empty() {
                return Err(wrong("`singleton` names no job", "write `singleton`"));
            }
            all.push(Dependency { when: *when, job: 0 });
            continue;
        }
        if jobs.is_empty() {
            return Err(wrong(format!("`{kind}` names no job"), "write `afterok:12`"));
        }
        for job in jobs {
            if job.contains(['_', '+']) {
                let message = format!("`{}` is not a job's number", excerpt(job));
                let hint = "tasks of an array (`12_3`) and delays (`12+5`) are not supported";
                return Err(wrong(message, hint));
            }
            let number = digits(job).filter(|job| (1..i64::MAX).contains(job));
            let number = number.ok_or_else(|| {
                wrong(format!("`{}` is not a job's number", excerpt(job)), "write `afterok:12:13`")
            })?;
            all.push(Dependency { when: *when, job: number.unsigned_abs() });
        }
    }
    Ok(all)
}

fn unknown_kind(kind: &str) -> Wrong {
    const OTHERS: [&str; 2] = ["afterburstbuffer", "expand"];
    if OTHERS.contains(&kind) {
        let message = format!("dependencies of the type `{kind}` are not supported");
        let hint = "use `after`, `afterok`, `afternotok`, `afterany`, `aftercorr` or `singleton`";
        return wrong(message, hint);
    }
    let message = format!("`{}` is no type of dependency", excerpt(kind));
    wrong(message, did_you_mean(kind, &WHEN.map(|(name, _)| name)))
}

pub(super) const LICENCES: &str = "write names with numbers: `abaqus:4,matlab`";

/// Whether a licence may be called so: as Slurm calls them, with the server behind `@`.
pub fn is_licence(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.+@".contains(c);
    (1..=Submission::MAX_NAME).contains(&name.len()) && name.chars().all(is_part)
}

pub(super) fn licence_count(text: &str) -> Option<u32> {
    let count = digits(text).and_then(|count| u32::try_from(count).ok());
    count.filter(|count| (1..=Pools::MAX_NODES).contains(count))
}

/// `abaqus:4,matlab`: how many of each are taken along.
pub(super) fn licences(text: &str) -> Result<BTreeMap<String, u32>, Wrong> {
    if text.contains('|') {
        let message = "`|` (one of several) is not supported between licences";
        return Err(wrong(message, "separate them by `,`: all are needed"));
    }
    let mut all = BTreeMap::new();
    for part in text.split([',', ';']) {
        let (name, count) = part.rsplit_once(':').unwrap_or((part, "1"));
        let count = licence_count(count).filter(|_| is_licence(name));
        let count = count.ok_or_else(|| {
            wrong(format!("`{}` is no number of a licence", excerpt(part)), LICENCES)
        })?;
        if all.insert(name.to_owned(), count).is_some() {
            let message = format!("the licence `{}` is named twice", excerpt(name));
            return Err(wrong(message, "name each once, with its number behind `:`"));
        }
    }
    Ok(all)
}

const DATA: &str = "write an amount and a place: `2T@alpha`, with K, M, G or T in binary units";

/// `2T@alpha`: bytes, and where they are.
pub(super) fn data_in(text: &str) -> Result<(u64, String), Wrong> {
    let found = links::size_at(text).and_then(|(bytes, place)| Some((bytes, place?.to_owned())));
    found.ok_or_else(|| wrong(format!("`{}` is no data at a place", excerpt(text)), DATA))
}

/// The same, perhaps without a place.
pub(super) fn data_out(text: &str) -> Result<(u64, Option<String>), Wrong> {
    let found = links::size_at(text).map(|(bytes, place)| (bytes, place.map(str::to_owned)));
    found.ok_or_else(|| wrong(format!("`{}` is no amount of data", excerpt(text)), DATA))
}

const FEATURES: &str = "write `a&b` (both), `a|b` (nodes of one of these classes) or `a&(b|c)`";

/// `a&b`: both are there; one group `b|c`: the class is one of them.
pub(super) fn constraint(text: &str) -> Result<Attributes, Wrong> {
    if text.contains(['[', ']', '*']) {
        let message = format!("counts and `[…]` are not supported in `{}`", excerpt(text));
        return Err(wrong(message, FEATURES));
    }
    if text.contains('|') && text.contains('&') && !text.contains('(') {
        let message = format!("`{}` mixes `&` and `|`", excerpt(text));
        return Err(wrong(message, "put `|` in parentheses: `a&(b|c)`"));
    }
    let mut all = Attributes::new();
    for part in text.split('&') {
        let part = part.trim();
        let group = part.strip_prefix('(').map_or(Some(part), |rest| rest.strip_suffix(')'));
        let names: Vec<&str> = group.unwrap_or_default().split('|').map(str::trim).collect();
        if let Some(name) = names.iter().find(|name| !is_name(name)) {
            return Err(wrong(format!("`{}` is not a feature", excerpt(name)), FEATURES));
        }
        let (name, wanted) = match names[..] {
            [one] => (one, Attribute::Flag(true)),
            _ => (CLASS, one_of(&names)),
        };
        let again = all.insert(name.to_owned(), wanted.clone());
        if again.is_some_and(|before| before != wanted) {
            return Err(wrong("several choices between classes", FEATURES));
        }
    }
    Ok(all)
}

/// The attribute by which pools name the class of their nodes.
pub(super) const CLASS: &str = "class";

/// A node's class is one of `names`, at least one.
pub(super) fn one_of(names: &[&str]) -> Attribute {
    let names: BTreeSet<&str> = names.iter().copied().collect();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    match &names[..] {
        [only] => Attribute::Text(only.clone()),
        _ => Attribute::OneOf(names),
    }
}

/// A word that features, classes, sites and pools may be named by.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "_-.+/=".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// Names with commas between, each kept once.
pub(super) fn names(text: &str) -> Result<Vec<String>, Wrong> {
    let mut all: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if !is_name(name) {
            let message = format!("`{}` is not a name", excerpt(name));
            return Err(wrong(message, "write names with commas between: `a,b`"));
        }
        if !all.iter().any(|before| before == name) {
            all.push(name.to_owned());
        }
    }
    Ok(all)
}

/// The variables that `--export` names, with their values here.
pub(super) fn export(
    text: &str,
    here: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Wrong> {
    let mut all = BTreeMap::new();
    for part in text.split(',') {
        match part.split_once('=') {
            Some((name, value)) if is_variable(name) => {
                all.insert(name.to_owned(), value.to_owned());
            }
            None if part == "ALL" => {
                let open = here.iter().filter(|(name, _)| is_open(name));
                all.extend(open.map(|(name, value)| (name.clone(), value.clone())));
            }
            None if part == "NONE" => {}
            None if part == "NIL" => {
                return Err(wrong("`NIL` is not supported", "write `NONE`"));
            }
            None if is_variable(part) => {
                let value = here.get(part).ok_or_else(|| {
                    let message = format!("the variable `{}` is not set here", excerpt(part));
                    wrong(message, format!("write `{}=VALUE`", excerpt(part)))
                })?;
                all.insert(part.to_owned(), value.clone());
            }
            _ => {
                let message = format!("`{}` is not a variable", excerpt(part));
                return Err(wrong(message, "write `NAME`, `NAME=VALUE`, `ALL` or `NONE`"));
            }
        }
    }
    Ok(all)
}

/// Whether a program may have a variable of this name.
pub(super) fn is_variable(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|c| c == b'_' || c.is_ascii_alphabetic());
    first && name.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric())
}

/// Whether `ALL` passes it on: not what is meant for the client itself, such as its token.
fn is_open(name: &str) -> bool {
    is_variable(name) && !["TRADEWIND_", "SBATCH_"].iter().any(|start| name.starts_with(start))
}

/// `BEGIN`, `END`, `FAIL`, `ALL`, `NONE`.
pub(super) fn mail(text: &str, to: Option<String>) -> Result<Option<Mail>, Wrong> {
    let mut mail = Mail { to, begin: false, end: false, fail: false };
    for word in text.split(',').map(|word| word.trim().to_uppercase()) {
        match word.as_str() {
            "BEGIN" => mail.begin = true,
            "END" => mail.end = true,
            "FAIL" => mail.fail = true,
            "ALL" => (mail.begin, mail.end, mail.fail) = (true, true, true),
            "NONE" => (mail.begin, mail.end, mail.fail) = (false, false, false),
            _ => {
                let message = format!("mail of the type `{}` is not supported", excerpt(&word));
                return Err(wrong(message, "use `BEGIN`, `END`, `FAIL`, `ALL` or `NONE`"));
            }
        }
    }
    Ok((mail.begin || mail.end || mail.fail).then_some(mail))
}

/// One plain mail address, or the name of a user of the mail system: nothing that a mail command
/// could take for more recipients, a program, a file or an option.
pub(super) fn address(text: &str) -> Result<String, Wrong> {
    match is_address(text) {
        true => Ok(text.to_owned()),
        false => {
            let message = format!("`{}` is not one plain mail address", excerpt(text));
            Err(wrong(message, "write `ana@site.example`, or the name of a user"))
        }
    }
}

/// Whether it is one plain mail address: a name and perhaps `@` and a host, of letters, digits and
/// few other characters.
pub fn is_address(text: &str) -> bool {
    const LONGEST: usize = 254;
    let (name, host) = text.split_once('@').map_or((text, None), |(name, host)| (name, Some(host)));
    let begins = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let is_of = |part: &str, more: &str| {
        begins(part) && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    text.len() <= LONGEST && is_of(name, "._+=~-") && host.is_none_or(|host| is_of(host, ".-"))
}

/// Whether a submission may have it among what is passed through.
pub(super) fn is_passed(option: &str) -> bool {
    // What earlier releases passed through; now it is part of the shape.
    let tasks = ["ntasks", "ntasks-per-node", "cpus-per-task"].contains(&option);
    let passed = |known: &OptionSpec| known.name == option && known.kind == Support::PassedThrough;
    tasks || OPTIONS.iter().any(passed)
}

#[cfg(test)]
mod tests;
