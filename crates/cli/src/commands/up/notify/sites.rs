//! Mails about sites that fail: to their owners, to administrators, and to users whose jobs they
//! touch and who want mail of these jobs.
//!
//! A failure that is over within a minute is no mail, nor are drained nodes that keep no job from its start.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tradewind_daemon::engine::{EngineStopped, Handle};
use tradewind_daemon::live::Live;
use tradewind_daemon::live::rights::Role;
use tradewind_web::Notice;
use tradewind_web::documents::Event;

use super::mail::Mail;

/// So long a failure must last.
const LASTS: Duration = Duration::from_secs(60);

/// How much of a site fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// It lacks some nodes, and works: that is a mail if it keeps jobs from their starts.
    Some,
    /// Nothing is planned there.
    All,
}

/// Failures, as far as they were told.
#[derive(Debug, Default)]
pub(super) struct Failures {
    /// By site: since when the mail waits, and the event that it is about.
    waiting: BTreeMap<(String, Extent), (Instant, Event)>,
    /// Who got a mail of the failure.
    told: BTreeMap<(String, Extent), BTreeSet<String>>,
}

/// Who is to know of a site's failure: and by address, which of their jobs it touches.
#[derive(Debug, Default, PartialEq, Eq)]
struct Readers {
    managers: BTreeSet<String>,
    jobs: BTreeMap<String, Vec<u64>>,
    /// Whether it touches any job.
    touches: bool,
}

impl Failures {
    /// The mails that these events, or the time, call for. Looks at the market for each mail.
    ///
    /// # Errors
    /// If the market has stopped.
    pub(super) fn write(
        &mut self,
        market: &Handle,
        notices: &[&Notice],
        now: Instant,
    ) -> Result<Vec<Mail>, EngineStopped> {
        let events = notices.iter().filter(|it| it.kind == "site_state");
        let events = events.filter_map(|it| serde_json::from_str::<Event>(&it.text).ok());
        let mut mails: Vec<Mail> = events.flat_map(|event| self.heard(event, now)).collect();
        let due = |(at, _): &(Instant, Event)| now.duration_since(*at) >= LASTS;
        let sites = self.waiting.iter().filter(|(_, it)| due(it));
        let sites: Vec<(String, Extent)> = sites.map(|(site, _)| site.clone()).collect();
        for site in sites {
            let Some((_, event)) = self.waiting.remove(&site) else { continue };
            let wanted = site.0.clone();
            let readers = market.look(move |live| readers(live, &wanted))?;
            mails.extend(self.failed(site, &event, &readers));
        }
        Ok(mails)
    }

    /// A site fails, or not any more: that is for the readers who got a mail that it failed.
    fn heard(&mut self, event: Event, now: Instant) -> Vec<Mail> {
        let (Some(site), Some(state)) = (event.site.clone(), event.state.as_deref()) else {
            return Vec::new();
        };
        let now_fails = match state {
            "up" => None,
            "partly-drained" => Some(Extent::Some),
            _ => Some(Extent::All),
        };
        let mut told = BTreeSet::new();
        for over in [Extent::Some, Extent::All].into_iter().filter(|it| now_fails < Some(*it)) {
            let over = (site.clone(), over);
            self.waiting.remove(&over);
            told.extend(self.told.remove(&over).unwrap_or_default());
        }
        let mails = told.into_iter().map(|to| mail(to, &site, &event, &[])).collect();
        if now_fails == Some(Extent::All) {
            self.waiting.remove(&(site.clone(), Extent::Some));
        }
        // One mail for a failure, also if it changes.
        let fails = now_fails.map(|extent| (site, extent));
        if let Some(fails) = fails.filter(|it| !self.told.contains_key(it)) {
            let at = self.waiting.get(&fails).map_or(now, |(at, _)| *at);
            self.waiting.insert(fails, (at, event));
        }
        mails
    }

    fn failed(&mut self, site: (String, Extent), event: &Event, readers: &Readers) -> Vec<Mail> {
        if site.1 == Extent::Some && !readers.touches {
            return Vec::new();
        }
        let all: BTreeSet<String> =
            readers.managers.iter().chain(readers.jobs.keys()).cloned().collect();
        let jobs = |to: &String| readers.jobs.get(to).map_or(&[][..], Vec::as_slice);
        let mails = all.iter().map(|to| mail(to.clone(), &site.0, event, jobs(to))).collect();
        self.told.insert(site, all);
        mails
    }
}

fn mail(to: String, site: &str, event: &Event, jobs: &[u64]) -> Mail {
    let state = event.state.clone().unwrap_or_default();
    let mut lines = vec![("Site", site.to_owned()), ("State", state.clone())];
    lines.extend(event.message.clone().filter(|_| state != "up").map(|it| ("Why", it)));
    if !jobs.is_empty() {
        let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
        lines.push(("Your jobs", jobs.join(", ")));
    }
    lines.push(("See", "tradewind sites".to_owned()));
    Mail { to, subject: format!("Tradewind: site {site}: {state}"), at: event.at, lines }
}

