//! `tradewind doctor`: whether sites have what they need, and what to do.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tradewind_daemon::shadow::ObservedSite;
use tradewind_daemon::site::{Finding, Verdict};
use tradewind_daemon::store::Origin;
use tradewind_io::duration::parse_span;
use tradewind_io::settings::{JournalStore, Peer, Settings, SiteKind};
use tradewind_model::{Guard, OwnersFirst, Preemption};
use tradewind_postgres::{Address, Facts, Postgres};
use tradewind_web::documents::{Market as MarketDocument, Site, SiteList, SiteState, TokenList};

use super::{Sheet, token};
use crate::client::words::{length, moment_of_all};
use crate::client::{Market, MarketArgs, Sent, place};
use crate::commands::up::peers::greet;
use crate::default_sites::DefaultSlots;
use crate::exit::{Exit, Failure, Outcome};
use crate::feeds::{self, Feed};
use crate::journals::PAGE;
use crate::options::Format;
use crate::report::Report;
use crate::tables::Side;
use crate::{input, sites};

/// Arguments of `tradewind doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tradewind doctor
  tradewind doctor --config tradewind.toml --state /var/lib/tradewind
  tradewind doctor --config tradewind.toml --no-jobs

Commands, rights, clocks and latencies of each site, with what to do; also while the market runs.
At a Slurm site one job of a second runs in each pool, to show that the whole way works.
Exit code 1 if something is bad.")]
pub(crate) struct Args {
    /// The configuration; without one, the sites of a market that has none.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// The folder of the market; else `$TRADEWIND_STATE`
    /// [default: `$XDG_STATE_HOME/tradewind`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Runs no jobs.
    #[arg(long, conflicts_with = "patience")]
    no_jobs: bool,
    /// How long to wait for each job, such as `90s` or `10m`.
    #[arg(long, value_name = "SPAN", default_value = "60s", value_parser = patience)]
    patience: Duration,
}

fn patience(text: &str) -> Result<Duration, String> {
    Ok(Duration::from_secs(parse_span(text)?.0.unsigned_abs()))
}

pub(crate) fn run(args: &Args, format: Format, report: &Report) -> Outcome {
    let mut settings = match &args.config {
        Some(path) => input::configuration(path, report)?,
        None => Settings::default(),
    };
    let folder = place::folder(args.state.as_deref())?;
    let slots = DefaultSlots::noted(&folder)?;
    let begun = || DefaultSlots::FIXED.beside(&settings.observed);
    slots.unwrap_or_else(begun).complete(&mut settings);
    let patience = (!args.no_jobs).then_some(args.patience);
    let all = examine(&settings, &folder, patience, report)?;
    let bad = all.iter().any(|(_, finding)| finding.verdict == Verdict::Bad);
    let document = Sent(Value::Array(all.iter().map(|(site, it)| document(site, it)).collect()));
    sheet(&all).print(&document, format)?;
    Ok(if bad { Exit::Negative } else { Exit::Ok })
}

/// Everything that the command examines: sites, the database of the journal, peers, and what the
/// market of the folder says of itself, if it runs. A job runs in each pool and is waited for with
/// that `patience`; `None`: none runs.
///
/// # Errors
/// If there is no place for it, or a site cannot be opened.
pub(crate) fn examine(
    settings: &Settings,
    folder: &Path,
    patience: Option<Duration>,
    report: &Report,
) -> Result<Vec<(String, Finding)>, Failure> {
    let mut all = look(settings, folder, patience, report)?;
    all.extend(store(settings).map(|finding| ("market".to_owned(), finding)));
    all.extend(feeds::of(settings).iter().map(|feed| (feed.site.clone(), series(feed, folder))));
    let market = running(folder);
    all.extend(peers(settings, market.as_ref()));
    let of_market = market
        .iter()
        .flat_map(|market| clock(market).into_iter().chain(disk(market)).chain(damage(market)));
    all.extend(of_market.map(|finding| ("market".to_owned(), finding)));
    all.extend(failing(folder));
    all.extend(tokens(folder).into_iter().map(|finding| ("market".to_owned(), finding)));
    Ok(all)
}

