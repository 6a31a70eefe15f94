//! A module per paper, or per pair of papers that share a study; `waits` is a study of our own.

mod alp_amp;
mod double_auction;
mod metascheduling;
mod multi_queue;
mod waits;

use crate::case::{Case, Size};
use crate::experiment::Experiment;
use crate::findings::Figure;

/// The experiments of each paper, in order.
pub(crate) static EXPERIMENTS: [&Experiment; 16] = [
    &metascheduling::SINGLE,
    &metascheduling::WORKING,
    &metascheduling::USERS,
    &metascheduling::SLICES,
    &metascheduling::OWNERS,
    &metascheduling::FILLING,
    &alp_amp::EXAMPLE,
    &alp_amp::CYCLES,
    &alp_amp::WHOLE,
    &double_auction::STEADY,
    &double_auction::THUNDER_WEEK,
    &multi_queue::LOAD,
    &multi_queue::TUNING,
    &multi_queue::MONTHS,
    &multi_queue::SCALE,
    &waits::WAITS,
];

/// What a formula may ask of a case: a parameter, or what follows from several.
pub(crate) fn given(case: &Case, name: &str) -> Option<f64> {
    match name {
        "full-size" => Some(f64::from(u8::from(case.size == Size::Full))),
        "market-price-of-the-node" => Some(metascheduling::market_price(case)),
        "stated-load" => Some(multi_queue::stated_load(case)),
        _ => case.number_named(name),
    }
}

/// The plan of the worked example.
pub(crate) fn plan(case: &Case, title: String) -> Option<Figure> {
    alp_amp::picture_of_example(case, title)
}
