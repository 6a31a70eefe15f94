//! Which Unix account of a cluster runs a user's jobs: the one that its owner has written down,
//! and no other.

use std::collections::BTreeMap;

/// Whose account is whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accounts {
    /// Each user's is called as the user is.
    Same,
    /// By user; `*` stands for all others.
    Of(BTreeMap<String, String>),
}

/// All users who are not named.
const ANYBODY: &str = "*";

impl Accounts {
    /// The account of `user`.
    ///
    /// # Errors
    /// A text that says what the site's owner must add, if there is none.
    pub fn of<'a>(&'a self, site: &str, user: &'a str) -> Result<&'a str, String> {
        let account = match self {
            Accounts::Same => user,
            Accounts::Of(all) => all.get(user).or_else(|| all.get(ANYBODY)).ok_or_else(|| {
                format!(
                    "{user:?} has no account at {site}: its owner must add \
                     `accounts = {{ {user:?} = \"…\" }}` to the site"
                )
            })?,
        };
        match is_name(account) {
            true => Ok(account),
            false => Err(format!(
                "{account:?} cannot be an account at {site}: its owner must add \
                 `accounts = {{ {user:?} = \"…\" }}` with a Unix account's name"
            )),
        }
    }
}

/// Whether a Unix account may be called so: what is passed on to `sudo` or `ssh` is never an
/// option, a path or a number.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let rest =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    first && text.len() <= 32 && bytes.all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_runs_as_somebody_else() {
        let map = |pairs: &[(&str, &str)]| {
            Accounts::Of(pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
        };
        let some = map(&[("ana", "ana01"), ("bo", "-x")]);
        assert_eq!(some.of("alpha", "ana"), Ok("ana01"));
        let told = some.of("alpha", "eve").unwrap_err();
        assert!(told.contains("\"eve\" has no account at alpha") && told.contains("accounts = {"));
        assert!(some.of("alpha", "bo").unwrap_err().contains("cannot be an account"));
        assert_eq!(map(&[("*", "all")]).of("alpha", "eve"), Ok("all"));
        assert_eq!(Accounts::Same.of("alpha", "eve"), Ok("eve"));
        for odd in ["", "0", "Eve", "a b", "a/b", "-n", "a$", "ö", "{user}", "a\n", &"a".repeat(33)]
        {
            assert!(Accounts::Same.of("alpha", odd).is_err(), "{odd:?}");
        }
    }
}