/// Whether the address of a series gives a good answer now, and how old the last one is that the
/// market of the folder has.
fn series(feed: &Feed, folder: &Path) -> Finding {
    let age = feed.age(folder);
    let kept = match age {
        Some(age) => format!("the last good answer is {} old", length(age.as_secs() as i64)),
        None => "the market has no answer yet".to_owned(),
    };
    let is_stale = age.is_some_and(|age| age > feeds::STALE);
    let host = feeds::host(&feed.address);
    let (verdict, found, remedy) = match feed.fetch() {
        Ok(_) if !is_stale => (Verdict::Good, format!("{host} answers; {kept}"), ""),
        Ok(_) => {
            let remedy =
                "the market does not run, or cannot write below its state folder: see its log";
            (Verdict::Warning, format!("stale: {kept}, though {host} answers"), remedy)
        }
        Err(why) => {
            let stale = if is_stale { "stale: " } else { "" };
            let remedy = "the market counts by the last good answer; compare the address, and what it \
                          gives, with the columns `time` and `value`";
            (Verdict::Warning, format!("{stale}{host}: {why}; {kept}"), remedy)
        }
    };
    let what = format!("`{}` from an address", feed.what.key());
    Finding { what, verdict, found, remedy: remedy.to_owned() }
}

/// What the market of the folder says of itself, if it runs.
fn running(folder: &Path) -> Option<MarketDocument> {
    let place = MarketArgs::of_folder(folder)?;
    let sent = Market::open(&place).and_then(|market| market.get("/v1/market")).ok()?;
    sent.read().ok()
}

/// Whether each peer answers and admits this market, as the configuration has it.
fn peers(settings: &Settings, market: Option<&MarketDocument>) -> Vec<(String, Finding)> {
    let of = |peer: &Peer| {
        let asked = market.map(|market| greet(peer, &market.name));
        let (verdict, found, remedy) = match asked {
            None => (
                Verdict::Warning,
                "not asked: the market does not run".to_owned(),
                "start it, and ask again",
            ),
            Some(Ok(())) => (Verdict::Good, format!("{} answers", peer.url), ""),
            Some(Err(why)) => (
                Verdict::Bad,
                format!("{}: {why}", peer.url),
                "compare `url` and `token_file` with what the peer's administrator gave: \
                 docs/reference/peers.md",
            ),
        };
        let remedy = remedy.to_owned();
        let what = "the peer answers, and admits this market".to_owned();
        (peer.name.clone(), Finding { what, verdict, found, remedy })
    };
    settings.peers.iter().map(of).collect()
}

/// The database of the journal, if there is one.
fn store(settings: &Settings) -> Option<Finding> {
    let JournalStore::Postgresql(url) = &settings.store else { return None };
    let looked = Address::parse(url.secret()).map_err(|wrong| wrong.to_string());
    let looked = looked.and_then(|address| {
        let facts = Postgres::facts(&address).map_err(|wrong| wrong.to_string())?;
        let market = Postgres::market(&address).map_err(|wrong| wrong.to_string())?;
        Ok(database(&address, &facts, market.as_ref()))
    });
    Some(looked.unwrap_or_else(|wrong| Finding {
        what: DATABASE.to_owned(),
        verdict: Verdict::Bad,
        found: wrong,
        remedy: format!("see {PAGE}"),
    }))
}

/// What it is called in the list.
const DATABASE: &str = "the database of the journal";

fn database(address: &Address, facts: &Facts, market: Option<&Origin>) -> Finding {
    let market = market.map_or("no journal yet".to_owned(), |it| format!("market `{}`", it.market));
    let owner = if facts.has_owner { "a daemon is connected" } else { "no daemon is connected" };
    let found = format!(
        "{}: PostgreSQL {}, {market}, {owner}, synchronous_commit = {}, synchronous_standby_names \
         = `{}`; this machine's clock is {} s ahead of the database's",
        address.name(),
        facts.version,
        facts.synchronous_commit,
        facts.synchronous_standbys,
        facts.clock_ahead
    );
    let verdict = if facts.clock_ahead.abs() > 10 { Verdict::Warning } else { Verdict::Good };
    let remedy = match verdict {
        Verdict::Warning => "set the clocks of this machine and of the server by NTP",
        _ => "",
    };
    Finding { what: DATABASE.to_owned(), verdict, found, remedy: remedy.to_owned() }
}

/// The market cannot write.
fn disk(market: &MarketDocument) -> Option<Finding> {
    market.read_only?;
    Some(Finding {
        what: "the disk of the journal".to_owned(),
        verdict: Verdict::Bad,
        found: "it is full: the market can be read, and jobs can be cancelled, no more".to_owned(),
        remedy: "make room; the market goes on by itself then".to_owned(),
    })
}

