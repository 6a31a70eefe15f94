//! What an owner asks for nodes of a pool, rule by rule.

use std::fmt::Write as _;

use tradewind_model::Price;

use crate::documents::Credits;

/// A price, and other prices at some hours and loads. Prices are per node and second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceRules {
    /// The price while no rule matches.
    pub base: Price,
    /// The first rule that matches sets the price.
    pub rules: Vec<PriceRule>,
}

/// A price at some hours and loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceRule {
    /// As in the configuration, such as `Mon-Fri 08:00-18:00` or `always`.
    pub hours: String,
    /// As in the configuration, such as `>=0.75`; empty: at any load.
    pub load: String,
    /// The price while the rule matches.
    pub price: Price,
}

impl PriceRules {
    /// The table in TOML, as `tradewind price` and the configuration read it.
    pub fn text(&self) -> String {
        let mut text = format!("price = {}\n", Credits::from(self.base));
        for rule in &self.rules {
            text.push_str("[[site.price]]\n");
            for (name, said) in [("hours", &rule.hours), ("load", &rule.load)] {
                if !said.is_empty() {
                    // A string of JSON is one of TOML, too.
                    let _ = writeln!(text, "{name} = {}", serde_json::Value::from(said.as_str()));
                }
            }
            let _ = writeln!(text, "price = {}", Credits::from(rule.price));
        }
        text
    }
}
