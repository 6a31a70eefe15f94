//! The sites of a configuration: as the market plans with them, and as the daemon talks to them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use tradewind_daemon::engine::SiteSetup;
use tradewind_daemon::live::{LineSettings, RESOURCES};
use tradewind_daemon::shadow::ObservedSite;
use tradewind_daemon::site::PoolSetup;
use tradewind_daemon::site::fence::Fence;
use tradewind_daemon::site::fenced::{Elsewhere, Fenced};
use tradewind_daemon::site::gridengine;
use tradewind_daemon::site::local::{self, ConfineMode, Confinement, Local};
use tradewind_daemon::site::managed::driver::{self, Ownership};
use tradewind_daemon::site::notes::Notes;
use tradewind_daemon::site::observed::Observed;
use tradewind_daemon::site::slurm;
use tradewind_io::settings::cluster::{Cluster, Mode};
use tradewind_io::settings::machine::{self, LocalAccounts};
use tradewind_io::settings::{Pool, Settings, Site, SiteKind};
use tradewind_model::{
    self as model, Admission, Attribute, Energy, OwnersFirst, Pools, Power, Preemption, SiteId,
    SitePower, Span, Standing,
};
use tradewind_postgres::IN_DATABASE;

use crate::command_policy::site_policy;
use crate::default_sites::DefaultSlots;
use crate::exit::Failure;

/// The hidden command in which this program is the supervisor of a local task.
pub(crate) const SUPERVISE: &str = "local-task";
/// Whose a site is that names no owner.
pub(crate) const ADMINISTRATOR: &str = "admin";
/// How often a local site is looked at: it costs next to nothing.
const LOCAL_SURVEY: Duration = Duration::from_millis(100);
/// Lists that a survey of a cluster asks for.
const LISTS_OF_SURVEY: u32 = 3;
/// How long a survey of a local site may take, if its configuration does not say.
const LOCAL_WITHIN: Span = Span(10);

/// The sites of `settings`; the default ones of a new market, as large as those of the demo, if it has
/// none.
pub(crate) fn configured(settings: &Settings) -> Cow<'_, [Site]> {
    match settings.sites.is_empty() {
        true => Cow::Owned(DefaultSlots::FIXED.beside(&settings.observed).sites()),
        false => Cow::Borrowed(&settings.sites),
    }
}

/// Sites in whose own queue jobs wait beside those of the owners, and how.
pub(crate) fn in_line(settings: &Settings) -> BTreeMap<String, LineSettings> {
    let line = |site: &Site| match &site.kind {
        SiteKind::Slurm(cluster) | SiteKind::GridEngine(cluster) => {
            let reserves = cluster.mode == Mode::Reservation;
            let settings = LineSettings { priority: cluster.queue_priority, reserves };
            (cluster.owners_queue == Standing::InLine).then(|| (site.name.clone(), settings))
        }
        SiteKind::Local(_) => None,
    };
    settings.sites.iter().filter_map(line).collect()
}

/// What owners may rely on, of sites with a queue of their own.
pub(crate) fn owners_first(settings: &Settings) -> BTreeMap<String, OwnersFirst> {
    let first = |site: &Site| match &site.kind {
        SiteKind::Slurm(cluster) | SiteKind::GridEngine(cluster) => {
            Some((site.name.clone(), cluster.owners_first))
        }
        SiteKind::Local(_) => None,
    };
    settings.sites.iter().filter_map(first).collect()
}

/// Sites whose owners get nodes of preemptible jobs back, and how.
pub(crate) fn preemption(settings: &Settings) -> BTreeMap<String, Preemption> {
    let sites = configured(settings);
    sites.iter().filter_map(|site| Some((site.name.clone(), site.preemption?))).collect()
}

