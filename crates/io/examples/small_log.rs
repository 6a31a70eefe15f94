//! Writes the generated log that tests and documentation use: `cargo run -p tradewind-io --example
//! small_log > examples/small.swf`.

use std::io::Write;

use tradewind_io::swf;

fn main() -> std::io::Result<()> {
    let log = swf::sample(2026, 200, 64);
    std::io::stdout().write_all(swf::write(&log).as_bytes())
}
