//! Whether the site can be worked with, and what would make it better.

use super::Slurm;
use crate::site::Finding;

impl Slurm {
    pub(super) fn look_around(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}