/// What the market has found damaged of what is old.
fn damage(market: &MarketDocument) -> impl Iterator<Item = Finding> {
    market.damage.iter().map(|found| Finding {
        what: "old rows".to_owned(),
        verdict: Verdict::Bad,
        found: found.clone(),
        remedy: "the market goes on; keep the last backup that `tradewind journal verify --file` \
                 proves"
            .to_owned(),
    })
}

/// What there is to say of the system's clock, if the market knows more than we.
fn clock(market: &MarketDocument) -> Option<Finding> {
    let ahead = market.ahead_of_clock?;
    Some(Finding {
        what: "the system clock".to_owned(),
        verdict: Verdict::Warning,
        found: format!(
            "it was set back: the market's time is {ahead} s ahead of it, and so are the times \
             that commands show"
        ),
        remedy: "have the clock set by NTP; jobs run as usual, and once the market has had no \
                 unfinished job for so long, its time is the clock's again"
            .to_owned(),
    })
}

/// Sites that fail, as the market knows it: if one runs and answers.
fn failing(folder: &Path) -> Vec<(String, Finding)> {
    let sent = MarketArgs::of_folder(folder).and_then(|place| {
        let sent = Market::open(&place).and_then(|market| market.get("/v1/sites"));
        sent.and_then(|sent| sent.read::<SiteList>()).ok()
    });
    let sites = sent.map(|it| it.sites).unwrap_or_default().into_iter();
    let failing = sites.filter(|site| site.state.is_failure());
    failing.map(|site| (site.name.clone(), state_of(&site))).collect()
}

/// What the market says of a site that fails.
fn state_of(site: &Site) -> Finding {
    let since = site.since.map(|at| format!(" since {}", moment_of_all(at))).unwrap_or_default();
    let reason = site.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let remedy = match site.state {
        SiteState::Refusing => {
            "submit a job there by hand as the account that jobs run as; nothing is planned at the \
             site but a job now and then, and all is as before when it takes one"
        }
        SiteState::PartlyDrained | SiteState::Drained => {
            "look at these nodes with the commands of the site's manager; the others are used"
        }
        _ => {
            "mend the way to the site; nothing is planned there meanwhile, and what ran there is \
             found when it answers"
        }
    };
    let verdict = match site.state {
        SiteState::PartlyDrained => Verdict::Warning,
        _ => Verdict::Bad,
    };
    Finding {
        what: "the state of the site in the market".to_owned(),
        verdict,
        found: format!("{}{since}{reason}", site.state.name()),
        remedy: remedy.to_owned(),
    }
}

/// Tokens that have expired or will soon, if a market runs and answers.
fn tokens(folder: &Path) -> Vec<Finding> {
    let sent = MarketArgs::of_folder(folder).and_then(|place| {
        let sent = Market::open(&place).and_then(|market| market.pages("/v1/tokens", "tokens"));
        sent.and_then(|sent| sent.read::<TokenList>()).ok()
    });
    let tokens = sent.map(|it| it.tokens).unwrap_or_default();
    let found = token::ending(&tokens, crate::client::words::now()).into_iter();
    let found = found.map(|(token, what)| Finding {
        what: format!("token {}", token.id),
        verdict: Verdict::Warning,
        found: format!("of {}: {what}", token.user),
        remedy: format!(
            "`tradewind token rotate {0} --expires 90d` gives it a new secret and a later end, \
             `tradewind token revoke {0}` removes it",
            token.id
        ),
    });
    found.collect()
}

