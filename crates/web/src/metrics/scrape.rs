//! What is there now, and all numbers as text.

use std::sync::atomic::Ordering;
use std::time::Instant;

use prometheus_client::encoding::text::encode;
use tradewind_daemon::engine::MarketRole;
use tradewind_daemon::live::Live;
use tradewind_daemon::live::site_health::SiteState;
use tradewind_model::SiteId;

use super::{Metrics, OfKind, OfPool, OfSite, OfState, Phase};
use crate::context::Context;
use crate::documents::JobCounts;
use crate::failure::{Answer, ErrorResponse};
use crate::views::market;

/// What is looked up.
struct Gauges {
    jobs: JobCounts,
    free: u32,
    held: i128,
    prices: Vec<(String, i64)>,
    sites: Vec<(String, SiteState)>,
}

impl Gauges {
    fn of(live: &Live) -> Gauges {
        let state = live.state();
        let pools = state.market.pools();
        Gauges {
            jobs: market::counts(state),
            free: state.market.free(),
            held: market::held(state),
            prices: pools
                .iter()
                .map(|(id, it)| (it.name.clone(), state.market.price_now(id).0))
                .collect(),
            sites: (0..)
                .zip(pools.sites())
                .map(|(place, site)| (site.name.clone(), state.site_health(SiteId(place)).state))
                .collect(),
        }
    }
}

/// All numbers, as Prometheus reads them.
pub(crate) async fn scrape(context: &Context) -> Answer<String> {
    let now = context.look(Gauges::of).await?;
    let metrics = &context.metrics;
    metrics.set_market(&now);
    let sites: Vec<String> = now.sites.iter().map(|(site, _)| site.clone()).collect();
    metrics.set_engine(context, &sites);
    let mut text = String::new();
    let encoded = encode(&mut text, &metrics.registry);
    encoded.map_err(|_| ErrorResponse::unavailable("the numbers cannot be written"))?;
    Ok(text)
}

impl Metrics {
    fn set_market(&self, now: &Gauges) {
        let JobCounts { held, waiting, running, unknown, over } = now.jobs;
        for (phase, count) in [
            ("held", held),
            ("waiting", waiting),
            ("running", running),
            ("unknown", unknown),
            ("over", over),
        ] {
            self.jobs.get_or_create(&Phase { phase }).set(count as i64);
        }
        self.queue.set(waiting as i64);
        self.free.set(now.free.into());
        self.held.set(now.held as f64 / 1e6);
        for (site, is) in &now.sites {
            for state in SiteState::ALL {
                let label = OfState { site: site.clone(), state: state.name() };
                self.site_state.get_or_create(&label).set((state == *is).into());
            }
        }
        for (pool, price) in &now.prices {
            let label = OfPool { pool: pool.clone() };
            self.prices.get_or_create(&label).set(*price as f64 / 1e6);
        }
    }

    fn set_engine(&self, context: &Context, sites: &[String]) {
        let gauges = context.market.gauges();
        let now = Instant::now();
        let looks = gauges.looks();
        for (place, site) in sites.iter().enumerate() {
            let Some(look) = looks.get(&SiteId(place as u32)) else { continue };
            let label = OfSite { site: site.clone() };
            self.survey_time.get_or_create(&label).set(look.took.as_secs_f64());
            let age = now.saturating_duration_since(look.at).as_secs_f64();
            self.survey_age.get_or_create(&label).set(age);
            self.site_up.get_or_create(&label).set(look.answered.into());
        }
        for (id, kinds) in gauges.requests() {
            let Some(site) = sites.get(id.0 as usize) else { continue };
            let minute: u64 = kinds.values().map(|count| count.minute).sum();
            let label = OfSite { site: site.clone() };
            let minute = i64::try_from(minute).unwrap_or(i64::MAX);
            self.site_requests_minute.get_or_create(&label).set(minute);
            for (kind, count) in kinds {
                let label = OfKind { site: site.clone(), kind };
                let counter = self.site_requests.get_or_create(&label);
                counter.inner().store(count.total, Ordering::Relaxed);
            }
        }
        let set = |counter: &super::Seconds, seconds: f64| {
            counter.inner().store(seconds.to_bits(), Ordering::Relaxed);
        };
        self.passes.inner().store(gauges.passes.count(), Ordering::Relaxed);
        set(&self.pass_time, gauges.passes.time().as_secs_f64());
        self.rows.inner().store(gauges.rows.count(), Ordering::Relaxed);
        self.appends.inner().store(gauges.appends.count(), Ordering::Relaxed);
        set(&self.append_time, gauges.appends.time().as_secs_f64());
        self.read_only.set(i64::from(gauges.is_read_only()));
        let (owns, epoch, behind) = match gauges.role() {
            MarketRole::Owner { epoch } => (true, epoch, 0),
            MarketRole::Standby(standing) => (false, 0, standing.rows_behind),
        };
        self.owner.set(i64::from(owns));
        self.epoch.set(epoch as i64);
        self.rows_behind.set(behind as i64);
        self.damage.set(gauges.damage().len() as i64);
        self.archived.inner().store(gauges.archived.count(), Ordering::Relaxed);
        self.scrubbed.inner().store(gauges.scrubbed.count(), Ordering::Relaxed);
    }
}
