use tradewind_model::{Attribute, Energy, Guard, OwnersFirst, Span, Standing, Time};

use super::*;
use crate::input::Input;

fn read(text: &str) -> Result<(Settings, Diagnostics), Diagnostics> {
    parse(&Input::new("tradewind.toml", text.to_owned()))
}

#[test]
fn a_file_that_says_nothing_is_no_file() {
    assert_eq!(read("# nothing\n").unwrap().0, Settings::default());
    let some = read("[market]\n[listen]\n[limits]\n[money]\n[notify]\n").unwrap().0;
    assert_eq!(some, Settings::default());
}

#[test]
fn mistakes_have_lines_and_hints() {
    const SITE: &str = "[[site]]\nname = 'a'\nkind = 'local'\n";
    const POOL: &str = "[[site.pool]]\nname = 'p'\nnodes = 2\n";
    for (text, expected) in [
        ("[markets]", "tradewind.toml:1: markets: unknown key\n  hint: did you mean `market`?"),
        ("time_zone = 'Mars/Base'", "unknown time zone `Mars/Base`"),
        ("[listen]\naddress = '0.0.0.0:80'", ":2: listen.address: `0.0.0.0:80` is reached"),
        ("[listen]\naddress = 'here'", "is no address with a port"),
        ("[listen]\nkey = 'k'", "belong together"),
        ("[listen]\nhosts = ['a', 'https://b']", ":2: listen.hosts: `https://b` is no name"),
        ("[limits]\nbody = 0", "limits.body"),
        ("[money]\nnew_user_grant = 0.0000001", "more than 6 decimals"),
        ("[[market.rules]]\nhours = 'Mon'", "`policy` is missing"),
        ("[[market.rules]]\npolicy = 'x'\nhours = 'noon'", ":3: market.rules[0].hours: `noon` are"),
        ("[[market.rules]]\npolicy = 'x'\nload = '>=2'", "is no range of loads"),
        ("[[market.rules]]\npolicy = 'x'\nload = '0.5-0.5'", "is no range of loads"),
        ("[notify]\nwebhooks = ['http://far.example/x']", "notify.webhooks[0]"),
        ("[notify]\nwebhooks = ['https://u:p@far.example/x']", "no passwords"),
        ("[notify]\nmail_command = 'mail'", "expected a list"),
        ("[[site]]\nname = 'a'\nkind = 'slurm'\npool = []", "there are no pools"),
        ("[[site]]\nname = 'a'\nkind = 'locl'\npool = []", "did you mean `local`?"),
        ("[[site]]\nname = 'a'\nkind = 'slurm'\nssh = '-p 2'\npool = []", "is no destination"),
        (
            "[[site]]\nname = 'a'\nkind = 'slurm'\nssh = 'b'\ncommand = ['ssh', 'c']\npool = []",
            ":5: site[0].command: `ssh` says already",
        ),
        ("[[site]]\nname = 'a'\nkind = 'slurm'\nssh_options = ['-4']\npool = []", "no `ssh`"),
        (SITE, "`pool` is missing"),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\nwatts = { idle = 9, busy = 5 }\n\
             pool = [{name = 'p', nodes = 1}]",
            ":4: site[0].watts: `idle` is more than `busy`",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\ncarbon = [['noon', 5]]\n\
             pool = [{name = 'p', nodes = 1}]",
            ":4: site[0].carbon[0]: `noon` is not a time",
        ),
        ("shared_account = 1", ":1: shared_account: expected true or false"),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\nsurvey_timeout = 0\npool = []",
            ":4: site[0].survey_timeout",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\naccounts = 'same'\npool = []",
            ":4: site[0].accounts: without `user_command`",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\nuser_command = ['sudo']\npool = []",
            ":4: site[0].user_command: no word has `{user}`",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\nhide_state = true\n\
             user_command = ['su', '{user}']\npool = []",
            ":4: site[0].hide_state: with `user_command`",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'slurm'\nhide_state = true\npool = []",
            ":4: site[0].hide_state: only a local site",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'slurm'\ncgroups = 'off'\npool = []",
            ":4: site[0].cgroups: only a local site",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\ncgroups = true\npool = []",
            ":4: site[0].cgroups: expected a text",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\nhide_state = 'never'\npool = []",
            ":4: site[0].hide_state: unknown value `never`",
        ),
        ("[[site]]\nname = 'a'\nkind = 'local'\nmemory = 0\npool = []", ":4: site[0].memory"),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\noptions = {}\npool = []",
            ":4: site[0].options: a local site has no manager",
        ),
        (
            "[[site]]\nname = 'a'\nkind = 'local'\ntimes = 'cpu'\npool = []",
            ":4: site[0].times: unknown value `cpu`",
        ),
        ("[sign_in]\nurl = 'http://far.example'", "no address that may be called"),
        (
            "[sign_in]\nurl = 'https://far.example/'",
            ":2: sign_in.url: `https://far.example/` is more",
        ),
        ("[sign_in]\nsession_longest = 5", "sign_in.session_longest"),
        ("[sign_in]\ntoken_lifetime = 'ever'", "sign_in.token_lifetime"),
        ("[sign_in.oidc]\nissuer = 'https://i.example'", "`client_id` is missing"),
        (
            "[sign_in.oidc]\nissuer = 'https://i.example'\nclient_id = 'x'\ndefault_role = 'user'",
            "sign_in.url: `url` is missing",
        ),
        ("[sign_in.oidc]\nissuer = 'https://i.example'\nclient_id = 'x'", "no user could sign in"),
        (
            "[sign_in.oidc]\nissuer = 'https://i'\nclient_id = 'x'\nroles = { g = 'king' }",
            "sign_in.oidc.roles.g: unknown role `king`",
        ),
        ("[sign_in.oidc]\nissuer = 'http://i'\nclient_id = 'x'", "sign_in.oidc.issuer"),
        ("[[project]]\ntimes = 'work'", "`name` is missing"),
        ("[[project]]\nname = 'p'\ntimes = 'wal'", "did you mean `wall`?"),
        ("[[project]]\nname = 'p'\n[[project]]\nname = 'p'", "project[1].name"),
        ("[[peers]]\nname = 'b'\nurl = 'https://b.example'\ntoken = 'x'", "peers[0].token"),
        (
            "[[peers]]\nname = 'b'\nurl = 'https://b.example'\ntoken_file = 'x'\ncheck_user = 'c'",
            ":5: peers[0].check_user: there is no `check_every`",
        ),
        (
            "[[peers]]\nname = 'b'\nurl = 'https://b.example'\ntoken_file = 'x'\ncheck_every = '5s'",
            "peers[0].check_every",
        ),
    ] {
        let told = read(text).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(expected) && told.contains("\n  hint: "), "{text}: {told}");
    }
    for (text, expected) in [
        (
            "[[site.price]]\npool = 'q'\nprice = 1",
            ":8: site[0].price[0].pool: the site has no pool",
        ),
        ("[[site.price]]\nhours = 'Mon'", "`price` is missing"),
        ("[[site.price]]\nprice = -1", "negative number"),
        ("[[site.offer]]\nshare = 1.5", "out of range"),
        ("[[site.pool]]\nname = 'p'\nnodes = 1", "`p`"),
        ("[[site.pool]]\nname = 'q'\nnodes = 1\nattributes = { class = 'x' }", "is a field of"),
    ] {
        let text = format!("{SITE}{POOL}{text}");
        let told = read(&text).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(expected) && told.contains("\n  hint: "), "{text}: {told}");
    }
}