/// What the market plans with: pools are called `SITE/POOL`, and their nodes have the attributes
/// `site`, `pool`, `resources` (the pool's full name: see [`RESOURCES`]) and, where one is set, `class`. Prices are those outside all hours.
pub(crate) fn pools(settings: &Settings) -> Result<Pools, Failure> {
    let sites = configured(settings);
    let mut pools = Vec::new();
    for (place, site) in sites.iter().enumerate() {
        for pool in &site.pools {
            let mut attributes = pool.attributes.clone();
            attributes.insert("site".to_owned(), Attribute::Text(site.name.clone()));
            attributes.insert("pool".to_owned(), Attribute::Text(pool.name.clone()));
            let name = format!("{}/{}", site.name, pool.name);
            attributes.insert(RESOURCES.to_owned(), Attribute::Text(name.clone()));
            pools.push(model::Pool {
                name,
                site: SiteId(u32::try_from(place).unwrap_or(u32::MAX)),
                nodes: pool.nodes,
                performance: pool.performance,
                price: pool.price,
                attributes,
                admission: Admission::NONE,
                times: site.times,
            });
        }
    }
    let names = sites.iter().map(|site| model::Site { name: site.name.clone() }).collect();
    let pools = Pools::new(names, pools).map_err(|wrong| Failure::usage(wrong.to_string()))?;
    let pools = pools
        .with_preemption(sites.iter().map(|site| site.preemption.unwrap_or_default()).collect());
    let owned = |(licence, site): &(model::Licence, usize)| {
        (licence.clone(), SiteId(u32::try_from(*site).unwrap_or(0)))
    };
    let pools = pools.with_licences(settings.licences.iter().map(owned).collect());
    let pools = pools.map_err(|wrong| Failure::usage(wrong.to_string()))?;
    let pools = pools.with_links(settings.links.clone());
    Ok(match electricity(settings) {
        Some(power) => pools.with_power(power),
        None => pools,
    })
}

/// The electricity of all sites, if the configuration says anything of it.
pub(crate) fn electricity(settings: &Settings) -> Option<Power> {
    let sites: Vec<SitePower> =
        configured(settings).iter().map(|site| site.power.clone()).collect();
    let has_watts = |pool: &Pool| pool.attributes.contains_key(Energy::BUSY);
    let is_known = sites.iter().any(|it| *it != SitePower::default())
        || configured(settings).iter().any(|site| !site.feeds.is_empty())
        || configured(settings).iter().flat_map(|site| &site.pools).any(has_watts);
    is_known.then_some(Power { sites })
}

/// Opens every site for the market whose journal is in the folder `state`; what each keeps is below it,
/// in `sites/NAME`. Each start is a term of ownership: a copy of the folder that is started elsewhere
/// later is a later one, and the daemon of this one gives no orders to clusters from then on.
pub(crate) fn open(
    settings: &Settings,
    state: &Path,
    market: &str,
) -> Result<Vec<SiteSetup>, Failure> {
    let path = state.join("epoch");
    let epoch = next_epoch(&path)
        .map_err(|wrong| Failure::usage(format!("`{}` cannot be used: {wrong}", path.display())))?;
    let sites = configured(settings);
    let market = || market.to_owned();
    let owned = || Some(Ownership { market: market(), epoch, is_fenced: false, notes: None });
    sites.iter().map(|site| open_one(site, &sites, (state, state), owned())).collect()
}

/// The epoch of a start, noted in a file: at least the second since 1970, and more than that of the last.
fn next_epoch(path: &Path) -> io::Result<u64> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_secs());
    let last = match std::fs::read_to_string(path) {
        Ok(text) => text.trim().parse().unwrap_or(0),
        Err(wrong) if wrong.kind() == io::ErrorKind::NotFound => 0,
        Err(wrong) => return Err(wrong),
    };
    let epoch = now.max(last + 1);
    // On a full disk the clock has to do.
    if let Err(wrong) = note_epoch(path, epoch) {
        tracing::warn!(%wrong, path = %path.display(), "the epoch of this start is not noted");
    }
    Ok(epoch)
}

