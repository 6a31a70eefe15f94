use tradewind_sched::policy::backfill::Depth;

use super::*;

#[test]
fn commas_in_brackets_belong_to_the_policy() {
    let names = names("fcfs, easy[depth=4,order=sjf],bsf[first=40%,by=need,depth=all]").unwrap();
    assert_eq!(names.len(), 3);
    let Choice::Fill(fill) = choice(&names[1]).unwrap() else { unreachable!() };
    assert_eq!((fill.depth, fill.order), (Depth::First(4), Order::Shortest));
    let Choice::Bsf(both) = choice(&names[2]).unwrap() else { unreachable!() };
    assert_eq!((both.first, both.by), (bsf::First::Percent(40), bsf::By::Need));
    assert_eq!(both.fill.depth, Depth::All);
}

#[test]
fn cyclic_schemes_take_the_options_of_plans() {
    let text = "batch-slicer[period=15m,horizon=4h,search=cost,objective=min-cost,sub-batches=3,\
                slice-by=cost,replan=on-release,stretch=longest,max-alternatives=all,batch=7]";
    let Choice::Cycles(settings) = choice(text).unwrap() else { unreachable!() };
    assert_eq!((settings.period.0, settings.look_ahead().0, settings.batch), (900, 14_400, 7));
    assert_eq!(settings.replan, market::Replan::OnRelease);
    assert_eq!(settings.cyclic.max_alternatives, None);
}

#[test]
fn what_is_unknown_is_refused_with_a_hint() {
    let wrong =
        ["esay", "easy[dpeth=1]", "easy[order=shortst]", "css[objective=min-cst]", "bsf[by=ned]"];
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
    ];
    for text in refused {
        assert!(names(text).is_err(), "{text}");
    }
    assert_eq!(objection("easy"), None);
}

#[test]
fn an_option_for_all_gives_way_to_a_parameter() {
    assert_eq!(with_replan("easy[depth=2]", "on-release"), "easy[depth=2]");
    assert_eq!(with_replan("css", "on-release"), "css[replan=on-release]");
    assert_eq!(with_replan("css[period=5m]", "on-release"), "css[period=5m,replan=on-release]");
    assert_eq!(with_replan("bsf[replan=next-cycle]", "on-release"), "bsf[replan=next-cycle]");
}
