//! Networks between sites, and the data of jobs, in scenarios, grid files and configurations.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tradewind_model::{JobData, Link, Links, LinksError, Resource, Site, Staging};

use crate::decimal;
use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{Fields, Notes};
use crate::memory;
use crate::value::{Value, ValueKind};

const LINK_KEYS: [&str; 2] = ["between", "bandwidth"];
const DATA_KEYS: [&str; 4] = ["input", "from", "output", "to"];

/// Units of bandwidth, the largest first, with the decimals that make bits per second of them.
const UNITS: [(&str, u32); 5] =
    [("Tbit/s", 12), ("Gbit/s", 9), ("Mbit/s", 6), ("kbit/s", 3), ("bit/s", 0)];

const BANDWIDTH_FORMS: &str =
    "write it as `\"10 Gbit/s\"` or `\"800 Mbit/s\"`: what one job gets, in decimal units";
const SIZE_FORMS: &str = "write it as `\"2 TB\"` or `\"100G\"`: K, M, G or T, in binary units";

/// Bits per second of a text such as `10 Gbit/s`, if there is at least one.
pub fn bandwidth(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (_, decimals) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let bits = decimal::parse(number, decimals).ok()?;
    u64::try_from(bits).ok().filter(|bits| *bits > 0)
}

/// The bandwidth in the largest unit in which it is a whole number.
pub fn bandwidth_text(bits: u64) -> String {
    let whole = |(_, decimals): &&(&str, u32)| bits.is_multiple_of(10_u64.pow(*decimals));
    let (name, decimals) = UNITS.iter().find(whole).copied().unwrap_or(("bit/s", 0));
    format!("{} {name}", bits / 10_u64.pow(decimals))
}

/// Bytes of a text such as `2 TB` or `100G`.
pub fn size(text: &str) -> Option<u64> {
    memory::kib(text)?.checked_mul(1 << 10)
}

/// An amount of data in the largest binary unit that is exact.
pub fn size_text(bytes: u64) -> String {
    Resource::Memory.show(bytes >> 10)
}

/// The list `key` of networks. Each has a site at one end at least.
pub(crate) fn read(
    (fields, key): (&Fields<'_, '_>, &str),
    sites: &[&str],
    notes: &mut Notes<'_>,
) -> Links {
    let mut links = Links::default();
    for (i, item) in fields.list(key, notes).unwrap_or_default().iter().enumerate() {
        let Some(it) = Fields::of(item, format!("{key}[{i}]"), &LINK_KEYS, notes) else { continue };
        it.require(&LINK_KEYS, notes);
        let (between, bandwidth) = (ends(&it, sites, notes), bandwidth_of(&it, notes));
        let Some((between, bandwidth)) = between.zip(bandwidth) else { continue };
        if let Err(wrong) = links.add(Link { between, bandwidth }) {
            notes.error(it.line, &it.path, wrong.to_string(), "leave this link out");
        }
    }
    links
}

fn ends(it: &Fields<'_, '_>, sites: &[&str], notes: &mut Notes<'_>) -> Option<[String; 2]> {
    let items = it.list("between", notes)?;
    let name = |value: &Value<'_>| match &value.kind {
        ValueKind::Text(text) if !text.is_empty() => Some(text.to_string()),
        _ => None,
    };
    let (line, place) = (it.line_of("between"), it.place("between"));
    let [Some(one), Some(other)] = &items.iter().map(name).collect::<Vec<_>>()[..] else {
        let hint = "name both ends: `between = [\"alpha\", \"beta\"]`";
        notes.error(line, &place, "a link has two ends".to_owned(), hint);
        return None;
    };
    if !sites.contains(&one.as_str()) && !sites.contains(&other.as_str()) {
        let (shown, also) = (excerpt(one), excerpt(other));
        let message = format!("neither `{shown}` nor `{also}` is a site");
        notes.error(line, &place, message, &did_you_mean(one, sites));
        return None;
    }
    Some([one.clone(), other.clone()])
}

