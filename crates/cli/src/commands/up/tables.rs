//! What owners' tables of prices say, for output and input.

use jiff::tz::TimeZone;
use tradewind_io::settings::{Pool, Settings};
use tradewind_model::{PoolId, Price, Time};
use tradewind_web::{PriceRule, PriceRules, Tariffs};

use super::{all_pools, tariff};

/// Owners' tables of prices, and the clock that their hours are on.
#[derive(Debug)]
pub(super) struct Tables {
    pools: Vec<Pool>,
    zone: TimeZone,
}

impl Tables {
    /// The tables of a configuration.
    pub(super) fn of(settings: &Settings) -> Tables {
        let zone = settings.zone.clone().unwrap_or_else(TimeZone::system);
        Tables { pools: all_pools(settings), zone }
    }
}

/// The largest number of price changes that are shown.
const CHANGES: usize = 1_000;

impl Tariffs for Tables {
    fn check(&self, pool: PoolId, text: &str) -> Result<(), String> {
        let pool = self.pools.get(pool.index());
        let pool = pool.ok_or_else(|| "there is no such pool".to_owned())?;
        tariff::read(pool, text).map(|_| ())
    }

    fn ahead(
        &self,
        pool: PoolId,
        table: Option<&str>,
        load: u32,
        from: Time,
        until: Time,
    ) -> Vec<(Time, Price)> {
        let Some(own) = self.pools.get(pool.index()) else { return Vec::new() };
        let set = table.and_then(|text| tariff::read(own, text).ok());
        let own = set.as_ref().unwrap_or(own);
        let mut found = Vec::new();
        let mut at = from;
        while at < until && found.len() < CHANGES {
            let price = own.price_at(at, load, &self.zone);
            if found.last().is_none_or(|(_, last)| *last != price) {
                found.push((at, price));
            }
            let Some(next) = own.next_change(at, &self.zone) else { break };
            at = next;
        }
        found
    }

    fn rules(&self, pool: PoolId, table: Option<&str>) -> PriceRules {
        let Some(own) = self.pools.get(pool.index()) else { return PriceRules::default() };
        let set = table.and_then(|text| tariff::read(own, text).ok());
        let pool = set.as_ref().unwrap_or(own);
        let rules = pool.prices.rules.iter().map(|rule| PriceRule {
            hours: rule.hours.to_string(),
            load: rule.load.text(),
            price: rule.value,
        });
        PriceRules { base: pool.price, rules: rules.collect() }
    }

    fn zone(&self) -> Option<String> {
        self.zone.iana_name().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_ahead_are_those_of_the_table_at_the_load_of_now() {
        let tables = Tables { pools: all_pools(&Settings::default()), zone: TimeZone::UTC };
        let table = "price = 0.002\n[[site.price]]\nhours = \"Mon-Sun 08:00-18:00\"\n\
                     load = \">=0.5\"\nprice = 0.006\n";
        let ahead = |load, table| tables.ahead(PoolId(0), table, load, Time(0), Time(86_400));
        let (low, high) = (Price(2_000), Price(6_000));
        let busy = [(Time(0), low), (Time(28_800), high), (Time(64_800), low)];
        assert_eq!(ahead(500, Some(table)), busy);
        assert_eq!(ahead(499, Some(table)), [(Time(0), low)]);
        assert_eq!(ahead(0, None).len(), 1, "the configuration's");
        assert!(tables.ahead(PoolId(99), None, 0, Time(0), Time(1)).is_empty());
        assert_eq!(tables.zone().as_deref(), Some("UTC"));
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        let tables = Tables { pools: all_pools(&Settings::default()), zone: TimeZone::UTC };
        let table = "price = 0.002\n[[site.price]]\nhours = \"Mon-Fri 08:00-18:00\"\n\
                     load = \">=0.75\"\nprice = 0.006\n[[site.price]]\nload = \"<0.1\"\n\
                     price = 0.0015\n";
        let rules = tables.rules(PoolId(0), Some(table));
        assert_eq!((rules.base, rules.rules.len()), (Price(2_000), 2));
        assert_eq!(rules.rules[1].load, "<0.1");
        assert_eq!(tables.rules(PoolId(0), Some(&rules.text())), rules);
        assert_eq!(tables.rules(PoolId(0), None).rules, []);
    }
}
