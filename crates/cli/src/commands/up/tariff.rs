//! Prices that an owner sets while the market runs: a table as in `tradewind.toml`.

use tradewind_io::diagnostics::{Diagnostic, Diagnostics, Severity};
use tradewind_io::input::Input;
use tradewind_io::settings::schedule::Schedule;
use tradewind_io::settings::{self, Pool, Settings};
use tradewind_model::Price;

/// Hint about the form of the table.
const FORM: &str = "write `price = CREDITS`, then `[[site.price]]` tables";

/// The pool with these prices instead of its own: `price = …` and `[[site.price]]` tables.
///
/// # Errors
/// What is wrong with the text, for people; lines are those of the text.
pub(crate) fn read(pool: &Pool, text: &str) -> Result<Pool, String> {
    let plain = text.trim();
    let table = match plain.parse::<f64>() {
        Ok(_) => format!("price = {plain}"),
        Err(_) => text.to_owned(),
    };
    if !table.lines().take_while(|line| !is_head(line)).any(says_price) {
        return Err(format!("there is no price for when no rule holds: {FORM}"));
    }
    let head = head(pool);
    let lines = head.lines().count() as u32;
    let given = parse(&format!("{head}{table}\n")).map_err(|wrong| told(&wrong, lines))?;
    let Some(Pool { price, prices, .. }) = one_pool(&given).cloned() else {
        return Err(format!("there is more than prices: {FORM}"));
    };
    // With the prices taken out it must be what it was without them.
    let mut rest = given;
    rest.sites.iter_mut().flat_map(|site| &mut site.pools).for_each(|pool| {
        (pool.price, pool.prices) = (Price(0), Schedule::default());
    });
    match parse(&head) {
        Ok(bare) if bare == rest => Ok(Pool { price, prices, ..pool.clone() }),
        _ => Err(format!("there is more than prices: {FORM}")),
    }
}

/// The pool's site, up to where its price stands.
fn head(pool: &Pool) -> String {
    let nodes = pool.nodes;
    format!(
        "[[site]]\nname = \"x\"\nkind = \"local\"\n[[site.pool]]\nname = \"x\"\nnodes = {nodes}\n"
    )
}

fn parse(text: &str) -> Result<Settings, Diagnostics> {
    let input = Input { name: "prices".to_owned(), bytes: text.as_bytes().to_vec() };
    settings::parse(&input).map(|(settings, _)| settings)
}

fn is_head(line: &str) -> bool {
    line.trim_start().starts_with('[')
}

fn says_price(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("price");
    rest.is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn one_pool(settings: &Settings) -> Option<&Pool> {
    match &settings.sites[..] {
        [site] => site.pools.first().filter(|_| site.pools.len() == 1),
        _ => None,
    }
}

/// All that is wrong, with the lines of the text behind the head.
fn told(wrong: &Diagnostics, head: u32) -> String {
    let one = |it: &Diagnostic| {
        let line = it.line.and_then(|line| line.checked_sub(head)).filter(|line| *line > 0);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let hint = it.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{line}{}{hint}", it.message)
    };
    let errors = wrong.iter().filter(|it| it.severity == Severity::Error);
    errors.map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use tradewind_model::Attributes;
    use tradewind_model::Performance;

    use super::*;

    fn pool() -> Pool {
        Pool {
            name: "fast".to_owned(),
            nodes: 8,
            performance: Performance::REFERENCE,
            attributes: Attributes::new(),
            price: Price(7),
            prices: Schedule::default(),
            offers: Schedule::default(),
            members: tradewind_io::settings::cluster::Members::default(),
        }
    }

    const RULE: &str = "[[site.price]]\nload = \">=0.75\"\nprice = 0.006\n";

    #[test]
    fn tables_may_have_comments_and_a_number_is_one() {
        for text in [
            format!("price = 0.002\n{RULE}"),
            format!("# by hand\n\n  price=0.002 # at night\n{RULE}"),
            format!("price = 0.002\n\n# dear when full\n{RULE}"),
        ] {
            let read = read(&pool(), &text).unwrap();
            assert_eq!((read.price, read.name.as_str(), read.nodes), (Price(2_000), "fast", 8));
            assert_ne!(read.prices, Schedule::default(), "{text}");
        }
        let read = read(&pool(), " 0.5\n").unwrap();
        assert_eq!((read.price, read.prices), (Price(500_000), Schedule::default()));
    }

    #[test]
    fn nothing_but_prices_is_taken() {
        for more in [
            "[market]\npolicy = \"css\"\n",
            "[[site.offer]]\nshare = 0.5\n",
            "[[site.pool]]\nname = \"y\"\nnodes = 1\n",
            "[[site]]\nname = \"y\"\nkind = \"local\"\npool = [{ name = \"y\", nodes = 1 }]\n",
        ] {
            let wrong = read(&pool(), &format!("price = 1\n{more}")).unwrap_err();
            assert!(wrong.contains("more than prices"), "{more}: {wrong}");
        }
        for text in ["", "# nothing", "performance = 2\n", RULE] {
            let wrong = read(&pool(), text).unwrap_err();
            assert!(wrong.contains("no price for when no rule holds"), "{text}: {wrong}");
        }
        assert!(read(&pool(), "performance = 2\nprice = 1\n").is_err());
    }

    #[test]
    fn lines_are_those_of_the_text() {
        let wrong = read(&pool(), "# by hand\nprice = -1\n").unwrap_err();
        assert!(wrong.starts_with("line 2: "), "{wrong}");
        let wrong = read(&pool(), "price = 1\n[[site.price]]\nhour = \"Mon\"\n").unwrap_err();
        assert!(wrong.contains("line 3: "), "{wrong}");
        let wrong = read(&pool(), "price = 1\nprice = = 2\n").unwrap_err();
        assert!(wrong.contains("line 2: "), "{wrong}");
    }
}
