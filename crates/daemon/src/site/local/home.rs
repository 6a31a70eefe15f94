//! The account that this process runs as: its name, home and shell, as the system has them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An entry of the system's accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    pub name: String,
    pub home: PathBuf,
    pub shell: String,
}

impl Home {
    /// Of the account that runs this process. `getent` asks wherever accounts are kept; without an
    /// entry the home is the root of all.
    pub(super) fn own() -> Home {
        let number = rustix::process::geteuid().as_raw().to_string();
        let mut ask = Command::new("getent");
        ask.args(["passwd", &number]).stdin(Stdio::null()).stderr(Stdio::null());
        let answer = ask.output().map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
        let files = || std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let of = |text: String| Home::among(&text, &number);
        answer.ok().and_then(of).or_else(|| of(files())).unwrap_or_else(|| Home {
            name: number.clone(),
            home: PathBuf::from("/"),
            shell: "/bin/sh".to_owned(),
        })
    }

    /// The entry of this number among lines as `/etc/passwd` has them.
    fn among(text: &str, number: &str) -> Option<Home> {
        text.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, found, _, _, home, shell] = fields.as_slice() else { return None };
            let shell = if shell.is_empty() { "/bin/sh" } else { shell };
            let home = if home.is_empty() { "/" } else { home };
            (*found == number).then(|| Home {
                name: (*name).to_owned(),
                home: PathBuf::from(home),
                shell: shell.to_owned(),
            })
        })
    }

    /// The path, with the home for a `~` at its beginning.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        path.strip_prefix("~").map_or_else(|_| path.to_owned(), |rest| self.home.join(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_of_the_account() {
        let text = "root:x:0:0:root:/:/bin/bash\nana:x:1001:1001:,,,:/people/ana:\n";
        let home = Home::among(text, "1001").unwrap();
        assert_eq!((home.name.as_str(), home.shell.as_str()), ("ana", "/bin/sh"));
        assert_eq!(home.place(Path::new("~/a")), Path::new("/people/ana/a"));
        assert_eq!(home.place(Path::new("~")), Path::new("/people/ana/"));
        assert_eq!(home.place(Path::new("/a/~")), Path::new("/a/~"));
        assert_eq!(Home::among(text, "7"), None);
    }
}
