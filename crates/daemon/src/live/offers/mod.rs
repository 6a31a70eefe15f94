//! What is done with offers: they are kept, chosen again, or it is stated that they were not kept.

mod asides;
mod groups;
mod keep;
mod reason;
mod update;
