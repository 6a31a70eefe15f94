//! What papers 001 and 002 print about their study, and how the run gives it. Both print the same
//! numbers, so that each stands here once and is given its place.

use super::cycles::PAPERS_CYCLES;
use crate::findings::{Evidence, Published};
use crate::tally::{Estimate, Tally};

const NONE: &str = "";

/// A number of the study.
const fn number(
    name: &'static str,
    value: f64,
    decimals: u8,
    place: &'static str,
    measured: fn(&Tally) -> Estimate,
) -> Published {
    let (unit, cause, erratum, kind) = (NONE, READING, None, Evidence::Measured);
    Published { name, value, decimals, unit, place, cause, erratum, measured, kind }
}

const fn in_units(unit: &'static str, published: Published) -> Published {
    Published { unit, ..published }
}

const fn with_cause(cause: &'static str, published: Published) -> Published {
    Published { cause, ..published }
}

const fn with_erratum(erratum: &'static str, published: Published) -> Published {
    Published { erratum: Some(erratum), ..published }
}

const READING: &str = "The papers leave open how price caps are set and how times are rounded, and \
                       this moves with both; the sensitivity table has by how much.";
const PERCENT: &str = "Printed without decimals, and a small difference of two numbers that are \
                       each met: their errors weigh several times as much in it.";
const ALTERNATIVES: &str = "How jobs' price caps are drawn is not stated; if they scattered by some \
                            6 % about the market price of the least performance, as in the \
                            sensitivity table, there would be more alternatives and fewer \
                            experiments that count, as published.";

const TIME: &str = "units";
const COST: &str = "credits";

pub(super) const fn least_time_alp_time(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-time/alp/time");
    in_units(TIME, number("ALP, least time: time per job", 59.85, 2, place, mean))
}

pub(super) const fn least_time_amp_time(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-time/amp/time");
    in_units(TIME, number("AMP, least time: time per job", 39.01, 2, place, mean))
}

pub(super) const fn least_time_alp_cost(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-time/alp/cost");
    in_units(COST, number("ALP, least time: cost per job", 313.56, 2, place, mean))
}

pub(super) const fn least_time_amp_cost(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-time/amp/cost");
    in_units(COST, number("AMP, least time: cost per job", 369.69, 2, place, mean))
}

pub(super) const fn least_cost_alp_time(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-cost/alp/time");
    in_units(TIME, number("ALP, least cost: time per job", 61.04, 2, place, mean))
}

pub(super) const fn least_cost_amp_time(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-cost/amp/time");
    in_units(TIME, number("AMP, least cost: time per job", 51.62, 2, place, mean))
}

pub(super) const fn least_cost_alp_cost(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-cost/alp/cost");
    in_units(COST, number("ALP, least cost: cost per job", 313.09, 2, place, mean))
}

pub(super) const fn least_cost_amp_cost(place: &'static str) -> Published {
    let mean = |tally: &Tally| tally.mean("least-cost/amp/cost");
    in_units(COST, number("AMP, least cost: cost per job", 343.3, 1, place, mean))
}

/// Percent by which the first quantity of a pair is less than the second.
fn less(tally: &Tally, pair: &str) -> Estimate {
    tally.pairs(pair).ratio().map(|ratio| 100.0 * (1.0 - ratio))
}

pub(super) const fn percent_faster(place: &'static str) -> Published {
    let name = "least time: AMP's time is less, of ALP's";
    let percent = number(name, 35.0, 0, place, |tally| less(tally, "least-time/time"));
    with_cause(PERCENT, in_units("%", percent))
}

pub(super) const fn percent_dearer(place: &'static str) -> Published {
    let name = "least time: AMP's cost is more, of AMP's";
    let percent = number(name, 15.0, 0, place, |tally| less(tally, "least-time/cost"));
    let base = "\"15% more\" is of AMP's cost; of ALP's it is 18 %.";
    with_erratum(base, with_cause(PERCENT, in_units("%", percent)))
}

pub(super) const fn percent_cheaper(place: &'static str) -> Published {
    let name = "least cost: ALP's cost is less, of AMP's";
    let percent = number(name, 9.0, 0, place, |tally| less(tally, "least-cost/cost"));
    with_cause(PERCENT, in_units("%", percent))
}

pub(super) const fn percent_faster_at_least_cost(place: &'static str) -> Published {
    let name = "least cost: AMP's time is less, of ALP's";
    let percent = number(name, 15.0, 0, place, |tally| less(tally, "least-cost/time"));
    with_cause(PERCENT, in_units("%", percent))
}

/// A sum over the papers' 25,000 cycles.
fn in_all(tally: &Tally, name: &str) -> Estimate {
    tally.mean(name).map(|mean| mean * f64::from(PAPERS_CYCLES))
}

/// The numbers of the text that no figure shows.
pub(super) const fn of_the_text(place: &'static str) -> [Published; 11] {
    let alp = |tally: &Tally| tally.mean("alp/alternatives");
    let amp = |tally: &Tally| tally.mean("amp/alternatives");
    let alp_in_all = |tally: &Tally| in_all(tally, "all/alp/windows");
    let amp_in_all = |tally: &Tally| in_all(tally, "all/amp/windows");
    let counted = |tally: &Tally| in_all(tally, "all/counted");
    [
        with_cause(
            ALTERNATIVES,
            number("ALP, least time: alternatives per job", 7.39, 2, place, alp),
        ),
        with_cause(
            ALTERNATIVES,
            number("AMP, least time: alternatives per job", 34.28, 2, place, amp),
        ),
        number("ALP, least time: alternatives in all", 258_079.0, 0, place, alp_in_all),
        number("AMP, least time: alternatives in all", 1_160_029.0, 0, place, amp_in_all),
        with_cause(
            ALTERNATIVES,
            number("ALP, least cost: alternatives per job", 7.28, 2, place, alp),
        ),
        with_cause(
            ALTERNATIVES,
            number("AMP, least cost: alternatives per job", 34.23, 2, place, amp),
        ),
        with_erratum(
            "Printed as an average; it is the total.",
            number("ALP, least cost: alternatives in all", 253_855.0, 0, place, alp_in_all),
        ),
        with_erratum(
            "A digit is lost: 1,151,16x would fit 34.23 per job.",
            with_cause(
                "A misprint: a digit is lost, as 34.23 per job shows.",
                number("AMP, least cost: alternatives in all", 115_116.0, 0, place, amp_in_all),
            ),
        ),
        with_cause(
            ALTERNATIVES,
            number("counted experiments of 25,000", 8_571.0, 0, place, counted),
        ),
        number("jobs per counted experiment", 4.18, 2, place, |tally| tally.mean("jobs")),
        number("slots per counted experiment", 135.11, 2, place, |tally| tally.mean("slots")),
    ]
}
