//! The file in which the observation is kept.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record::Shadow;

/// The format of the file.
const FORMAT: u32 = 1;
/// A larger file was not written by this program.
const MAX_BYTES: u64 = 256 << 20;

#[derive(Serialize)]
struct ShadowFile<'a> {
    format: u32,
    shadow: &'a Shadow,
}

#[derive(Deserialize)]
struct Read {
    format: u32,
    shadow: Shadow,
}

/// What the file has; nothing if there is none. A damaged file is renamed, which the log says.
///
/// # Errors
/// If it cannot be read, or a damaged one cannot be renamed.
pub(super) fn load(path: &Path) -> io::Result<Shadow> {
    let size = match fs::metadata(path) {
        Ok(about) => about.len(),
        Err(wrong) if wrong.kind() == ErrorKind::NotFound => return Ok(Shadow::default()),
        Err(wrong) => return Err(wrong),
    };
    let read = match size <= MAX_BYTES {
        true => read(&fs::read(path)?),
        false => Err("it is too large".to_owned()),
    };
    match read {
        Ok(mut shadow) => {
            shadow.bound();
            Ok(shadow)
        }
        Err(wrong) => {
            let aside = aside(path);
            fs::rename(path, &aside)?;
            let (path, aside) = (path.display(), aside.display());
            tracing::warn!(
                "`{path}` is damaged ({wrong}): it is `{aside}` now, and the observation begins again"
            );
            Ok(Shadow::default())
        }
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Shadow, String> {
    let read: Read = serde_json::from_slice(bytes).map_err(|wrong| wrong.to_string())?;
    match read.format {
        FORMAT => Ok(read.shadow),
        other => Err(format!("it has format {other}, and {FORMAT} is known")),
    }
}

/// Where a damaged file is kept.
pub(super) fn aside(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}

/// Writes the file: as a whole or not at all.
///
/// # Errors
/// If it cannot be written.
pub(super) fn save(path: &Path, shadow: &Shadow) -> io::Result<()> {
    let bytes = serde_json::to_vec(&ShadowFile { format: FORMAT, shadow })?;
    let part = path.with_extension("part");
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&part, path)
}
