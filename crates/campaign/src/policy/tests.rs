use std::sync::Arc;

use tradewind_model::{
    Admission, Money, Pool, Pools, Price, Rates, Series, SiteId, Span, Terms, Time,
};
use tradewind_sched::negotiation::Choose;
use tradewind_sched::policy::backfill::Depth;
use tradewind_sched::policy::cyclic::market;
use tradewind_sched::policy::dispatch::{self, DispatchRule, Ties};
use tradewind_sched::policy::{Order, Policy, bsf};
use tradewind_sim::Semantics;
use tradewind_sim::workload::{LogJob, Overrun, prepare};

use super::read::NAMES;
use super::spec::{Kind, is_plain};
use super::*;
use crate::brackets::Named;

fn spec(text: &str) -> PolicySpec {
    PolicySpec::parse(text).unwrap()
}

fn kind(text: &str) -> Kind {
    spec(text).kind
}

#[test]
fn the_canonical_text_reads_as_the_same_policy() {
    let texts = [
        "bsf[ first = 40% ,by=need,, depth=all ]",
        "easy[order=fair-share,half-life=1d]",
        "auction[ties=random,seed=3]",
        "multi-queue[cut=1d..,latency=1s..2s]",
        " css[replan=on-release]",
        "fcfs[]",
    ];
    for text in texts.into_iter().chain(NAMES) {
        let canonical = spec(text).to_string();
        assert!(!canonical.contains(' ') && !canonical.contains("[]"), "{canonical}");
        let again = spec(&canonical);
        assert_eq!(again.kind, kind(text), "{text}");
        assert_eq!((again.text(), again.to_string()), (&*canonical, canonical.clone()));
        assert_eq!((again.lots(), again.order()), (spec(text).lots(), spec(text).order()));
        assert_eq!(spec(text).text(), text, "as it was written");
    }
    assert_eq!(spec(texts[0]).to_string(), "bsf[first=40%,by=need,depth=all]");
}

#[test]
fn commas_in_brackets_belong_to_the_policy() {
    let policies = list("fcfs, easy[depth=4,order=sjf],bsf[first=40%,by=need,depth=all]").unwrap();
    assert_eq!(policies.len(), 3);
    let Kind::Fill(fill) = &policies[1].kind else { unreachable!() };
    assert_eq!((fill.depth, fill.order), (Depth::First(4), Order::Shortest));
    let Kind::Bsf(both) = &policies[2].kind else { unreachable!() };
    assert_eq!((both.first, both.by), (bsf::First::Percent(40), bsf::By::Need));
    assert_eq!(both.fill.depth, Depth::All);
}

#[test]
fn cyclic_schemes_take_the_options_of_plans() {
    let text = "batch-slicer[period=15m,horizon=4h,search=cost,objective=min-cost,sub-batches=3,\
                slice-by=cost,replan=on-release,stretch=longest,max-alternatives=all,batch=7,\
                fallback=2]";
    let Kind::Cycles(settings) = kind(text) else { unreachable!() };
    assert_eq!(settings.fallback, 2);
    assert_eq!((settings.period.0, settings.look_ahead().0, settings.batch), (900, 14_400, 7));
    assert_eq!(settings.replan, market::Replan::OnRelease);
    assert_eq!(settings.cyclic.max_alternatives, None);
}

