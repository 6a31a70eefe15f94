//! What scenarios and grids say of electricity: `watts` of nodes, and the carbon intensity and
//! the price of a site's electricity over time.

use serde_json::Value as Json;
use tradewind_model::{Attribute, Attributes, Energy, Power, Series, SitePower};

use crate::diagnostics::Diagnostics;
use crate::fields::{DecimalScale, Fields, Notes};
use crate::series;
use crate::value::ValueKind;

/// Watts of a node in milliwatts: up to a gigawatt.
const WATTS: DecimalScale = DecimalScale { decimals: 3, range: 0..=Series::MAX };
/// Grams of CO₂e per kWh, in milligrams.
const CARBON: DecimalScale = DecimalScale { decimals: 3, range: 0..=Series::MAX };
/// Credits per kWh, in micro-credits.
const PRICE: DecimalScale = DecimalScale { decimals: 6, range: 0..=Series::MAX };

/// Milliwatts of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watts {
    idle: i64,
    busy: i64,
}

impl Watts {
    /// The table `watts = { idle, busy }` or the number `watts` (busy; idle is 0 then), if given.
    pub(crate) fn read(fields: &Fields<'_, '_>, notes: &mut Notes<'_>) -> Option<Watts> {
        let value = fields.get("watts")?;
        if matches!(value.kind, ValueKind::Number(_)) {
            return fields.scaled("watts", &WATTS, notes).map(|busy| Watts { idle: 0, busy });
        }
        let table = Fields::of(value, fields.place("watts"), &["idle", "busy"], notes)?;
        table.require(&["busy"], notes);
        let idle = table.scaled("idle", &WATTS, notes).unwrap_or_default();
        let busy = table.scaled("busy", &WATTS, notes)?;
        if idle > busy {
            let message = "`idle` is more than `busy`".to_owned();
            let hint = "watts of a node without and with a task, in this order";
            notes.error(table.line, &table.path, message, hint);
        }
        Some(Watts { idle, busy })
    }

    /// As attributes of a node, which may not say otherwise themselves.
    pub(crate) fn put(
        self,
        attributes: &mut Attributes,
        fields: &Fields<'_, '_>,
        notes: &mut Notes<'_>,
    ) {
        for (name, number) in [(Energy::BUSY, self.busy), (Energy::IDLE, self.idle)] {
            let before = attributes.insert(name.to_owned(), Attribute::Number(number));
            if before.is_some_and(|before| before != Attribute::Number(number)) {
                let message = format!("`watts` and the attribute `{name}` differ");
                let place = fields.place("attributes");
                notes.error(fields.line_of("attributes"), &place, message, "keep one of them");
            }
        }
    }
}

/// The electricity of a site, if the table says anything of it.
pub(crate) fn site(
    fields: &Fields<'_, '_>,
    document: &str,
    notes: &mut Notes<'_>,
) -> Option<SitePower> {
    let carbon = series_of(fields, Electricity::Carbon, document, notes);
    let price = series_of(fields, Electricity::Price, document, notes);
    (carbon.is_some() || price.is_some()).then_some(SitePower { carbon, price })
}

/// What of a site's electricity changes with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Electricity {
    /// Its carbon intensity, gCO₂e per kWh.
    Carbon,
    /// What it costs, credits per kWh.
    Price,
}

impl Electricity {
    /// Both.
    pub const ALL: [Electricity; 2] = [Electricity::Carbon, Electricity::Price];

    /// The field that says it.
    pub fn key(self) -> &'static str {
        match self {
            Electricity::Carbon => "carbon",
            Electricity::Price => "energy_price",
        }
    }

    fn scale(self) -> &'static DecimalScale {
        match self {
            Electricity::Carbon => &CARBON,
            Electricity::Price => &PRICE,
        }
    }

    /// Its series from the text of a CSV file with the columns `time` and `value`, which is called
    /// `name` in messages.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn parse(self, name: &str, text: &str) -> Result<Series, Diagnostics> {
        series::parse(name, text, self.scale())
    }
}

/// The series that the table gives of this.
pub(crate) fn series_of(
    fields: &Fields<'_, '_>,
    what: Electricity,
    document: &str,
    notes: &mut Notes<'_>,
) -> Option<Series> {
    series::read(fields, what.key(), what.scale(), document, notes)
}

/// Whether any series is known.
pub(crate) fn is_known(power: &Power) -> bool {
    power.sites.iter().any(|site| site.carbon.is_some() || site.price.is_some())
}

/// The series as [`site`] reads it.
pub(crate) fn json(of: &Series, key: &str) -> Json {
    series::json(of, if key == "carbon" { CARBON.decimals } else { PRICE.decimals })
}
