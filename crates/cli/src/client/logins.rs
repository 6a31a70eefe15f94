//! Where this user is signed in: tokens that `tradewind login` got, in a file that only its owner
//! can read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::words::now;
use crate::commands::up::place::write_private;
use crate::exit::Failure;

/// All markets that this user is signed in to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Logins {
    /// The one that was signed in to last.
    #[serde(default)]
    pub(crate) last: Option<String>,
    /// Sign-ins, by the URL of the market.
    #[serde(default)]
    pub(crate) markets: BTreeMap<String, Login>,
}

/// One of them.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Login {
    pub(crate) token: String,
    pub(crate) user: String,
    /// Seconds since 1970.
    #[serde(default)]
    pub(crate) expires: Option<i64>,
    /// Authorities to trust for it instead of the usual ones: a file in PEM.
    #[serde(default)]
    pub(crate) ca: Option<PathBuf>,
}

/// Without the secret.
impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Login {
    pub(crate) fn is_over(&self) -> bool {
        self.expires.is_some_and(|it| it <= now())
    }
}

/// The file of them.
fn file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    folder.map(|folder| folder.join("tradewind").join("logins.json"))
}

impl Logins {
    /// Those of the file; none without one, or if it cannot be read.
    pub(crate) fn read() -> Logins {
        let text = file().and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes them down, and returns the file.
    ///
    /// # Errors
    /// If that is not possible.
    pub(crate) fn write(&self) -> Result<PathBuf, Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        let hint = "`$XDG_CONFIG_HOME` names another folder";
        let file = file().ok_or_else(|| Failure::usage("there is no home: HOME is not set"))?;
        let folder = file.parent().unwrap_or(&file);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|wrong| {
            Failure::usage(format!("cannot make `{}`: {wrong}", folder.display())).hint(hint)
        })?;
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        write_private(&file, &format!("{text}\n")).map_err(|failure| failure.hint(hint))?;
        Ok(file)
    }

    /// The one of this market, if it has not expired.
    pub(crate) fn at(&self, url: &str) -> Option<&Login> {
        self.markets.get(url).filter(|it| !it.is_over())
    }
}