fn note_epoch(path: &Path, epoch: u64) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = std::fs::File::create(&part)?;
    io::Write::write_all(&mut file, format!("{epoch}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&part, path)
}

/// The same as they are, for a look: in no term of ownership, and with the connections of the market
/// in `home`.
pub(crate) fn open_beside(
    settings: &Settings,
    state: &Path,
    home: &Path,
) -> Result<Vec<SiteSetup>, Failure> {
    let sites = configured(settings);
    sites.iter().map(|site| open_one(site, &sites, (state, home), None)).collect()
}

/// What identifies the folders below `state` in which the adapters of sites remember what they
/// must, with the names of the sites. That of a local site is of this machine, too: its tasks run
/// here.
///
/// # Errors
/// If a folder cannot be made or read.
pub(crate) fn folders(settings: &Settings, state: &Path) -> Result<Vec<(String, String)>, Failure> {
    let one = |site: &Site| {
        let folder = state.join("sites").join(&site.name);
        let found = identity(&folder).map_err(|wrong| {
            Failure::usage(format!("`{}` cannot be used: {wrong}", folder.display()))
        })?;
        let machine = match site.kind {
            SiteKind::Local(_) => format!("{}/", machine()),
            SiteKind::Slurm(_) | SiteKind::GridEngine(_) => String::new(),
        };
        Ok((site.name.clone(), format!("{machine}{found}")))
    };
    configured(settings).iter().map(one).collect()
}

/// What is written in the folder's file `id`, made if necessary.
fn identity(folder: &Path) -> io::Result<String> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join("id");
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Err(wrong) if wrong.kind() != io::ErrorKind::NotFound => Err(wrong),
        Ok(_) | Err(_) => {
            let text = crate::client::new_key();
            std::fs::write(&path, format!("{text}\n"))?;
            Ok(text)
        }
    }
}

/// What tells this machine from others.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    format!("{}-{}", read("/etc/machine-id"), read("/proc/sys/kernel/hostname"))
}

/// Where it is remembered what must be remembered of a site of a market that several daemons share.
pub(crate) enum Memory {
    /// In this daemon's folder.
    Here,
    /// Beside the journal.
    Shared(Box<dyn Notes>),
    /// In the folder of another daemon.
    Elsewhere,
}

impl Memory {
    /// That of a site, where `theirs` has it and this daemon's folder is `ours`.
    pub(crate) fn of(
        site: &Site,
        (ours, theirs): (&str, &str),
        notes: impl FnOnce() -> Box<dyn Notes>,
    ) -> Memory {
        match site.kind {
            SiteKind::Local(_) if theirs == ours => Memory::Here,
            SiteKind::Slurm(_) | SiteKind::GridEngine(_)
                if theirs == ours || theirs == IN_DATABASE =>
            {
                Memory::Shared(notes())
            }
            _ => Memory::Elsewhere,
        }
    }
}

/// The sites for a term of ownership of the market: they get no orders of earlier terms, and those that
/// are remembered elsewhere count as away.
///
/// # Errors
/// If one cannot be opened.
pub(crate) fn open_for(
    settings: &Settings,
    state: &Path,
    (market, epoch): (&str, u64),
    memory: Vec<Memory>,
) -> Result<Vec<SiteSetup>, Failure> {
    let sites = configured(settings);
    let open = |(site, memory): (&Site, Memory)| {
        let notes = match memory {
            Memory::Here => None,
            Memory::Shared(notes) => Some(notes),
            Memory::Elsewhere => return Ok(elsewhere(site)),
        };
        let folder = state.join("sites").join(&site.name);
        let fence = Fence::raise(&folder, epoch);
        let fence = fence.map_err(|wrong| {
            Failure::usage(format!("failed to open the site `{}`: {wrong}", site.name))
        })?;
        let owned = Ownership { market: market.to_owned(), epoch, is_fenced: true, notes };
        let mut opened = open_one(site, &sites, (state, state), Some(owned))?;
        opened.site = Box::new(Fenced::new(opened.site, fence));
        Ok(opened)
    };
    sites.iter().zip(memory).map(open).collect()
}