#[test]
fn meta_schedulers_have_their_own_parameters() {
    let text = "auction[cycle=30s,gate=off,deadline=ignore,wait=backlog,ratio=1.25,patience=2h,\
                slots=immediate,horizon=1h,ties=cheapest,seed=9,valuation=unit,tau=5m,\
                clearing=uniform,k=250,prices=dynamic,step=7,floor=800,ceiling=1500,outlook=30m,\
                queues=conservative,publish=5m]";
    let Kind::Dispatch(settings) = kind(text) else { unreachable!() };
    let expected = dispatch::DispatchSettings {
        rule: DispatchRule::Auction,
        cycle: Span(30),
        gate: dispatch::Gate::Off,
        deadline: dispatch::Deadline::Ignore,
        wait: dispatch::Wait::Backlog,
        ratio: tradewind_model::Ratio::from_thousandths(1_250).unwrap(),
        demand_supply: dispatch::DemandSupply::LeftOut,
        patience: Span(7_200),
        slots: dispatch::Slots::Immediate,
        horizon: Span(3_600),
        ties: Ties::Cheapest,
        share: dispatch::ShareOf::All,
        clearing: dispatch::Clearing::Uniform,
        k: dispatch::Fraction::from_thousandths(250).unwrap(),
        prices: dispatch::Prices::Dynamic,
        dynamics: dispatch::Dynamics { step: 7, floor: 800, ceiling: 1_500, outlook: Span(1_800) },
        valuation: dispatch::Valuation::Unit,
        tau: Span(300),
        local: dispatch::QueueDiscipline::Conservative,
        publish: Some(Span(300)),
        seed: 9,
    };
    assert_eq!(settings, expected);
    for (rule, name) in DispatchRule::ALL {
        let Kind::Dispatch(settings) = kind(name) else { unreachable!() };
        assert_eq!(settings, dispatch::DispatchSettings::of(rule), "{name}");
        assert!(NAMES.contains(&name), "{name} is suggested");
    }
    assert!(NAMES.iter().all(|name| PolicySpec::parse(name).is_ok()));
    let Kind::Dispatch(fair) = kind("fair-share[share=free]") else { unreachable!() };
    assert_eq!(fair.share, dispatch::ShareOf::Free);
}

#[test]
fn names_of_clusters_mean_meta_schedulers_on_queues() {
    let on = |name, layout| spec(name).on(layout).to_string();
    let both = |name| [on(name, Layout::Pools), on(name, Layout::Queues)];
    assert_eq!(
        (both("fcfs"), both("sjf")[1].as_str()),
        (["fcfs", "meta-fcfs"].map(str::to_owned), "meta-sjf")
    );
    assert_eq!(both("fcfs[spread=site]"), ["fcfs[spread=site]"; 2]);
    assert_eq!(both("easy"), ["easy"; 2]);
}

#[test]
fn lots_are_the_runs_unless_a_policy_has_its_own() {
    assert_eq!(spec("auction").lots(), None);
    assert_eq!(spec("auction[seed=3]").lots(), None, "nothing is drawn");
    assert_eq!(spec("auction[ties=random]").lots(), Some(Lots::Run));
    assert_eq!(spec("auction[ties=random,seed=3]").lots(), Some(Lots::Own(3)));
    assert_eq!(spec("css[variant=paper,seed=7]").lots(), Some(Lots::Own(7)));
}

#[test]
fn every_parameter_of_a_grid_without_a_centre_is_set() {
    let text = "multi-queue[alpha=0.25,beta=8,patience=none,guard=nobody,reserve=replanned,\
                borders=pseudo,remote-classes=length-first,short-first=off,age=joined,moves=newest,\
                overflow=migrate,migrate=off,choose=cost,discover=3,rounds=2,window=9s,\
                offer-life=1m,tries=4,retry-max=5m,pause=2m,horizon=1h,hops=2,latency=1s..2s,\
                bandwidth=20,data=3,base-data=4,loss=0.1,doubles=0.2,late=0.3,lateness=8s,\
                cut=1d..]";
    let (own, common) = (federal::HYBRID.len(), federal::SITES.len());
    assert_eq!(Named::of("policy", text).unwrap().parameters.len(), own + common);
    let with = |parameter: &str| kind(&format!("multi-queue[{parameter}]"));
    for (key, value) in Named::of("policy", text).unwrap().parameters {
        assert_ne!(with(&format!("{key}={value}")), with(""), "{key}");
    }
    let same = |one, other| kind(one) == kind(other);
    assert!(same("easy-sites[depth=all]", "conservative-sites"));
    assert!(same("easy-sites[depth=0,order=fcfs]", "fcfs-sites"));
}

