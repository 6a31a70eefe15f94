//! Pages show each reader what the API would.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;
use tradewind_daemon::site::Exit;

use crate::signin::Browser;
use crate::stage::Stage;

fn page(stage: &Stage, user: &str, path: &str) -> String {
    let (status, text) = stage.send(user, "GET", path, &[], vec![]);
    assert_eq!(status, 200, "{user} {path}: {text}");
    text
}

#[test]
fn a_new_market_says_what_to_do_first() {
    let stage = Stage::new();
    assert!(page(&stage, "ana", "/").contains("A new market"));
    let market = page(&stage, "olga", "/market?try=alpha/x");
    let parts =
        ["The market is new", "There is no load yet", "credits per node-hour", "id=\"use\""];
    for part in parts.into_iter().chain(["data-poll=\"10\""]) {
        assert!(market.contains(part), "{part} in {market}");
    }
    assert!(page(&stage, "ana", "/ledger").contains("There are no postings of this account"));
    stage.stop();
}

#[test]
fn income_and_postings_are_for_those_whom_they_concern() {
    let stage = Stage::new();
    let first = stage.submit("ana", 1);
    stage.end(first, Exit::Code(0));
    stage.until(first, "COMPLETED");
    assert!(!page(&stage, "ana", "/").contains("A new market"));
    let of = |user: &str| page(&stage, user, "/market");
    assert!(of("root").contains("Owners’ income") && !of("ana").contains("Owners’ income"));
    let alphas = of("olga");
    assert!(alphas.contains("</svg>alpha</li>") && !alphas.contains("</svg>beta</li>"));
    let earned = |user: &str| {
        let text = page(&stage, user, "/market?of=alpha");
        text.split_once("id=\"income\"").map(|(_, rest)| rest.to_owned())
    };
    assert!(earned("olga").is_some_and(|it| it.contains("</svg>alpha/x</li></ul>")));
    assert_eq!(earned("otto"), None);
    let owners = |user: &str| page(&stage, user, "/market?try=alpha/x").contains("id=\"trial\"");
    assert!(owners("olga") && owners("root") && !owners("ana"));
    // A reader who sees neither side of a posting does not see it.
    let lines = |user: &str, query: &str| {
        let text = page(&stage, user, &format!("/ledger.csv?account={query}"));
        assert!(text.starts_with("number,time,kind,job,from,to,amount,note\n"));
        text.lines().count() - 1
    };
    assert_eq!(lines("bob", ""), 0);
    let own = lines("ana", "");
    assert!(own >= 3 && lines("root", "") >= own, "a grant, a hold, what is settled");
    assert_eq!(lines("ana", &format!("&job={first}&kind=settle")), 1);
    assert_eq!(lines("ana", "&kind=settle&until=2001-01-01"), 0);
    assert_eq!(lines("ana", "&kind=settle&from=2001-01-01T00:00&zone=UTC"), 1);
    let refused = |user: &str, path: &str| stage.send(user, "GET", path, &[], vec![]).0;
    assert_eq!(refused("bob", "/ledger?account=user:ana"), 404);
    assert_eq!(refused("bob", "/ledger.csv?account=user:ana"), 404);
    assert_eq!(refused("ana", "/ledger?account=thief"), 404);
    assert_eq!(refused("ana", "/ledger?zone=nowhere"), 422);
    assert_eq!(refused("ana", "/policy?compare=easy"), 403);
    stage.stop();
}

#[test]
fn policies_stand_side_by_side_and_the_page_knows_when_it_is_old() {
    let stage = Stage::new();
    for _ in 0..4 {
        stage.submit("ana", 2);
    }
    for job in [1, 2] {
        stage.until(job, "RUNNING");
    }
    let path = "/policy?compare=easy,other,easy";
    let text = page(&stage, "root", path);
    for part in ["Computed for the queue as of", "Not a guarantee", "Yes, switch to other"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("Yes, switch to easy"), "it does already");
    // Not everything that is written makes it old.
    let grant = json!({"from": "bank", "to": "user:bob", "amount": 5000});
    let (status, done) = stage.call("root", "POST", "/v1/transfers", grant);
    assert_eq!(status, 201, "{done}");
    assert!(!page(&stage, "root", path).contains("The market has changed since"));
    stage.submit("bob", 1);
    assert!(page(&stage, "root", path).contains("The market has changed since: jobs that wait."));
    // No reader waits for ever.
    let broken = page(&stage, "root", "/policy?compare=broken,other");
    assert!(broken.contains("a mistake of the program") && !broken.contains("<progress"));
    stage.stop();
}