/// A running market has its sites' folders to itself, so ours are beside them, on the same disk,
/// and are removed again. Jobs are waited for with that `patience`; `None`: none run.
fn look(
    settings: &Settings,
    folder: &Path,
    patience: Option<Duration>,
    report: &Report,
) -> Result<Vec<(String, Finding)>, Failure> {
    let scratch = Scratch(folder.join(format!("doctor-{}", std::process::id())));
    std::fs::create_dir_all(&scratch.0).map_err(|wrong| {
        let message = format!("failed to make `{}`: {wrong}", scratch.0.display());
        Failure::usage(message).hint("is the disk full? does the folder belong to another user?")
    })?;
    let (mut all, first) = (Vec::new(), sites::owners_first(settings));
    for mut setup in sites::open_beside(settings, &scratch.0, folder)? {
        let unread = lend(&setup.name, folder, &scratch.0);
        let mut findings = setup.site.doctor();
        let answers = !findings.iter().take(2).all(|it| it.verdict == Verdict::Bad);
        if let Some(patience) = patience.filter(|_| answers) {
            for pool in setup.site.trials() {
                let name = &setup.name;
                report.note(&format!("a job of a second runs in pool {pool} of site {name}"));
                findings.push(setup.site.trial(&pool, patience));
            }
        }
        findings.extend(first.get(&setup.name).map(owners_bound));
        let terms = settings.sites.iter().find(|site| site.name == setup.name);
        findings.extend(terms.and_then(|site| Some(gives_back(site.preemption?, &site.kind))));
        let findings = findings.into_iter().map(|it| at_home(it, folder, &scratch.0));
        all.extend(findings.chain(unread).map(|finding| (setup.name.clone(), finding)));
    }
    for mut observed in sites::open_observed(settings, &scratch.0)? {
        all.push((observed.name.clone(), surveyed(&mut observed)));
        all.extend(policy(&observed).map(|finding| (observed.name.clone(), finding)));
    }
    Ok(all)
}

/// How long a waiting job of the site's owners may wait because of the market.
fn owners_bound(first: &OwnersFirst) -> Finding {
    let OwnersFirst { guard, max_delay } = first;
    let guard = Guard::WORDS.iter().find(|(_, it)| it == guard).map_or("", |(word, _)| word);
    let found = match *max_delay < OwnersFirst::NO_BOUND {
        true => format!(
            "jobs of the market put off one by at most {} s in sum, the rest of the time limits of \
             those that run by then, and the time between two surveys (`max_delay`); `guard = \
             \"{guard}\"`",
            max_delay.0
        ),
        false => format!("no bound, jobs of the market stand in line; `guard = \"{guard}\"`"),
    };
    let what = "waiting jobs of the site's owners".to_owned();
    Finding { what, verdict: Verdict::Good, found, remedy: String::new() }
}

/// How preemptible jobs give their nodes back at a site.
fn gives_back(terms: Preemption, kind: &SiteKind) -> Finding {
    let Preemption { notice, discount } = terms;
    let told = match kind {
        SiteKind::GridEngine(_) => "jobs are stopped then, without a signal before",
        SiteKind::Local(_) | SiteKind::Slurm(_) => "jobs get a signal, and are stopped then",
    };
    let found = format!(
        "owners get nodes of preemptible jobs after {} s of notice; {told}; such a job pays {}.{} % less",
        notice.0,
        discount / 10,
        discount % 10
    );
    let (verdict, remedy) = match notice.0 {
        0 => (
            Verdict::Warning,
            "without notice no job can save its state, and none pays for what it loses: give one, as in \
             `preemption = { notice = \"2m\" }`",
        ),
        _ => (Verdict::Good, ""),
    };
    let what = "nodes that go back to the site's owners".to_owned();
    Finding { what, verdict, found, remedy: remedy.to_owned() }
}

/// What an observed cluster must show.
const ALL_JOBS: &str = "let the account that runs our commands see all jobs: what is not seen is neither \
                        predicted nor compared";

/// Whether a cluster that is only observed can be surveyed: nothing else is tried there.
fn surveyed(observed: &mut ObservedSite) -> Finding {
    let (verdict, found, remedy) = match observed.site.survey(None) {
        Ok(survey) => {
            let up: u64 = survey.pools.iter().map(|pool| u64::from(pool.up)).sum();
            let waiting = survey.queue.len() + survey.queue_beyond as usize;
            let notes = survey.queue_notes.iter().flat_map(|note| ["; ", note.as_str()]);
            let found =
                format!("nodes up: {up}, jobs waiting: {waiting}{}", notes.collect::<String>());
            match survey.queue_notes.is_empty() {
                true if up > 0 => (Verdict::Good, found, ""),
                true => (Verdict::Warning, found, ""),
                false => (Verdict::Warning, found, ALL_JOBS),
            }
        }
        Err(wrong) => (Verdict::Bad, wrong.to_string(), "see the message"),
    };
    let what = "the cluster is only observed and can be surveyed".to_owned();
    Finding { what, verdict, found, remedy: remedy.to_owned() }
}

