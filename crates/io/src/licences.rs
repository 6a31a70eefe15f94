//! Lists of licences in configurations and grid files.

use tradewind_model::{Licence, Pools, Price};

use crate::diagnostics::{did_you_mean, excerpt};
use crate::fields::{Fields, Notes};
use crate::scenario::NameLines;
use crate::submission::is_licence;

/// Keys of an entry.
pub(crate) const KEYS: [&str; 4] = ["name", "count", "price", "site"];

/// `[[licence]]`: each with the index of the site that earns what jobs pay, by default the first, and
/// with what `also` reads of the entry.
pub(crate) fn read<T>(
    (fields, keys): (&Fields<'_, '_>, &[&str]),
    sites: &[&str],
    notes: &mut Notes<'_>,
    also: impl Fn(&Fields<'_, '_>, &mut Notes<'_>) -> T,
) -> Vec<((Licence, usize), T)> {
    let mut names = NameLines::default();
    let mut all = Vec::new();
    for (i, item) in fields.list("licence", notes).unwrap_or_default().iter().enumerate() {
        let Some(it) = Fields::of(item, format!("licence[{i}]"), keys, notes) else { continue };
        it.require(&["name", "count"], notes);
        let name = names.take(&it, "licence", notes);
        if let Some(name) = name.as_deref().filter(|name| !is_licence(name)) {
            let message = format!("`{}` is no name of a licence", excerpt(name));
            let hint = "letters, digits and `_-.+@`, as users name it in `--licenses`";
            notes.error(it.line_of("name"), &it.place("name"), message, hint);
        }
        let count = it.whole("count", 1..=i64::from(Pools::MAX_NODES), notes);
        let price = it.price("price", notes).unwrap_or(Price(0));
        let (site, more) = (site(&it, price, sites, notes), also(&it, notes));
        let count = count.and_then(|count| u32::try_from(count).ok());
        if let (Some(name), Some(count)) = (name, count) {
            all.push(((Licence { name, count, price }, site), more));
        }
    }
    all
}

/// Whose owner earns it.
fn site(fields: &Fields<'_, '_>, price: Price, names: &[&str], notes: &mut Notes<'_>) -> usize {
    let Some(name) = fields.text("site", notes) else {
        if price > Price(0) && names.len() > 1 {
            let message = "a price, and no `site` whose owner earns it".to_owned();
            let hint = format!("name one of the sites: {}", names.join(", "));
            notes.error(fields.line_of("price"), &fields.place("price"), message, &hint);
        }
        return 0;
    };
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        let message = format!("there is no site `{}`", excerpt(name));
        let hint = did_you_mean(name, names);
        notes.error(fields.line_of("site"), &fields.place("site"), message, &hint);
        0
    })
}