#[test]
fn networks_that_vary_draw_from_the_runs_seed() {
    for quiet in ["multi-queue", "easy-sites[cut=1d..2d]", "multi-queue[migrate=off,loss=0.1]"] {
        assert_eq!(spec(quiet).lots(), None, "{quiet}");
    }
    for drawn in ["multi-queue[discover=2]", "easy-sites[loss=0.1]", "fcfs-sites[latency=1..2]"] {
        assert_eq!(spec(drawn).lots(), Some(Lots::Run), "{drawn}");
    }
    assert!(
        spec("multi-queue[cut=1d..]").may_strand() && !spec("multi-queue[cut=1d..2d]").may_strand()
    );
    assert!(
        spec("multi-queue").migrates()
            && !spec("easy-sites[migrate=off]").migrates()
            && !spec("easy").migrates()
    );
}

#[test]
fn candidates_have_an_order_of_their_own_where_there_are_any() {
    for text in
        ["easy[backfill=shortest]", "easy[backfill=sjf,depth=4]", "fcfs[depth=2,backfill=sjf]"]
    {
        let Kind::Fill(fill) = kind(text) else { unreachable!() };
        assert_eq!(
            (fill.order, fill.candidates),
            (Order::Arrival, Some(Order::Shortest)),
            "{text}"
        );
        assert!(spec(text).owners_rule().is_none());
    }
    let Kind::Bsf(both) = kind("bsf[backfill=shortest]") else { unreachable!() };
    assert_eq!(both.fill.candidates, Some(Order::Shortest));
    for text in ["fcfs", "conservative", "easy[depth=all]", "bsf[depth=0]"] {
        let text = match text.strip_suffix(']') {
            Some(open) => format!("{open},backfill=shortest]"),
            None => format!("{text}[backfill=shortest]"),
        };
        assert!(objection(&text).unwrap().0.contains("`backfill`"), "{text}");
    }
    assert!(objection("easy[backfill=expansion]").unwrap().0.contains("changes while jobs wait"));
}

#[test]
fn fair_shares_have_a_half_life_wherever_it_stands() {
    let day = Order::FairShare(Span(86_400));
    for text in ["easy[order=fair-share,half-life=1d]", "easy[half-life=1d,order=fair-share]"] {
        let Kind::Fill(fill) = kind(text) else { unreachable!() };
        assert_eq!(fill.order, day, "{text}");
        assert!(spec(text).half_life().is_some());
    }
    let Kind::Bsf(both) = kind("bsf[order=fair-share,half-life=1d]") else { unreachable!() };
    assert_eq!(both.fill.order, day);
    assert_eq!(both.cycles.turn, market::PlanOrder::FairShare(Span(86_400)));
    let Kind::Cycles(css) = kind("css[order=fair-share]") else { unreachable!() };
    assert_eq!(css.turn, market::PlanOrder::FairShare(Order::HALF_LIFE));
    assert!(
        spec("css[order=fair-share]").half_life().is_some()
            && spec("css[order=priority]").half_life().is_none()
    );
    for text in ["easy[half-life=1d]", "css[order=priority,half-life=1d]", "css[order=arrival]"] {
        assert!(PolicySpec::parse(text).is_err(), "{text}");
    }
}

