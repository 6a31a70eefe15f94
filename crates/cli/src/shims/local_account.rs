//! The caller's account on this machine.

/// The number of the account on this machine, and its names.
pub(super) fn names() -> Vec<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let named = ["USER", "LOGNAME"].into_iter().filter_map(|it| std::env::var(it).ok());
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut all: Vec<String> = named.collect();
    all.extend(known.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    }));
    all.push(id);
    all
}

/// Users of the market have no numbers: the caller's own is that of the account.
pub(super) fn user_id(user: &str) -> String {
    match names().iter().any(|account| account == user) {
        true => rustix::process::getuid().as_raw().to_string(),
        false => "N/A".to_owned(),
    }
}
