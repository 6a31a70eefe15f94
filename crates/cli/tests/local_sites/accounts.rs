//! As whom jobs run, and who may have a token beside them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::market::{Market, PROGRAM, SITE, is_root, until, with_home};

fn new_token(market: &Market, user: &str, role: &str) -> (u16, String) {
    let body = serde_json::json!({"user": user, "role": role}).to_string();
    market.ask("POST", "/v1/tokens", &body)
}

fn secret(told: &(u16, String)) -> String {
    assert_eq!(told.0, 201, "{}", told.1);
    let told: Value = serde_json::from_str(&told.1).unwrap();
    told["token"].as_str().unwrap().to_owned()
}

/// `up` on the folder's state, until it ends by itself.
fn up(folder: &Path, more: &[&str]) -> Output {
    let mut up = Command::new(PROGRAM);
    up.args(["up", "--listen", "127.0.0.1:0", "--config"]).arg(folder.join("tradewind.toml"));
    up.arg("--state").arg(folder.join("state")).args(more).output().unwrap()
}

#[test]
fn where_all_share_an_account_only_administrators_have_tokens() {
    let market = Market::start(tempfile::tempdir().unwrap(), SITE);
    for role in ["user", "owner", "peer"] {
        let (status, told) = new_token(&market, "ana", role);
        assert_eq!(status, 403, "{role}: {told}");
        for word in ["`alpha`", "user_command", "shared_account = true"] {
            assert!(told.contains(word), "{word}: {told}");
        }
    }
    secret(&new_token(&market, "second", "administrator"));
    let shared = market.again(&format!("shared_account = true\n{SITE}"));
    let ana = secret(&new_token(&shared, "ana", "user"));
    assert_eq!(shared.ask_as(&ana, ("GET", "/v1/me"), "").0, 200);
    // Without the word, the daemon does not start with such a token.
    let folder = shared.end();
    fs::write(folder.path().join("tradewind.toml"), SITE).unwrap();
    let output = up(folder.path(), &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`ana`") && said.contains("shared_account = true"), "{said}");
}

#[test]
fn the_first_lines_say_whose_account_it_is() {
    let folder = tempfile::tempdir().unwrap();
    // It says so, and ends: there is a file in the state folder's place.
    fs::write(folder.path().join("state"), "").unwrap();
    let first = |config: &str, more: &[&str]| {
        fs::write(folder.path().join("tradewind.toml"), config).unwrap();
        let said = String::from_utf8(up(folder.path(), more).stderr).unwrap();
        said.lines().next().unwrap().to_owned()
    };
    assert!(first(SITE, &[]).contains("only administrators get tokens"));
    let shared = format!("shared_account = true\n{SITE}");
    assert!(first(&shared, &[]).contains("each user can read the administrator's token"));
    assert!(
        first(SITE, &["--shared-account"]).contains("shared account: jobs of all users at alpha")
    );
    assert!(first(SITE, &["--demo"]).contains("demo: all users share this account"));
    let own = format!("{SITE}user_command = ['sudo', '-n', '-u', '{{user}}']\naccounts = 'same'\n");
    assert!(!first(&own, &[]).contains("account"));
}

#[test]
fn other_accounts_of_the_machine_see_nothing_of_the_state() {
    let market = Market::start(tempfile::tempdir().unwrap(), SITE);
    let job = market.submit("env >more; echo done", "out");
    until("it is done", || market.is(job, "COMPLETED"));
    for name in ["", "work", "sites", "sites/alpha"] {
        let mode = fs::metadata(market.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{name}");
    }
    for name in ["work/out", "work/more", "journal.db", "admin.token", "url"] {
        let mode = fs::metadata(market.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// What a job of a plain user tries to become administrator.
const ATTACK: &str = "id -un; grep -c '^Cap[PEA][^:]*:.*[1-9a-f]' /proc/self/status
    for file in STATE/admin.token STATE/journal.db $TRADEWIND_TASK_FOLDER/../../../../admin.token; do
        cat $file && echo read
    done; ls STATE && echo listed; echo x >>STATE/journal.db && echo written; echo end";

/// What none of its lines may begin with.
const ALL: [&str; 4] = ["read", "listed", "written", "tw_"];

fn attack(market: &Market, account: &str, forbidden: &[&str]) {
    let ana = secret(&new_token(market, "ana", "user"));
    let text = ATTACK.replace("STATE", &market.state().to_string_lossy());
    let job = market.submit_as(&ana, &text, "out");
    until("it is done", || market.is(job, "COMPLETED"));
    let (status, said) = market.ask_as(&ana, ("GET", &format!("/v1/jobs/{job}/output")), "");
    assert_eq!(status, 200, "{said}");
    assert!(said.starts_with(&format!("{account}\n0\n")) && said.contains("\nend\n"), "{said}");
    for word in forbidden {
        assert!(!said.lines().any(|line| line.starts_with(word)), "{word}: {said}");
    }
}

fn accounts(words: &str, home: &Path) -> String {
    let home = home.display();
    format!(
        "{SITE}user_command = [{words}]\naccounts = {{ '*' = 'games' }}\n\
         directory = '{home}'\nspool = '{home}/.spool'\n"
    )
}

#[test]
fn a_user_does_not_become_administrator() {
    if !is_root("accounts::a_user_does_not_become_administrator") {
        return;
    }
    for words in [
        "'setpriv', '--reuid={user}', '--regid={user}', '--clear-groups'",
        "'sudo', '-n', '-u', '{user}'",
    ] {
        let (folder, home) = with_home();
        attack(&Market::start(folder, &accounts(words, &home)), "games", &ALL);
    }
}

/// The state folder of a daemon that is not root.
fn own(folder: &Path) {
    let (state, owner) = (folder.join("state"), "news");
    fs::create_dir(&state).unwrap();
    assert!(Command::new("chown").arg(owner).arg(&state).status().unwrap().success());
}

/// All share the account of a daemon that is not root, and the state folder is hidden from jobs.
#[test]
fn a_hidden_state_folder_is_not_read_by_those_who_share_an_account() {
    if !is_root("accounts::a_hidden_state_folder_is_not_read_by_those_who_share_an_account") {
        return;
    }
    let as_news = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=news", "--regid=news", "--clear-groups"]);
        command
    };
    let mut probe = as_news();
    probe.args(["unshare", "--user", "--map-root-user", "--mount", "true"]);
    if !probe.status().unwrap().success() {
        eprintln!("no user namespaces here: the tests of the site say what happens then");
        return;
    }
    let (folder, _) = with_home();
    own(folder.path());
    let mut daemon = as_news();
    daemon.arg(PROGRAM);
    let config = format!("shared_account = true\n{SITE}hide_state = true\n");
    let market = Market::start_by(daemon, folder, &config);
    // The cover may be listed and written to.
    attack(&market, "news", &["read", "tw_"]);
    assert_eq!(market.ask("GET", "/readyz", "").0, 200);
}

/// The daemon under an account of its own, with the three capabilities that the service unit's
/// drop-in gives it.
#[test]
fn a_daemon_that_is_not_root_runs_jobs_of_users() {
    if !is_root("accounts::a_daemon_that_is_not_root_runs_jobs_of_users") {
        return;
    }
    let given = "+setuid,+setgid,+kill";
    let daemon = || {
        let mut up = Command::new("setpriv");
        up.args(["--reuid=news", "--regid=news", "--clear-groups", "--no-new-privs"]);
        up.args([format!("--inh-caps={given}"), format!("--ambient-caps={given}")]);
        up.arg(PROGRAM);
        up
    };
    let words = "'setpriv', '--reuid={user}', '--regid={user}', '--clear-groups', \
                 '--inh-caps=-all', '--ambient-caps=-all'";
    let (folder, home) = with_home();
    own(folder.path());
    let market = Market::start_by(daemon(), folder, &accounts(words, &home));
    attack(&market, "games", &ALL);
    // What a job leaves behind ends with it, though it belongs to another account.
    let job = market.submit("env -i setsid sleep 7311 & echo started; sleep 7311", "out");
    let output = format!("/v1/jobs/{job}/output");
    until("it runs", || market.ask("GET", &output, "").1.contains("started"));
    let cancelled = market.ask("DELETE", &format!("/v1/jobs/{job}"), "");
    assert_eq!(cancelled.0, 200, "{}", cancelled.1);
    until("it is cancelled", || market.is(job, "CANCELLED"));
    let left = Command::new("pgrep").args(["-f", "^sleep 7311$"]).output().unwrap();
    assert!(left.stdout.is_empty(), "{left:?}");
    // A command that leaves the daemon's capabilities to jobs runs none.
    let (folder, home) = with_home();
    own(folder.path());
    let words = "'setpriv', '--reuid={user}', '--regid={user}', '--clear-groups'";
    let market = Market::start_by(daemon(), folder, &accounts(words, &home));
    let job = market.submit("true", "out");
    until("it is refused", || {
        market.ask("GET", &format!("/v1/jobs/{job}"), "").1.contains("leaves capabilities")
    });
}
