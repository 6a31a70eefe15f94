mod laws;
mod partitions;
mod stations;

use super::Moments;

/// Equal but for rounding.
#[track_caller]
fn close(found: f64, expected: f64) {
    let off = (found - expected).abs() / expected.abs().max(1e-12);
    assert!(off < 1e-9, "{found}, not {expected}");
}

/// Equal to so many of the last decimals that a table prints.
#[track_caller]
fn printed(found: f64, table: f64, half_a_digit: f64) {
    assert!((found - table).abs() <= half_a_digit, "{found}, not {table}");
}

fn exponential(mean: f64) -> Moments {
    super::Law::Exponential { mean }.moments().unwrap()
}

fn constant(value: f64) -> Moments {
    super::Law::Deterministic { value }.moments().unwrap()
}