fn elsewhere(site: &Site) -> SiteSetup {
    let why = match site.kind {
        SiteKind::Local(_) => {
            "a local site belongs to its machine, and this daemon runs on another, or in another \
             folder; its jobs go on there"
        }
        SiteKind::Slurm(_) | SiteKind::GridEngine(_) => {
            "what the market remembers of the site's tasks is still in the folder of an earlier daemon: \
             start that one once, which brings it into the database"
        }
    };
    let pools = site.pools.iter().map(setup).collect();
    SiteSetup {
        name: site.name.clone(),
        owner: site.owner.clone().unwrap_or_else(|| ADMINISTRATOR.to_owned()),
        site: Box::new(Elsewhere::new(pools, why.to_owned())),
        survey_every: Duration::from_secs(10),
        survey_within: within(site),
    }
}

/// How the cluster is reached, by a connection that is kept in the site's folder.
fn connected(cluster: &Cluster, folder: &Path) -> io::Result<Cluster> {
    let mut cluster = cluster.clone();
    if cluster.ssh.is_some() {
        std::fs::create_dir_all(folder)?;
        cluster.socket = Some(folder.canonicalize()?.join("ssh"));
    }
    Ok(cluster)
}

/// What a site under a manager is made of.
fn managed(
    site: &Site,
    cluster: &Cluster,
    state: &Path,
    home: &Path,
) -> io::Result<driver::ManagedSettings> {
    Ok(driver::ManagedSettings {
        name: site.name.clone(),
        folder: state.join("sites").join(&site.name),
        cluster: connected(cluster, &home.join("sites").join(&site.name))?,
        pools: site.pools.iter().map(|pool| (setup(pool), pool.members.clone())).collect(),
    })
}

/// Opens every cluster that is only observed; what each keeps is below `state`, in `observed/NAME`,
/// where no market ever submitted anything.
pub(crate) fn open_observed(
    settings: &Settings,
    state: &Path,
) -> Result<Vec<ObservedSite>, Failure> {
    let zone = settings.zone.clone().unwrap_or_else(TimeZone::system);
    let open = |site: &Site| {
        let opened = observed(site, &state.join("observed").join(&site.name));
        let (opened, every) = opened.map_err(|wrong| {
            Failure::usage(format!("failed to open the observed site `{}`: {wrong}", site.name))
        })?;
        let (pools, zone) = (site.pools.clone(), zone.clone());
        let pricing = move |at, loads: &[u32]| {
            let loads = loads.iter().copied().chain(std::iter::repeat(0));
            pools.iter().zip(loads).map(|(pool, load)| pool.price_at(at, load, &zone)).collect()
        };
        let (name, pricing) = (site.name.clone(), Box::new(pricing));
        let policy = site.policy.as_deref().map(site_policy);
        Ok(ObservedSite { name, site: opened, every, pricing, policy })
    };
    settings.observed.iter().map(open).collect()
}

/// The cluster, and how often it is surveyed: not more often than it may be asked while nothing of
/// ours is there.
fn observed(site: &Site, folder: &Path) -> io::Result<(Observed, Duration)> {
    if site.name.contains('/') || [".", ".."].contains(&site.name.as_str()) {
        return Err(io::Error::other("its name cannot be that of a folder"));
    }
    let SiteKind::Slurm(cluster) = &site.kind else {
        return Err(io::Error::other("only clusters under Slurm can be observed"));
    };
    let per_minute = cluster.requests_at_rest.max(1);
    let rest = Duration::from_secs(60) * LISTS_OF_SURVEY / per_minute;
    let opened = slurm::observe(driver::ManagedSettings {
        name: site.name.clone(),
        folder: folder.to_owned(),
        cluster: connected(cluster, folder)?,
        pools: site.pools.iter().map(|pool| (setup(pool), pool.members.clone())).collect(),
    })?;
    Ok((opened, every(cluster).max(rest)))
}

