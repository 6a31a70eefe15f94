//! `[[licence]]`: what jobs may take along wherever they run.

use tradewind_model::{Licence, Pools, Price};

use super::Settings;
use super::read::text;
use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{Fields, Notes};
use crate::scenario::NameLines;
use crate::submission::is_licence;

const KEYS: [&str; 4] = ["name", "count", "price", "site"];

/// With the index of the site that earns what jobs pay: the first, unless one is named.
pub(super) fn read(
    settings: &Settings,
    fields: &Fields<'_, '_>,
    notes: &mut Notes<'_>,
) -> Vec<(Licence, usize)> {
    let mut names = NameLines::default();
    let mut all = Vec::new();
    for (i, item) in fields.list("licence", notes).unwrap_or_default().iter().enumerate() {
        let Some(it) = Fields::of(item, format!("licence[{i}]"), &KEYS, notes) else { continue };
        it.require(&["name", "count"], notes);
        let name = names.take(&it, "licence", notes);
        if let Some(name) = name.as_deref().filter(|name| !is_licence(name)) {
            let message = format!("`{}` is no name of a licence", excerpt(name));
            let hint = "letters, digits and `_-.+@`, as users name it in `--licenses`";
            notes.error(it.line_of("name"), &it.place("name"), message, hint);
        }
        let count = it.whole("count", 1..=i64::from(Pools::MAX_NODES), notes);
        let price = it.price("price", notes).unwrap_or(Price(0));
        let site = site(settings, &it, price, notes);
        let count = count.and_then(|count| u32::try_from(count).ok());
        if let (Some(name), Some(count)) = (name, count) {
            all.push((Licence { name, count, price }, site));
        }
    }
    all
}

fn site(
    settings: &Settings,
    fields: &Fields<'_, '_>,
    price: Price,
    notes: &mut Notes<'_>,
) -> usize {
    let names: Vec<&str> = settings.sites.iter().map(|site| site.name.as_str()).collect();
    let Some(name) = text(fields, "site", notes) else {
        if price > Price(0) && names.len() > 1 {
            let message = "a price, and no `site` whose owner earns it".to_owned();
            let hint = format!("name one of the sites: {}", names.join(", "));
            notes.error(fields.line_of("price"), &fields.place("price"), message, &hint);
        }
        return 0;
    };
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        let message = format!("there is no site `{}`", excerpt(&name));
        let hint = did_you_mean(&name, &names);
        notes.error(fields.line_of("site"), &fields.place("site"), message, &hint);
        0
    })
}