/// Whether its policy can be asked, if it has one.
fn policy(observed: &ObservedSite) -> Option<Finding> {
    let policy = observed.policy.as_ref()?;
    let tried = policy.try_out(&observed.name, observed.site.pools());
    let (verdict, found, remedy) = match tried {
        Ok(()) => (Verdict::Good, "it is started and answers".to_owned(), ""),
        Err(wrong) => (Verdict::Bad, wrong, "`python3 -m tradewind.serve module:Class` says more"),
    };
    let what = format!("the policy `{}` can be asked", policy.name);
    Some(Finding { what, verdict, found, remedy: remedy.to_owned() })
}

/// What the site's owner takes away, as far as it can be read, is there for the trial, too. Those
/// that cannot be read are found here.
fn lend(site: &str, folder: &Path, scratch: &Path) -> Vec<Finding> {
    let owners = Path::new("sites").join(site).join("owner");
    let (from, to) = (folder.join(&owners), scratch.join(&owners));
    let bad = |path: &Path, wrong: &std::io::Error| Finding {
        what: "a file of the owner".to_owned(),
        verdict: Verdict::Bad,
        found: format!("{}: {wrong}", path.display()),
        remedy: "let the daemon's account read it, or remove it".to_owned(),
    };
    let entries = match std::fs::read_dir(&from) {
        Ok(entries) => entries,
        // Before a market's first start there are none.
        Err(wrong) if wrong.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(wrong) => return vec![bad(&from, &wrong)],
    };
    let mut unread = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        // Read and written, so that what is made can be removed whatever the rights of the other.
        let read = std::fs::read(entry.path());
        let lent = read.and_then(|bytes| std::fs::write(to.join(entry.file_name()), bytes));
        if let Err(wrong) = lent {
            unread.push(bad(&entry.path(), &wrong));
        }
    }
    unread
}

/// What was found in the trial's folder, as of the market's own.
fn at_home(finding: Finding, folder: &Path, scratch: &Path) -> Finding {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (scratch, folder) = (real(scratch), real(folder));
    let found = finding.found.replace(&*scratch.to_string_lossy(), &folder.to_string_lossy());
    Finding { found, ..finding }
}

/// A folder that goes again.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is empty, and does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn verdict(it: Verdict) -> &'static str {
    match it {
        Verdict::Good => "good",
        Verdict::Warning => "warning",
        Verdict::Bad => "bad",
    }
}

fn document(site: &str, it: &Finding) -> Value {
    json!({
        "site": site, "what": it.what, "verdict": verdict(it.verdict), "found": it.found,
        "remedy": it.remedy,
    })
}

fn sheet(all: &[(String, Finding)]) -> Sheet {
    let columns = vec![
        ("SITE", Side::Left),
        ("VERDICT", Side::Left),
        ("WHAT", Side::Left),
        ("FOUND", Side::Left),
        ("WHAT TO DO", Side::Left),
    ];
    let row = |(site, it): &(String, Finding)| {
        let verdict = verdict(it.verdict).to_owned();
        vec![site.clone(), verdict, it.what.clone(), it.found.clone(), it.remedy.clone()]
    };
    Sheet { columns, rows: all.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Volume;

    #[test]
    fn an_owners_file_that_is_no_good_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let owner = folder.path().join("sites/alpha/owner");
        std::fs::create_dir_all(&owner).unwrap();
        let bad = |settings: &Settings| -> Vec<String> {
            let report = Report { volume: Volume::Quiet };
            let all = look(settings, folder.path(), None, &report).unwrap();
            let bad = all.into_iter().filter(|(_, it)| it.verdict != Verdict::Good);
            bad.filter(|(_, it)| it.found.contains("/owner/")).map(|(_, it)| it.found).collect()
        };
        let settings = Settings::default();
        std::fs::write(owner.join("mine"), r#"{"pool": "main", "slots": 1}"#).unwrap();
        assert_eq!(bad(&settings), Vec::<String>::new());
        std::fs::write(owner.join("broken"), "{").unwrap();
        // A link to nowhere is as unreadable, to any reader.
        std::os::unix::fs::symlink("nowhere", owner.join("dangling")).unwrap();
        let found = bad(&settings);
        let names = |name: &str| {
            let path = owner.canonicalize().unwrap().join(name);
            found.iter().filter(|it| it.contains(&*path.to_string_lossy())).count()
        };
        assert_eq!((names("broken"), names("dangling"), found.len()), (1, 1, 2), "{found:?}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
