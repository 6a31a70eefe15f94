//! Prints a scenario as JSON the way we write it: `cargo run -p tradewind-io --example as_json --
//! examples/batch.toml > examples/batch.json`.

use std::error::Error;
use std::io::Write;

use tradewind_io::scenario;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "-".to_owned());
    let (scenario, _) = scenario::load(&path)?;
    std::io::stdout().write_all(scenario.to_json().as_bytes())?;
    Ok(())
}
