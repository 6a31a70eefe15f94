//! The document's tree becomes settings, or the list of all its mistakes.

use std::net::SocketAddr;

use jiff::tz::TimeZone;
use tradewind_model::{Links, Span};

use super::SiteKind;
use super::schedule::{LoadRange, Rule, Schedule};
use super::{
    Credits, Estimates, Hours, Listen, Market, Notify, Project, Settings, Tls, UserLimits,
    Volunteer, hours, journal, peers, sign_in, sites, store,
};
use crate::decimal;
use crate::diagnostics::{Diagnostics, excerpt};
use crate::fields::{Fields, Notes, TEXT, hint_for};
use crate::hidden::is_hidden;
use crate::input::Input;
use crate::kind;
use crate::licences;
use crate::links;
use crate::scenario::NameLines;
use crate::submission::TIMES;
use crate::value::{self, ValueKind};

pub(super) fn parse(input: &Input) -> Result<(Settings, Diagnostics), Diagnostics> {
    let document = value::parse(input)?;
    let mut notes = Notes::new(&input.name);
    let settings = Fields::of(&document, String::new(), &kind::CONFIGURATION, &mut notes)
        .map(|fields| settings(&fields, &input.name, &mut notes));
    notes.diagnostics.finish(settings)
}

fn settings(fields: &Fields<'_, '_>, document: &str, notes: &mut Notes<'_>) -> Settings {
    let sites = sites::sites(fields, document, notes);
    let settings = Settings {
        zone: zone(fields, notes),
        market: table(
            fields,
            "market",
            &["policy", "rules", "gather", "slack", "advice", "choose", "estimates"],
            notes,
            market,
        ),
        listen: table(fields, "listen", &["address", "certificate", "key", "hosts"], notes, listen),
        sign_in: table(fields, "sign_in", &sign_in::KEYS, notes, sign_in::sign_in),
        limits: table(fields, "limits", &LIMITS, notes, limits),
        store: store::store(fields, notes),
        standby: table(fields, "standby", &store::STANDBY_KEYS, notes, store::standby),
        journal: table(fields, "journal", &journal::KEYS, notes, journal::journal),
        money: table(fields, "money", &["new_user_grant"], notes, money),
        notify: table(fields, "notify", &NOTIFY, notes, notify),
        shared_account: super::cluster::flag(fields, "shared_account", notes).unwrap_or(false),
        electricity_from: sites.has_files.then(|| document.to_owned()),
        sites: sites.offered,
        observed: sites.observed,
        projects: projects(fields, notes),
        licences: Vec::new(),
        links: Links::default(),
        peers: peers::read(fields, notes),
    };
    let names: Vec<&str> = settings.sites.iter().map(|site| site.name.as_str()).collect();
    let licences = licences::read((fields, &licences::KEYS), &names, notes, |_, _| ());
    let licences = licences.into_iter().map(|(owned, ())| owned).collect();
    let links = links::read((fields, "link"), &names, notes);
    let settings = Settings { licences, links, ..settings };
    meetings(&settings, fields, notes);
    settings
}

/// Warns of sites that are surveyed so rarely that a part of a job may be ready without the market
/// knowing before the others have waited long enough: such jobs time out at the start barrier until
/// they are held.
fn meetings(settings: &Settings, fields: &Fields<'_, '_>, notes: &mut Notes<'_>) {
    let gather = settings.market.gather;
    for (place, site) in settings.sites.iter().enumerate() {
        let (SiteKind::Slurm(cluster) | SiteKind::GridEngine(cluster)) = &site.kind else {
            continue;
        };
        // One look when the job is submitted, one at which all parts must be there.
        let min = Span(2 * cluster.survey_every.0);
        if settings.sites.len() > 1 && gather < min {
            let message = format!(
                "looked at every {} s, and parts of a job wait {} s for each other: jobs with a \
                 part at {:?} may never begin",
                cluster.survey_every.0, gather.0, site.name
            );
            let hint = format!("set `market.gather` to {} s or more, or look more often", min.0);
            let field = format!("site[{place}].survey_every");
            notes.warning(fields.line_of("site"), &field, message, &hint);
        }
    }
}

