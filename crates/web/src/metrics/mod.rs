//! Numbers for Prometheus.
//!
//! What happens is counted when it happens; what is there is looked up at each request.

mod scrape;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

pub(crate) use scrape::scrape;

/// Of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) route: String,
    pub(crate) status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Phase {
    pub(crate) phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfSite {
    pub(crate) site: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfState {
    pub(crate) site: String,
    pub(crate) state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfKind {
    pub(crate) site: String,
    pub(crate) kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OfPool {
    pub(crate) pool: String,
}

type Number = Gauge<f64, AtomicU64>;
type Seconds = Counter<f64, AtomicU64>;

/// All of them.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: Family<Request, Counter>,
    pub(crate) request_time: Histogram,
    pub(crate) submissions: Counter,
    pub(crate) refusals: Counter,
    pub(crate) waits: Histogram,
    pub(crate) skews: Histogram,
    pub(crate) skews_apart: Histogram,
    jobs: Family<Phase, Gauge>,
    queue: Gauge,
    free: Gauge,
    held: Number,
    prices: Family<OfPool, Number>,
    survey_time: Family<OfSite, Number>,
    survey_age: Family<OfSite, Number>,
    site_up: Family<OfSite, Gauge>,
    site_state: Family<OfState, Gauge>,
    site_requests: Family<OfKind, Counter>,
    site_requests_minute: Family<OfSite, Gauge>,
    passes: Counter,
    pass_time: Seconds,
    rows: Counter,
    appends: Counter,
    append_time: Seconds,
    read_only: Gauge,
    owner: Gauge,
    epoch: Gauge,
    rows_behind: Gauge,
    damage: Gauge,
    archived: Counter,
    scrubbed: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let waits = Histogram::new(exponential_buckets(1.0, 4.0, 11));
        let skews = || Histogram::new(exponential_buckets(0.001, 4.0, 9));
        let request_time = Histogram::new(exponential_buckets(0.000_25, 4.0, 9));
        let mut all = Metrics {
            registry: Registry::with_prefix("tradewind"),
            requests: Family::default(),
            request_time,
            submissions: Counter::default(),
            refusals: Counter::default(),
            waits,
            skews: skews(),
            skews_apart: skews(),
            jobs: Family::default(),
            queue: Gauge::default(),
            free: Gauge::default(),
            held: Gauge::default(),
            prices: Family::default(),
            survey_time: Family::default(),
            survey_age: Family::default(),
            site_up: Family::default(),
            site_state: Family::default(),
            site_requests: Family::default(),
            site_requests_minute: Family::default(),
            passes: Counter::default(),
            pass_time: Counter::default(),
            rows: Counter::default(),
            appends: Counter::default(),
            append_time: Counter::default(),
            read_only: Gauge::default(),
            owner: Gauge::default(),
            epoch: Gauge::default(),
            rows_behind: Gauge::default(),
            damage: Gauge::default(),
            archived: Counter::default(),
            scrubbed: Counter::default(),
        };
        all.register_http();
        all.register_market();
        all.register_engine();
        all
    }

    fn register_http(&mut self) {
        let all = &mut self.registry;
        all.register("http_requests", "Requests by route and status", self.requests.clone());
        let help = "Time until the first byte of an answer, streams and long polls included";
        let time = self.request_time.clone();
        all.register_with_unit("http_request_duration", help, Unit::Seconds, time);
        all.register("submissions", "Jobs taken on since the start", self.submissions.clone());
        let help = "Submissions that were refused since the start";
        all.register("submissions_refused", help, self.refusals.clone());
    }

    fn register_market(&mut self) {
        let all = &mut self.registry;
        all.register("jobs", "Jobs by phase", self.jobs.clone());
        all.register("queue_jobs", "Jobs in the queue", self.queue.clone());
        all.register("free_nodes", "Free nodes", self.free.clone());
        all.register("held_credits", "Money that is held for jobs", self.held.clone());
        let help = "Credits per node and second";
        all.register("price_credits", help, self.prices.clone());
        let help = "Time from submission until the first task ran";
        all.register_with_unit("job_wait", help, Unit::Seconds, self.waits.clone());
        let help =
            "Time from the first part's beginning to the last one's, of those that began together";
        all.register_with_unit("start_skew", help, Unit::Seconds, self.skews.clone());
        let help = "The same of those whose parts began each by themselves";
        all.register_with_unit("start_skew_apart", help, Unit::Seconds, self.skews_apart.clone());
    }

    fn register_engine(&mut self) {
        let all = &mut self.registry;
        let help = "Time that the last look at a site took";
        all.register_with_unit("site_survey", help, Unit::Seconds, self.survey_time.clone());
        let help = "Time since the last look at a site";
        all.register_with_unit("site_survey_age", help, Unit::Seconds, self.survey_age.clone());
        all.register("site_up", "1 if the site answered the latest survey", self.site_up.clone());
        let help = "1 for the state in which the site is, 0 for the others";
        all.register("site_state", help, self.site_state.clone());
        let help = "Requests to the site's manager since the start, by its commands";
        all.register("site_requests", help, self.site_requests.clone());
        let help = "Requests to the site's manager in the last minute";
        all.register("site_requests_per_minute", help, self.site_requests_minute.clone());
        all.register("passes", "Calls of the policy", self.passes.clone());
        let help = "Time that the policy took in all";
        all.register_with_unit("pass", help, Unit::Seconds, self.pass_time.clone());
        all.register("journal_rows", "Rows written since the start", self.rows.clone());
        let help = "1 while the journal's disk is full, and the market can only be read";
        all.register("journal_read_only", help, self.read_only.clone());
        all.register("owner", "1 if this daemon owns the market", self.owner.clone());
        let help =
            "Epoch that the orders of this daemon carry as the owner; 0 if it is not the owner";
        all.register("epoch", help, self.epoch.clone());
        let help = "Rows of the journal that this standby has not taken in; 0 at the owner";
        all.register("standby_rows_behind", help, self.rows_behind.clone());
        let help = "Places of the journal, the audit log and their archives that are damaged";
        all.register("journal_damage", help, self.damage.clone());
        let help = "Rows moved into archive files since the start";
        all.register("journal_archived_rows", help, self.archived.clone());
        let help = "Old rows looked at for damage since the start";
        all.register("journal_scrubbed_rows", help, self.scrubbed.clone());
        let help = "Times that rows were written since the start";
        all.register("journal_appends", help, self.appends.clone());
        let help = "Time that writing took in all";
        all.register_with_unit("journal_append", help, Unit::Seconds, self.append_time.clone());
    }
}