#[test]
fn every_policy_is_live_but_those_for_replays() {
    let pool = |name: &str| Pool { name: name.into(), ..Pools::cluster(4).as_slice()[0].clone() };
    let grid = |pools| Pools::new(Pools::cluster(1).sites().to_vec(), pools).unwrap();
    let two = grid(vec![pool("a"), pool("b")]);
    let door = Admission { max_processors: Some(2), ..Admission::NONE };
    let live = |text: &str, pools: &Pools| PolicySpec::parse(text)?.for_market(pools);
    let limited = grid(vec![Pool { admission: door, ..pool("a") }]);
    for name in NAMES {
        if spec(name).learns() {
            assert!(live(name, &two).is_err() && live(name, &Pools::cluster(4)).is_err());
            continue;
        }
        let sites = spec(name).migrates();
        let policy = live(name, &two).unwrap();
        assert_eq!(policy.exchange().is_some(), sites, "{name}: peers are asked as it says");
        assert!(live(name, &Pools::cluster(4)).is_ok(), "{name}");
        assert_eq!(live(name, &limited).is_err(), spec(name).ignores_limits(), "{name}");
        if sites {
            let alone = live(&format!("{name}[migrate=off]"), &two).unwrap();
            assert!(alone.exchange().is_none(), "{name}");
            let drawn = live(&format!("{name}[loss=0.1]"), &two).err().unwrap();
            assert!(drawn.problems[0].message.contains("`loss` is about a simulated network"));
        }
    }
    let moot = live("multi-queue[migrate=off,overflow=migrate]", &two).err().unwrap();
    assert!(moot.problems[0].message.contains("overflow=migrate"));
    let chosen = |text: &str| {
        let exchange = |policy: &dyn Policy| {
            let exchange = policy.exchange().unwrap();
            (exchange.negotiation().choose, exchange.links().transfer(exchange.links().data_mb(8)))
        };
        exchange(&*live(text, &two).unwrap())
    };
    assert_eq!(chosen("multi-queue"), (Choose::Load, Span(1)), "as printed; data are not copied");
    assert_eq!(chosen("multi-queue[choose=start,data=20]"), (Choose::Start, Span(17)));
    assert!(live(COMMAND, &two).is_err() && live("easy[depth=x]", &two).is_err());
}

#[test]
fn what_is_unknown_is_refused_with_a_hint() {
    let wrong = [
        "esay",
        "easy[dpeth=1]",
        "easy[order=shortst]",
        "css[objective=min-cst]",
        "bsf[by=ned]",
        "auctoin",
        "auction[ties=randm]",
        "auction[clearing=unifrom]",
        "hvfq[celaring=bid]",
        "edf-fq[slot=packaged]",
        "multi-queu",
        "multi-queue[alhpa=0.1]",
        "multi-queue[guard=oldst]",
        "multi-queue[choose=laod]",
        "easy-sites[migrate=of]",
        "easy-sites[order=arival]",
    ];
    for text in wrong {
        let (_, hint) = objection(text).unwrap();
        assert!(hint.starts_with("did you mean"), "{text}: {hint}");
    }
    let refused = [
        "",
        "easy[",
        "easy[depth=-1]",
        "easy,easy",
        "fcfs,,easy",
        "css[period=0]",
        "css[first=1]",
        "css[sub-batches=2]",
        "bsf[first=101%]",
        "css[period=x]",
        "easy[period=1h]",
        "auction[share=all]",
        "hvfq[ties=index]",
        "fair-share[slots=packaged]",
        "auction[ratio=0]",
        "auction[ratio=1.2345]",
        "auction[cycle=0]",
        "auction[horizon=-1]",
        "auction[k=1001]",
        "auction[k=0.5]",
        "auction[tau=0]",
        "auction[step=0]",
        "auction[ceiling=1000001]",
        "auction[floor=2001]",
        "auction[ceiling=499]",
        "easy[clearing=bid]",
        "fcfs[cycle=10s]",
        "multi-queue[alpha=1.001]",
        "multi-queue[alpha=-0.1]",
        "multi-queue[beta=0]",
        "multi-queue[patience=0]",
        "multi-queue[depth=1]",
        "multi-queue[discover=0]",
        "multi-queue[window=0]",
        "multi-queue[hops=0]",
        "multi-queue[latency=5s..1s]",
        "multi-queue[bandwidth=0]",
        "multi-queue[loss=1]",
        "multi-queue[cut=1d]",
        "multi-queue[cut=2d..1d]",
        "easy-sites[alpha=0.3]",
        "easy-sites[order=widest]",
    ];
    for text in refused {
        assert!(list(text).is_err(), "{text}");
    }
    assert_eq!(objection("easy"), None);
}

