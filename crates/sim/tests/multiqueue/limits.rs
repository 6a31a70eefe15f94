//! Numbers out of range, and jobs that fit nowhere.

use std::sync::Arc;

use tradewind_model::{
    Admission, Attributes, Demand, JobId, Performance, Pool, Pools, Price, Reason, Site, SiteId,
    Span, Terms, Time, Times,
};
use tradewind_sched::policy::autonomous::home;
use tradewind_sched::policy::local::{LocalScheduler, Origin, SiteJob};
use tradewind_sched::policy::multiqueue::{
    MultiQueue, MultiQueueSettings, MultiQueueSettingsError,
};

#[test]
fn shares_beyond_one_and_queues_of_nothing_are_errors() {
    assert_eq!(MultiQueueSettings::new(1_001, 4), Err(MultiQueueSettingsError::Alpha(1_001)));
    assert_eq!(MultiQueueSettings::new(500, 0), Err(MultiQueueSettingsError::Beta));
    let settings = MultiQueueSettings::new(0, 1).unwrap();
    assert_eq!(settings.with_patience(Some(0)), Err(MultiQueueSettingsError::Patience));
    assert_eq!(settings.reservations(1_000), 0);
}

#[test]
fn a_share_of_reservations_is_rounded_up() {
    let of = |alpha: u32| {
        let settings = MultiQueueSettings::new(alpha, 1).unwrap();
        [0, 1, 3, 10, 11].map(|queued| settings.reservations(queued))
    };
    assert_eq!(of(100), [0, 1, 1, 1, 2]);
    assert_eq!(of(500), [0, 1, 2, 5, 6]);
    assert_eq!(of(1_000), [0, 1, 3, 10, 11]);
}

#[test]
fn a_job_wider_than_its_site_is_promised_nothing() {
    let mut site = MultiQueue::new(4, MultiQueueSettings::default());
    let wanted = SiteJob { job: JobId(0), processors: 5, length: Span(3), submitted: Time(0) };
    assert_eq!(site.promise(&wanted, Origin::Local, Time(0), Time(0)), None);
    let mut starts = Vec::new();
    site.join(wanted, Origin::Local, Time(0));
    site.decide(Time(0), &mut starts, &mut Vec::new());
    assert!(starts.is_empty() && site.wake().is_none());
    site.leave(JobId(0), Time(1));
    assert_eq!(site.load().waiting(), 0);
}

fn pool(name: &str, site: u32, nodes: u32, thousandths: u32) -> Pool {
    Pool {
        name: name.to_owned(),
        site: SiteId(site),
        nodes,
        performance: Performance::from_thousandths(thousandths).unwrap(),
        price: Price(0),
        attributes: Attributes::new(),
        admission: Admission::NONE,
        times: Times::Work,
    }
}

#[test]
fn a_job_goes_home_or_gets_a_reason() {
    let sites = ["a", "b"].map(|name| Site { name: name.to_owned() }).to_vec();
    let slow = Performance::from_thousandths(500).unwrap();
    let pools = vec![pool("a1", 0, 4, 500), pool("b1", 1, 8, 500), pool("b2", 1, 16, 1_000)];
    let pools = Pools::new(sites, pools).unwrap();
    let demand = |processors, home: Option<u32>, min_performance| {
        let terms = Terms { home: home.map(SiteId), min_performance, ..Terms::NONE };
        Demand { terms: Some(Arc::new(terms)), ..Demand::new(processors, Span(1)) }
    };
    let of = |demand| home(&pools, &demand).map(|pool| pool.0);
    assert_eq!(of(demand(3, None, None)), Ok(0));
    assert_eq!(of(demand(3, Some(1), None)), Ok(1));
    assert_eq!(of(demand(9, None, None)), Ok(2));
    let too_wide = Reason::WiderThanQueues { needed: 9, widest: 4 };
    assert_eq!(of(demand(9, Some(0), None)), Err(too_wide));
    let fast = Some(Performance::REFERENCE);
    let too_slow = Reason::TooFewNodes { needed: 3, suitable: 0, min_performance: fast };
    assert_eq!(of(demand(3, Some(0), fast)), Err(too_slow));
    assert_eq!(of(demand(3, Some(0), Some(slow))), Ok(0));
}
