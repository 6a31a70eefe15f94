//! Passwords in `~/.pgpass`, as PostgreSQL's own programs read them.
//!
//! A line is `HOST:PORT:DATABASE:USER:PASSWORD`; `*` fits anything, `\:` and `\\` stand for `:` and
//! `\`. The first line that fits counts. A file that others can read is not used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// What a password is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// A name, an address, or the folder of a socket.
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The file that is named by `PGPASSFILE`, or `~/.pgpass`.
pub(crate) fn file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    set("PGPASSFILE").or_else(|| set("HOME").map(|home| home.join(".pgpass")))
}

/// The password in the file, if there is a file and a line that fits.
///
/// # Errors
/// If the file is there and cannot be used: what is wrong with it.
pub(crate) fn find(file: &Path, wanted: Wanted<'_>) -> Result<Option<String>, String> {
    let Ok(about) = fs::metadata(file) else { return Ok(None) };
    if !about.is_file() {
        return Ok(None);
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err(format!(
            "the password file `{0}` can be read by other accounts: `chmod 600 {0}`",
            file.display()
        ));
    }
    let text = fs::read_to_string(file);
    let text = text.map_err(|wrong| {
        format!("the password file `{}` cannot be read: {wrong}", file.display())
    })?;
    Ok(text.lines().find_map(|line| password(line, wanted)))
}

fn password(line: &str, wanted: Wanted<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let fields = split(line);
    let [host, port, database, user, password] = fields.as_slice() else { return None };
    let fits = |field: &Field, is: &str| field.is_any || field.text == is;
    // A socket in the usual folder is called `localhost` there.
    let here = wanted.host.starts_with('/') && host.text == "localhost";
    let fits = (fits(host, wanted.host) || here)
        && fits(port, &wanted.port.to_string())
        && fits(database, wanted.database)
        && fits(user, wanted.user);
    fits.then(|| password.text.clone())
}

#[derive(Default)]
struct Field {
    text: String,
    /// A star that was not escaped.
    is_any: bool,
}

fn split(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        // The password is the last field: it ends with the line.
        let is_last = fields.len() == 5;
        let Some(field) = fields.last_mut() else { break };
        match letter {
            '\\' => field.text.extend(letters.next()),
            ':' if !is_last => {
                field.is_any = field.text == "*";
                fields.push(Field::default());
            }
            _ => field.text.push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted<'_> =
        Wanted { host: "db.example", port: 5432, database: "tradewind", user: "tw" };

    #[test]
    fn the_first_line_that_fits_counts() {
        let line = |line: &str| password(line, WANTED);
        assert_eq!(line("db.example:5432:tradewind:tw:one").as_deref(), Some("one"));
        assert_eq!(line(r"*:*:*:*:a\:b\\c:d").as_deref(), Some(r"a:b\c:d"));
        for other in ["# *:*:*:*:x", "db:5432:tradewind:tw:x", "*:1:*:*:x", "*:*:*:root:x", "*:*:x"]
        {
            assert_eq!(line(other), None, "{other}");
        }
        let socket = Wanted { host: "/run/postgresql", ..WANTED };
        assert_eq!(password("localhost:*:*:*:s", socket).as_deref(), Some("s"));
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pass");
        assert_eq!(find(&file, WANTED), Ok(None));
        fs::write(&file, "a:1:b:c:no\n*:*:*:*:secret\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let refused = find(&file, WANTED).unwrap_err();
        assert!(refused.contains("chmod 600") && !refused.contains("secret"), "{refused}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(find(&file, WANTED).unwrap().as_deref(), Some("secret"));
    }
}
