use tradewind_daemon::live::State;
use tradewind_model::{Demand, Event, Market, Pools};

use super::*;

fn view(jobs: u32, policy: &str) -> MarketView {
    let mut market = Market::new(Arc::new(Pools::cluster(4)), Time(0));
    for job in 0..jobs {
        let demand = Demand::new(1, Span(60));
        market.apply(&Event::Submitted { job: JobId(job), demand }).unwrap();
    }
    MarketView {
        market,
        policy: policy.to_owned(),
        numbers: Default::default(),
        users: Vec::new(),
        used: Default::default(),
        lead: Span::ZERO,
    }
}

fn kept(view: &MarketView, took: Duration) -> Arc<Kept> {
    let going = &mut || ControlFlow::Continue(());
    let draft = Draft::make(view, going).unwrap().unwrap();
    let mut kept = draft.kept;
    Arc::get_mut(&mut kept).unwrap().took = took;
    kept
}

fn shelf() -> Plans {
    let plans = Plans::default();
    plans.shelf().is_kept = true;
    plans
}

#[test]
fn a_question_does_not_wait_for_a_plan_that_takes_long() {
    let (old, new, plans) = (view(2, "easy"), view(3, "easy"), shelf());
    plans.publish(Ok(kept(&old, Duration::from_secs(5))));
    let watch = Watch::new(Duration::from_secs(60));
    let found = plans.plan(&new, &watch).unwrap();
    assert_eq!(found.queue.waiting, 2);
}

#[test]
fn a_question_waits_for_a_plan_of_its_moment_that_comes_soon() {
    let (old, new, plans) = (view(2, "easy"), view(3, "easy"), shelf());
    plans.publish(Ok(kept(&old, Duration::ZERO)));
    let watch = Watch::new(Duration::from_secs(60));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while plans.shelf().wanted == 0 {
                std::thread::yield_now();
            }
            plans.publish(Ok(kept(&new, Duration::ZERO)));
        });
        assert_eq!(plans.plan(&new, &watch).unwrap().queue.waiting, 3);
    });
    assert_eq!(plans.shelf().wanted, 0);
}

#[test]
fn a_plan_of_another_policy_is_no_answer() {
    let (old, new, plans) = (view(2, "easy"), view(2, "css"), shelf());
    plans.publish(Ok(kept(&old, Duration::ZERO)));
    let watch = Watch::new(Duration::from_millis(50));
    let late = plans.plan(&new, &watch).unwrap_err();
    assert_eq!(late.kind, RefusalKind::Unavailable);
    plans.publish(Err(Refusal::new(RefusalKind::Conflict, "it cannot", "")));
    assert_eq!(plans.plan(&new, &watch).unwrap_err().kind, RefusalKind::Conflict);
}

#[test]
fn a_plan_is_of_now_and_not_of_the_last_record() {
    let long_ago = State::empty(Time(1_000_000));
    assert!(present(&long_ago) > Time(1_700_000_000));
    let ahead = State::empty(Time(4_000_000_000));
    assert_eq!(present(&ahead), Time(4_000_000_000), "a clock that was set back");
}