/// Slots of the local sites among these: they share one machine.
fn slots<'a>(sites: impl IntoIterator<Item = &'a Site>) -> u32 {
    let local = sites.into_iter().filter(|site| matches!(site.kind, SiteKind::Local(_)));
    local.flat_map(|site| &site.pools).fold(0, |sum: u32, pool| sum.saturating_add(pool.nodes))
}

/// `all`: the sites of which it is one. `owned`: in which term of ownership; `None`: for a look.
fn open_one(
    site: &Site,
    all: &[Site],
    (state, home): (&Path, &Path),
    owned: Option<Ownership>,
) -> Result<SiteSetup, Failure> {
    let failed = |wrong: &dyn std::fmt::Display| {
        let hint = "`tradewind doctor` looks at every site and says what to do";
        Failure::usage(format!("failed to open the site `{}`: {wrong}", site.name)).hint(hint)
    };
    // The name becomes a folder's, and `SITE/POOL` must be read in one way only.
    if site.name.contains('/') || [".", ".."].contains(&site.name.as_str()) {
        return Err(failed(&"its name cannot be that of a folder"));
    }
    let (opened, survey_every): (Box<dyn tradewind_daemon::site::Site>, _) = match &site.kind {
        SiteKind::Local(machine) => {
            let made = local_settings(site, machine, state);
            let mut settings = made.map_err(|wrong| failed(&wrong))?;
            let before = all.iter().take_while(|it| it.name != site.name);
            settings.confinement.slots_before = slots(before);
            settings.confinement.slots_of_machine = Some(slots(all));
            let opened = match owned {
                Some(owned) if owned.is_fenced => Local::open_for(settings, owned.epoch),
                _ => Local::open(settings),
            };
            (Box::new(opened.map_err(|wrong| failed(&wrong))?), LOCAL_SURVEY)
        }
        SiteKind::Slurm(cluster) => {
            let settings = managed(site, cluster, state, home).map_err(|wrong| failed(&wrong))?;
            let opened = match owned {
                Some(owned) => slurm::open_for(settings, owned),
                None => slurm::open(settings),
            };
            (opened.map_err(|wrong| failed(&wrong))?, every(cluster))
        }
        SiteKind::GridEngine(cluster) => {
            let settings = managed(site, cluster, state, home).map_err(|wrong| failed(&wrong))?;
            let opened = match owned {
                Some(owned) => gridengine::open_for(settings, gridengine::PATIENCE, owned),
                None => gridengine::open(settings, gridengine::PATIENCE),
            };
            (opened.map_err(|wrong| failed(&wrong))?, every(cluster))
        }
    };
    Ok(SiteSetup {
        name: site.name.clone(),
        owner: site.owner.clone().unwrap_or_else(|| ADMINISTRATOR.to_owned()),
        site: opened,
        survey_every,
        survey_within: within(site),
    })
}

/// How long a survey may take before the site counts as away. A manager's commands have limits of
/// their own, and a survey takes several of them.
fn within(site: &Site) -> Duration {
    let usual = match &site.kind {
        SiteKind::Local(_) => LOCAL_WITHIN,
        SiteKind::Slurm(cluster) | SiteKind::GridEngine(cluster) => Span(6 * cluster.timeout.0),
    };
    let within = site.survey_timeout.unwrap_or(usual);
    Duration::from_secs(u64::try_from(within.0).unwrap_or(1))
}

/// The local sites that run all jobs as the daemon's own account.
pub(crate) fn sharing(settings: &Settings) -> Vec<String> {
    let shares = |site: &&Site| match &site.kind {
        SiteKind::Local(machine) => machine.user_command.is_empty(),
        SiteKind::Slurm(_) | SiteKind::GridEngine(_) => false,
    };
    configured(settings).iter().filter(shares).map(|site| site.name.clone()).collect()
}