fn bandwidth_of(it: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<u64> {
    let text = it.text("bandwidth", notes)?;
    let bits = bandwidth(text);
    if bits.is_none() {
        let message = format!("`{}` is no bandwidth", excerpt(text));
        notes.error(it.line_of("bandwidth"), &it.place("bandwidth"), message, BANDWIDTH_FORMS);
    }
    bits
}

/// The table `data` of a job. `None`: there is none, or it has mistakes.
pub(crate) fn data(
    job: &Fields<'_, '_>,
    (links, sites): (&Links, &[Site]),
    notes: &mut Notes<'_>,
) -> Option<Arc<Staging>> {
    let (data, line, place) = data_alone(job, notes)?;
    links
        .stage(sites, data)
        .map_err(|wrong| unknown(&wrong, (line, &place), (links, sites), notes))
        .ok()
}

/// The same without a word of where it can be brought; with its line and place in the document.
pub(crate) fn data_alone(
    job: &Fields<'_, '_>,
    notes: &mut Notes<'_>,
) -> Option<(JobData, u32, String)> {
    let it = Fields::of(job.get("data")?, job.place("data"), &DATA_KEYS, notes)?;
    let before = notes.diagnostics.errors();
    let (input, output) = (bytes(&it, "input", notes), bytes(&it, "output", notes));
    let (from, to) = (it.text("from", notes), it.text("to", notes).or(it.text("from", notes)));
    let mut lacks = |size: &str, place: &str| {
        let message = format!("`{size}`, and no `{place}`");
        notes.error(it.line, &it.path, message, "name the site, or another end of a link");
    };
    match (input, from, output, to) {
        (Some(_), None, ..) => lacks("input", "from"),
        (_, _, Some(_), None) => lacks("output", "to"),
        _ => {}
    }
    let place = |bytes: u64, name: Option<&str>| match bytes {
        0 => String::new(),
        _ => name.unwrap_or_default().to_owned(),
    };
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let data = JobData { input, from: place(input, from), output, to: place(output, to) };
    let is_good = notes.diagnostics.errors() == before && (input > 0 || output > 0);
    is_good.then(|| (data, it.line, it.path.clone()))
}

fn unknown(
    wrong: &LinksError,
    (line, place): (u32, &str),
    (links, sites): (&Links, &[Site]),
    notes: &mut Notes<'_>,
) {
    let name = match wrong {
        LinksError::UnknownPlace(name) => name.as_str(),
        _ => "",
    };
    let known: Vec<&str> =
        sites.iter().map(|site| site.name.as_str()).chain(links.places()).collect();
    notes.error(line, place, wrong.to_string(), &did_you_mean(name, &known));
}

/// `2T@alpha`: an amount of data and where it is; without `@`, no place.
pub fn size_at(text: &str) -> Option<(u64, Option<&str>)> {
    let (amount, place) = match text.split_once('@') {
        Some((amount, place)) => (amount, Some(place).filter(|place| !place.is_empty())?.into()),
        None => (text, None),
    };
    size(amount).filter(|bytes| *bytes > 0).map(|bytes| (bytes, place))
}

fn bytes(it: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<u64> {
    let text = it.text(key, notes)?;
    let bytes = size(text);
    if bytes.is_none() {
        let message = format!("`{}` is no amount of data", excerpt(text));
        notes.error(it.line_of(key), &it.place(key), message, SIZE_FORMS);
    }
    bytes
}

/// A link as fields of a JSON table.
pub(crate) fn written(link: &Link) -> [(&'static str, Option<Json>); 2] {
    let bandwidth = json!(bandwidth_text(link.bandwidth));
    [("between", Some(json!(link.between))), ("bandwidth", Some(bandwidth))]
}

/// A job's data as it is read by [`data`].
pub(crate) fn data_json(data: &JobData) -> Json {
    let JobData { input, from, output, to } = data;
    let mut table = serde_json::Map::new();
    for ((size, bytes), (place, name)) in
        [(("input", input), ("from", from)), (("output", output), ("to", to))]
    {
        if *bytes > 0 {
            table.insert(size.to_owned(), json!(size_text(*bytes)));
            table.insert(place.to_owned(), json!(name));
        }
    }
    Json::Object(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_decimal_and_sizes_are_binary() {
        assert_eq!(bandwidth("10 Gbit/s"), Some(10_000_000_000));
        assert_eq!(bandwidth("0.5Mbit/s"), Some(500_000));
        assert_eq!(bandwidth("8 bit/s"), Some(8));
        for wrong in ["10", "0 Gbit/s", "10 GB/s", "0.5 bit/s", "-1 Gbit/s", "Gbit/s", ""] {
            assert_eq!(bandwidth(wrong), None, "{wrong}");
        }
        assert_eq!(bandwidth_text(10_000_000_000), "10 Gbit/s");
        assert_eq!(bandwidth_text(1_500_000), "1500 kbit/s");
        assert_eq!(bandwidth_text(7), "7 bit/s");
        assert_eq!(size("2 TB"), Some(2 << 40));
        assert_eq!(size_text(2 << 40), "2 TB");
        assert_eq!(size("20000000000T"), None);
    }
}