fn readers(live: &Live, site: &str) -> Readers {
    let state = live.state();
    let place = state.market.pools().sites().iter().position(|it| it.name == site);
    let owner = place.and_then(|place| state.owners().get(place)).cloned();
    let tokens = state.tokens().values().filter(|token| token.role == Role::Administrator);
    let mut readers = Readers {
        managers: tokens.map(|token| token.user.clone()).chain(owner).collect(),
        ..Readers::default()
    };
    for number in tradewind_web::jobs_touched_by(state, site) {
        readers.touches = true;
        let Some(job) = state.jobs.get(&number) else { continue };
        let Some(wants) = job.submission.mail.as_ref().filter(|it| it.fail || it.end) else {
            continue;
        };
        let to = wants.to.clone().unwrap_or_else(|| job.user.clone());
        readers.jobs.entry(to).or_default().push(number);
    }
    readers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(state: &str) -> Event {
        Event {
            kind: "site_state".to_owned(),
            site: Some("gamma".to_owned()),
            state: Some(state.to_owned()),
            message: Some("gamma, lost since noon: Connection timed out".to_owned()),
            ..Event::default()
        }
    }

    fn gamma(extent: Extent) -> (String, Extent) {
        ("gamma".to_owned(), extent)
    }

    #[test]
    fn a_short_failure_is_no_mail_and_a_long_one_is_one() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        assert_eq!(failures.heard(event("lost"), now), []);
        assert_eq!(failures.heard(event("up"), now + Duration::from_secs(3)), []);
        assert!(failures.waiting.is_empty());
        assert_eq!(failures.heard(event("lost"), now), []);
        assert_eq!(failures.heard(event("hanging"), now + Duration::from_secs(30)), []);
        let (since, last) = failures.waiting.remove(&gamma(Extent::All)).unwrap();
        assert_eq!((since, last.state.as_deref()), (now, Some("hanging")));
        let readers = Readers {
            managers: ["olga".to_owned()].into(),
            jobs: [("ana@site.example".to_owned(), vec![7, 9])].into(),
            touches: true,
        };
        let mails = failures.failed(gamma(Extent::All), &last, &readers);
        let told: Vec<(&str, usize)> =
            mails.iter().map(|mail| (mail.to.as_str(), mail.lines.len())).collect();
        assert_eq!(told, [("ana@site.example", 5), ("olga", 4)]);
        assert_eq!(mails[0].subject, "Tradewind: site gamma: hanging");
        assert_eq!(mails[0].lines[2].1, "gamma, lost since noon: Connection timed out");
        assert_eq!(mails[0].lines[3].1, "7, 9");
        assert_eq!(failures.heard(event("lost"), now), [], "it is known");
        let over = failures.heard(event("up"), now);
        let to: Vec<&str> = over.iter().map(|mail| mail.to.as_str()).collect();
        assert_eq!(to, ["ana@site.example", "olga"]);
        assert_eq!(over[0].subject, "Tradewind: site gamma: up");
    }

    #[test]
    fn a_drained_node_is_a_mail_if_it_keeps_jobs_from_their_starts() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let waits = |failures: &mut Failures| failures.waiting.remove(&gamma(Extent::Some));
        assert_eq!(failures.heard(event("partly-drained"), now), []);
        let (_, last) = waits(&mut failures).unwrap();
        let mut readers = Readers { managers: ["olga".to_owned()].into(), ..Readers::default() };
        assert_eq!(failures.failed(gamma(Extent::Some), &last, &readers), []);
        readers.touches = true;
        let mails = failures.failed(gamma(Extent::Some), &last, &readers);
        assert_eq!(mails[0].subject, "Tradewind: site gamma: partly-drained");
        // Another node is drained: that is known. The whole site is another failure.
        assert_eq!(failures.heard(event("partly-drained"), now), []);
        assert_eq!(waits(&mut failures), None);
        assert_eq!(failures.heard(event("lost"), now), []);
        let (_, last) = failures.waiting.remove(&gamma(Extent::All)).unwrap();
        assert_eq!(failures.failed(gamma(Extent::All), &last, &readers).len(), 1);
        let back = failures.heard(event("partly-drained"), now);
        assert_eq!(back[0].subject, "Tradewind: site gamma: partly-drained");
        let over = failures.heard(event("up"), now);
        assert_eq!(over[0].subject, "Tradewind: site gamma: up");
        assert!(failures.told.is_empty() && failures.waiting.is_empty());
    }
}