fn every(cluster: &Cluster) -> Duration {
    Duration::from_secs(u64::try_from(cluster.survey_every.0).unwrap_or(1))
}

fn setup(pool: &Pool) -> PoolSetup {
    PoolSetup {
        name: pool.name.clone(),
        nodes: pool.nodes,
        performance: pool.performance,
        attributes: pool.attributes.clone(),
    }
}

/// Tasks that do not say where they run do so in `STATE/work`, which is made if necessary, or in
/// their account's directory.
fn local_settings(
    site: &Site,
    machine: &LocalAccounts,
    state: &Path,
) -> io::Result<local::LocalSettings> {
    use std::os::unix::fs::DirBuilderExt as _;
    let directory = state.join("work");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    let state = state.canonicalize()?;
    let accounts = (!machine.user_command.is_empty()).then(|| local::UserAccounts {
        user_command: machine.user_command.clone(),
        accounts: machine.accounts.clone(),
        directory: machine.directory.clone(),
        spool: machine.spool.clone(),
    });
    Ok(local::LocalSettings {
        folder: state.join("sites").join(&site.name),
        directory: state.join("work"),
        supervisor: vec![std::env::current_exe()?, PathBuf::from(SUPERVISE)],
        pools: site.pools.iter().map(setup).collect(),
        grace: local::LocalSettings::GRACE,
        accounts,
        hidden: Some(state),
        confinement: Confinement {
            namespaces: wish(machine.hide_state),
            cgroups: wish(machine.cgroups),
            processors: machine.processors,
            memory: machine.memory,
            slots_of_machine: None,
            slots_before: 0,
        },
    })
}

fn wish(told: machine::Wish) -> ConfineMode {
    match told {
        machine::Wish::Auto => ConfineMode::Auto,
        machine::Wish::Require => ConfineMode::Require,
        machine::Wish::Off => ConfineMode::Off,
    }
}

/// What the owners of sites should know of how jobs run there: each sentence once, with the sites.
pub(crate) fn remarks(sites: &[SiteSetup]) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for site in sites {
        for remark in site.site.remarks() {
            match all.iter_mut().find(|(known, _)| *known == remark) {
                Some((_, names)) => names.push(&site.name),
                None => all.push((remark, vec![&site.name])),
            }
        }
    }
    all.into_iter().map(|(remark, names)| format!("{}: {remark}", names.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_configuration_there_are_two_small_sites() {
        let pools = pools(&Settings::default()).unwrap();
        let shown = |pool: &model::Pool| format!("{} {} {}", pool.name, pool.nodes, pool.price);
        let shown: Vec<String> = pools.as_slice().iter().map(shown).collect();
        assert_eq!(shown, ["alpha/main 4 0.002", "beta/spare 2 0.001"]);
        let first = &pools.as_slice()[0].attributes;
        assert_eq!(first.get("site"), Some(&Attribute::Text("alpha".to_owned())));
        assert_eq!(first.get("pool"), Some(&Attribute::Text("main".to_owned())));
    }

    #[test]
    fn sites_are_opened_below_the_state_and_are_well() {
        let state = tempfile::tempdir().unwrap();
        let mut sites = open(&Settings::default(), state.path(), "m").unwrap();
        assert!(state.path().join("sites/beta/tasks").is_dir());
        let surveyed = sites[0].site.survey().unwrap();
        assert_eq!((surveyed.pools.len(), surveyed.pools[0].up), (1, 4));
        let second = open(&Settings::default(), state.path(), "m").unwrap_err();
        assert!(second.problems[0].message.contains("used by another process"), "{second:?}");
    }

    #[test]
    fn a_name_that_is_no_folder_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let mut sites = DefaultSlots::FIXED.sites();
        sites[0].name = "../up".to_owned();
        let settings = Settings { sites, ..Settings::default() };
        let wrong = open(&settings, state.path(), "m").unwrap_err();
        assert!(wrong.problems[0].message.contains("cannot be that of a folder"), "{wrong:?}");
    }
}