#[test]
fn a_job_says_what_else_it_could_have_had() {
    let stage = Stage::new();
    let first = stage.submit("ana", 2);
    let seen = stage.until(first, "RUNNING");
    let choice = &seen["choice"];
    assert_eq!(choice["at"], seen["started"]);
    assert_eq!(choice["why"], "of 2 pools that could begin it at once, none would have cost less");
    let [other] = &choice["others"].as_array().unwrap()[..] else { panic!("{choice:#}") };
    let of = |name: &str| other[name].as_i64();
    assert_eq!((other["pool"].as_str(), of("start")), (Some("alpha/x"), seen["started"].as_i64()));
    assert_eq!(of("cost"), Some(2 * of("length").unwrap()));
    let verdict = other["verdict"].as_str().unwrap();
    assert!(
        verdict.contains("slower, ") && verdict.ends_with("credits more expensive"),
        "{verdict}"
    );
    let text = page(&stage, "ana", &format!("/jobs/{first}"));
    for part in [verdict, "✓ chosen", "none would have cost less", "as of the allocation at"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // One that waits has not chosen: as things are now.
    let (_, second) = (stage.submit("ana", 2), stage.submit("ana", 1));
    let text = page(&stage, "ana", &format!("/jobs/{second}"));
    assert!(text.contains("waiting jobs do not count") && !text.contains("✓ chosen"));
    assert!(stage.get("ana", &format!("/v1/jobs/{second}")).1.get("choice").is_none());
    stage.stop();
}

#[test]
fn observed_clusters_are_for_administrators() {
    let stage = Stage::new();
    let text = page(&stage, "root", "/shadow");
    assert!(text.contains("No cluster is observed"), "{text}");
    assert!(!page(&stage, "root", "/").contains("href=\"/shadow\""), "there is none");
    let (status, text) = stage.send("ana", "GET", "/shadow", &[("accept", "text/html")], vec![]);
    assert!(status == 403 && text.contains("Only an administrator"), "{text}");
    stage.stop();
}

#[test]
fn a_list_says_what_a_job_costs_and_its_place_in_an_array() {
    let stage = Stage::new();
    let mut array = crate::stage::job(1);
    array["array"] = json!("3,5");
    let (_, done) = stage.call("ana", "POST", "/v1/jobs", array);
    let job = done["jobs"][0].as_u64().unwrap();
    stage.until(job, "RUNNING");
    let list = page(&stage, "ana", "/jobs?arrays=each");
    assert!(list.contains(">t[3]<") && list.contains(">t[5]<"), "{list}");
    assert!(list.contains("so far, 30 at most</span>"), "{list}");
    assert!(page(&stage, "ana", &format!("/jobs/{job}")).contains("t[3]</h1>"));
    stage.end(job, Exit::Code(0));
    let seen = stage.until(job, "COMPLETED");
    assert_eq!(seen["cost_so_far"], seen["paid"]);
    assert_eq!(seen["cost_at_most"], seen["paid"]);
    stage.stop();
}

#[test]
fn time_goes_on_when_nothing_happens() {
    let stage = Stage::new();
    let job = stage.submit("ana", 1);
    stage.until(job, "RUNNING");
    let look = || {
        let text = page(&stage, "ana", &format!("/jobs/{job}"));
        let told = |before: &str, behind: &str| {
            let (_, rest) = text.split_once(before).unwrap();
            rest.split_once(behind).unwrap().0.to_owned()
        };
        let now: i64 = told("data-now=\"", "\"").parse().unwrap();
        (told("data-seq=\"", "\""), now, told("Cost so far</dt><dd>", " credits"))
    };
    let mut first = look();
    for _ in 0..200 {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let (row, now, cost) = look();
        if row != first.0 {
            first = (row, now, cost);
        } else if now >= first.1 + 2 {
            assert_ne!(cost, first.2, "the work goes on, and is paid for");
            return stage.stop();
        }
    }
    panic!("after row {} it is always {}", first.0, first.1);
}

#[test]
fn a_link_to_a_quote_tells_and_changes_nothing() {
    let stage = Stage::new();
    let row = || {
        let text = page(&stage, "ana", "/jobs");
        let (_, rest) = text.split_once("data-seq=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    let before = row();
    let link = "/quote?nodes=1&time=10m&name=linked&take=yes&quote=1";
    let text = page(&stage, "ana", link);
    for part in ["data-window=\"by-", "not reserved", "Get binding offers", "value=\"linked\""] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("name=\"quote\"") && !text.contains("id=\"take\""));
    assert!(page(&stage, "ana", "/quote?nodes=many&time=10m").contains("not a whole number"));
    let (status, part) = stage.send("ana", "GET", link, &[("x-part", "live")], vec![]);
    assert!(status == 200 && !part.contains("data-window"), "updates look for no offers");
    assert_eq!(row(), before, "nothing is written down");
    assert_eq!(stage.call("ana", "POST", "/v1/quotes", crate::stage::job(1)).0, 200);
    assert_ne!(row(), before, "what can be taken is");
    stage.stop();
}

#[test]
fn a_wrong_address_is_reported_on_a_page() {
    let stage = Stage::new();
    let send =
        |path: &str, accept: &str| stage.send("ana", "GET", path, &[("accept", accept)], vec![]);
    for (path, status, said) in [
        ("/jobs?page=x", 400, "The query is wrong"),
        ("/jobs/x", 400, "The path names nothing"),
        ("/jobs/99", 404, "You have no job 99"),
        ("/nowhere", 404, "There is no such page"),
    ] {
        let (found, text) = send(path, "text/html");
        assert_eq!(found, status, "{path}: {text}");
        assert!(text.starts_with("<!doctype html>") && text.contains(said), "{path}: {text}");
    }
    for path in ["/page/board?order=x", "/nowhere", "/v1/jobs/x"] {
        assert!(send(path, "*/*").1.starts_with("{\"error\""), "{path}");
    }
    let (_, text) = send("/quote?nodes=0&time=10m", "text/html");
    assert!(text.contains("aria-invalid") && !text.contains("command line"), "{text}");
    // What the script says counts, as at a submission.
    let script = "script=%23!/bin/sh%0A%23SBATCH%20--licenses=abaqus:1%0Atrue";
    let (_, text) = send(&format!("/quote?nodes=1&time=10m&{script}"), "text/html");
    assert!(text.contains("there is no licence `abaqus`"), "{text}");
    stage.stop();
}

/// Sends the form of the page of projects from a browser that the user signed in to.
fn change(stage: &Stage, user: &str, form: &str) -> (u16, String) {
    let mut browser = Browser::new(stage);
    browser.sign_in(&stage.tokens[user]);
    let pairs: Vec<(&str, &str)> = form.split('&').filter_map(|it| it.split_once('=')).collect();
    let (status, to, text) = browser.post("/projects", &pairs);
    assert_eq!(status == 303, to.as_deref() == Some("/projects#project-apollo"), "{to:?}");
    (status, text)
}

#[test]
fn managers_change_their_projects_on_the_page() {
    let stage = Stage::new();
    let nav = "<a href=\"/projects\"";
    assert!(!page(&stage, "ana", "/").contains(nav), "without a project there is no such page");
    for form in [
        "act=make&project=apollo&note=to the moon",
        "act=add&project=apollo&user=ana&role=manager",
        "act=limit&project=apollo&user=&total=1000&month=",
    ] {
        let (status, text) = change(&stage, "root", form);
        assert_eq!(status, 303, "{form}: {text}");
    }
    assert!(page(&stage, "ana", "/").contains(nav));
    assert_eq!(change(&stage, "ana", "act=add&project=apollo&user=bob").0, 303);
    assert_eq!(change(&stage, "ana", "act=limit&project=apollo&user=bob&month=2.5").0, 303);
    let (_, project) = stage.get("ana", "/v1/projects/apollo");
    let bob = project["members"].as_array().unwrap().iter().find(|it| it["user"] == "bob");
    assert_eq!(bob.unwrap()["limits"], json!({"month": 2.5}), "{project}");
    assert_eq!(project["limits"], json!({"total": 1000}));
    let shown = page(&stage, "ana", "/projects");
    assert!(shown.contains("Remove bob") && !shown.contains("Remove ana"), "{shown}");
    assert!(!shown.contains("name=\"role\""), "managers appoint no managers: {shown}");
    let of_member = page(&stage, "bob", "/projects");
    assert!(
        of_member.contains("to the moon")
            && !of_member.contains("<form method=\"post\" action=\"/projects\"")
    );
    // What is refused is said on the page, with what was typed.
    for (user, form, status, said) in [
        ("ana", "act=limit&project=apollo&user=bob&total=lots", 422, "is not a number of credits"),
        ("ana", "act=limit&project=apollo&user=bob&total=-1", 422, "no amount from 0 up"),
        ("ana", "act=limit&project=apollo&user=&total=5", 403, "administrator"),
        ("ana", "act=add&project=apollo&user=eve&role=manager", 403, "administrator"),
        ("bob", "act=remove&project=apollo&user=ana", 403, "manager"),
        ("root", "act=other&project=apollo", 400, "changes nothing"),
    ] {
        let (found, text) = change(&stage, user, form);
        assert_eq!(found, status, "{form}: {text}");
        assert!(text.contains("role=\"alert\"") && text.contains(said), "{form}: {text}");
    }
    let (_, text) = change(&stage, "ana", "act=limit&project=apollo&user=bob&total=lots");
    assert!(text.contains("value=\"lots\""), "{text}");
    assert_eq!(change(&stage, "ana", "act=remove&project=apollo&user=bob").0, 303);
    assert!(!page(&stage, "bob", "/").contains(nav));
    stage.stop();
}

#[test]
fn administrators_see_how_the_daemon_is() {
    let stage = Stage::new();
    let admin = page(&stage, "root", "/admin");
    let said = [
        "hooks.example.org",
        "1,200 sent",
        "3 wait",
        "2 failed",
        "the answer was 500",
        "http://one",
        "it would end in 9 s",
        "7 rows behind",
        "silent for 60 s",
        "Examine all sites",
    ];
    for part in said {
        assert!(admin.contains(part), "{part} in {admin}");
    }
    assert!(!admin.contains("the queue"), "nothing was examined yet");
    let send = |user: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        stage.send(user, "POST", "/admin", &headers, b"act=examine".to_vec()).0
    };
    assert_eq!(send("ana"), 403);
    assert!((200..400).contains(&send("root")));
    let begun = std::time::Instant::now();
    let admin = loop {
        let admin = page(&stage, "root", "/admin");
        if admin.contains("checks are good") {
            break admin;
        }
        assert!(begun.elapsed().as_secs() < 60, "it is never examined: {admin}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert!(admin.contains("2 to look at") && admin.contains("1 of 3 checks are good"));
    let place = |text: &str| admin.find(text).unwrap_or_else(|| panic!("{text} in {admin}"));
    assert!(place("the queue &#60;b&#62;") < place("the clock"), "the worst comes first");
    assert!(admin.contains("To do: open it"));
    stage.stop();
}

#[test]
fn owners_see_what_each_pool_has_earned() {
    let stage = Stage::new();
    let job = stage.submit("ana", 1);
    stage.end(job, Exit::Code(0));
    stage.until(job, "COMPLETED");
    let of = |user: &str| page(&stage, user, "/spending");
    let income = |user: &str| of(user).contains("Income of sites");
    assert!(income("olga") && income("otto") && income("root") && !income("ana"));
    let earned = |user: &str| {
        let file = page(&stage, user, "/spending.csv?income=pools");
        assert!(
            file.starts_with("month,pool,node_seconds,credits,energy_kwh,carbon_g,energy_price\n"),
            "{file}"
        );
        file.lines().count() - 1
    };
    assert_eq!((earned("olga") + earned("otto"), earned("root"), earned("ana")), (1, 1, 0));
    let pool = |user: &str| of(user).contains("By pool and month");
    assert_ne!(pool("olga"), pool("otto"), "one of them owns it");
    stage.stop();
}

#[test]
fn pages_and_their_files_are_packed_and_files_are_kept() {
    let stage = Stage::new();
    let head_and_size = |path: &str, kinds: &str| {
        let mut stream = TcpStream::connect(stage.address).unwrap();
        let token = &stage.tokens["root"];
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nAccept-Encoding: {kinds}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        (head, answer.len() - end)
    };
    let text = page(&stage, "root", "/");
    let script = text.split('"').find(|it| it.ends_with("/timeline.js")).unwrap();
    for path in ["/", "/jobs", "/market", script] {
        let (plain, packed) = (head_and_size(path, "identity"), head_and_size(path, "gzip"));
        let is_packed = |head: &str| head.contains("content-encoding: gzip");
        assert!(!is_packed(&plain.0) && is_packed(&packed.0), "{path}");
        assert!(packed.1 * 2 < plain.1, "{path}: {} of {} bytes", packed.1, plain.1);
    }
    // A browser asks for a file once; pages, and files of another program, are always fresh.
    let kept = |path: &str| head_and_size(path, "gzip").0.contains("max-age=31536000, immutable");
    let name = script.rsplit('/').next().unwrap();
    assert!(kept(script) && !kept("/") && !kept(&format!("/assets/of-another/{name}")));
    stage.stop();
}

/// The first page counts in one walk what lists find one by one, each reader's own: where a card leads,
/// there are as many jobs as it says.
#[test]
fn cards_count_what_their_lists_have() {
    let stage = Stage::new();
    for user in ["ana", "bob"] {
        let failed = stage.submit(user, 1);
        stage.end(failed, Exit::Code(3));
        stage.until(failed, "FAILED");
    }
    for _ in 0..9 {
        stage.submit("ana", 2);
    }
    let in_list = |user: &str, path: &str| {
        let text = page(&stage, user, path);
        let (before, _) = text.split_once("</caption>").unwrap_or(("of 0 jobs", ""));
        before.rsplit(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0)
    };
    // Each card that leads to jobs: where, and how many it says.
    let cards = |user: &str| {
        let text = page(&stage, user, "/");
        let all = text.split("<a class=\"card").skip(1).filter_map(|card| {
            let path = card.split_once("href=\"/jobs?")?.1.split_once('"')?.0.replace("&#38;", "&");
            let value = card.split_once("<span class=\"value\">")?.1.split_once('<')?.0;
            Some((format!("/jobs?{path}"), value.parse::<u32>().ok()?))
        });
        all.collect::<Vec<_>>()
    };
    let differ = || {
        let all = ["ana", "bob", "root"].into_iter().flat_map(|user| {
            let counts = cards(user).into_iter().map(move |(path, count)| (user, path, count));
            counts.collect::<Vec<_>>()
        });
        let wrong = |(user, path, count): &(&str, String, u32)| in_list(user, path) != *count;
        all.filter(wrong).collect::<Vec<_>>()
    };
    // Jobs begin meanwhile.
    let agree = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        differ().is_empty()
    });
    assert!(agree, "card and list: {:?}", differ());
    let failed = |user: &str| {
        let all = cards(user);
        all.iter().find(|(path, _)| path.contains("show=failed&ended=day")).map(|it| it.1)
    };
    assert_eq!(["ana", "bob", "root"].map(failed), [Some(1), Some(1), Some(2)]);
    assert!(cards("ana").iter().any(|(path, count)| path.contains("waiting") && *count > 0));
    stage.stop();
}
