//! A local site under test, in a folder of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tradewind_daemon::site::conformance::SiteBench;
use tradewind_daemon::site::local::{ConfineMode, Confinement, Local, LocalSettings};
use tradewind_daemon::site::{PoolSetup, Site};
use tradewind_model::{Performance, Time};

pub(crate) struct LocalBench {
    /// Removed with the bench.
    _folder: TempDir,
    pub(crate) settings: LocalSettings,
    /// `None` only while it is being replaced.
    pub(crate) local: Option<Local>,
}

/// Tasks without namespaces and cgroups: where those are allowed, they have tests of their own.
pub(crate) const FREE: Confinement = Confinement {
    namespaces: ConfineMode::Off,
    cgroups: ConfineMode::Off,
    processors: None,
    memory: None,
    slots_of_machine: None,
    slots_before: 0,
};

impl LocalBench {
    pub(crate) fn new() -> LocalBench {
        LocalBench::with(8)
    }

    pub(crate) fn with(slots: u32) -> LocalBench {
        LocalBench::set(slots, |_, _| {})
    }

    /// With settings that are changed; the folder in which all is comes first.
    pub(crate) fn set(slots: u32, change: impl Fn(&Path, &mut LocalSettings)) -> LocalBench {
        let folder = TempDir::new().unwrap();
        let directory = folder.path().join("work");
        std::fs::create_dir(&directory).unwrap();
        let pool = |name: &str, nodes| PoolSetup {
            name: name.to_owned(),
            nodes,
            performance: Performance::REFERENCE,
            attributes: BTreeMap::new(),
        };
        let mut settings = LocalSettings {
            folder: folder.path().join("site"),
            directory,
            supervisor: vec![PathBuf::from(env!("CARGO_BIN_EXE_tradewind-local-task"))],
            pools: vec![pool("cpu", slots), pool("other", 2)],
            grace: Duration::from_millis(300),
            accounts: None,
            hidden: None,
            confinement: FREE,
        };
        change(folder.path(), &mut settings);
        let local = Some(Local::open(settings.clone()).unwrap());
        LocalBench { _folder: folder, settings, local }
    }
}

/// What still runs must not exceed the test.
impl Drop for LocalBench {
    fn drop(&mut self) {
        self.local = None;
        let Ok(mut local) = Local::open(self.settings.clone()) else { return };
        let tags: Vec<_> =
            local.survey().map(|seen| seen.tasks.into_keys().collect()).unwrap_or_default();
        for tag in tags {
            let _ = local.withdraw(&tag);
        }
    }
}

impl SiteBench for LocalBench {
    fn site(&mut self) -> &mut dyn Site {
        self.local.as_mut().unwrap()
    }

    fn now(&mut self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Time(i64::try_from(since.as_secs()).unwrap())
    }

    fn wait(&mut self) {
        std::thread::sleep(Duration::from_millis(10));
    }

    fn patience(&self) -> u32 {
        6_000
    }

    fn restart(&mut self) {
        self.local = None;
        self.local = Some(Local::open(self.settings.clone()).unwrap());
    }

    fn take(&mut self, nodes: u32) {
        let path = self.local.as_ref().unwrap().owner_folder().join("hand");
        match nodes {
            0 => std::fs::remove_file(path).unwrap_or_default(),
            _ => {
                let taken = format!("{{\"pool\": \"cpu\", \"slots\": {nodes}}}");
                std::fs::write(path, taken).unwrap();
            }
        }
    }

    fn line_up(&mut self, _: &[u32]) -> bool {
        false
    }
}