#[test]
fn owners_and_projects_say_what_times_count() {
    let text = "[[project]]\nname = 'p'\ntimes = 'work'\n[[project]]\nname = 'q'\n\
         [[site]]\nname = 'a'\nkind = 'local'\ntimes = 'work'\n\
         pool = [{name = 'x', nodes = 2}]\n\
         [[site]]\nname = 'b'\nkind = 'local'\npool = [{name = 'y', nodes = 2}]\n";
    let settings = read(text).unwrap().0;
    let sites: Vec<Times> = settings.sites.iter().map(|site| site.times).collect();
    assert_eq!(sites, [Times::Work, Times::Wall]);
    let projects = settings.projects.iter().map(|it| (it.name.as_str(), it.times));
    assert_eq!(projects.collect::<Vec<_>>(), [("p", Some(Times::Work)), ("q", None)]);
}

#[test]
fn rules_hold_for_one_pool_or_for_all() {
    let text = "[[site]]\nname = 'a'\nkind = 'local'\n\
         pool = [{name = 'p', nodes = 2, price = 1.5, class = 'fast'}, {name = 'q', nodes = 3}]\n\
         price = [{pool = 'q', price = 2}, {load = '>=0.5', price = 4}]\n\
         offer = [{hours = 'Sat,Sun', share = 0.5}]\n";
    let site = read(text).unwrap().0.sites.remove(0);
    let prices = |pool: usize, load| site.pools[pool].price_at(Time(0), load, &TimeZone::UTC).0;
    assert_eq!([prices(0, 0), prices(0, 500)], [1_500_000, 4_000_000]);
    assert_eq!([prices(1, 0), prices(1, 500)], [2_000_000, 2_000_000]);
    // The epoch was a Thursday.
    let offered = |day: i64| site.pools[1].offered_at(Time(day * 86_400), &TimeZone::UTC);
    assert_eq!([offered(0), offered(2), offered(4)], [0, 1, 0]);
}

