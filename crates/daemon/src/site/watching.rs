//! How a site is watched.

use std::fmt;
use std::sync::Arc;

use super::{SiteError, Survey};

/// What a site's turn came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Nothing is new, and the manager was not asked.
    Nothing,
    /// News of our own tasks on top of what was known, without a request to the manager.
    Heard(Survey),
    /// The manager was asked.
    Looked(Result<Survey, SiteError>),
}

/// Whether jobs of the market wait for nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Demand {
    /// No job waits.
    #[default]
    Calm,
    /// Some jobs wait.
    Waiting,
}

/// A way to wake a site's thread.
#[derive(Clone)]
pub struct Wake(Arc<dyn Fn() + Send + Sync>);

impl Wake {
    /// One that does this.
    pub fn by(how: impl Fn() + Send + Sync + 'static) -> Wake {
        Wake(Arc::new(how))
    }

    /// Wakes the waiting thread now.
    pub fn now(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wake")
    }
}
