//! What people read, written in one way: numbers, lengths of time, money, ticks of axes, and SVG.
//! Charts, reports, pages and tables use it.
//!
//! Nothing here knows a font, a clock or a locale: the same data give the same bytes everywhere.
//! A minus is ASCII; pages put a typographic one in its place.

mod numbers;
pub mod svg;
mod ticks;
mod times;
mod units;

pub use numbers::{beside, credits, fixed, grouped, hourly, trimmed};
pub use ticks::{log2, round_up, ticks, ticks_between, time_step};
pub use times::{span, whole_span};
pub use units::{Scale, Unit};