#[test]
fn parts_of_jobs_wait_long_enough_for_rare_looks() {
    let site = |name: &str, every: &str| {
        format!(
            "[[site]]\nname = '{name}'\nkind = 'slurm'\nsurvey_every = '{every}'\n\
             accounts = 'same'\npool = [{{name = 'p{name}', nodes = 2}}]\n"
        )
    };
    let warnings = |text: &str| read(text).unwrap().1.to_string();
    let market = "[market]\ngather = '20s'\n";
    let told = warnings(&format!("{market}{}{}", site("a", "10s"), site("b", "11s")));
    assert!(told.contains("site[1].survey_every") && told.contains("22 s or more"), "{told}");
    assert!(!told.contains("site[0]"), "{told}");
    assert_eq!(warnings(&format!("{market}{}", site("b", "11s"))), "", "nothing to wait for");
}

#[test]
fn a_local_site_says_whose_account_runs_its_jobs() {
    let text = "shared_account = true\n[[site]]\nname = 'a'\nkind = 'local'\n\
         user_command = ['sudo', '-n', '-u', '{user}']\naccounts = { ana = 'ana01' }\n\
         directory = '/scratch/{user}'\nsurvey_timeout = '3s'\n\
         pool = [{name = 'p', nodes = 2}]\n";
    let settings = read(text).unwrap().0;
    let site = &settings.sites[0];
    let SiteKind::Local(machine) = &site.kind else { panic!("{site:?}") };
    assert!(settings.shared_account && !Settings::default().shared_account);
    assert_eq!(site.survey_timeout, Some(Span(3)));
    assert_eq!(machine.user_command, ["sudo", "-n", "-u", "{user}"]);
    let pair = ("ana".to_owned(), "ana01".to_owned());
    assert_eq!(machine.accounts, cluster::Accounts::Of([pair].into()));
    assert_eq!(
        (machine.directory.as_str(), machine.spool.as_str()),
        ("/scratch/{user}", "~/.tradewind")
    );
}

