//! Which Unix account of a cluster runs a user's jobs: the one that its owner has written down,
//! and no other.

pub use tradewind_io::settings::cluster::Accounts;

/// All users who are not named.
const ANYBODY: &str = "*";

/// The account of `user` at `site`.
///
/// # Errors
/// A text that says what the site's owner must add, if there is none.
pub fn account_of<'a>(
    accounts: &'a Accounts,
    site: &str,
    user: &'a str,
) -> Result<&'a str, String> {
    let add = |name: &str| format!("its owner must add `accounts = {{ {user:?} = \"{name}\" }}`");
    let account = match accounts {
        Accounts::Same => user,
        Accounts::Of(all) => all
            .get(user)
            .or_else(|| all.get(ANYBODY))
            .ok_or_else(|| format!("{user:?} has no account at {site}: {}", add("…")))?,
    };
    match is_name(account) {
        true => Ok(account),
        false => Err(format!("{account:?} cannot be an account at {site}: {}", add("NAME"))),
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
        assert_eq!(account_of(&some, "alpha", "ana"), Ok("ana01"));
        let told = account_of(&some, "alpha", "eve").unwrap_err();
        assert!(told.contains("\"eve\" has no account at alpha") && told.contains("accounts = {"));
        assert!(account_of(&some, "alpha", "bo").unwrap_err().contains("cannot be an account"));
        assert_eq!(account_of(&map(&[("*", "all")]), "alpha", "eve"), Ok("all"));
        assert_eq!(account_of(&Accounts::Same, "alpha", "eve"), Ok("eve"));
        for odd in ["", "0", "Eve", "a b", "a/b", "-n", "a$", "ö", "{user}", "a\n", &"a".repeat(33)]
        {
            assert!(account_of(&Accounts::Same, "alpha", odd).is_err(), "{odd:?}");
        }
    }
}