/// What `read` makes of the table `key`; the default without one.
fn table<T: Default>(
    fields: &Fields<'_, '_>,
    key: &str,
    keys: &[&str],
    notes: &mut Notes<'_>,
    read: impl Fn(&Fields<'_, '_>, &mut Notes<'_>) -> T,
) -> T {
    let table = fields.get(key).and_then(|it| Fields::of(it, fields.place(key), keys, notes));
    table.map(|table| read(&table, notes)).unwrap_or_default()
}

/// A text as a value of its own.
pub(super) fn text(fields: &Fields<'_, '_>, key: &str, notes: &mut Notes<'_>) -> Option<String> {
    fields.text(key, notes).map(str::to_owned)
}

/// The texts of a list, and their lines.
pub(super) fn texts(
    fields: &Fields<'_, '_>,
    key: &str,
    notes: &mut Notes<'_>,
) -> Vec<(String, u32)> {
    let mut all = Vec::new();
    for (i, item) in fields.list(key, notes).unwrap_or_default().iter().enumerate() {
        match &item.kind {
            ValueKind::Text(text) if !text.is_empty() && !text.chars().any(is_hidden) => {
                all.push((text.to_string(), item.line));
            }
            _ => {
                let message = format!("expected a text, found {}", item.describe());
                let place = format!("{}[{i}]", fields.place(key));
                notes.error(item.line, &place, message, hint_for(TEXT));
            }
        }
    }
    all
}

fn zone(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<TimeZone> {
    let name = fields.text("time_zone", notes)?;
    let zone = TimeZone::get(name).ok();
    if zone.is_none() {
        let message = format!("unknown time zone `{}`", excerpt(name));
        let hint = "write a name of the IANA database, such as `UTC` or `Europe/Madrid`";
        notes.error(fields.line_of("time_zone"), "time_zone", message, hint);
    }
    zone
}

const VOLUNTEERS: [(&str, Volunteer); 3] =
    [("load", Volunteer::Load), ("start", Volunteer::Start), ("cost", Volunteer::Cost)];

fn market(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Market {
    let mut rules = Vec::new();
    for (i, item) in fields.list("rules", notes).unwrap_or_default().iter().enumerate() {
        let path = format!("{}[{i}]", fields.place("rules"));
        let Some(rule) = Fields::of(item, path, &["hours", "load", "policy"], notes) else {
            continue;
        };
        rule.require(&["policy"], notes);
        let (hours, load) = (hours(&rule, notes), load(&rule, notes));
        if let Some(value) = text(&rule, "policy", notes) {
            rules.push(Rule { hours, load, value });
        }
    }
    let policy = text(fields, "policy", notes).unwrap_or_else(|| Market::default().policy);
    let max = crate::submission::Submission::MAX_GATHER;
    let gather = fields.span("gather", 1..=max.0, notes);
    let gather = gather.unwrap_or(Market::default().gather);
    let slack = fields.span("slack", 1..=3_600, notes).unwrap_or(Market::default().slack);
    let advice = super::cluster::flag(fields, "advice", notes).unwrap_or(true);
    let choose = fields.word("choose", &VOLUNTEERS, notes).unwrap_or_default();
    let estimates = fields.word("estimates", &ESTIMATES, notes).unwrap_or_default();
    Market { policy, rules: Schedule { rules }, gather, slack, advice, choose, estimates }
}

const ESTIMATES: [(&str, Estimates); 2] =
    [("requested", Estimates::Requested), ("learned", Estimates::Learned)];

/// `[[project]]`.
fn projects(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<Project> {
    let mut names = NameLines::default();
    let mut all = Vec::new();
    for (i, item) in fields.list("project", notes).unwrap_or_default().iter().enumerate() {
        let path = format!("project[{i}]");
        let Some(it) = Fields::of(item, path, &["name", "times"], notes) else { continue };
        it.require(&["name"], notes);
        let name = names.take(&it, "project", notes).unwrap_or_default();
        all.push(Project { name, times: it.word("times", &TIMES, notes) });
    }
    all
}

/// The field `hours`; always without one.
pub(super) fn hours(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Hours {
    let Some(text) = fields.text("hours", notes) else { return Hours::always() };
    Hours::parse(text).unwrap_or_else(|| {
        let message = format!("`{}` are no hours", excerpt(text));
        notes.error(fields.line_of("hours"), &fields.place("hours"), message, hours::FORMS);
        Hours::always()
    })
}

/// The field `load`: `>=0.8`, `<0.5`, or `0.5-0.8` (from, below); any without one.
pub(super) fn load(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> LoadRange {
    let Some(text) = fields.text("load", notes) else { return LoadRange::ANY };
    load_of(text).unwrap_or_else(|| {
        let message = format!("`{}` is no range of loads", excerpt(text));
        let hint = "write `>=0.8`, `<0.5`, or `0.5-0.8` for both: loads are from 0 to 1";
        notes.error(fields.line_of("load"), &fields.place("load"), message, hint);
        LoadRange::ANY
    })
}

fn load_of(text: &str) -> Option<LoadRange> {
    let share = |text: &str| {
        let thousandths = decimal::parse(text.trim(), 3).ok()?;
        u32::try_from(thousandths).ok().filter(|it| *it <= 1_000)
    };
    if let Some(from) = text.strip_prefix(">=") {
        return Some(LoadRange { from: share(from)?, below: None });
    }
    let (from, below) = match text.strip_prefix('<') {
        Some(below) => (0, share(below)?),
        None => {
            let (from, below) = text.split_once('-')?;
            (share(from)?, share(below)?)
        }
    };
    (from < below).then_some(LoadRange { from, below: Some(below) })
}

fn listen(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Listen {
    let usual = Listen::default();
    let address = fields.text("address", notes).and_then(|text| {
        let found = text.parse::<SocketAddr>().ok();
        if found.is_none() {
            let message = format!("`{}` is no address with a port", excerpt(text));
            let hint = "write `127.0.0.1:8460`, or `[::]:8460` for all interfaces";
            notes.error(fields.line_of("address"), &fields.place("address"), message, hint);
        }
        found
    });
    let (certificate, key) = (text(fields, "certificate", notes), text(fields, "key", notes));
    let tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Tls { certificate, key }),
        (None, None) => None,
        _ => {
            let message = "`certificate` and `key` belong together".to_owned();
            notes.error(fields.line, &fields.path, message, "give both files, or none");
            None
        }
    };
    let address = address.unwrap_or(usual.address);
    if !address.ip().is_loopback() && tls.is_none() {
        let message = format!("`{address}` is reached from elsewhere, and there is no TLS");
        let hint = "give `certificate` and `key`, or listen on `127.0.0.1`";
        notes.error(fields.line_of("address"), &fields.place("address"), message, hint);
    }
    Listen { address, tls, hosts: hosts(fields, notes) }
}

/// Names of hosts, without scheme and port.
fn hosts(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Vec<String> {
    let is_name = |text: &str| {
        let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !text.is_empty() && text.chars().all(good)
    };
    let mut names = Vec::new();
    for (name, line) in texts(fields, "hosts", notes) {
        if !is_name(&name) {
            let message = format!("`{}` is no name of a host", excerpt(&name));
            let hint = "write the name alone, as in `market.example.org`";
            notes.error(line, &fields.place("hosts"), message, hint);
        }
        names.push(name);
    }
    names
}

/// The keys of `[limits]`, and the most that each may be.
const LIMITS: [&str; 19] = [
    "requests_per_second",
    "body",
    "jobs_per_user",
    "jobs",
    "job_megabytes_per_user",
    "job_megabytes",
    "environment_bytes",
    "environment_variables",
    "submissions_per_second",
    "submission_bytes_per_second",
    "connections",
    "connections_per_address",
    "connections_per_user",
    "streams",
    "streams_per_user",
    "advice",
    "advice_per_user",
    "advice_waiting",
    "advice_seconds",
];

fn limits(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> UserLimits {
    let usual = UserLimits::default();
    let mut whole = |key: &str, max: i64, usual: u32| {
        let found = fields.whole(key, 1..=max, notes);
        found.and_then(|it| u32::try_from(it).ok()).unwrap_or(usual)
    };
    const MANY: i64 = 10_000_000;
    const PLACES: i64 = 1_000_000;
    const BYTES: i64 = 1 << 30;
    UserLimits {
        requests_per_second: whole("requests_per_second", 1_000_000, usual.requests_per_second),
        body: whole("body", BYTES, usual.body),
        jobs_per_user: whole("jobs_per_user", MANY, usual.jobs_per_user),
        jobs: whole("jobs", MANY, usual.jobs),
        job_megabytes_per_user: whole("job_megabytes_per_user", MANY, usual.job_megabytes_per_user),
        job_megabytes: whole("job_megabytes", MANY, usual.job_megabytes),
        environment_bytes: whole("environment_bytes", BYTES, usual.environment_bytes),
        environment_variables: whole("environment_variables", MANY, usual.environment_variables),
        submissions_per_second: whole("submissions_per_second", MANY, usual.submissions_per_second),
        submission_bytes_per_second: {
            whole("submission_bytes_per_second", BYTES, usual.submission_bytes_per_second)
        },
        connections: whole("connections", PLACES, usual.connections),
        connections_per_address: {
            whole("connections_per_address", PLACES, usual.connections_per_address)
        },
        connections_per_user: whole("connections_per_user", PLACES, usual.connections_per_user),
        streams: whole("streams", PLACES, usual.streams),
        streams_per_user: whole("streams_per_user", PLACES, usual.streams_per_user),
        advice: whole("advice", 1_000, usual.advice),
        advice_per_user: whole("advice_per_user", 1_000, usual.advice_per_user),
        advice_waiting: whole("advice_waiting", 1_000, usual.advice_waiting),
        advice_seconds: whole("advice_seconds", 3_600, usual.advice_seconds),
    }
}

fn money(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Credits {
    let usual = Credits::default();
    Credits {
        new_user_grant: fields.money("new_user_grant", notes).unwrap_or(usual.new_user_grant),
    }
}

const NOTIFY: [&str; 3] = ["webhooks", "webhook_secret_file", "mail_command"];

fn notify(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Notify {
    let webhooks = texts(fields, "webhooks", notes);
    for (i, (url, line)) in webhooks.iter().enumerate() {
        check_url(url, (*line, &format!("{}[{i}]", fields.place("webhooks"))), notes);
    }
    let plain = |all: Vec<(String, u32)>| all.into_iter().map(|(text, _)| text).collect();
    Notify {
        webhooks: plain(webhooks),
        webhook_secret_file: text(fields, "webhook_secret_file", notes),
        mail_command: plain(texts(fields, "mail_command", notes)),
    }
}

/// Secrets travel encrypted, or do not leave the machine.
pub(super) fn check_url(url: &str, (line, place): (u32, &str), notes: &mut Notes<'_>) {
    let host = |rest: &str| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let bare = match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        };
        bare.to_owned()
    };
    let good = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => !host(rest).is_empty(),
        (_, Some(rest)) => ["localhost", "127.0.0.1", "::1"].contains(&host(rest).as_str()),
        _ => false,
    };
    if !good || url.contains(['@', ' ']) {
        let message = format!("`{}` is no address that may be called", excerpt(url));
        let hint = "write `https://HOST/PATH`; `http://` on this machine only, no passwords";
        notes.error(line, place, message, hint);
    }
}