#[test]
fn electricity_is_read_with_dates_and_watts_are_attributes() {
    let site = |carbon: &str| {
        format!(
            "[[site]]\nname = 'a'\nkind = 'local'\nwatts = 90\ncarbon = {carbon}\n\
             pool = [{{name = 'p', nodes = 2}}, {{name = 'q', nodes = 1, watts = {{idle = 5, busy = 250.5}}}}]\n"
        )
    };
    let settings = read(&site("[['2027-01-15T08:00Z', 400], [1800003600, 250.5]]")).unwrap().0;
    let (first, carbon) = (&settings.sites[0], settings.sites[0].power.carbon.as_ref().unwrap());
    let values: Vec<(Time, i64)> = carbon.values().collect();
    assert_eq!(values, [(Time(1_800_000_000), 400_000), (Time(1_800_003_600), 250_500)]);
    let watts = |pool: usize| first.pools[pool].attributes.get(Energy::BUSY).cloned();
    assert_eq!(watts(0), Some(Attribute::Number(90_000)));
    assert_eq!(watts(1), Some(Attribute::Number(250_500)));
    assert_eq!((first.power.price.as_ref(), settings.electricity_from), (None, None));
    let daily = "{every = '24h', values = [['0h', 10], ['8h', 20]]}";
    assert_eq!(read(&site(daily)).unwrap().0.electricity_from.as_deref(), Some("tradewind.toml"));
    let steps: String = (0..20_000).map(|at| format!("[{at}, 1],")).collect();
    let wrong = read(&site(&format!("[{steps}]"))).unwrap_err().to_string();
    assert!(wrong.contains(":5: site[0].carbon: 20000 values"), "{wrong}");
}

#[test]
fn a_cluster_is_read_as_it_is_written() {
    let text = "[[site]]\nname = 'a'\nkind = 'slurm'\n\
         command = ['ssh', 'login']\nuser_command = ['ssh', '{user}@login']\n\
         environment = { SLURM_CONF = '/etc/x.conf' }\naccounts = { ana = 'ana01' }\n\
         timeout = '30s'\nsurvey_every = 2\nrequests_at_rest = 1\nrequests_busy = 20\nmode = 'reservation'\nunit = 'cores:4'\n\
         directory = '/scratch/{user}'\nspool = '/scratch/{user}/.tw'\ngrace = '2s'\n\
         owners_queue = 'in-line'\nqueue_priority = 1500\nguard = 'spare'\n\
         options = { qos = 'low' }\nstage_in = [['cp', '/a', '/b']]\nremote_shell = true\n\
         pool = [{name = 'p', nodes = 2, partition = 'main', features = ['x', 'y'], \
                  hosts = 'a[1-2]'}]\n";
    let site = read(text).unwrap().0.sites.remove(0);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let wanted = cluster::Cluster {
        ssh: None,
        ssh_options: Vec::new(),
        socket: None,
        command: texts(&["ssh", "login"]),
        remote_shell: Some(true),
        user_command: texts(&["ssh", "{user}@login"]),
        environment: [pair("SLURM_CONF", "/etc/x.conf")].into(),
        accounts: cluster::Accounts::Of([pair("ana", "ana01")].into()),
        timeout: Span(30),
        survey_every: Span(2),
        requests_at_rest: 1,
        requests_busy: 20,
        mode: cluster::Mode::Reservation,
        directory: "/scratch/{user}".to_owned(),
        spool: "/scratch/{user}/.tw".to_owned(),
        unit: cluster::NodeUnit::Cores(4),
        grace: Span(2),
        held_after: Span(600),
        owners_queue: Standing::InLine,
        queue_priority: Some(1_500),
        owners_first: OwnersFirst { guard: Guard::Spare, max_delay: OwnersFirst::NO_BOUND },
        options: vec![pair("qos", "low")],
        stage_in: vec![texts(&["cp", "/a", "/b"])],
        stage_out: Vec::new(),
    };
    assert_eq!(site.kind, SiteKind::Slurm(Box::new(wanted)));
    let members = cluster::Members {
        partition: Some("main".to_owned()),
        features: texts(&["x", "y"]),
        hosts: Some("a[1-2]".to_owned()),
    };
    assert_eq!(site.pools[0].members, members);
    let kind = |kind: &str, more: &str| {
        let pool = "pool = [{name = 'p', nodes = 1}]";
        read(&format!("[[site]]\nname = 'a'\nkind = '{kind}'\n{more}\n{pool}\n"))
    };
    let far = kind("gridengine", "ssh = 'me@login'\nssh_options = ['-p', '22']").unwrap().0;
    let SiteKind::GridEngine(far) = &far.sites[0].kind else { panic!("{far:?}") };
    assert_eq!((far.ssh.as_deref(), far.ssh_options.len()), (Some("me@login"), 2));
    let bare = kind("gridengine", "accounts = 'same'").unwrap().0.sites.remove(0).kind;
    let accounts = cluster::Accounts::Same;
    let wanted = cluster::Cluster { accounts, ..cluster::Cluster::default() };
    assert_eq!(bare, SiteKind::GridEngine(Box::new(wanted)));
    let gives = |line: &str| kind("local", line).unwrap().0.sites.remove(0).preemption;
    assert_eq!(gives(""), None);
    let terms = tradewind_model::Preemption { notice: Span(120), discount: 300 };
    assert_eq!(gives("preemption = { notice = '2m', discount = 0.3 }"), Some(terms));
    for (line, expected) in [
        (
            "preemption = { notice = '2m' }\nmode = 'observe'",
            "no jobs at a cluster that is observed",
        ),
        ("preemption = {}\nowners_queue = 'in-line'", "none gives its nodes back to them"),
        ("preemption = { notice = '2d' }", "site[0].preemption.notice"),
        ("preemption = { discount = 2 }", "site[0].preemption.discount"),
        ("preemption = { share = 1 }", "share"),
        ("mode = 'now'", "site[0].mode: unknown value `now`"),
        ("unit = 'cores:0'", "`cores:0` is no unit"),
        ("accounts = 'all'", "site[0].accounts: unknown value `all`"),
        ("accounts = { ana = 1 }", "site[0].accounts.ana: expected a text"),
        ("user_command = ['sudo']", "no word has `{user}`"),
        ("spool = 'here'", "begins neither at the root nor at home"),
        ("stage_in = ['cp']", "site[0].stage_in[0]: expected a program"),
        ("remote_shell = 1", "expected true or false"),
        ("timeout = 0", "out of range"),
        ("modes = 'begin'", "did you mean `mode`?"),
        ("owners_queue = 'first'", "site[0].owners_queue: unknown value `first`"),
        ("queue_priority = 1", "have no priority in it"),
    ] {
        let told = kind("slurm", line).map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(expected) && told.contains("\n  hint: "), "{line}: {told}");
    }
    let told = kind("local", "mode = 'begin'").map(|_| ()).unwrap_err().to_string();
    assert!(told.contains("site[0].mode: a local site has no manager"), "{told}");
}

