//! `tradewind login`, `whoami`, `logout`.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::stage::Stage;

/// A `login` that waits, and the code that it shows.
fn login(stage: &Stage) -> (Child, String) {
    let mut command = stage.command(&["login", "--url", &stage.url]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(&format!("{}/device?user_code=", stage.provider.url)), "{line}");
    (child, line.trim().rsplit(' ').next().unwrap().to_owned())
}

fn output(stage: &Stage, words: &[&str]) -> (Option<i32>, String, String) {
    let done = stage.command(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn a_command_signs_in_with_a_code() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc", "moon"]);
    let (child, code) = login(&stage);
    stage.provider.confirm(&code, "ana", "allow");
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0), "{said} {}", stage.log());
    assert!(said.contains(&format!("signed in to {} as ana (user) until 2", stage.url)), "{said}");
    let file = stage.folder.path().join("person/.config/tradewind/logins.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // From now on commands find market and token by themselves.
    let (status, text, warned) = output(&stage, &["whoami", "--format", "json"]);
    assert_eq!(status, Some(0), "{warned}");
    let me: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&me["user"], &me["projects"]), (&json!("ana"), &json!(["apollo"])));
    assert_eq!((&me["url"], &me["from"]), (&json!(stage.url), &json!("tradewind login")));
    assert_eq!(warned, "", "a sign-in is no token that expires in the last days");
    assert_eq!(output(&stage, &["jobs"]).0, Some(0));
    let token: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let token = token["markets"][&stage.url]["token"].as_str().unwrap().to_owned();
    let opens = || {
        let me = ureq::get(format!("{}/v1/me", stage.url));
        me.header("Authorization", format!("Bearer {token}")).call().is_ok()
    };
    assert!(opens());
    // A folder that is named goes before the sign-in, as far as its token can be read.
    let state = stage.folder.path().join("state");
    let who = || {
        let folder = state.to_string_lossy();
        let (status, text, said) =
            output(&stage, &["whoami", "--state", &folder, "--format", "json"]);
        assert_eq!(status, Some(0), "{said}");
        serde_json::from_str::<Value>(&text).unwrap()["user"].clone()
    };
    assert_eq!(who(), "admin");
    std::fs::rename(state.join("admin.token"), state.join("elsewhere")).unwrap();
    assert_eq!(who(), "ana");
    std::fs::rename(state.join("elsewhere"), state.join("admin.token")).unwrap();
    assert_eq!(output(&stage, &["logout"]).0, Some(0));
    assert!(!opens(), "it is revoked");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("tw_"));
    let (status, _, said) = output(&stage, &["whoami", "--url", &stage.url]);
    assert!(status == Some(2) && said.contains("tradewind login"), "{said}");
}

/// Signs ana in with these groups of hers, and says how a submission for a project went.
fn for_apollo(stage: &Stage, groups: &[&str]) -> (Option<i32>, String) {
    stage.provider.user("ana", groups);
    let (child, code) = login(stage);
    stage.provider.confirm(&code, "ana", "allow");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0), "{}", stage.log());
    let words = ["submit", "--account", "apollo", "--time", "1", "--hold", "--wrap", "true"];
    let (status, _, said) = output(stage, &words);
    (status, said)
}

#[test]
fn groups_make_members_of_projects_and_no_members_again() {
    let stage = Stage::new();
    let state = stage.folder.path().join("state").to_string_lossy().into_owned();
    let token = format!("{state}/admin.token");
    let by_administrator = |words: &[&str]| {
        let place = ["--state", state.as_str(), "--token-file", token.as_str()];
        output(&stage, &[words, &place[..]].concat())
    };
    let (status, said) = for_apollo(&stage, &["hpc", "moon"]);
    assert!(status != Some(0) && said.contains("project"), "there is none yet: {said}");
    assert!(stage.log().contains("stands for a project that is not there"), "{}", stage.log());
    for words in [&["project", "create", "apollo"][..], &["grant", "project:apollo", "100"]] {
        let (status, _, said) = by_administrator(words);
        assert_eq!(status, Some(0), "{said}");
    }
    let (status, said) = for_apollo(&stage, &["hpc"]);
    assert!(status != Some(0) && said.contains("not a member"), "{said}");
    let (status, said) = for_apollo(&stage, &["hpc", "moon"]);
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = for_apollo(&stage, &["hpc"]);
    assert!(status != Some(0) && said.contains("not a member"), "{said}");
}

#[test]
fn a_code_that_is_denied_signs_no_user_in() {
    let stage = Stage::new();
    stage.provider.user("ana", &["hpc"]);
    let (child, code) = login(&stage);
    stage.provider.confirm(&code, "ana", "deny");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    assert!(stage.log().contains("the sign-in was denied there"), "{}", stage.log());
    // A user without a role is refused, too.
    stage.provider.user("bob", &[]);
    let (child, code) = login(&stage);
    stage.provider.confirm(&code, "bob", "allow");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    assert!(!stage.folder.path().join("person/.config/tradewind/logins.json").exists());
}

#[test]
fn where_the_provider_has_no_codes_it_is_said_so() {
    let stage = Stage::new();
    stage.provider.control(json!({"device": false}));
    let (status, _, said) = output(&stage, &["login", "--url", &stage.url]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("Test University does not sign commands in by a code"), "{said}");
}
