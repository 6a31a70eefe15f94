//! What sites know of tasks, in backups: tickets of submitted tasks, tags that must not run again,
//! and how tasks ended. So a restored market finds what happened to its jobs.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::files::at;
use super::local::ends;

/// Files that are copied as they are, in this order: a task that is forgotten in between is in a
/// later one.
const FILES: [&str; 2] = ["tickets", "gone"];
/// How tasks ended that are not in `tickets`.
const ENDS: &str = "ends";

/// Copies what the sites in the folder `sites` know into the folder `to`, which is made. The sites
/// may be in use. The journal must be copied before: what it knows must be known here, too.
///
/// # Errors
/// If a file cannot be read or written, or there is something at `to`.
pub fn backup(sites: &Path, to: &Path) -> io::Result<()> {
    make(to)?;
    for site in folders(sites)? {
        let (from, to) = (sites.join(&site), to.join(&site));
        make(&to)?;
        for name in FILES {
            copy(&from.join(name), &to.join(name))?;
        }
        ends::copy(&from, &to.join(ENDS))?;
        File::open(&to)?.sync_all()?;
    }
    File::open(to)?.sync_all()
}

/// Brings the copies in the folder `from` back into the folder `sites`. What is there already is
/// newer, and stays.
///
/// # Errors
/// If a file cannot be read or written.
pub fn restore(from: &Path, sites: &Path) -> io::Result<()> {
    let mut maker = DirBuilder::new();
    maker.recursive(true).mode(0o700);
    for site in folders(from)? {
        let (from, to) = (from.join(&site), sites.join(&site));
        maker.create(&to).map_err(|error| at(&to, &error))?;
        let is_used = FILES.iter().any(|name| to.join(name).exists());
        for name in FILES.iter().chain([&ENDS]).filter(|_| !is_used) {
            copy(&from.join(name), &to.join(name))?;
        }
        File::open(&to)?.sync_all()?;
    }
    Ok(())
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder).map_err(|error| at(folder, &error))
}

/// Names of the folders in a folder; none if it is not there.
fn folders(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at(folder, &error)),
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        all.extend(entry.file_type()?.is_dir().then(|| entry.file_name()));
    }
    all.sort();
    Ok(all)
}

/// Copies a file, if it is there, for its owner only.
///
/// # Errors
/// If it cannot be read, or not be written, or there is something at `to`.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut read = match File::open(from) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(from, &error)),
    };
    let mut options = OpenOptions::new();
    let made = options.create_new(true).write(true).mode(0o600).open(to);
    let mut written = made.map_err(|error| at(to, &error))?;
    let copied = io::copy(&mut read, &mut written).and_then(|_| written.sync_all());
    copied.map_err(|error| at(to, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sites_know_is_copied_and_what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [sites, copy, empty, used] =
            ["sites", "copy", "empty/sites", "used"].map(|name| folder.path().join(name));
        for (site, name) in [("a", "tickets"), ("a", "gone"), ("a", "lock"), ("b", "gone")] {
            fs::create_dir_all(sites.join(site)).unwrap();
            fs::write(sites.join(site).join(name), format!("{site} {name}\n")).unwrap();
        }
        backup(&sites, &copy).unwrap();
        assert!(backup(&sites, &copy).is_err(), "it is there already");
        restore(&copy, &empty).unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        assert_eq!(read(&empty.join("a/tickets")), "a tickets\n");
        assert_eq!(read(&empty.join("b/gone")), "b gone\n");
        assert!(!empty.join("a/lock").exists());
        fs::create_dir_all(used.join("a")).unwrap();
        fs::write(used.join("a/gone"), "newer\n").unwrap();
        restore(&copy, &used).unwrap();
        assert_eq!(
            (read(&used.join("a/gone")), used.join("a/tickets").exists()),
            ("newer\n".into(), false)
        );
        restore(&folder.path().join("none"), &used).unwrap();
    }
}