#[test]
fn observed_clusters_are_not_among_the_sites_of_the_market() {
    let site = |name: &str, more: &str| {
        format!("[[site]]\nname = '{name}'\n{more}\n[[site.pool]]\nname = '{name}-p'\nnodes = 2\n")
    };
    let both = site("a", "kind = 'slurm'") + &site("b", "kind = 'slurm'\nmode = 'observe'");
    let settings = read(&both).unwrap().0;
    let names = |sites: &[Site]| sites.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&settings.sites), names(&settings.observed)),
        (vec!["a".into()], vec!["b".into()])
    );
    for (kind, expected) in [
        ("local", ":4: site[0].mode: a local site cannot be observed: only the daemon runs jobs"),
        ("gridengine", ":4: site[0].mode: only clusters under Slurm can be observed"),
    ] {
        let wrong = read(&site("a", &format!("kind = '{kind}'\nmode = 'observe'"))).unwrap_err();
        let text = wrong.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("has no manager"), "said once: {text}");
    }
    let twice = site("a", "kind = 'slurm'") + &site("a", "kind = 'slurm'\nmode = 'observe'");
    assert!(read(&twice).is_err(), "names are unique among all");
}

#[test]
fn the_store_is_a_file_or_a_database_and_its_url_is_never_shown() {
    let of = |text: &str| read(text).map(|(settings, _)| settings.store);
    assert_eq!(of("[market]\n").unwrap(), JournalStore::Sqlite);
    assert_eq!(of("store = \"sqlite\"").unwrap(), JournalStore::Sqlite);
    let url = "postgresql://tw:secret@db.example/market?sslmode=require";
    let store = of(&format!("store = \"{url}\"")).unwrap();
    assert!(!format!("{store:?}").contains("secret"), "{store:?}");
    let JournalStore::Postgresql(found) = store else { panic!("no database") };
    assert_eq!(found.secret(), url);
    for wrong in [
        "\"mysql://a:secret@b\"",
        "7",
        "\"postgresql://a:secret @b/c\"",
        "\"secret\"",
        "\"postgresql://a:secret\\n@b/c\"",
    ] {
        let said = of(&format!("store = {wrong}")).unwrap_err().to_string();
        assert!(said.contains("postgresql://USER@HOST") && !said.contains("secret"), "{said}");
    }
}