#[test]
fn a_parameter_overrides_an_option_for_all() {
    let with_replan = |text, word| spec(text).with_replan(word).unwrap().text().to_owned();
    assert_eq!(with_replan("easy[depth=2]", "on-release"), "easy[depth=2]");
    assert_eq!(with_replan("css", "on-release"), "css[replan=on-release]");
    assert_eq!(with_replan("css[period=5m]", "on-release"), "css[period=5m,replan=on-release]");
    assert_eq!(with_replan("bsf[replan=next-cycle]", "on-release"), "bsf[replan=next-cycle]");
}

#[test]
fn parameters_are_given_once_and_have_bounds() {
    let said = |text: &str| PolicySpec::parse(text).unwrap_err().problems[0].message.clone();
    assert_eq!(said("easy[depth=1,depth=2]"), "policy `easy` is given `depth` twice");
    assert_eq!(
        said("auction[step=99999999999]"),
        "policy `auction`: `step=99999999999`: not a whole number from 1 to 4294967295"
    );
}

#[test]
fn parameters_that_change_nothing_are_named() {
    let idle = [
        ("css[rho=0.8]", Some(("rho", "search=amp"))),
        ("bsf[rho=1+0.8@18-8]", Some(("rho", "search=amp"))),
        ("on-the-fly[rho=0.8]", Some(("rho", "search=amp"))),
        ("css[search=alp,rho=0.8]", Some(("rho", "search=amp"))),
        ("css[search=amp,rho=1+0.6@90%]", None),
        ("batch-slicer[search=csa,rho=0.8]", None),
        ("auction[outlook=2h]", Some(("outlook", "prices=dynamic"))),
        ("fair-share[prices=list,floor=400]", Some(("floor", "prices=dynamic"))),
        ("auction[prices=dynamic,step=7]", None),
        ("easy[depth=1]", None),
    ];
    for (text, expected) in idle {
        assert_eq!(spec(text).idle_parameter(), expected, "{text}");
    }
}

#[test]
fn a_policy_that_learns_decides_for_one_cluster_at_any_price() {
    let job = |terms: Terms| {
        let terms = Some(Arc::new(terms));
        let job = LogJob {
            number: 1,
            submit: Some(Time(0)),
            run: Some(Span(5)),
            processors: Some(1),
            requested: Some(Span(5)),
            user: 3,
            terms,
        };
        [job]
    };
    let suits = |pools: &Pools, terms: Terms| {
        let pools = Arc::new(pools.clone());
        let workload = prepare(&job(terms), pools, Semantics::Textbook, Overrun::Kill);
        (spec("learned").suits(&workload), is_plain(&workload))
    };
    let cluster = Pools::cluster(4);
    let priced = Pool { price: Price(7), ..cluster.as_slice()[0].clone() };
    let priced = Pools::new(cluster.sites().to_vec(), vec![priced]).unwrap();
    let series = Series::new(&[(Time(0), 1), (Time(9), 2)]).unwrap();
    let changing = cluster.clone().with_rates(Rates::new(vec![Some(Arc::new(series))]));
    let at_home = Terms { user: 3, home: Some(SiteId(0)), ..Terms::NONE };
    let paying = Terms { budget: Some(Money(5)), ..Terms::NONE };
    assert_eq!(suits(&cluster, Terms::NONE), (true, true));
    for pools in [&cluster, &priced, &changing] {
        assert_eq!(suits(pools, at_home.clone()), (true, false));
        assert_eq!(suits(pools, paying.clone()), (false, false));
    }
    let pool = |name: &str| Pool { name: name.to_owned(), ..cluster.as_slice()[0].clone() };
    let two = ["a", "b"].map(pool);
    let two = Pools::new(cluster.sites().to_vec(), two.to_vec()).unwrap();
    assert_eq!(suits(&two, Terms::NONE), (false, false));
}
