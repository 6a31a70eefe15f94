//! Prices that an owner sets while the market runs: a table as in `tradewind.toml`.

use tradewind_io::input::Input;
use tradewind_io::settings::{self, Pool};

/// The pool with these prices instead of its own: `price = …` and `[[site.price]]` tables.
///
/// # Errors
/// What is wrong with the text, for people.
pub(crate) fn read(pool: &Pool, text: &str) -> Result<Pool, String> {
    let plain = text.trim();
    let (price, rules) = match plain.parse::<f64>() {
        Ok(_) => (plain.to_owned(), String::new()),
        Err(_) => split(plain)?,
    };
    let file = format!(
        "[[site]]\nname = \"x\"\nkind = \"local\"\n  [[site.pool]]\n  name = \"x\"\n  nodes = {}\n  \
         price = {price}\n{rules}",
        pool.nodes
    );
    let input = Input { name: "prices".to_owned(), bytes: file.into_bytes() };
    let (settings, _) = settings::parse(&input).map_err(|wrong| wrong.to_string())?;
    let read = settings.sites.into_iter().flat_map(|site| site.pools).next();
    let read = read.ok_or_else(|| "no prices".to_owned())?;
    Ok(Pool { price: read.price, prices: read.prices, ..pool.clone() })
}

/// The line `price = …`, and the rest.
fn split(text: &str) -> Result<(String, String), String> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let price = first.strip_prefix("price").and_then(|rest| rest.trim_start().strip_prefix('='));
    let price = price.ok_or("begin with `price = CREDITS`: what holds where no rule does")?;
    Ok((price.trim().to_owned(), lines.collect::<Vec<_>>().join("\n")))
}