#[test]
fn links_have_a_site_at_one_end() {
    const SITES: &str = "[[site]]\nname = 'a'\nkind = 'local'\n[[site.pool]]\nname = 'p'\n\
        nodes = 2\n[[site]]\nname = 'b'\nkind = 'local'\n[[site.pool]]\nname = 'q'\nnodes = 2\n";
    let links = |entries: &str| read(&format!("{SITES}{entries}"));
    let two = "[[link]]\nbetween = ['b', 'a']\nbandwidth = '10 Gbit/s'\n\
               [[link]]\nbetween = ['store', 'b']\nbandwidth = '800Mbit/s'\n";
    let found = links(two).unwrap().0.links;
    let seen: Vec<_> =
        found.as_slice().iter().map(|it| (it.between.join("-"), it.bandwidth)).collect();
    let expected = [("b-a", 10_000_000_000_u64), ("store-b", 800_000_000)];
    assert_eq!(seen, expected.map(|(name, bits)| (name.to_owned(), bits)));
    for (entry, expected) in [
        ("between = ['a', 'b']", "link[0]: `bandwidth` is missing"),
        ("between = ['a']\nbandwidth = '1 Gbit/s'", "link[0].between: a link has two ends"),
        ("between = ['x', 'y']\nbandwidth = '1 Gbit/s'", "neither `x` nor `y` is a site"),
        ("between = ['a', 'a']\nbandwidth = '1 Gbit/s'", "link[0]: a link from `a` to itself"),
        (
            "between = ['a', 'b']\nbandwidth = '1 GB/s'",
            "link[0].bandwidth: `1 GB/s` is no bandwidth",
        ),
        (
            "between = ['a', 'b']\nbandwidth = '1 Gbit/s'\n[[link]]\nbetween = ['b', 'a']\n\
             bandwidth = '2 Gbit/s'",
            "link[1]: there are two links between `b` and `a`",
        ),
    ] {
        let wrong = links(&format!("[[link]]\n{entry}")).unwrap_err().to_string();
        assert!(wrong.contains(expected), "{entry}: {wrong}");
    }
}

#[test]
fn licences_have_numbers_and_owners() {
    const SITES: &str = "[[site]]\nname = 'a'\nkind = 'local'\n[[site.pool]]\nname = 'p'\n\
        nodes = 2\n[[site]]\nname = 'b'\nkind = 'local'\n[[site.pool]]\nname = 'q'\nnodes = 2\n";
    let settings = read(&format!(
        "{SITES}[[licence]]\nname = 'abaqus'\ncount = 10\nprice = 0.5\nsite = 'b'\n\
         [[licence]]\nname = 'matlab@server'\ncount = 1\n"
    ));
    let licences = settings.unwrap().0.licences;
    let seen: Vec<_> =
        licences.iter().map(|(it, site)| (it.name.as_str(), it.count, it.price.0, *site)).collect();
    assert_eq!(seen, [("abaqus", 10, 500_000, 1), ("matlab@server", 1, 0, 0)]);
    for (entry, expected) in [
        ("name = 'x'", "licence[0]: `count` is missing"),
        ("name = 'x'\ncount = 0", "licence[0].count"),
        ("name = 'x y'\ncount = 1", "licence[0].name: `x y` is no name of a licence"),
        ("name = 'x'\ncount = 1\nprice = 2", "licence[0].price: a price, and no `site`"),
        ("name = 'x'\ncount = 1\nsite = 'c'", "licence[0].site: there is no site `c`"),
        ("name = 'x'\ncount = 1\n[[licence]]\nname = 'x'\ncount = 2", "licence[1].name"),
    ] {
        let wrong = read(&format!("{SITES}[[licence]]\n{entry}")).unwrap_err().to_string();
        assert!(wrong.contains(expected), "{entry}: {wrong}");
    }
}
